//! What a fit prints: a page that a person can read.

use std::fmt::Write;

use collapsar::topics::{Alpha, Beta, Ranking};
use collapsar_run::topics::{Compared, CorpusData, Measures, Score, TopicsResult};

use super::args::FitArgs;
use crate::climb;
use crate::text::{count, short, table};

pub(crate) fn of(args: &FitArgs, data: &CorpusData, result: &TopicsResult) -> String {
    let mut text = vec![format!(
        "{}: {}, {}, {}\n",
        data.name(),
        count(data.corpus.documents.len(), "document"),
        count(data.corpus.vocabulary.len(), "word"),
        count(data.corpus.tokens() as usize, "token"),
    )];
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
    text.push("\n".into());
    text.push(climb::kept_in(args.out.as_deref()));
    text.concat()
}

/// To three decimals; these measures are at most about 1.
fn decimals(measure: Option<f64>) -> String {
    measure.map_or("-".into(), |measure| format!("{measure:.3}"))
}

/// A line on how well documents are foreseen.
pub(crate) fn foreseen(score: &Score) -> String {
    let by = match score.fits {
        1 => String::new(),
        fits => format!(
            " by the mean of {fits} fits, {:.1} by the best alone,",
            score.best_perplexity
        ),
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
    let (least, most) = alpha
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), &a| {
            (least.min(a), most.max(a))
        });
    let (least, most) = (short(least), short(most));
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
    let mut head = vec!["topics".to_owned(), "bound".into()];
    head.extend(first.perplexity.map(|_| "perplexity".to_owned()));
    head.extend(["NPMI", "diversity", "in use", "passes", ""].map(String::from));
    let row = |line: &Compared| {
        let mark = match (line.topics == result.fit.topics, line.converged) {
            (true, _) => "best",
            (_, false) => "not converged",
            _ => "",
        };
        let mut cells = vec![line.topics.to_string(), format!("{:.3}", line.bound)];
        cells.extend(line.perplexity.map(|perplexity| format!("{perplexity:.1}")));
        cells.extend([
            decimals(line.measures.npmi),
            decimals(Some(line.measures.diversity)),
            line.used.to_string(),
            line.passes.to_string(),
            mark.to_owned(),
        ]);
        cells
    };
    let rows: Vec<_> = result.compared.iter().map(row).collect();
    table(&head, &rows)
}

/// The topics in use, the largest first, each with its words.
fn topics(args: &FitArgs, data: &CorpusData, result: &TopicsResult) -> String {
    let qualities = &result.quality.topics;
    let mut used: Vec<usize> = (0..qualities.len())
        .filter(|&topic| qualities[topic].used())
        .collect();
    used.sort_by(|&a, &b| qualities[b].tokens.total_cmp(&qualities[a].tokens));
    let mut text = String::new();
    if used.len() < qualities.len() {
        writeln!(
            text,
            "{} of {} in use; no document uses the others",
            used.len(),
            count(qualities.len(), "topic")
        )
        .expect("strings take all text");
    }
    text += "\n  topic   share    NPMI  words\n";
    let words = result
        .fit
        .top_words_of_all(args.top, Ranking::Relevance(args.relevance));
    for topic in used {
        let names: Vec<&str> = words[topic]
            .iter()
            .map(|score| data.corpus.vocabulary[score.word].as_str())
            .collect();
        let quality = &qualities[topic];
        writeln!(
            text,
            "  {topic:>5}  {:>5.1}%  {:>6}  {}",
            100.0 * quality.share,
            decimals(quality.coherence.map(|coherence| coherence.npmi)),
            names.join(" ")
        )
        .expect("strings take all text");
    }
    text
}
