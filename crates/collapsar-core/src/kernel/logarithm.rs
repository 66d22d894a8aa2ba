//! Logarithms of many numbers at once, to the bits of [`Elementary::ln_`].

use pulp::NullaryFnOnce;

use super::dispatch;
use crate::elementary::{Elementary, many};

/// Numbers that are looked at together.
const LANES: usize = 8;

/// Replaces numbers by their logarithms: one that is no normal number above zero takes its whole block the slow way.
pub fn ln_in_place(x: &mut [f64]) {
    dispatch(Logarithms(x));
}

struct Logarithms<'a>(&'a mut [f64]);

impl NullaryFnOnce for Logarithms<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let (blocks, rest) = self.0.as_chunks_mut::<LANES>();
        for block in blocks {
            if block.iter().all(|x| many::is_normal(*x)) {
                *block = block.map(many::ln_of_normal);
            } else {
                *block = block.map(Elementary::ln_);
            }
        }
        for x in rest {
            *x = x.ln_();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_those_of_one_at_a_time() {
        let mut bits = 1_u64;
        let random = (0..200_000).map(|_| {
            bits ^= bits << 13;
            bits ^= bits >> 7;
            bits ^= bits << 17;
            f64::from_bits(bits & (u64::MAX >> 1))
        });
        let near_one = (0..100_000).map(|i| 0.5 + f64::from(i) * 1.5e-5);
        let ends = [1.0, f64::MIN_POSITIVE, f64::MAX, 5e-324, 0.0, -1.0];
        let infinite = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 2.0, 0.7, 1e-300];
        // Of a length that leaves a rest.
        let all: Vec<f64> = random.chain(near_one).chain(ends).chain(infinite).collect();
        let mut found = all.clone();
        ln_in_place(&mut found);
        for (x, found) in all.iter().zip(&found) {
            let one = x.ln_();
            let same = found.to_bits() == one.to_bits() || found.is_nan() && one.is_nan();
            assert!(same, "{x:e}: {found:e} and {one:e}");
        }
        let normal = all.iter().filter(|x| many::is_normal(**x)).count();
        assert!(normal > 290_000 && !all.len().is_multiple_of(LANES));
    }
}
