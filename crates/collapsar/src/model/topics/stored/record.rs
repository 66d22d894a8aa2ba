//! Decides how a document becomes bytes: distances between its words, most of them with their count in a byte or two.
//!
//! A document is its length in bytes, its number of entries, and for each entry 4 (word − word before) + kind, all in
//! groups of seven bits, the lowest first. The kind says what count follows: 0 that it is one and 1 that it is two, where nothing
//! follows, 2 a whole number like those before, 3 the four bytes of a float. A corpus of text takes less than two and a half bytes
//! an entry this way, where numbers of fixed width take eight.

use super::super::corpus::LARGEST;

/// Bytes of a number at most.
const LONGEST: usize = 10;

/// Adds a number to bytes.
pub(super) fn push(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes a number from the front of bytes; nothing where they end before it does.
pub(super) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for (place, &byte) in bytes.iter().enumerate().take(LONGEST) {
        number |= u64::from(byte & 0x7f).checked_shl(7 * place as u32)?;
        if byte < 0x80 {
            *bytes = &bytes[place + 1..];
            return Some(number);
        }
    }
    None
}

/// Adds a document, whose words ascend, to bytes; `room` is used for its own.
pub(super) fn write(words: &[u32], counts: &[f32], room: &mut Vec<u8>, out: &mut Vec<u8>) {
    room.clear();
    push(room, words.len() as u64);
    let mut before = 0;
    for (&word, &count) in words.iter().zip(counts) {
        let distance = 4 * u64::from(word - before);
        before = word;
        let whole = count as u32;
        if whole as f32 != count {
            push(room, distance + 3);
            room.extend(count.to_le_bytes());
        } else if whole <= 2 {
            push(room, distance + u64::from(whole) - 1);
        } else {
            push(room, distance + 2);
            push(room, whole.into());
        }
    }
    push(out, room.len() as u64);
    out.extend_from_slice(room);
}

/// Takes the bytes of a document from the front of bytes; nothing where they end before it does.
pub(super) fn split<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let mut rest = *bytes;
    let length = usize::try_from(take(&mut rest)?).ok()?;
    let (document, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    Some(document)
}

/// How many entries a document has.
pub(super) fn entries(document: &[u8]) -> Option<usize> {
    let mut rest = document;
    let entries = usize::try_from(take(&mut rest)?).ok()?;
    (entries <= rest.len()).then_some(entries)
}

/// Adds the entries of a document to words and counts; nothing where its bytes are not those of one.
pub(super) fn read(
    mut document: &[u8],
    vocabulary: usize,
    words: &mut Vec<u32>,
    counts: &mut Vec<f32>,
) -> Option<()> {
    let entries = entries(document)?;
    take(&mut document)?;
    let mut next = 0;
    for place in 0..entries {
        let number = take(&mut document)?;
        let distance = number >> 2;
        if place > 0 && distance == 0 {
            return None;
        }
        next += distance;
        if next >= vocabulary as u64 {
            return None;
        }
        let count = match number & 3 {
            0 => 1.0,
            1 => 2.0,
            2 => take(&mut document)? as f32,
            _ => {
                let (bytes, rest) = document.split_first_chunk()?;
                document = rest;
                f32::from_le_bytes(*bytes)
            }
        };
        if !(count > 0.0 && count <= LARGEST) {
            return None;
        }
        words.push(next as u32);
        counts.push(count);
    }
    document.is_empty().then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    type Document = (Vec<u32>, Vec<f32>);

    fn round(words: &[u32], counts: &[f32]) -> (usize, Option<Document>) {
        let (mut room, mut bytes) = (vec![7], vec![]);
        write(words, counts, &mut room, &mut bytes);
        let length = bytes.len();
        for end in 0..length {
            assert_eq!(split(&mut &bytes[..end]), None);
        }
        bytes.push(1);
        let mut rest = &bytes[..];
        let document = split(&mut rest).expect("a document");
        assert_eq!((rest, entries(document)), (&[1][..], Some(words.len())));
        let (mut words, mut counts) = (vec![], vec![]);
        let read = read(document, u32::MAX as usize, &mut words, &mut counts);
        (length, read.map(|()| (words, counts)))
    }

    #[test]
    fn documents_come_back() {
        for (words, counts, bytes) in [
            (vec![], vec![], 2),
            (vec![0], vec![1.0], 3),
            (vec![0, 1, 33], vec![2.0, 1.0, 3.0], 7),
            (vec![5, u32::MAX - 1], vec![LARGEST, 0.5], 16),
            (vec![7, 8], vec![f32::MIN_POSITIVE, 1e-45], 12),
            (vec![127], vec![1.0 + f32::EPSILON], 8),
        ] {
            assert_eq!(round(&words, &counts), (bytes, Some((words, counts))));
        }
    }

    #[test]
    fn bytes_that_are_no_document_are_none() {
        let read = |document: &[u8]| read(document, 10, &mut vec![], &mut vec![]);
        assert_eq!(read(&[1, 4]), Some(()));
        for bad in [
            &[][..],
            // More entries than bytes, and a word outside, twice, without a count, with one of zero, infinite; a byte too many.
            &[200, 1, 4],
            &[1, 40],
            &[2, 4, 0],
            &[1, 6],
            &[1, 6, 0],
            &[1, 7, 0, 0, 128, 127],
            &[1, 4, 4],
            &[
                1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1,
            ],
        ] {
            assert_eq!(read(bad), None, "{bad:?}");
        }
    }
}
