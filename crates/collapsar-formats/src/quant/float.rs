//! Decides how text becomes the nearest number, fast.

/// The powers of ten that are exact.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// The number of a whole field, as [`str::parse`] has it to the last bit.
pub(super) fn float(field: &[u8]) -> Option<f64> {
    match prefix(field) {
        Some((number, end)) if end == field.len() => Some(number),
        _ => std::str::from_utf8(field).ok()?.parse().ok(),
    }
}

/// The number that `bytes` begins with and where it ends. `None` if there is none or if one product or
/// quotient of exact numbers would not give the nearest (Clinger 1990): more than 15 or so digits, or an
/// exponent out of the ordinary.
#[inline]
pub(super) fn prefix(bytes: &[u8]) -> Option<(f64, usize)> {
    let negative = bytes.first() == Some(&b'-');
    let start = usize::from(negative);
    let (mut digits, mut at) = (0u64, start);
    // Nineteen digits fit into a u64, and the check below refuses what f64 would round.
    at = take(bytes, at, &mut digits);
    let mut number = at - start;
    let mut fraction = 0;
    if bytes.get(at) == Some(&b'.') {
        let point = at + 1;
        at = take(bytes, point, &mut digits);
        fraction = at - point;
        number += fraction;
    }
    if number == 0 || number > 19 || digits > 1 << 53 {
        return None;
    }
    let mut exponent = -i32::from(fraction as u8);
    if let Some(b'e' | b'E') = bytes.get(at) {
        let sign = bytes.get(at + 1);
        let first = at + 1 + usize::from(matches!(sign, Some(b'-' | b'+')));
        let mut power = 0u64;
        at = take(bytes, first, &mut power);
        // Longer ones would fit as well, if nobody had written them.
        if !(1..=4).contains(&(at - first)) {
            return None;
        }
        let power = power as i32;
        exponent += if sign == Some(&b'-') { -power } else { power };
    }
    let power = *POWERS.get(exponent.unsigned_abs() as usize)?;
    let size = if exponent < 0 {
        digits.cast_signed() as f64 / power
    } else {
        digits.cast_signed() as f64 * power
    };
    Some((if negative { -size } else { size }, at))
}

/// Appends the digits from `at` on to a number, modulo 2^64; gives where they end.
#[inline]
fn take(bytes: &[u8], mut at: usize, number: &mut u64) -> usize {
    while let Some(value) = eight(bytes, at) {
        *number = number.wrapping_mul(100_000_000).wrapping_add(value);
        at += 8;
    }
    while let Some(byte) = bytes.get(at) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        *number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    at
}

/// The value of the eight digits from `at` on, if there are so many: all at once, in the bytes of one
/// word, then pairs, then pairs of pairs.
#[inline]
fn eight(bytes: &[u8], at: usize) -> Option<u64> {
    let word = u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?);
    // A digit's upper half is 3, and stays so when 6 is added.
    let upper = 0xf0f0_f0f0_f0f0_f0f0;
    let added = word.wrapping_add(0x0606_0606_0606_0606);
    if (word & upper) | ((added & upper) >> 4) != 0x3333_3333_3333_3333 {
        return None;
    }
    let digits = word & 0x0f0f_0f0f_0f0f_0f0f;
    let pairs = (digits.wrapping_mul(10 << 8 | 1) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100 << 16 | 1) >> 16) & 0x0000_ffff_0000_ffff;
    Some(fours.wrapping_mul(10_000 << 32 | 1) >> 32)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn same(text: &str) {
        let standard = text.parse::<f64>().ok().map(f64::to_bits);
        let found = float(text.as_bytes()).map(f64::to_bits);
        assert_eq!(found, standard, "{text:?}");
    }

    #[test]
    fn as_the_standard_library() {
        let all = "- +1 1 -0 0.0 1. .5 -.5 . e5 1e 1e+ 1e5 1E-5 -1.204179348e+01 9007199254740993 \
            9007199254740992e22 18446744073709551616 99999999999999999999 1e-22 1e23 1e-23 \
            0.00000000000000000000001 1e00005 1e99999 inf -inf nan 1x 1e-5000 0e400 --1 1e1.5 1_000 \
            0x10 123456789012345678901234567890e-9";
        for text in all.split(' ').chain(["", "1 "]) {
            same(text);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn any_number(number in any::<f64>(), digits in 0..20usize) {
            same(&format!("{number:e}"));
            same(&format!("{number:.digits$e}"));
        }

        #[test]
        fn as_bitseq_writes_them(number in -1e3..0.0f64) {
            let text = format!("{number:.9e}");
            same(&text);
            prop_assert!(prefix(text.as_bytes()).is_some());
        }

        #[test]
        fn any_text_of_a_number(text in "-?[0-9]{0,20}(\\.[0-9]{0,20})?([eE][+-]?[0-9]{0,5})?") {
            same(&text);
        }
    }
}
