//! Sums over data that others hold: a task goes out as bytes, and vectors come back that are added in one fixed tree.
//!
//! - `cuts`: how data are cut into chunks, and where a row of them is
//! - `tree`: the order in which the chunks' vectors are added
//! - `wire`: numbers and texts as bytes
//! - `pass`: the local half of a model: value, gradient, Hessian product
//! - `answer`: what comes back
//!
//! A chunk is cut by the data, never by who holds it, and its number says where in the tree its vector is added: results are
//! the same bits for any number of workers, and after any of them was replaced.

mod answer;
mod cuts;
mod pass;
mod tree;
mod wire;

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

pub use answer::{Answer, Refusal, answer, merged};
pub use cuts::{CHUNK_ROWS, Cuts, Piece};
pub use pass::{Far, Pass};
pub use tree::{Merge, Node, Tree};
pub use wire::{Reader, Writer};

/// What every task and answer begins with: another format is refused by its number.
const MAGIC: &[u8; 4] = b"clps";
const FORMAT: u8 = 1;

/// How tasks reach those who hold the data.
///
/// Whoever implements it knows nothing of models: it carries bytes, replaces who was lost, and may not answer twice for a chunk.
pub trait Exchange: Sync {
    /// Gives a task to every worker; returns what each answered, in any order.
    ///
    /// # Errors
    /// [`Error::Exchange`] where one cannot answer and cannot be replaced.
    fn ask(&self, task: &[u8]) -> Result<Vec<Vec<u8>>>;

    /// The same with a task that later ones build on: a worker that replaces another is given the last of these first.
    ///
    /// # Errors
    /// As [`Exchange::ask`].
    fn prepare(&self, task: &[u8]) -> Result<Vec<Vec<u8>>>;
}

/// What a task is, for a worker: the bytes before its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Which of a driver's tasks it is: the answer repeats it.
    pub serial: u64,
    /// The preparation that it builds on; zero where it needs none.
    pub preparation: u64,
    /// What is to be done.
    pub kind: u8,
}

impl Header {
    /// Begins a task.
    pub fn write(self) -> Writer {
        let mut out = Writer::default();
        out.bytes(MAGIC);
        out.u8(FORMAT);
        out.u64(self.serial);
        out.u64(self.preparation);
        out.u8(self.kind);
        out
    }

    /// Reads what [`Header::write`] wrote.
    ///
    /// # Errors
    /// [`Error::Exchange`] where it is no task, or one of another version.
    pub fn read(task: &mut Reader<'_>) -> Result<Self> {
        begin(task, "a task")?;
        Ok(Self {
            serial: task.u64()?,
            preparation: task.u64()?,
            kind: task.u8()?,
        })
    }
}

/// Checks the first bytes of a task or an answer.
fn begin(bytes: &mut Reader<'_>, what: &str) -> Result<()> {
    if bytes.bytes(MAGIC.len())? != MAGIC {
        return Err(Error::exchange(format!(
            "{what} that is not one, expected one of this version of collapsar"
        )));
    }
    let format = bytes.u8()?;
    if format != FORMAT {
        return Err(Error::exchange(format!(
            "{what} of format {format}, expected format {FORMAT}: all machines need the same version of collapsar"
        )));
    }
    Ok(())
}

/// Whoever asks: it numbers tasks, adds up what comes back, and names places in the data.
pub struct Asker<'a> {
    exchange: &'a dyn Exchange,
    cuts: Cuts,
    serial: AtomicU64,
}

impl std::fmt::Debug for Asker<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut asker = f.debug_struct("Asker");
        asker.field("cuts", &self.cuts).finish_non_exhaustive()
    }
}

impl<'a> Asker<'a> {
    /// Asks about data that are cut so.
    pub fn new(exchange: &'a dyn Exchange, cuts: Cuts) -> Self {
        Self {
            exchange,
            cuts,
            serial: AtomicU64::new(0),
        }
    }

    /// How the data are cut.
    pub fn cuts(&self) -> &Cuts {
        &self.cuts
    }

    fn task(&self, kind: u8, preparation: u64, body: impl FnOnce(&mut Writer)) -> (Header, Writer) {
        let header = Header {
            serial: self.serial.fetch_add(1, Ordering::Relaxed),
            preparation,
            kind,
        };
        let mut task = header.write();
        body(&mut task);
        (header, task)
    }

    /// Has a task of this kind done by all workers: the vectors of all chunks as one.
    ///
    /// # Errors
    /// What refuses the chunk of the lowest number; [`Error::Exchange`] where an answer is missing or is none.
    pub fn ask(
        &self,
        kind: u8,
        preparation: u64,
        body: impl FnOnce(&mut Writer),
    ) -> Result<Vec<f64>> {
        self.ask_of_those_who_know(kind, preparation, body)?
            .ok_or_else(lacking)
    }

    /// The same for a task that builds on earlier ones, which a worker that came in the place of another does not know of:
    /// nothing where one says so.
    ///
    /// # Errors
    /// As [`Asker::ask`].
    pub fn ask_of_those_who_know(
        &self,
        kind: u8,
        preparation: u64,
        body: impl FnOnce(&mut Writer),
    ) -> Result<Option<Vec<f64>>> {
        let (header, task) = self.task(kind, preparation, body);
        self.gather(header, &self.exchange.ask(task.as_bytes())?)
    }

    /// The same for a task that later ones build on.
    ///
    /// # Errors
    /// As [`Asker::ask`].
    pub fn prepare(
        &self,
        kind: u8,
        preparation: u64,
        body: impl FnOnce(&mut Writer),
    ) -> Result<Vec<f64>> {
        let (header, task) = self.task(kind, preparation, body);
        self.gather(header, &self.exchange.prepare(task.as_bytes())?)?
            .ok_or_else(lacking)
    }

    fn gather(&self, header: Header, answers: &[Vec<u8>]) -> Result<Option<Vec<f64>>> {
        let mut all = None;
        for bytes in answers {
            let answer = Answer::read(bytes, header.serial)?;
            all = Some(match all {
                None => answer,
                Some(before) => Answer::and(before, answer)?,
            });
        }
        match all {
            // The lowest chunk's, whoever holds it: the same refusal for any number of workers.
            Some(Answer::Refused(refusal)) => Err(self.cuts.refused(refusal)),
            Some(Answer::Lacking) => Ok(None),
            Some(Answer::Sums {
                count,
                merge,
                mut nodes,
            }) if count == self.cuts.count() => {
                nodes.sort_by_key(Node::first);
                let mut tree = Tree::new(count, merge);
                for node in nodes {
                    tree.push(node)?;
                }
                tree.root().map(Some)
            }
            _ => Err(Error::exchange(format!(
                "sums of other data, expected those of {} chunks",
                self.cuts.count()
            ))),
        }
    }
}

fn lacking() -> Error {
    Error::exchange("a worker that lacks what the task builds on".into())
}

#[cfg(test)]
mod tests;
