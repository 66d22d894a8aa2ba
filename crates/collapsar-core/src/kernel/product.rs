//! The two matrix products of a pass, for a few left rows and a block of features.
//!
//! Register tiles in the widest vectors that the processor has, with no packing: features are made
//! in rows that the first product reads along, and the second keeps one sum for each lane, so it reads
//! along them too. On 20 rows by 153 features `matrixmultiply`, which packs the features for each
//! product anew, takes 1.65 times as long (bench/runs/2026-11-16), and faer's `gemm` took about 1.2
//! times, for half a minute more of building.
//!
//! Products are fused with sums, by the processor or, where it cannot, by `fused`; and an accumulated product has eight sums
//! whatever the registers' width. So the bits are the same on every processor.

#![allow(clippy::inline_always)] // the wide vectors exist only where everything is inlined into the dispatch

use pulp::{Simd, WithSimd};

use super::{dispatch, fused};

/// Sums kept for each number of an accumulated product: the most lanes that a vector has, and as many where it has fewer.
pub(crate) const LANES: usize = 8;

/// How far into `buffer` an address begins that no vector straddles a cache line from.
pub(crate) fn alignment(buffer: &[f64]) -> usize {
    // Where the offset is not known, unaligned vectors are slower and as good.
    buffer.as_ptr().align_offset(64).min(LANES)
}

/// `out` (k by width) ← `left` (k by p) times `features` (p by width).
pub(crate) fn multiply(
    left: &[f64],
    (k, p): (usize, usize),
    features: &[f64],
    width: usize,
    out: &mut [f64],
) {
    assert!(left.len() == k * p && features.len() == p * width && out.len() == k * width);
    dispatch(Multiply {
        left,
        p,
        features,
        width,
        out,
    });
}

struct Multiply<'a> {
    left: &'a [f64],
    p: usize,
    features: &'a [f64],
    width: usize,
    out: &'a mut [f64],
}

impl WithSimd for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        if S::F64_LANES == 1 {
            return self.without_fusion();
        }
        let k = self.out.len() / self.width;
        let mut row = 0;
        while row < k {
            // Twenty sums and two vectors of features fit in 32 registers, ten in 16.
            row += match k - row {
                10.. if S::F64_LANES == LANES => self.rows::<S, 10>(simd, row),
                5.. => self.rows::<S, 5>(simd, row),
                3.. => self.rows::<S, 3>(simd, row),
                2 => self.rows::<S, 2>(simd, row),
                _ => self.rows::<S, 1>(simd, row),
            };
        }
    }
}

impl Multiply<'_> {
    /// The product where the processor cannot fuse.
    fn without_fusion(self) {
        let (p, width) = (self.p, self.width);
        for (left, out) in (self.left.chunks_exact(p)).zip(self.out.chunks_exact_mut(width)) {
            let (blocks, rest) = out.as_chunks_mut::<LANES>();
            for (x, sums) in blocks.iter_mut().enumerate() {
                *sums = [0.0; LANES];
                for (factor, features) in left.iter().zip(self.features.chunks_exact(width)) {
                    let features = &features.as_chunks::<LANES>().0[x];
                    fused::mul_add_lanes(&[*factor; LANES], features, sums);
                }
            }
            for (sum, column) in rest.iter_mut().zip(width / LANES * LANES..) {
                let features = self.features[column..].iter().step_by(width);
                *sum = (left.iter().zip(features))
                    .fold(0.0, |sum, (a, b)| fused::mul_add(*a, *b, sum));
            }
        }
    }

    /// R rows of the product; returns R.
    #[inline(always)]
    fn rows<S: Simd, const R: usize>(&mut self, simd: S, row: usize) -> usize {
        let lanes = S::F64_LANES;
        let mut column = 0;
        while column + 2 * lanes <= self.width {
            self.tile::<S, R, 2>(simd, row, column);
            column += 2 * lanes;
        }
        while column + lanes <= self.width {
            self.tile::<S, R, 1>(simd, row, column);
            column += lanes;
        }
        for row in row..row + R {
            let left = &self.left[row * self.p..(row + 1) * self.p];
            for column in column..self.width {
                let features = self.features[column..].iter().step_by(self.width);
                self.out[row * self.width + column] =
                    (left.iter().zip(features)).fold(0.0, |sum, (a, b)| a.mul_add(*b, sum));
            }
        }
        R
    }

    /// R rows by C vectors of the product.
    #[inline(always)]
    fn tile<S: Simd, const R: usize, const C: usize>(
        &mut self,
        simd: S,
        row: usize,
        column: usize,
    ) {
        let (p, width, span) = (self.p, self.width, C * S::F64_LANES);
        let left: [&[f64]; R] =
            std::array::from_fn(|i| &self.left[(row + i) * p..(row + i + 1) * p]);
        let mut sums = [[simd.splat_f64s(0.0); C]; R];
        for (f, features) in self.features.chunks_exact(width).enumerate() {
            let (vectors, _) = S::as_simd_f64s(&features[column..column + span]);
            for i in 0..R {
                let factor = simd.splat_f64s(left[i][f]);
                for j in 0..C {
                    sums[i][j] = simd.mul_add_f64s(factor, vectors[j], sums[i][j]);
                }
            }
        }
        for i in 0..R {
            let start = (row + i) * width + column;
            let (out, _) = S::as_mut_simd_f64s(&mut self.out[start..start + span]);
            out.copy_from_slice(&sums[i]);
        }
    }
}

/// `lanes` (k by p, [`LANES`] sums each) += `weights` (k by width) times `features` (p by width) transposed.
pub(crate) fn accumulate(
    weights: &[f64],
    features: &[f64],
    (k, p): (usize, usize),
    width: usize,
    lanes: &mut [f64],
) {
    assert!(weights.len() == k * width && features.len() == p * width);
    assert!(lanes.len() == k * p * LANES);
    dispatch(Accumulate {
        weights,
        features,
        p,
        width,
        lanes,
    });
}

/// Adds each number's lanes, in order, to `out`.
pub(crate) fn gather(lanes: &[f64], out: &mut [f64]) {
    for (sum, lanes) in out.iter_mut().zip(lanes.chunks_exact(LANES)) {
        *sum += lanes.iter().sum::<f64>();
    }
}

struct Accumulate<'a> {
    weights: &'a [f64],
    features: &'a [f64],
    p: usize,
    width: usize,
    lanes: &'a mut [f64],
}

impl WithSimd for Accumulate<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        if S::F64_LANES == 1 {
            return self.without_fusion();
        }
        let mut feature = 0;
        while feature < self.p {
            feature += match self.p - feature {
                4.. if S::F64_LANES == LANES => self.columns::<S, 4>(simd, feature),
                2.. => self.columns::<S, 2>(simd, feature),
                _ => self.columns::<S, 1>(simd, feature),
            };
        }
    }
}

impl Accumulate<'_> {
    /// The product where the processor cannot fuse.
    fn without_fusion(self) {
        let width = self.width;
        let mut all = self.lanes.as_chunks_mut::<LANES>().0.iter_mut();
        for weights in self.weights.chunks_exact(width) {
            let (weights, last) = weights.as_chunks::<LANES>();
            for (features, lanes) in self.features.chunks_exact(width).zip(&mut all) {
                let (features, last_features) = features.as_chunks::<LANES>();
                let mut sums = [0.0; LANES];
                for (weight, feature) in weights.iter().zip(features) {
                    fused::mul_add_lanes(weight, feature, &mut sums);
                }
                for (lane, sum) in lanes.iter_mut().zip(sums) {
                    *lane += sum;
                }
                for (lane, (a, b)) in lanes.iter_mut().zip(last.iter().zip(last_features)) {
                    *lane = fused::mul_add(*a, *b, *lane);
                }
            }
        }
    }

    /// C features of every row; returns C.
    #[inline(always)]
    fn columns<S: Simd, const C: usize>(&mut self, simd: S, feature: usize) -> usize {
        let k = self.weights.len() / self.width;
        let mut row = 0;
        while row < k {
            row += match k - row {
                5.. => self.tile::<S, 5, C>(simd, row, feature),
                3.. => self.tile::<S, 3, C>(simd, row, feature),
                2 => self.tile::<S, 2, C>(simd, row, feature),
                _ => self.tile::<S, 1, C>(simd, row, feature),
            };
        }
        C
    }

    /// R rows by C features; returns R.
    #[inline(always)]
    fn tile<S: Simd, const R: usize, const C: usize>(
        &mut self,
        simd: S,
        row: usize,
        feature: usize,
    ) -> usize {
        let (width, groups) = (self.width, LANES / S::F64_LANES);
        let weights: [&[f64]; R] =
            std::array::from_fn(|i| &self.weights[(row + i) * width..(row + i + 1) * width]);
        let features: [&[f64]; C] = std::array::from_fn(|j| {
            &self.features[(feature + j) * width..(feature + j + 1) * width]
        });
        // Narrower vectors go through the columns several times, once for each part of the lanes.
        for group in 0..groups {
            let weights = weights.map(|row| S::as_simd_f64s(row).0);
            let features = features.map(|row| S::as_simd_f64s(row).0);
            let mut sums = [[simd.splat_f64s(0.0); C]; R];
            for x in 0..width / LANES {
                let x = x * groups + group;
                for i in 0..R {
                    let weight = weights[i][x];
                    for j in 0..C {
                        sums[i][j] = simd.mul_add_f64s(weight, features[j][x], sums[i][j]);
                    }
                }
            }
            for i in 0..R {
                for j in 0..C {
                    let start = ((row + i) * self.p + feature + j) * LANES;
                    let (lanes, _) = S::as_mut_simd_f64s(&mut self.lanes[start..start + LANES]);
                    lanes[group] = simd.add_f64s(lanes[group], sums[i][j]);
                }
            }
        }
        let rest = width / LANES * LANES;
        if rest < width {
            for i in 0..R {
                for j in 0..C {
                    let start = ((row + i) * self.p + feature + j) * LANES;
                    let pairs = weights[i][rest..].iter().zip(&features[j][rest..]);
                    for (lane, (a, b)) in self.lanes[start..start + LANES].iter_mut().zip(pairs) {
                        *lane = a.mul_add(*b, *lane);
                    }
                }
            }
        }
        R
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_match_the_plain_loops() {
        for (k, p, width) in [
            (1, 1, 1),
            (3, 2, 7),
            (8, 6, 128),
            (20, 153, 128),
            (23, 5, 45),
            (2, 9, 16),
        ] {
            let number = |i: usize| (i as f64 * 0.7).sin();
            let left: Vec<f64> = (0..k * p).map(number).collect();
            let features: Vec<f64> = (0..p * width).map(|i| number(3 * i + 1)).collect();
            let mut product = vec![f64::NAN; k * width];
            multiply(&left, (k, p), &features, width, &mut product);
            let mut lanes = vec![0.0; k * p * LANES];
            accumulate(&product, &features, (k, p), width, &mut lanes);
            let mut sums = vec![1.0; k * p];
            gather(&lanes, &mut sums);
            for i in 0..k {
                for n in 0..width {
                    let plain: f64 = (0..p)
                        .map(|f| left[i * p + f] * features[f * width + n])
                        .sum();
                    // Rounding of sums of at most 153 terms below 1.
                    assert!((product[i * width + n] - plain).abs() <= 1e-13);
                }
                for f in 0..p {
                    let plain: f64 = (0..width)
                        .map(|n| product[i * width + n] * features[f * width + n])
                        .sum();
                    // Of at most 128 terms below 153.
                    assert!((sums[i * p + f] - 1.0 - plain).abs() <= 1e-11);
                }
            }
        }
    }
}
