//! What a worker may be asked about rows of a mixture, as bytes.

use super::super::Covariance;
use collapsar_core::exchange::{Pass, Reader, Writer};
use collapsar_core::{Error, Result};

/// A task after its header.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Task {
    /// The local half of the model.
    Pass(Pass),
    /// Rows, sums, what tells data apart; then the least of each column, and of its negative.
    Survey,
    /// Sums of squares about these means: of columns, or of pairs of columns.
    Spread { mean: Vec<f64>, pairs: bool },
    /// Units and features of all later tasks.
    SetUp(SetUp),
    /// Statistics of random responsibilities.
    Random { seed: u64 },
    /// The row that wins a race in which each is as fast as it is far from the centres so far.
    Race(Race),
    /// How many rows are nearest to each centre, and their sums.
    Centres(Vec<f64>),
    /// Statistics of rows that belong wholly to the nearest centre.
    Nearest(Vec<f64>),
}

/// What rows are to a model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SetUp {
    pub(super) covariance: Covariance,
    pub(super) components: usize,
    pub(super) shift: Vec<f64>,
    pub(super) scale: Vec<f64>,
}

/// One centre of k-means++ is drawn: each row's time is exponential with its squared distance as rate, or one, and the first wins.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Race {
    pub(super) seed: u64,
    /// Which centre.
    pub(super) round: u64,
    /// Whether every row that is no centre yet has the same rate.
    pub(super) uniform: bool,
    pub(super) centres: Vec<f64>,
}

impl SetUp {
    fn write(&self, out: &mut Writer) {
        let kind = Covariance::ALL
            .iter()
            .position(|kind| *kind == self.covariance);
        out.u8(kind.unwrap_or(0) as u8);
        out.u64(self.components as u64);
        out.numbers(&self.shift);
        out.numbers(&self.scale);
    }

    /// Tells set-ups apart; never zero, which is none.
    pub(super) fn preparation(&self) -> u64 {
        let mut bytes = Writer::default();
        self.write(&mut bytes);
        collapsar_core::digest(bytes.into_bytes().into_iter()).max(1)
    }
}

impl Task {
    /// Its number.
    pub(super) fn kind(&self) -> u8 {
        let own = match self {
            Self::Pass(Pass::Value(_)) => return 0,
            Self::Pass(Pass::Gradient(_)) => return 1,
            Self::Pass(Pass::Product(..)) => return 2,
            Self::Survey => 0,
            Self::Spread { .. } => 1,
            Self::SetUp(_) => 2,
            Self::Random { .. } => 3,
            Self::Race(_) => 4,
            Self::Centres(_) => 5,
            Self::Nearest(_) => 6,
        };
        Pass::KINDS + own
    }

    pub(super) fn write(&self, out: &mut Writer) {
        match self {
            Self::Survey => {}
            Self::Spread { mean, pairs } => {
                out.u8((*pairs).into());
                out.numbers(mean);
            }
            Self::SetUp(set_up) => set_up.write(out),
            Self::Random { seed } => out.u64(*seed),
            Self::Race(race) => {
                out.u64(race.seed);
                out.u64(race.round);
                out.u8(race.uniform.into());
                out.numbers(&race.centres);
            }
            Self::Centres(numbers)
            | Self::Nearest(numbers)
            | Self::Pass(Pass::Value(numbers) | Pass::Gradient(numbers)) => out.numbers(numbers),
            Self::Pass(Pass::Product(at, along)) => {
                out.numbers(at);
                out.numbers(along);
            }
        }
    }

    /// Reads what [`Task::write`] wrote.
    pub(super) fn read(kind: u8, mut body: Reader<'_>) -> Result<Self> {
        let Some(own) = kind.checked_sub(Pass::KINDS) else {
            return Pass::read(kind, body).map(Self::Pass);
        };
        let task = match own {
            0 => Self::Survey,
            1 => {
                let pairs = body.u8()? == 1;
                let mean = body.numbers()?;
                Self::Spread { mean, pairs }
            }
            2 => {
                let kind = usize::from(body.u8()?);
                let covariance = Covariance::ALL.get(kind).copied();
                let unknown = || Error::exchange(format!("covariances of kind {kind}"));
                Self::SetUp(SetUp {
                    covariance: covariance.ok_or_else(unknown)?,
                    components: body.u64()? as usize,
                    shift: body.numbers()?,
                    scale: body.numbers()?,
                })
            }
            3 => Self::Random { seed: body.u64()? },
            4 => Self::Race(Race {
                seed: body.u64()?,
                round: body.u64()?,
                uniform: body.u8()? == 1,
                centres: body.numbers()?,
            }),
            5 => Self::Centres(body.numbers()?),
            6 => Self::Nearest(body.numbers()?),
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
        let numbers = vec![0.1, -2.5, f64::MAX];
        let tasks = [
            Task::Survey,
            Task::Spread {
                mean: numbers.clone(),
                pairs: true,
            },
            Task::SetUp(SetUp {
                covariance: Covariance::Tied,
                components: 7,
                shift: numbers.clone(),
                scale: vec![1.0],
            }),
            Task::Random { seed: u64::MAX },
            Task::Race(Race {
                seed: 3,
                round: 9,
                uniform: false,
                centres: numbers.clone(),
            }),
            Task::Centres(numbers.clone()),
            Task::Nearest(vec![]),
            Task::Pass(Pass::Value(numbers.clone())),
            Task::Pass(Pass::Gradient(numbers.clone())),
            Task::Pass(Pass::Product(numbers, vec![0.5])),
        ];
        for (serial, task) in tasks.into_iter().enumerate() {
            let header = Header {
                serial: serial as u64,
                preparation: 5,
                kind: task.kind(),
            };
            let mut out = header.write();
            task.write(&mut out);
            let bytes = out.into_bytes();
            let mut reader = Reader::new(&bytes);
            assert_eq!(Header::read(&mut reader), Ok(header));
            assert_eq!(Task::read(header.kind, reader), Ok(task));
            // What is cut short or goes on is no task.
            for end in 0..bytes.len() {
                let mut reader = Reader::new(&bytes[..end]);
                let read = Header::read(&mut reader).and_then(|h| Task::read(h.kind, reader));
                assert!(read.is_err(), "{serial}: {end} bytes of {}", bytes.len());
            }
            let more = [&bytes[..], &[0]].concat();
            let mut reader = Reader::new(&more);
            let read = Header::read(&mut reader).and_then(|h| Task::read(h.kind, reader));
            assert!(read.is_err());
        }
    }
}
