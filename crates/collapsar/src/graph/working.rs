//! Decides where Gaussians of log-linear predictors begin: at the least squares of what the data say of each predictor
//! (maths §9.14).

use rand::Rng;

use super::block::range_of;
use super::compiled::Compiled;
use super::start::guess;

impl Compiled {
    /// Replaces the statistics of own blocks that have exponentials, where others are guessed at, by those of a weighted
    /// regression of the logarithms of data.
    pub(super) fn begin_predictors<R: Rng>(&self, statistics: &mut [f64], rng: &mut R) {
        let posterior = &self.posterior;
        let exponents = posterior.exponents();
        if exponents.is_empty() {
            return;
        }
        let means = posterior.means_at(|block, mean| guess(block, 1.0, rng, mean));
        let told = posterior.told_working(statistics, &means);
        let first = self.local.own_first();
        for placed in self.local.blocks().1 {
            let range = range_of(placed);
            let places = first + range.start..first + range.end;
            if !(0..exponents.len()).any(|index| exponents.is_within(index, &places)) {
                continue;
            }
            let base = self.local.own_base[range].iter();
            let told = &told[places.clone()];
            let natural: Vec<f64> = base.zip(told).map(|(base, told)| base + told).collect();
            let mut mean = vec![0.0; natural.len()];
            let inside = placed.0.evaluate(&natural, &mut mean);
            if inside.is_ok_and(f64::is_finite) && mean.iter().all(|mean| mean.is_finite()) {
                statistics[places].copy_from_slice(&mean);
            }
        }
    }
}
