//! Parses a read's line, without allocation and in one go.

use std::ops::Range;

use super::super::float;

use collapsar::elementary::Elementary;

/// How probabilities are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scale {
    Log,
    Linear,
}

/// What is wrong with a line, and which bytes of it.
pub(super) enum Fault {
    Number(Range<usize>),
    Transcript(Range<usize>),
    Probability(Range<usize>),
    Pairs(u64, u64),
    Impossible,
}

/// The logarithm, which is not a number below 0. Apart, because it is else computed for logarithms too,
/// only to be thrown away.
#[inline(never)]
fn logarithm(probability: f64) -> f64 {
    probability.ln_()
}

/// Walks along a line; most fields are parsed and delimited in one go.
pub(super) struct Cursor<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Cursor<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Cursor { bytes, at: 0 }
    }

    /// Whether nothing but white space is left, which is skipped.
    #[inline]
    pub(super) fn at_end(&mut self) -> bool {
        while let Some(byte) = self.bytes.get(self.at) {
            if !byte.is_ascii_whitespace() {
                return false;
            }
            self.at += 1;
        }
        true
    }

    /// The field that begins here, empty at the end.
    pub(super) fn field(&mut self) -> Range<usize> {
        let start = self.at;
        while self.inside() {
            self.at += 1;
        }
        start..self.at
    }

    /// Whether a field goes on here.
    #[inline]
    fn inside(&self) -> bool {
        self.bytes
            .get(self.at)
            .is_some_and(|byte| !byte.is_ascii_whitespace())
    }

    /// The whole number that is the next field, of as many digits as a `u64` has room for.
    #[inline]
    fn whole(&mut self) -> std::result::Result<u64, Range<usize>> {
        self.at_end();
        let start = self.at;
        let mut number = 0u64;
        while let Some(byte) = self.bytes.get(self.at) {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
            self.at += 1;
        }
        if (1..=19).contains(&(self.at - start)) && !self.inside() {
            return Ok(number);
        }
        self.at = start;
        Err(self.field())
    }

    /// The number that is the next field.
    #[inline]
    fn float(&mut self) -> std::result::Result<f64, Range<usize>> {
        self.at_end();
        let start = self.at;
        if let Some((number, length)) = float::prefix(&self.bytes[start..]) {
            self.at += length;
            if !self.inside() {
                return Ok(number);
            }
            self.at = start;
        }
        let field = self.field();
        float::float(&self.bytes[field.clone()]).ok_or(field)
    }

    /// The number of entries and the entries, to the end of the line.
    pub(super) fn entries(
        &mut self,
        scale: Scale,
        last: u64,
        entries: &mut Vec<(u32, f64)>,
    ) -> std::result::Result<(), Fault> {
        let claimed = self.whole().map_err(Fault::Number)?;
        let mut pairs = 0;
        while !self.at_end() {
            let start = self.at;
            let transcript = self.whole().map_err(Fault::Transcript)?;
            if transcript > last {
                return Err(Fault::Transcript(start..self.at));
            }
            self.at_end();
            let start = self.at;
            let mut log = self.float().map_err(Fault::Probability)?;
            pairs += 1;
            if scale == Scale::Linear {
                log = logarithm(log);
            }
            if log.is_finite() {
                entries.push((transcript as u32, log));
            } else if log != f64::NEG_INFINITY {
                return Err(Fault::Probability(start..self.at));
            }
        }
        if pairs != claimed {
            return Err(Fault::Pairs(pairs, claimed));
        }
        if entries.is_empty() {
            return Err(Fault::Impossible);
        }
        Ok(())
    }
}
