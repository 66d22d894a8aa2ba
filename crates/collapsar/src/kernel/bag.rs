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

/// ⟨a, b⟩ by eight running sums.
#[inline(always)]
fn product(a: &Row, b: &Row) -> f64 {
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

impl NullaryFnOnce for Sweep<'_> {
    type Output = bool;

    #[inline(always)]
    fn call(self) -> bool {
        let Self {
            bag,
            own,
            products,
            sum,
        } = self;
        let width = own.len();
        let rows = bag.rows.as_chunks::<LANES>().0;
        let mut tiny = false;
        for ((&id, &count), z) in bag.ids.iter().zip(bag.counts).zip(products) {
            let first = id as usize * width;
            let row = &rows[first..first + width];
            *z = product(own, row);
            let known = *z >= TINY;
            tiny |= !known;
            let weight = if known { f64::from(count) / *z } else { 0.0 };
            for (sum, row) in sum.iter_mut().zip(row) {
                for (sum, row) in sum.iter_mut().zip(row) {
                    *sum += weight * row;
                }
            }
        }
        tiny
    }
}
