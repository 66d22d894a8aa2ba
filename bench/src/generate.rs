//! What is fitted: an overlapping mixture of full Gaussians, and labels that fits start from.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use serde_json::{Value, json};

use crate::{Failure, Words, npy};

/// Variances along a component's axes lie between its inverse and this.
const WIDEST: f64 = 3.0;
/// Deviation of the logarithms of the weights: the largest is some ten times the smallest.
const UNEQUAL: f64 = 0.6;

pub(crate) fn run(words: &Words) -> Result<Value, Failure> {
    words.known(&[
        "rows",
        "columns",
        "components",
        "spread",
        "seed",
        "start-seed",
    ])?;
    let rows: usize = words.get("rows", 100_000)?;
    let columns: usize = words.get("columns", 16)?;
    let components: usize = words.get("components", 20)?;
    let spread: f64 = words.get("spread", 0.5)?;
    let (seed, start_seed): (u64, u64) = (words.get("seed", 1)?, words.get("start-seed", 1)?);

    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let parts: Vec<Part> = (0..components)
        .map(|_| Part::draw(columns, spread, &mut rng))
        .collect();
    let total: f64 = parts.iter().map(|part| part.weight).sum();
    let mut values = Vec::with_capacity(rows * columns);
    for _ in 0..rows {
        let mut left = rng.random::<f64>() * total;
        let part = parts.iter().find(|part| {
            left -= part.weight;
            left < 0.0
        });
        let part = part.unwrap_or(&parts[components - 1]);
        part.sample(&mut rng, &mut values);
    }
    npy::write(words.place(0, "data file")?, &values, columns)?;

    // Labels of the nearest of K rows: what a first look at the data gives, for both sides the same.
    let mut rng = ChaCha8Rng::seed_from_u64(start_seed);
    rng.set_stream(1); // apart from the data's numbers where both seeds are equal
    let centres: Vec<&[f64]> = (0..components)
        .map(|_| rng.random_range(0..rows))
        .map(|row| &values[row * columns..(row + 1) * columns])
        .collect();
    let labels: Vec<usize> = values
        .chunks_exact(columns)
        .map(|row| nearest(row, &centres))
        .collect();
    npy::write_labels(words.place(1, "labels file")?, &labels)?;
    Ok(json!({
        "rows": rows, "columns": columns, "components": components, "spread": spread,
        "seed": seed, "start_seed": start_seed,
    }))
}

/// A Gaussian with its weight: `centre` + `root` z.
struct Part {
    weight: f64,
    centre: Vec<f64>,
    root: Vec<f64>,
}

impl Part {
    fn draw(columns: usize, spread: f64, rng: &mut impl Rng) -> Self {
        let weight = (UNEQUAL * rng.sample::<f64, _>(StandardNormal)).exp();
        let centre = (0..columns)
            .map(|_| spread * rng.sample::<f64, _>(StandardNormal))
            .collect();
        // Axes: a normal matrix, made orthogonal row by row (Gram-Schmidt), each with its own length.
        let mut root: Vec<f64> = (0..columns * columns)
            .map(|_| rng.sample(StandardNormal))
            .collect();
        for i in 0..columns {
            let (before, axis) = root.split_at_mut(i * columns);
            let axis = &mut axis[..columns];
            for other in before.chunks_exact(columns) {
                let share = dot(axis, other);
                for (a, o) in axis.iter_mut().zip(other) {
                    *a -= share * o;
                }
            }
            let norm = dot(axis, axis).sqrt();
            for a in axis {
                *a /= norm;
            }
        }
        for axis in root.chunks_exact_mut(columns) {
            let deviation = WIDEST.powf(rng.random::<f64>() - 0.5);
            for a in axis {
                *a *= deviation;
            }
        }
        Self {
            weight,
            centre,
            root,
        }
    }

    /// Appends a draw to `values`.
    fn sample(&self, rng: &mut impl Rng, values: &mut Vec<f64>) {
        let columns = self.centre.len();
        let start = values.len();
        values.extend_from_slice(&self.centre);
        for axis in self.root.chunks_exact(columns) {
            let z: f64 = rng.sample(StandardNormal);
            for (value, a) in values[start..].iter_mut().zip(axis) {
                *value += z * a;
            }
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn nearest(row: &[f64], centres: &[&[f64]]) -> usize {
    let distance =
        |centre: &[f64]| -> f64 { row.iter().zip(centre).map(|(x, c)| (x - c) * (x - c)).sum() };
    let distances = centres.iter().map(|centre| distance(centre));
    let closest = distances.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
    closest.map_or(0, |(k, _)| k)
}
