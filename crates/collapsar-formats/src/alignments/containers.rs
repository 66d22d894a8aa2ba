//! Decides which containers of CRAM are decoded: those that hold as many bytes as they say, and claim no more than that could be.
//!
//! The format crate takes memory for whatever a container, a block or a slice claims, and looks for the bytes afterwards.

use std::io::{self, Cursor, Read};

use collapsar::limits::RECORD;

use super::codecs;

/// The name, the version and the identity of a file come before its containers.
const DEFINITION: u64 = 26;
/// What a record takes in memory at least: so many of a container are as much as its bytes may be.
const BYTES_OF_RECORD: u32 = 256;
/// Blocks of qualities that a file may have at once, and the bytes that it has for each more.
const BLOCKS_WITH_MODELS: u64 = 64;
const BYTES_WITH_MODELS: u64 = 4096;
/// The kind of a block that is the header of a slice.
const SLICE: u8 = 2;

/// A stream of containers, each looked at before anyone else sees it.
pub(super) struct Containers<R> {
    inner: R,
    /// The definition or a container, and how much of it has been taken.
    ready: Cursor<Vec<u8>>,
    begun: bool,
    /// Blocks of qualities and bytes so far.
    with_models: u64,
    bytes: u64,
}

impl<R: Read> Containers<R> {
    pub(super) fn new(inner: R) -> Self {
        Self {
            inner,
            ready: Cursor::default(),
            begun: false,
            with_models: 0,
            bytes: 0,
        }
    }

    /// Makes the next part ready: nothing at the end.
    fn advance(&mut self) -> io::Result<()> {
        let mut bytes = std::mem::take(self.ready.get_mut());
        self.ready.set_position(0);
        bytes.clear();
        if !self.begun {
            self.begun = true;
            self.inner
                .by_ref()
                .take(DEFINITION)
                .read_to_end(&mut bytes)?;
        } else if self.take(&mut bytes, 4)? {
            self.container(&mut bytes)?;
        }
        *self.ready.get_mut() = bytes;
        Ok(())
    }

    /// The rest of a container, of which the length has been read.
    fn container(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        let length = bytes.first_chunk().copied().map_or(0, u32::from_le_bytes);
        check("a container", length.into())?;
        // Target, begin, length and records; then two longer numbers, blocks, and places of slices.
        for _ in 0..4 {
            self.number(bytes, 4)?;
        }
        for _ in 0..2 {
            self.number(bytes, 8)?;
        }
        self.number(bytes, 4)?;
        let mut slices = vec![];
        for _ in 0..self.number(bytes, 4)? {
            slices.push(self.number(bytes, 4)?);
        }
        self.some(bytes, 4)?;
        let header = bytes.len();
        let mut body = self.inner.by_ref().take(length.into());
        if body.read_to_end(bytes)? < length as usize {
            return Err(ended());
        }
        self.with_models += look(&bytes[header..], &slices)?;
        self.bytes += u64::from(length);
        if self.with_models > BLOCKS_WITH_MODELS + self.bytes / BYTES_WITH_MODELS {
            let cause = format!(
                "{} blocks of qualities in {} bytes",
                self.with_models, self.bytes
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, cause));
        }
        Ok(())
    }

    /// So many bytes more; false where there is not one.
    fn take(&mut self, bytes: &mut Vec<u8>, count: u64) -> io::Result<bool> {
        let taken = self.inner.by_ref().take(count).read_to_end(bytes)? as u64;
        match taken {
            0 => Ok(false),
            taken if taken < count => Err(ended()),
            _ => Ok(true),
        }
    }

    fn some(&mut self, bytes: &mut Vec<u8>, count: u64) -> io::Result<()> {
        let taken = self.take(bytes, count)?;
        if taken { Ok(()) } else { Err(ended()) }
    }

    /// A number of up to so many bytes after its first, whose leading ones count them.
    fn number(&mut self, bytes: &mut Vec<u8>, longest: u32) -> io::Result<u64> {
        let at = bytes.len();
        self.some(bytes, 1)?;
        let more = bytes[at].leading_ones().min(longest);
        if more > 0 {
            self.some(bytes, more.into())?;
        }
        let mut number = &bytes[at..];
        Ok(if longest == 4 {
            itf8(&mut number)?.into()
        } else {
            0
        })
    }
}

impl<R: Read> Read for Containers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ready.position() as usize >= self.ready.get_ref().len() {
            self.advance()?;
        }
        self.ready.read(buffer)
    }
}

fn ended() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "failed to fill whole buffer")
}

fn check(what: &str, bytes: u64) -> io::Result<()> {
    if bytes <= RECORD.into() {
        return Ok(());
    }
    let cause = format!("{what} of {bytes} bytes");
    Err(io::Error::new(io::ErrorKind::InvalidData, cause))
}

/// Looks at the blocks of a container: what they claim to become, and how many records slices claim. Says how many are of qualities.
fn look(body: &[u8], slices: &[u64]) -> io::Result<u64> {
    let (mut all, mut records, mut with_models) = (0_u64, 0, 0);
    let (mut left, mut begins) = (body, vec![]);
    // What is left in the end may be filling.
    while let Some((block, rest)) = Block::split(left) {
        begins.push((body.len() - left.len()) as u64);
        left = rest;
        all = all.saturating_add(codecs::claimed(block.method, block.data, block.size));
        with_models += u64::from(codecs::has_models(block.method));
        check("blocks", all)?;
        records += block.records();
        check("records", records * u64::from(BYTES_OF_RECORD))?;
    }
    // The format crate begins where the header says.
    if slices
        .iter()
        .any(|slice| begins.binary_search(slice).is_err())
    {
        let cause = "a slice that begins inside a block";
        return Err(io::Error::new(io::ErrorKind::InvalidData, cause));
    }
    Ok(with_models)
}

/// A block as it stands in a container.
struct Block<'b> {
    method: u8,
    kind: u8,
    size: u32,
    data: &'b [u8],
}

impl<'b> Block<'b> {
    /// The first block, and what follows it.
    fn split(bytes: &'b [u8]) -> Option<(Self, &'b [u8])> {
        let (&[method, kind], mut rest) = bytes.split_first_chunk()?;
        itf8(&mut rest).ok()?;
        let packed = itf8(&mut rest).ok()? as usize;
        let size = itf8(&mut rest).ok()?;
        let (data, rest) = rest.split_at_checked(packed)?;
        let block = Self {
            method,
            kind,
            size,
            data,
        };
        // A checksum, which the format crate compares.
        Some((block, rest.get(4..)?))
    }

    /// How many records it claims to begin, where it begins a slice. Nobody packs that.
    fn records(&self) -> u64 {
        let mut header = self.data;
        if self.kind != SLICE {
            return 0;
        }
        let numbers = [(); 4].map(|()| itf8(&mut header).unwrap_or(u32::MAX));
        if self.method == 0 {
            numbers[3].into()
        } else {
            u32::MAX.into()
        }
    }
}

/// A number whose first byte says by its leading ones how many follow.
fn itf8(bytes: &mut &[u8]) -> io::Result<u32> {
    let (&first, rest) = bytes.split_first().ok_or_else(ended)?;
    let more = first.leading_ones().min(4) as usize;
    let (next, rest) = rest.split_at_checked(more).ok_or_else(ended)?;
    *bytes = rest;
    let of = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(0, |all, &byte| all << 8 | u32::from(byte))
    };
    Ok(match next {
        // Of the first and the last byte only half is used.
        [middle @ .., last] if more == 4 => {
            u32::from(first & 0xf) << 28 | of(middle) << 4 | u32::from(last & 0xf)
        }
        _ => (u32::from(first) & (0x7f >> more)) << (8 * more) | of(next),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(bytes: &[u8]) -> String {
        let mut file = vec![0; DEFINITION as usize];
        file.extend_from_slice(bytes);
        let mut out = vec![];
        let read = Containers::new(file.as_slice()).read_to_end(&mut out);
        read.expect_err("a refusal").to_string()
    }

    /// A container of these blocks: one target, no records of its own, no slices listed.
    fn container(body: &[u8]) -> Vec<u8> {
        let length = (body.len() as u32).to_le_bytes();
        // Eight numbers of one byte, then a checksum.
        [&length[..], &[0; 8], &[0; 4], body].concat()
    }

    #[test]
    fn numbers() {
        for (mut bytes, expected) in [
            (&[0x00][..], 0),
            (&[0x87, 0x55], 1877),
            (&[0xc7, 0x55, 0x99], 480_665),
            (&[0xe7, 0x55, 0x99, 0x66], 123_050_342),
            (&[0xf7, 0x55, 0x99, 0x66, 0x02], 1_968_805_474),
            (&[0xff, 0xff, 0xff, 0xff, 0x0f], u32::MAX),
        ] {
            assert_eq!(itf8(&mut bytes).expect("a number"), expected);
            assert!(bytes.is_empty());
        }
    }

    #[test]
    fn what_is_claimed_is_looked_at() {
        let huge = [0xf7, 0xff, 0xff, 0xff, 0x0f];
        let block = |method, kind, data: &[u8], size: &[u8]| {
            [&[method, kind, 0, data.len() as u8], size, data, &[0; 4]].concat()
        };
        assert_eq!(
            refused(&[0xff, 0xff, 0xff, 0x7f]),
            "a container of 2147483647 bytes"
        );
        let claims = container(&block(1, 4, &[], &huge));
        assert_eq!(refused(&claims), "blocks of 2147483647 bytes");
        let within = container(&block(4, 4, &[0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f], &[1]));
        assert_eq!(refused(&within), "blocks of 2147483647 bytes");
        let slice = [&[0, 0, 0][..], &huge].concat();
        let claims = container(&block(0, SLICE, &slice, &[8]));
        assert!(
            refused(&claims).starts_with("records of 5497"),
            "{}",
            refused(&claims)
        );
        let mut inside = container(&block(1, 4, &[0, 1], &[2]));
        inside[11] = 1;
        inside.insert(12, 3);
        assert_eq!(refused(&inside), "a slice that begins inside a block");
        let mut cut = container(&[0; 9]);
        cut.truncate(20);
        assert_eq!(refused(&cut), "failed to fill whole buffer");
    }
}
