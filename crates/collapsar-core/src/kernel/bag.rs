//! Responsibilities that are products of two exponentials, for the words of a document or the
//! documents of a word.
//!
//! Rows have a multiple of [`LANES`] numbers, the last of them zero. Eight running sums are kept
//! whatever the registers' width, so every processor gives the same bits.

use pulp::NullaryFnOnce;

use super::dispatch;

/// Rows are padded to a multiple of this.
pub const LANES: usize = 8;

/// The length of a row of `topics` numbers with its padding.
pub fn padded(topics: usize) -> usize {
    topics.next_multiple_of(LANES)
}

type Row = [[f64; LANES]];

/// Where the rows of a bag are: row `ids[i]` of `rows`, `counts[i]` times.
#[derive(Clone, Copy)]
pub struct Bag<'a> {
    /// Which rows.
    pub ids: &'a [u32],
    /// How often each.
    pub counts: &'a [f32],
    /// All rows, each padded.
    pub rows: &'a [f64],
}

/// A product below this is redone in logs. Terms that were lost because a factor underflowed are
/// below 1e-300, so above it they are less than rounding.
pub const TINY: f64 = 1e-200;

/// Writes the products zᵢ = ⟨own, rowᵢ⟩ and adds Σᵢ nᵢ/zᵢ rowᵢ to `sum`, leaving out the tiny.
///
/// Returns whether any product is below [`TINY`].
pub fn sweep(bag: Bag<'_>, own: &[f64], products: &mut [f64], sum: &mut [f64]) -> bool {
    dispatch(Sweep {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows that several bags share, of every length up to three blocks, with their padding.
    #[test]
    fn sweep_matches_the_plain_loop() {
        for topics in 1..=20 {
            let width = padded(topics);
            assert!(width.is_multiple_of(LANES) && (topics..topics + LANES).contains(&width));
            let row = |seed: usize| {
                let number = move |k: usize| ((seed * 37 + k * 101) % 89) as f64 / 89.0 + 1e-3;
                (0..width).map(move |k| if k < topics { number(k) } else { 0.0 })
            };
            let rows: Vec<f64> = (0..6).flat_map(row).collect();
            for (ids, counts) in [
                (&[4, 0, 5][..], &[1.0, 2.5, 7.0][..]),
                (&[5, 4, 3, 1, 0], &[3.0, 1.0, 1.0, 0.25, 2.0]),
                (&[2], &[1.0]),
                (&[], &[]),
            ] {
                let own: Vec<f64> = row(ids.len() + 7).collect();
                let mut products = vec![f64::NAN; ids.len()];
                // What is there already is kept.
                let mut sum: Vec<f64> = (0..width).map(|k| k as f64).collect();
                let bag = Bag {
                    ids,
                    counts,
                    rows: &rows,
                };
                assert!(!sweep(bag, &own, &mut products, &mut sum));
                let mut expected: Vec<f64> = (0..width).map(|k| k as f64).collect();
                for (i, (&id, &count)) in ids.iter().zip(counts).enumerate() {
                    let row = &rows[id as usize * width..(id as usize + 1) * width];
                    let product: f64 = own.iter().zip(row).map(|(a, b)| a * b).sum();
                    // Up to twenty positive terms in another order.
                    assert!(
                        (products[i] / product - 1.0).abs() < 1e-14,
                        "{topics} topics"
                    );
                    for (e, row) in expected.iter_mut().zip(row) {
                        *e += f64::from(count) / product * row;
                    }
                }
                for (k, (found, expected)) in sum.iter().zip(&expected).enumerate() {
                    assert!(
                        (found - expected).abs() <= 1e-14 * expected,
                        "{topics} topics"
                    );
                    assert!(k < topics || *found == k as f64, "padding was added to");
                }
            }
        }
    }

    /// A tiny product is reported and left out; the others are as without it.
    #[test]
    fn tiny_products_are_left_out() {
        let rows: Vec<f64> = [[0.5; 8], [1e-250; 8], [0.0; 8], [0.25; 8]].concat();
        let run = |ids: &[u32], counts: &[f32]| {
            let (mut products, mut sum) = (vec![f64::NAN; ids.len()], vec![0.0; 8]);
            let bag = Bag {
                ids,
                counts,
                rows: &rows,
            };
            let tiny = sweep(bag, &[1.0; 8], &mut products, &mut sum);
            (tiny, products, sum)
        };
        let (tiny, products, sum) = run(&[0, 1, 3, 2], &[1.0, 2.0, 3.0, 4.0]);
        let (none, _, without) = run(&[0, 3], &[1.0, 3.0]);
        assert!(tiny && !none);
        assert_eq!(products, [4.0, 8e-250, 2.0, 0.0]);
        assert_eq!(sum, without);
        assert_eq!(sum, [0.5 / 4.0 + 3.0 * 0.25 / 2.0; 8]);
        // At the border it is known.
        let border = [TINY; 8];
        let bag = Bag {
            ids: &[0],
            counts: &[1.0],
            rows: &border,
        };
        let mut own = [0.0; 8];
        own[3] = 1.0;
        assert!(!sweep(bag, &own, &mut [0.0], &mut [0.0; 8]));
        own[3] = 0.999;
        assert!(sweep(bag, &own, &mut [0.0], &mut [0.0; 8]));
    }
}
