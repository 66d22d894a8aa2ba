//! What a worker may be asked about documents, as bytes.

use super::super::documents::Settle;
use super::super::local::MOST_SWEEPS;
use collapsar_core::exchange::{Reader, Writer};
use collapsar_core::{Error, Result};

/// A task after its header.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Task {
    /// Documents, those with words, tokens, what tells corpora apart; then how often each word is there.
    Survey,
    /// How often each word is there in some documents, a row for each: its chunk and which of the chunk's it is.
    Some(Vec<[u64; 2]>),
    /// Settles all documents; keeps their counts where the pass has a number.
    Pass {
        /// Passes whose counts something still refers to: all others are forgotten.
        held: Vec<u64>,
        /// Whether slopes by alpha are asked for too.
        slopes: bool,
        pass: Pass,
    },
    /// A pass once more, for workers that lack one of those whose counts something refers to.
    Again {
        /// Those.
        all: Vec<u64>,
        /// Passes that are not to be forgotten meanwhile.
        held: Vec<u64>,
        pass: Pass,
    },
    /// The Dirichlets' part under this alpha.
    Dirichlets { counts: Begin, alpha: Vec<f64> },
    /// Its slopes.
    Slopes { counts: Begin, alpha: Vec<f64> },
    /// How statistics change with the messages.
    Product {
        counts: Begin,
        alpha: Vec<f64>,
        at: Vec<f64>,
        along: Vec<f64>,
    },
}

/// Counts of documents, by the passes that left them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Begin {
    /// The pass; zero for every word in all topics alike.
    pub(super) from: u64,
    /// An earlier one, away from which counts are moved on; zero for none.
    pub(super) before: u64,
    /// By how much.
    pub(super) coefficient: f64,
}

/// Everything that the counts which a pass leaves depend on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pass {
    /// Its number; zero where nothing is to be kept.
    pub(super) number: u64,
    pub(super) begin: Begin,
    pub(super) settle: Settle,
    pub(super) alpha: Vec<f64>,
    pub(super) messages: Vec<f64>,
}

impl Begin {
    pub(super) fn passes(self) -> impl Iterator<Item = u64> {
        [self.from, self.before].into_iter().filter(|&of| of != 0)
    }

    fn write(self, out: &mut Writer) {
        out.u64(self.from);
        out.u64(self.before);
        out.f64(self.coefficient);
    }

    fn read(body: &mut Reader<'_>) -> Result<Self> {
        Ok(Self {
            from: body.u64()?,
            before: body.u64()?,
            coefficient: body.f64()?,
        })
    }
}

impl Pass {
    pub(super) fn write(&self, out: &mut Writer) {
        out.u64(self.number);
        self.begin.write(out);
        match self.settle {
            Settle::Sweeps(sweeps) => {
                out.u8(0);
                out.u64(sweeps as u64);
            }
            Settle::Change(change) => {
                out.u8(1);
                out.f64(change);
            }
        }
        out.numbers(&self.alpha);
        out.numbers(&self.messages);
    }

    fn read(body: &mut Reader<'_>) -> Result<Self> {
        let (number, begin) = (body.u64()?, Begin::read(body)?);
        let settle = match body.u8()? {
            0 => Settle::Sweeps(usize::try_from(body.u64()?).unwrap_or(usize::MAX)),
            _ => Settle::Change(body.f64()?),
        };
        let ends = match settle {
            Settle::Sweeps(sweeps) => sweeps <= MOST_SWEEPS,
            Settle::Change(change) => change >= 0.0,
        };
        if !ends {
            return Err(Error::exchange(format!("sweeps without end, {settle:?}")));
        }
        Ok(Self {
            number,
            begin,
            settle,
            alpha: body.numbers()?,
            messages: body.numbers()?,
        })
    }
}

/// Numbers of passes and how many they are.
pub(super) fn write_all(all: &[u64], out: &mut Writer) {
    out.u64(all.len() as u64);
    for number in all {
        out.u64(*number);
    }
}

fn read_all(body: &mut Reader<'_>) -> Result<Vec<u64>> {
    // No memory is taken that the bytes do not account for.
    let mut all = vec![];
    for _ in 0..body.u64()? {
        all.push(body.u64()?);
    }
    Ok(all)
}

impl Task {
    /// The number of a pass once more.
    pub(super) const AGAIN: u8 = 19;

    /// Its number.
    pub(super) fn kind(&self) -> u8 {
        match self {
            Self::Survey => 16,
            Self::Some(_) => 17,
            Self::Pass { .. } => 18,
            Self::Again { .. } => Self::AGAIN,
            Self::Dirichlets { .. } => 20,
            Self::Slopes { .. } => 21,
            Self::Product { .. } => 22,
        }
    }

    pub(super) fn write(&self, out: &mut Writer) {
        match self {
            Self::Survey => {}
            Self::Some(places) => {
                out.u64(places.len() as u64);
                for number in places.iter().flatten() {
                    out.u64(*number);
                }
            }
            Self::Pass { held, slopes, pass } => {
                write_all(held, out);
                out.u8((*slopes).into());
                pass.write(out);
            }
            Self::Again { all, held, pass } => {
                write_all(all, out);
                write_all(held, out);
                pass.write(out);
            }
            Self::Dirichlets { counts, alpha } | Self::Slopes { counts, alpha } => {
                counts.write(out);
                out.numbers(alpha);
            }
            Self::Product {
                counts,
                alpha,
                at,
                along,
            } => {
                counts.write(out);
                out.numbers(alpha);
                out.numbers(at);
                out.numbers(along);
            }
        }
    }

    /// Reads what [`Task::write`] wrote.
    pub(super) fn read(kind: u8, mut body: Reader<'_>) -> Result<Self> {
        let body = &mut body;
        let task = match kind {
            16 => Self::Survey,
            17 => {
                let mut places = vec![];
                for _ in 0..body.u64()? {
                    places.push([body.u64()?, body.u64()?]);
                }
                Self::Some(places)
            }
            18 => Self::Pass {
                held: read_all(body)?,
                slopes: body.u8()? == 1,
                pass: Pass::read(body)?,
            },
            Self::AGAIN => Self::Again {
                all: read_all(body)?,
                held: read_all(body)?,
                pass: Pass::read(body)?,
            },
            20 | 21 => {
                let (counts, alpha) = (Begin::read(body)?, body.numbers()?);
                if kind == 20 {
                    Self::Dirichlets { counts, alpha }
                } else {
                    Self::Slopes { counts, alpha }
                }
            }
            22 => Self::Product {
                counts: Begin::read(body)?,
                alpha: body.numbers()?,
                at: body.numbers()?,
                along: body.numbers()?,
            },
            _ => {
                return Err(Error::exchange(format!(
                    "an unknown task, {kind}: all machines need the same version of collapsar"
                )));
            }
        };
        body.end()?;
        Ok(task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use collapsar_core::exchange::Header;

    #[test]
    fn tasks_come_back_as_they_went() {
        let counts = Begin {
            from: 7,
            before: 3,
            coefficient: 0.25,
        };
        let pass = |settle| Pass {
            number: 8,
            begin: counts,
            settle,
            alpha: vec![0.1, 0.2],
            messages: vec![-1.0, f64::MIN],
        };
        let alpha = vec![0.5];
        let tasks = [
            Task::Survey,
            Task::Some(vec![[0, 3], [9, 1]]),
            Task::Pass {
                held: vec![3, 7, 8],
                slopes: true,
                pass: pass(Settle::Sweeps(3)),
            },
            Task::Again {
                all: vec![7],
                held: vec![],
                pass: pass(Settle::Change(1e-4)),
            },
            Task::Dirichlets {
                counts,
                alpha: alpha.clone(),
            },
            Task::Slopes {
                counts: Begin::default(),
                alpha: alpha.clone(),
            },
            Task::Product {
                counts,
                alpha,
                at: vec![1.0],
                along: vec![2.0, 3.0],
            },
        ];
        for (serial, task) in (0..).zip(tasks) {
            let header = Header {
                serial,
                preparation: 0,
                kind: task.kind(),
            };
            let mut out = header.write();
            task.write(&mut out);
            let bytes = out.into_bytes();
            let read = |bytes: &[u8]| {
                let mut reader = Reader::new(bytes);
                Header::read(&mut reader).and_then(|header| Task::read(header.kind, reader))
            };
            assert_eq!(read(&bytes).as_ref(), Ok(&task));
            // What is cut short or goes on is no task.
            for end in 0..bytes.len() {
                assert!(read(&bytes[..end]).is_err(), "{task:?}, {end} bytes");
            }
            assert!(read(&[&bytes[..], &[0]].concat()).is_err());
        }
        let endless = |settle| {
            let mut out = Writer::default();
            write_all(&[], &mut out);
            out.u8(0);
            pass(settle).write(&mut out);
            Task::read(18, Reader::new(out.as_bytes())).is_err()
        };
        assert!(endless(Settle::Sweeps(usize::MAX)));
        assert!(endless(Settle::Change(f64::NAN)));
    }
}
