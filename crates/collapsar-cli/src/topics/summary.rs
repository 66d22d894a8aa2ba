//! What a fit prints: a page that a person can read.

use std::fmt::Write;

use super::args::FitArgs;
use super::corpus::Data;
use super::fit::{Compared, Fitted};
use super::quality::{Measures, decimals};
use super::score::Score;
use crate::text::{count, short, table};

pub(crate) fn of(args: &FitArgs, data: &Data, fitted: &Fitted) -> String {
    let mut text = String::new();
    let mut add = |parts: std::fmt::Arguments<'_>| {
        text.write_fmt(parts).expect("strings take all text");
    };
    add(format_args!(
        "{}: {}, {}, {}\n",
        args.corpus_name(),
        count(data.corpus.documents.len(), "document"),
        count(data.corpus.vocabulary.len(), "word"),
        count(data.corpus.tokens() as usize, "token"),
    ));
    if fitted.compared.len() > 1 {
        add(format_args!("\n{}\n", comparison(fitted)));
    }
    add(format_args!(
        "{}{}",
        priors(args, fitted),
        fitted.ended.lines()
    ));
    if let Some(score) = &fitted.score {
        add(format_args!("{}", foreseen(score)));
    }
    let measures = Measures::of(&fitted.quality);
    add(format_args!(
        "coherence NPMI {}, UMass {}; diversity {}; exclusivity {}\n",
        decimals(measures.npmi),
        decimals(measures.umass),
        decimals(Some(measures.diversity)),
        decimals(measures.exclusivity)
    ));
    add(format_args!("{}\n", topics(args, data, fitted)));
    match &args.out {
        Some(folder) => add(format_args!("all results are in {}\n", folder.display())),
        None => add(format_args!("--out DIR keeps all results\n")),
    }
    text
}

fn is_kept(line: &Compared, fitted: &Fitted) -> bool {
    line.topics == fitted.answer.topics
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

fn priors(args: &FitArgs, fitted: &Fitted) -> String {
    let alpha = &fitted.answer.alpha;
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
    let how = |given: &serde_json::Value| {
        if given == "auto" { "learned" } else { "given" }
    };
    format!(
        "alpha {range}, sum {} ({}); beta {} ({})\n",
        short(alpha.iter().sum()),
        how(&args.alpha.record()),
        short(fitted.answer.beta),
        how(&args.beta.record())
    )
}

fn comparison(fitted: &Fitted) -> String {
    let first = &fitted.compared[0];
    let mut head = vec!["topics".to_owned(), "bound".into()];
    head.extend(first.perplexity.map(|_| "perplexity".to_owned()));
    head.extend(["NPMI", "diversity", "in use", "passes", ""].map(String::from));
    let row = |line: &Compared| {
        let mark = match (is_kept(line, fitted), line.converged) {
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
    let rows: Vec<_> = fitted.compared.iter().map(row).collect();
    table(&head, &rows)
}

/// The topics in use, the largest first, each with its words.
fn topics(args: &FitArgs, data: &Data, fitted: &Fitted) -> String {
    let qualities = &fitted.quality.topics;
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
    let words = fitted.answer.top_words_of_all(args.top, args.ranking());
    for topic in used {
        let names: Vec<&str> = words[topic]
            .iter()
            .map(|score| data.corpus.vocabulary[score.word].as_str())
            .collect();
        let quality = &qualities[topic];
        writeln!(
            text,
            "  {topic:>5}  {:>5.1}%  {:>6}  {}",
            100.0 * quality.proportion,
            decimals(quality.coherence.map(|coherence| coherence.npmi)),
            names.join(" ")
        )
        .expect("strings take all text");
    }
    text
}
