//! One alignment record in plain fields, whatever format it came in.

use std::io;

use noodles_sam::Header;
use noodles_sam::alignment as sam;
use noodles_sam::alignment::record::Flags;
use noodles_sam::alignment::record::cigar::Op;
use noodles_sam::alignment::record::data::field::{Tag, Value};

/// Buffers that are filled anew for every record.
#[derive(Debug, Clone, Default)]
pub(super) struct Record {
    pub(super) name: Vec<u8>,
    pub(super) flags: Flags,
    /// The target and the position on it, from 0.
    pub(super) place: Option<(u32, u32)>,
    /// The same of the other mate.
    pub(super) mate: Option<(u32, u32)>,
    pub(super) cigar: Vec<Op>,
    /// Upper case; empty where the file has none.
    pub(super) bases: Vec<u8>,
    /// Empty where the file has none.
    pub(super) qualities: Vec<u8>,
    /// The MD tag: where mismatches are and what the target has there. Empty where the file has none.
    pub(super) md: Vec<u8>,
    /// The NM tag: mismatches, inserted and deleted bases together.
    pub(super) nm: Option<u32>,
    /// The HI tag, which numbers the places of a read; the mates of a pair share it.
    pub(super) hi: Option<u32>,
}

impl Record {
    pub(super) fn clear(&mut self) {
        self.name.clear();
        self.cigar.clear();
        self.bases.clear();
        self.qualities.clear();
        self.md.clear();
        (self.place, self.mate, self.nm, self.hi) = (None, None, None, None);
    }

    /// Takes the name, the flags and the places.
    pub(super) fn take_places(
        &mut self,
        from: &impl sam::Record,
        header: &Header,
    ) -> io::Result<()> {
        if let Some(name) = from.name() {
            self.name.extend_from_slice(name);
        }
        self.flags = from.flags()?;
        self.place = place(from.reference_sequence_id(header), from.alignment_start())?;
        let mate = from.mate_reference_sequence_id(header);
        self.mate = place(mate, from.mate_alignment_start())?;
        Ok(())
    }

    /// Takes the three tags that count, up to where there is no need for further ones: HI comes before NM
    /// and MD from every aligner that writes it.
    pub(super) fn take_tags<'t>(
        &mut self,
        tags: impl Iterator<Item = io::Result<(Tag, Value<'t>)>>,
    ) -> io::Result<()> {
        for field in tags {
            let (tag, value) = field?;
            let number = || value.as_int().and_then(|n| u32::try_from(n).ok());
            if tag == Tag::EDIT_DISTANCE {
                self.nm = number();
            } else if tag == Tag::HIT_INDEX {
                self.hi = number();
            } else if tag == Tag::MISMATCHED_POSITIONS
                && let Value::String(text) = value
            {
                self.md.extend_from_slice(text);
            }
            if self.nm.is_some() && !self.md.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// The first of two mates, the second, or a read without a mate.
    pub(super) fn mate_number(&self) -> Option<Mate> {
        let flags = self.flags;
        match (
            flags.is_segmented(),
            flags.is_first_segment(),
            flags.is_last_segment(),
        ) {
            (false, _, _) => Some(Mate::Only),
            (true, true, false) => Some(Mate::First),
            (true, false, true) => Some(Mate::Second),
            (true, _, _) => None,
        }
    }
}

/// Which end of a fragment a record's read is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mate {
    Only,
    First,
    Second,
}

/// A place as the format crates give it: a target's index and a position from 1, each of which may be absent.
fn place<P: Into<usize>>(
    target: Option<io::Result<usize>>,
    position: Option<io::Result<P>>,
) -> io::Result<Option<(u32, u32)>> {
    let (Some(target), Some(position)) = (target.transpose()?, position.transpose()?) else {
        return Ok(None);
    };
    let narrow = |n: usize| u32::try_from(n).map_err(io::Error::other);
    Ok(Some((narrow(target)?, narrow(position.into() - 1)?)))
}
