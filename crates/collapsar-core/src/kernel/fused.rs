//! Products fused with sums on processors that have no instruction for it: those of before 2013, and some small ones since.
//!
//! The product is split into two numbers without an error, and the three are added with one rounding, by rounding the
//! lower parts to odd: Boldo and Melquiond (2008), "Emulation of FMA and correctly rounded sums: proved algorithms
//! using rounding to odd". There are no branches, so that it becomes vector code; where a number is so large or small
//! that a part could overflow or vanish, it is `libm` that computes.

#![allow(clippy::needless_bitwise_bool)] // lazy operators are branches

use super::product::LANES;

/// Factors below this can be split.
const LARGEST_FACTOR: f64 = 1e150;
/// Summands below this do not overflow with a product of factors.
const LARGEST_SUM: f64 = 1e301;
/// Products above this are two numbers without an error.
const SMALLEST: f64 = 1e-280;

/// The sum of two numbers, and what rounding took from it.
#[inline(always)]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// The two halves of a number's digits.
#[inline(always)]
fn split(a: f64) -> (f64, f64) {
    const FACTOR: f64 = 134_217_729.0; // 2^27 + 1
    let scaled = FACTOR * a;
    let high = scaled - (scaled - a);
    (high, a - high)
}

/// The product of two numbers, and what rounding took from it.
#[inline(always)]
fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    let ((a, a_low), (b, b_low)) = (split(a), split(b));
    (
        product,
        a_low * b_low - (((product - a * b) - a_low * b) - a * b_low),
    )
}

/// The sum of two numbers; where it is not exact, the neighbour whose last digit is odd.
#[inline(always)]
fn odd_sum(a: f64, b: f64) -> f64 {
    let (sum, error) = two_sum(a, b);
    let bits = sum.to_bits();
    // Away from zero where the error has the sign of the sum.
    let outward = (bits ^ error.to_bits()) >> 63 == 0;
    let moved = if outward {
        bits + 1
    } else {
        bits.wrapping_sub(1)
    };
    let exact = (error == 0.0) | (bits & 1 == 1);
    f64::from_bits(if exact { bits } else { moved })
}

/// a b + c with one rounding, for numbers that are [`ordinary`].
#[inline(always)]
fn emulated(a: f64, b: f64, c: f64) -> f64 {
    let (product, product_low) = two_product(a, b);
    let (low, lowest) = two_sum(c, product_low);
    let (high, middle) = two_sum(product, low);
    high + odd_sum(middle, lowest)
}

/// Whether [`emulated`] is exact: nothing can overflow, and a product either is large enough or is nothing to add.
#[inline(always)]
fn ordinary(a: f64, b: f64, c: f64) -> bool {
    let size = (a * b).abs();
    let nothing = ((a == 0.0) | (b == 0.0)) & (c != 0.0);
    (a.abs() < LARGEST_FACTOR)
        & (b.abs() < LARGEST_FACTOR)
        & (c.abs() < LARGEST_SUM)
        & ((size > SMALLEST) | nothing)
}

/// a b + c with one rounding.
#[inline(always)]
pub(super) fn mul_add(a: f64, b: f64, c: f64) -> f64 {
    if ordinary(a, b, c) {
        emulated(a, b, c)
    } else {
        libm::fma(a, b, c)
    }
}

/// `sums` + a b with one rounding each.
#[inline(always)]
pub(super) fn mul_add_lanes(a: &[f64; LANES], b: &[f64; LANES], sums: &mut [f64; LANES]) {
    let mut all = true;
    for l in 0..LANES {
        all &= ordinary(a[l], b[l], sums[l]);
    }
    if all {
        for l in 0..LANES {
            sums[l] = emulated(a[l], b[l], sums[l]);
        }
    } else {
        for l in 0..LANES {
            sums[l] = mul_add(a[l], b[l], sums[l]);
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// Against `libm`, whose own arithmetic is in whole numbers where the processor has no instruction, and the
    /// instruction where it has one: random digits, exponents that cancel, that leave gaps of every width, and any.
    #[test]
    fn products_are_fused_exactly() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let emulations = std::cell::Cell::new(0);
        let agree = |a: f64, b: f64, c: f64| {
            let (found, expected) = (mul_add(a, b, c), libm::fma(a, b, c));
            assert!(
                found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(),
                "{a:e} {b:e} {c:e}: {found:e} {expected:e}"
            );
            emulations.set(emulations.get() + u32::from(ordinary(a, b, c)));
        };
        for round in 0..400_000_u64 {
            let mut number = |exponent: u64| {
                // With few digits now and then, for ties.
                let digits = rng.next_u64() >> (12 + rng.next_u64() % 8 * 6 * (round % 3));
                let digits = digits << (rng.next_u64() % 52 * (round % 2)) & ((1 << 52) - 1);
                f64::from_bits(rng.next_u64() << 63 | exponent << 52 | digits)
            };
            let (a, b) = (number(1023 + round % 40), number(1023 - round % 7));
            let c = number(1023 + round % 40 - round % 7 + 60 - round % 171);
            agree(a, b, c);
            // All but the last digits cancel.
            agree(a, b, -(a * b));
            agree(a, b, -(a * b) * (1.0 + f64::EPSILON));
            agree(a, 0.0, c);
            // Of any size.
            let bits = [rng.next_u64(), rng.next_u64(), rng.next_u64()].map(f64::from_bits);
            agree(bits[0], bits[1], bits[2]);
            agree(bits[0], 1.0 / bits[0], -1.0);
        }
        assert!(emulations.get() > 1_600_000, "{}", emulations.get());
        for a in [
            0.0,
            -0.0,
            1.0,
            f64::MIN_POSITIVE,
            5e-324,
            f64::MAX,
            f64::INFINITY,
        ] {
            for b in [0.0, -0.0, -1.0, 0.5, f64::MAX] {
                for c in [0.0, -0.0, 1.0, -5e-324, f64::MAX, f64::NEG_INFINITY] {
                    agree(a, b, c);
                }
            }
        }
    }

    #[test]
    fn lanes_are_one_by_one() {
        let a: [f64; LANES] = std::array::from_fn(|l| 0.1 + l as f64);
        for b in [1.1, 1e-170, 0.0] {
            let b = [b, 1.3, 0.7, b, 1.0, b, 1e160, 2.0];
            let mut sums: [f64; LANES] = std::array::from_fn(|l| (l as f64).sqrt());
            let expected: [f64; LANES] = std::array::from_fn(|l| libm::fma(a[l], b[l], sums[l]));
            mul_add_lanes(&a, &b, &mut sums);
            assert_eq!(sums, expected);
        }
    }
}
