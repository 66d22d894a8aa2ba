//! Runs of topics of documents that workers hold: the same climbs and files, as far as a fit without documents has them.

use collapsar::Collapsed;
use collapsar::topics::machines::{Asker, Cuts, Exchange, FarCorpus};
use collapsar::topics::{Ranking, Settings, Start, TopicsFit};
use collapsar_formats::write_atomically;
use collapsar_text::count;
use serde::Serialize;
use serde_json::json;

use super::request::{alpha, beta};
use super::results::{WORDS, write_words};
use super::saved::{self, About};
use crate::climb::{Ascent, Climbed, Watch, each};
use crate::error::Result;
use crate::folder::RunFolder;
use crate::plan::{ClimbOptions, Plan, topics_tolerance};
use crate::record::{Record, merged};
use crate::verdict::{PosteriorKind, Signs};

/// How words are ranked in the column of relevance.
const RELEVANCE: f64 = 0.6;

/// Topics of documents that workers hold, as a user asks for them.
#[derive(Debug, Clone)]
pub struct FarTopicsRequest {
    /// Numbers of topics to fit.
    pub topics: Vec<usize>,
    /// The model, but for the number of topics.
    pub settings: Settings,
    /// Where climbs begin.
    pub start: Start,
    /// How models are climbed. A checkpoint is a folder, whose files are never written again.
    pub climb: ClimbOptions,
}

/// Documents that workers hold.
#[derive(Debug, Clone)]
pub struct FarDocumentsInput {
    /// Files or matrices in their order, with how many documents each has.
    pub sources: Vec<(String, u64)>,
    /// Documents of a chunk.
    pub chunk_documents: u64,
    /// The words.
    pub vocabulary: Vec<String>,
    /// Whether numbers of words in files of counts are positions in the vocabulary.
    pub ids_are_positions: bool,
}

/// Topic models that can be climbed.
pub struct FarTopicsRun<'a> {
    request: FarTopicsRequest,
    input: FarDocumentsInput,
    corpus: FarCorpus<'a>,
    plan: Plan,
}

/// The best fit, and what finding it cost.
pub struct FarTopicsResult {
    /// The topics; of documents nothing.
    pub fit: TopicsFit,
    /// The climbs.
    pub climbed: Climbed,
    /// One line for each number of topics.
    pub compared: Vec<FarCompared>,
    /// Names model and data.
    pub fingerprint: String,
}

/// What one number of topics led to.
#[derive(Debug, Clone, Serialize)]
pub struct FarCompared {
    /// The number.
    pub topics: usize,
    /// The bound reached.
    pub bound: f64,
    /// Accepted steps of all climbs.
    pub iterations: u64,
    /// Passes over the data of all climbs.
    pub passes: u64,
    /// Whether the best climb has converged.
    pub converged: bool,
}

impl FarTopicsRequest {
    /// Checks all that can be wrong before a climb, for which workers look through their documents once.
    pub fn prepare(
        mut self,
        input: FarDocumentsInput,
        exchange: &dyn Exchange,
    ) -> Result<FarTopicsRun<'_>> {
        self.climb.check(self.topics.len(), "topics")?;
        if let Some((folder, _)) = &self.climb.checkpoint {
            std::fs::create_dir_all(folder)
                .map_err(|error| collapsar_formats::Error::file(folder, &error))?;
        }
        let cuts = Cuts::new(input.sources.clone(), input.chunk_documents)?;
        let corpus = FarCorpus::new(Asker::new(exchange, cuts), input.vocabulary.len())?;
        let plan = self.climb.plan(topics_tolerance(corpus.tokens()))?;
        // Whatever is wrong with one model is better known before the others are fitted.
        for &topics in &self.topics {
            corpus.with(&self.settings(topics))?;
        }
        Ok(FarTopicsRun {
            request: self,
            input,
            corpus,
            plan,
        })
    }

    fn settings(&self, topics: usize) -> Settings {
        Settings {
            topics,
            ..self.settings.clone()
        }
    }
}

impl FarTopicsRun<'_> {
    /// How many words all documents have together.
    pub fn tokens(&self) -> f64 {
        self.corpus.tokens()
    }

    /// Climbs with every number of topics, and keeps the one with the highest bound.
    pub fn climb(&self, watch: &dyn Watch) -> Result<FarTopicsResult> {
        let request = &self.request;
        let mut compared = Vec::new();
        let (climbed, (fit, fingerprint)) = each(
            &self.plan,
            watch,
            &request.topics,
            |run, topics| {
                let model = self.corpus.with(&request.settings(topics))?;
                let start = |_, seed| model.start_unless(request.start, seed, watch.interrupt());
                let climbs = run.climbs(&Ascent {
                    // Workers do one task at a time.
                    in_turn: true,
                    ..Ascent::new(&model, count(topics, "topic"), &start)
                })?;
                let best = &climbs.best;
                compared.push(FarCompared {
                    topics,
                    bound: best.point.bound,
                    iterations: climbs.iterations(),
                    passes: climbs.passes(),
                    converged: best.outcome.converged(),
                });
                let kept = (model.fit(&best.point), model.fingerprint());
                Ok((climbs, kept))
            },
            |climbs, _| climbs.best.point.bound,
        )?;
        Ok(FarTopicsResult {
            fit,
            climbed,
            compared,
            fingerprint,
        })
    }

    /// Writes the files of a run that need no documents: `topics.json`, `topics.csv`, `trace.jsonl` and `run.json`.
    pub fn write(
        &self,
        folder: RunFolder,
        result: &FarTopicsResult,
        (command, engine): (Vec<String>, &str),
    ) -> Result<()> {
        let (request, input, fit) = (&self.request, &self.input, &result.fit);
        let corpus = &self.corpus;
        let documents = corpus.documents();
        let bound = result.climbed.best().point.bound;
        let about = About::of_counts(
            (documents as usize, corpus.tokens(), bound),
            input.ids_are_positions,
        );
        write_atomically(&saved::best(folder.path()), |out| {
            saved::write_to(out, &about, &input.vocabulary, fit)
        })?;
        write_atomically(&folder.path().join("topics.csv"), |out| {
            let words = fit.top_words_of_all(WORDS, Ranking::Probability);
            write_words(out, &words, &input.vocabulary, RELEVANCE)
        })?;
        // Whether others would do better nobody has looked: that takes documents.
        let (kind, signs) = (PosteriorKind::MeanField, Signs::default());
        let sources = input.sources.iter();
        let record = Record {
            command,
            config: merged(
                &request.climb,
                json!({
                    "topics": request.topics,
                    "alpha": alpha(&request.settings),
                    "beta": beta(&request.settings),
                    "sweeps": request.settings.sweeps,
                    "start": request.start,
                    "engine": engine,
                    "chunk_documents": input.chunk_documents,
                }),
            ),
            // Digests would read everything once more: the fingerprint has one of the counts.
            files: vec![],
            seed: request.climb.seed,
            own: json!({
                "topics": fit.topics,
                "alpha": fit.alpha,
                "beta": fit.beta,
                "topic_tokens": fit.topic_counts(),
                "compared": result.compared,
                "posterior": kind,
                "signs": signs,
                "verdict": signs.verdict(kind, result.climbed.outcome.converged),
                "fingerprint": result.fingerprint,
                "corpus": {
                    "documents": documents,
                    "without_words": documents - corpus.filled(),
                    "words": input.vocabulary.len(),
                    "tokens": corpus.tokens(),
                },
                "chunks": corpus.asker().cuts().count(),
                "sources": sources
                    .map(|(name, documents)| json!({"name": name, "documents": documents}))
                    .collect::<Vec<_>>(),
            }),
        };
        result.climbed.write(folder, record)
    }
}
