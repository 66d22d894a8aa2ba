//! What a fit prints, a page that a person can read, and what is said of reading a corpus and of topics that look wrong.

use collapsar::topics::{Alpha, Beta, Ranking};
use collapsar_formats::{CorpusReport, OutOfVocabulary};
use collapsar_run::PosteriorKind;
use collapsar_run::topics::{Compared, CorpusData, Doubt, Halves, Measures, Score, TopicsResult};

use super::args::FitArgs;
use crate::climb;
use crate::common::Common;
use crate::text::{count, short, table};
use crate::verdict;

/// Names of documents and words that are told of many.
pub(super) const SHOWN: usize = 5;

pub(crate) fn of(args: &FitArgs, data: &CorpusData, result: &TopicsResult) -> String {
    let mut text = vec![format!(
        "{}: {}, {}, {}\n",
        data.name(),
        count(data.documents(), "document"),
        count(data.corpus.vocabulary.len(), "word"),
        count(data.tokens() as usize, "token"),
    )];
    if let Some(stored) = &data.stored {
        let corpus = &stored.file.corpus;
        let (pass, reading) = (corpus.pass_bytes(), corpus.reading());
        text.push(climb::read_from("documents", stored.memory, pass, reading));
    }
    if result.compared.len() > 1 {
        text.push(format!("\n{}\n", comparison(result)));
    }
    text.push(priors(args, result));
    text.push(climb::lines(&result.climbed));
    text.push(result.score.as_ref().map_or_else(String::new, foreseen));
    let measures = Measures::of(&result.quality);
    text.push(format!(
        "coherence NPMI {}, UMass {}; diversity {}; exclusivity {}\n",
        decimals(measures.npmi),
        decimals(measures.umass),
        decimals(Some(measures.diversity)),
        decimals(measures.exclusivity)
    ));
    text.push(topics(args, data, result));
    text.push(format!("\n{}\n", posterior(result)));
    text.push(climb::kept_in(args.out.as_deref()));
    text.concat()
}

/// Which posterior it is, and how far it may be trusted: a line each.
fn posterior(result: &TopicsResult) -> String {
    let posterior = &result.posterior;
    if let Some((chains, _)) = &posterior.chains {
        let lengths = (chains.chains.iter()).map(|chain| chain.first().map_or(0, Vec::len));
        let constant = posterior.rows.iter().all(|row| row.sd == 0.0);
        let said = verdict::of_chains(
            &posterior.signs,
            lengths.sum(),
            chains.chains.len(),
            constant,
        );
        return format!("topics are the mean of all draws\n{said}");
    }
    let added = match posterior.kind {
        PosteriorKind::LinearResponse if !posterior.whole => ", document by document",
        _ => "",
    };
    let converged = result.climbed.outcome.converged;
    verdict::lines(posterior.kind, &posterior.signs, converged, added)
}

/// To three decimals; these measures are at most about 1.
fn decimals(measure: Option<f64>) -> String {
    measure.map_or("-".into(), |measure| format!("{measure:.3}"))
}

/// A line on how well documents are foreseen.
pub(crate) fn foreseen(score: &Score) -> String {
    let best = score.best_perplexity;
    let by = match score.fits {
        fits if score.draws => format!(" by {fits} draws, {best:.1} by their mean,"),
        1 => String::new(),
        fits => format!(" by the mean of {fits} fits, {best:.1} by the best alone,"),
    };
    format!(
        "perplexity {:.1}{by} of {} in {}, foreseen from {}; bound {:.4} nats a token\n",
        score.perplexity,
        count(score.evaluated as usize, "token"),
        count(score.documents, "document"),
        score.observed as usize,
        score.bound_per_token
    )
}

fn priors(args: &FitArgs, result: &TopicsResult) -> String {
    let alpha = &result.fit.alpha;
    let least = short(alpha.iter().copied().fold(f64::INFINITY, f64::min));
    let most = short(alpha.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    let range = if least == most {
        least
    } else {
        format!("{least} to {most}")
    };
    let how = |learned: bool| if learned { "learned" } else { "given" };
    format!(
        "alpha {range}, sum {} ({}); beta {} ({})\n",
        short(alpha.iter().sum()),
        how(args.alpha == Alpha::Learned),
        short(result.fit.beta),
        how(args.beta == Beta::Learned)
    )
}

fn comparison(result: &TopicsResult) -> String {
    let first = &result.compared[0];
    let mut head = vec!["topics", "bound"];
    head.extend(first.perplexity.map(|_| "perplexity"));
    head.extend(["NPMI", "diversity", "in use", "passes", ""]);
    let row = |line: &Compared| {
        let mut cells = vec![line.topics.to_string(), format!("{:.3}", line.bound)];
        cells.extend(line.perplexity.map(|perplexity| format!("{perplexity:.1}")));
        cells.extend([
            decimals(line.measures.npmi),
            decimals(Some(line.measures.diversity)),
            line.used.to_string(),
            line.passes.to_string(),
            climb::mark(line.topics == result.fit.topics, line.converged),
        ]);
        cells
    };
    table(0, &head, result.compared.iter().map(row))
}

/// The topics in use, the largest first, each with its words.
fn topics(args: &FitArgs, data: &CorpusData, result: &TopicsResult) -> String {
    let qualities = &result.quality.topics;
    let mut used: Vec<usize> = (0..qualities.len()).collect();
    used.retain(|&topic| qualities[topic].used());
    used.sort_by(|&a, &b| qualities[b].tokens.total_cmp(&qualities[a].tokens));
    let mut text = vec![];
    if used.len() < qualities.len() {
        let (some, all) = (used.len(), count(qualities.len(), "topic"));
        text.push(format!(
            "{some} of {all} in use; no document uses the others\n"
        ));
    }
    text.push("\n  topic   share    NPMI  words\n".to_owned());
    let words = result
        .fit
        .top_words_of_all(args.top, Ranking::Relevance(args.relevance));
    for topic in used {
        let names: Vec<&str> = words[topic]
            .iter()
            .map(|score| data.corpus.vocabulary[score.word].as_str())
            .collect();
        let quality = &qualities[topic];
        text.push(format!(
            "  {topic:>5}  {:>5.1}%  {:>6}  {}\n",
            100.0 * quality.proportion,
            decimals(quality.coherence.map(|coherence| coherence.npmi)),
            names.join(" ")
        ));
    }
    text.concat()
}

/// Tells what was found and dropped while reading; `empty` are the first names of documents without words.
pub(crate) fn tell(report: &CorpusReport, empty: &[String], common: &Common) {
    for filtered in &report.filtered {
        common.say(&format!(
            "dropped {} ({}): {}",
            count(filtered.words, "word"),
            count(filtered.tokens as usize, "token"),
            filtered.filter
        ));
    }
    if report.duplicates > 0 {
        common.say(&format!(
            "added up {} of a document and word",
            count(report.duplicates, "repetition")
        ));
    }
    if report.replaced > 0 {
        common.say(&format!(
            "replaced bytes that are not UTF-8 in {}",
            count(report.replaced, "document")
        ));
    }
    if report.words_are_ids {
        common.say("found no file that names the words; they go by their numbers");
    }
    if !report.empty.is_empty() {
        common.say(&format!(
            "kept {} without words: {}",
            count(report.empty.len(), "document"),
            some_of(empty.iter().map(String::as_str), report.empty.len())
        ));
    }
}

/// Tells of words of halves of documents that are outside a fit's vocabulary.
pub(crate) fn tell_outside(halves: Option<&Halves>, common: &Common) {
    for (name, outside) in halves.iter().flat_map(|halves| &halves.outside) {
        tell_outside_of(name, outside, common);
    }
}

/// Tells of words of a file that are outside a fit's vocabulary.
pub(crate) fn tell_outside_of(name: &str, outside: &OutOfVocabulary, common: &Common) {
    if outside.words > 0 {
        common.say(&format!(
            "{name}: left out {} ({}) outside the vocabulary: {}",
            count(outside.words, "word"),
            count(outside.tokens as usize, "token"),
            some_of(outside.examples.iter().map(String::as_str), outside.words)
        ));
    }
}

/// The first few names of many.
fn some_of<'a>(names: impl Iterator<Item = &'a str>, all: usize) -> String {
    let shown: Vec<&str> = names.take(SHOWN).collect();
    let more = if all > shown.len() { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// What a person should know before trusting topics, in a sentence.
pub(crate) fn doubt(doubt: &Doubt) -> String {
    let given = "try given ones, such as --alpha 0.1 --beta 0.05";
    match doubt {
        Doubt::Unused { used, topics } => {
            let topics = count(*topics, "topic");
            format!("with learned priors {used} of {topics} is in use; {given}")
        }
        Doubt::Alpha(largest) => format!(
            "the learned alpha is as large as {}, by which all documents are alike; {given}",
            short(*largest)
        ),
        Doubt::Beta(beta) => format!(
            "the learned beta is {}, by which all topics are alike; {given}",
            short(*beta)
        ),
        Doubt::Alike(groups) => {
            let named = groups.iter().map(|group| {
                let names: Vec<String> = group.iter().map(ToString::to_string).collect();
                let (last, others) = names.split_last().expect("a group of two or more");
                format!("{} and {last}", others.join(", "))
            });
            let named = named.collect::<Vec<_>>().join("; ");
            format!("topics {named} are nearly the same; fewer topics may say as much")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubts_are_sentences() {
        let given = "; try given ones, such as --alpha 0.1 --beta 0.05";
        for (found, expected) in [
            (
                Doubt::Alpha(9000.0),
                "the learned alpha is as large as 9000, by which all documents are alike",
            ),
            (
                Doubt::Beta(9000.0),
                "the learned beta is 9000, by which all topics are alike",
            ),
            (
                Doubt::Unused { used: 1, topics: 2 },
                "with learned priors 1 of 2 topics is in use",
            ),
        ] {
            assert_eq!(doubt(&found), expected.to_owned() + given);
        }
        assert_eq!(
            doubt(&Doubt::Alike(vec![vec![0, 3, 5], vec![1, 2]])),
            "topics 0, 3 and 5; 1 and 2 are nearly the same; fewer topics may say as much"
        );
    }
}
