//! Decides where a file of documents has what: a header of numbers, documents, whatever was kept with them, totals of words, and where
//! every so many-th document begins.

use collapsar_core::segments::SegmentFile;
use collapsar_core::{Result, digest};

/// What such a file begins with, which changes when its layout does.
const MAGIC: &[u8; 24] = b"collapsar documents 1\n\0\0";
/// Numbers of the header.
const NUMBERS: usize = 12;
/// Bytes before the documents.
pub(super) const HEADER: usize = MAGIC.len() + 8 * (NUMBERS + 1);

/// What a file of documents says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Header {
    pub(super) documents: u64,
    pub(super) vocabulary: u64,
    pub(super) entries: u64,
    /// The bits of the number of tokens.
    pub(super) tokens: u64,
    /// Most entries of a document.
    pub(super) longest: u64,
    /// Of the documents, as of a corpus in memory.
    pub(super) digest: u64,
    /// Where documents end, and what was kept with them begins.
    pub(super) documents_end: u64,
    /// Where that ends, and totals and places begin.
    pub(super) kept_end: u64,
    /// Of what was kept.
    pub(super) kept_digest: u64,
    /// Each so many-th document has a place in the index.
    pub(super) stride: u64,
    /// Places in the index.
    pub(super) places: u64,
    /// Of totals and places.
    pub(super) tables_digest: u64,
}

impl Header {
    fn numbers(&self) -> [u64; NUMBERS] {
        [
            self.documents,
            self.vocabulary,
            self.entries,
            self.tokens,
            self.longest,
            self.digest,
            self.documents_end,
            self.kept_end,
            self.kept_digest,
            self.stride,
            self.places,
            self.tables_digest,
        ]
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(
            self.numbers()
                .iter()
                .flat_map(|number| number.to_le_bytes()),
        );
        let own = digest(bytes.iter().copied());
        bytes.extend(own.to_le_bytes());
        bytes
    }

    /// The header of a file whose length agrees with it.
    pub(super) fn read(file: &SegmentFile) -> Result<Self> {
        if file.length() < HEADER as u64 {
            return Err(file.truncated(None));
        }
        let mut bytes = [0; HEADER];
        file.read(0, &mut bytes)?;
        let header = Self::of(&bytes).ok_or_else(|| no_corpus(file))?;
        let end = header.end().ok_or_else(|| no_corpus(file))?;
        if end > file.length() {
            return Err(file.truncated(Some(end)));
        }
        Ok(header)
    }

    fn of(bytes: &[u8]) -> Option<Self> {
        let (own, last) = bytes.split_last_chunk()?;
        if digest(own.iter().copied()) != u64::from_le_bytes(*last) {
            return None;
        }
        let (numbers, _) = own.strip_prefix(MAGIC)?.as_chunks::<8>();
        let mut numbers = numbers.iter().map(|bytes| u64::from_le_bytes(*bytes));
        let mut next = || numbers.next();
        Some(Self {
            documents: next()?,
            vocabulary: next()?,
            entries: next()?,
            tokens: next()?,
            longest: next()?,
            digest: next()?,
            documents_end: next()?,
            kept_end: next()?,
            kept_digest: next()?,
            stride: next()?,
            places: next()?,
            tables_digest: next()?,
        })
    }

    /// Bytes of the file; nothing where numbers do not go together.
    fn end(&self) -> Option<u64> {
        let ordered = HEADER as u64 <= self.documents_end && self.documents_end <= self.kept_end;
        let places = self.documents.div_ceil(self.stride.max(1));
        let tables = self.vocabulary.checked_add(self.places)?.checked_mul(8)?;
        (ordered && self.stride > 0 && places == self.places).then_some(())?;
        self.kept_end.checked_add(tables)
    }
}

/// The refusal of a file that is none of documents, or not as it was written.
pub(super) fn no_corpus(file: &SegmentFile) -> collapsar_core::Error {
    file.refused(
        "it is no file of documents of this version, or damaged, expected one that is whole".into(),
    )
}
