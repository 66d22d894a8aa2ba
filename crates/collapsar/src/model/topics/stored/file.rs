//! Decides how documents that are not in memory are read: from a file, in their order, ahead of whoever works on them.

use std::ops::{ControlFlow, Range};
use std::path::Path;

use collapsar_core::segments::{Reading, SegmentFile};
use collapsar_core::{Result, digest, digest_on};

use super::super::corpus::{EMPTY, digest_bag};
use super::layout::{HEADER, Header, no_corpus};
use super::record;

/// Bytes of a document's entries in memory, and those of its beginning.
const ENTRY: usize = 8;
const BEGINNING: usize = 8;
/// Bytes read at once, at most and at least.
const MOST: usize = 4 << 20;
const LEAST: usize = 1 << 12;

/// A corpus that is read from a file for every pass.
#[derive(Debug)]
pub struct StoredCorpus {
    file: SegmentFile,
    header: Header,
    totals: Vec<f64>,
    /// Where every so many-th document begins.
    places: Vec<u64>,
    /// Bytes of a block at most.
    segment: usize,
}

/// Documents that follow one another.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DocumentBlock {
    /// The first of them.
    pub first: usize,
    /// Where each begins in `words` and `counts`, and where the last one ends.
    pub starts: Vec<usize>,
    /// Their words, which ascend in each.
    pub words: Vec<u32>,
    /// How often each.
    pub counts: Vec<f32>,
}

impl DocumentBlock {
    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The words and counts of one of them, counted from the first.
    pub fn document(&self, index: usize) -> (&[u32], &[f32]) {
        let range = self.starts[index]..self.starts[index + 1];
        (&self.words[range.clone()], &self.counts[range])
    }

    fn begin(&mut self, first: usize) {
        self.first = first;
        self.starts.clear();
        self.starts.push(0);
        self.words.clear();
        self.counts.clear();
    }

    fn bytes(&self) -> usize {
        self.words.len() * ENTRY + self.len() * BEGINNING
    }
}

impl StoredCorpus {
    /// The documents of a file that a [`super::CorpusWriter`] has written, to be read in blocks of so many bytes at most, or of one
    /// document. Each of those who read takes about twice that.
    ///
    /// # Errors
    /// [`collapsar_core::Error::File`] where it cannot be read, is shorter than it was, or is no such file.
    pub fn open(path: &Path, segment: usize) -> Result<Self> {
        let file = SegmentFile::open(path, "documents")?;
        let header = Header::read(&file)?;
        let numbers = (header.vocabulary + header.places) as usize;
        let mut bytes = vec![0; 8 * numbers];
        file.read(header.kept_end, &mut bytes)?;
        if digest(bytes.iter().copied()) != header.tables_digest {
            return Err(no_corpus(&file));
        }
        let (all, _) = bytes.as_chunks::<8>();
        let mut all = all.iter().map(|bytes| u64::from_le_bytes(*bytes));
        let totals = all.by_ref().take(header.vocabulary as usize);
        let totals = totals.map(f64::from_bits).collect();
        let places: Vec<u64> = all.collect();
        let inside = HEADER as u64..=header.documents_end;
        if !places.is_sorted() || !places.iter().all(|place| inside.contains(place)) {
            return Err(no_corpus(&file));
        }
        Ok(Self {
            file,
            header,
            totals,
            places,
            segment,
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// How many documents.
    pub fn documents(&self) -> usize {
        self.header.documents as usize
    }

    /// How many words the vocabulary has.
    pub fn vocabulary(&self) -> usize {
        self.totals.len()
    }

    /// How many pairs of document and word.
    pub fn entries(&self) -> u64 {
        self.header.entries
    }

    /// The sum of all counts.
    pub fn tokens(&self) -> f64 {
        f64::from_bits(self.header.tokens)
    }

    /// The sum of the counts of each word, to the bits that those of a [`super::super::Corpus`] have.
    pub fn word_totals(&self) -> &[f64] {
        &self.totals
    }

    /// Most entries of a document.
    pub fn longest(&self) -> usize {
        self.header.longest as usize
    }

    /// Tells corpora apart, as it does those in memory.
    pub fn digest(&self) -> u64 {
        self.header.digest
    }

    /// Bytes that one pass over all documents reads.
    pub fn pass_bytes(&self) -> u64 {
        self.header.documents_end - HEADER as u64
    }

    /// What reading has cost so far.
    pub fn reading(&self) -> Reading {
        self.file.reading()
    }

    /// Bytes that were kept with the documents.
    pub fn kept_bytes(&self) -> u64 {
        self.header.kept_end - self.header.documents_end
    }

    /// Reads what was kept with the documents, from `at` on, as much as there is room for.
    ///
    /// # Errors
    /// As [`StoredCorpus::each`].
    ///
    /// # Panics
    /// Where so much was not kept.
    pub fn kept(&self, at: u64, out: &mut [u8]) -> Result<()> {
        assert!(at + out.len() as u64 <= self.kept_bytes(), "what was kept");
        self.file.read(self.header.documents_end + at, out)?;
        self.check()
    }

    /// Visits blocks of documents in their order, until `visit` says that it is enough. They are read ahead by a thread of its
    /// own, and each is as large as a segment allows.
    ///
    /// # Errors
    /// [`collapsar_core::Error::File`] where the file cannot be read or has changed; what `visit` has.
    pub fn each(
        &self,
        documents: Range<usize>,
        visit: &mut dyn FnMut(&DocumentBlock) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let end = documents.end.min(self.documents());
        if documents.start >= end {
            return self.check();
        }
        let stride = self.header.stride as usize;
        // Those before the first that is wanted.
        let mut skipped = documents.start % stride;
        let mut block = DocumentBlock::default();
        block.begin(documents.start);
        // What was read of a document that goes on in the next segment.
        let mut rest: Vec<u8> = vec![];
        let mut over = false;
        let work = |_: &Range<u64>, bytes: &[u8]| -> Result<ControlFlow<()>> {
            rest.extend_from_slice(bytes);
            let mut left = &rest[..];
            while let Some(document) = record::split(&mut left) {
                if skipped > 0 {
                    skipped -= 1;
                    continue;
                }
                let changed = || self.file.changed();
                let entries = record::entries(document).ok_or_else(changed)?;
                let more = entries * ENTRY + BEGINNING;
                if !block.is_empty() && block.bytes() + more > self.segment {
                    if visit(&block)?.is_break() {
                        over = true;
                        return Ok(ControlFlow::Break(()));
                    }
                    block.begin(block.first + block.len());
                }
                let (words, counts) = (&mut block.words, &mut block.counts);
                record::read(document, self.totals.len(), words, counts).ok_or_else(changed)?;
                block.starts.push(block.words.len());
                if block.first + block.len() == end {
                    let _ = visit(&block)?;
                    over = true;
                    return Ok(ControlFlow::Break(()));
                }
            }
            let used = rest.len() - left.len();
            rest.drain(..used);
            Ok(ControlFlow::Continue(()))
        };
        let read = |segment: &Range<u64>, buffer: &mut Vec<u8>| {
            // What is there is written over.
            buffer.resize((segment.end - segment.start) as usize, 0);
            self.file.read(segment.start, buffer)
        };
        let bytes = self.bytes_of(documents.start, end);
        self.file.each(&self.segments(bytes), read, work)?;
        if over {
            Ok(())
        } else {
            Err(self.file.changed())
        }
    }

    /// A document's words and counts.
    ///
    /// # Errors
    /// As [`StoredCorpus::each`].
    pub fn document(&self, index: usize) -> Result<(Vec<u32>, Vec<f32>)> {
        let mut found = (vec![], vec![]);
        self.each(index..index + 1, &mut |block| {
            found = (block.words.clone(), block.counts.clone());
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    /// Refuses a file that is no longer what was opened.
    ///
    /// # Errors
    /// [`collapsar_core::Error::File`].
    pub fn check(&self) -> Result<()> {
        self.file.check()
    }

    /// Whether documents and what was kept with them are as they were written: reads the whole file.
    ///
    /// # Errors
    /// As [`StoredCorpus::each`].
    pub fn is_whole(&self) -> Result<bool> {
        let mut found = EMPTY;
        let mut documents = 0;
        self.each(0..self.documents(), &mut |block| {
            for index in 0..block.len() {
                let (words, counts) = block.document(index);
                found = digest_bag(found, words, counts);
            }
            documents += block.len();
            Ok(ControlFlow::Continue(()))
        })?;
        let mut kept = EMPTY;
        let mut buffer = vec![0; LEAST];
        for at in (0..self.kept_bytes()).step_by(LEAST) {
            let length = (self.kept_bytes() - at).min(LEAST as u64);
            let piece = &mut buffer[..length as usize];
            self.kept(at, piece)?;
            kept = digest_on(kept, piece.iter().copied());
        }
        Ok((documents, found, kept) == (self.documents(), self.digest(), self.header.kept_digest))
    }

    /// Bytes that hold documents, from a place of the index to another.
    fn bytes_of(&self, start: usize, end: usize) -> Range<u64> {
        let stride = self.header.stride as usize;
        let last = self.places.get(end.div_ceil(stride)).copied();
        self.places[start / stride]..last.unwrap_or(self.header.documents_end)
    }

    /// Bytes that are read at once: they are a quarter or less of what they become.
    fn segments(&self, bytes: Range<u64>) -> Vec<Range<u64>> {
        let size = (self.segment / 4).clamp(LEAST, MOST) as u64;
        let mut segments = vec![];
        let mut at = bytes.start;
        while at < bytes.end {
            let end = bytes.end.min(at + size);
            segments.push(at..end);
            at = end;
        }
        segments
    }
}

#[cfg(test)]
mod tests;
