//! Decides how far can be seen ahead: the length of a record is looked at before memory is taken for it, also where the
//! bytes of the length come from two blocks.

use std::io::{self, BufRead, Read};

/// Bytes that can be seen wherever there are so many.
const SEEN: usize = 4;

/// A reader whose buffer is never shorter than this but at the end.
pub(super) struct Ahead<R> {
    inner: R,
    /// Bytes taken out of buffers that were too short.
    short: Vec<u8>,
}

impl<R: BufRead> Ahead<R> {
    pub(super) fn new(inner: R) -> Self {
        Self {
            inner,
            short: Vec::with_capacity(SEEN),
        }
    }
}

impl<R: BufRead> BufRead for Ahead<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.short.is_empty() && self.inner.fill_buf()?.len() >= SEEN {
            return self.inner.fill_buf();
        }
        while self.short.len() < SEEN {
            let more = self.inner.fill_buf()?;
            let taken = more.len().min(SEEN - self.short.len());
            if taken == 0 {
                break;
            }
            self.short.extend_from_slice(&more[..taken]);
            self.inner.consume(taken);
        }
        Ok(&self.short)
    }

    fn consume(&mut self, count: usize) {
        let short = count.min(self.short.len());
        self.short.drain(..short);
        self.inner.consume(count - short);
    }
}

impl<R: BufRead> Read for Ahead<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.short.is_empty() {
            return self.inner.read(buffer);
        }
        let count = buffer.len().min(self.short.len());
        buffer[..count].copy_from_slice(&self.short[..count]);
        self.short.drain(..count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_bytes_are_seen_over_the_end_of_a_buffer() {
        let parts = || (&b"abc"[..]).chain(&b"d"[..]).chain(&b"efghij"[..]);
        let mut ahead = Ahead::new(parts());
        assert_eq!(ahead.fill_buf().expect("bytes"), b"abcd");
        ahead.consume(2);
        assert_eq!(ahead.fill_buf().expect("bytes"), b"cdef");
        let mut three = [0; 3];
        ahead.read_exact(&mut three).expect("bytes");
        assert_eq!(&three, b"cde");
        assert_eq!(ahead.fill_buf().expect("bytes"), b"fghi");
        let mut rest = vec![];
        ahead.read_to_end(&mut rest).expect("bytes");
        assert_eq!(rest, b"fghij");
        assert_eq!(ahead.fill_buf().expect("the end"), b"");
        let mut all = vec![];
        Ahead::new(parts()).read_to_end(&mut all).expect("bytes");
        assert_eq!(all, b"abcdefghij");
    }
}
