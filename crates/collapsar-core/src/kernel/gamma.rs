//! Log-gamma, digamma and e to the digamma of many positive arguments at once.
//!
//! Every argument is raised by six, where the asymptotic series to r²⁰ are exact to the last
//! bits; no branch depends on the argument, so that loops over these functions become vector
//! code. Two terms less would leave 3e-14, the same way for all small arguments.

use pulp::NullaryFnOnce;

use super::{LN2_HIGH, LN2_LOW, dispatch, exp_nonpositive};
use crate::special::asymptotic_term as term;

/// How far arguments are raised.
const RAISE: f64 = 6.0;
const HALF_LN_TAU: f64 = 0.918_938_533_204_672_8;
/// 2^52: a number below it, put into its low bits, is read off by subtracting.
const SHIFT: f64 = 4_503_599_627_370_496.0;

/// ln x for normal positive x, to 2 units in the last place or of 1.
#[inline(always)]
pub(super) fn ln(x: f64) -> f64 {
    // x = 2^k (1 + f) with 1 + f in [√½, √2): the exponent of x / √½ is k.
    const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    const ONE: u64 = 0x3ff0_0000_0000_0000;
    let bits = x.to_bits().wrapping_add(ONE - SQRT_HALF);
    let k = f64::from_bits((bits >> 52) | SHIFT.to_bits()) - (SHIFT + 1023.0);
    let m = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) + SQRT_HALF);
    // ln(1 + f) = 2 artanh(s); s² < 0.0295, and the remainder after s²³ is below 2^-58.
    let s = (m - 1.0) / (m + 1.0);
    let s2 = s * s;
    let s4 = s2 * s2;
    let s8 = s4 * s4;
    let low = (1.0 / 3.0 + s2 * (1.0 / 5.0)) + s4 * (1.0 / 7.0 + s2 * (1.0 / 9.0));
    let mid = (1.0 / 11.0 + s2 * (1.0 / 13.0)) + s4 * (1.0 / 15.0 + s2 * (1.0 / 17.0));
    let high = (1.0 / 19.0 + s2 * (1.0 / 21.0)) + s4 * (1.0 / 23.0);
    let tail = s2 * (low + s8 * (mid + s8 * high));
    k * LN2_HIGH + (2.0 * s * tail + k * LN2_LOW + 2.0 * s)
}

/// What raising x by six leaves: (x)₆ = x (x + 1) … (x + 5) and the sum of the reciprocals.
#[inline(always)]
fn rising(x: f64) -> (f64, f64) {
    // Pairs of factors with the same sum 2x + 5: u, u + 4, u + 6 with u = x (x + 5).
    let u = x * (x + 5.0);
    let (a, b) = (u + 4.0, u + 6.0);
    let product = u * a * b;
    let reciprocals = (2.0 * x + 5.0) * (a * b + u * b + u * a) / product;
    (product, reciprocals)
}

/// Ten terms of an asymptotic series, written out: a loop over terms would keep those over arguments from
/// becoming vector code.
#[inline(always)]
fn series<const DERIVATIVE: u32>(x: f64) -> f64 {
    let s = const { term(DERIVATIVE, 9) };
    let s = const { term(DERIVATIVE, 8) } + x * s;
    let s = const { term(DERIVATIVE, 7) } + x * s;
    let s = const { term(DERIVATIVE, 6) } + x * s;
    let s = const { term(DERIVATIVE, 5) } + x * s;
    let s = const { term(DERIVATIVE, 4) } + x * s;
    let s = const { term(DERIVATIVE, 3) } + x * s;
    let s = const { term(DERIVATIVE, 2) } + x * s;
    let s = const { term(DERIVATIVE, 1) } + x * s;
    x * s + const { term(DERIVATIVE, 0) }
}

/// 1/(2y) + 1/(12y²) − 1/(120y⁴) + …: ln y less the digamma of y, for y ≥ 6.
#[inline(always)]
fn digamma_series(r: f64) -> f64 {
    let r2 = r * r;
    0.5 * r + r2 * series::<1>(r2)
}

/// The Stirling series of ln Γ(y) after its elementary terms, for y ≥ 6.
#[inline(always)]
fn stirling_series(r: f64) -> f64 {
    r * series::<0>(r * r)
}

/// ln Γ(x) and ψ(x).
#[inline(always)]
fn ln_gamma_and_digamma(x: f64) -> (f64, f64) {
    let y = x + RAISE;
    let (ln_y, r) = (ln(y), 1.0 / y);
    let (product, reciprocals) = rising(x);
    let ln_gamma = (y - 0.5) * ln_y - y + HALF_LN_TAU + stirling_series(r) - ln(product);
    (ln_gamma, ln_y - digamma_series(r) - reciprocals)
}

/// e^ψ(x), without a logarithm: (x + 6) e^-(what lies between).
#[inline(always)]
fn exp_digamma(x: f64) -> f64 {
    let y = x + RAISE;
    let (_, reciprocals) = rising(x);
    y * exp_nonpositive(-(digamma_series(1.0 / y) + reciprocals))
}

/// ψ'(x).
#[inline(always)]
fn trigamma(x: f64) -> f64 {
    let r = 1.0 / (x + RAISE);
    let r2 = r * r;
    let series = r + r2 * (0.5 + r * series::<2>(r2));
    // Squares of reciprocals in the pairs of `rising`.
    let pair = |a: f64, b: f64| {
        let product = a * b;
        (a * a + b * b) / (product * product)
    };
    series + pair(x, x + 5.0) + pair(x + 1.0, x + 4.0) + pair(x + 2.0, x + 3.0)
}

/// The sum of ψ'(shift + x).
pub fn trigamma_sum(x: &[f64], shift: f64) -> f64 {
    struct Sum<'a>(&'a [f64], f64);
    impl NullaryFnOnce for Sum<'_> {
        type Output = f64;

        #[inline(always)]
        fn call(self) -> f64 {
            let Self(x, shift) = self;
            let mut sums = [0.0; 8];
            let (blocks, rest) = x.as_chunks::<8>();
            for block in blocks {
                for (x, sum) in block.iter().zip(&mut sums) {
                    *sum += trigamma(shift + *x);
                }
            }
            let rest: f64 = rest.iter().map(|x| trigamma(shift + x)).sum();
            sums.iter().sum::<f64>() + rest
        }
    }
    dispatch(Sum(x, shift))
}

/// Replaces each x by ψ'(x).
pub fn trigamma_in_place(x: &mut [f64]) {
    struct Trigamma<'a>(&'a mut [f64]);
    impl NullaryFnOnce for Trigamma<'_> {
        type Output = ();

        #[inline(always)]
        fn call(self) {
            for x in self.0 {
                *x = trigamma(*x);
            }
        }
    }
    dispatch(Trigamma(x));
}

/// Replaces each x by ψ(x); returns the sum of ln Γ(x).
pub fn digamma_in_place(x: &mut [f64]) -> f64 {
    struct Both<'a>(&'a mut [f64]);
    impl NullaryFnOnce for Both<'_> {
        type Output = f64;

        #[inline(always)]
        fn call(self) -> f64 {
            // Eight running sums, whatever the width of the registers: the same bits everywhere.
            let mut sums = [0.0; 8];
            let (blocks, rest) = self.0.as_chunks_mut::<8>();
            for block in blocks {
                for (x, sum) in block.iter_mut().zip(&mut sums) {
                    let (ln_gamma, digamma) = ln_gamma_and_digamma(*x);
                    *sum += ln_gamma;
                    *x = digamma;
                }
            }
            let mut total = sums.iter().sum::<f64>();
            for x in rest {
                let (ln_gamma, digamma) = ln_gamma_and_digamma(*x);
                total += ln_gamma;
                *x = digamma;
            }
            total
        }
    }
    dispatch(Both(x))
}

/// Replaces each x by e^ψ(x).
pub fn exp_digamma_in_place(x: &mut [f64]) {
    struct Exp<'a>(&'a mut [f64]);
    impl NullaryFnOnce for Exp<'_> {
        type Output = ();

        #[inline(always)]
        fn call(self) {
            for x in self.0 {
                *x = exp_digamma(*x);
            }
        }
    }
    dispatch(Exp(x));
}

/// Writes e^(x − shift) for each x ≤ shift.
pub fn exp_below(x: &[f64], shift: f64, out: &mut [f64]) {
    struct Exp<'a>(&'a [f64], f64, &'a mut [f64]);
    impl NullaryFnOnce for Exp<'_> {
        type Output = ();

        #[inline(always)]
        fn call(self) {
            let Self(x, shift, out) = self;
            for (&x, out) in x.iter().zip(out) {
                *out = exp_nonpositive(x - shift);
            }
        }
    }
    dispatch(Exp(x, shift, out));
}

/// The sum of n ln z, for normal positive z.
pub fn weighted_ln_sum(z: &[f64], n: &[f32]) -> f64 {
    struct Sum<'a>(&'a [f64], &'a [f32]);
    impl NullaryFnOnce for Sum<'_> {
        type Output = f64;

        #[inline(always)]
        fn call(self) -> f64 {
            let Self(z, n) = self;
            let mut sums = [0.0; 8];
            let (z_blocks, z_rest) = z.as_chunks::<8>();
            let (n_blocks, n_rest) = n.as_chunks::<8>();
            for (z, n) in z_blocks.iter().zip(n_blocks) {
                for ((z, n), sum) in z.iter().zip(n).zip(&mut sums) {
                    *sum += f64::from(*n) * ln(*z);
                }
            }
            let mut total = sums.iter().sum::<f64>();
            for (z, n) in z_rest.iter().zip(n_rest) {
                total += f64::from(*n) * ln(*z);
            }
            total
        }
    }
    dispatch(Sum(z, n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special;

    fn arguments() -> impl Iterator<Item = f64> {
        (0..40_000).map(|i| 10f64.powf(f64::from(i) / 40_000.0 * 15.0 - 6.0))
    }

    #[test]
    fn ln_is_within_two_units() {
        for x in arguments().flat_map(|x| [x, 1.0 / x, x * 1e-200, x * 1e200]) {
            let expected = x.ln();
            let unit = f64::EPSILON * expected.abs().max(0.5);
            assert!((ln(x) - expected).abs() <= 2.0 * unit, "ln({x})");
        }
        assert_eq!(ln(1.0), 0.0);
    }

    #[test]
    fn digamma_and_ln_gamma_match_the_careful_ones() {
        for x in arguments() {
            let mut one = [x];
            let ln_gamma = digamma_in_place(&mut one);
            // Raising by six costs the digits of ln (x)₆ and of ψ(x + 6): errors are of the size
            // of the terms, not of their sum, which may be near zero.
            // Four million arguments have errors of at most 3.2 and 3.7 roundings of those, the
            // careful functions' own 1.4 included.
            let size = special::ln_gamma(x).abs() + 16.0 + x.ln().abs();
            let error = (ln_gamma - special::ln_gamma(x)).abs() / size;
            assert!(error < 4.0 * f64::EPSILON, "ln_gamma({x}): {error:e}");
            let size = special::digamma(x).abs() + 4.0;
            let error = (one[0] - special::digamma(x)).abs() / size;
            assert!(error < 4.0 * f64::EPSILON, "digamma({x}): {error:e}");
        }
    }

    #[test]
    fn trigamma_matches_the_careful_one() {
        for x in arguments() {
            let mut one = [x];
            trigamma_in_place(&mut one);
            let expected = special::trigamma(x);
            let error = (one[0] - expected).abs() / expected;
            // All terms are positive. At most 3.9 over four million arguments.
            assert!(error < 5.0 * f64::EPSILON, "trigamma({x}): {error:e}");
            assert_eq!(trigamma_sum(&[x - 1e-7], 1e-7), {
                let mut same = [1e-7 + (x - 1e-7)];
                trigamma_in_place(&mut same);
                same[0]
            });
        }
    }

    #[test]
    fn exp_digamma_matches_the_two_functions() {
        for x in arguments().filter(|&x| x > 2e-3) {
            let mut one = [x];
            exp_digamma_in_place(&mut one);
            let expected = special::digamma(x).exp();
            // e^ψ passes the absolute error of ψ, up to -500, on as a relative one, here twice:
            // at most 7.0 roundings of ψ over four million arguments.
            let error = (one[0] - expected).abs() / expected;
            let allowed = 8.0 * f64::EPSILON * (1.0 + special::digamma(x).abs());
            assert!(error < allowed, "exp(digamma({x})): {error:e}");
        }
        let mut tiny = [1e-4];
        exp_digamma_in_place(&mut tiny);
        assert_eq!(tiny, [0.0]);
    }

    #[test]
    fn sums_match_plain_loops() {
        let z: Vec<f64> = arguments().step_by(997).collect();
        let n: Vec<f32> = (0..z.len()).map(|i| (i % 5) as f32 + 0.5).collect();
        let plain: f64 = z.iter().zip(&n).map(|(z, n)| f64::from(*n) * z.ln()).sum();
        assert!((weighted_ln_sum(&z, &n) - plain).abs() < 1e-12 * plain.abs());
    }
}
