//! Decides what of a read matters: which transcripts it may come from, and in which proportions.
//!
//! - `sort`: rows by component, in the memory that they have

mod sort;

use std::ops::Range;

use hashbrown::HashTable;

use sort::{sort_entries, sort_rows, sorted_starts};

use super::components::{self, Component};
use collapsar_core::elementary::Elementary;
use collapsar_core::{Error, Place, Result, digest};

/// How reads are made smaller before they are counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compression {
    /// Alignments less likely than the read's best times this are dropped (maths §8.4); never fewer than
    /// those below 1e-300, which no number could hold.
    pub cut: f64,
    /// Reads whose log ratios between transcripts agree to about so many nats are one row, at
    /// their mean (maths §8.3); zero merges rows that agree bit for bit.
    pub grain: f64,
}

impl Default for Compression {
    fn default() -> Self {
        Self {
            cut: 1e-12,
            grain: 1e-3,
        }
    }
}

/// The least weight that can be told from zero with room for messages.
const SMALLEST: f64 = 1e-300;

/// Rows that room is made for before they come.
const MOST_RESERVED: u64 = 1 << 20;

/// Takes reads one by one, keeps rows.
#[derive(Debug)]
pub struct ReadsBuilder {
    compression: Compression,
    /// The logarithm of the ratio to the best below which an alignment is dropped.
    ln_cut: f64,
    /// In the order of the input: `weights` are sums over the row's reads of the log ratios to its first
    /// transcript, `constants` sums of log-probabilities by the first transcript of the rows that they
    /// belong to, `cut` sums over the row's reads of all that was cut, relative to the best.
    reads: Reads,
    /// Digests of transcripts and log ratios in grains, by which rows are known again: of a
    /// million rows with the same transcripts, two would be taken for one in a case of 10^8.
    digests: Vec<u64>,
    rows: HashTable<u32>,
    entries: Vec<(u32, f64)>,
}

impl ReadsBuilder {
    /// No reads yet, `transcripts` to come from.
    pub fn new(transcripts: usize, compression: Compression) -> Result<Self> {
        let Compression { cut, grain } = compression;
        if !(0.0..1.0).contains(&cut) {
            return Err(Error::setting("cut", cut, "a ratio from 0 to below 1"));
        }
        if !(0.0..=1.0).contains(&grain) {
            return Err(Error::setting("grain", grain, "nats from 0 to 1"));
        }
        Ok(Self {
            compression,
            ln_cut: cut.max(SMALLEST).ln_(),
            reads: Reads {
                unique: vec![0.0; transcripts],
                unique_cut: vec![0.0; transcripts],
                constants: vec![0.0; transcripts],
                starts: vec![0],
                ..Reads::default()
            },
            digests: vec![],
            rows: HashTable::new(),
            entries: vec![],
        })
    }

    /// Makes room for so many reads, and up to a million rows of them: where a list has the memory
    /// it will need, growing leaves no holes behind, and what is never filled is never resident.
    pub fn reserve(&mut self, reads: u64) {
        let rows = reads.min(MOST_RESERVED) as usize;
        self.digests.reserve(rows);
        self.reads.starts.reserve(rows);
        self.reads.counts.reserve(rows);
        self.reads.cut.reserve(rows);
        self.reads.ids.reserve(2 * rows);
        self.reads.weights.reserve(2 * rows);
    }

    /// Adds `count` reads with the same alignments: transcripts and ln p(read | transcript).
    ///
    /// # Errors
    /// [`Error::Data`] where there is no alignment, a transcript does not exist, or a
    /// log-probability is not a number; the builder is then as before.
    pub fn push(&mut self, alignments: &[(u32, f64)], count: f64) -> Result<()> {
        self.gather(alignments, count)?;
        if self.reads.ids.len() + self.entries.len() > u32::MAX as usize {
            let found = "more than four billion different weights";
            let expected = "fewer; a coarser grain merges more of them";
            return Err(Error::data(Place::Whole("reads"), found, expected));
        }
        self.reads.alignments += alignments.len() as u64;
        let best = self.entries.iter().map(|e| e.1).fold(f64::MIN, f64::max);
        let floor = best + self.ln_cut;
        let mut dropped = 0.0;
        self.entries.retain(|&(_, lp)| {
            let keep = lp >= floor;
            if !keep {
                dropped += (lp - best).exp_();
            }
            keep
        });
        let (first, base) = self.entries[0];
        let first = first as usize;
        if self.entries.len() == 1 {
            self.reads.unique[first] += count;
            self.reads.unique_cut[first] += count * dropped;
            self.reads.unique_constant += count * base;
            return Ok(());
        }
        let row = self.row(base);
        let reads = &mut self.reads;
        let start = reads.starts[row] as usize;
        for (ratio, &(_, lp)) in reads.weights[start..].iter_mut().zip(&self.entries) {
            *ratio += count * (lp - base);
        }
        reads.counts[row] += count;
        reads.constants[first] += count * base;
        if dropped > 0.0 {
            reads.cut[row] += (count * dropped) as f32 + f32::MIN_POSITIVE;
        }
        Ok(())
    }

    /// Checks a read's alignments and sorts them by transcript into `entries`, repeats summed.
    fn gather(&mut self, alignments: &[(u32, f64)], count: f64) -> Result<()> {
        let transcripts = self.reads.transcripts();
        let refuse =
            |found: String, expected: &str| Err(Error::data(Place::Whole("read"), found, expected));
        if alignments.is_empty() {
            return refuse("no alignment".into(), "at least one");
        }
        if !(count > 0.0 && count.is_finite() && count.fract() == 0.0) {
            return refuse(format!("a count of {count}"), "a positive whole number");
        }
        for &(id, lp) in alignments {
            if id as usize >= transcripts {
                return refuse(format!("transcript {id}"), &format!("one of {transcripts}"));
            }
            if !lp.is_finite() {
                return refuse(format!("a log-probability of {lp}"), "a finite number");
            }
        }
        self.entries.clear();
        self.entries.extend_from_slice(alignments);
        self.entries
            .sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        self.entries.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                // The larger comes first.
                kept.1 += (next.1 - kept.1).exp_().ln_1p_();
            }
            same
        });
        Ok(())
    }

    /// The row that `entries` belong to, made where there is none.
    fn row(&mut self, base: f64) -> usize {
        let grain = self.compression.grain;
        let digest = mix(self.entries.iter().map(|&(id, lp)| {
            let ratio = lp - base;
            let key = if grain > 0.0 {
                (ratio / grain).round() as i64
            } else {
                ratio.to_bits().cast_signed()
            };
            (id, key)
        }));
        let reads = &mut self.reads;
        let found = self.rows.find(digest, |&row| {
            let row = row as usize;
            let ids = &reads.ids[range(&reads.starts, row)];
            self.digests[row] == digest && ids.iter().eq(self.entries.iter().map(|(id, _)| id))
        });
        if let Some(&row) = found {
            return row as usize;
        }
        let row = reads.counts.len();
        reads.ids.extend(self.entries.iter().map(|(id, _)| id));
        reads.weights.resize(reads.ids.len(), 0.0);
        reads.starts.push(reads.ids.len() as u32);
        reads.counts.push(0.0);
        reads.cut.push(0.0);
        self.digests.push(digest);
        let digests = &self.digests;
        self.rows
            .insert_unique(digest, row as u32, |&row| digests[row as usize]);
        row
    }

    /// The rows, by connected component.
    ///
    /// # Errors
    /// [`Error::Data`] where there are no reads.
    pub fn finish(self) -> Result<Reads> {
        let mut reads = self.reads;
        reads.total = reads.unique_reads() + reads.counts.iter().sum::<f64>();
        if reads.total == 0.0 {
            let found = "none with an alignment";
            return Err(Error::data(Place::Whole("reads"), found, "at least one"));
        }
        drop((self.rows, self.digests));
        for (row, &count) in reads.counts.iter().enumerate() {
            let weights = &mut reads.weights[range(&reads.starts, row)];
            let best = weights.iter().copied().fold(f64::MIN, f64::max) / count;
            for weight in weights {
                *weight = (*weight / count - best).exp_();
            }
            let first = reads.ids[reads.starts[row] as usize];
            reads.constants[first as usize] += count * best;
            reads.cut[row] /= count as f32;
        }
        let split = components::split(reads.transcripts(), &reads.starts, &reads.ids);
        for id in &mut reads.ids {
            *id = split.places[*id as usize];
        }
        let rows = &split.rows;
        sort_entries(rows, &reads.starts, &mut reads.ids, &mut reads.weights);
        sort_rows(rows, &mut reads.counts);
        sort_rows(rows, &mut reads.cut);
        reads.starts = sorted_starts(rows, &reads.starts);
        for values in [
            &mut reads.unique,
            &mut reads.unique_cut,
            &mut reads.constants,
        ] {
            sort_rows(&split.order, values);
        }
        let constants = split.components.iter();
        let constants = constants.map(|own| reads.constants[own.places.clone()].iter().sum());
        reads.constants = constants.collect();
        let longest = reads.starts.windows(2).map(|w| w[1] - w[0]).max();
        reads.longest = longest.unwrap_or(0) as usize;
        (reads.rows, reads.entries) = (reads.counts.len(), reads.ids.len());
        (reads.order, reads.components) = (split.order, split.components);
        Ok(reads)
    }
}

/// Where the entries of `row` stand.
pub(super) fn range(starts: &[u32], row: usize) -> Range<usize> {
    starts[row] as usize..starts[row + 1] as usize
}

/// A hash of a row: rotations and odd multiplications, finished so that all bits count.
fn mix(row: impl Iterator<Item = (u32, i64)>) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let hash = row.fold(0_u64, |hash, (id, key)| {
        let hash = (hash.rotate_left(23) ^ u64::from(id)).wrapping_mul(ODD);
        (hash.rotate_left(23) ^ key.cast_unsigned()).wrapping_mul(ODD)
    });
    (hash ^ (hash >> 32)).wrapping_mul(ODD)
}

/// Reads as the model sees them: counts of unique ones, and rows of weights with a count each.
///
/// Transcripts stand in an order of their own, components one after another; [`Reads::order`]
/// tells which is which.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reads {
    pub(crate) unique: Vec<f64>,
    pub(crate) unique_cut: Vec<f64>,
    pub(crate) unique_constant: f64,
    pub(crate) order: Vec<u32>,
    pub(crate) components: Vec<Component>,
    pub(crate) starts: Vec<u32>,
    pub(crate) ids: Vec<u32>,
    pub(crate) weights: Vec<f64>,
    pub(crate) counts: Vec<f64>,
    pub(crate) cut: Vec<f32>,
    pub(crate) constants: Vec<f64>,
    /// Most weights in a row.
    pub(crate) longest: usize,
    rows: usize,
    entries: usize,
    total: f64,
    alignments: u64,
}

impl Reads {
    /// How many transcripts, those without reads included.
    pub fn transcripts(&self) -> usize {
        self.unique.len()
    }

    /// How many reads.
    pub fn reads(&self) -> f64 {
        self.total
    }

    /// How many alignments were given, before anything was cut or merged.
    pub fn alignments(&self) -> u64 {
        self.alignments
    }

    /// How many reads may come from one transcript only.
    pub fn unique_reads(&self) -> f64 {
        self.unique.iter().sum()
    }

    /// How many different rows the other reads make.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many weights these rows hold.
    pub fn entries(&self) -> usize {
        self.entries
    }

    /// Frees the rows, most of the memory, once nothing is climbed or drawn any more.
    ///
    /// How many there were stays known, and so does all that [`Abundances`](super::Abundances) need; a
    /// model made of what is left has unique reads only.
    pub fn forget_rows(&mut self) {
        self.starts = vec![0];
        (self.ids, self.weights, self.counts, self.cut) = (vec![], vec![], vec![], vec![]);
        for component in &mut self.components {
            component.rows = 0..0;
        }
    }

    /// How many transcripts share reads; they stand first.
    pub(super) fn shared(&self) -> usize {
        self.components.last().map_or(0, |last| last.places.end)
    }

    /// The components that share reads, largest first.
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// The transcript at each place.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Values by place, sorted by transcript.
    pub fn by_transcript<T: Copy + Default>(&self, values: &[T]) -> Vec<T> {
        let mut out = vec![T::default(); values.len()];
        for (&transcript, &value) in self.order.iter().zip(values) {
            out[transcript as usize] = value;
        }
        out
    }

    /// The same reads in fewer rows: those whose log ratios agree to about `grain` nats are one.
    ///
    /// # Errors
    /// [`Error::Setting`] where the grain is out of range.
    pub fn coarser(&self, grain: f64) -> Result<Self> {
        let compression = Compression { cut: 0.0, grain };
        let mut builder = ReadsBuilder::new(self.transcripts(), compression)?;
        let mut row = vec![];
        for (index, &count) in self.counts.iter().enumerate() {
            let range = range(&self.starts, index);
            let places = self.ids[range.clone()].iter();
            row.clear();
            row.extend((places.zip(&self.weights[range])).map(|(&p, w)| (p, w.ln_())));
            builder.push(&row, count)?;
        }
        builder.reads.unique.clone_from(&self.unique);
        builder.finish()
    }

    /// Where the transcripts of a component of coarser reads stand in those they were made from.
    pub(super) fn before(&self, component: &Component) -> Range<usize> {
        let first = self.order[component.places.start] as usize;
        first..first + component.places.len()
    }

    /// Tells data sets apart.
    pub(crate) fn digest(&self) -> u64 {
        let ids = self.ids.iter().flat_map(|x| x.to_le_bytes());
        let floats = self.weights.iter().chain(&self.counts).chain(&self.unique);
        let floats = floats.flat_map(|x| x.to_bits().to_le_bytes());
        let starts = (self.starts.iter()).flat_map(|&x| u64::from(x).to_le_bytes());
        digest(ids.chain(starts).chain(floats))
    }
}

#[cfg(test)]
mod tests;
