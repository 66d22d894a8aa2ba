//! Numbers and texts as bytes, the lowest first, and back without trust in what they say.

use crate::error::{Error, Result};

/// Bytes to be sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// Bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// A small number.
    pub fn u8(&mut self, number: u8) {
        self.0.push(number);
    }

    /// A count.
    pub fn u64(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    /// A number, to the bit.
    pub fn f64(&mut self, number: f64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    /// Numbers and how many they are.
    pub fn numbers(&mut self, numbers: &[f64]) {
        self.u64(numbers.len() as u64);
        self.0.reserve(8 * numbers.len());
        for number in numbers {
            self.0.extend_from_slice(&number.to_le_bytes());
        }
    }

    /// A text.
    pub fn text(&mut self, text: &str) {
        self.u64(text.len() as u64);
        self.bytes(text.as_bytes());
    }

    /// What was written so far.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// What was written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// Bytes that were received.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Reads `bytes` from their beginning.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The next bytes.
    ///
    /// # Errors
    /// [`Error::Exchange`] where there are fewer.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or_else(short)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn word(&mut self) -> Result<[u8; 8]> {
        let (word, rest) = self.0.split_first_chunk().ok_or_else(short)?;
        self.0 = rest;
        Ok(*word)
    }

    /// A small number.
    ///
    /// # Errors
    /// As [`Reader::bytes`], and so for all others.
    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.bytes(1)?[0])
    }

    /// A count.
    ///
    /// # Errors
    /// As [`Reader::bytes`].
    pub fn u64(&mut self) -> Result<u64> {
        self.word().map(u64::from_le_bytes)
    }

    /// A number.
    ///
    /// # Errors
    /// As [`Reader::bytes`].
    pub fn f64(&mut self) -> Result<f64> {
        self.word().map(f64::from_le_bytes)
    }

    /// Numbers and how many they are, which takes no memory that the bytes do not account for.
    ///
    /// # Errors
    /// As [`Reader::bytes`].
    pub fn numbers(&mut self) -> Result<Vec<f64>> {
        let count = usize::try_from(self.u64()?).ok();
        let bytes = count.and_then(|count| count.checked_mul(8));
        let bytes = self.bytes(bytes.ok_or_else(short)?)?;
        let (words, _) = bytes.as_chunks();
        Ok(words.iter().map(|word| f64::from_le_bytes(*word)).collect())
    }

    /// A text.
    ///
    /// # Errors
    /// As [`Reader::bytes`].
    pub fn text(&mut self) -> Result<String> {
        let count = usize::try_from(self.u64()?).map_err(|_| short())?;
        Ok(String::from_utf8_lossy(self.bytes(count)?).into_owned())
    }

    /// Makes sure that nothing is left.
    ///
    /// # Errors
    /// [`Error::Exchange`] where something is.
    pub fn end(self) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let left = self.0.len();
        Err(Error::exchange(format!(
            "{left} bytes after the end of a message, expected none"
        )))
    }
}

fn short() -> Error {
    Error::exchange("a message that ends early, expected a whole one".into())
}
