//! Gathers the alignments of one read and places the fragment.

use super::pairs::{Hit, Pairs};
use super::record::{Mate, Record};
use super::score::{Letters, Score, Scorer, Shape, agrees};
use super::source::SharedSequences;
use super::trouble::Trouble;
use super::{Fragment, Tally, Target};

/// The alignments of one read.
#[derive(Default)]
pub(super) struct Group {
    pub(super) name: Vec<u8>,
    scorer: Scorer,
    hits: Vec<Hit>,
    paired: bool,
    /// The letters of a read or first mate, and of a second mate.
    letters: [Original; 2],
    /// Alignments that came without letters and before them, each with its hit.
    waiting: Vec<(usize, Record)>,
    pairs: Pairs,
}

/// A read's letters as its primary record has them.
#[derive(Debug, Default)]
struct Original {
    bases: Vec<u8>,
    qualities: Vec<u8>,
    forward: bool,
    /// The same for the other strand, made when needed.
    turned: Option<(Vec<u8>, Vec<u8>)>,
}

impl Group {
    pub(super) fn begin(&mut self, name: &[u8]) {
        self.name.clear();
        self.name.extend_from_slice(name);
        self.hits.clear();
        self.waiting.clear();
        self.paired = false;
        for original in &mut self.letters {
            original.bases.clear();
            original.turned = None;
        }
    }

    /// Adds a record of this read.
    pub(super) fn take(
        &mut self,
        record: &Record,
        targets: &[Target],
        sequences: Option<&SharedSequences>,
        tally: &mut Tally,
    ) -> Result<(), Trouble> {
        if record.flags.is_supplementary() {
            tally.supplementary += 1;
            return Ok(());
        }
        let mate = record.mate_number().ok_or_else(|| {
            Trouble::new(
                "has two mates but is neither the first nor the second",
                "flag 64 or 128",
            )
        })?;
        self.paired |= mate != Mate::Only;
        let Some((target, position)) = record.place.filter(|_| !record.flags.is_unmapped()) else {
            return Ok(());
        };
        let Some(Target { name, length }) = targets.get(target as usize) else {
            return Err(Trouble::new(
                format!("is on target {target} of {}", targets.len()),
                "one of the header's, from 0",
            ));
        };
        let shape = Shape::of(&record.cigar)?;
        let end = position.saturating_add(shape.span);
        if end > *length {
            return Err(Trouble::new(
                format!("ends at base {end} of {name:?}, which has {length}"),
                "an end inside the target",
            ));
        }
        let forward = !record.flags.is_reverse_complemented();
        let original = &mut self.letters[usize::from(mate == Mate::Second)];
        if original.bases.is_empty() && !record.flags.is_secondary() {
            original.keep(record, forward);
        }
        let letters = if record.bases.is_empty() {
            original.letters(forward, &shape)
        } else {
            let own = Letters::fit(&record.bases, &record.qualities, &shape);
            Some(own.ok_or_else(|| {
                Trouble::new(
                    format!(
                        "has {} bases and {} qualities, which do not fit its CIGAR",
                        record.bases.len(),
                        record.qualities.len()
                    ),
                    "as many as the CIGAR covers",
                )
            })?)
        };
        let score = if agrees(record, &shape) {
            Some(Score {
                log_odds: 0.0,
                known: true,
            })
        } else {
            let sequence = sequences.map(|sequences| sequences.sequence(target));
            letters
                .map(|letters| {
                    self.scorer
                        .score(record, &shape, letters, sequence, position as usize)
                })
                .transpose()?
        };
        if score.is_none() {
            self.waiting.push((self.hits.len(), record.clone()));
        }
        tally.unscored += u64::from(score.is_some_and(|score| !score.known));
        self.hits.push(Hit {
            mate,
            forward,
            target,
            start: position.saturating_sub(shape.left),
            end: end.saturating_add(shape.right).min(*length),
            position,
            other: record.mate,
            hi: record.hi,
            log_odds: score.map_or(0.0, |score| score.log_odds),
        });
        Ok(())
    }

    /// Places the fragment once all records of the read are in; leaves it without a place if it has none.
    pub(super) fn finish(
        &mut self,
        sequences: Option<&SharedSequences>,
        tally: &mut Tally,
        fragment: &mut Fragment,
    ) -> Result<(), Trouble> {
        for (index, record) in &self.waiting {
            let hit = &mut self.hits[*index];
            let shape = Shape::of(&record.cigar)?;
            let original = &mut self.letters[usize::from(hit.mate == Mate::Second)];
            let letters = original.letters(hit.forward, &shape);
            let sequence = sequences.map(|sequences| sequences.sequence(hit.target));
            let score = self.scorer.score(
                record,
                &shape,
                letters.unwrap_or(Letters::NONE),
                sequence,
                hit.position as usize,
            )?;
            tally.unscored += u64::from(!score.known);
            hit.log_odds = score.log_odds;
        }
        fragment.placements.clear();
        let has = |mate| self.hits.iter().any(|hit| hit.mate == mate);
        let (only, first, second) = (has(Mate::Only), has(Mate::First), has(Mate::Second));
        if self.hits.is_empty() {
            tally.unaligned += 1;
            return Ok(());
        }
        if only && self.paired {
            return Err(Trouble::new(
                "has records with a mate and without one",
                "a name for each read",
            ));
        }
        if first && second {
            self.pairs.join(&self.hits, &mut fragment.placements);
            if fragment.placements.is_empty() {
                tally.split += 1;
                return Ok(());
            }
        } else {
            fragment.placements.extend(self.hits.iter().map(Hit::alone));
            tally.orphans += u64::from(!only);
        }
        fragment.paired = self.paired;
        fragment.name.clear();
        fragment.name.push_str(&String::from_utf8_lossy(&self.name));
        tally.aligned += 1;
        tally.placements += fragment.placements.len() as u64;
        Ok(())
    }
}

impl Original {
    fn keep(&mut self, record: &Record, forward: bool) {
        self.bases.clear();
        self.bases.extend_from_slice(&record.bases);
        self.qualities.clear();
        self.qualities.extend_from_slice(&record.qualities);
        self.forward = forward;
        self.turned = None;
    }

    /// The letters as they are read along the target, if they are known and fit.
    fn letters(&mut self, forward: bool, shape: &Shape) -> Option<Letters<'_>> {
        if forward == self.forward {
            return Letters::fit(&self.bases, &self.qualities, shape);
        }
        let (bases, qualities) = self.turned.get_or_insert_with(|| {
            let complements = self.bases.iter().rev().map(|&base| complement(base));
            let qualities = self.qualities.iter().rev();
            (complements.collect(), qualities.copied().collect())
        });
        Letters::fit(bases, qualities, shape)
    }
}

fn complement(base: u8) -> u8 {
    match base {
        b'A' => b'T',
        b'C' => b'G',
        b'G' => b'C',
        b'T' => b'A',
        other => other,
    }
}
