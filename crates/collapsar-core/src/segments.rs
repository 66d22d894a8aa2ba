//! Decides how a file that does not fit in memory is read: by position, a segment ahead of whoever works on it.
//!
//! A file is read by those who work on it, each its own part: while one segment is worked on, a thread of its own reads the next.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::error::{Error, Result};

/// Segments of one reader: one is worked on while the next is read.
const SEGMENTS: usize = 2;

/// A file that stays as it is while it is read, and what reading it has cost.
#[derive(Debug)]
pub struct SegmentFile {
    file: File,
    path: PathBuf,
    /// Length and time of the last change, when it was opened.
    stamp: (u64, Option<SystemTime>),
    /// What is read from it, in refusals.
    holds: &'static str,
    spare: Mutex<Vec<Vec<u8>>>,
    bytes: AtomicU64,
    waited: AtomicU64,
    spent: AtomicU64,
}

/// What reading has cost so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// Bytes read.
    pub bytes: u64,
    /// Time that threads waited for what they read, in all.
    pub waited: Duration,
    /// Time that they spent on what they read, that included.
    pub spent: Duration,
}

impl SegmentFile {
    /// A file that holds such things as `rows`.
    ///
    /// # Errors
    /// [`Error::File`] where it cannot be opened.
    pub fn open(path: &Path, holds: &'static str) -> Result<Self> {
        let refused = |error: io::Error| refusal(path, &error);
        let file = File::open(path).map_err(refused)?;
        let stamp = stamp(&file).map_err(refused)?;
        Ok(Self {
            file,
            path: path.to_owned(),
            stamp,
            holds,
            spare: Mutex::default(),
            bytes: AtomicU64::new(0),
            waited: AtomicU64::new(0),
            spent: AtomicU64::new(0),
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its bytes when it was opened.
    pub fn length(&self) -> u64 {
        self.stamp.0
    }

    /// What reading has cost so far.
    pub fn reading(&self) -> Reading {
        let time = |of: &AtomicU64| Duration::from_nanos(of.load(Ordering::Relaxed));
        Reading {
            bytes: self.bytes.load(Ordering::Relaxed),
            waited: time(&self.waited),
            spent: time(&self.spent),
        }
    }

    /// Fills `buffer` with what is at `at`.
    ///
    /// # Errors
    /// [`Error::File`] where it cannot be read, or has become shorter.
    pub fn read(&self, at: u64, buffer: &mut [u8]) -> Result<()> {
        let read = read_at(&self.file, buffer, at);
        self.bytes.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        read.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => self.changed(),
            _ => refusal(&self.path, &error),
        })
    }

    /// Has `read` read segments, each while `work` has the one before, until `work` says that it is enough.
    ///
    /// # Errors
    /// What `read` and `work` have; [`Error::File`] where the file has changed.
    pub fn each<S: Sync>(
        &self,
        segments: &[S],
        read: impl Fn(&S, &mut Vec<u8>) -> Result<()> + Sync,
        mut work: impl FnMut(&S, &[u8]) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let began = Instant::now();
        let done = self.read_ahead(segments, &read, &mut work);
        add(&self.spent, began.elapsed());
        done?;
        self.check()
    }

    fn read_ahead<S: Sync>(
        &self,
        segments: &[S],
        read: &(impl Fn(&S, &mut Vec<u8>) -> Result<()> + Sync),
        work: &mut impl FnMut(&S, &[u8]) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let buffers: Vec<Vec<u8>> = {
            let mut spare = self.spare();
            (0..SEGMENTS.min(segments.len()))
                .map(|_| spare.pop().unwrap_or_default())
                .collect()
        };
        let filled = |segment: &S, mut buffer: Vec<u8>| read(segment, &mut buffer).map(|()| buffer);
        let ahead = thread::scope(|scope| {
            let (full, filled_ones) = mpsc::sync_channel(SEGMENTS);
            let (empty, emptied) = mpsc::channel::<Vec<u8>>();
            let reader = move || {
                for segment in segments {
                    // Where nobody listens any more there is nothing to be done.
                    let Ok(buffer) = emptied.recv() else { return };
                    if full.send(filled(segment, buffer)).is_err() {
                        return;
                    }
                }
            };
            // One segment needs no second thread; nor is there one where the system has none left.
            if segments.len() < 2 || thread::Builder::new().spawn_scoped(scope, reader).is_err() {
                return None;
            }
            for buffer in buffers {
                // A reader that has ended has said why.
                let _ = empty.send(buffer);
            }
            for (place, segment) in segments.iter().enumerate() {
                let began = Instant::now();
                let Ok(buffer) = filled_ones.recv() else {
                    break;
                };
                add(&self.waited, began.elapsed());
                let done = buffer.and_then(|buffer| {
                    let flow = work(segment, &buffer);
                    if place + SEGMENTS < segments.len() {
                        let _ = empty.send(buffer);
                    } else {
                        self.keep(buffer);
                    }
                    flow
                });
                match done {
                    Ok(ControlFlow::Continue(())) => {}
                    Ok(ControlFlow::Break(())) => return Some(Ok(())),
                    Err(error) => return Some(Err(error)),
                }
            }
            Some(Ok(()))
        });
        if let Some(done) = ahead {
            return done;
        }
        let mut buffer = self.spare().pop().unwrap_or_default();
        for segment in segments {
            let began = Instant::now();
            read(segment, &mut buffer)?;
            add(&self.waited, began.elapsed());
            if work(segment, &buffer)?.is_break() {
                break;
            }
        }
        self.keep(buffer);
        Ok(())
    }

    /// Refuses a file that is no longer what was opened.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn check(&self) -> Result<()> {
        match stamp(&self.file) {
            Ok(now) if now == self.stamp => Ok(()),
            Ok(_) => Err(self.changed()),
            Err(error) => Err(refusal(&self.path, &error)),
        }
    }

    /// The refusal of a file that is no longer what was opened.
    pub fn changed(&self) -> Error {
        let holds = self.holds;
        self.refused(format!(
            "it was changed or cut short while its {holds} were read, expected a file that stays as it is; \
             start the fit anew"
        ))
    }

    /// The refusal of a file that ends too early, where it should have `expected` bytes, if that is known.
    pub fn truncated(&self, expected: Option<u64>) -> Error {
        let fewer = || format!("fewer {}", self.holds);
        let expected = expected.map_or_else(fewer, |end| format!("{end}"));
        self.refused(format!(
            "it ends after {} bytes, expected {expected}",
            self.length()
        ))
    }

    /// The refusal of the file for a cause.
    pub fn refused(&self, cause: String) -> Error {
        let path = self.path.display().to_string();
        Error::File { path, cause }
    }

    fn spare(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, buffer: Vec<u8>) {
        self.spare().push(buffer);
    }
}

fn add(to: &AtomicU64, time: Duration) {
    to.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
}

fn stamp(file: &File) -> io::Result<(u64, Option<SystemTime>)> {
    let metadata = file.metadata()?;
    Ok((metadata.len(), metadata.modified().ok()))
}

fn refusal(path: &Path, error: &io::Error) -> Error {
    Error::File {
        path: path.display().to_string(),
        cause: error.to_string(),
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, at)
}

#[cfg(windows)]
fn read_at(file: &File, mut buffer: &mut [u8], mut at: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, buffer, at) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                buffer = &mut buffer[read..];
                at += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
