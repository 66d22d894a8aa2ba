//! The metric of a softmax sum as a matrix: blocks between components that share rows (maths §10.8).

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::{BLOCK, Block, SoftmaxSum};
use crate::collapsed::Potential;
use crate::error::Result;
use crate::kernel::product::{LANES, accumulate, alignment, gather};
use crate::parallel::Chunks;

/// Features whose products with all later ones are summed at a time.
const TILE: usize = 20;
/// Sums that fill half of a processor's second cache; tiles beyond it wait for another look at the rows.
const MOST: usize = 100_000;
/// Rows of a file that are looked at by one thread, and by all, before their products are added.
const PART: usize = 16 * BLOCK;
const AT_ONCE: usize = 32 * PART;

/// Which rows each component has a share of.
#[derive(Debug)]
pub struct Overlaps {
    /// Rows with their responsibilities times the roots of their weights, in order, for each component; none where rows are in a
    /// file, from which they are found again.
    components: Vec<Vec<(u32, f64)>>,
    /// Pairs of components, the first before the second, that share a row of a file.
    met: Vec<bool>,
    /// What the least share is.
    least: f64,
    /// How often two components share a row.
    pairs: u64,
}

impl Overlaps {
    fn new(components: usize, least: f64) -> Self {
        Self {
            components: vec![vec![]; components],
            met: vec![false; components * components],
            least,
            pairs: 0,
        }
    }

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
        let listed = self.rows().file().is_none();
        let part = |index: usize| -> Result<Overlaps> {
            let mut part = Overlaps::new(components, least);
            self.visit(messages, chunks.range(index), |block, _, all| {
                each_shared(block, all, (components, least), |row, shares| {
                    let count = shares.len() as u64;
                    part.pairs += count * (count - 1) / 2;
                    for (place, &(k, share)) in shares.iter().enumerate() {
                        if listed {
                            part.components[k].push((row as u32, share));
                        } else {
                            for &(l, _) in &shares[place + 1..] {
                                part.met[k * components + l] = true;
                            }
                        }
                    }
                });
            })?;
            Ok(part)
        };
        let parts: Vec<_> = (0..chunks.count()).into_par_iter().map(part).collect();
        let mut all = Overlaps::new(components, least);
        for part in parts {
            let part = part?;
            all.pairs += part.pairs;
            for (all, mut part) in all.components.iter_mut().zip(part.components) {
                all.append(&mut part);
            }
            for (all, part) in all.met.iter_mut().zip(part.met) {
                *all |= part;
            }
        }
        Ok(all)
    }

    /// $\nabla^2 A = \sum_n (\operatorname{diag} r_n - r_n r_n') \otimes \psi_n\psi_n'$ from the rows that components
    /// share: between two of them it is $-\sum_n r_{nk} r_{nl}\psi_n\psi_n'$, and a component's own block is less the sum
    /// of its others, since responsibilities add up to one.
    ///
    /// Rows of a file are read again, once, or more often where there is no room for the sums of all pairs at once.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn metric_blocks(&self, messages: &[f64], overlaps: &Overlaps) -> Result<ComponentBlocks> {
        let (components, features) = (self.components(), self.features());
        let pairs = (0..components).flat_map(|k| (k + 1..components).map(move |l| (k, l)));
        let pairs: Vec<(usize, usize)> = pairs.collect();
        let found = if let Some(mapped) = self.rows().file() {
            self.products_read(messages, overlaps, &pairs, mapped.stored().room())?
        } else {
            let between = |&(k, l): &(usize, usize)| {
                let shared = overlaps.shared(k, l);
                (!shared.is_empty()).then(|| self.products(&shared))
            };
            pairs.par_iter().map(between).collect()
        };
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
        Ok(ComponentBlocks {
            components,
            features,
            blocks,
            symmetric: true,
        })
    }

    /// $\sum_n r_{nk}r_{nl}\psi_n\psi_n'$ of pairs of components from rows that are read, as many pairs at a time as there is room
    /// for: what [`SoftmaxSum::products`] makes of each, to the same bits.
    fn products_read(
        &self,
        messages: &[f64],
        overlaps: &Overlaps,
        pairs: &[(usize, usize)],
        room: usize,
    ) -> Result<Vec<Option<Vec<f64>>>> {
        let (components, p, columns) = (self.components(), self.features(), self.rows().columns());
        let mut found: Vec<Option<Vec<f64>>> = vec![None; pairs.len()];
        let met: Vec<usize> = (0..pairs.len())
            .filter(|&at| overlaps.met[pairs[at].0 * components + pairs[at].1])
            .collect();
        let bytes = 8 * (Tiles::new(p).entries() * LANES + (columns + 1) * BLOCK);
        for some in met.chunks((room / bytes).max(1)) {
            // Where the sums of a pair are among those of this time.
            let mut place = vec![None; components * components];
            for (at, &pair) in some.iter().enumerate() {
                place[pairs[pair].0 * components + pairs[pair].1] = Some(at);
            }
            let sums: Vec<Mutex<PairSum>> = (some.iter())
                .map(|_| Mutex::new(PairSum::new(p, columns)))
                .collect();
            let rows = self.rows().len();
            for first in (0..rows).step_by(AT_ONCE) {
                let batch = first..rows.min(first + AT_ONCE);
                let parts: Vec<_> = (batch.step_by(PART).collect::<Vec<_>>().into_par_iter())
                    .map(|first| {
                        let part = first..rows.min(first + PART);
                        self.shares_of(messages, part, overlaps.least, &place)
                    })
                    .collect();
                let mut batch = vec![];
                for part in parts {
                    batch.push(part?);
                }
                // Each pair takes its rows in their order, whoever adds them.
                sums.par_iter().enumerate().for_each(|(at, sum)| {
                    let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
                    for part in &batch {
                        for (row, share) in &part.pairs[at] {
                            let row = &part.rows[row * columns..(row + 1) * columns];
                            sum.add(self, row, *share);
                        }
                    }
                });
            }
            for (sum, &pair) in sums.into_iter().zip(some) {
                let sum = sum.into_inner().unwrap_or_else(PoisonError::into_inner);
                found[pair] = Some(sum.end(self));
            }
        }
        Ok(found)
    }

    /// Which rows of a part of a file pairs of components share, by where their sums are.
    fn shares_of(
        &self,
        messages: &[f64],
        rows: Range<usize>,
        least: f64,
        place: &[Option<usize>],
    ) -> Result<Shared> {
        let components = self.components();
        let count = place.iter().flatten().count();
        let mut shared = Shared {
            rows: vec![],
            pairs: vec![vec![]; count],
        };
        let mut kept = 0;
        self.visit(messages, rows, |block, _, all| {
            each_shared(block, all, (components, least), |row, shares| {
                let mut any = false;
                for (at, &(k, share)) in shares.iter().enumerate() {
                    for &(l, of) in &shares[at + 1..] {
                        if let Some(place) = place[k * components + l] {
                            shared.pairs[place].push((kept, share * of));
                            any = true;
                        }
                    }
                }
                if any {
                    let column = row - block.first;
                    let numbers = block.values.iter().skip(column).step_by(block.width);
                    shared.rows.extend(numbers);
                    kept += 1;
                }
            });
        })?;
        Ok(shared)
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
        let tiles = Tiles::new(p);
        for some in tiles.at_once() {
            let sums = Tiles::entries_of(some, p);
            let scratch = (2 * p + columns) * BLOCK;
            let all = sums * LANES + scratch;
            self.buffers.lend(all + LANES, |buffer| {
                let start = alignment(buffer);
                let (lanes, rest) = buffer[start..start + all].split_at_mut(sums * LANES);
                let (made, data) = rest.split_at_mut(2 * p * BLOCK);
                for rows in weighted.chunks(BLOCK) {
                    let width = rows.len();
                    for (at, (number, _)) in rows.iter().enumerate() {
                        self.rows().row(*number as usize, &mut row);
                        for (column, x) in row.iter().enumerate() {
                            data[column * width + at] = *x;
                        }
                    }
                    let shares = rows.iter().map(|(_, share)| *share);
                    self.add_products(some, &data[..columns * width], &shares, made, lanes);
                }
                Tiles::gather(some, p, lanes, &mut out);
            });
        }
        out
    }

    /// Adds the products of the features of a block of rows to the lanes of tiles; `made` has room for twice the features.
    fn add_products(
        &self,
        tiles: &[(usize, usize)],
        data: &[f64],
        shares: &(impl ExactSizeIterator<Item = f64> + Clone),
        made: &mut [f64],
        lanes: &mut [f64],
    ) {
        let (p, width) = (self.features(), shares.len());
        let (features, scaled) = made.split_at_mut(p * BLOCK);
        let features = &mut features[..p * width];
        self.kind().expand(data, width, features);
        let scaled = &mut scaled[..p * width];
        let lines = features
            .chunks_exact(width)
            .zip(scaled.chunks_exact_mut(width));
        for (line, scaled) in lines {
            for ((scaled, x), weight) in scaled.iter_mut().zip(line).zip(shares.clone()) {
                *scaled = weight * x;
            }
        }
        let mut place = 0;
        for &(from, to) in tiles {
            let shape = (to - from, p - from);
            let end = place + shape.0 * shape.1 * LANES;
            let scaled = &scaled[from * width..to * width];
            let lanes = &mut lanes[place..end];
            accumulate(scaled, &features[from * width..], shape, width, lanes);
            place = end;
        }
    }
}

/// Visits the rows of a block that components share: each with the components and their responsibilities of at least `least`, as
/// parts of their total, times the root of the row's weight.
fn each_shared(
    block: Block<'_>,
    all: &[f64],
    (components, least): (usize, f64),
    mut visit: impl FnMut(usize, &[(usize, f64)]),
) {
    let mut shares = Vec::with_capacity(components);
    for column in 0..block.width {
        shares.clear();
        let each = (0..components).map(|k| (k, all[k * block.width + column]));
        shares.extend(each.filter(|(_, share)| *share >= least));
        let total: f64 = shares.iter().map(|(_, share)| share).sum();
        let root = block.weights.map_or(1.0, |weights| weights[column]).sqrt();
        if shares.len() > 1 && root > 0.0 {
            // Two shares are multiplied, which makes the weight of the row.
            for (_, share) in &mut shares {
                *share = *share / total * root;
            }
            visit(block.first + column, &shares);
        }
    }
}

/// Rows of a part of a file that components share.
struct Shared {
    /// Their numbers, row by row.
    rows: Vec<f64>,
    /// For each pair, its rows among them, with the products of their responsibilities.
    pairs: Vec<Vec<(usize, f64)>>,
}

/// The sum over the rows that two components share, as they come.
struct PairSum {
    /// In lanes, from where vectors are aligned.
    lanes: Vec<f64>,
    start: usize,
    /// Rows that wait for a block to be full, row by row, and their shares.
    rows: Vec<f64>,
    shares: Vec<f64>,
}

impl PairSum {
    fn new(p: usize, columns: usize) -> Self {
        let lanes = vec![0.0; Tiles::new(p).entries() * LANES + LANES];
        Self {
            start: alignment(&lanes),
            lanes,
            rows: Vec::with_capacity(columns * BLOCK),
            shares: Vec::with_capacity(BLOCK),
        }
    }

    fn add(&mut self, sum: &SoftmaxSum, row: &[f64], share: f64) {
        self.rows.extend(row);
        self.shares.push(share);
        if self.shares.len() == BLOCK {
            self.flush(sum);
        }
    }

    fn flush(&mut self, sum: &SoftmaxSum) {
        let (p, columns, width) = (sum.features(), sum.rows().columns(), self.shares.len());
        let tiles = Tiles::new(p);
        sum.buffers
            .lend((2 * p + columns) * BLOCK + LANES, |buffer| {
                let start = alignment(buffer);
                let (made, data) = buffer[start..].split_at_mut(2 * p * BLOCK);
                for (at, row) in self.rows.chunks_exact(columns).enumerate() {
                    for (column, x) in row.iter().enumerate() {
                        data[column * width + at] = *x;
                    }
                }
                let data = &data[..columns * width];
                let shares = self.shares.iter().copied();
                sum.add_products(&tiles.0, data, &shares, made, &mut self.lanes[self.start..]);
            });
        self.rows.clear();
        self.shares.clear();
    }

    fn end(mut self, sum: &SoftmaxSum) -> Vec<f64> {
        if !self.shares.is_empty() {
            self.flush(sum);
        }
        let p = sum.features();
        let mut out = vec![0.0; p * p];
        Tiles::gather(&Tiles::new(p).0, p, &self.lanes[self.start..], &mut out);
        out
    }
}

/// Features of products of features, some rows of the matrix at a time, each from its diagonal on.
struct Tiles(Vec<(usize, usize)>);

impl Tiles {
    fn new(p: usize) -> Self {
        let first = (0..p).step_by(TILE);
        Self(first.map(|from| (from, (from + TILE).min(p))).collect())
    }

    /// Sums of some tiles.
    fn entries_of(tiles: &[(usize, usize)], p: usize) -> usize {
        tiles
            .iter()
            .map(|(from, to)| (to - from) * (p - from))
            .sum()
    }

    fn entries(&self) -> usize {
        let p = self.0.last().map_or(0, |(_, last)| *last);
        Self::entries_of(&self.0, p)
    }

    /// Tiles whose sums stay near a processor, again and again.
    fn at_once(&self) -> impl Iterator<Item = &[(usize, usize)]> {
        let p = self.0.last().map_or(0, |(_, last)| *last);
        let mut left = &self.0[..];
        std::iter::from_fn(move || {
            let (mut sums, mut count) = (0, 0);
            while count < left.len() && sums < MOST {
                sums += Self::entries_of(&left[count..=count], p);
                count += 1;
            }
            let (some, rest) = left.split_at(count);
            left = rest;
            (count > 0).then_some(some)
        })
    }

    /// Writes the sums of some tiles into both halves of a square matrix.
    fn gather(tiles: &[(usize, usize)], p: usize, lanes: &[f64], out: &mut [f64]) {
        let mut place = 0;
        for &(from, to) in tiles {
            let shape = (to - from, p - from);
            let mut sums = vec![0.0; shape.0 * shape.1];
            gather(&lanes[place..place + sums.len() * LANES], &mut sums);
            place += sums.len() * LANES;
            for (i, line) in (from..to).zip(sums.chunks_exact(shape.1)) {
                for (j, sum) in (from..p).zip(line) {
                    out[i * p + j] = *sum;
                    out[j * p + i] = *sum;
                }
            }
        }
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
            let blocks = sum.metric_blocks(&messages, &overlaps).expect("in memory");
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
