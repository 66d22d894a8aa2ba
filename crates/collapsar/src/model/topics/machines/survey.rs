//! What is known of documents before a model is: how many, their words, what tells corpora apart.

use std::sync::Arc;

use super::super::{Settings, Topics};
use super::log::Log;
use super::task::Task;
use super::{Asker, FarDocuments, FarTopics, ask};
use collapsar_core::exchange::Writer;
use collapsar_core::{Error, Place, Result};

/// A corpus that workers hold.
#[derive(Debug)]
pub struct FarCorpus<'a> {
    pub(super) asker: Asker<'a>,
    pub(super) log: Arc<Log>,
    pub(super) word_totals: Vec<f64>,
    pub(super) tokens: f64,
    pub(super) digest: u64,
    filled: f64,
}

impl<'a> FarCorpus<'a> {
    /// A corpus whose vocabulary has so many words: one look at all documents.
    ///
    /// # Errors
    /// [`Error::Data`] where there is no word; [`Error::Exchange`] where workers do not answer.
    pub fn new(asker: Asker<'a>, vocabulary: usize) -> Result<Self> {
        let (documents, words) = (asker.cuts().rows(), vocabulary as u64);
        let most = u64::from(u32::MAX);
        let refused = |found: String, expected: &str| {
            Err(Error::data(Place::Whole("corpus"), found, expected))
        };
        if words >= most {
            return refused(format!("{words} words"), "fewer than 2^32");
        }
        let log = Arc::new(Log::default());
        let survey = ask(&asker, &log, &Task::Survey, 5 + vocabulary)?;
        if survey[0] != documents as f64 {
            return Err(Error::exchange(format!(
                "{} documents, expected {documents} as were counted",
                survey[0]
            )));
        }
        if survey[2] == 0.0 {
            return refused("no words".into(), "at least one document with a word");
        }
        Ok(Self {
            asker,
            log,
            word_totals: survey[5..].to_vec(),
            tokens: survey[2],
            digest: survey[3] as u64 ^ (survey[4] as u64).rotate_left(32),
            filled: survey[1],
        })
    }

    /// Who is asked, and how documents are cut.
    pub fn asker(&self) -> &Asker<'a> {
        &self.asker
    }

    /// How many documents there are.
    pub fn documents(&self) -> u64 {
        self.asker.cuts().rows()
    }

    /// How many of them have a word.
    pub fn filled(&self) -> u64 {
        self.filled as u64
    }

    /// How often each word is there.
    pub fn word_totals(&self) -> &[f64] {
        &self.word_totals
    }

    /// The sum of all counts.
    pub fn tokens(&self) -> f64 {
        self.tokens
    }

    /// A model of it.
    ///
    /// # Errors
    /// As [`Topics::new`].
    pub fn with(&self, settings: &Settings) -> Result<FarTopics<'_>> {
        settings.check(self.tokens)?;
        Ok(Topics::of(FarDocuments::new(self, settings), settings))
    }
}

impl Task {
    pub(super) fn body(&self) -> impl Fn(&mut Writer) + '_ {
        |out| self.write(out)
    }
}
