//! Measures of the topics themselves, whatever they foresee, and what looks wrong with them.

use collapsar::topics::{Alpha, Beta, Quality, TopicsFit};
use serde::Serialize;

use super::args::FitArgs;
use crate::text::{count, short};

/// Most probable words of each topic that are looked at, as is usual.
pub(crate) const WORDS: usize = 10;

/// Topics more alike than this are nearly the same.
const ALIKE: f64 = 0.9;

/// A prior learned beyond this is on its way to the library's limit of 1e4, where it says that all
/// documents, or all topics, are the same.
const LIMIT: f64 = 1e3;

/// Numbers that tell good topics from poor ones: means over those in use, as `run.json` has them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Measures {
    pub(crate) npmi: Option<f64>,
    pub(crate) umass: Option<f64>,
    pub(crate) diversity: f64,
    pub(crate) exclusivity: Option<f64>,
}

impl Measures {
    pub(crate) fn of(quality: &Quality) -> Self {
        Self {
            npmi: quality.coherence.map(|coherence| coherence.npmi),
            umass: quality.coherence.map(|coherence| coherence.umass),
            diversity: quality.diversity,
            exclusivity: quality.exclusivity,
        }
    }
}

/// To three decimals; these measures are at most about 1.
pub(crate) fn decimals(measure: Option<f64>) -> String {
    measure.map_or("-".into(), |measure| format!("{measure:.3}"))
}

/// What a person should know before trusting the topics: a sentence each.
pub(crate) fn warnings(args: &FitArgs, answer: &TopicsFit, quality: &Quality) -> Vec<String> {
    let learned = [args.alpha.0 == Alpha::Learned, args.beta.0 == Beta::Learned];
    let limits = limits(learned, answer, quality);
    limits.into_iter().chain(alike(answer, quality)).collect()
}

/// Priors that were learned, alpha and beta, and left no topics to speak of.
fn limits([alpha, beta]: [bool; 2], answer: &TopicsFit, quality: &Quality) -> Option<String> {
    let largest = answer.alpha.iter().copied().fold(0.0, f64::max);
    let what = if answer.topics < 2 || !(alpha || beta) {
        return None;
    } else if quality.used < 2 {
        format!(
            "with learned priors {} of {} is in use",
            quality.used,
            count(answer.topics, "topic")
        )
    } else if alpha && largest > LIMIT {
        format!(
            "the learned alpha is as large as {}, by which all documents are alike",
            short(largest)
        )
    } else if beta && answer.beta > LIMIT {
        format!(
            "the learned beta is {}, by which all topics are alike",
            short(answer.beta)
        )
    } else {
        return None;
    };
    Some(format!(
        "{what}; try given ones, such as --alpha 0.1 --beta 0.05"
    ))
}

/// Topics that are nearly the same, in one sentence.
fn alike(answer: &TopicsFit, quality: &Quality) -> Option<String> {
    let groups = groups(
        quality.topics.len(),
        &answer.topic_similarities(),
        |topic| quality.topics[topic].used(),
    );
    let name = |group: &Vec<usize>| {
        let names: Vec<String> = group.iter().map(ToString::to_string).collect();
        let (last, others) = names.split_last().expect("a group of two or more");
        format!("{} and {last}", others.join(", "))
    };
    let named: Vec<String> = groups.iter().map(name).collect();
    (!named.is_empty()).then(|| {
        format!(
            "topics {} are nearly the same; fewer topics may say as much",
            named.join("; ")
        )
    })
}

/// Topics that are linked by being alike, those of a group together, in order.
fn groups(topics: usize, similarities: &[f64], used: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
    let mut group: Vec<usize> = (0..topics).collect();
    for a in (0..topics).filter(|&a| used(a)) {
        for b in (a + 1..topics).filter(|&b| used(b)) {
            let (one, other) = (group[a], group[b]);
            if similarities[a * topics + b] > ALIKE && one != other {
                let (least, most) = (one.min(other), one.max(other));
                for g in &mut group {
                    if *g == most {
                        *g = least;
                    }
                }
            }
        }
    }
    let members = |first: usize| {
        (0..topics)
            .filter(|&t| group[t] == first)
            .collect::<Vec<_>>()
    };
    let all = (0..topics).map(members);
    all.filter(|members| members.len() > 1).collect()
}

#[cfg(test)]
mod tests {
    use collapsar::topics::Corpus;

    use super::*;

    #[test]
    fn learned_priors_at_their_limits_are_told() {
        let corpus = Corpus::new(vec![0, 2, 4], vec![0, 1, 0, 1], vec![2.0; 4], 2).unwrap();
        let said = |learned, alpha, beta, shares: [f64; 2]| {
            let fit = TopicsFit {
                topics: 2,
                alpha: vec![0.1, alpha],
                beta,
                word_counts: shares.map(|share| 4.0 * share).repeat(2),
                document_counts: shares.map(|share| 4.0 * share).repeat(2),
            };
            let quality = fit.quality(&corpus, WORDS).unwrap();
            limits(learned, &fit, &quality).unwrap_or_default()
        };
        let (both, merged) = ([0.5, 0.5], [1.0, 0.0]);
        let try_given = "; try given ones, such as --alpha 0.1 --beta 0.05";
        for (found, expected) in [
            (
                said([true, true], 9000.0, 0.1, both),
                "the learned alpha is as large as 9000, by which all documents are alike",
            ),
            (
                said([false, true], 0.1, 9000.0, both),
                "the learned beta is 9000, by which all topics are alike",
            ),
            (
                said([false, true], 0.1, 0.1, merged),
                "with learned priors 1 of 2 topics is in use",
            ),
        ] {
            assert_eq!(found, expected.to_owned() + try_given);
        }
        // What was given is what was wanted, and what is usual is nothing to speak of.
        assert_eq!(said([false, false], 9000.0, 9000.0, merged), "");
        assert_eq!(said([true, true], 2.0, 0.1, both), "");
    }

    #[test]
    fn topics_that_are_alike_are_grouped() {
        // 0 with 3, 3 with 1; 2 with 4, which is not in use.
        let mut similarities = vec![0.0; 25];
        for (a, b) in [(0, 3), (1, 3), (2, 4)] {
            similarities[a * 5 + b] = 0.95;
            similarities[b * 5 + a] = 0.95;
        }
        assert_eq!(groups(5, &similarities, |topic| topic != 4), [[0, 1, 3]]);
        similarities[2 * 5 + 4] = 0.9;
        assert_eq!(groups(5, &similarities, |_| true), [[0, 1, 3]]);
    }
}
