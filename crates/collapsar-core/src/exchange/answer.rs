//! What comes back from a worker: sums of the largest subtrees that it holds, or why a chunk has none.

use rayon::prelude::*;

use super::tree::{Merge, Node, Tree};
use super::wire::{Reader, Writer};
use super::{FORMAT, MAGIC, begin};
use crate::error::{Error, Place, Result};

/// Why a chunk has no vector.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// The chunk.
    pub chunk: u64,
    /// The row of the chunk.
    pub row: u64,
    /// The column, where it is about one number.
    pub column: Option<u64>,
    /// A log density that is not finite: a shorter step may avoid it.
    pub density: Option<f64>,
    /// What was found, and what was expected.
    pub found: String,
    /// What would have been accepted.
    pub expected: String,
}

/// A worker's answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Vectors of subtrees, and how they are merged.
    Sums {
        /// How many chunks there are, with those of all others.
        count: u64,
        /// How vectors of neighbours become one.
        merge: Merge,
        /// The subtrees from the left to the right.
        nodes: Vec<Node>,
    },
    /// A chunk that cannot be used: of those that the worker holds the lowest.
    Refused(Refusal),
    /// Nothing: the worker lacks what the task builds on, as it came in the place of another.
    Lacking,
}

impl Answer {
    /// As bytes, which repeat the task's number.
    pub fn write(&self, serial: u64) -> Vec<u8> {
        let mut out = Writer::default();
        out.bytes(MAGIC);
        out.u8(FORMAT);
        out.u64(serial);
        match self {
            Self::Sums {
                count,
                merge,
                nodes,
            } => {
                let (kind, sums) = match merge {
                    Merge::Sum => (0, 0),
                    Merge::SumThenLeast(sums) => (1, *sums as u64),
                    Merge::First => (2, 0),
                };
                out.u8(0);
                out.u8(kind);
                out.u64(sums);
                out.u64(*count);
                out.u64(nodes.len() as u64);
                for node in nodes {
                    out.u8(node.level);
                    out.u64(node.index);
                    out.numbers(&node.vector);
                }
            }
            Self::Refused(refusal) => {
                out.u8(1);
                out.u64(refusal.chunk);
                out.u64(refusal.row);
                out.u64(refusal.column.map_or(0, |column| column + 1));
                out.u8(refusal.density.is_some().into());
                out.f64(refusal.density.unwrap_or(0.0));
                out.text(&refusal.found);
                out.text(&refusal.expected);
            }
            Self::Lacking => out.u8(3),
        }
        out.into_bytes()
    }

    /// That a worker cannot do what it was asked, whatever its data: nothing that a shorter step avoids.
    pub fn failed(serial: u64, cause: &str) -> Vec<u8> {
        let mut out = Writer::default();
        out.bytes(MAGIC);
        out.u8(FORMAT);
        out.u64(serial);
        out.u8(2);
        out.text(cause);
        out.into_bytes()
    }

    /// Reads the answer to task `serial`.
    ///
    /// # Errors
    /// [`Error::Exchange`] where it is none, or that to another task.
    pub fn read(bytes: &[u8], serial: u64) -> Result<Self> {
        let (of, answer) = Self::of_any(bytes)?;
        if of != serial {
            return Err(Error::exchange(format!(
                "an answer to task {of}, expected one to task {serial}"
            )));
        }
        Ok(answer)
    }

    /// Reads an answer, and which task it is to.
    fn of_any(bytes: &[u8]) -> Result<(u64, Self)> {
        let mut bytes = Reader::new(bytes);
        begin(&mut bytes, "an answer")?;
        let of = bytes.u64()?;
        let answer = match bytes.u8()? {
            0 => {
                let (kind, sums) = (bytes.u8()?, bytes.u64()?);
                let merge = match kind {
                    0 => Merge::Sum,
                    1 => Merge::SumThenLeast(usize::try_from(sums).unwrap_or(usize::MAX)),
                    _ => Merge::First,
                };
                let (count, held) = (bytes.u64()?, bytes.u64()?);
                let node = |_| {
                    Ok(Node {
                        level: bytes.u8()?,
                        index: bytes.u64()?,
                        vector: bytes.numbers()?,
                    })
                };
                let nodes = (0..held).map(node).collect::<Result<_>>()?;
                Self::Sums {
                    count,
                    merge,
                    nodes,
                }
            }
            1 => {
                let (chunk, row, column) = (bytes.u64()?, bytes.u64()?, bytes.u64()?);
                let (is_density, density) = (bytes.u8()?, bytes.f64()?);
                Self::Refused(Refusal {
                    chunk,
                    row,
                    column: column.checked_sub(1),
                    density: (is_density == 1).then_some(density),
                    found: bytes.text()?,
                    expected: bytes.text()?,
                })
            }
            3 => Self::Lacking,
            _ => return Err(Error::exchange(bytes.text()?)),
        };
        bytes.end()?;
        Ok((of, answer))
    }

    /// Two answers to the same task as one: of two refusals that of the lower chunk, and none before all know what they need.
    pub(super) fn and(self, other: Self) -> Result<Self> {
        match (self, other) {
            (Self::Lacking, _) | (_, Self::Lacking) => Ok(Self::Lacking),
            (Self::Refused(a), Self::Refused(b)) => {
                Ok(Self::Refused(if b.chunk < a.chunk { b } else { a }))
            }
            (Self::Refused(refusal), _) | (_, Self::Refused(refusal)) => Ok(Self::Refused(refusal)),
            (
                Self::Sums {
                    count,
                    merge,
                    nodes: mut all,
                },
                Self::Sums {
                    count: others,
                    merge: other,
                    nodes,
                },
            ) => {
                if (count, merge) != (others, other) {
                    return Err(Error::exchange("two answers of different kinds".into()));
                }
                all.extend(nodes);
                Ok(Self::Sums {
                    count,
                    merge,
                    nodes: all,
                })
            }
        }
    }

    /// The same with neighbours merged, as far as they are there.
    pub(super) fn settled(self) -> Result<Self> {
        let Self::Sums {
            count,
            merge,
            mut nodes,
        } = self
        else {
            return Ok(self);
        };
        nodes.sort_by_key(Node::first);
        let mut tree = Tree::new(count, merge);
        for node in nodes {
            tree.push(node)?;
        }
        let nodes = tree.into_nodes();
        Ok(Self::Sums {
            count,
            merge,
            nodes,
        })
    }
}

/// Several workers' answers to one task as one that is no longer than it must be: what travels to whoever asks need not grow with
/// the number of workers. Sums are the same bits, since subtrees are merged where the tree has them, or not at all.
pub fn merged(answers: &[&[u8]]) -> Vec<u8> {
    let (mut serial, mut all) = (0, None);
    for bytes in answers {
        let read = Answer::of_any(bytes).and_then(|(of, answer)| match all.take() {
            None => Ok((of, answer)),
            Some(before) if of == serial => Ok((of, Answer::and(before, answer)?)),
            Some(_) => Err(Error::exchange("answers to different tasks".into())),
        });
        match read {
            Ok((of, answer)) => (serial, all) = (of, Some(answer)),
            // One that could not do the task has said why, in words that are to arrive.
            Err(Error::Exchange { cause }) => return Answer::failed(serial, &cause),
            Err(error) => return Answer::failed(serial, &error.to_string()),
        }
    }
    let all = all.ok_or_else(|| Error::exchange("no answers".into()));
    match all.and_then(Answer::settled) {
        Ok(answer) => answer.write(serial),
        Err(error) => Answer::failed(serial, &error.to_string()),
    }
}

/// What a chunk's own error is to the driver: rows are those of the chunk.
fn refusal(chunk: u64, error: Error) -> Result<Refusal> {
    let refused = |row: usize, column: Option<usize>, found, expected| Refusal {
        chunk,
        row: row as u64,
        column: column.map(|column| column as u64),
        density: None,
        found,
        expected,
    };
    match error {
        Error::Datum { row, found } => Ok(Refusal {
            density: Some(found),
            ..refused(row, None, String::new(), String::new())
        }),
        Error::Data {
            place: Place::Row(row),
            found,
            expected,
            ..
        } => Ok(refused(row, None, found, expected)),
        Error::Data {
            place: Place::Cell { row, column },
            found,
            expected,
            ..
        } => Ok(refused(row, Some(column), found, expected)),
        error => Err(error),
    }
}

/// Does `work` on chunks, given by their numbers from the lowest to the highest of `count` in all, as many at a time as there are
/// threads, and merges what can be.
///
/// # Errors
/// Whatever is wrong with the task rather than with a chunk.
pub fn answer<C: Sync>(
    chunks: &[(u64, C)],
    count: u64,
    merge: Merge,
    work: impl Fn(u64, &C) -> Result<Vec<f64>> + Sync,
) -> Result<Answer> {
    let mut tree = Tree::new(count, merge);
    let at_once = 2 * rayon::current_num_threads().max(1);
    for some in chunks.chunks(at_once) {
        let vectors: Vec<Result<Vec<f64>>> = some
            .par_iter()
            .map(|(chunk, held)| work(*chunk, held))
            .collect();
        for ((chunk, _), vector) in some.iter().zip(vectors) {
            match vector {
                Ok(vector) => tree.push(Node::leaf(*chunk, vector))?,
                Err(error) => return Ok(Answer::Refused(refusal(*chunk, error)?)),
            }
        }
    }
    let nodes = tree.into_nodes();
    Ok(Answer::Sums {
        count,
        merge,
        nodes,
    })
}
