//! Decides how much less likely a read's bases are at a place than at one that agrees with all of them.

use noodles_sam::alignment::record::cigar::Op;
use noodles_sam::alignment::record::cigar::op::Kind;

use super::mismatches::Mismatches;
use super::record::Record;
use super::trouble::Trouble;

use collapsar::elementary::Elementary;

/// Qualities are cut to this range: aligners and basecallers write 0 and 1 for "unknown", and no sequencer's
/// claim of fewer than one error in 10,000 has held for RNA, where editing and variants are more frequent.
const QUALITIES: (u8, u8) = (2, 41);
/// For bases without a quality: one error in a hundred.
const DEFAULT_QUALITY: u8 = 20;
/// To begin an insertion or a deletion: people differ from their reference by one in about 8,000 bases;
/// sequencers add few.
const GAP_OPEN: f64 = 1e-4;
/// For each further base of it: about half of the short ones in human genomes are longer than one base.
const GAP_EXTEND: f64 = 0.5;
/// A base that says nothing of the place: unknown, inserted or clipped.
const BLANK: f64 = 0.25;

/// What a CIGAR says of the extent of an alignment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Shape {
    /// Clipped bases before and after.
    pub(super) left: u32,
    pub(super) right: u32,
    /// Bases of the target that are covered.
    pub(super) span: u32,
    /// Bases of the read that lie on bases of the target.
    columns: u32,
    /// Inserted and deleted bases.
    gaps: u32,
    /// Bases that the record should hold, and with the hard-clipped ones.
    read: u32,
    whole: u32,
    /// Whether = and X stand in place of M.
    explicit: bool,
}

impl Shape {
    pub(super) fn of(cigar: &[Op]) -> Result<Self, Trouble> {
        let mut shape = Shape {
            explicit: true,
            ..Shape::default()
        };
        for op in cigar {
            let length = u32::try_from(op.len()).unwrap_or(u32::MAX);
            let add = |sum: &mut u32| *sum = sum.saturating_add(length);
            match op.kind() {
                Kind::Match | Kind::SequenceMatch | Kind::SequenceMismatch => {
                    shape.explicit &= op.kind() != Kind::Match;
                    add(&mut shape.columns);
                    add(&mut shape.span);
                    add(&mut shape.read);
                }
                Kind::Insertion => {
                    add(&mut shape.gaps);
                    add(&mut shape.read);
                }
                Kind::Deletion => {
                    add(&mut shape.gaps);
                    add(&mut shape.span);
                }
                Kind::SoftClip | Kind::HardClip => {
                    add(if shape.columns == 0 {
                        &mut shape.left
                    } else {
                        &mut shape.right
                    });
                    if op.kind() == Kind::SoftClip {
                        add(&mut shape.read);
                    } else {
                        add(&mut shape.whole);
                    }
                }
                Kind::Pad => {}
                Kind::Skip => {
                    return Err(Trouble::new(
                        "skips an intron: the reads were aligned to a genome",
                        "alignments to transcripts",
                    )
                    .hint("bowtie2 on the transcripts, or STAR --quantMode TranscriptomeSAM"));
                }
            }
        }
        if shape.columns == 0 {
            return Err(Trouble::new(
                "is aligned without a single base",
                "a CIGAR that places some",
            ));
        }
        shape.whole = shape.whole.saturating_add(shape.read);
        Ok(shape)
    }
}

/// A read's letters in the direction of the target, without those of its own record possibly.
#[derive(Debug, Clone, Copy)]
pub(super) struct Letters<'a> {
    bases: &'a [u8],
    qualities: &'a [u8],
    /// Whether hard-clipped bases are among them.
    whole: bool,
}

impl<'a> Letters<'a> {
    /// The letters, if there are as many as the alignment needs; of qualities there may be none.
    pub(super) fn fit(bases: &'a [u8], qualities: &'a [u8], shape: &Shape) -> Option<Self> {
        let length = |count: u32| count as usize == bases.len();
        let fits = length(shape.read) || length(shape.whole);
        let qualities_fit = qualities.is_empty() || qualities.len() == bases.len();
        (fits && qualities_fit).then_some(Letters {
            bases,
            qualities,
            whole: !length(shape.read),
        })
    }

    pub(super) const NONE: Letters<'static> = Letters {
        bases: &[],
        qualities: &[],
        whole: false,
    };

    fn quality(&self, index: usize) -> usize {
        let quality = self.qualities.get(index).copied();
        usize::from(
            quality
                .unwrap_or(DEFAULT_QUALITY)
                .clamp(QUALITIES.0, QUALITIES.1),
        )
    }
}

/// ln p(bases | place) − ln p(bases | agreement).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Score {
    pub(super) log_odds: f64,
    /// Whether anything told where, or how many, mismatches there are.
    pub(super) known: bool,
}

/// Whether letters have no say in the score, since the record tells that all of them agree.
pub(super) fn agrees(record: &Record, shape: &Shape) -> bool {
    record.nm == Some(0) && shape.left + shape.right + shape.gaps == 0
}

/// The costs by quality.
#[derive(Debug)]
pub(super) struct Scorer {
    mismatch: [f64; QUALITIES.1 as usize + 1],
    blank: [f64; QUALITIES.1 as usize + 1],
}

enum Evidence<'a> {
    /// No mismatch.
    Agreement,
    /// = and X.
    Kinds,
    Tag(Mismatches<'a>),
    Target(&'a [u8]),
    /// So many mismatches somewhere.
    Number(u32),
}

impl Default for Scorer {
    fn default() -> Self {
        let error = |quality: usize| 10_f64.powf_(quality as f64 / -10.0);
        Scorer {
            // Any of the three other bases, against the right one.
            mismatch: std::array::from_fn(|q| (error(q) / 3.0 / (1.0 - error(q))).ln_()),
            blank: std::array::from_fn(|q| (BLANK / (1.0 - error(q))).ln_()),
        }
    }
}

impl Scorer {
    /// `position` is where the alignment begins on `target`, whose bases may be unknown.
    pub(super) fn score(
        &self,
        record: &Record,
        shape: &Shape,
        letters: Letters<'_>,
        target: Option<&[u8]>,
        position: usize,
    ) -> Result<Score, Trouble> {
        let evidence = if record.nm == Some(shape.gaps) {
            Some(Evidence::Agreement)
        } else if shape.explicit {
            Some(Evidence::Kinds)
        } else if !record.md.is_empty() {
            Some(Evidence::Tag(Mismatches::new(&record.md)))
        } else if let (Some(target), false) = (target, letters.bases.is_empty()) {
            Some(Evidence::Target(target))
        } else {
            record
                .nm
                .map(|nm| Evidence::Number(nm.saturating_sub(shape.gaps)))
        };
        let known = evidence.is_some();
        // Where nothing tells, all bases are taken to agree.
        let mut evidence = evidence.unwrap_or(Evidence::Agreement);
        let mut sum = 0.0;
        // The next base of the read, of the target, and of those that lie on each other.
        let (mut at, mut to, mut column) = (0, position, 0);
        for op in &record.cigar {
            let length = op.len();
            match op.kind() {
                Kind::Match | Kind::SequenceMatch | Kind::SequenceMismatch => {
                    match &mut evidence {
                        Evidence::Agreement => {}
                        Evidence::Kinds if op.kind() == Kind::SequenceMatch => {}
                        Evidence::Kinds => {
                            for offset in 0..length {
                                let base = target.and_then(|bases| bases.get(to + offset));
                                sum += self.difference(letters, at + offset, base.copied());
                            }
                        }
                        Evidence::Tag(mismatches) => {
                            while let Some((index, base)) = mismatches.before(column + length) {
                                sum += self.difference(letters, at + index - column, Some(base));
                            }
                        }
                        Evidence::Target(target) => {
                            let read = letters.bases.iter().skip(at);
                            let pairs = read.zip(target.iter().skip(to)).take(length);
                            for (offset, (&read, &base)) in pairs.enumerate() {
                                if (read != base && read != b'=') || unknown(base) {
                                    sum += self.difference(letters, at + offset, Some(base));
                                }
                            }
                        }
                        Evidence::Number(count) => {
                            let costs =
                                (at..at + length).map(|i| self.mismatch[letters.quality(i)]);
                            let fraction = f64::from(*count) / f64::from(shape.columns);
                            sum += fraction * costs.sum::<f64>();
                        }
                    }
                    at += length;
                    to += length;
                    column += length;
                }
                Kind::Insertion => {
                    sum += gap(length) + self.blanks(letters, at, length);
                    at += length;
                }
                Kind::Deletion => {
                    sum += gap(length);
                    to += length;
                }
                Kind::HardClip if !letters.whole => {
                    sum += length as f64 * self.blank[usize::from(DEFAULT_QUALITY)];
                }
                Kind::SoftClip | Kind::HardClip => {
                    sum += self.blanks(letters, at, length);
                    at += length;
                }
                Kind::Pad | Kind::Skip => {}
            }
        }
        if let Evidence::Tag(mismatches) = evidence
            && mismatches.length() != Some(column)
        {
            return Err(Trouble::new(
                format!(
                    "has the MD tag {:?}, which does not fit its CIGAR",
                    String::from_utf8_lossy(&record.md)
                ),
                "one that covers the same bases",
            )
            .hint("samtools calmd"));
        }
        Ok(Score {
            log_odds: sum,
            known,
        })
    }

    /// A base that differs from the target's, where one of the two may be unknown.
    fn difference(&self, letters: Letters<'_>, index: usize, base: Option<u8>) -> f64 {
        let quality = letters.quality(index);
        let read = letters.bases.get(index).copied();
        if read.is_some_and(unknown) || base.is_some_and(unknown) {
            self.blank[quality]
        } else {
            self.mismatch[quality]
        }
    }

    fn blanks(&self, letters: Letters<'_>, from: usize, length: usize) -> f64 {
        let indices = from..from + length;
        indices.map(|i| self.blank[letters.quality(i)]).sum()
    }
}

fn gap(length: usize) -> f64 {
    GAP_OPEN.ln_() + length.saturating_sub(1) as f64 * GAP_EXTEND.ln_()
}

/// N, and the letters that stand for several bases.
fn unknown(base: u8) -> bool {
    !matches!(base, b'A' | b'C' | b'G' | b'T' | b'=')
}

#[cfg(test)]
mod tests;
