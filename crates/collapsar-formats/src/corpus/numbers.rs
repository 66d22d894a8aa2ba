//! Decides which ids and counts are accepted, parsed from bytes without a detour through text.

use crate::error::Result;
use crate::lines::{Lines, shown, whole};

/// The largest count: the last whole number up to which `f32` counts by ones.
pub(super) const LARGEST: f64 = 16_777_216.0;

/// How many more documents, or words without a name, there may be than entries. Each takes memory before
/// anything is known of it, so a number in a header must not be taken at its word.
pub(super) const SPARE: u64 = 1 << 20;

/// What is known of the vocabulary before the counts are read.
#[derive(Debug)]
pub(super) enum Known {
    Nothing,
    /// A file names this many words.
    File(String, usize),
    /// A fit has this many words, and ids are their positions.
    Fit(usize),
}

impl Known {
    /// How many words there are and who says so.
    pub(super) fn limit(&self) -> Option<(u64, String)> {
        match self {
            Known::Nothing => None,
            Known::File(path, size) => Some((*size as u64, format!(" as in {path}"))),
            Known::Fit(size) => Some((*size as u64, " as in the vocabulary of the fit".to_owned())),
        }
    }
}

/// A number of entries, in words.
pub(super) fn entries(number: u64) -> String {
    format!("{number} {}", if number == 1 { "entry" } else { "entries" })
}

/// An id from `first` to `last`, counted from 0 in the result; `whose` says why there are no more.
pub(super) fn id(
    lines: &Lines,
    noun: &str,
    bytes: &[u8],
    (first, last): (u64, u64),
    whose: &str,
) -> Result<u32> {
    let id = whole(bytes).filter(|id| (first..=last).contains(id));
    id.and_then(|id| u32::try_from(id - first).ok())
        .ok_or_else(|| {
            let expected = format!("a whole number from {first} to {last}{whose}");
            lines.refuse(format!("{noun} {}", shown(bytes)), expected)
        })
}

/// A count that is finite, not negative, not too large and, unless `zero` is another way to write that there is
/// none, not 0.
pub(super) fn count(lines: &Lines, bytes: &[u8], zero: bool) -> Result<f32> {
    let number = match whole(bytes) {
        Some(number) => Some(number as f64),
        None => std::str::from_utf8(bytes)
            .ok()
            .and_then(|text| text.parse::<f64>().ok()),
    };
    let accepted =
        |number: &f64| (0.0..=LARGEST).contains(number) && (zero || *number as f32 > 0.0);
    let number = number.filter(accepted).ok_or_else(|| {
        let least = if zero {
            "from 0 to"
        } else {
            "above 0 and at most"
        };
        let expected = format!("a number {least} {LARGEST}");
        lines.refuse(format!("count {}", shown(bytes)), expected)
    })?;
    Ok(number as f32)
}
