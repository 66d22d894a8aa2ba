//! The metric of a softmax sum as a matrix: blocks between components that share rows (maths §10.8).

use rayon::prelude::*;

use super::{BLOCK, SoftmaxSum};
use crate::collapsed::Potential;
use crate::error::Result;
use crate::kernel::product::{LANES, accumulate, alignment, gather};
use crate::parallel::Chunks;

/// Features whose products with all later ones are summed at a time.
const TILE: usize = 20;
/// Sums that fill half of a processor's second cache; tiles beyond it wait for another look at the rows.
const MOST: usize = 100_000;

/// Which rows each component has a share of.
#[derive(Debug)]
pub struct Overlaps {
    /// Rows with their responsibilities times the roots of their weights, in order, for each component.
    components: Vec<Vec<(u32, f64)>>,
    /// How often two components share a row.
    pairs: u64,
}

impl Overlaps {
    /// How often two components share a row: what the metric costs, in products of features.
    pub fn pairs(&self) -> u64 {
        self.pairs
    }

    /// Rows that two components share, with the products of their responsibilities.
    fn shared(&self, one: usize, other: usize) -> Vec<(u32, f64)> {
        let mut others = self.components[other].iter().peekable();
        let mut shared = vec![];
        for &(row, share) in &self.components[one] {
            while others.next_if(|(before, _)| *before < row).is_some() {}
            if let Some((_, of)) = others.next_if(|(same, _)| *same == row) {
                shared.push((row, share * of));
            }
        }
        shared
    }
}

/// A symmetric matrix of square blocks between components, which is zero where there is none.
#[derive(Debug)]
pub struct ComponentBlocks {
    components: usize,
    features: usize,
    /// By pairs of components, the first no later than the second.
    blocks: Vec<Option<Vec<f64>>>,
    /// Whether each block is symmetric too.
    symmetric: bool,
}

impl ComponentBlocks {
    /// The block between two components; symmetric, as it is the same for both orders.
    pub fn get(&self, one: usize, other: usize) -> Option<&[f64]> {
        let (first, last) = (one.min(other), one.max(other));
        self.blocks[first * self.components + last].as_deref()
    }

    /// The entry between two messages.
    pub fn entry(&self, row: usize, column: usize) -> f64 {
        let p = self.features;
        let block = self.get(row / p, column / p);
        let (mut i, mut j) = (row % p, column % p);
        if !self.symmetric && row / p > column / p {
            (i, j) = (j, i);
        }
        block.map_or(0.0, |block| block[i * p + j])
    }
}

impl SoftmaxSum {
    /// Which rows each component has a share of that is no smaller than `least`. One pass.
    ///
    /// # Errors
    /// [`crate::Error::Datum`] where a row has no finite value.
    pub fn overlaps(&self, messages: &[f64], least: f64) -> Result<Overlaps> {
        let components = self.components();
        let chunks = Chunks::new(self.rows().len(), BLOCK);
        let part = |index: usize| -> Result<Overlaps> {
            let mut part = Overlaps {
                components: vec![vec![]; components],
                pairs: 0,
            };
            self.visit(messages, chunks.range(index), |first, width, _, all| {
                for column in 0..width {
                    let shares = (0..components).map(|k| (k, all[k * width + column]));
                    let known = || shares.clone().filter(|(_, share)| *share >= least);
                    let total: f64 = known().map(|(_, share)| share).sum();
                    let count = known().count() as u64;
                    let root = self.weight(first + column).sqrt();
                    if count > 1 && root > 0.0 {
                        part.pairs += count * (count - 1) / 2;
                        for (k, share) in known() {
                            // Two shares are multiplied, which makes the weight of the row.
                            let share = share / total * root;
                            part.components[k].push(((first + column) as u32, share));
                        }
                    }
                }
            })?;
            Ok(part)
        };
        let parts: Vec<_> = (0..chunks.count()).into_par_iter().map(part).collect();
        let mut all = Overlaps {
            components: vec![vec![]; components],
            pairs: 0,
        };
        for part in parts {
            let part = part?;
            all.pairs += part.pairs;
            for (all, mut part) in all.components.iter_mut().zip(part.components) {
                all.append(&mut part);
            }
        }
        Ok(all)
    }

    /// $\nabla^2 A = \sum_n (\operatorname{diag} r_n - r_n r_n') \otimes \psi_n\psi_n'$ from the rows that components
    /// share: between two of them it is $-\sum_n r_{nk} r_{nl}\psi_n\psi_n'$, and a component's own block is less the sum
    /// of its others, since responsibilities add up to one.
    pub fn metric_blocks(&self, overlaps: &Overlaps) -> ComponentBlocks {
        let (components, features) = (self.components(), self.features());
        let pairs = (0..components).flat_map(|k| (k + 1..components).map(move |l| (k, l)));
        let pairs: Vec<(usize, usize)> = pairs.collect();
        let between = |&(k, l): &(usize, usize)| {
            let shared = overlaps.shared(k, l);
            (!shared.is_empty()).then(|| self.products(&shared))
        };
        let found: Vec<Option<Vec<f64>>> = pairs.par_iter().map(between).collect();
        let mut blocks: Vec<Option<Vec<f64>>> = vec![None; components * components];
        for ((k, l), block) in pairs.into_iter().zip(found) {
            let Some(mut block) = block else { continue };
            for own in [k, l] {
                let sum = &mut blocks[own * components + own];
                let sum = sum.get_or_insert_with(|| vec![0.0; features * features]);
                crate::vector::add(sum, 1.0, &block);
            }
            for entry in &mut block {
                *entry = -*entry;
            }
            blocks[k * components + l] = Some(block);
        }
        ComponentBlocks {
            components,
            features,
            blocks,
            symmetric: true,
        }
    }

    /// The same for rows with gaps, one pass for each message: what is missing there is not known but for its
    /// distribution, so that there is more than products of features.
    ///
    /// # Errors
    /// As [`crate::Potential::hessian_product`].
    pub fn metric_blocks_at(&self, messages: &[f64]) -> Result<ComponentBlocks> {
        let (components, features) = (self.components(), self.features());
        let mut blocks = vec![None; components * components];
        for k in 0..components {
            for l in k..components {
                blocks[k * components + l] = Some(vec![0.0; features * features]);
            }
        }
        let (mut unit, mut column) = (vec![0.0; messages.len()], vec![0.0; messages.len()]);
        for at in 0..components * features {
            unit[at] = 1.0;
            self.hessian_product(messages, &unit, &mut column)?;
            unit[at] = 0.0;
            let (k, feature) = (at / features, at % features);
            for (l, entries) in column.chunks_exact(features).enumerate().skip(k) {
                let Some(block) = blocks.get_mut(k * components + l).and_then(Option::as_mut)
                else {
                    continue;
                };
                // Row by row as of the first component, which an entry of the second's column is not.
                for (of, entry) in entries.iter().enumerate() {
                    block[feature * features + of] = *entry;
                }
            }
        }
        Ok(ComponentBlocks {
            components,
            features,
            blocks,
            symmetric: false,
        })
    }

    /// $\sum_n w_n\psi_n\psi_n'$ over some rows, as a square matrix.
    fn products(&self, weighted: &[(u32, f64)]) -> Vec<f64> {
        let (p, columns) = (self.features(), self.rows().columns());
        let mut out = vec![0.0; p * p];
        let mut row = vec![0.0; columns];
        let mut first = 0;
        while first < p {
            let mut tiles = vec![];
            let (mut next, mut sums) = (first, 0);
            while next < p && sums < MOST {
                let last = (next + TILE).min(p);
                tiles.push((next, last, sums * LANES));
                sums += (last - next) * (p - next);
                next = last;
            }
            let scratch = (2 * p + columns) * BLOCK;
            let all = sums * LANES + scratch;
            self.buffers.lend(all + LANES, |buffer| {
                let start = alignment(buffer);
                let (lanes, rest) = buffer[start..start + all].split_at_mut(sums * LANES);
                let (features, rest) = rest.split_at_mut(p * BLOCK);
                let (scaled, data) = rest.split_at_mut(p * BLOCK);
                for rows in weighted.chunks(BLOCK) {
                    let width = rows.len();
                    for (at, (number, _)) in rows.iter().enumerate() {
                        self.rows().row(*number as usize, &mut row);
                        for (column, x) in row.iter().enumerate() {
                            data[column * width + at] = *x;
                        }
                    }
                    let features = &mut features[..p * width];
                    self.kind()
                        .expand(&data[..columns * width], width, features);
                    let scaled = &mut scaled[..p * width];
                    let lines = features
                        .chunks_exact(width)
                        .zip(scaled.chunks_exact_mut(width));
                    for (line, scaled) in lines {
                        for ((scaled, x), (_, weight)) in scaled.iter_mut().zip(line).zip(rows) {
                            *scaled = weight * x;
                        }
                    }
                    for &(from, to, place) in &tiles {
                        let shape = (to - from, p - from);
                        let lanes = &mut lanes[place..place + shape.0 * shape.1 * LANES];
                        let scaled = &scaled[from * width..to * width];
                        accumulate(scaled, &features[from * width..], shape, width, lanes);
                    }
                }
                for &(from, to, place) in &tiles {
                    let shape = (to - from, p - from);
                    let mut sums = vec![0.0; shape.0 * shape.1];
                    gather(&lanes[place..place + sums.len() * LANES], &mut sums);
                    for (i, line) in (from..to).zip(sums.chunks_exact(shape.1)) {
                        for (j, sum) in (from..p).zip(line) {
                            out[i * p + j] = *sum;
                            out[j * p + i] = *sum;
                        }
                    }
                }
            });
            first = next;
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{Features, Rows};

    /// A matrix that is made of products with unit vectors is the same.
    #[test]
    fn blocks_are_the_hessian() {
        for (features, columns, components) in [
            (Features::Full, 3, 3),
            (Features::Diagonal, 2, 4),
            (Features::Spherical, 2, 2),
            (Features::Linear, 5, 3),
            (Features::Full, 6, 2),
        ] {
            let number = |i: usize| (i as f64 * 0.77).sin();
            let values: Vec<f64> = (0..300 * columns).map(number).collect();
            let rows = Rows::new(&values, columns, &vec![0.0; columns], &vec![1.0; columns]);
            let sum = SoftmaxSum::new(rows, features, components);
            let dim = sum.dim();
            let messages: Vec<f64> = (0..dim).map(|i| 3.0 * number(5 * i + 1)).collect();
            let overlaps = sum.overlaps(&messages, 1e-7).expect("finite");
            assert!(overlaps.pairs() > 0);
            let blocks = sum.metric_blocks(&overlaps);
            let (mut unit, mut column) = (vec![0.0; dim], vec![0.0; dim]);
            for at in 0..dim {
                unit[at] = 1.0;
                sum.hessian_product(&messages, &unit, &mut column)
                    .expect("finite");
                unit[at] = 0.0;
                for (row, expected) in column.iter().enumerate() {
                    let found = blocks.entry(row, at);
                    // 300 rows with features below one, each without shares of less than 1e-7.
                    assert!(
                        (found - expected).abs() < 300.0 * 1e-7,
                        "{found} {expected}"
                    );
                }
            }
        }
    }
}
