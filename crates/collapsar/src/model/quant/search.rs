//! Looks for a higher optimum: is a transcript without reads of its own there at all? (maths §8.6)

use super::Quant;
use super::solve::climb_dense;
use collapsar_core::special::digamma;
use collapsar_core::{Fit, Result};

/// Fewer expected reads are as good as none.
const ABSENT: f64 = 0.01;
/// A trial climbs until steps gain less than this.
const COARSE: f64 = 1e-4;
/// A rise below this is the same optimum.
const HIGHER: f64 = 1e-3;

/// Takes away one transcript after another, those with the fewest reads first, and keeps what
/// ends higher.
pub(super) fn absences(model: &Quant<'_>, mut best: Fit, tolerance: f64) -> Result<Fit> {
    let unique = model.local.unique();
    let mut doubtful: Vec<usize> = (0..unique.len())
        .filter(|&m| unique[m] == 0.0 && best.point.statistics[m] > ABSENT)
        .collect();
    let counts = &best.point.statistics;
    doubtful.sort_by(|&a, &b| counts[a].total_cmp(&counts[b]));
    let absent = digamma(model.posterior.alpha);
    let mut changed = false;
    for m in doubtful {
        if best.point.statistics[m] < ABSENT {
            continue; // another's absence took this one's reads as well
        }
        let mut start = best.point.messages.clone();
        start[m] = absent;
        let trial = climb_dense(model, start, COARSE)?;
        let higher = trial.point.bound > best.point.bound + HIGHER;
        changed |= higher;
        best = after(best, trial, higher);
    }
    if changed {
        let last = climb_dense(model, best.point.messages.clone(), tolerance)?;
        best = after(best, last, true);
    }
    Ok(best)
}

/// The end of either of two climbs, at the cost of both.
fn after(first: Fit, second: Fit, of_second: bool) -> Fit {
    Fit {
        passes: first.passes + second.passes,
        iterations: first.iterations + second.iterations,
        ..if of_second { second } else { first }
    }
}
