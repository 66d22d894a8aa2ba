//! Data and settings that several tests fit.

use std::ops::ControlFlow;

use collapsar::mixture::{Covariance, Settings, Weights};
use collapsar::{Collapsed, Direction, Driver, Fit, Stop};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

/// Rows around three overlapping centres, in units that are neither 1 nor the same for all columns.
pub(crate) fn blobs(rows: usize, columns: usize, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut values = Vec::with_capacity(rows * columns);
    for _ in 0..rows {
        let centre = rng.random_range(0..3);
        let common: f64 = rng.sample(StandardNormal);
        for column in 0..columns {
            let noise: f64 = rng.sample(StandardNormal);
            let place = 2.5 * (((centre + column) % 3) as f64 - 1.0);
            let unit = 1.0 + 2.0 * column as f64;
            values.push(unit * (place + noise + 0.5 * common) + 3.0 - column as f64);
        }
    }
    values
}

/// Both priors over weights for each shape of covariance.
pub(crate) fn kinds() -> impl Iterator<Item = (Covariance, Weights)> {
    let weights = |covariance| Weights::ALL.map(move |weights| (covariance, weights));
    Covariance::ALL.into_iter().flat_map(weights)
}

/// Default settings of one kind.
pub(crate) fn settings(
    components: usize,
    (covariance, weights): (Covariance, Weights),
) -> Settings {
    Settings {
        covariance,
        weights,
        ..Settings::new(components)
    }
}

/// The bounds of `steps` steps from `start`, and where they end.
#[allow(dead_code)] // `theory` and `evidence` follow runs by their bounds
pub(crate) fn trace<M: Collapsed>(
    model: &M,
    direction: Direction,
    steps: u64,
    start: Vec<f64>,
) -> (Vec<f64>, Fit) {
    let mut bounds = Vec::new();
    let fit = Driver::new(model, direction)
        .stop(Stop::Iterations(steps))
        .observe(|step| {
            bounds.push(step.bound);
            ControlFlow::Continue(())
        })
        .run(start)
        .expect("a run");
    (bounds, fit)
}
