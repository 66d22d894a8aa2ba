//! Binomial and Poisson variates: by inversion where few are expected, elsewhere by the transformed rejection of
//! Hörmann (1993), "The generation of binomial random variates" and "The transformed rejection method for generating
//! Poisson random variables".

use rand::distr::Distribution;
use rand::{Rng, RngExt};

use super::OutOfRange;
use crate::elementary::Elementary;
use crate::special::{ln_gamma, stirling_error};

const HALF_LN_TAU: f64 = 0.918_938_533_204_672_8;
/// Fewer expected than this are found by adding up probabilities.
const FEW: f64 = 10.0;

/// ln k! less (k + ½) ln(k + 1) − (k + 1) + ½ ln 2π.
fn correction(k: f64) -> f64 {
    let x = k + 1.0;
    if x >= 10.0 {
        stirling_error(x)
    } else {
        ln_gamma(x) - ((x - 0.5) * x.ln_() - x + HALF_LN_TAU)
    }
}

/// A proposed variate, how far the uniform number that it came from is from its ends, and another that decides.
struct Proposal {
    k: f64,
    u: f64,
    v: f64,
}

/// The constants of a hat around a mean.
#[derive(Debug, Clone, Copy)]
struct Hat {
    a: f64,
    b: f64,
    centre: f64,
}

impl Hat {
    fn propose<R: Rng + ?Sized>(self, rng: &mut R) -> Proposal {
        let u = rng.random::<f64>() - 0.5;
        let v = rng.random::<f64>();
        let near = 0.5 - u.abs();
        Proposal {
            k: ((2.0 * self.a / near + self.b) * u + self.centre).floor(),
            u: near,
            v,
        }
    }

    /// The slope of the transformation at a proposal.
    fn slope(self, u: f64) -> f64 {
        self.a / (u * u) + self.b
    }
}

/// The number of successes in a number of trials.
#[derive(Debug, Clone, Copy)]
pub struct Binomial {
    trials: u64,
    chance: f64,
}

impl Binomial {
    /// The chance is a probability.
    ///
    /// # Errors
    /// Where it is not.
    pub fn new(trials: u64, chance: f64) -> Result<Self, OutOfRange> {
        if (0.0..=1.0).contains(&chance) {
            Ok(Self { trials, chance })
        } else {
            Err(OutOfRange)
        }
    }
}

impl Distribution<u64> for Binomial {
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> u64 {
        // Of the rarer outcome.
        let p = self.chance.min(1.0 - self.chance);
        let n = self.trials as f64;
        let drawn = if n * p < FEW {
            rare_successes(n, p, rng)
        } else {
            successes(n, p, rng)
        };
        // Where trials are no exact f64, their number is.
        let drawn = (drawn as u64).min(self.trials);
        if self.chance > 0.5 {
            self.trials - drawn
        } else {
            drawn
        }
    }
}

fn rare_successes<R: Rng + ?Sized>(n: f64, p: f64, rng: &mut R) -> f64 {
    if n == 0.0 || p == 0.0 {
        return 0.0;
    }
    let odds = p / (1.0 - p);
    let none = (n * (-p).ln_1p_()).exp_();
    loop {
        let (mut left, mut probability, mut k) = (rng.random::<f64>(), none, 0.0);
        // Ten are expected at most; what rounding leaves beyond 110 is below 1e-60.
        while k <= n.min(110.0) {
            if left < probability {
                return k;
            }
            left -= probability;
            k += 1.0;
            probability *= odds * (n - k + 1.0) / k;
        }
    }
}

/// Hörmann's BTRS: ten or more successes are expected.
fn successes<R: Rng + ?Sized>(n: f64, p: f64, rng: &mut R) -> f64 {
    let mode = ((n + 1.0) * p).floor();
    let odds = p / (1.0 - p);
    let deviation = (n * p * (1.0 - p)).sqrt();
    let b = 1.15 + 2.53 * deviation;
    let hat = Hat {
        a: -0.0873 + 0.0248 * b + 0.01 * p,
        b,
        centre: n * p + 0.5,
    };
    let alpha = (2.83 + 5.1 / b) * deviation;
    let inside = 0.92 - 4.2 / b;
    loop {
        let Proposal { k, u, v } = hat.propose(rng);
        if u >= 0.07 && v <= inside {
            return k;
        }
        if k < 0.0 || k > n {
            continue;
        }
        // The log of the density over that at the mode.
        let density = (mode + 0.5) * ((mode + 1.0) / (odds * (n - mode + 1.0))).ln_()
            + (n + 1.0) * ((k - mode) / (n - k + 1.0)).ln_1p_()
            + (k + 0.5) * (odds * (n - k + 1.0) / (k + 1.0)).ln_()
            + (correction(mode) - correction(k))
            + (correction(n - mode) - correction(n - k));
        if (v * alpha / hat.slope(u)).ln_() <= density {
            return k;
        }
    }
}

/// The number of events at a rate.
#[derive(Debug, Clone, Copy)]
pub struct Poisson(f64);

impl Poisson {
    /// The rate is positive and finite.
    ///
    /// # Errors
    /// Where it is not.
    pub fn new(rate: f64) -> Result<Self, OutOfRange> {
        if rate > 0.0 && rate < f64::INFINITY {
            Ok(Self(rate))
        } else {
            Err(OutOfRange)
        }
    }
}

impl Distribution<f64> for Poisson {
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        let rate = self.0;
        if rate < FEW {
            return rare_events(rate, rng);
        }
        let b = 0.931 + 2.53 * rate.sqrt();
        let hat = Hat {
            a: -0.059 + 0.024_83 * b,
            b,
            centre: rate + 0.43,
        };
        let alpha = 1.1239 + 1.1328 / (b - 3.4);
        let inside = 0.9277 - 3.6224 / (b - 2.0);
        loop {
            let Proposal { k, u, v } = hat.propose(rng);
            if u >= 0.07 && v <= inside {
                return k;
            }
            if k < 0.0 || (u < 0.013 && v > u) {
                continue;
            }
            // k ln λ − λ − ln k!, the large parts together.
            let x = k + 1.0;
            let density = k * ((rate - x) / x).ln_1p_() + (x - rate)
                - 0.5 * x.ln_()
                - HALF_LN_TAU
                - correction(k);
            if (v * alpha / hat.slope(u)).ln_() <= density {
                return k;
            }
        }
    }
}

fn rare_events<R: Rng + ?Sized>(rate: f64, rng: &mut R) -> f64 {
    let none = (-rate).exp_();
    loop {
        let (mut left, mut probability, mut k) = (rng.random::<f64>(), none, 0.0);
        while k <= 110.0 {
            if left < probability {
                return k;
            }
            left -= probability;
            k += 1.0;
            probability *= rate / k;
        }
    }
}
