//! Many starts, the best kept.

use rayon::prelude::*;

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
        let bound = |index: &usize| fits[*index].point.bound;
        let highest = (0..fits.len()).rev();
        let best = highest.max_by(|a, b| bound(a).total_cmp(&bound(b)));
        let best = best.expect("restarts hold at least one fit");
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
}
