//! The distribution of one scalar: mean, standard deviation, CDF and quantiles.

use std::f64::consts::FRAC_1_SQRT_2;

use crate::elementary::Elementary;
use crate::special::{
    beta_cdf, beta_cdf_of, gamma_power, gamma_tails, ln_beta, ln_gamma, student_cdf,
};

/// The distribution of one scalar.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Marginal {
    /// A normal distribution.
    Normal {
        /// Its mean.
        mean: f64,
        /// Its standard deviation.
        sd: f64,
    },
    /// Student's t distribution, moved and scaled.
    StudentT {
        /// Its centre.
        mean: f64,
        /// What a standard t is multiplied by.
        scale: f64,
        /// Its degrees of freedom.
        degrees: f64,
    },
    /// A gamma distribution.
    Gamma {
        /// Its shape.
        shape: f64,
        /// Its rate: the mean is the shape over the rate.
        rate: f64,
    },
    /// A beta distribution.
    Beta {
        /// Its first shape: the mean is this over the sum of both.
        a: f64,
        /// Its second shape.
        b: f64,
    },
    /// A number that is known.
    Point(f64),
}

impl Marginal {
    /// The mean; the centre of a t that has none.
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Normal { mean, .. } | Self::StudentT { mean, .. } => mean,
            Self::Gamma { shape, rate } => shape / rate,
            Self::Beta { a, b } => a / (a + b),
            Self::Point(value) => value,
        }
    }

    /// The standard deviation, infinite where there is none.
    pub fn sd(&self) -> f64 {
        match *self {
            Self::Normal { sd, .. } => sd,
            Self::StudentT { scale, degrees, .. } if degrees > 2.0 => {
                // Written so that infinite degrees, a normal, give the scale.
                scale / (1.0 - 2.0 / degrees).sqrt()
            }
            Self::StudentT { .. } => f64::INFINITY,
            Self::Gamma { shape, rate } => shape.sqrt() / rate,
            Self::Beta { a, b } => {
                let sum = a + b;
                ((a / sum) * (b / sum) / (sum + 1.0)).sqrt()
            }
            Self::Point(_) => 0.0,
        }
    }

    /// The distribution of the same family with the same mean that has another standard deviation; the same
    /// where it has none that is finite, and as wide as it can be where its support has no room for more.
    #[must_use]
    pub fn with_sd(self, sd: f64) -> Self {
        let ratio = sd / self.sd();
        if !(ratio.is_finite() && ratio > 0.0) {
            return self;
        }
        match self {
            Self::Normal { mean, .. } => Self::Normal { mean, sd },
            Self::StudentT {
                mean,
                scale,
                degrees,
            } => Self::StudentT {
                mean,
                scale: scale * ratio,
                degrees,
            },
            Self::Gamma { shape, rate } => Self::Gamma {
                shape: shape / (ratio * ratio),
                rate: rate / (ratio * ratio),
            },
            Self::Beta { a, b } => {
                // The variance is m (1 − m) / (a + b + 1).
                let sum = (a + b + 1.0) / (ratio * ratio) - 1.0;
                let factor = sum.max(1e-3 * (a + b)) / (a + b);
                Self::Beta {
                    a: a * factor,
                    b: b * factor,
                }
            }
            Self::Point(_) => self,
        }
    }

    /// The probability of a value of `x` or less.
    pub fn cdf(&self, x: f64) -> f64 {
        match *self {
            Self::Normal { mean, sd } => normal_cdf((x - mean) / sd),
            Self::StudentT {
                mean,
                scale,
                degrees,
            } => student_cdf(degrees, (x - mean) / scale),
            Self::Gamma { shape, rate } => gamma_tails(shape, rate * x).0,
            Self::Beta { a, b } => beta_cdf(a, b, x.clamp(0.0, 1.0)),
            Self::Point(value) => f64::from(u8::from(x >= value)),
        }
    }

    /// The value that has this probability below it, to a relative error of 1e-8 (of the distance from
    /// the centre for the normal and t); the ends of the support at zero and one and beyond.
    pub fn quantile(&self, probability: f64) -> f64 {
        match *self {
            Self::Normal { mean, sd } => mean + sd * symmetric(probability, normal_quantile),
            Self::StudentT {
                mean,
                scale,
                degrees,
            } => mean + scale * symmetric(probability, |p| student_quantile(degrees, p)),
            Self::Gamma { shape, rate } => gamma_quantile(shape, probability) / rate,
            Self::Beta { a, b } => {
                // The side of the middle on which the quantile lies, from its own end.
                if probability <= beta_cdf(a, b, 0.5) {
                    beta_quantile(a, b, probability, 1.0 - probability)
                } else {
                    1.0 - beta_quantile(b, a, 1.0 - probability, probability)
                }
            }
            Self::Point(value) => value,
        }
    }
}

/// A quantile of a distribution that is symmetric about zero, from that of its lower half.
fn symmetric(probability: f64, lower: impl Fn(f64) -> f64) -> f64 {
    if probability <= 0.0 {
        f64::NEG_INFINITY
    } else if probability >= 1.0 {
        f64::INFINITY
    } else if probability > 0.5 {
        // The difference is exact.
        -lower(1.0 - probability)
    } else {
        lower(probability)
    }
}

fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z * FRAC_1_SQRT_2)
}

/// The lower half of the standard normal quantile by ratios of polynomials, to about 1e-15 of itself (Wichura88,
/// PPND16): diagnostics of chains ask for one for each draw.
#[allow(clippy::excessive_precision, clippy::unreadable_literal)]
fn normal_quantile(probability: f64) -> f64 {
    const MIDDLE: [[f64; 8]; 2] = [
        [
            2.5090809287301226727e3,
            3.3430575583588128105e4,
            6.7265770927008700853e4,
            4.5921953931549871457e4,
            1.3731693765509461125e4,
            1.9715909503065514427e3,
            1.3314166789178437745e2,
            3.3871328727963666080,
        ],
        [
            5.2264952788528545610e3,
            2.8729085735721942674e4,
            3.9307895800092710610e4,
            2.1213794301586595867e4,
            5.3941960214247511077e3,
            6.8718700749205790830e2,
            4.2313330701600911252e1,
            1.0,
        ],
    ];
    const TAIL: [[f64; 8]; 2] = [
        [
            7.74545014278341407640e-4,
            2.27238449892691845833e-2,
            2.41780725177450611770e-1,
            1.27045825245236838258,
            3.64784832476320460504,
            5.76949722146069140550,
            4.63033784615654529590,
            1.42343711074968357734,
        ],
        [
            1.05075007164441684324e-9,
            5.47593808499534494600e-4,
            1.51986665636164571966e-2,
            1.48103976427480074590e-1,
            6.89767334985100004550e-1,
            1.67638483018380384940,
            2.05319162663775882187,
            1.0,
        ],
    ];
    const FAR: [[f64; 8]; 2] = [
        [
            2.01033439929228813265e-7,
            2.71155556874348757815e-5,
            1.24266094738807843860e-3,
            2.65321895265761230930e-2,
            2.96560571828504891230e-1,
            1.78482653991729133580,
            5.46378491116411436990,
            6.65790464350110377720,
        ],
        [
            2.04426310338993978564e-15,
            1.42151175831644588870e-7,
            1.84631831751005468180e-5,
            7.86869131145613259100e-4,
            1.48753612908506148525e-2,
            1.36929880922735805310e-1,
            5.99832206555887937690e-1,
            1.0,
        ],
    ];
    let ratio = |[above, below]: &[[f64; 8]; 2], r: f64| {
        let value = |c: &[f64; 8]| c.iter().fold(0.0, |sum, c| sum * r + c);
        value(above) / value(below)
    };
    let q = probability - 0.5;
    if q.abs() <= 0.425 {
        return q * ratio(&MIDDLE, 0.180625 - q * q);
    }
    let r = (-probability.ln_()).sqrt();
    if r <= 5.0 {
        -ratio(&TAIL, r - 1.6)
    } else {
        -ratio(&FAR, r - 5.0)
    }
}

/// In the logarithm of the distance from the centre, in which tails are straight.
fn student_quantile(degrees: f64, probability: f64) -> f64 {
    // Shares are computed with a fraction whose length grows with the root of the degrees; beyond
    // this the next term of the expansion about the normal is below 1e-11.
    const NEARLY_NORMAL: f64 = 1e6;
    if degrees > NEARLY_NORMAL {
        let z = normal_quantile(probability);
        return z + z * (z * z + 1.0) / (4.0 * degrees);
    }
    let goal = probability.ln_();
    let ln_constant = -ln_beta(0.5 * degrees, 0.5) - 0.5 * degrees.ln_();
    let (low, mut high) = (-40.0, 2.0);
    let at = |y: f64| {
        let t = y.exp_();
        let below = student_cdf(degrees, -t);
        let ln_density = ln_constant - 0.5 * (degrees + 1.0) * (t * (t / degrees)).ln_1p_();
        (goal - below.ln_(), (ln_density + y).exp_() / below)
    };
    if at(low).0 >= 0.0 {
        return 0.0;
    }
    // At e³⁴⁰ squares are still numbers; beyond it the tail is a power.
    while at(high).0 < 0.0 {
        if high > 340.0 {
            let (beyond, _) = at(high);
            return -(high - beyond / degrees).exp_();
        }
        high *= 1.5;
    }
    -solve(low, high, high / 1.5, relative, at).exp_()
}

fn gamma_quantile(shape: f64, probability: f64) -> f64 {
    if probability <= 0.0 {
        return 0.0;
    }
    if probability >= 1.0 {
        return f64::INFINITY;
    }
    // Whichever of the two probabilities is the smaller has the digits.
    let (goal_below, goal_above) = (probability.ln_(), (1.0 - probability).ln_());
    let at = |y: f64| {
        let x = y.exp_();
        let (below, above) = gamma_tails(shape, x);
        let density = shape * gamma_power(shape, x);
        if probability <= 0.5 {
            (below.ln_() - goal_below, density / below)
        } else {
            (goal_above - above.ln_(), density / above)
        }
    };
    from_zero(
        (goal_below + ln_gamma(shape + 1.0)) / shape,
        shape.ln_(),
        at,
    )
}

/// The value with these probabilities below and above it in a beta distribution, where it is at most a
/// half.
fn beta_quantile(a: f64, b: f64, below: f64, above: f64) -> f64 {
    if below <= 0.0 {
        return 0.0;
    }
    let ln_constant = -ln_beta(a, b);
    let at = |y: f64| {
        let x = y.exp_();
        let density = (ln_constant + a * y + (b - 1.0) * (-x).ln_1p_()).exp_();
        if below <= above {
            let found = beta_cdf_of(a, b, x, 1.0 - x);
            (found.ln_() - below.ln_(), density / found)
        } else {
            let found = beta_cdf_of(b, a, 1.0 - x, x);
            (above.ln_() - found.ln_(), density / found)
        }
    };
    let tail = (below.ln_() + a.ln_() - ln_constant) / a;
    from_zero(tail, (a / (a + b)).ln_(), at)
}

/// Solves for the logarithm of a value on a half-line from zero. Where the value is tiny the
/// probability is a power of it, which gives `tail`; otherwise the search begins at `centre`.
fn from_zero(tail: f64, centre: f64, at: impl Fn(f64) -> (f64, f64)) -> f64 {
    const TINY: f64 = -600.0;
    if tail < TINY {
        return tail.exp_();
    }
    let (mut low, mut high) = (centre.min(tail) - 1.0, centre.max(tail) + 1.0);
    let mut step = 1.0;
    while at(low).0 > 0.0 && low > TINY {
        low -= step;
        step *= 2.0;
    }
    step = 1.0;
    // Nothing has a logarithm above 709.
    while at(high).0 < 0.0 && high < 709.0 {
        high += step;
        step *= 2.0;
    }
    solve(low, high, tail.clamp(low, high), relative, at).exp_()
}

/// A step that changes nothing in twelve digits.
fn relative(x: f64) -> f64 {
    1e-12 * x.abs().max(1e-3)
}

/// The root of an increasing function with its slope: steps of Newton, halving where one would
/// leave the bracket, until one is as small as `small` says for where it begins.
pub(super) fn solve(
    mut low: f64,
    mut high: f64,
    start: f64,
    small: impl Fn(f64) -> f64,
    at: impl Fn(f64) -> (f64, f64),
) -> f64 {
    let mut x = start.clamp(low, high);
    for _ in 0..200 {
        let (value, slope) = at(x);
        if value < 0.0 {
            low = x;
        } else {
            high = x;
        }
        let mut next = x - value / slope;
        if !(low..=high).contains(&next) {
            next = 0.5 * (low + high);
        }
        // Newton's error is then far below the step.
        let done = (next - x).abs() <= small(x);
        x = next;
        if done {
            break;
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(mean: f64, sd: f64) -> Marginal {
        Marginal::Normal { mean, sd }
    }

    fn student(degrees: f64) -> Marginal {
        Marginal::StudentT {
            mean: 0.0,
            scale: 1.0,
            degrees,
        }
    }

    fn gamma(shape: f64, rate: f64) -> Marginal {
        Marginal::Gamma { shape, rate }
    }

    fn beta(a: f64, b: f64) -> Marginal {
        Marginal::Beta { a, b }
    }

    // By bisection on erfc, gammainc and betainc of mpmath 1.3.0 with 40 digits.
    #[test]
    fn quantiles_match_mpmath() {
        for (marginal, probability, expected) in [
            (normal(0.0, 1.0), 1e-12, -7.034_483_825_301_132),
            (normal(0.0, 1.0), 0.001, -3.090_232_306_167_813_5),
            (normal(0.0, 1.0), 0.3, -0.524_400_512_708_040_8),
            (normal(1.0, 2.0), 0.975, 4.919_927_969_080_108),
            (student(1.0), 1e-9, -318_309_886.183_790_7),
            (student(2.5), 0.01, -5.353_111_173_030_874),
            (student(4.0), 0.4999, -2.666_666_706_172_547e-4),
            (student(30.0), 0.95, 1.697_260_886_593_957_4),
            (student(0.3), 0.02, -13_848.209_046_190_596),
            (student(3e4), 0.975, 1.960_043_063_383_934_7),
            (student(5e6), 1e-4, -3.719_019_243_309_734),
            (gamma(0.01, 1.0), 0.2, 7.175_838_109_857_893e-71),
            (gamma(0.5, 1.0), 1e-6, 7.853_981_633_978_595e-13),
            (gamma(1.0, 2.0), 0.5, 0.5 * std::f64::consts::LN_2),
            (gamma(3.3, 1.0), 0.025, 0.751_969_929_252_725_9),
            (gamma(3.3, 1.0), 0.999_999_9, 22.383_411_919_226_966),
            (gamma(200.0, 0.1), 0.975, 2_286.527_409_830_325),
            (gamma(5e4, 1.0), 0.3, 49_882.499_251_018_05),
            (beta(0.5, 0.5), 0.01, 2.467_198_171_342_215e-4),
            (beta(2.0, 3.0), 0.975, 0.805_879_550_316_756_6),
            (beta(0.02, 5.0), 0.3, 9.065_629_353_822_523e-28),
            (beta(300.0, 2.0), 0.5, 0.994_430_374_807_378_6),
            (beta(1.0, 1.0), 0.25, 0.25),
            (beta(700.0, 900.0), 0.025, 0.413_277_481_744_446_4),
            (beta(0.3, 0.1), 0.9, 0.999_999_998_790_880_7),
        ] {
            let found = marginal.quantile(probability);
            let error = (found - expected).abs() / expected.abs();
            // Documented as 1e-8; the accuracy of the probabilities is what limits it.
            assert!(
                error < 1e-10,
                "{marginal:?} at {probability}: {found} {expected}"
            );
        }
    }

    #[test]
    fn quantiles_have_their_probabilities_everywhere() {
        let sizes = [1e-3, 0.1, 0.9, 4.0, 77.0, 3e3, 2e5];
        let mut all = vec![normal(-3.0, 0.2)];
        all.extend(sizes.iter().map(|a| gamma(*a, 2.0)));
        all.extend(sizes.iter().map(|a| student(a.max(0.05))));
        // Shares of a beta are computed to 1e-12 up to shapes of ten thousand.
        for a in &sizes[1..6] {
            all.extend(sizes[1..6].iter().map(|b| beta(*a, *b)));
        }
        for marginal in all {
            let mut before = f64::NEG_INFINITY;
            for probability in [1e-9, 1e-3, 0.2, 0.5, 0.500_001, 0.8, 0.999, 1.0 - 1e-9] {
                let x = marginal.quantile(probability);
                assert!(
                    x >= before,
                    "{marginal:?} at {probability}: {x} after {before}"
                );
                before = x;
                // A value that is rounded to the end of the support has lost its probability, and squares
                // of huge ones are cut.
                if (1e-290..1e140).contains(&x.abs()) && x != 1.0 {
                    // A rounding of x near one moves the probability of a steep beta.
                    let rounding =
                        marginal.cdf(x * (1.0 + 1e-15)) - marginal.cdf(x * (1.0 - 1e-15));
                    let error = (marginal.cdf(x) - probability).abs();
                    assert!(
                        error < 1e-10 * probability + rounding.abs(),
                        "{marginal:?} at {probability}: {x} {error:e}"
                    );
                }
            }
        }
    }

    #[test]
    fn means_and_deviations() {
        assert_eq!((gamma(4.0, 2.0).mean(), gamma(4.0, 2.0).sd()), (2.0, 1.0));
        assert_eq!(beta(1.0, 1.0).mean(), 0.5);
        assert!((beta(1.0, 1.0).sd() - 12_f64.sqrt().recip()).abs() < 1e-15);
        assert!((student(4.0).sd() - 2_f64.sqrt()).abs() < 1e-15);
        assert_eq!(student(f64::INFINITY).sd(), 1.0);
        assert_eq!(student(2.0).sd(), f64::INFINITY);
        assert_eq!(student(0.5).mean(), 0.0);
        let point = Marginal::Point(3.0);
        assert_eq!(
            (point.mean(), point.sd(), point.quantile(0.1)),
            (3.0, 0.0, 3.0)
        );
        assert_eq!((point.cdf(2.9), point.cdf(3.0)), (0.0, 1.0));
    }

    #[test]
    fn other_deviations_keep_means() {
        for marginal in [
            normal(1.0, 2.0),
            student(5.0),
            gamma(3.0, 2.0),
            beta(4.0, 9.0),
        ] {
            for factor in [0.7, 1.0, 1.8] {
                let sd = factor * marginal.sd();
                let wider = marginal.with_sd(sd);
                assert!((wider.sd() / sd - 1.0).abs() < 1e-12, "{wider:?} {sd}");
                let error = (wider.mean() - marginal.mean()).abs();
                assert!(error < 1e-12, "{wider:?} {marginal:?}");
            }
        }
        // Wider than any beta: still one, with the same mean.
        let widest = beta(2.0, 2.0).with_sd(0.7);
        assert!(widest.mean() == 0.5 && widest.sd() < 0.5, "{widest:?}");
        assert_eq!(student(1.5).with_sd(3.0), student(1.5));
        assert_eq!(Marginal::Point(2.0).with_sd(1.0), Marginal::Point(2.0));
    }

    #[test]
    fn ends_of_the_support() {
        let infinite = f64::INFINITY;
        for (marginal, low, high) in [
            (normal(1.0, 2.0), -infinite, infinite),
            (student(3.0), -infinite, infinite),
            (gamma(2.0, 2.0), 0.0, infinite),
            (beta(2.0, 2.0), 0.0, 1.0),
        ] {
            assert_eq!(marginal.quantile(0.0), low);
            assert_eq!(marginal.quantile(1.0), high);
        }
        assert_eq!(student(2.0).quantile(0.5), 0.0);
        // So small that it is zero, and so large that it is infinite.
        assert_eq!(gamma(1e-3, 1.0).quantile(0.01), 0.0);
        assert_eq!(student(1e-3).quantile(1e-3), -infinite);
    }
}
