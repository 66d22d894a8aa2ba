//! Exact draws of mixtures have the right distribution: simulation-based calibration.
//!
//! Parameters are drawn from the prior and data from them; among draws of the posterior given these data the true
//! parameters have every rank with the same probability. Components are in the order of their means' first coordinates,
//! so that no number depends on labels. The cases of more rows are in bench/calibration.

use std::sync::atomic::AtomicBool;

use collapsar::family::{Dirichlet, Family, NormalWishart, NormalWishartOrdinary};
use collapsar::mixture::{Covariance, DrawOptions, Mixture, Scale, Settings, Start};
use collapsar::special::gamma_tails;
use collapsar::{Direction, Driver};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

/// Draws that a rank is among, and the bins that ranks are counted in.
const DRAWS: usize = 99;
const BINS: usize = 20;

struct Case {
    components: usize,
    columns: usize,
    rows: usize,
    /// How many component deviations the prior of the means is wide: small for much overlap.
    spread: f64,
    replicates: u64,
    /// Draws of each of four chains.
    draws: usize,
}

const CONCENTRATION: f64 = 2.0;

impl Case {
    fn freedom(&self) -> f64 {
        self.columns as f64 + 4.0
    }

    fn settings(&self) -> Settings {
        Settings {
            covariance: Covariance::Full,
            concentration: Some(CONCENTRATION),
            location: Some(vec![0.0; self.columns]),
            mean_precision: Some(self.spread.powi(-2)),
            degrees_of_freedom: Some(self.freedom()),
            scale: Some(Scale::Identity(self.freedom())),
            ..Settings::new(self.components)
        }
    }

    /// Weights, means and deviations of components in order, and rows of a table drawn by them.
    fn simulate(&self, rng: &mut ChaCha8Rng) -> (Vec<f64>, Vec<f64>) {
        let (d, family) = (self.columns, NormalWishart::new(self.columns));
        let identity = |i: usize| {
            if i.is_multiple_of(d + 1) {
                self.freedom()
            } else {
                0.0
            }
        };
        let natural = family.natural(&NormalWishartOrdinary {
            means: vec![vec![0.0; d]],
            mean_precisions: vec![self.spread.powi(-2)],
            degrees_of_freedom: self.freedom(),
            scale: (0..d * d).map(identity).collect(),
        });
        let natural = natural.expect("a prior");
        let weights = Dirichlet::new(self.components)
            .sample(&vec![CONCENTRATION; self.components], rng)
            .expect("a prior");
        let mut numbers: Vec<f64> = weights.iter().map(|w| w.exp()).collect();
        let mut covariances = vec![];
        for _ in 0..self.components {
            let draw = family.sample(&natural, rng).expect("a prior");
            numbers.extend(&draw.means[0]);
            covariances.push(inverse(&draw.precision, d));
        }
        for covariance in &covariances {
            for i in 0..d {
                numbers.extend(&covariance[i * d + i..(i + 1) * d]);
            }
        }
        let mut values = vec![];
        for _ in 0..self.rows {
            let mut left: f64 = rng.random();
            let chosen = (0..self.components).find(|&k| {
                left -= numbers[k];
                left < 0.0
            });
            let k = chosen.unwrap_or(self.components - 1);
            let mean = &numbers[self.components + k * d..];
            let noise: Vec<f64> = (0..d).map(|_| rng.sample(StandardNormal)).collect();
            let lower = lower(&covariances[k], d);
            values.extend(
                (0..d).map(|i| mean[i] + (0..=i).map(|j| lower[i * d + j] * noise[j]).sum::<f64>()),
            );
        }
        (self.sorted(&numbers), values)
    }

    /// Weights, means and deviations of a draw's components, in the order of their means' first coordinates.
    fn sorted(&self, numbers: &[f64]) -> Vec<f64> {
        let (count, d) = (self.components, self.columns);
        let (means, covariances) = numbers[count..].split_at(count * d);
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by(|&a, &b| means[a * d].total_cmp(&means[b * d]));
        let mut out = vec![];
        for k in order {
            out.push(numbers[k]);
            out.extend(&means[k * d..(k + 1) * d]);
            let entries = &covariances[k * d * (d + 1) / 2..];
            let mut place = 0;
            for i in 0..d {
                out.push(entries[place].sqrt());
                place += d - i;
            }
        }
        out
    }

    /// Chi-square probabilities of uniform ranks, one for each number.
    fn calibrate(&self) -> Vec<f64> {
        let width = self.components * (1 + 2 * self.columns);
        let mut counts = vec![[0_u32; BINS]; width];
        for replicate in 0..self.replicates {
            let mut rng = ChaCha8Rng::seed_from_u64(replicate);
            let (truth, values) = self.simulate(&mut rng);
            let model = Mixture::new(&values, self.columns, &self.settings()).expect("data");
            let (start, _) = model.start(&Start::KMeans, replicate).expect("a start");
            let fit = Driver::new(&model, Direction::Auto)
                .run(start)
                .expect("a climb");
            let options = DrawOptions {
                chains: 4,
                warmup: self.draws / 4,
                draws: self.draws,
                seed: replicate,
            };
            let draws = model.chains(&fit.point, options, &AtomicBool::new(false));
            let draws = draws.expect("inside the domain").expect("not interrupted");
            let rows: Vec<Vec<f64>> = draws.rows().map(|(_, _, row)| self.sorted(row)).collect();
            for (number, counts) in counts.iter_mut().enumerate() {
                let taken = (0..DRAWS).map(|i| &rows[i * rows.len() / DRAWS]);
                let rank = taken.filter(|row| row[number] < truth[number]).count();
                counts[rank * BINS / (DRAWS + 1)] += 1;
            }
        }
        let expected = self.replicates as f64 / BINS as f64;
        let probability = |counts: &[u32; BINS]| {
            let squares = counts.iter().map(|&c| (f64::from(c) - expected).powi(2));
            let statistic: f64 = squares.sum::<f64>() / expected;
            gamma_tails(0.5 * (BINS as f64 - 1.0), 0.5 * statistic).1
        };
        counts.iter().map(probability).collect()
    }

    /// Ranks of no number are uneven beyond chance, the number of numbers counted (Bonferroni).
    fn check(&self, least: f64) {
        let found = self.calibrate();
        let corrected = found.iter().map(|p| p * found.len() as f64);
        assert!(corrected.fold(1.0, f64::min) > least, "{found:?}");
    }
}

fn lower(covariance: &[f64], d: usize) -> Vec<f64> {
    let mut lower = vec![0.0; d * d];
    for i in 0..d {
        for j in 0..=i {
            let sent: f64 = (0..j).map(|k| lower[i * d + k] * lower[j * d + k]).sum();
            let left = covariance[i.min(j) * d + i.max(j)] - sent;
            lower[i * d + j] = if i == j {
                left.sqrt()
            } else {
                left / lower[j * d + j]
            };
        }
    }
    lower
}

/// Of a matrix of one or two rows.
fn inverse(matrix: &[f64], d: usize) -> Vec<f64> {
    if d == 1 {
        return vec![1.0 / matrix[0]];
    }
    let determinant = matrix[0] * matrix[3] - matrix[1] * matrix[2];
    let cells = [matrix[3], -matrix[1], -matrix[2], matrix[0]];
    cells.map(|x| x / determinant).to_vec()
}

#[test]
fn draws_of_small_mixtures_are_calibrated() {
    // One in a thousand: the test must not fail by chance, and a wrong sampler is far below.
    let case = Case {
        components: 2,
        columns: 1,
        rows: 30,
        spread: 2.0,
        replicates: 300,
        draws: 150,
    };
    case.check(1e-3);
}
