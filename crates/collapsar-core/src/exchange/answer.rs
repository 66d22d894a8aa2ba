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
        /// How vectors of neighbours become one.
        merge: Merge,
        /// The subtrees from the left to the right.
        nodes: Vec<Node>,
    },
    /// A chunk that cannot be used: of those that the worker holds the lowest.
    Refused(Refusal),
}

impl Answer {
    /// As bytes, which repeat the task's number.
    pub fn write(&self, serial: u64) -> Vec<u8> {
        let mut out = Writer::default();
        out.bytes(MAGIC);
        out.u8(FORMAT);
        out.u64(serial);
        match self {
            Self::Sums { merge, nodes } => {
                let (kind, sums) = match merge {
                    Merge::Sum => (0, 0),
                    Merge::SumThenLeast(sums) => (1, *sums as u64),
                    Merge::First => (2, 0),
                };
                out.u8(0);
                out.u8(kind);
                out.u64(sums);
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
        }
        out.into_bytes()
    }

    /// That a worker cannot do what it was asked, whatever its data: nothing that a shorter step avoids.
    pub fn failed(serial: u64, error: &Error) -> Vec<u8> {
        let mut out = Writer::default();
        out.bytes(MAGIC);
        out.u8(FORMAT);
        out.u64(serial);
        out.u8(2);
        out.text(&error.to_string());
        out.into_bytes()
    }

    /// Reads the answer to task `serial`.
    ///
    /// # Errors
    /// [`Error::Exchange`] where it is none, or that to another task.
    pub fn read(bytes: &[u8], serial: u64) -> Result<Self> {
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
                let count = bytes.u64()?;
                let node = |_| {
                    Ok(Node {
                        level: bytes.u8()?,
                        index: bytes.u64()?,
                        vector: bytes.numbers()?,
                    })
                };
                let nodes = (0..count).map(node).collect::<Result<_>>()?;
                Self::Sums { merge, nodes }
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
            _ => return Err(Error::exchange(bytes.text()?)),
        };
        bytes.end()?;
        if of != serial {
            return Err(Error::exchange(format!(
                "an answer to task {of}, expected one to task {serial}"
            )));
        }
        Ok(answer)
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
    Ok(Answer::Sums { merge, nodes })
}
