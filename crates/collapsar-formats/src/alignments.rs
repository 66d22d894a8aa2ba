//! Alignments of reads to transcripts: from SAM, BAM or CRAM to fragments and the places they may come from.
//!
//! | File | Decides |
//! |---|---|
//! | `bytes` | what the file is and how it is decompressed |
//! | `header` | which targets there are and whether the order can be used |
//! | `ahead` | how far can be seen ahead |
//! | `source` | how SAM and BAM records become plain ones |
//! | `cram` | how CRAM records do |
//! | `containers` | which containers of CRAM are decoded |
//! | `codecs` | what a packed block of them makes its decoder take |
//! | `record` | what a plain record is |
//! | `mismatches` | what an MD tag says |
//! | `score` | how likely a read's bases are at a place |
//! | `pairs` | which alignments of two mates belong together |
//! | `group` | what the alignments of one read come to |
//! | `trouble` | how a refusal is worded before its place is known |

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;

use collapsar::quant::fragment::{Placement, Sequences};

use self::group::Group;
use self::record::Record;
use self::source::{GivenSequences, Source};
use self::trouble::Trouble;
use crate::error::{Error, FilePlace, Result};
use crate::guard::guarded;

mod ahead;
mod bytes;
mod codecs;
mod containers;
mod cram;
mod group;
mod header;
mod mismatches;
mod pairs;
mod record;
mod score;
mod source;
mod trouble;

/// Reads whose names are remembered, to notice alignments of a read that are not together. A file in another
/// order shows it long before that, and a file in order pays for no more.
const REMEMBERED: usize = 100_000;

/// One target sequence of the header, in header order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// Its bases.
    pub length: u32,
}

/// A read, or the two mates of a pair, and where it may come from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fragment {
    /// The read's name.
    pub name: String,
    /// Whether it has two mates, of which one may have no place.
    pub paired: bool,
    /// All its places, never none, and all of one kind: pairs, or orphans, or single reads.
    pub placements: Vec<Placement>,
}

/// What has been read so far. Every read is one of aligned, unaligned and split.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Records of any kind.
    pub records: u64,
    /// Reads, the two mates of a pair being one.
    pub reads: u64,
    /// Reads with a place.
    pub aligned: u64,
    /// Reads without any alignment.
    pub unaligned: u64,
    /// Pairs whose mates have alignments, but none on one target.
    pub split: u64,
    /// Aligned pairs of which only one mate has alignments.
    pub orphans: u64,
    /// Places of aligned reads.
    pub placements: u64,
    /// Records of parts of a read that aligns in pieces, which are left out.
    pub supplementary: u64,
    /// Alignments that were taken for perfect, because there is neither an MD or NM tag, nor = and X, nor a
    /// sequence to compare with.
    pub unscored: u64,
}

/// Alignments, read by read.
pub struct Alignments {
    path: String,
    source: Source,
    targets: Vec<Target>,
    header_lines: u64,
    sequences: GivenSequences,
    /// The record that has been read last.
    record: Record,
    /// Whether it belongs to the next read.
    pending: bool,
    ended: bool,
    group: Group,
    names: HashSet<u64>,
    tally: Tally,
}

impl Alignments {
    /// Opens SAM, BAM or CRAM, compressed or not, told apart by content; `-` is standard input.
    ///
    /// With `workers` above 0, so many further threads decompress BAM ahead of the caller. The result does
    /// not depend on it.
    pub fn open(path: impl AsRef<Path>, workers: usize) -> Result<Self> {
        let name = match path.as_ref() {
            path if path == Path::new("-") => "standard input".to_owned(),
            path => path.display().to_string(),
        };
        let sequences = GivenSequences::default();
        let opened = guarded(|| {
            let bytes = bytes::open(path.as_ref(), workers)?;
            Source::new(bytes, &sequences)
        });
        let opened = opened.unwrap_or_else(|| Err(contradiction()));
        let (source, header) =
            opened.map_err(|trouble| trouble.at(&name, "alignment", FilePlace::Whole))?;
        Ok(Alignments {
            path: name,
            source,
            targets: header.targets,
            header_lines: header.lines,
            sequences,
            record: Record::default(),
            pending: false,
            ended: false,
            group: Group::default(),
            names: HashSet::new(),
            tally: Tally::default(),
        })
    }

    /// The target sequences of the header: the transcripts of placements, by number.
    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// What has been read so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Gives the target sequences in upper case, A, C, G, T and N, for alignments that do not say what differs and for CRAM, which cannot
    /// be read without. Before the first read; later calls change nothing.
    pub fn compare_with(&mut self, sequences: Arc<dyn Sequences + Send + Sync>) -> Result<()> {
        for (index, target) in (0..).zip(&self.targets) {
            let length = sequences.sequence(index).len();
            if length != target.length as usize {
                let found = format!(
                    "target {:?} has {} bases in the header and {length} in the sequences",
                    target.name, target.length
                );
                let trouble = Trouble::new(found, "the sequences that the reads were aligned to");
                return Err(self.error(trouble, FilePlace::Whole));
            }
        }
        // An error means that there are some already.
        let _ = self.sequences.set(sequences);
        Ok(())
    }

    /// Fills `fragment` with the next read that has a place; false at the end.
    pub fn next(&mut self, fragment: &mut Fragment) -> Result<bool> {
        // Guarded, because the CRAM crate answers some damage by a panic.
        let found = guarded(|| self.advance(fragment)).unwrap_or_else(|| {
            let place = FilePlace::Record {
                noun: "record",
                number: self.tally.records + 1,
                read: None,
            };
            Err(self.error(contradiction(), place))
        });
        self.ended |= found.is_err();
        found
    }

    fn advance(&mut self, fragment: &mut Fragment) -> Result<bool> {
        loop {
            if !self.pending && !self.read()? {
                return self.end();
            }
            self.begin()?;
            self.pending = false;
            loop {
                self.take()?;
                if !self.read()? {
                    break;
                }
                if self.record.name != self.group.name {
                    self.pending = true;
                    break;
                }
            }
            let sequences = self.sequences.get();
            let done = self.group.finish(sequences, &mut self.tally, fragment);
            done.map_err(|trouble| {
                let name = String::from_utf8_lossy(&self.group.name);
                self.error(trouble, FilePlace::Read(name.into_owned()))
            })?;
            if !fragment.placements.is_empty() {
                return Ok(true);
            }
        }
    }

    /// Reads a record; false at the end.
    fn read(&mut self) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        let read = self.source.read(&mut self.record);
        self.ended = matches!(read, Ok(false));
        if self.ended {
            return Ok(false);
        }
        self.tally.records += 1;
        read.map_err(|trouble| self.error(trouble, self.place(false)))?;
        // Some aligners leave the mate's number at the end of the name.
        let name = &mut self.record.name;
        if self.record.flags.is_segmented() && (name.ends_with(b"/1") || name.ends_with(b"/2")) {
            name.truncate(name.len() - 2);
        }
        if name.is_empty() {
            let trouble = Trouble::new("has no name", "the read's name in every record");
            return Err(self.error(trouble, self.place(false)));
        }
        Ok(true)
    }

    /// A read's first record.
    fn begin(&mut self) -> Result<()> {
        self.group.begin(&self.record.name);
        if self.tally.reads < REMEMBERED as u64 {
            let mut hasher = DefaultHasher::new();
            self.record.name.hash(&mut hasher);
            if !self.names.insert(hasher.finish()) {
                let trouble = Trouble::new(
                    "comes back after records of other reads",
                    "all alignments of a read together",
                )
                .hint("samtools collate or samtools sort -n");
                return Err(self.error(trouble, self.place(true)));
            }
        } else {
            self.names = HashSet::new();
        }
        self.tally.reads += 1;
        Ok(())
    }

    fn take(&mut self) -> Result<()> {
        let taken = self.group.take(
            &self.record,
            &self.targets,
            self.sequences.get(),
            &mut self.tally,
        );
        taken.map_err(|trouble| self.error(trouble, self.place(true)))
    }

    fn end(&self) -> Result<bool> {
        if self.tally.records == 0 {
            let trouble = Trouble::new("a header without records", "at least one alignment");
            return Err(self.error(trouble, FilePlace::Whole));
        }
        Ok(false)
    }

    fn error(&self, trouble: Trouble, place: FilePlace) -> Error {
        trouble.at(&self.path, self.source.format(), place)
    }

    fn place(&self, named: bool) -> FilePlace {
        let (noun, number) = match self.source {
            Source::Sam(..) => ("line", self.header_lines + self.tally.records),
            _ => ("record", self.tally.records),
        };
        FilePlace::Record {
            noun,
            number,
            read: named.then(|| String::from_utf8_lossy(&self.record.name).into_owned()),
        }
    }
}

fn contradiction() -> Trouble {
    Trouble::Bytes(std::io::Error::new(
        std::io::ErrorKind::InvalidData,
        "it contradicts itself",
    ))
}

#[cfg(test)]
mod tests;
