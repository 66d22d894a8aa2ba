//! Vector kernels with run-time dispatch: exponentials and softmax over columns.
//!
//! Plain loops that the compiler vectorises inside [`pulp::Arch::dispatch`], for the widest
//! registers that the processor has. Sums are kept in a fixed number of lanes, whatever the registers' width, and no
//! fused multiply-add is asked for, so every processor gives the same bits. `product` asks for it, and computes the
//! same in `fused` where the processor has none; `levels` tests that all levels agree.
//!
//! - `gamma`: log-gamma and digamma of many arguments
//! - `bag`: responsibilities that are products, for a bag of words
//! - `logistic`: log-partition functions of Pólya-Gamma variables
//! - `gibbs`: topics of the tokens of a document, drawn one after another
//! - `logarithm`: logarithms of many numbers
//! - `product`: the two matrix products of a pass over rows of numbers

#![allow(clippy::inline_always)] // wide vectors exist only where everything is inlined into the dispatch

pub mod bag;
mod fused;
pub mod gamma;
pub mod gibbs;
#[cfg(test)]
mod levels;
pub mod logarithm;
pub(crate) mod logistic;
pub(crate) mod product;

use pulp::{Arch, NullaryFnOnce, WithSimd};

/// Runs a kernel with the widest registers that the processor has.
#[cfg(not(test))]
#[inline(always)]
fn dispatch<Op: WithSimd>(op: Op) -> Op::Output {
    Arch::new().dispatch(op)
}

/// Runs a kernel at the level that a test asks for.
#[cfg(test)]
fn dispatch<Op: WithSimd>(op: Op) -> Op::Output {
    levels::dispatch(op, Arch::new())
}

/// 1.5 · 2^52: adding it rounds to the nearest integer and leaves that integer in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Below this the result is zero rather than subnormal: it takes part in sums that are at least one.
const SMALLEST: f64 = -708.0;

/// e^x for x ≤ 0, to 2 units in the last place; 0 below -708.
#[inline(always)]
fn exp_nonpositive(x: f64) -> f64 {
    let clamped = if x > SMALLEST { x } else { SMALLEST };
    let rounded = clamped * std::f64::consts::LOG2_E + ROUND;
    let n = rounded - ROUND;
    let r = (clamped - n * LN2_HIGH) - n * LN2_LOW;
    // Taylor to degree 13 on |r| ≤ ln(2)/2: the remainder is below 2^-57. Estrin's order of
    // evaluation, since Horner's is a chain of 13 dependent steps.
    let r2 = r * r;
    let r4 = r2 * r2;
    let r8 = r4 * r4;
    let c01 = 1.0 + r;
    let c23 = 0.5 + r * (1.0 / 6.0);
    let c45 = 1.0 / 24.0 + r * (1.0 / 120.0);
    let c67 = 1.0 / 720.0 + r * (1.0 / 5_040.0);
    let c89 = 1.0 / 40_320.0 + r * (1.0 / 362_880.0);
    let cab = 1.0 / 3_628_800.0 + r * (1.0 / 39_916_800.0);
    let ccd = 1.0 / 479_001_600.0 + r * (1.0 / 6_227_020_800.0);
    let low = (c01 + r2 * c23) + r4 * (c45 + r2 * c67);
    let high = (c89 + r2 * cab) + r4 * ccd;
    let fraction = low + r8 * high;
    let power = f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52);
    if x > SMALLEST { fraction * power } else { 0.0 }
}

/// Softmax down each column of a matrix of `width` columns, rows contiguous, in place.
///
/// Returns the sum over columns of the log of the normaliser; `highest` and `total` are scratch
/// of `width` numbers. After the call `highest[c]` + ln `total[c]` is column c's log-normaliser.
pub fn softmax_columns(
    logits: &mut [f64],
    width: usize,
    highest: &mut [f64],
    total: &mut [f64],
) -> f64 {
    dispatch(Softmax(logits, width, highest, total))
}

struct Softmax<'a>(&'a mut [f64], usize, &'a mut [f64], &'a mut [f64]);

impl NullaryFnOnce for Softmax<'_> {
    type Output = f64;

    #[inline(always)]
    fn call(self) -> f64 {
        let Self(logits, width, highest, total) = self;
        let (highest, total) = (&mut highest[..width], &mut total[..width]);
        highest.fill(f64::NEG_INFINITY);
        for row in logits.chunks_exact(width) {
            for (high, &x) in highest.iter_mut().zip(row) {
                *high = if x > *high { x } else { *high };
            }
        }
        total.fill(0.0);
        for row in logits.chunks_exact_mut(width) {
            for ((x, &high), sum) in row.iter_mut().zip(&*highest).zip(total.iter_mut()) {
                let weight = exp_nonpositive(*x - high);
                *x = weight;
                *sum += weight;
            }
        }
        let mut value = 0.0;
        for (&high, sum) in highest.iter().zip(total.iter()) {
            value += high + gamma::ln(*sum);
        }
        for row in logits.chunks_exact_mut(width) {
            for (x, &sum) in row.iter_mut().zip(&*total) {
                *x /= sum;
            }
        }
        value
    }
}

/// Turns changes of the logits into changes of the responsibilities, column by column:
/// δ ← r ∘ (δ − Σ_k r δ), the Hessian product of log-sum-exp (maths §3.1).
pub fn softmax_jacobian_columns(
    responsibilities: &[f64],
    changes: &mut [f64],
    width: usize,
    mean: &mut [f64],
) {
    dispatch(Jacobian(responsibilities, changes, width, mean));
}

struct Jacobian<'a>(&'a [f64], &'a mut [f64], usize, &'a mut [f64]);

impl NullaryFnOnce for Jacobian<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self(responsibilities, changes, width, mean) = self;
        let mean = &mut mean[..width];
        mean.fill(0.0);
        let rows = responsibilities.chunks_exact(width);
        for (r, d) in rows.clone().zip(changes.chunks_exact(width)) {
            for ((m, &r), &d) in mean.iter_mut().zip(r).zip(d) {
                *m += r * d;
            }
        }
        for (r, d) in rows.zip(changes.chunks_exact_mut(width)) {
            for ((&m, &r), d) in mean.iter().zip(r).zip(d) {
                *d = r * (*d - m);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_within_two_ulps() {
        for i in 0..200_000 {
            let x = -707.9 * f64::from(i) / 200_000.0;
            let (ours, std) = (exp_nonpositive(x), x.exp());
            // 2 ulp: half from the polynomial, half from the product of n and ln 2, one spare.
            assert!(
                (ours - std).abs() <= 2.0 * f64::EPSILON * std,
                "exp({x}): {ours} and {std}"
            );
        }
        assert_eq!(exp_nonpositive(0.0), 1.0);
        assert_eq!(exp_nonpositive(-709.0), 0.0);
        assert_eq!(exp_nonpositive(f64::NEG_INFINITY), 0.0);
    }

    #[test]
    fn softmax_matches_the_plain_loop() {
        let (rows, width) = (5, 37);
        let logits: Vec<f64> = (0..rows * width)
            .map(|i| (i as f64 * 1.7).sin() * if i % 11 == 0 { 900.0 } else { 3.0 })
            .collect();
        let mut fast = logits.clone();
        let value = softmax_columns(
            &mut fast,
            width,
            &mut vec![0.0; width],
            &mut vec![0.0; width],
        );
        let mut plain = 0.0;
        for c in 0..width {
            let column: Vec<f64> = (0..rows).map(|k| logits[k * width + c]).collect();
            let ln_normaliser = crate::special::log_sum_exp(&column);
            plain += ln_normaliser;
            for k in 0..rows {
                let r = (column[k] - ln_normaliser).exp();
                // Rounding of logits near 900 is 1e-13, and exp passes it on as relative error.
                assert!((fast[k * width + c] - r).abs() <= 1e-12);
            }
        }
        assert!((value - plain).abs() <= 1e-10 * plain.abs());
    }

    #[test]
    fn jacobian_matches_the_plain_loop() {
        let (rows, width) = (4, 9);
        let mut r: Vec<f64> = (0..rows * width).map(|i| (i as f64).cos()).collect();
        softmax_columns(&mut r, width, &mut vec![0.0; width], &mut vec![0.0; width]);
        let changes: Vec<f64> = (0..rows * width).map(|i| (i as f64 * 0.3).sin()).collect();
        let mut fast = changes.clone();
        softmax_jacobian_columns(&r, &mut fast, width, &mut vec![0.0; width]);
        for c in 0..width {
            let mean: f64 = (0..rows)
                .map(|k| r[k * width + c] * changes[k * width + c])
                .sum();
            for k in 0..rows {
                let plain = r[k * width + c] * (changes[k * width + c] - mean);
                assert!((fast[k * width + c] - plain).abs() <= 1e-15);
            }
        }
    }
}
