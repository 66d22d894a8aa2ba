//! Whether footers and headers of pages can be read in time: the parquet crate counts through what a list claims to hold, of elements
//! that take no byte too, so that 41 bytes take it seconds and some more of them years.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// Levels of brackets; the parquet crate goes as deep.
const DEPTH: usize = 64;
/// Bytes behind a footer: its length, and who wrote it.
const TAIL: u64 = 8;
/// Bytes in which a header of a page is looked for at first.
const HEADER: u64 = 1 << 10;

/// Whether no list or map of the footer claims more than there are bytes. What is no footer is left to the parquet crate.
pub(super) fn is_bounded(mut file: &File) -> io::Result<bool> {
    let mut tail = [0; TAIL as usize];
    let length = file.seek(SeekFrom::End(0))?;
    if length < TAIL {
        return Ok(true);
    }
    file.seek(SeekFrom::Start(length - TAIL))?;
    file.read_exact(&mut tail)?;
    let claimed = u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]);
    if &tail[4..] != b"PAR1" || u64::from(claimed) > length - TAIL {
        return Ok(true);
    }
    file.seek(SeekFrom::Start(length - TAIL - u64::from(claimed)))?;
    let mut bytes = vec![0; claimed as usize];
    file.read_exact(&mut bytes)?;
    file.rewind()?;
    Ok(Walk::new(&bytes).structure(DEPTH) != Some(false))
}

/// Whether the same holds for the headers of all pages of columns, of which each is some bytes from a place on, and whether these
/// headers can be in the file beside one another.
pub(super) fn pages_are_bounded(
    file: &File,
    columns: impl Iterator<Item = (u64, u64)>,
) -> io::Result<bool> {
    let mut left = file.metadata()?.len();
    for (start, length) in columns {
        if !column_is_bounded(file, (start, length), &mut left)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn column_is_bounded(
    mut file: &File,
    (start, length): (u64, u64),
    left: &mut u64,
) -> io::Result<bool> {
    let mut at = start;
    let end = start.saturating_add(length);
    let mut bytes = vec![];
    while at < end {
        let mut most = HEADER;
        let (header, page) = loop {
            file.seek(SeekFrom::Start(at))?;
            bytes.clear();
            file.take(most.min(end - at)).read_to_end(&mut bytes)?;
            let mut walk = Walk::new(&bytes);
            let done = walk.structure(DEPTH);
            if done == Some(true) {
                // One that does not say how long its page is ends what the parquet crate reads.
                let Some(page) = walk.page else {
                    return Ok(true);
                };
                break ((bytes.len() - walk.bytes.len()) as u64, page);
            }
            // What is long enough may be whole in more bytes, what is not is for the parquet crate to refuse.
            if (bytes.len() as u64) < most {
                return Ok(done.is_none());
            }
            most = most.saturating_mul(8);
        };
        let Some(rest) = left.checked_sub(header) else {
            return Ok(false);
        };
        *left = rest;
        at = at.saturating_add(header).saturating_add(page);
    }
    Ok(true)
}

/// Goes through Thrift's compact protocol as the parquet crate skips it.
struct Walk<'a> {
    bytes: &'a [u8],
    /// How many elements may still be claimed: each takes a byte in what any writer has written.
    left: usize,
    /// What the outermost structure has in the place where headers of pages say how long these are.
    page: Option<u64>,
}

/// `None` at the end of the bytes and where there is no such type, which the parquet crate refuses; `Some(false)` where more is
/// claimed than there is.
type Bounded = Option<bool>;

impl<'a> Walk<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let left = bytes.len();
        Self {
            bytes,
            left,
            page: None,
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    fn skip(&mut self, bytes: usize) -> Bounded {
        self.bytes = self.bytes.get(bytes..)?;
        Some(true)
    }

    fn number(&mut self) -> Option<u64> {
        let (mut number, mut shift) = (0, 0_u32);
        loop {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f).wrapping_shl(shift);
            if byte & 0x80 == 0 {
                return Some(number);
            }
            shift = shift.wrapping_add(7);
        }
    }

    fn structure(&mut self, depth: usize) -> Bounded {
        let mut name = 0_u64;
        loop {
            let field = self.byte()?;
            let kind = field & 0x0f;
            if kind == 0 {
                return Some(true);
            }
            name = match field >> 4 {
                0 => self.number()? >> 1,
                more => name.wrapping_add(u64::from(more)),
            };
            if depth == DEPTH && name == 3 && kind == 5 {
                self.page = Some(self.number()? >> 1);
            } else if !self.value(kind, depth)? {
                return Some(false);
            }
        }
    }

    fn value(&mut self, kind: u8, depth: usize) -> Bounded {
        let depth = depth.checked_sub(1)?;
        match kind {
            // Of a field the header says which.
            1 | 2 => Some(true),
            3 => self.skip(1),
            4..=6 => self.number().map(|_| true),
            7 => self.skip(8),
            8 => {
                let length = self.number()?;
                self.skip(usize::try_from(length).ok()?)
            }
            9 | 10 => {
                let header = self.byte()?;
                let count = match header >> 4 {
                    15 => self.number()?,
                    few => u64::from(few),
                };
                self.elements(count, &[header & 0x0f], depth)
            }
            11 => {
                let count = self.number()?;
                if count == 0 {
                    return Some(true);
                }
                let kinds = self.byte()?;
                self.elements(count, &[kinds >> 4, kinds & 0x0f], depth)
            }
            12 => self.structure(depth),
            13 => self.skip(16),
            _ => None,
        }
    }

    fn elements(&mut self, count: u64, kinds: &[u8], depth: usize) -> Bounded {
        let Some(left) = usize::try_from(count)
            .ok()
            .and_then(|count| self.left.checked_sub(count))
        else {
            return Some(false);
        };
        self.left = left;
        for _ in 0..count {
            for &kind in kinds {
                if !self.value(kind, depth)? {
                    return Some(false);
                }
            }
        }
        Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn bounded(footer: &[u8]) -> bool {
        let mut file = tempfile::tempfile().unwrap();
        let length = u32::try_from(footer.len()).unwrap();
        for part in [b"PAR1", footer, &length.to_le_bytes(), b"PAR1"] {
            file.write_all(part).unwrap();
        }
        is_bounded(&file).unwrap()
    }

    #[test]
    fn claims_beyond_the_bytes_are_seen() {
        // A list of two billion truths, alone and within a structure.
        assert!(!bounded(b"\xf9\xf2\xff\xff\xff\xff\x07\x00"));
        assert!(!bounded(b"\x1c\xf9\xf2\xff\xff\xff\xff\x07\x00\x00"));
        // Four of them, and a map without any.
        assert!(bounded(b"\x19\x42\x1b\x00\x00\x00\x00\x00"));
        // What ends too soon is for the reader to refuse.
        assert!(bounded(b"\x19\xf8\x03\x02a"));
    }

    #[test]
    fn headers_of_pages_are_walked() {
        let pages = |bytes: &[u8], columns: usize| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(bytes).unwrap();
            let all = (0..columns).map(|_| (0, bytes.len() as u64));
            pages_are_bounded(&file, all).unwrap()
        };
        // A page of two bytes, and one whose header has a list of two billion truths behind its size.
        let small = b"\x35\x04\x00ab";
        let huge = b"\x35\x04\xf9\xf2\xff\xff\xff\xff\x07\x00";
        assert!(pages(&small.repeat(3), 1));
        assert!(!pages(&[&small[..], huge].concat(), 1));
        // A hundred columns in the same few bytes.
        assert!(!pages(&small.repeat(3), 100));
        // A long header, of an unknown text.
        let mut long = b"\x35\x04\x18\xa0\x9c\x01".to_vec();
        long.resize(20_006, b'x');
        assert!(pages(&[&long[..], b"\x00ab"].concat(), 1));
    }
}
