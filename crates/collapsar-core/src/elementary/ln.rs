//! The logarithm of `libm`, to the same bits, without its branches for numbers that are rare: an eighth faster.

/// The smallest normal number, and what is no number any more.
const NORMAL: u64 = 1 << 52;
const BEYOND: u64 = 0x7ff << 52;

/// Whether a number is normal and above zero.
#[inline(always)]
pub(super) fn is_normal(x: f64) -> bool {
    x.to_bits().wrapping_sub(NORMAL) < BEYOND - NORMAL
}

/// $\ln x$, to one unit in the last place, as FreeBSD's `e_log.c` computes it.
#[inline]
pub(super) fn ln(x: f64) -> f64 {
    if is_normal(x) {
        of_normal(x)
    } else {
        libm::log(x)
    }
}

/// The same of a number that is normal and above zero, without a branch: what vectors of them can do together.
#[inline(always)]
pub(super) fn of_normal(x: f64) -> f64 {
    /// ln 2 with its last 20 digits zero, so that products with exponents are exact, and the rest.
    const LN_2: (f64, f64) = (
        f64::from_bits(0x3fe6_2e42_fee0_0000),
        f64::from_bits(0x3dea_39ef_3579_3c76),
    );
    /// Of the polynomial in s² that is (ln(1 + f) - 2s) / s, from the first power on.
    const SERIES: [f64; 7] = [
        f64::from_bits(0x3fe5_5555_5555_5593),
        f64::from_bits(0x3fd9_9999_9997_fa04),
        f64::from_bits(0x3fd2_4924_9422_9359),
        f64::from_bits(0x3fcc_71c5_1d8e_78af),
        f64::from_bits(0x3fc7_4664_96cb_03de),
        f64::from_bits(0x3fc3_9a09_d078_c69f),
        f64::from_bits(0x3fc2_f112_df3e_5244),
    ];
    /// √½ without its lower half.
    const ROOT: u64 = 0x3fe6_a09e_0000_0000;
    /// The exponent of one, and 2^52, whose low bits are a whole number.
    const BIAS: u64 = 1023;
    const WHOLE: f64 = 4_503_599_627_370_496.0;
    // x = 2ᵏ(1 + f) with 1 + f from √½ to √2. Exponents are counted from their least, and turned into numbers by their
    // bits: vectors of less than 512 bits know neither signed shifts nor conversions of so long integers.
    let above = (x.to_bits() + (BIAS << 52)).wrapping_sub(ROOT);
    let k = f64::from_bits(WHOLE.to_bits() | (above >> 52)) - (WHOLE + BIAS as f64);
    let f = f64::from_bits((above & (NORMAL - 1)) + ROOT) - 1.0;
    let half_square = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let even = w * (SERIES[1] + w * (SERIES[3] + w * SERIES[5]));
    let odd = z * (SERIES[0] + w * (SERIES[2] + w * (SERIES[4] + w * SERIES[6])));
    s * (half_square + (odd + even)) + k * LN_2.1 - half_square + f + k * LN_2.0
}

#[cfg(test)]
mod tests {
    use super::ln;

    #[test]
    fn bits_are_those_of_libm() {
        let mut bits = 1_u64;
        let random = (0..2_000_000).map(|_| {
            bits ^= bits << 13;
            bits ^= bits >> 7;
            bits ^= bits << 17;
            f64::from_bits(bits)
        });
        let near_one = (0..1_000_000).map(|i| 0.5 + f64::from(i) * 1.5e-6);
        let special = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            5e-324,
            2.3e-308,
            f64::MIN_POSITIVE,
            f64::MAX,
        ];
        let infinite = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        for x in random.chain(near_one).chain(special).chain(infinite) {
            let (ours, theirs) = (ln(x), libm::log(x));
            let same = ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan();
            assert!(same, "{x:e}: {ours:e} and {theirs:e}");
        }
    }
}
