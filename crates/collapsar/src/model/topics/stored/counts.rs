//! Where counts of documents are between passes: in files, one for each evaluation that a point still refers to.

use std::any::Any;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use collapsar_core::files::TemporaryFolder;
use collapsar_core::segments::SegmentFile;
use collapsar_core::{Elsewhere, Error, Result, Warm};

use super::super::document::extrapolated;

/// Bytes of a number.
const NUMBER: usize = 8;

/// A private folder of files of counts, which vanishes with the last of them.
#[derive(Debug)]
pub(super) struct Shelf {
    folder: TemporaryFolder,
    /// Numbers of a document.
    topics: usize,
    written: AtomicU64,
}

/// Counts of all documents as one evaluation left them.
#[derive(Debug)]
pub(super) struct Generation {
    file: SegmentFile,
    path: PathBuf,
    /// Keeps the folder.
    shelf: Arc<Shelf>,
}

/// What a point refers to.
#[derive(Debug, Clone)]
enum Kept {
    /// Counts as they were left.
    Left(Arc<Generation>),
    /// Counts moved on by so many times their change since others; what they are is found as they are read.
    Moved(Arc<Generation>, Arc<Generation>, f64),
}

impl Elsewhere for Kept {}

/// Counts that are being written.
pub(super) struct Writer {
    out: BufWriter<File>,
    path: PathBuf,
    shelf: Arc<Shelf>,
    bytes: Vec<u8>,
}

impl Shelf {
    /// A folder beside `target`.
    ///
    /// # Errors
    /// [`Error::File`] where it cannot be made.
    pub(super) fn create(target: &Path, topics: usize) -> Result<Arc<Self>> {
        let folder = TemporaryFolder::create(target).map_err(|error| refusal(target, &error))?;
        Ok(Arc::new(Self {
            folder,
            topics,
            written: AtomicU64::new(0),
        }))
    }

    /// Begins another generation.
    ///
    /// # Errors
    /// [`Error::File`] where there is no place for it.
    pub(super) fn begin(self: &Arc<Self>) -> Result<Writer> {
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.path().join(number.to_string());
        let file = File::create_new(&path).map_err(|error| refusal(&path, &error))?;
        Ok(Writer {
            out: BufWriter::with_capacity(1 << 20, file),
            path,
            shelf: Arc::clone(self),
            bytes: vec![],
        })
    }
}

impl Writer {
    /// Adds the counts of the documents that follow.
    pub(super) fn add(&mut self, counts: &[f64]) -> Result<()> {
        self.bytes.clear();
        (self.bytes).extend(counts.iter().flat_map(|count| count.to_le_bytes()));
        let written = self.out.write_all(&self.bytes);
        written.map_err(|error| refusal(&self.path, &error))
    }

    /// What a point may refer to.
    pub(super) fn finish(mut self) -> Result<Arc<dyn Elsewhere>> {
        let refused = |error: io::Error| refusal(&self.path, &error);
        self.out.flush().map_err(refused)?;
        let file = SegmentFile::open(&self.path, "counts of documents")?;
        let generation = Generation {
            file,
            path: self.path,
            shelf: self.shelf,
        };
        Ok(Arc::new(Kept::Left(Arc::new(generation))))
    }
}

impl Drop for Generation {
    fn drop(&mut self) {
        // It would go with the folder too.
        let _ = fs::remove_file(&self.path);
    }
}

impl Generation {
    /// Reads the counts of documents from `first` on.
    fn read(&self, first: usize, bytes: &mut Vec<u8>, out: &mut [f64]) -> Result<()> {
        bytes.resize(NUMBER * out.len(), 0);
        let at = NUMBER * first * self.shelf.topics;
        self.file.read(at as u64, bytes)?;
        for (count, bytes) in out.iter_mut().zip(bytes.as_chunks().0) {
            *count = f64::from_le_bytes(*bytes);
        }
        Ok(())
    }
}

/// Counts that a point refers to, to be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts<'a>(&'a Kept);

impl<'a> Counts<'a> {
    /// Those of a point that has any.
    pub(super) fn of(warm: &'a Warm) -> Option<Self> {
        let kept: &dyn Any = &**warm.elsewhere.as_ref()?;
        kept.downcast_ref().map(Self)
    }

    /// Reads those of documents from `first` on, by way of `bytes`.
    pub(super) fn read(self, first: usize, bytes: &mut Vec<u8>, out: &mut [f64]) -> Result<()> {
        match self.0 {
            Kept::Left(generation) => generation.read(first, bytes, out),
            Kept::Moved(now, before, coefficient) => {
                now.read(first, bytes, out)?;
                let mut then = vec![0.0; out.len()];
                before.read(first, bytes, &mut then)?;
                for (count, then) in out.iter_mut().zip(&then) {
                    *count = extrapolated(*count, *then, *coefficient);
                }
                Ok(())
            }
        }
    }
}

/// Moves what a point refers to on by `coefficient` times its change since `before`; without either it stays.
pub(super) fn extrapolate(warm: &mut Warm, before: &Warm, coefficient: f64) {
    let left = |warm: &Warm| match Counts::of(warm)?.0 {
        Kept::Left(generation) | Kept::Moved(generation, ..) => Some(Arc::clone(generation)),
    };
    if let (Some(now), Some(before)) = (left(warm), left(before)) {
        warm.elsewhere = Some(Arc::new(Kept::Moved(now, before, coefficient)));
    }
}

fn refusal(path: &Path, error: &io::Error) -> Error {
    Error::File {
        path: path.display().to_string(),
        cause: format!("counts of documents: {error}, expected room for them; try another folder"),
    }
}
