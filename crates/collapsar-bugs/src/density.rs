//! Log densities of distributions whose parameters are numbers.

use std::f64::consts::{LN_2, PI};

use collapsar::elementary::Elementary;
use collapsar::special::{ln_beta, ln_gamma, log_sum_exp};

/// Student's t of a residual.
pub(crate) fn student(residual: f64, precision: f64, degrees: f64) -> f64 {
    let half = 0.5 * degrees;
    let square = precision * residual * residual;
    ln_gamma(half + 0.5) - ln_gamma(half) + 0.5 * (precision / (PI * degrees)).ln_()
        - (half + 0.5) * (square / degrees).ln_1p_()
}

/// A logistic distribution's of a residual.
pub(crate) fn logistic(residual: f64, rate: f64) -> f64 {
    let t = (rate * residual).abs();
    rate.ln_() - t - 2.0 * (-t).exp_().ln_1p_()
}

/// β λ^{βr} x^{βr-1} e^{-(λx)^β} / Γ(r), as JAGS has it.
pub(crate) fn generalised_gamma(x: f64, [shape, rate, power]: [f64; 3]) -> f64 {
    let ln_scaled = (rate * x).ln_();
    power.ln_() + power * shape * ln_scaled - x.ln_() - (power * ln_scaled).exp_() - ln_gamma(shape)
}

/// An F distribution's with n and m degrees of freedom.
pub(crate) fn f(x: f64, n: f64, m: f64) -> f64 {
    let ratio = n / m;
    0.5 * n * ratio.ln_() + (0.5 * n - 1.0) * x.ln_()
        - 0.5 * (n + m) * (ratio * x).ln_1p_()
        - ln_beta(0.5 * n, 0.5 * m)
}

/// Terms of a sum that are less than e^-40 of the largest are rounding.
const SMALL: f64 = 40.0;
/// Terms at most to either side of the largest. Where there are more, the log density is below -10⁸ or so, and what is left
/// out of it a few nats.
const MOST: u64 = 100_000;

/// A non-central chi-squared distribution's: a chi-squared one with k + 2j degrees of freedom, j of a Poisson distribution
/// with half the non-centrality for its mean.
pub(crate) fn noncentral_chi_squared(x: f64, degrees: f64, noncentrality: f64) -> f64 {
    let term = |j: f64| {
        let half = 0.5 * degrees + j;
        let poisson = if j == 0.0 {
            -0.5 * noncentrality
        } else {
            j * (0.5 * noncentrality).ln_() - 0.5 * noncentrality - ln_gamma(j + 1.0)
        };
        poisson + (half - 1.0) * x.ln_() - 0.5 * x - half * LN_2 - ln_gamma(half)
    };
    if noncentrality == 0.0 {
        return term(0.0);
    }
    // Terms rise up to the root of j (j + k/2 - 1) = δx/4 and fall from there on, faster than geometrically.
    let b = 0.5 * degrees - 1.0;
    let top = (0.5 * ((b * b + noncentrality * x).sqrt() - b))
        .max(0.0)
        .floor();
    let most = term(top);
    if !most.is_finite() {
        return most;
    }
    let mut terms = vec![most];
    let far = |value: f64| value < most - SMALL;
    let below = (1..=(top as u64).min(MOST)).map(|j| term(top - j as f64));
    terms.extend(below.take_while(|value| !far(*value)));
    let above = (1..=MOST).map(|j| term(top + j as f64));
    terms.extend(above.take_while(|value| !far(*value)));
    log_sum_exp(&terms)
}

/// A beta-binomial distribution's.
pub(crate) fn beta_binomial(x: f64, [a, b, n]: [f64; 3]) -> f64 {
    let ways = ln_gamma(n + 1.0) - ln_gamma(x + 1.0) - ln_gamma(n - x + 1.0);
    ways + ln_beta(a + x, b + n - x) - ln_beta(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The integral of a function over the real line, by the trapezoidal rule after x = sinh(sinh(t)).
    fn integral(f: impl Fn(f64) -> f64) -> f64 {
        let h = 1.0 / 256.0;
        let at = |i: i32| {
            let t = f64::from(i) * h;
            let x = t.sinh_().sinh_();
            h * f(x) * t.sinh_().cosh_() * t.cosh_()
        };
        (-1000..=1000).map(at).filter(|part| part.is_finite()).sum()
    }

    /// The same over positive numbers.
    fn of_positive(f: impl Fn(f64) -> f64) -> f64 {
        integral(|y| f(y.exp_()) * y.exp_())
    }

    #[test]
    fn densities_integrate_to_one() {
        let one = |name: &str, found: f64| {
            // The rule's own error, of densities whose tails are powers.
            assert!((found - 1.0).abs() < 1e-9, "{name}: {found}");
        };
        one("t", integral(|x| student(x, 2.5, 3.5).exp_()));
        one("Cauchy", integral(|x| student(x, 0.4, 1.0).exp_()));
        one("logistic", integral(|x| logistic(x, 1.7).exp_()));
        let of = [2.5, 0.7, 1.6];
        one(
            "generalised gamma",
            of_positive(|x| generalised_gamma(x, of).exp_()),
        );
        one("F", of_positive(|x| f(x, 5.0, 7.0).exp_()));
        for noncentrality in [0.0, 0.3, 4.0, 60.0] {
            let density = |x| noncentral_chi_squared(x, 3.0, noncentrality).exp_();
            one("non-central chi-squared", of_positive(density));
        }
        let counts = (0..=9).map(|x| beta_binomial(f64::from(x), [0.7, 2.0, 9.0]).exp_());
        one("beta-binomial", counts.sum());
    }

    /// What R 4.3 has: dt(1.2, 4), dlogis(1.2), df(1.2, 5, 7), dchisq(1.2, 3, 4).
    #[test]
    fn densities_are_those_of_others() {
        let near = |found: f64, density: f64| {
            assert!(
                (found.exp_() / density - 1.0).abs() < 1e-7,
                "{found} {density}"
            );
        };
        near(student(1.2, 1.0, 4.0), 0.173_853_723_585);
        near(logistic(1.2, 1.0), 0.177_894_440_647);
        near(f(1.2, 5.0, 7.0), 0.375_274_231_287);
        near(noncentral_chi_squared(1.2, 3.0, 4.0), 0.065_420_176_231_1);
    }
}
