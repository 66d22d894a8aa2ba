//! Responsibilities that are products of two exponentials, for the words of a document or the
//! documents of a word.
//!
//! Rows have a multiple of [`LANES`] numbers, the last of them zero. Eight running sums are kept
//! whatever the registers' width, so every processor gives the same bits.

use pulp::{Arch, NullaryFnOnce};

/// Rows are padded to a multiple of this.
pub(crate) const LANES: usize = 8;

/// The length of a row of `topics` numbers with its padding.
pub(crate) fn padded(topics: usize) -> usize {
    topics.next_multiple_of(LANES)
}

type Row = [[f64; LANES]];

/// Where the rows of a bag are: row `ids[i]` of `rows`, `counts[i]` times.
#[derive(Clone, Copy)]
pub(crate) struct Bag<'a> {
    pub(crate) ids: &'a [u32],
    pub(crate) counts: &'a [f32],
    pub(crate) rows: &'a [f64],
}

/// A product below this is redone in logs. Terms that were lost because a factor underflowed are
/// below 1e-300, so above it they are less than rounding.
pub(crate) const TINY: f64 = 1e-200;

/// Writes the products zᵢ = ⟨own, rowᵢ⟩ and adds Σᵢ nᵢ/zᵢ rowᵢ to `sum`, leaving out the tiny.
///
/// Returns whether any product is below [`TINY`].
pub(crate) fn sweep(bag: Bag<'_>, own: &[f64], products: &mut [f64], sum: &mut [f64]) -> bool {
    Arch::new().dispatch(Sweep {
        bag,
        own: own.as_chunks().0,
        products,
        sum: sum.as_chunks_mut().0,
    })
}

struct Sweep<'a> {
    bag: Bag<'a>,
    own: &'a Row,
    products: &'a mut [f64],
    sum: &'a mut Row,
}

/// Rows that are read together: enough to hide the latency of a sum, few enough to stay in registers.
const TOGETHER: usize = 4;

/// The sum of eight running sums.
#[inline(always)]
fn total([a, b, c, d, e, f, g, h]: [f64; LANES]) -> f64 {
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// Row `id` of `width` times eight numbers.
#[inline(always)]
fn row(rows: &Row, id: u32, width: usize) -> &Row {
    let first = id as usize * width;
    &rows[first..first + width]
}

impl Sweep<'_> {
    /// Products of `own` with some rows, and the sum of the rows weighed by them.
    #[inline(always)]
    fn together<const N: usize>(&mut self, ids: [u32; N], first: usize) -> bool {
        let width = self.own.len();
        let all = self.bag.rows.as_chunks::<LANES>().0;
        let rows = ids.map(|id| row(all, id, width));
        let mut sums = [[0.0; LANES]; N];
        for c in 0..width {
            for (sums, row) in sums.iter_mut().zip(&rows) {
                for l in 0..LANES {
                    sums[l] += self.own[c][l] * row[c][l];
                }
            }
        }
        let mut tiny = false;
        let mut weights = [0.0; N];
        for i in 0..N {
            let z = total(sums[i]);
            self.products[first + i] = z;
            let known = z >= TINY;
            tiny |= !known;
            weights[i] = if known {
                f64::from(self.bag.counts[first + i]) / z
            } else {
                0.0
            };
        }
        for c in 0..width {
            let mut sum = self.sum[c];
            for (weight, row) in weights.iter().zip(&rows) {
                for l in 0..LANES {
                    sum[l] += weight * row[c][l];
                }
            }
            self.sum[c] = sum;
        }
        tiny
    }
}

impl NullaryFnOnce for Sweep<'_> {
    type Output = bool;

    #[inline(always)]
    fn call(mut self) -> bool {
        let (blocks, rest) = self.bag.ids.as_chunks::<TOGETHER>();
        let mut tiny = false;
        for (block, ids) in blocks.iter().enumerate() {
            tiny |= self.together(*ids, block * TOGETHER);
        }
        let done = blocks.len() * TOGETHER;
        for (i, id) in rest.iter().enumerate() {
            tiny |= self.together([*id], done + i);
        }
        tiny
    }
}
