//! Topics that learn from documents as they come, without holding more than a batch of them.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::Instant;

use collapsar::topics::{
    BatchScore, Corpus, OnlineOptions, OnlineTopics, Ranking, Settings, TopicsFit,
};
use collapsar_formats::{Outcome, Run, read_batches, write_atomically};
use serde_json::json;

use super::corpus::CorpusRequest;
use super::results::{WORDS, write_words};
use super::saved::{self, About};
use crate::error::{Error, Result};
use crate::folder::RunFolder;
use crate::record::{fields, name_of};

/// Batches whose perplexity is told as the last.
const LAST: usize = 20;

/// Documents to learn from as they come.
#[derive(Debug, Clone)]
pub struct StreamRequest {
    /// Where they come from, and which of their words are kept.
    pub corpus: CorpusRequest,
    /// How many topics, and their priors.
    pub settings: Settings,
    /// How fast topics forget, and how many documents there will be.
    pub online: OnlineOptions,
    /// Documents of a batch.
    pub batch: usize,
    /// Words after so many are left out; those before are kept as they come.
    pub most_words: Option<usize>,
    /// Stop after so many documents.
    pub most_documents: Option<u64>,
    /// The seed of the first topics.
    pub seed: u64,
}

/// How far a stream has come.
#[derive(Debug, Clone, Copy, Default)]
pub struct StreamPosition {
    /// Documents.
    pub documents: u64,
    /// Tokens that were kept.
    pub tokens: f64,
    /// Tokens of words that came too late to be kept.
    pub left_out: f64,
    /// Different words.
    pub words: usize,
    /// What was said of the last batches before they were learned from.
    pub last: BatchScore,
}

impl StreamPosition {
    /// Perplexity of the last batches by the topics before each.
    pub fn perplexity(&self) -> f64 {
        self.last.perplexity()
    }
}

/// What was learned.
pub struct StreamResult {
    request: StreamRequest,
    /// The topics.
    pub fit: TopicsFit,
    /// The words, in the order in which they came.
    pub vocabulary: Vec<String>,
    /// Where it ended.
    pub position: StreamPosition,
    /// What was said of all batches before they were learned from.
    pub score: BatchScore,
    /// Batches that were learned from.
    pub batches: u64,
    /// Documents in which bytes that were not UTF-8 were replaced.
    pub replaced: usize,
    /// Whether it was stopped before its end.
    pub stopped: bool,
    /// Time taken.
    pub seconds: f64,
}

/// What is known while documents come.
struct Learner<'a> {
    request: &'a StreamRequest,
    topics: OnlineTopics,
    ids: HashMap<String, u32>,
    vocabulary: Vec<String>,
    position: StreamPosition,
    score: BatchScore,
    scores: Vec<BatchScore>,
}

impl StreamRequest {
    /// Learns until the documents end or `watch` breaks, which is told after every batch.
    ///
    /// # Errors
    /// Where documents cannot be read, options are out of range, or there was no word.
    pub fn learn(
        &self,
        watch: &mut dyn FnMut(&StreamPosition) -> ControlFlow<()>,
    ) -> Result<StreamResult> {
        let began = Instant::now();
        let mut request = self.clone();
        request.corpus.options.stop_words = self.corpus.stop_words()?;
        let mut learner = Learner {
            request: self,
            topics: OnlineTopics::new(&self.settings, 0, self.online, self.seed)?,
            ids: HashMap::new(),
            vocabulary: vec![],
            position: StreamPosition::default(),
            score: BatchScore::default(),
            scores: vec![],
        };
        let (mut refused, mut stopped) = (None, false);
        let (file, options) = (&request.corpus.file, &request.corpus.options);
        let replaced = read_batches(file, options, self.batch, &mut |batch| {
            if let Err(error) = learner.learn(batch) {
                refused = Some(error);
                return ControlFlow::Break(());
            }
            let most = self.most_documents.unwrap_or(u64::MAX);
            if learner.position.documents >= most {
                return ControlFlow::Break(());
            }
            let told = watch(&learner.position);
            stopped = told.is_break();
            told
        })?;
        if let Some(error) = refused {
            return Err(error);
        }
        if learner.vocabulary.is_empty() {
            let name = name_of(file);
            return Err(Error::input(
                name,
                "documents without a word",
                "at least one",
            ));
        }
        Ok(StreamResult {
            request,
            fit: learner.topics.fit(),
            vocabulary: learner.vocabulary,
            position: learner.position,
            score: learner.score,
            batches: learner.topics.batches(),
            replaced,
            stopped,
            seconds: began.elapsed().as_secs_f64(),
        })
    }
}

impl Learner<'_> {
    fn learn(&mut self, batch: collapsar_formats::Corpus) -> Result<()> {
        self.position.documents += batch.documents.len() as u64;
        let places = self.places(batch.vocabulary);
        self.topics.grow(self.vocabulary.len(), self.request.seed);
        let (mut starts, mut words, mut counts) = (vec![0], vec![], vec![]);
        for ends in batch.starts.windows(2) {
            for entry in ends[0]..ends[1] {
                match places[batch.words[entry] as usize] {
                    Some(word) => {
                        words.push(word);
                        counts.push(batch.counts[entry]);
                    }
                    None => self.position.left_out += f64::from(batch.counts[entry]),
                }
            }
            starts.push(words.len());
        }
        // A batch of nothing but empty documents says nothing.
        if words.is_empty() {
            return Ok(());
        }
        let corpus = Corpus::new(starts, words, counts, self.vocabulary.len())?;
        let score = self.topics.learn(&corpus)?;
        self.scores.push(score);
        self.score += score;
        if self.scores.len() > LAST {
            self.scores.remove(0);
        }
        self.position.tokens = self.score.tokens;
        self.position.words = self.vocabulary.len();
        self.position.last = BatchScore::default();
        for score in &self.scores {
            self.position.last += *score;
        }
        Ok(())
    }

    /// The places of words in the vocabulary, which takes in those that are new while there is room.
    fn places(&mut self, words: Vec<String>) -> Vec<Option<u32>> {
        let most = self.request.most_words.unwrap_or(u32::MAX as usize);
        let place = |word: String| {
            if let Some(&place) = self.ids.get(&word) {
                return Some(place);
            }
            if self.vocabulary.len() >= most {
                return None;
            }
            let place = self.vocabulary.len() as u32;
            self.vocabulary.push(word.clone());
            self.ids.insert(word, place);
            Some(place)
        };
        words.into_iter().map(place).collect()
    }
}

impl StreamResult {
    /// The stream's name, as in refusals.
    pub fn name(&self) -> String {
        name_of(&self.request.corpus.file)
    }

    /// Writes `topics.json`, `topics.csv` and `run.json`.
    ///
    /// # Errors
    /// Where a file cannot be written.
    pub fn write(&self, folder: RunFolder, command: Vec<String>, relevance: f64) -> Result<()> {
        let (path, request) = (folder.path(), &self.request);
        let tokens = request.corpus.options.tokens;
        let about = About::of_texts(tokens, self.position.documents as usize, self.score);
        write_atomically(&saved::best(path), |out| {
            saved::write_to(out, &about, &self.vocabulary, &self.fit)
        })?;
        let words = self.fit.top_words_of_all(WORDS, Ranking::Probability);
        write_atomically(&path.join("topics.csv"), |out| {
            write_words(out, &words, &self.vocabulary, relevance)
        })?;
        let reason = if self.stopped {
            "interrupted"
        } else {
            "the documents ended"
        };
        folder.record(Run {
            version: env!("CARGO_PKG_VERSION").into(),
            command,
            config: json!({
                "stream": true,
                "topics": self.fit.topics,
                "batch": request.batch,
                "learning_decay": request.online.decay,
                "learning_offset": request.online.offset,
                "total_samples": request.online.documents,
                "max_vocabulary": request.most_words,
                "min_length": tokens.min_length,
                "keep_numbers": tokens.numbers,
                "stop_words": request.corpus.stop_words,
            }),
            inputs: folder.inputs(std::slice::from_ref(&request.corpus.file))?,
            outcome: Outcome {
                converged: !self.stopped,
                reason: reason.into(),
            },
            bound: self.score.bound,
            iterations: self.batches,
            passes: 1,
            seconds: self.seconds,
            seed: request.seed,
            extra: fields(json!({
                "topics": self.fit.topics,
                "alpha": self.fit.alpha,
                "beta": self.fit.beta,
                "topic_tokens": self.fit.topic_counts(),
                "documents": self.position.documents,
                "tokens": self.position.tokens,
                "left_out": self.position.left_out,
                "words": self.vocabulary.len(),
                "perplexity": self.score.perplexity(),
                "last_perplexity": self.position.perplexity(),
            })),
        })?;
        folder.commit()
    }
}
