//! Many starts, the best kept.

use rayon::prelude::*;
use serde::Serialize;

use super::Fit;
use crate::error::{Error, Result};

/// The fits of several starts.
#[derive(Debug, Clone)]
pub struct Restarts {
    /// One fit for each start, in the order of the starts.
    pub fits: Vec<Fit>,
    /// Which has the highest bound; the first of equals.
    pub best: usize,
}

/// How far apart the bounds of several starts ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// Number of starts.
    pub starts: usize,
    /// The highest bound.
    pub highest: f64,
    /// The middle one, or the mean of the two.
    pub median: f64,
    /// The lowest.
    pub lowest: f64,
    /// How many ended within a nat of the highest.
    pub within_a_nat: usize,
}

impl Restarts {
    /// Runs `fit(index)` for each of `count` starts, in parallel; the result does not depend on the threads.
    ///
    /// # Errors
    /// [`Error::Setting`] where `count` is zero, else the first error in the order of the starts.
    pub fn run(count: usize, fit: impl Fn(usize) -> Result<Fit> + Sync) -> Result<Self> {
        if count == 0 {
            return Err(Error::setting("restarts", "0", "at least 1"));
        }
        let fits: Vec<Fit> = if count == 1 {
            vec![fit(0)?]
        } else {
            let fits: Vec<Result<Fit>> = (0..count).into_par_iter().map(&fit).collect();
            fits.into_iter().collect::<Result<_>>()?
        };
        Ok(Self::new(fits))
    }

    /// The fits of at least one start.
    ///
    /// # Panics
    /// Where there is none.
    pub fn new(fits: Vec<Fit>) -> Self {
        assert!(!fits.is_empty(), "restarts hold at least one fit");
        let bound = |index: usize| fits[index].point.bound;
        let higher = |best, index| {
            if bound(index) > bound(best) {
                index
            } else {
                best
            }
        };
        let best = (1..fits.len()).fold(0, higher);
        Self { fits, best }
    }

    /// The fit with the highest bound.
    pub fn best(&self) -> &Fit {
        &self.fits[self.best]
    }

    /// Accepted steps of all starts together.
    pub fn iterations(&self) -> u64 {
        self.fits.iter().map(|fit| fit.iterations).sum()
    }

    /// Passes over the data of all starts together.
    pub fn passes(&self) -> u64 {
        self.fits.iter().map(|fit| fit.passes).sum()
    }

    /// How far apart the bounds ended.
    pub fn spread(&self) -> Spread {
        let mut bounds: Vec<f64> = self.fits.iter().map(|fit| fit.point.bound).collect();
        bounds.sort_by(f64::total_cmp);
        let highest = bounds[bounds.len() - 1];
        Spread {
            starts: bounds.len(),
            highest,
            median: f64::midpoint(bounds[(bounds.len() - 1) / 2], bounds[bounds.len() / 2]),
            lowest: bounds[0],
            within_a_nat: bounds
                .iter()
                .filter(|&&bound| bound > highest - 1.0)
                .count(),
        }
    }
}
