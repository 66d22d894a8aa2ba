//! Who holds chunks of rows, and answers.

use collapsar_core::elementary::Elementary;
use collapsar_core::exchange::{Answer, Header, Merge, Reader, answer};
use collapsar_core::kernel::softmax_columns;
use collapsar_core::random::StandardNormal;
use collapsar_core::rows::{BLOCK, Rows, SoftmaxSum};
use collapsar_core::{Error, Place, Result};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::super::data::LARGEST;
use super::super::posterior::pairs;
use super::Piece;
use super::task::{Race, SetUp, Task};

/// Two gigabytes a vector: a task that asks for more comes from nobody who could hold the answer.
const MOST_MESSAGES: usize = 1 << 28;

/// Chunks of rows, and what they are to the model at hand.
#[derive(Debug)]
pub struct Worker {
    /// How many chunks there are, with those of all others.
    count: u64,
    chunk_rows: u64,
    columns: usize,
    /// By their numbers.
    chunks: Vec<(u64, Chunk)>,
    set_up: Option<(u64, SetUp)>,
}

#[derive(Debug)]
struct Chunk {
    /// As they were given, row by row.
    values: Vec<f64>,
    /// The sum over them, once there is a model.
    sum: Option<SoftmaxSum>,
}

impl Worker {
    /// A worker without rows, which are cut into so many chunks in all.
    pub fn new(count: u64, chunk_rows: u64, columns: usize) -> Self {
        Self {
            count,
            chunk_rows: chunk_rows.max(1),
            columns,
            chunks: vec![],
            set_up: None,
        }
    }

    /// Takes in the rows of a piece, row by row.
    ///
    /// # Errors
    /// [`Error::Data`] where they are not as many as the piece has, which are then of another file than was counted.
    pub fn hold(&mut self, piece: &Piece, values: &[f64]) -> Result<()> {
        let expected = piece.rows as usize * self.columns;
        if values.len() != expected {
            let found = format!("{} numbers", values.len());
            let expected = format!(
                "{expected} in {} rows of {} columns, as when the data were counted",
                piece.rows, self.columns
            );
            return Err(Error::data(Place::Whole("data"), found, expected));
        }
        let rows = self.chunk_rows as usize * self.columns;
        let chunks = (piece.first_chunk..).zip(values.chunks(rows.max(1)));
        self.chunks.extend(chunks.map(|(number, values)| {
            let values = values.to_vec();
            (number, Chunk { values, sum: None })
        }));
        self.chunks.sort_by_key(|(number, _)| *number);
        self.set_up = None;
        Ok(())
    }

    /// How many rows it holds.
    pub fn rows(&self) -> usize {
        let numbers: usize = self.chunks.iter().map(|(_, c)| c.values.len()).sum();
        numbers / self.columns.max(1)
    }

    /// Does what a task says; whatever is wrong with it is an answer too.
    pub fn answer(&mut self, task: &[u8]) -> Vec<u8> {
        let mut bytes = Reader::new(task);
        let header = match Header::read(&mut bytes) {
            Ok(header) => header,
            Err(error) => return Answer::failed(0, &cause(error)),
        };
        let task = Task::read(header.kind, bytes);
        match task.and_then(|task| self.done(header, &task)) {
            Ok(answer) => answer.write(header.serial),
            Err(error) => Answer::failed(header.serial, &cause(error)),
        }
    }

    fn done(&mut self, header: Header, task: &Task) -> Result<Answer> {
        if let Task::SetUp(set_up) = task {
            self.prepare(set_up)?;
        } else if header.preparation != 0 {
            let prepared = self.set_up.as_ref().map(|(of, _)| *of);
            if prepared != Some(header.preparation) {
                return Err(Error::exchange(
                    "a worker that is prepared for another model".into(),
                ));
            }
        }
        let merge = match task {
            Task::Survey => Merge::SumThenLeast(3 + self.columns),
            Task::Race(_) => Merge::First,
            _ => Merge::Sum,
        };
        answer(&self.chunks, self.count, merge, |number, chunk| {
            self.part(number, chunk, task)
        })
    }

    /// Brings rows to the units of a model.
    fn prepare(&mut self, set_up: &SetUp) -> Result<()> {
        let (shift, scale) = (&set_up.shift, &set_up.scale);
        if shift.len() != self.columns || scale.len() != self.columns || set_up.components == 0 {
            let found = shift.len();
            let expected = self.columns;
            return Err(Error::exchange(format!(
                "a model of {found} columns, expected {expected}"
            )));
        }
        let features = set_up.covariance.features(false);
        let (columns, components) = (self.columns, set_up.components);
        let messages = components.checked_mul(features.count(columns));
        if messages.is_none_or(|messages| messages > MOST_MESSAGES) {
            return Err(Error::exchange(format!(
                "{components} components, expected {MOST_MESSAGES} messages at most"
            )));
        }
        self.chunks.par_iter_mut().for_each(|(_, chunk)| {
            let rows = Rows::new(&chunk.values, columns, shift, scale);
            chunk.sum = Some(SoftmaxSum::new(rows, features, components));
        });
        self.set_up = Some((set_up.preparation(), set_up.clone()));
        Ok(())
    }

    /// A chunk's part of what a task asks.
    fn part(&self, number: u64, chunk: &Chunk, task: &Task) -> Result<Vec<f64>> {
        let unprepared = || Error::exchange("a worker that knows no model yet".into());
        match task {
            Task::Survey => return self.survey(number, chunk),
            Task::Spread { mean, pairs } => return self.spread(chunk, mean, *pairs),
            Task::SetUp(_) => return Ok(vec![0.0]),
            _ => {}
        }
        let sum = chunk.sum.as_ref().ok_or_else(unprepared)?;
        match task {
            Task::Pass(pass) => pass.of(sum),
            Task::Random { seed } => self.random(number, sum, *seed),
            Task::Race(race) => self.race(number, sum, race),
            Task::Centres(centres) => self.centres(sum, centres),
            Task::Nearest(centres) => self.nearest(sum, centres),
            Task::Survey | Task::Spread { .. } | Task::SetUp(_) => Err(unprepared()),
        }
    }

    fn survey(&self, number: u64, chunk: &Chunk) -> Result<Vec<f64>> {
        let columns = self.columns;
        let usable = |x: &f64| x.abs() <= LARGEST;
        if let Some(bad) = chunk.values.iter().position(|x| !usable(x)) {
            let value = chunk.values[bad];
            let (found, expected) = if value.is_nan() {
                let expected = "a number: rows with gaps are fitted by one machine alone";
                ("a missing value".to_owned(), expected.to_owned())
            } else {
                let expected = "a finite number no larger than";
                let expected = format!("{expected} {LARGEST:e}; rescale the column");
                (format!("{value:e}"), expected)
            };
            return Err(Error::data(Place::cell(bad, columns), found, expected));
        }
        let mut out = vec![0.0; 3 + columns];
        out.resize(3 + 3 * columns, f64::INFINITY);
        out[0] = (chunk.values.len() / columns) as f64;
        let bytes = chunk.values.iter().flat_map(|x| x.to_bits().to_le_bytes());
        let digest = collapsar_core::digest(number.to_le_bytes().into_iter().chain(bytes));
        // In halves, whose sums over two million chunks are whole numbers still.
        (out[1], out[2]) = ((digest as u32).into(), ((digest >> 32) as u32).into());
        for row in chunk.values.chunks_exact(columns) {
            for (d, x) in row.iter().enumerate() {
                out[3 + d] += x;
                out[3 + columns + d] = out[3 + columns + d].min(*x);
                out[3 + 2 * columns + d] = out[3 + 2 * columns + d].min(-x);
            }
        }
        Ok(out)
    }

    fn spread(&self, chunk: &Chunk, mean: &[f64], of_pairs: bool) -> Result<Vec<f64>> {
        let columns = self.columns;
        if mean.len() != columns {
            return Err(Error::exchange("means of other columns".into()));
        }
        let pairs: Vec<(usize, usize)> = if of_pairs {
            pairs(columns).collect()
        } else {
            (0..columns).map(|d| (d, d)).collect()
        };
        let mut out = vec![0.0; pairs.len()];
        let mut centred = vec![0.0; columns];
        for row in chunk.values.chunks_exact(columns) {
            for ((c, x), m) in centred.iter_mut().zip(row).zip(mean) {
                *c = x - m;
            }
            for (sum, (i, j)) in out.iter_mut().zip(&pairs) {
                *sum += centred[*i] * centred[*j];
            }
        }
        Ok(out)
    }

    /// Logits from a standard normal, a stream for each block of the data.
    fn random(&self, number: u64, sum: &SoftmaxSum, seed: u64) -> Result<Vec<f64>> {
        let blocks = self.chunk_rows.div_ceil(BLOCK as u64);
        sum.statistics_of(|first, width, block| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(number.wrapping_mul(blocks) + (first / BLOCK) as u64);
            block.fill_with(|| rng.sample(StandardNormal));
            softmax_columns(block, width, &mut [0.0; BLOCK], &mut [0.0; BLOCK]);
        })
    }

    fn check(&self, centres: &[f64]) -> Result<()> {
        if centres.len().is_multiple_of(self.columns.max(1)) {
            return Ok(());
        }
        Err(Error::exchange("centres of other columns".into()))
    }

    fn race(&self, number: u64, sum: &SoftmaxSum, race: &Race) -> Result<Vec<f64>> {
        self.check(&race.centres)?;
        let mut rng = ChaCha8Rng::seed_from_u64(race.seed);
        // Streams of starts are below this.
        rng.set_stream(1 << 63 | race.round << 40 | number);
        let mut winner = vec![f64::INFINITY; 1 + self.columns];
        let mut row = vec![0.0; self.columns];
        for n in 0..sum.rows().len() {
            sum.rows().row(n, &mut row);
            let rate = match closest(&race.centres, &row) {
                None => 1.0,
                Some((_, distance)) if race.uniform && distance > 0.0 => 1.0,
                Some((_, distance)) => distance,
            };
            let share: f64 = rng.random();
            let time = -(1.0 - share).ln_() / rate;
            if time < winner[0] || n == 0 {
                // Where every row is a centre already, none is faster than another.
                winner[0] = if time.is_nan() { f64::INFINITY } else { time };
                winner[1..].copy_from_slice(&row);
            }
        }
        Ok(winner)
    }

    fn centres(&self, sum: &SoftmaxSum, centres: &[f64]) -> Result<Vec<f64>> {
        self.check(centres)?;
        let width = 1 + self.columns;
        let mut out = vec![0.0; centres.len() / self.columns * width];
        let mut row = vec![0.0; self.columns];
        for n in 0..sum.rows().len() {
            sum.rows().row(n, &mut row);
            let nearest = closest(centres, &row).map_or(0, |(k, _)| k);
            let own = &mut out[nearest * width..(nearest + 1) * width];
            own[0] += 1.0;
            for (sum, x) in own[1..].iter_mut().zip(&row) {
                *sum += x;
            }
        }
        Ok(out)
    }

    fn nearest(&self, sum: &SoftmaxSum, centres: &[f64]) -> Result<Vec<f64>> {
        self.check(centres)?;
        if centres.len() / self.columns != sum.components() {
            return Err(Error::exchange("centres of other components".into()));
        }
        sum.statistics_of(|first, width, block| {
            block.fill(0.0);
            let mut row = vec![0.0; self.columns];
            for i in 0..width {
                sum.rows().row(first + i, &mut row);
                let nearest = closest(centres, &row).map_or(0, |(k, _)| k);
                block[nearest * width + i] = 1.0;
            }
        })
    }
}

/// In words, without who it is that they are about.
fn cause(error: Error) -> String {
    match error {
        Error::Exchange { cause } => cause,
        error => error.to_string(),
    }
}

/// The centre that is nearest to a row, the first of equals, and its squared distance.
fn closest(centres: &[f64], row: &[f64]) -> Option<(usize, f64)> {
    let squared = |centre: &[f64]| -> f64 {
        let each = centre.iter().zip(row);
        each.map(|(a, b)| (a - b) * (a - b)).sum()
    };
    let distances = centres.chunks_exact(row.len()).map(squared).enumerate();
    distances.min_by(|a, b| a.1.total_cmp(&b.1))
}
