//! Decides how the special functions of the families are computed, and to what accuracy.
//!
//! Accuracies hold for arguments from 1e-8 to 1e12 and are tested against tables of mpmath in
//! `tests/data/special`. Negative arguments give NaN, zero gives the limit.
//!
//! Log-gamma is that of `libm`. Digamma and trigamma are two short functions of our own: on the
//! same tables `statrs` 0.19 has errors of 3e-15 (digamma) and no trigamma, and `special` 0.14 has
//! 7e-16 and 3e-15 but brings a crate of elliptic integrals. The incomplete beta function, and with
//! it Student's t distribution, is a continued fraction of thirty lines; the incomplete gamma function
//! is a series, another fraction, or the expansion of Temme where the shape is large.

use crate::elementary::Elementary;

/// Where the recurrence hands over to the asymptotic series: there the first term left out is
/// below half a unit in the last place.
const ASYMPTOTIC: f64 = 10.0;

const LN_PI: f64 = 1.144_729_885_849_400_2;
const HALF_LN_2_PI: f64 = 0.918_938_533_204_672_8;

const DIGAMMA: [f64; 8] = asymptotic(1);
const TRIGAMMA: [f64; 9] = asymptotic(2);

const fn asymptotic<const N: usize>(derivative: u32) -> [f64; N] {
    let mut terms = [0.0; N];
    let mut k = 0;
    while k < N {
        terms[k] = asymptotic_term(derivative, k);
        k += 1;
    }
    terms
}

/// A term, from 0, of the asymptotic series of log-gamma, or of its first or second derivative: Bernoulli
/// numbers B₂ₖ over 2k (2k - 1), over 2k, or alone. Whole numbers are multiplied before the one division,
/// so that it is rounded once.
pub(crate) const fn asymptotic_term(derivative: u32, index: usize) -> f64 {
    const ABOVE: [f64; 10] = [
        1.0, -1.0, 1.0, -1.0, 5.0, -691.0, 7.0, -3617.0, 43_867.0, -174_611.0,
    ];
    const BELOW: [f64; 10] = [
        6.0, 30.0, 42.0, 30.0, 66.0, 2730.0, 6.0, 510.0, 798.0, 330.0,
    ];
    let even = 2.0 * (index + 1) as f64;
    let factor = match derivative {
        0 => even * (even - 1.0),
        1 => even,
        _ => 1.0,
    };
    ABOVE[index] / (BELOW[index] * factor)
}

/// $\ln \Gamma(x)$, to a relative error of 5e-16, also next to its zeros at 1 and 2.
pub fn ln_gamma(x: f64) -> f64 {
    // libm returns ln |Γ| for negative arguments, which no family should take for a value.
    if x < 0.0 { f64::NAN } else { libm::lgamma(x) }
}

/// $\ln B(a, b) = \ln \Gamma(a) + \ln \Gamma(b) - \ln \Gamma(a + b)$, to an error of 4e-15
/// relative to the larger of 1 and the value.
///
/// The three terms cancel when one argument is much larger than the other; here they are
/// combined before the large parts are rounded.
pub fn ln_beta(a: f64, b: f64) -> f64 {
    let (p, q) = if a < b { (a, b) } else { (b, a) };
    let sum = p + q;
    if p >= ASYMPTOTIC {
        HALF_LN_2_PI - 0.5 * q.ln_()
            + (stirling_error(p) + stirling_error(q) - stirling_error(sum))
            + (p - 0.5) * (p / sum).ln_()
            + q * (-p / sum).ln_1p_()
    } else if q >= ASYMPTOTIC {
        ln_gamma(p) + (stirling_error(q) - stirling_error(sum)) + p - p * sum.ln_()
            + (q - 0.5) * (-p / sum).ln_1p_()
    } else {
        ln_gamma(p) + ln_gamma(q) - ln_gamma(sum)
    }
}

/// $\ln\Gamma(x) - (x - \tfrac12) \ln x + x - \tfrac12 \ln 2\pi$ for x ≥ [`ASYMPTOTIC`].
pub(crate) fn stirling_error(x: f64) -> f64 {
    const TERMS: [f64; 7] = asymptotic(0);
    horner(&TERMS, 1.0 / (x * x)) / x
}

/// $\psi(x) = \frac{d}{dx} \ln \Gamma(x)$, to an error of 1e-15 relative to the larger of 1 and
/// the value (absolute near the zero at 1.4616).
pub fn digamma(x: f64) -> f64 {
    if x < 0.0 {
        return f64::NAN;
    }
    let (y, shift) = shifted(x, |z| 1.0 / z);
    let inverse = 1.0 / y;
    let square = inverse * inverse;
    y.ln_() - (0.5 * inverse + square * horner(&DIGAMMA, square)) - shift
}

/// $\psi'(x)$, to a relative error of 6e-16.
pub fn trigamma(x: f64) -> f64 {
    if x < 0.0 {
        return f64::NAN;
    }
    let (y, shift) = shifted(x, |z| 1.0 / (z * z));
    let inverse = 1.0 / y;
    let square = inverse * inverse;
    inverse + (0.5 * square + inverse * square * horner(&TRIGAMMA, square)) + shift
}

/// $\psi(a + b) - \psi(a)$ for $a, b \ge 0$, to a relative error of 8e-16 however small $b$ is.
pub fn digamma_gap(a: f64, b: f64) -> f64 {
    if a < 0.0 || b < 0.0 {
        return f64::NAN;
    }
    let (x, shift) = shifted(a, |z| b / z / (z + b));
    let y = x + b;
    let (_, series) = series_gap(&DIGAMMA, x, y, b);
    (b / x).ln_1p_() + (0.5 * b / x / y + series) + shift
}

/// $\psi'(a) - \psi'(a + b)$ for $a, b \ge 0$, to a relative error of 6e-16 however small $b$ is.
pub fn trigamma_gap(a: f64, b: f64) -> f64 {
    if a < 0.0 || b < 0.0 {
        return f64::NAN;
    }
    let (x, shift) = shifted(a, |z| (b / (z + b)) * ((z + z + b) / (z + b)) / (z * z));
    let y = x + b;
    let (first, series) = series_gap(&TRIGAMMA, x, y, b);
    b / x / y * (1.0 + 0.5 * (1.0 / x + 1.0 / y) + first) + series / y + shift
}

/// f(1/x²), and f(1/x²) - f(1/y²) without cancellation, for y = x + b and f(u) = Σ cₖ uᵏ, k ≥ 1:
/// synthetic division of f by u - 1/y² leaves the quotient of the difference.
fn series_gap(coefficients: &[f64], x: f64, y: f64, b: f64) -> (f64, f64) {
    let (u, v) = (1.0 / (x * x), 1.0 / (y * y));
    let (mut carry, mut quotient) = (0.0, 0.0);
    for c in coefficients.iter().rev() {
        carry = carry * v + c;
        quotient = quotient * u + carry;
    }
    let difference = (b / y) * ((x + y) / y) * u;
    (u * horner(coefficients, u), difference * quotient)
}

/// Moves `x` up by whole steps to the asymptotic range; returns it with the sum of `term` over
/// the places passed, smallest first so that the large term of a tiny `x` is rounded once.
fn shifted(x: f64, term: impl Fn(f64) -> f64) -> (f64, f64) {
    let mut steps = 0.0;
    while x + steps < ASYMPTOTIC {
        steps += 1.0;
    }
    let y = x + steps;
    let mut sum = 0.0;
    while steps > 0.0 {
        steps -= 1.0;
        sum += term(x + steps);
    }
    (y, sum)
}

fn horner(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// $\ln \Gamma_D(x) = \tfrac{D(D-1)}{4} \ln \pi + \sum_{i=1}^D \ln \Gamma(x + \tfrac{1-i}{2})$ for
/// $x > (D-1)/2$, to an error of 8e-16 relative to the larger of 1 and the value.
pub fn ln_multivariate_gamma(d: usize, x: f64) -> f64 {
    let pairs = (d * d.saturating_sub(1)) as f64;
    0.25 * pairs * LN_PI + half_steps(d, x).map(ln_gamma).sum::<f64>()
}

/// The first derivative of [`ln_multivariate_gamma`].
pub fn multivariate_digamma(d: usize, x: f64) -> f64 {
    half_steps(d, x).map(digamma).sum()
}

/// The second derivative of [`ln_multivariate_gamma`].
pub fn multivariate_trigamma(d: usize, x: f64) -> f64 {
    half_steps(d, x).map(trigamma).sum()
}

fn half_steps(d: usize, x: f64) -> impl Iterator<Item = f64> {
    (0..d).map(move |i| x - 0.5 * i as f64)
}

/// The regularised incomplete beta function $I_x(a, b)$: the CDF of a beta distribution at
/// `x`, to a relative error of 1e-12 for `a` and `b` from 0.05 to 1e4.
pub fn beta_cdf(a: f64, b: f64, x: f64) -> f64 {
    beta_cdf_of(a, b, x, 1.0 - x)
}

/// The CDF of Student's t distribution with `degrees` of freedom, to a relative error
/// of 1e-12 for degrees from 0.1 to 2e4, far out in the lower tail too.
pub fn student_cdf(degrees: f64, t: f64) -> f64 {
    // Far out the squares of t would be infinite, and the probability is zero in all digits.
    let square = if t.abs() > 1e150 { 1e300 } else { t * t };
    let sum = degrees + square;
    let tail = 0.5 * beta_cdf_of(0.5 * degrees, 0.5, degrees / sum, square / sum);
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// $I_x(a, b)$ where `y` is $1 - x$ in all its digits.
pub fn beta_cdf_of(a: f64, b: f64, x: f64, y: f64) -> f64 {
    if x.is_nan() || a.is_nan() || b.is_nan() {
        return f64::NAN;
    }
    if x <= 0.0 {
        return 0.0;
    }
    if y <= 0.0 {
        return 1.0;
    }
    let density = (a * x.ln_() + b * y.ln_() - ln_beta(a, b)).exp_();
    // On this side of the mean the fraction converges fast, on the other its mirror image does.
    if x < (a + 1.0) / (a + b + 2.0) {
        density / (a * beta_fraction(a, b, x))
    } else {
        1.0 - density / (b * beta_fraction(b, a, y))
    }
}

/// The continued fraction 1 + d₁/(1 + d₂/(1 + …)) of the incomplete beta function.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    lentz(1.0, 1.0, 0.0, |k| {
        let m = f64::from(k / 2);
        let at = a + 2.0 * m;
        let term = if k % 2 == 0 {
            m * (b - m) * x / ((at - 1.0) * at)
        } else {
            -(a + m) * (a + b + m) * x / (at * (at + 1.0))
        };
        (term, 1.0)
    })
}

/// Denominators of a continued fraction are kept this far from zero.
const TINY: f64 = 1e-300;

fn away(v: f64) -> f64 {
    if v.abs() < TINY { TINY } else { v }
}

/// A continued fraction from its front by the method of Lentz, given its value without the terms that
/// follow, two ratios of successive denominators, and the k-th term with what its fraction is added to.
fn lentz(
    mut value: f64,
    mut above: f64,
    mut below: f64,
    mut terms: impl FnMut(u32) -> (f64, f64),
) -> f64 {
    const MOST: u32 = 10_000;
    for k in 1..MOST {
        let (term, base) = terms(k);
        below = 1.0 / away(base + term * below);
        above = away(base + term / above);
        let change = above * below;
        value *= change;
        if (change - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    value
}

/// The regularised incomplete gamma functions $P(a, x)$ and $Q(a, x)$: the probabilities below and above
/// `x` in a gamma distribution with shape `a` and rate one, each in all its digits where it is the smaller:
/// $P$ to a relative error of 1e-12 for `a` from 1e-3 to 1e6.
pub fn gamma_tails(a: f64, x: f64) -> (f64, f64) {
    if a.is_nan() || a <= 0.0 || x.is_nan() {
        return (f64::NAN, f64::NAN);
    }
    if x <= 0.0 {
        return (0.0, 1.0);
    }
    if x == f64::INFINITY {
        return (1.0, 0.0);
    }
    if a >= UNIFORM {
        return uniform_gamma_tails(a, x);
    }
    let power = gamma_power(a, x);
    // On this side of the mean the terms fall from the first, on the other the fraction converges.
    if x < a + 1.0 {
        let (mut term, mut sum, mut at) = (1.0, 1.0, a);
        while term > 0.5 * f64::EPSILON * sum {
            at += 1.0;
            term *= x / at;
            sum += term;
        }
        let lower = power * sum;
        (lower, 1.0 - lower)
    } else {
        let upper = power * a * gamma_fraction(a, x);
        (1.0 - upper, upper)
    }
}

/// Where the expansion for large shapes takes over: there the first term left out, of order
/// a^{-5/2}, is below rounding, and the series would need a thousand terms.
const UNIFORM: f64 = 1e5;

/// $x^a e^{-x} / \Gamma(a + 1)$, without the cancellation of large exponents.
pub fn gamma_power(a: f64, x: f64) -> f64 {
    if a < ASYMPTOTIC {
        return (a * x.ln_() - x - ln_gamma(a + 1.0)).exp_();
    }
    let exponent = a * ln_1p_gap((x - a) / a) + stirling_error(a);
    (-exponent - HALF_LN_2_PI).exp_() / a.sqrt()
}

/// $u - \ln(1 + u)$, in all its digits near zero.
fn ln_1p_gap(u: f64) -> f64 {
    if u.abs() > 0.3 {
        return u - u.ln_1p_();
    }
    // ln(1 + u) = 2 (r + r³/3 + r⁵/5 + …) with r = u / (2 + u), and u - 2r = ur.
    let r = u / (2.0 + u);
    let (square, mut power, mut sum) = (r * r, 1.0, 0.0);
    for k in (3..=29).step_by(2) {
        sum += power / f64::from(k);
        power *= square;
    }
    r * (u - 2.0 * square * sum)
}

/// The continued fraction 1/(x + 1 - a - (1 - a)/(x + 3 - a - …)) of the upper incomplete gamma
/// function.
fn gamma_fraction(a: f64, x: f64) -> f64 {
    let mut base = x + 1.0 - a;
    let below = 1.0 / away(base);
    lentz(below, 1.0 / TINY, below, |k| {
        let k = f64::from(k);
        base += 2.0;
        (k * (a - k), base)
    })
}

/// Temme's uniform expansion: a normal CDF, and a correction that falls with the shape.
fn uniform_gamma_tails(a: f64, x: f64) -> (f64, f64) {
    const FIRST: [f64; 8] = [
        -1.0 / 3.0,
        1.0 / 12.0,
        -2.0 / 135.0,
        1.0 / 864.0,
        1.0 / 2835.0,
        -139.0 / 777_600.0,
        1.0 / 25_515.0,
        -571.0 / 261_273_600.0,
    ];
    const SECOND: [f64; 3] = [-1.0 / 540.0, -1.0 / 288.0, 1.0 / 378.0];
    let u = (x - a) / a;
    let half_square = ln_1p_gap(u);
    let eta = u.signum() * (2.0 * half_square).sqrt();
    // Where the series of eta would not converge the exponential is zero.
    let size = (-a * half_square - HALF_LN_2_PI).exp_() / a.sqrt();
    let correction = if size > 0.0 {
        size * (horner(&FIRST, eta) + horner(&SECOND, eta) / a)
    } else {
        0.0
    };
    let normal = |side: f64| 0.5 * libm::erfc(side * eta * (0.5 * a).sqrt());
    (normal(-1.0) - correction, normal(1.0) + correction)
}

/// $\ln \sum_k e^{x_k}$, which neither overflows nor underflows; $-\infty$ for no terms.
pub fn log_sum_exp(x: &[f64]) -> f64 {
    let mut largest = f64::NEG_INFINITY;
    let mut place = 0;
    for (k, v) in x.iter().enumerate() {
        // A NaN is never larger; the sum below brings it back.
        if *v > largest {
            (place, largest) = (k, *v);
        }
    }
    if largest.is_infinite() {
        // All terms -∞, or one +∞: subtracting it would give NaN.
        return if x.iter().any(|v| v.is_nan()) {
            f64::NAN
        } else {
            largest
        };
    }
    // The largest term is the 1 of ln(1 + ...): one that dominates keeps the digits of the others.
    let others = x[..place].iter().chain(&x[place + 1..]);
    largest + others.map(|v| (v - largest).exp_()).sum::<f64>().ln_1p_()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(table: &str) -> Vec<Vec<f64>> {
        let number = |field: &str| field.parse().expect("the table holds numbers");
        table
            .lines()
            .skip(1)
            .map(|line| line.split(',').map(number).collect())
            .collect()
    }

    fn relative(found: f64, expected: f64) -> f64 {
        if found == expected {
            0.0
        } else {
            (found - expected).abs() / expected.abs()
        }
    }

    /// Relative for values above one, absolute below: for functions that cross zero.
    fn mixed(found: f64, expected: f64) -> f64 {
        (found - expected).abs() / expected.abs().max(1.0)
    }

    fn assert_worst(name: &str, errors: impl Iterator<Item = (f64, f64)>, tolerance: f64) {
        let (at, worst) = errors.fold((0.0, 0.0), |a, b| if b.1 <= a.1 { a } else { b });
        assert!(
            worst <= tolerance,
            "{name}({at}): error {worst:e} above {tolerance:e}"
        );
    }

    // The tolerances below are the accuracies that the documentation states; they were measured,
    // then rounded up by a factor of two at most.
    const GAMMA: &str = include_str!("../tests/data/special/gamma.csv");

    #[test]
    fn ln_gamma_matches_table() {
        let errors = rows(GAMMA)
            .into_iter()
            .map(|r| (r[0], relative(ln_gamma(r[0]), r[1])));
        assert_worst("ln_gamma", errors, 5e-16);
    }

    #[test]
    fn digamma_matches_table() {
        let errors = rows(GAMMA)
            .into_iter()
            .map(|r| (r[0], mixed(digamma(r[0]), r[2])));
        assert_worst("digamma", errors, 1e-15);
    }

    #[test]
    fn trigamma_matches_table() {
        let errors = rows(GAMMA)
            .into_iter()
            .map(|r| (r[0], relative(trigamma(r[0]), r[3])));
        assert_worst("trigamma", errors, 6e-16);
    }

    #[test]
    fn functions_of_two_arguments_match_table() {
        let table = rows(include_str!("../tests/data/special/beta.csv"));
        let errors = |column: usize, f: fn(f64, f64) -> f64, error: fn(f64, f64) -> f64| {
            table
                .iter()
                .map(move |r| (r[0], error(f(r[0], r[1]), r[column])))
        };
        assert_worst("ln_beta", errors(2, ln_beta, mixed), 4e-15);
        assert_worst("digamma_gap", errors(3, digamma_gap, relative), 8e-16);
        assert_worst("trigamma_gap", errors(4, trigamma_gap, relative), 6e-16);
    }

    #[test]
    fn multivariate_functions_match_table() {
        let table = rows(include_str!("../tests/data/special/multivariate_gamma.csv"));
        let errors = |column: usize, f: fn(usize, f64) -> f64| {
            table
                .iter()
                .map(move |r| (r[1], mixed(f(r[0] as usize, r[1]), r[column])))
        };
        assert_worst(
            "ln_multivariate_gamma",
            errors(2, ln_multivariate_gamma),
            8e-16,
        );
        assert_worst(
            "multivariate_digamma",
            errors(3, multivariate_digamma),
            1.5e-15,
        );
        assert_worst(
            "multivariate_trigamma",
            errors(4, multivariate_trigamma),
            5e-16,
        );
    }

    // pbeta and pt of R 4.
    #[test]
    fn cdfs_match_r() {
        let beta = [
            (0.5, 0.5, 0.3, 3.690_101_195_655_452_6e-1),
            (2.0, 3.0, 0.9, 9.963e-1),
            (1.0, 7.0, 0.01, 6.793_465_209_301_005e-2),
            (50.0, 0.5, 0.99, 3.173_043_978_741_976e-1),
            (5000.0, 2.0, 0.9995, 2.871_179_305_116_348e-1),
            (0.1, 0.2, 0.5, 6.705_707_961_028_993e-1),
        ];
        let errors = beta
            .iter()
            .map(|&(a, b, x, probability)| (x, relative(beta_cdf(a, b, x), probability)));
        assert_worst("beta_cdf", errors, 1e-12);
        let student = [
            (1.0, -1.0, 0.25),
            (1.3, -2.5, 9.664_038_357_807_67e-2),
            (4.0, -0.001, 4.996_250_000_781_25e-1),
            (4.5, -3.0, 1.719_043_394_437_980_6e-2),
            (7.0, -12.0, 3.179_155_189_092_547e-6),
            (3.0, -40.0, 1.719_034_039_457_927e-5),
            (100.0, -1.96, 2.638_945_068_311_482_3e-2),
            (5000.0, -6.0, 1.056_048_141_652_688_3e-9),
            (1e4, -1.959_964, 2.501_386_438_354_138_4e-2),
            (0.2, -0.3, 4.451_817_199_970_973e-1),
        ];
        let errors = student
            .iter()
            .map(|&(degrees, t, probability)| (t, relative(student_cdf(degrees, t), probability)));
        assert_worst("student_cdf", errors, 1e-12);
        for &(degrees, t, probability) in &student {
            assert_eq!(student_cdf(degrees, -t), 1.0 - student_cdf(degrees, t));
            assert!(probability < 0.5);
        }
    }

    #[test]
    fn gamma_tails_match_table() {
        let table = rows(include_str!("../tests/data/special/gamma_cdf.csv"));
        let errors = table.iter().map(|r| {
            let (below, above) = gamma_tails(r[0], r[1]);
            assert_eq!(gamma_tails(r[0], r[1]).0, below);
            let error = if r[2] < r[3] {
                relative(below, r[2])
            } else {
                relative(above, r[3])
            };
            (r[0], error.max((below + above - 1.0).abs()))
        });
        assert_worst("gamma_cdf", errors, 1e-12);
        assert_eq!(gamma_tails(2.0, 0.0).0, 0.0);
        assert_eq!(gamma_tails(2.0, f64::INFINITY).0, 1.0);
        assert!(gamma_tails(-1.0, 2.0).0.is_nan() && gamma_tails(1.0, f64::NAN).0.is_nan());
    }

    #[test]
    fn cdfs_at_the_ends() {
        assert_eq!(
            (beta_cdf(2.0, 3.0, 0.0), beta_cdf(2.0, 3.0, 1.0)),
            (0.0, 1.0)
        );
        assert_eq!(student_cdf(3.0, 0.0), 0.5);
        assert_eq!(student_cdf(3.0, f64::INFINITY), 1.0);
        assert!(student_cdf(3.0, -1e200) < 1e-200);
        assert!(student_cdf(3.0, f64::NAN).is_nan());
    }

    #[test]
    fn log_sum_exp_survives_extremes() {
        // 2 equal terms add ln 2, whatever their size; 1e-15 is a few units in the last place.
        for size in [-1e4, -1.0, 0.0, 1e4] {
            let expected = size + std::f64::consts::LN_2;
            assert!(relative(log_sum_exp(&[size, size]), expected) < 1e-15);
        }
        let low = f64::NEG_INFINITY;
        assert_eq!(log_sum_exp(&[]), low);
        assert_eq!(log_sum_exp(&[low, low]), low);
        assert_eq!(log_sum_exp(&[low, 3.0]), 3.0);
        // ln(1 + e⁻⁵⁰) is e⁻⁵⁰ to all digits.
        assert_eq!(log_sum_exp(&[-50.0, 0.0]), (-50.0_f64).exp());
        assert_eq!(log_sum_exp(&[f64::INFINITY, 3.0]), f64::INFINITY);
        assert!(log_sum_exp(&[f64::NAN, 3.0]).is_nan());
        assert!(log_sum_exp(&[f64::NAN, low]).is_nan());
    }

    #[test]
    fn arguments_outside_the_domain_do_not_panic() {
        for f in [ln_gamma, digamma, trigamma] {
            assert!(f(-0.5).is_nan());
            assert!(f(f64::NAN).is_nan());
        }
        assert_eq!(ln_gamma(0.0), f64::INFINITY);
        assert_eq!(digamma(0.0), f64::NEG_INFINITY);
        assert_eq!(trigamma(0.0), f64::INFINITY);
    }
}
