//! Decides how documents go to a file, one after another, in memory that does not grow with them.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use collapsar_core::files::Temporary;
use collapsar_core::{Error, Place, Result, digest_on};

use super::super::corpus::{EMPTY, check_bag, digest_bag};
use super::layout::{HEADER, Header};
use super::record;

/// Each so many-th document has a place in the index, twice as many when there are too many places.
const STRIDE: u64 = 128;
/// Places in the index at most.
const PLACES: usize = 1 << 16;
/// Bytes that are written at once.
const BUFFER: usize = 1 << 20;

/// Writes documents one after another to a file, which is there when it is finished, and not before.
#[derive(Debug)]
pub struct CorpusWriter {
    place: Temporary,
    out: BufWriter<File>,
    header: Header,
    /// Where the next document begins, or what is kept with them ends.
    at: u64,
    totals: Vec<f64>,
    tokens: f64,
    places: Vec<u64>,
    /// How many places there may be.
    most: usize,
    /// Documents to the next place.
    until: u64,
    room: Vec<u8>,
    bytes: Vec<u8>,
}

impl CorpusWriter {
    /// A file for documents of a vocabulary of so many words.
    ///
    /// # Errors
    /// [`Error::File`] where it cannot be made; [`Error::Data`] where there are too many words.
    pub fn create(path: &Path, vocabulary: usize) -> Result<Self> {
        if u32::try_from(vocabulary).is_err() {
            return Err(too_many(vocabulary, 0));
        }
        let refused = |error: io::Error| refusal(path, &error);
        let place = Temporary::create(path).map_err(refused)?;
        let file = place.file().try_clone().map_err(refused)?;
        let mut out = BufWriter::with_capacity(BUFFER, file);
        out.write_all(&[0; HEADER]).map_err(refused)?;
        let header = Header {
            vocabulary: vocabulary as u64,
            digest: EMPTY,
            kept_digest: EMPTY,
            tables_digest: EMPTY,
            stride: STRIDE,
            ..Header::default()
        };
        Ok(Self {
            place,
            out,
            header,
            at: HEADER as u64,
            // The sum of nothing, as of those in memory.
            totals: vec![-0.0; vocabulary],
            tokens: -0.0,
            places: vec![],
            most: PLACES,
            until: 0,
            room: vec![],
            bytes: vec![],
        })
    }

    /// The same with an index of so many places at most, an even number.
    #[cfg(test)]
    pub(super) fn with_places(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// Documents so far.
    pub fn documents(&self) -> usize {
        self.header.documents as usize
    }

    /// Bytes so far.
    pub fn written(&self) -> u64 {
        self.at
    }

    /// Adds a document: words that ascend, each with its count.
    ///
    /// # Errors
    /// [`Error::Data`] where words do not ascend or lie outside the vocabulary, and where a count is not a positive number up to
    /// 2^24; [`Error::File`] where it cannot be written.
    ///
    /// # Panics
    /// After [`CorpusWriter::keep`].
    pub fn push(&mut self, words: &[u32], counts: &[f32]) -> Result<()> {
        assert_eq!(self.header.documents_end, 0, "documents come first");
        let document = self.header.documents as usize;
        check_bag(document, words, counts, self.totals.len())?;
        if document >= u32::MAX as usize - 1 {
            return Err(too_many(self.totals.len(), document + 1));
        }
        for (&word, &count) in words.iter().zip(counts) {
            let count = f64::from(count);
            self.totals[word as usize] += count;
            self.tokens += count;
        }
        let header = &mut self.header;
        header.documents += 1;
        header.entries += words.len() as u64;
        header.longest = header.longest.max(words.len() as u64);
        header.digest = digest_bag(header.digest, words, counts);
        if self.until == 0 {
            self.places.push(self.at);
            self.until = self.header.stride;
            if self.places.len() > self.most {
                let mut place = 0;
                self.places.retain(|_| {
                    place += 1;
                    place % 2 == 1
                });
                // The last place has stayed: there was an odd number of them.
                self.header.stride *= 2;
                self.until = self.header.stride;
            }
        }
        self.until -= 1;
        self.bytes.clear();
        record::write(words, counts, &mut self.room, &mut self.bytes);
        let written = self.out.write_all(&self.bytes);
        self.at += self.bytes.len() as u64;
        self.told(written)
    }

    /// Adds bytes that are kept with the documents, all of which are there.
    ///
    /// # Errors
    /// [`Error::File`] where they cannot be written.
    pub fn keep(&mut self, bytes: &[u8]) -> Result<()> {
        if self.header.documents_end == 0 {
            self.header.documents_end = self.at;
        }
        let header = &mut self.header;
        header.kept_digest = digest_on(header.kept_digest, bytes.iter().copied());
        self.at += bytes.len() as u64;
        let written = self.out.write_all(bytes);
        self.told(written)
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// [`Error::Data`] where there is no word at all; [`Error::File`] where it cannot be written.
    pub fn finish(mut self) -> Result<()> {
        if self.header.entries == 0 {
            let (found, expected) = ("no words", "at least one document with a word");
            return Err(Error::data(Place::Whole("corpus"), found, expected));
        }
        self.keep(&[])?;
        let header = &mut self.header;
        header.kept_end = self.at;
        header.tokens = self.tokens.to_bits();
        header.places = self.places.len() as u64;
        let totals = self.totals.iter().map(|total| total.to_bits());
        let mut written = Ok(());
        for number in totals.chain(self.places.iter().copied()) {
            let bytes = number.to_le_bytes();
            header.tables_digest = digest_on(header.tables_digest, bytes.into_iter());
            written = written.and_then(|()| self.out.write_all(&bytes));
        }
        let header = header.bytes();
        let written = written
            .and_then(|()| self.out.seek(SeekFrom::Start(0)))
            .and_then(|_| self.out.write_all(&header))
            .and_then(|()| self.out.flush());
        self.told(written)?;
        let target = self.place.target().to_owned();
        let finished = self.place.finish();
        finished.map_err(|error| refusal(&target, &error))
    }

    fn told(&self, written: io::Result<()>) -> Result<()> {
        written.map_err(|error| refusal(self.place.target(), &error))
    }
}

fn refusal(path: &Path, error: &io::Error) -> Error {
    Error::File {
        path: path.display().to_string(),
        cause: error.to_string(),
    }
}

fn too_many(words: usize, documents: usize) -> Error {
    let found = format!("{words} words and {documents} documents");
    Error::data(Place::Whole("corpus"), found, "fewer than 2^32 of each")
}
