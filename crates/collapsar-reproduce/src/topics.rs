//! The second experiment: topics of a corpus, every method from the same starts.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use collapsar::topics::{Alpha, Beta, Corpus, Ranking, Settings, Start, Topics, TopicsFit};
use collapsar_formats::{CorpusOptions, read_corpus};
use collapsar_text::{count, grouped, markdown, thousands};
use serde_json::json;

use crate::corpus::{CorpusSize, draw, names};
use crate::measure::Measure;
use crate::paired::{Paper, tables};
use crate::plan::Climbs;
use crate::{Error, Host, Plan, Report, Result, file_name};

/// HRL12, table 2.
const PAPER: Paper = Paper {
    title: "The paper's (HRL12, table 2)",
    figures: &[
        (Measure::Seconds, "minutes", 1),
        (Measure::Iterations, "iterations", 1),
        (Measure::Bound, "bound", 0),
    ],
    rows: &[
        ("hs", &[(56.4, 18.5), (644.3, 214.5), (-1_998_780.0, 201.0)]),
        ("fr", &[(38.5, 8.7), (447.8, 100.5), (-1_998_743.0, 194.0)]),
        (
            "vbem",
            &[(370.0, 105.0), (4459.0, 1296.0), (-1_998_732.0, 241.0)],
        ),
    ],
};

/// Topics and words shown, as many as in the paper.
const TOPICS: usize = 6;
const WORDS: usize = 10;
/// Between probability and lift: by which readers know topics best (SievertShirley14).
const RELEVANCE: f64 = 0.6;

/// The paper's second experiment: topics of papers.
#[derive(Debug, Clone)]
pub struct TopicsRequest {
    /// A file or folder of documents, instead of a corpus drawn from the model.
    pub corpus: Option<PathBuf>,
    /// The size of a corpus that is drawn.
    pub size: CorpusSize,
    /// Topics of the model, and of a corpus that is drawn.
    pub topics: usize,
    /// Prior of the documents' proportions, for each topic.
    pub alpha: f64,
    /// Prior of the topics, for each word.
    pub beta: f64,
    /// Sweeps over a document's words in each pass.
    pub sweeps: usize,
    /// First topics.
    pub start: Start,
    /// The runs.
    pub plan: Plan,
}

impl TopicsRequest {
    /// Runs the experiment.
    ///
    /// # Errors
    /// Where data or options are refused, and [`Error::PartOfStart`] where it is interrupted too early.
    pub fn run(&self, host: &dyn Host) -> Result<Report> {
        let began = Instant::now();
        let (corpus, vocabulary, files) = self.documents()?;
        let corpus = Arc::new(corpus);
        let settings = Settings {
            topics: self.topics,
            alpha: Alpha::Symmetric(self.alpha),
            beta: Beta::Given(self.beta),
            sweeps: self.sweeps,
        };
        let model = Topics::new(Arc::clone(&corpus), &settings)?;
        let start = |seed| model.start_unless(self.start, seed, host.interrupt());
        let climbs = self.plan.climb(&model, start, None, host)?;
        let text = format!(
            "{}\n{}Largest topics of the best fit ({}), by words of highest relevance\n\n{}",
            self.preamble(&corpus, &climbs, host),
            tables(&PAPER, &climbs.comparison),
            climbs.best_is,
            largest_topics(&model.fit(&climbs.best), &vocabulary)
        );
        let config = json!({
            "documents": corpus.documents(),
            "words": corpus.vocabulary(),
            "tokens": corpus.tokens(),
            "drawn": self.corpus.is_none(),
            "topics": self.topics,
            "alpha": self.alpha,
            "beta": self.beta,
            "sweeps": self.sweeps,
            "start": self.start,
        });
        Ok(climbs.report("topics", text, files, &self.plan, config, began))
    }

    /// A corpus with its words' names and the files it came from.
    fn documents(&self) -> Result<(Corpus, Vec<String>, Vec<PathBuf>)> {
        let Some(path) = &self.corpus else {
            let corpus = draw(self.size, self.topics, self.plan.seed)?;
            return Ok((corpus, names(self.size.words), Vec::new()));
        };
        let (read, report) = read_corpus(path, &CorpusOptions::default())?;
        let words = read.vocabulary.len();
        let corpus = Corpus::new(read.starts, read.words, read.counts, words);
        let files = std::iter::once(path.clone()).chain(report.vocabulary);
        Ok((
            corpus.map_err(Error::in_file(path))?,
            read.vocabulary,
            files.collect(),
        ))
    }

    /// What was run, so that the figures can be had again.
    fn preamble(&self, corpus: &Corpus, climbs: &Climbs, host: &dyn Host) -> String {
        let size = format!(
            "{} documents, {} words, {} tokens",
            thousands(corpus.documents()),
            thousands(corpus.vocabulary()),
            grouped(corpus.tokens(), 0)
        );
        let data = match &self.corpus {
            Some(path) => format!("{} ({size})", file_name(path)),
            None => format!(
                "drawn from the model with seed {}, words as uneven as Zipf's law has them ({size}); {} takes a real one",
                self.plan.seed,
                host.terms().option("corpus")
            ),
        };
        format!(
            "The paper's second experiment (HRL12, section 5.2): latent Dirichlet allocation on 200 papers of \
             NIPS 2011 with a vocabulary of 2,000 words.\n\n\
             - Data: {data}\n\
             - Model: {}, alpha {} for each topic and beta {} for each word, both fixed\n\
             - {}\n\
             - Costs: a pass is {} over each document's words, where a textbook update has one; passes of the start \
             and products with the metric count, and a product takes longer than a pass. Runs go one after another, \
             threads: {}\n\
             - The paper states neither the number of topics nor the values of its priors, \"fixed, uninformative\": \
             its figures are a guide\n",
            count(self.topics, "topic"),
            self.alpha,
            self.beta,
            climbs.sentence(&self.plan, self.start.name()),
            count(self.sweeps, "sweep"),
            rayon::current_num_threads()
        )
    }
}

/// The largest topics of a fit, a column each, as the paper's supplement shows its own.
fn largest_topics(fit: &TopicsFit, vocabulary: &[String]) -> String {
    let counts = fit.topic_counts();
    let tokens: f64 = counts.iter().sum();
    let mut order: Vec<usize> = (0..fit.topics).collect();
    order.sort_by(|&a, &b| counts[b].total_cmp(&counts[a]));
    order.truncate(TOPICS);
    let words = fit.top_words_of_all(WORDS, Ranking::Relevance(RELEVANCE));
    let line = |cell: &dyn Fn(usize) -> String| order.iter().map(|&topic| cell(topic)).collect();
    let mut lines: Vec<Vec<String>> = vec![line(&|topic| {
        let proportion = 100.0 * counts[topic] / tokens;
        format!("topic {topic}: {proportion:.1}%")
    })];
    // Every topic ranks the same words, those that documents have.
    for rank in 0..words[0].len() {
        lines.push(line(&|topic| vocabulary[words[topic][rank].word].clone()));
    }
    markdown(&lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_stand_side_by_side() {
        let fit = TopicsFit {
            topics: 2,
            alpha: vec![1.0; 2],
            beta: 1.0,
            word_counts: vec![50.0, 50.0, 10.0, 0.0, 0.0, 90.0],
            document_counts: vec![],
            drawn: false,
        };
        let names = ["both", "first", "second"].map(String::from);
        let text = largest_topics(&fit, &names);
        let heads = "| topic 1: 70.0% | topic 0: 30.0% |";
        assert_eq!(text.lines().next(), Some(heads), "{text}");
        assert_eq!(text.lines().count(), 5);
    }
}
