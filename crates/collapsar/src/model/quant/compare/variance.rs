//! The variance to expect of a transcript: a trend by counts plus its own inferential variance.

use super::{median, turn};
use collapsar_core::elementary::Elementary;
use collapsar_core::special::{beta_cdf, trigamma};

/// Transcripts that decide the trend at one place.
const BIN: usize = 100;
/// The most places at which the trend is learned.
const BINS: usize = 40;
/// Log2 counts from which residuals are close enough to normal to tell degrees of freedom.
const CLEAR: f64 = std::f64::consts::LOG2_10;
/// With fewer transcripts of that kind all are taken.
const SOME: usize = 50;
/// A biological variance below this, a coefficient of variation of 0.7%, is not believed.
const LEAST: f64 = 1e-4;
/// Residual variances below this are as good as none.
const NOTHING: f64 = 1e-8;
/// Degrees of freedom are within this range; above it the t distribution is a normal one.
const DEGREES: std::ops::RangeInclusive<f64> = 0.1..=1e4;
/// Rounds between trend and degrees of freedom.
const ROUNDS: usize = 20;

/// What samples say of one transcript.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    /// Mean log2 count.
    pub(super) level: f64,
    /// Variance within conditions.
    pub(super) residual: f64,
    /// Mean inferential variance.
    pub(super) inferential: f64,
}

/// The prior of variances.
#[derive(Debug)]
pub(super) struct Expected {
    /// Places of the trend: log2 counts and the log of the biological variance.
    knots: Vec<(f64, f64)>,
    /// How many degrees of freedom the prior is worth.
    pub(super) degrees: f64,
    /// Those of the residuals.
    residual: f64,
}

impl Expected {
    /// Learns trend and degrees of freedom from transcripts with so many residual degrees.
    ///
    /// Residual over expected variance has an F distribution. The trend at one place is what
    /// makes the median of this ratio right: robust to transcripts that vary wildly, and as
    /// s²/(g + v) > m is the same as s²/m - v > g, it is a median itself. Degrees of freedom come
    /// from the variance of the log ratio (Smyth04).
    ///
    /// Of transcripts with like counts only the half with smaller inferential variance decides the
    /// trend, because that variance is only an upper limit where reads do not tell transcripts
    /// apart: estimates then follow the prior in all samples. Degrees of freedom need more data, and
    /// are asked of all others too whose inferential variance is below the biological one.
    pub(super) fn learn(seen: &[Seen], residual: f64) -> Self {
        let mut order: Vec<&Seen> = seen.iter().collect();
        order.sort_by(|a, b| a.level.total_cmp(&b.level));
        let bins = (seen.len() / BIN).clamp(1, BINS);
        let bins: Vec<Vec<&Seen>> = (0..bins)
            .map(|bin| {
                let range = bin * seen.len() / bins..(bin + 1) * seen.len() / bins;
                let mut bin = order[range].to_vec();
                bin.sort_by(|a, b| a.inferential.total_cmp(&b.inferential));
                bin
            })
            .collect();
        let mut expected = Self {
            knots: vec![],
            degrees: 10.0,
            residual,
        };
        for _ in 0..ROUNDS {
            expected.knots = expected.trend_of(&bins);
            let degrees = expected.degrees_of(&bins);
            let rests = (degrees - expected.degrees).abs() < 1e-3 * degrees;
            expected.degrees = degrees;
            if rests {
                break;
            }
        }
        expected
    }

    fn trend_of(&self, bins: &[Vec<&Seen>]) -> Vec<(f64, f64)> {
        let middle = median_ratio(self.residual, self.degrees);
        let knots: Vec<(f64, f64)> = (bins.iter())
            .map(|bin| {
                let bin = &bin[..certain(bin)];
                let mut levels: Vec<f64> = bin.iter().map(|seen| seen.level).collect();
                let excess = |seen: &&Seen| seen.residual / middle - seen.inferential;
                let mut excess: Vec<f64> = bin.iter().map(excess).collect();
                (median(&mut levels), median(&mut excess).max(LEAST).ln_())
            })
            .collect();
        // A bin has some noise of its own, which its neighbours halve.
        (0..knots.len())
            .map(|k| {
                let before = knots[k.saturating_sub(1)].1;
                let after = knots[(k + 1).min(knots.len() - 1)].1;
                (knots[k].0, 0.25 * before + 0.5 * knots[k].1 + 0.25 * after)
            })
            .collect()
    }

    fn degrees_of(&self, bins: &[Vec<&Seen>]) -> f64 {
        let chosen = bins.iter().flat_map(|bin| {
            let (certain, others) = bin.split_at(certain(bin));
            let biological = |seen: &Seen| self.biological(seen.level).exp_();
            let others = others
                .iter()
                .filter(move |seen| seen.inferential <= biological(seen));
            certain.iter().chain(others)
        });
        let chosen: Vec<&Seen> = chosen.copied().collect();
        let log = |seen: &&Seen| (seen.residual.max(NOTHING) / self.variance(seen)).ln_();
        let clear = chosen.iter().filter(|seen| seen.level > CLEAR);
        let mut logs: Vec<f64> = clear.map(log).collect();
        if logs.len() < SOME {
            logs = chosen.iter().map(log).collect();
        }
        let count = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / count.max(1.0);
        let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        let spread = squares / (count - 1.0).max(1.0) - trigamma(0.5 * self.residual);
        // Trigamma falls; where chance alone explains the spread, there is no end to the degrees.
        let (low, high) = (DEGREES.start().ln_(), DEGREES.end().ln_());
        turn(low, high, |d| trigamma(0.5 * d.exp_()) > spread).exp_()
    }

    /// The prior mean of a transcript's variance.
    fn variance(&self, seen: &Seen) -> f64 {
        self.biological(seen.level).exp_() + seen.inferential
    }

    /// The log of the trend: between places linear, beyond them constant.
    fn biological(&self, level: f64) -> f64 {
        let next = self.knots.partition_point(|knot| knot.0 <= level);
        let (before, after) = self.knots.split_at(next);
        match (before.last(), after.first()) {
            (Some((x, from)), Some((y, to))) => from + (to - from) * (level - x) / (y - x),
            (Some((_, log)), None) | (None, Some((_, log))) => *log,
            (None, None) => 0.0,
        }
    }

    /// The posterior mean of a transcript's variance.
    pub(super) fn updated(&self, seen: &Seen) -> f64 {
        let sum = self.degrees * self.variance(seen) + self.residual * seen.residual;
        sum / (self.degrees + self.residual)
    }

    /// The places of the trend, with variances.
    pub(super) fn trend(&self) -> Vec<(f64, f64)> {
        self.knots.iter().map(|&(x, log)| (x, log.exp_())).collect()
    }
}

/// How many transcripts of a bin, least inferential variance first, decide the trend.
fn certain(bin: &[&Seen]) -> usize {
    bin.len().div_ceil(2)
}

/// The median of the F distribution with these degrees of freedom.
fn median_ratio(above: f64, below: f64) -> f64 {
    let cdf = |log: f64| {
        let ratio = above * log.exp_();
        beta_cdf(0.5 * above, 0.5 * below, ratio / (ratio + below))
    };
    turn(-20.0, 20.0, |log| cdf(log) < 0.5).exp_()
}

#[cfg(test)]
mod tests {
    use super::*;
    use collapsar_core::random::{ChiSquared, Distribution};
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn medians_of_f() {
        // qf(0.5, d, d0) of R.
        for (above, below, expected) in [
            (1.0, 1.0, 1.0),
            (4.0, 10.0, 0.898_817_1),
            (2.0, 10_000.0, 0.693_195_2),
        ] {
            let found = median_ratio(above, below);
            assert!((found - expected).abs() < 1e-6, "{above} {below}: {found}");
        }
    }

    /// Residuals from the model itself.
    fn drawn(degrees: f64, residual: f64) -> Vec<Seen> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
        let prior = ChiSquared::new(degrees).unwrap();
        let chance = ChiSquared::new(residual).unwrap();
        (0..10_000)
            .map(|k| {
                let level = 4.0 + f64::from(k % 1000) / 100.0;
                let inferential = [0.0, 0.0, 0.01, 0.3][k as usize % 4];
                let mean = (-0.3 * level).exp_() + 0.02 + inferential;
                let variance = mean * degrees / prior.sample(&mut rng);
                Seen {
                    level,
                    inferential,
                    residual: variance * chance.sample(&mut rng) / residual,
                }
            })
            .collect()
    }

    #[test]
    fn the_prior_is_found_again() {
        // With one residual degree of freedom logs of variances are mostly chance.
        for (degrees, residual, most) in [(6.0, 4.0, 1.25), (6.0, 1.0, 2.0), (20.0, 8.0, 1.25)] {
            let expected = Expected::learn(&drawn(degrees, residual), residual);
            let ratio: f64 = expected.degrees / degrees;
            assert!(
                ratio.ln_().abs() < f64::ln_(most),
                "{degrees} as {}",
                expected.degrees
            );
            for level in [5.0_f64, 8.0, 13.0] {
                let truth = (-0.3 * level).exp_() + 0.02;
                let found = expected.biological(level).exp_();
                assert!(
                    (0.8..1.25).contains(&(found / truth)),
                    "{level}: {found} {truth}"
                );
            }
        }
    }

    #[test]
    fn nothing_and_nearly_nothing() {
        let one = Seen {
            level: 5.0,
            residual: 0.0,
            inferential: 0.0,
        };
        for seen in [vec![], vec![one], vec![one; 300]] {
            let expected = Expected::learn(&seen, 2.0);
            assert!(expected.degrees.is_finite() && expected.updated(&one) > 0.0);
        }
    }
}
