//! `collapsar topics --stream`: documents as they come.

use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use clap::Args;
use collapsar::topics::{OnlineOptions, Ranking, Settings};
use collapsar_run::topics::{StreamPosition, StreamRequest, StreamResult};
use collapsar_run::{RunFolder, Witness};

use super::args::FitArgs;
use crate::climb;
use crate::common::{Common, Usage, command, exit, print};
use crate::progress::Progress;
use crate::text::{count, duration, short};

/// How topics learn from a stream.
#[derive(Debug, Args)]
#[command(next_help_heading = "Stream")]
pub(crate) struct StreamArgs {
    /// Learn from documents as they come, a batch at a time, without holding more of them
    ///
    /// For corpora larger than memory, and for standard input that does not end: Ctrl-C ends it, and what was learned is
    /// kept. The vocabulary grows with the documents; --max-vocabulary V keeps the first V words that come. Priors are not
    /// learned: auto is 0.1. Writes topics.json, topics.csv and run.json.
    #[arg(long)]
    #[arg(conflicts_with_all = [
        "holdout", "completion", "curve", "average", "posterior", "documents", "checkpoint", "resume", "restarts", "method",
        "min_docs", "max_docs_share", "all_words", "vocabulary", "memory",
    ])]
    pub(crate) stream: bool,
    /// Documents of a batch
    #[arg(long, value_name = "N", default_value = "256", requires = "stream")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,
    /// How many documents there will be: each batch stands for so many
    #[arg(long, value_name = "D", default_value = "1e6", requires = "stream")]
    total_samples: f64,
    /// Batch t counts (OFFSET + t)^-DECAY, and what came before the rest
    #[arg(long, value_name = "DECAY", default_value = "0.7", requires = "stream")]
    learning_decay: f64,
    /// Makes early batches count less
    #[arg(long, value_name = "OFFSET", default_value = "10", requires = "stream")]
    learning_offset: f64,
    /// Stop after so many documents
    #[arg(long, value_name = "N", requires = "stream")]
    most_documents: Option<u64>,
}

impl FitArgs {
    fn streamed(&self) -> anyhow::Result<StreamRequest> {
        let [topics] = self.topics.0[..] else {
            let found = format!(
                "--stream learns one number of topics, found {}",
                self.topics.0.len()
            );
            return Err(Usage(found).into());
        };
        Ok(StreamRequest {
            corpus: self.corpus(),
            settings: Settings {
                alpha: self.alpha.clone(),
                beta: self.beta,
                ..Settings::new(topics)
            },
            online: OnlineOptions {
                documents: self.stream.total_samples,
                decay: self.stream.learning_decay,
                offset: self.stream.learning_offset,
                ..OnlineOptions::default()
            },
            batch: self.stream.batch as usize,
            most_words: self.max_vocabulary.map(|most| most as usize),
            most_documents: self.stream.most_documents,
            seed: self.climb.seed,
        })
    }
}

pub(super) fn run(args: &FitArgs, common: &Common) -> anyhow::Result<ExitCode> {
    let request = args.streamed()?;
    let witness = Witness::of(args.files());
    let folder = RunFolder::asked(args.out.as_deref(), witness)?;
    let progress = Progress::new(common, None, "documents");
    let began = std::time::Instant::now();
    let interrupt = common.listen();
    let result = request.learn(&mut |at: &StreamPosition| {
        progress.tell(|| {
            let rate = at.documents as f64 / began.elapsed().as_secs_f64();
            format!(
                "{}, {} a second, {}, perplexity {:.1}",
                count(at.documents as usize, "document"),
                short(rate),
                count(at.words, "word"),
                at.perplexity()
            )
        });
        if interrupt.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    drop(progress);
    if result.replaced > 0 {
        let documents = count(result.replaced, "document");
        common.say(&format!("replaced bytes that are not UTF-8 in {documents}"));
    }
    if let Some(folder) = folder {
        result.write(folder, command(), args.relevance)?;
    }
    print(&summary(args, &result))?;
    Ok(exit())
}

fn summary(args: &FitArgs, result: &StreamResult) -> String {
    let at = &result.position;
    let mut text = vec![format!(
        "{}: {}, {}, {} in batches of {}\n",
        result.name(),
        count(at.documents as usize, "document"),
        count(result.vocabulary.len(), "word"),
        count(at.tokens as usize, "token"),
        args.stream.batch,
    )];
    if at.left_out > 0.0 {
        let tokens = count(at.left_out as usize, "token");
        text.push(format!(
            "left out {tokens} of words that came after the vocabulary was full\n"
        ));
    }
    text.push(format!(
        "perplexity {:.1} of the last batches, each before it was learned from; {}\n",
        at.perplexity(),
        duration(result.seconds)
    ));
    let tokens = result.fit.topic_counts();
    let all: f64 = tokens.iter().sum();
    let mut order: Vec<usize> = (0..tokens.len()).collect();
    order.sort_by(|&a, &b| tokens[b].total_cmp(&tokens[a]));
    let words = (result.fit).top_words_of_all(args.top, Ranking::Relevance(args.relevance));
    text.push("\n  topic   share  words\n".to_owned());
    for topic in order {
        let names = words[topic].iter();
        let names: Vec<&str> = names
            .map(|score| result.vocabulary[score.word].as_str())
            .collect();
        let share = 100.0 * tokens[topic] / all;
        text.push(format!(
            "  {topic:>5}  {share:>5.1}%  {}\n",
            names.join(" ")
        ));
    }
    text.push("\n".to_owned());
    text.push(climb::kept_in(args.out.as_deref()));
    text.concat()
}
