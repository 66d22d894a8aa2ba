//! Sums of products with twice the digits of a double: a pair whose sum is the number.

/// A number as the sum of two, the second below the last digit of the first.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Doubled {
    high: f64,
    low: f64,
}

impl From<f64> for Doubled {
    fn from(high: f64) -> Self {
        Self { high, low: 0.0 }
    }
}

impl Doubled {
    /// The nearest double.
    pub(crate) fn rounded(self) -> f64 {
        self.high + self.low
    }

    /// The sum, with an error of about 2^-104 of the larger (Knuth's exact sum of two).
    pub(crate) fn plus(self, other: Self) -> Self {
        let (high, error) = sum(self.high, other.high);
        // An infinite sum has no error that is a number.
        if !high.is_finite() {
            return high.into();
        }
        let (high, low) = sum(high, error + (self.low + other.low));
        Self { high, low }
    }

    /// The product with a double, with an error of about 2^-104 of it.
    pub(crate) fn times(self, factor: f64) -> Self {
        let high = self.high * factor;
        if !high.is_finite() {
            return high.into();
        }
        let error = self.high.mul_add(factor, -high);
        let (high, low) = sum(high, error + self.low * factor);
        Self { high, low }
    }
}

/// The rounded sum of two doubles and its error, which is exact.
fn sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An integer of up to 2^40 either way: products of three fit in 120 bits, so `i128` has them exactly.
    fn integers() -> impl Strategy<Value = Vec<[i64; 3]>> {
        let integer = -(1_i64 << 40)..(1 << 40);
        proptest::collection::vec([integer.clone(), integer.clone(), integer], 1..20)
    }

    proptest! {
        #[test]
        fn sums_of_products_that_cancel(products in integers()) {
            let exact: i128 = products.iter().map(|p| p.iter().map(|&k| i128::from(k)).product::<i128>()).sum();
            let doubled = |p: &[i64; 3]| Doubled::from(p[0] as f64).times(p[1] as f64).times(p[2] as f64);
            let sum = products.iter().map(doubled).fold(Doubled::default(), Doubled::plus);
            // What is left of a sum from which its nearest double is taken.
            let nearest = exact as f64;
            let rest = sum.plus(Doubled::from(-nearest)).rounded();
            let error = (exact - nearest as i128) as f64 - rest;
            let size: f64 = products.iter().map(|p| p.iter().map(|&k| (k as f64).abs()).product::<f64>()).sum();
            // Three operations a product, each to 2^-104 of what there is by then.
            prop_assert!(error.abs() <= 60.0 * 2_f64.powi(-104) * size, "{error} of {size}");
        }
    }

    #[test]
    fn what_is_not_finite_stays_so() {
        let infinite = Doubled::from(f64::MAX).times(2.0);
        assert_eq!(infinite.rounded(), f64::INFINITY);
        assert_eq!(infinite.plus(1.0.into()).rounded(), f64::INFINITY);
        assert!(
            infinite
                .plus(Doubled::from(f64::NEG_INFINITY))
                .rounded()
                .is_nan()
        );
    }
}
