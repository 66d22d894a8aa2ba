//! The densities, distribution functions and quantiles of the language: `dnorm(x, mu, tau)`, `pgamma`, `qbeta`, `logdensity.pois`.

use collapsar::elementary::Elementary;
use collapsar::special::{beta_cdf, gamma_tails, ln_beta, ln_gamma, student_cdf};

use super::functions::normal_cdf;

/// A distribution of one number, by JAGS's parameters.
#[derive(Debug)]
pub(super) struct Law {
    /// Without the first letter of the functions.
    names: &'static [&'static str],
    parameters: usize,
    whole: bool,
    ln_density: fn(f64, &[f64]) -> f64,
    cdf: fn(f64, &[f64]) -> f64,
}

/// What is asked of a law.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    LnDensity,
    Density,
    Below,
    Quantile,
}

const LN_2PI: f64 = 1.837_877_066_409_345_6;
const IMPOSSIBLE: f64 = f64::NEG_INFINITY;

/// The logarithm of a density where it is positive.
fn within(inside: bool, ln: impl FnOnce() -> f64) -> f64 {
    if inside { ln() } else { IMPOSSIBLE }
}

fn is_count(x: f64) -> bool {
    x >= 0.0 && x.fract() == 0.0
}

/// `n ln p`, which is 0 where n is.
fn times_ln(n: f64, p: f64) -> f64 {
    if n == 0.0 { 0.0 } else { n * p.ln_() }
}

fn ln_normal(x: f64, p: &[f64]) -> f64 {
    0.5 * (p[1].ln_() - LN_2PI - p[1] * (x - p[0]).powi(2))
}

fn ln_gamma_density(x: f64, shape: f64, rate: f64) -> f64 {
    within(x > 0.0, || {
        shape * rate.ln_() - ln_gamma(shape) + (shape - 1.0) * x.ln_() - rate * x
    })
}

fn gamma_below(x: f64, shape: f64, rate: f64) -> f64 {
    if x > 0.0 {
        gamma_tails(shape, rate * x).0
    } else {
        0.0
    }
}

fn ln_binomial(x: f64, p: f64, n: f64) -> f64 {
    within(is_count(x) && x <= n, || {
        ln_gamma(n + 1.0) - ln_gamma(x + 1.0) - ln_gamma(n - x + 1.0)
            + times_ln(x, p)
            + times_ln(n - x, 1.0 - p)
    })
}

fn binomial_below(x: f64, p: f64, n: f64) -> f64 {
    match x.floor() {
        x if x < 0.0 => 0.0,
        x if x >= n => 1.0,
        x => beta_cdf(n - x, x + 1.0, 1.0 - p),
    }
}

/// An entry of the table.
macro_rules! law {
    ($names:expr, $parameters:expr, $whole:expr, $ln_density:expr, $cdf:expr) => {
        Law {
            names: &$names,
            parameters: $parameters,
            whole: $whole,
            ln_density: $ln_density,
            cdf: $cdf,
        }
    };
}

static LAWS: [Law; 16] = [
    law!(["norm"], 2, false, ln_normal, |x, p| normal_cdf(
        (x - p[0]) * p[1].sqrt()
    )),
    law!(
        ["lnorm"],
        2,
        false,
        |x, p| within(x > 0.0, || ln_normal(x.ln_(), p) - x.ln_()),
        |x, p| if x > 0.0 {
            normal_cdf((x.ln_() - p[0]) * p[1].sqrt())
        } else {
            0.0
        }
    ),
    law!(
        ["gamma"],
        2,
        false,
        |x, p| ln_gamma_density(x, p[0], p[1]),
        |x, p| gamma_below(x, p[0], p[1])
    ),
    law!(
        ["exp"],
        1,
        false,
        |x, p| within(x >= 0.0, || p[0].ln_() - p[0] * x),
        |x, p| -(-p[0] * x.max(0.0)).exp_m1_()
    ),
    law!(
        ["chisqr", "chisq"],
        1,
        false,
        |x, p| ln_gamma_density(x, 0.5 * p[0], 0.5),
        |x, p| gamma_below(x, 0.5 * p[0], 0.5)
    ),
    law!(
        ["weib", "weibull"],
        2,
        false,
        |x, p| within(x > 0.0, || {
            p[0].ln_() + p[1].ln_() + (p[0] - 1.0) * x.ln_() - p[1] * x.powf_(p[0])
        }),
        |x, p| -(-p[1] * x.max(0.0).powf_(p[0])).exp_m1_()
    ),
    law!(
        ["beta"],
        2,
        false,
        |x, p| within(x > 0.0 && x < 1.0, || {
            (p[0] - 1.0) * x.ln_() + (p[1] - 1.0) * (-x).ln_1p_() - ln_beta(p[0], p[1])
        }),
        |x, p| beta_cdf(p[0], p[1], x.clamp(0.0, 1.0))
    ),
    law!(
        ["unif"],
        2,
        false,
        |x, p| within((p[0]..=p[1]).contains(&x), || -(p[1] - p[0]).ln_()),
        |x, p| ((x - p[0]) / (p[1] - p[0])).clamp(0.0, 1.0)
    ),
    law!(
        ["t"],
        3,
        false,
        |x, p| {
            let z = (x - p[0]).powi(2) * p[1];
            let half = 0.5 * (p[2] + 1.0);
            0.5 * (p[1].ln_() - p[2].ln_()) - ln_beta(0.5, 0.5 * p[2]) - half * (z / p[2]).ln_1p_()
        },
        |x, p| student_cdf(p[2], (x - p[0]) * p[1].sqrt())
    ),
    law!(
        ["logis"],
        2,
        false,
        |x, p| {
            let z = (p[1] * (x - p[0])).abs();
            p[1].ln_() - z - 2.0 * (-z).exp_().ln_1p_()
        },
        |x, p| 1.0 / (1.0 + (-p[1] * (x - p[0])).exp_())
    ),
    law!(
        ["dexp"],
        2,
        false,
        |x, p| (0.5 * p[1]).ln_() - p[1] * (x - p[0]).abs(),
        |x, p| {
            let tail = 0.5 * (-p[1] * (x - p[0]).abs()).exp_();
            if x < p[0] { tail } else { 1.0 - tail }
        }
    ),
    law!(
        ["par"],
        2,
        false,
        |x, p| within(x >= p[1], || p[0].ln_() + p[0] * p[1].ln_()
            - (p[0] + 1.0) * x.ln_()),
        |x, p| if x > p[1] {
            1.0 - (p[1] / x).powf_(p[0])
        } else {
            0.0
        }
    ),
    law!(
        ["pois"],
        1,
        true,
        |x, p| within(is_count(x), || times_ln(x, p[0]) - p[0] - ln_gamma(x + 1.0)),
        |x, p| if x < 0.0 {
            0.0
        } else {
            gamma_tails(x.floor() + 1.0, p[0]).1
        }
    ),
    law!(
        ["bin", "binom"],
        2,
        true,
        |x, p| ln_binomial(x, p[0], p[1]),
        |x, p| binomial_below(x, p[0], p[1])
    ),
    law!(
        ["bern"],
        1,
        true,
        |x, p| ln_binomial(x, p[0], 1.0),
        |x, p| binomial_below(x, p[0], 1.0)
    ),
    law!(
        ["negbin", "nbinom"],
        2,
        true,
        |x, p| within(is_count(x), || {
            ln_gamma(x + p[1]) - ln_gamma(p[1]) - ln_gamma(x + 1.0)
                + times_ln(p[1], p[0])
                + times_ln(x, 1.0 - p[0])
        }),
        |x, p| if x < 0.0 {
            0.0
        } else {
            beta_cdf(p[1], x.floor() + 1.0, p[0])
        }
    ),
];

/// The law that a function is of, and what the function gives.
pub(super) fn named(function: &str) -> Option<(&'static Law, Asked)> {
    let law = |name: &str| LAWS.iter().find(|law| law.names.contains(&name));
    if let Some(name) = function.strip_prefix("logdensity.") {
        return Some((law(name)?, Asked::LnDensity));
    }
    let asked = match function.as_bytes().first()? {
        b'd' => Asked::Density,
        b'p' => Asked::Below,
        b'q' => Asked::Quantile,
        _ => return None,
    };
    Some((law(&function[1..])?, asked))
}

impl Law {
    /// How many arguments a function of it takes: the parameters follow what it is asked of.
    pub(super) fn arguments(&self) -> usize {
        self.parameters + 1
    }

    /// What is asked of it; NaN where a parameter is not one of it.
    pub(super) fn tell(&self, asked: Asked, arguments: &[f64]) -> f64 {
        let [x, parameters @ ..] = arguments else {
            return f64::NAN;
        };
        if arguments.iter().any(|number| number.is_nan()) {
            return f64::NAN;
        }
        match asked {
            Asked::LnDensity => (self.ln_density)(*x, parameters),
            Asked::Density => (self.ln_density)(*x, parameters).exp_(),
            Asked::Below => (self.cdf)(*x, parameters),
            Asked::Quantile => self.quantile(*x, parameters),
        }
    }

    /// The least number with so much below it, by bisection down to neighbouring numbers.
    fn quantile(&self, p: f64, parameters: &[f64]) -> f64 {
        if !(0.0..=1.0).contains(&p) {
            return f64::NAN;
        }
        let reached = |x: f64| (self.cdf)(x, parameters) >= p;
        let (mut low, mut high) = (-1.0, 1.0);
        while reached(low) && low > -f64::MAX {
            low = (2.0 * low).max(-f64::MAX);
        }
        while !reached(high) && high < f64::MAX {
            high = (2.0 * high).min(f64::MAX);
        }
        if reached(low) || !reached(high) {
            return if p > 0.5 {
                f64::INFINITY
            } else {
                f64::NEG_INFINITY
            };
        }
        loop {
            let middle = low + 0.5 * (high - low);
            if middle <= low || middle >= high || (self.whole && high - low < 0.25) {
                return if self.whole { high.floor() } else { high };
            }
            if reached(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(function: &str, arguments: &[f64]) -> f64 {
        let (law, asked) = named(function).expect(function);
        assert_eq!(law.arguments(), arguments.len(), "{function}");
        law.tell(asked, arguments)
    }

    /// Numbers of R 4.2: its functions, with standard deviations and scales for JAGS's precisions and rates.
    #[test]
    fn laws_are_those_of_r() {
        let cases: [(&str, &[f64], f64); 22] = [
            ("dnorm", &[1.0, 0.5, 4.0], 0.483_941_449_038_286_7),
            ("pnorm", &[1.0, 0.5, 4.0], 0.841_344_746_068_542_9),
            ("qnorm", &[0.975, 0.0, 1.0], 1.959_963_984_540_054),
            ("dgamma", &[2.0, 3.0, 0.5], 0.091_969_860_292_860_58),
            ("pgamma", &[2.0, 3.0, 0.5], 0.080_301_397_071_394_2),
            ("qgamma", &[0.5, 3.0, 0.5], 5.348_120_627_447_121),
            ("dbeta", &[0.3, 2.0, 3.0], 1.764),
            ("pbeta", &[0.3, 2.0, 3.0], 0.3483),
            ("qbeta", &[0.5, 2.0, 3.0], 0.385_727_568_132_389_5),
            ("dt", &[1.0, 0.0, 1.0, 4.0], 0.214_662_525_839_979_8),
            ("pt", &[1.0, 0.0, 1.0, 4.0], 0.813_049_516_849_970_5),
            ("ppois", &[2.0, 3.0], 0.423_190_081_126_843_5),
            ("qpois", &[0.5, 3.0], 3.0),
            ("dbin", &[2.0, 0.3, 5.0], 0.3087),
            ("pbin", &[2.0, 0.3, 5.0], 0.836_92),
            ("qbin", &[0.5, 0.3, 5.0], 1.0),
            ("pnegbin", &[2.0, 0.3, 5.0], 0.028_795_5),
            ("pexp", &[1.5, 2.0], 0.950_212_931_632_136),
            ("pweib", &[1.5, 2.0, 1.0], 0.894_600_775_438_135_6),
            ("plnorm", &[2.0, 0.0, 1.0], 0.755_891_404_214_417_3),
            ("pchisqr", &[3.0, 2.0], 0.776_869_839_851_570_2),
            ("logdensity.pois", &[2.0, 3.0], -1.495_922_603_223_726),
        ];
        for (function, arguments, expected) in cases {
            let found = told(function, arguments);
            let error = (found - expected).abs() / expected.abs();
            assert!(error < 1e-12, "{function}{arguments:?}: {found} {expected}");
        }
    }

    /// Densities are the slopes of distribution functions, and quantiles undo them.
    #[test]
    fn functions_of_a_law_agree() {
        for law in &LAWS {
            let second = if law.whole { 3.0 } else { 2.5 };
            let parameters = &[0.7, second, 4.0][..law.parameters];
            let ask = |asked: Asked, x: f64| law.tell(asked, &[&[x], parameters].concat());
            for x in [0.8, 0.95, 2.6, 3.7] {
                let below = ask(Asked::Below, x);
                if law.whole {
                    let x = x.floor();
                    let rise = ask(Asked::Below, x) - ask(Asked::Below, x - 1.0);
                    assert!((rise - ask(Asked::Density, x)).abs() < 1e-12, "{law:?}");
                    continue;
                }
                let slope = (ask(Asked::Below, x + 1e-5) - ask(Asked::Below, x - 1e-5)) / 2e-5;
                assert!((slope - ask(Asked::Density, x)).abs() < 1e-6, "{law:?} {x}");
                if below > 1e-6 && below < 1.0 - 1e-6 {
                    let back = ask(Asked::Quantile, below);
                    assert!((back - x).abs() < 1e-8, "{law:?}: {x} {back}");
                }
            }
        }
    }
}
