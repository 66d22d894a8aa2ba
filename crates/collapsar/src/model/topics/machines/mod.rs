//! Topics of documents that workers hold: in threads, in other processes, on other machines.
//!
//! - `task`: what a worker may be asked, as bytes
//! - `worker`: who holds chunks of documents and the counts that passes have left of them, and answers
//! - `survey`: what is known of documents before a model is
//! - `log`: passes that may have to be made again, for a worker that came in the place of another
//!
//! Whoever asks holds no document, and no counts of one: points refer to a pass by its number, and workers keep what it left
//! for as long as something refers to it. Chunks are cut by the data and added in one fixed tree, so that a fit is the same to
//! the bit for any number of workers; what a lost worker knew is made again from the same passes, to the same bits.

mod log;
mod survey;
mod task;
mod worker;

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::documents::{Documents, Settle, Words};
use super::local::EXACT;
use super::priors::Slopes;
use super::{Alpha, Settings, Topics};
use collapsar_core::{Elsewhere, Error, Potential, Result, Warm};
use log::Log;
use task::{Begin, Pass, Task, write_all};

pub use collapsar_core::exchange::{Asker, Cuts, Exchange, Piece, merged};
pub use survey::FarCorpus;
pub use worker::Worker;

/// Documents of a chunk: its statistics are then small beside the work on it.
pub const CHUNK_DOCUMENTS: u64 = 1024;

/// Topics of documents that workers hold.
pub type FarTopics<'a> = Topics<FarDocuments<'a>>;

/// Losses of workers in the course of one task after which it is given up.
const MOST_LOSSES: usize = 1000;
/// Documents that are looked at for a few with words, for each of these.
const TRIES: usize = 20;

/// Documents that workers hold, as a topic model sees them.
#[derive(Debug)]
pub struct FarDocuments<'a> {
    corpus: &'a FarCorpus<'a>,
    topics: usize,
    alpha: Vec<f64>,
    /// Whether slopes by alpha will be asked for after each pass.
    learns: bool,
}

/// Counts of documents that workers hold.
#[derive(Debug)]
enum Counts {
    /// What a pass left.
    Made(Made),
    /// The same, moved on.
    Ahead {
        counts: Begin,
        /// What must not be forgotten meanwhile.
        _of: [Arc<dyn Elsewhere>; 2],
    },
}

/// A pass that something refers to, and what it has told besides its statistics.
#[derive(Debug)]
struct Made {
    number: u64,
    log: Arc<Log>,
    alpha: Vec<f64>,
    dirichlets: f64,
    slopes: Option<Slopes>,
}

impl Drop for Made {
    fn drop(&mut self) {
        self.log.release(self.number);
    }
}

impl Elsewhere for Counts {}

impl Counts {
    fn of(warm: &Warm) -> Option<&Self> {
        let elsewhere: &dyn Any = warm.elsewhere.as_deref()?;
        elsewhere.downcast_ref()
    }

    fn made(warm: &Warm) -> Option<&Made> {
        match Self::of(warm)? {
            Self::Made(made) => Some(made),
            Self::Ahead { .. } => None,
        }
    }

    fn begin(warm: &Warm) -> Begin {
        match Self::of(warm) {
            None => Begin::default(),
            Some(Self::Made(made)) => Begin {
                from: made.number,
                ..Begin::default()
            },
            Some(Self::Ahead { counts, .. }) => *counts,
        }
    }
}

/// Has all workers do a task; those that lack what it builds on are first brought to know it.
fn ask(asker: &Asker<'_>, log: &Log, task: &Task, expected: usize) -> Result<Vec<f64>> {
    for _ in 0..MOST_LOSSES {
        let found = asker.ask_of_those_who_know(task.kind(), 0, task.body())?;
        match found {
            Some(found) if found.len() == expected => return Ok(found),
            Some(found) => {
                let found = found.len();
                return Err(Error::exchange(format!(
                    "a vector of {found} numbers, expected {expected}"
                )));
            }
            None => again(asker, log)?,
        }
    }
    Err(Error::exchange(format!(
        "a task that workers could not do after {MOST_LOSSES} losses"
    )))
}

/// Makes all passes again that counts depend on which something refers to. One more loss meanwhile is found by the next task.
fn again(asker: &Asker<'_>, log: &Log) -> Result<()> {
    let all = log.held();
    for step in log.steps() {
        let body = log.body(step.number)?;
        let done = asker.ask_of_those_who_know(Task::AGAIN, 0, |out| {
            write_all(&all, out);
            write_all(&step.held, out);
            out.bytes(&body);
        })?;
        if done.is_none() {
            return Ok(());
        }
    }
    Ok(())
}

impl<'a> FarDocuments<'a> {
    fn new(corpus: &'a FarCorpus<'a>, settings: &Settings) -> Self {
        Self {
            corpus,
            topics: settings.topics,
            alpha: settings.first_alpha(),
            learns: settings.alpha == Alpha::Learned,
        }
    }

    fn ask(&self, task: &Task, expected: usize) -> Result<Vec<f64>> {
        ask(&self.corpus.asker, &self.corpus.log, task, expected)
    }

    /// The same documents, each as often as the vocabulary has words, of those that have any.
    fn fetched(&self, rows: &[u64]) -> Result<Vec<Words>> {
        let place = |row: &u64| <[u64; 2]>::from(self.corpus.asker.cuts().chunk_of(*row));
        let task = Task::Some(rows.iter().map(place).collect());
        let found = self.ask(&task, rows.len() * self.vocabulary())?;
        let words = |row: &[f64]| -> Words {
            let there = (0_u32..).zip(row).filter(|(_, count)| **count > 0.0);
            there.map(|(word, count)| (word, *count as f32)).unzip()
        };
        let all = found.chunks(self.vocabulary()).map(words);
        Ok(all.filter(|(words, _)| !words.is_empty()).collect())
    }
}

impl Documents for FarDocuments<'_> {
    fn topics(&self) -> usize {
        self.topics
    }

    fn documents(&self) -> usize {
        self.corpus.documents() as usize
    }

    fn vocabulary(&self) -> usize {
        self.corpus.word_totals.len()
    }

    fn tokens(&self) -> f64 {
        self.corpus.tokens
    }

    fn word_totals(&self) -> &[f64] {
        &self.corpus.word_totals
    }

    fn digest(&self) -> u64 {
        self.corpus.digest
    }

    fn alpha(&self) -> &[f64] {
        &self.alpha
    }

    /// Of very many documents so few are drawn that none has a word only where hardly any has.
    fn some(&self, count: usize, rng: &mut ChaCha8Rng) -> Result<Vec<Words>> {
        let (all, most) = (self.corpus.documents(), count.saturating_mul(TRIES) as u64);
        let rows: Vec<u64> = if all <= 2 * most {
            let mut rows: Vec<u64> = (0..all).collect();
            rows.shuffle(rng);
            rows
        } else {
            let (mut seen, mut rows) = (BTreeSet::new(), vec![]);
            while (rows.len() as u64) < most {
                let row = rng.random_range(0..all);
                if seen.insert(row) {
                    rows.push(row);
                }
            }
            rows
        };
        let mut some = vec![];
        for rows in rows.chunks(count.max(1)) {
            if some.len() < count {
                some.extend(self.fetched(rows)?);
            }
        }
        some.truncate(count);
        Ok(some)
    }

    fn numbers(&self) -> usize {
        0
    }

    fn even(&self) -> Warm {
        Warm::default()
    }

    fn is_whole(&self, counts: &Warm) -> bool {
        counts.elsewhere.is_some()
    }

    fn extrapolate(&self, counts: &mut Warm, before: &Warm, coefficient: f64) {
        let both = (&counts.elsewhere, &before.elsewhere);
        // Of a point that came with a checkpoint nothing is known to move away from.
        if let (Some(now), Some(earlier)) = both
            && let (Some(from), Some(to)) = (Counts::made(counts), Counts::made(before))
        {
            let ahead = Counts::Ahead {
                counts: Begin {
                    from: from.number,
                    before: to.number,
                    coefficient,
                },
                _of: [Arc::clone(now), Arc::clone(earlier)],
            };
            counts.elsewhere = Some(Arc::new(ahead));
        }
    }

    fn pass(
        &self,
        messages: &[f64],
        alpha: &[f64],
        settle: Settle,
        counts: &mut Warm,
        statistics: Option<&mut [f64]>,
    ) -> Result<f64> {
        for (word, messages) in messages.chunks(self.topics).enumerate() {
            // Here, where a shorter step may avoid it.
            if let Some(wrong) = messages.iter().find(|message| !message.is_finite()) {
                let block = format!("messages of word {}", word + 1);
                return Err(Error::domain(block, wrong.to_string(), "finite numbers"));
            }
        }
        let log = &self.corpus.log;
        let pass = Pass {
            number: log.next(),
            begin: Counts::begin(counts),
            settle,
            alpha: alpha.to_vec(),
            messages: messages.to_vec(),
        };
        let mut held = log.held();
        held.push(pass.number);
        let slopes = self.learns;
        let task = Task::Pass { held, slopes, pass };
        let width = if slopes {
            Slopes::width(self.topics)
        } else {
            0
        };
        let found = self.ask(&task, 2 + width + messages.len())?;
        if let Task::Pass { pass, .. } = &task {
            log.keep(pass)?;
            let slopes = || Slopes::sum(&found[2..2 + width], self.topics);
            let made = Made {
                number: pass.number,
                log: Arc::clone(log),
                alpha: alpha.to_vec(),
                dirichlets: found[1],
                slopes: self.learns.then(slopes),
            };
            counts.elsewhere = Some(Arc::new(Counts::Made(made)));
        }
        if let Some(statistics) = statistics {
            statistics.copy_from_slice(&found[2 + width..]);
        }
        Ok(found[0])
    }

    fn dirichlets(&self, alpha: &[f64], counts: &Warm) -> Result<f64> {
        // What the pass itself was asked, it has told.
        if let Some(made) = Counts::made(counts).filter(|made| made.alpha == alpha) {
            return Ok(made.dirichlets);
        }
        let task = Task::Dirichlets {
            counts: Counts::begin(counts),
            alpha: alpha.to_vec(),
        };
        Ok(self.ask(&task, 1)?[0])
    }

    fn slopes(&self, alpha: &[f64], counts: &Warm) -> Result<Slopes> {
        let told = Counts::made(counts).filter(|made| made.alpha == alpha);
        if let Some(slopes) = told.and_then(|made| made.slopes.clone()) {
            return Ok(slopes);
        }
        let task = Task::Slopes {
            counts: Counts::begin(counts),
            alpha: alpha.to_vec(),
        };
        let found = self.ask(&task, Slopes::width(self.topics))?;
        Ok(Slopes::sum(&found, self.topics))
    }

    fn product(
        &self,
        alpha: &[f64],
        counts: &Warm,
        (at, along): (&[f64], &[f64]),
        out: &mut [f64],
    ) -> Result<()> {
        let task = Task::Product {
            counts: Counts::begin(counts),
            alpha: alpha.to_vec(),
            at: at.to_vec(),
            along: along.to_vec(),
        };
        out.copy_from_slice(&self.ask(&task, at.len())?);
        Ok(())
    }
}

impl Potential for FarDocuments<'_> {
    fn dim(&self) -> usize {
        self.topics * self.vocabulary()
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let mut counts = self.even();
        let value = self.pass(at, &self.alpha, EXACT, &mut counts, Some(gradient))?;
        Ok(value + self.dirichlets(&self.alpha, &counts)?)
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        let mut counts = self.even();
        self.pass(at, &self.alpha, EXACT, &mut counts, None)?;
        self.product(&self.alpha, &counts, (at, along), out)
    }
}
