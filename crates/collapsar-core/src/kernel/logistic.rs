//! Log-partition functions of many Pólya-Gamma variables at once, with their first two derivatives (maths §3.12).
//!
//! For r = c²/2 of zero or more, which is where all but a few are; what is below is the family's to say, one by one.

use std::f64::consts::LN_2;

use pulp::NullaryFnOnce;

use super::{dispatch, exp_nonpositive};

/// Sums that need not wait for one another, the same on every processor.
const LANES: usize = 8;

/// ln(1 + u) for u from 0 to 1: the series of 2 artanh(z), with half of 1 + u where that is nearer to one.
#[inline(always)]
fn ln_1p(u: f64) -> f64 {
    let far = u > std::f64::consts::SQRT_2 - 1.0;
    let above = if far { u - 1.0 } else { u };
    let below = if far { u + 3.0 } else { u + 2.0 };
    let offset = if far { LN_2 } else { 0.0 };
    let z = above / below;
    // |z| ≤ 0.172: the first term that is left out is below 1e-18 of the first.
    let s = z * z;
    let s2 = s * s;
    let s4 = s2 * s2;
    let c01 = 1.0 + s * (1.0 / 3.0);
    let c23 = 1.0 / 5.0 + s * (1.0 / 7.0);
    let c45 = 1.0 / 9.0 + s * (1.0 / 11.0);
    let c67 = 1.0 / 13.0 + s * (1.0 / 15.0);
    let c89 = 1.0 / 17.0 + s * (1.0 / 19.0);
    let low = (c01 + s2 * c23) + s4 * (c45 + s2 * c67);
    let high = c89 + s2 * (1.0 / 21.0);
    offset + 2.0 * z * (low + s4 * s4 * high)
}

/// (sinh c − c) / c³ for s = c² up to one: the first term that is left out is below 1e-18.
#[inline(always)]
fn sinh_gap(s: f64) -> f64 {
    let s2 = s * s;
    let s4 = s2 * s2;
    let c01 = 1.0 / 6.0 + s * (1.0 / 120.0);
    let c23 = 1.0 / 5_040.0 + s * (1.0 / 362_880.0);
    let c45 = 1.0 / 39_916_800.0 + s * (1.0 / 6_227_020_800.0);
    let c67 = 1.0 / 1_307_674_368_000.0 + s * (1.0 / 355_687_428_096_000.0);
    (c01 + s2 * c23) + s4 * (c45 + s2 * c67) + s4 * s4 * (1.0 / 121_645_100_408_832_000.0)
}

/// −ln cosh(c / 2), where `small` is e^{−c}; exact to the rounding of numbers near one, as a part of sums.
#[inline(always)]
fn value(c: f64, small: f64) -> f64 {
    LN_2 - 0.5 * c - ln_1p(small)
}

/// The mean of ω.
#[inline(always)]
fn mean(c: f64, small: f64) -> f64 {
    let square = c * c;
    let both = 1.0 + small;
    // sinh c / (1 + cosh c) by its series where 1 − e^{−c} would cancel.
    let near = (1.0 + square * sinh_gap(square)) * small / (both * both);
    let far = (1.0 - small) / (2.0 * c * both);
    if c < 1.0 { near } else { far }
}

/// The variance of ω.
#[inline(always)]
fn variance(c: f64, small: f64) -> f64 {
    let square = c * c;
    let both = 1.0 + small;
    let near = small * sinh_gap(square);
    let far = ((1.0 - small * small) - 2.0 * c * small) / (2.0 * c * square);
    (if c < 1.0 { near } else { far }) / (both * both)
}

/// The sum of weighted values, in fixed lanes.
#[inline(always)]
fn weighted_sum(values: &[f64], weights: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    let (values, last) = values.as_chunks::<LANES>();
    let (weights, last_weights) = weights.as_chunks::<LANES>();
    for (values, weights) in values.iter().zip(weights) {
        for lane in 0..LANES {
            lanes[lane] += weights[lane] * values[lane];
        }
    }
    let last = last.iter().zip(last_weights).map(|(x, w)| w * x);
    lanes.iter().sum::<f64>() + last.sum::<f64>()
}

/// Adds to each of `out` the sum of the values of variables of these shapes at predictors, as many of which belong to it as there
/// are shapes: r is half of a predictor's square. Predictors are overwritten.
pub(crate) fn add_values(predictors: &mut [f64], shapes: &[f64], out: &mut [f64]) {
    dispatch(AddValues(predictors, shapes, out));
}

struct AddValues<'a>(&'a mut [f64], &'a [f64], &'a mut [f64]);

impl NullaryFnOnce for AddValues<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self(predictors, shapes, out) = self;
        for (all, out) in predictors.chunks_exact_mut(shapes.len()).zip(out) {
            for x in &mut *all {
                let c = x.abs();
                *x = value(c, exp_nonpositive(-c));
            }
            *out += weighted_sum(all, shapes);
        }
    }
}

/// The sum of the values of variables of these shapes; writes the means of their statistics −ω over their naturals.
pub(crate) fn values_and_means(naturals: &mut [f64], shapes: &[f64], values: &mut [f64]) -> f64 {
    dispatch(ValuesAndMeans(naturals, shapes, values))
}

struct ValuesAndMeans<'a>(&'a mut [f64], &'a [f64], &'a mut [f64]);

impl NullaryFnOnce for ValuesAndMeans<'_> {
    type Output = f64;

    #[inline(always)]
    fn call(self) -> f64 {
        let Self(naturals, shapes, values) = self;
        let values = &mut values[..shapes.len()];
        for ((r, shape), out) in naturals.iter_mut().zip(shapes).zip(&mut *values) {
            let c = (2.0 * *r).sqrt();
            let small = exp_nonpositive(-c);
            *out = value(c, small);
            *r = -shape * mean(c, small);
        }
        weighted_sum(values, shapes)
    }
}

/// Writes the variances of variables of these shapes over their naturals.
pub(crate) fn variances(naturals: &mut [f64], shapes: &[f64]) {
    dispatch(Variances(naturals, shapes));
}

struct Variances<'a>(&'a mut [f64], &'a [f64]);

impl NullaryFnOnce for Variances<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self(naturals, shapes) = self;
        for (r, shape) in naturals.iter_mut().zip(shapes) {
            let c = (2.0 * *r).sqrt();
            *r = shape * variance(c, exp_nonpositive(-c));
        }
    }
}

/// `out` ← the sum over columns of `x` times `y`, number by number; a column has as many as `out`.
pub(crate) fn sum_of_products(x: &[f64], y: &[f64], out: &mut [f64]) {
    dispatch(SumOfProducts(x, y, out));
}

struct SumOfProducts<'a>(&'a [f64], &'a [f64], &'a mut [f64]);

impl NullaryFnOnce for SumOfProducts<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self(x, y, out) = self;
        out.fill(0.0);
        let width = out.len();
        for (x, y) in x.chunks_exact(width).zip(y.chunks_exact(width)) {
            for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
                *out += x * y;
            }
        }
    }
}

/// `out` ← each column of `x` times `factors`, number by number.
pub(crate) fn scale(x: &[f64], factors: &[f64], out: &mut [f64]) {
    dispatch(Scale(x, factors, out));
}

struct Scale<'a>(&'a [f64], &'a [f64], &'a mut [f64]);

impl NullaryFnOnce for Scale<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self(x, factors, out) = self;
        let width = factors.len();
        for (x, out) in x.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
            for ((out, x), factor) in out.iter_mut().zip(x).zip(factors) {
                *out = x * factor;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_those_of_the_library() {
        for i in 0..=100_000 {
            let u = f64::from(i) / 100_000.0;
            let (ours, std) = (ln_1p(u), u.ln_1p());
            assert!(
                (ours - std).abs() <= 4.0 * f64::EPSILON * std,
                "{u}: {ours} {std}"
            );
        }
    }

    /// −ln cosh(c/2), tanh(c/2)/(2c) and (sinh c − c)/(4c³cosh²(c/2)) as they are written, the last two by ten terms of series where
    /// they would cancel.
    fn plain(c: f64) -> [f64; 3] {
        let half: f64 = 0.5 * c;
        let (mean, variance) = if c < 1.0 {
            let powers = |first: u32| {
                let term = |k: u32| {
                    let product: f64 = (2..=2 * k + first).map(f64::from).product();
                    (c * c).powf(f64::from(k)) / product
                };
                (0..10).map(term).sum::<f64>()
            };
            // sinh(c/2)/c by the series of sinh c = 2 sinh(c/2) cosh(c/2).
            let square = half.cosh().powi(2);
            (0.25 * powers(1) / square, 0.25 * powers(3) / square)
        } else {
            let square = half.cosh().powi(2);
            (
                half.tanh() / (2.0 * c),
                (c.sinh() - c) / (4.0 * c.powi(3) * square),
            )
        };
        [-half.cosh().ln(), mean, variance]
    }

    /// One by one and in blocks that do not fill the lanes, on both sides of where the series end.
    #[test]
    fn sums_are_those_of_plain_functions() {
        let cs: Vec<f64> = (0..37).map(|i| f64::from(i * i) / 60.0).collect();
        let shapes: Vec<f64> = (0..37).map(|i| 0.3 + f64::from(i % 5)).collect();
        let naturals: Vec<f64> = cs.iter().map(|c| 0.5 * c * c).collect();
        let (mut means, mut values) = (naturals.clone(), vec![f64::NAN; 40]);
        let sum = values_and_means(&mut means, &shapes, &mut values);
        let mut second = naturals.clone();
        variances(&mut second, &shapes);
        let mut expected = 0.0;
        for (i, (c, shape)) in cs.iter().zip(&shapes).enumerate() {
            let [value, mean, variance] = plain(*c);
            expected += shape * value;
            // The value is as exact as numbers near one, the closed form of the variance loses two digits near c = 1.
            assert!(
                (values[i] - value).abs() < 4e-16 * (1.0 + c),
                "{c}: {} {value}",
                values[i]
            );
            assert!(
                (means[i] / (-shape * mean) - 1.0).abs() < 3e-15,
                "{c}: {} {mean}",
                means[i]
            );
            assert!(
                (second[i] / (shape * variance) - 1.0).abs() < 3e-14,
                "{c}: {} {variance}",
                second[i]
            );
        }
        assert!(
            (sum - expected).abs() < 1e-14 * expected.abs(),
            "{sum} {expected}"
        );
        // Two sums of the same shapes: of the predictors, whatever their signs, and of none.
        let mut predictors: Vec<f64> = (cs.iter().enumerate())
            .map(|(i, c)| if i % 2 == 0 { *c } else { -c })
            .chain(std::iter::repeat_n(0.0, 37))
            .collect();
        let mut out = [1.0, 2.0];
        add_values(&mut predictors, &shapes, &mut out);
        assert!(
            (out[0] - 1.0 - sum).abs() < 1e-14 * sum.abs(),
            "{out:?} {sum}"
        );
        assert!((out[1] - 2.0).abs() < 1e-13, "{out:?}");
    }

    #[test]
    fn products_are_those_of_plain_loops() {
        let (x, y) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
        let mut sums = [f64::NAN; 2];
        sum_of_products(&x, &y, &mut sums);
        assert_eq!(sums, [26.0, 44.0]);
        let mut scaled = [f64::NAN; 4];
        scale(&x, &[2.0, 3.0], &mut scaled);
        assert_eq!(scaled, [2.0, 6.0, 6.0, 12.0]);
    }
}
