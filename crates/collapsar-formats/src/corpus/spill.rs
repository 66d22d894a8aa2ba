//! Decides what becomes of documents that do not fit in memory: they go to a private file as they come, and are read again when it is
//! known which of their words are kept.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use collapsar::files::Temporary;
use collapsar::topics::CorpusWriter;
use collapsar::{Hint, Place};

use crate::error::{Error, Result};

use super::numbers::SPARE;

/// Bytes that are read or written at once.
const BUFFER: usize = 1 << 18;

/// How much of a corpus there is so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CorpusSize {
    /// Documents.
    pub documents: u64,
    /// Different words of documents, summed over them.
    pub entries: u64,
}

/// What may be kept in memory, and where the rest goes.
pub struct CorpusLimits<'a> {
    /// Whether so much may be kept in memory.
    pub fits: &'a dyn Fn(CorpusSize) -> bool,
    /// The file that documents go to which may not.
    pub scratch: &'a Path,
    /// What tells this corpus, read in this way, apart from others; a file of another is not taken for it.
    pub key: u64,
    /// Bytes of documents that are read from the file at once.
    pub segment: usize,
}

/// Who sees how far reading is: documents so far, and bytes that were written, if they are written.
pub type CorpusSeen<'a> = dyn Fn(u64, Option<u64>) + 'a;

/// Takes the words of a document and how often each.
type Visit<'a> = dyn FnMut(&[u32], &[f32]) -> Result<()> + 'a;

/// What watches over documents while they are gathered.
pub(super) struct Spill<'a> {
    limits: &'a CorpusLimits<'a>,
    seen: &'a CorpusSeen<'a>,
    pub(super) raw: Option<Raw>,
}

impl<'a> Spill<'a> {
    pub(super) fn new(limits: &'a CorpusLimits<'a>, seen: &'a CorpusSeen<'a>) -> Self {
        let raw = None;
        Self { limits, seen, raw }
    }

    /// Whether documents go to a file, from now on where there are more than may be kept.
    pub(super) fn spills(&mut self, size: CorpusSize) -> Result<bool> {
        (self.seen)(size.documents, self.raw.as_ref().map(|raw| raw.bytes));
        if self.raw.is_none() && !(self.limits.fits)(size) {
            self.raw = Some(Raw::create(self.limits.scratch)?);
        }
        Ok(self.raw.is_some())
    }
}

/// Documents in a private file, with words as they are numbered before any is dropped.
pub(super) struct Raw {
    file: Private,
    /// Documents so far.
    pub(super) documents: u64,
    entries: u64,
    bytes: u64,
    /// Documents without a word since the last that has one.
    gap: u32,
    /// How often each word occurs, and in how many documents.
    tokens: Vec<f64>,
    within: Vec<u32>,
    /// Whether a word was so far from all others that it was not counted.
    uncounted: bool,
    pub(super) names: Names,
}

impl Raw {
    fn create(scratch: &Path) -> Result<Self> {
        Ok(Self {
            file: Private::create(scratch, "raw")?,
            documents: 0,
            entries: 0,
            bytes: 0,
            gap: 0,
            tokens: vec![],
            within: vec![],
            uncounted: false,
            names: Names::new(scratch),
        })
    }

    /// Adds so many documents without a word.
    pub(super) fn skip(&mut self, documents: u64) {
        self.documents += documents;
        // There are fewer than 2^32 of them in all.
        self.gap += documents as u32;
    }

    /// Adds a document, whose words ascend.
    pub(super) fn push(&mut self, words: &[u32], counts: &[f32]) -> Result<()> {
        if words.is_empty() {
            self.skip(1);
            return Ok(());
        }
        self.documents += 1;
        self.entries += words.len() as u64;
        for (&word, &count) in words.iter().zip(counts) {
            let word = word as usize;
            if word >= self.tokens.len() {
                // A number of a word alone must not take memory.
                if word as u64 >= self.entries + SPARE {
                    self.uncounted = true;
                    continue;
                }
                self.tokens.resize(word + 1, 0.0);
                self.within.resize(word + 1, 0);
            }
            self.tokens[word] += f64::from(count);
            self.within[word] += 1;
        }
        let (gap, length) = (std::mem::take(&mut self.gap), words.len() as u32);
        let file = &mut self.file;
        file.write(&gap.to_le_bytes())?;
        file.write(&length.to_le_bytes())?;
        for word in words {
            file.write(&word.to_le_bytes())?;
        }
        for count in counts {
            file.write(&count.to_le_bytes())?;
        }
        self.bytes += 8 + 8 * u64::from(length);
        Ok(())
    }

    /// How often each of so many words occurs, and in how many documents.
    pub(super) fn frequencies(&mut self, words: usize) -> Result<(Vec<f64>, Vec<u32>)> {
        let mut tokens = std::mem::take(&mut self.tokens);
        let mut within = std::mem::take(&mut self.within);
        tokens.resize(words, 0.0);
        within.resize(words, 0);
        if self.uncounted {
            tokens.fill(0.0);
            within.fill(0);
            self.each(&mut |words, counts| {
                for (&word, &count) in words.iter().zip(counts) {
                    tokens[word as usize] += f64::from(count);
                    within[word as usize] += 1;
                }
                Ok(())
            })?;
        }
        Ok((tokens, within))
    }

    /// Visits all documents in their order, those without a word too.
    pub(super) fn each(&mut self, visit: &mut Visit<'_>) -> Result<()> {
        let (mut words, mut counts, mut bytes) = (vec![], vec![], vec![]);
        let mut left = self.entries;
        let end = self.gap;
        let mut reader = self.file.reader()?;
        while left > 0 {
            let [gap, length] = [reader.number()?, reader.number()?];
            for _ in 0..gap {
                visit(&[], &[])?;
            }
            bytes.resize(8 * length as usize, 0);
            reader.read(&mut bytes)?;
            let (numbers, _) = bytes.as_chunks::<4>();
            let (first, second) = numbers.split_at(length as usize);
            words.clear();
            words.extend(first.iter().map(|bytes| u32::from_le_bytes(*bytes)));
            counts.clear();
            counts.extend(second.iter().map(|bytes| f32::from_le_bytes(*bytes)));
            visit(&words, &counts)?;
            left -= u64::from(length);
        }
        (0..end).try_for_each(|_| visit(&[], &[]))
    }
}

/// Names of documents, which are only written where they are not their numbers.
pub(super) struct Names {
    scratch: PathBuf,
    number: u64,
    file: Option<Private>,
}

impl Names {
    fn new(scratch: &Path) -> Self {
        Self {
            scratch: scratch.to_owned(),
            number: 0,
            file: None,
        }
    }

    /// Adds the name of the next document.
    pub(super) fn push(&mut self, name: &str) -> Result<()> {
        self.number += 1;
        if self.file.is_none() {
            if name == self.number.to_string() {
                return Ok(());
            }
            let mut file = Private::create(&self.scratch, "names")?;
            (1..self.number).try_for_each(|number| file.name(&number.to_string()))?;
            self.file = Some(file);
        }
        match &mut self.file {
            Some(file) => file.name(name),
            None => Ok(()),
        }
    }

    /// Whether names are numbers.
    pub(super) fn are_numbers(&self) -> bool {
        self.file.is_none()
    }

    /// Has a file of documents keep them.
    pub(super) fn keep(self, out: &mut CorpusWriter) -> Result<()> {
        let Some(mut file) = self.file else {
            return Ok(());
        };
        let mut reader = file.reader()?;
        let mut buffer = vec![0; BUFFER];
        loop {
            let length = reader.some(&mut buffer)?;
            if length == 0 {
                return Ok(());
            }
            let kept = out.keep(&buffer[..length]);
            kept.map_err(|error| no_place(&error.to_string()))?;
        }
    }
}

/// A file that vanishes with whoever writes it and reads it again.
struct Private {
    place: Temporary,
    out: BufWriter<File>,
}

impl Private {
    fn create(scratch: &Path, what: &str) -> Result<Self> {
        let name = scratch.file_name().unwrap_or_default().to_string_lossy();
        let target = scratch.with_file_name(format!("{name}.{what}"));
        let refused = |error: io::Error| no_place(&Error::file(&target, &error).to_string());
        let place = Temporary::create(&target).map_err(refused)?;
        let file = place.file().try_clone().map_err(refused)?;
        let out = BufWriter::with_capacity(BUFFER, file);
        Ok(Self { place, out })
    }

    fn refused(&self, error: &io::Error) -> Error {
        no_place(&Error::file(self.place.target(), error).to_string())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.out.write_all(bytes);
        written.map_err(|error| self.refused(&error))
    }

    fn name(&mut self, name: &str) -> Result<()> {
        self.write(&(name.len() as u32).to_le_bytes())?;
        self.write(name.as_bytes())
    }

    /// Reads it from its beginning.
    fn reader(&mut self) -> Result<Reader<'_>> {
        let opened = (self.out.flush())
            .and_then(|()| self.place.file().try_clone())
            .and_then(|mut file| file.seek(SeekFrom::Start(0)).map(|_| file));
        let file = opened.map_err(|error| self.refused(&error))?;
        let input = BufReader::with_capacity(BUFFER, file);
        Ok(Reader { of: self, input })
    }
}

struct Reader<'a> {
    of: &'a Private,
    input: BufReader<File>,
}

impl Reader<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> Result<()> {
        let read = self.input.read_exact(bytes);
        read.map_err(|error| self.of.refused(&error))
    }

    fn number(&mut self) -> Result<u32> {
        let mut bytes = [0; 4];
        self.read(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// Reads as much as there is at once; nothing at the end.
    fn some(&mut self, bytes: &mut [u8]) -> Result<usize> {
        let read = self.input.read(bytes);
        read.map_err(|error| self.of.refused(&error))
    }
}

/// Refuses a place for documents that do not fit in memory.
pub(super) fn no_place(cause: &str) -> Error {
    let expected = "room for documents that do not fit in memory";
    let error = collapsar::Error::data(Place::Named("corpus".into()), cause, expected);
    let hints = vec![Hint::higher("memory"), Hint::give("out")];
    error.with_hint(Hint::Any(hints)).into()
}
