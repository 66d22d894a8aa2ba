//! The passes that counts which something still refers to depend on, so that a worker that came in the place of another can
//! make them again.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::task::Pass;
use collapsar_core::exchange::Writer;
use collapsar_core::files::TemporaryFolder;
use collapsar_core::{Error, Result};

/// Bytes of passes that are kept in memory; the others go to a temporary file.
const MEMORY: usize = 1 << 28;

/// Passes by their numbers, which grow: counts of a pass depend on counts of earlier ones.
#[derive(Debug)]
pub(super) struct Log {
    entries: Mutex<Entries>,
}

#[derive(Debug)]
struct Entries {
    last: u64,
    by_number: BTreeMap<u64, Entry>,
    /// How much of them is in memory, and may be.
    used: usize,
    memory: usize,
    file: Option<Spilled>,
}

#[derive(Debug)]
struct Entry {
    /// Passes whose counts it began from.
    parents: Vec<u64>,
    /// Whether something refers to its counts.
    held: bool,
    /// How many passes that are kept began from it.
    children: usize,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Memory(Vec<u8>),
    File { at: u64, length: usize },
}

/// Passes that went to a file, which vanishes with this.
#[derive(Debug)]
struct Spilled {
    file: File,
    end: u64,
    /// Goes with the file.
    _folder: TemporaryFolder,
}

/// A pass to be made again.
#[derive(Debug, PartialEq)]
pub(super) struct Step {
    pub(super) number: u64,
    /// Passes whose counts are needed after it, its own included.
    pub(super) held: Vec<u64>,
}

impl Default for Log {
    fn default() -> Self {
        Self::with_memory(MEMORY)
    }
}

impl Log {
    /// A log that keeps so many bytes of passes in memory.
    fn with_memory(memory: usize) -> Self {
        Self {
            entries: Mutex::new(Entries {
                last: 0,
                by_number: BTreeMap::new(),
                used: 0,
                memory,
                file: None,
            }),
        }
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number that no pass has had, never zero.
    pub(super) fn next(&self) -> u64 {
        let mut entries = self.entries();
        entries.last += 1;
        entries.last
    }

    /// Keeps a pass, to whose counts something refers until they are released.
    ///
    /// # Errors
    /// [`Error::Exchange`] where there is no room for it.
    pub(super) fn keep(&self, pass: &Pass) -> Result<()> {
        let mut out = Writer::default();
        pass.write(&mut out);
        let mut entries = self.entries();
        let body = entries.stored(out.into_bytes())?;
        let parents: Vec<u64> = pass.begin.passes().collect();
        for parent in &parents {
            if let Some(parent) = entries.by_number.get_mut(parent) {
                parent.children += 1;
            }
        }
        let entry = Entry {
            parents,
            held: true,
            children: 0,
            body,
        };
        entries.by_number.insert(pass.number, entry);
        Ok(())
    }

    /// Nothing refers to the counts of a pass any more: it is forgotten once no pass that is kept depends on it.
    pub(super) fn release(&self, number: u64) {
        let mut entries = self.entries();
        if let Some(entry) = entries.by_number.get_mut(&number) {
            entry.held = false;
        }
        let mut doubtful = vec![number];
        while let Some(number) = doubtful.pop() {
            let needed = |entry: &Entry| entry.held || entry.children > 0;
            if entries.by_number.get(&number).is_none_or(needed) {
                continue;
            }
            let Some(entry) = entries.by_number.remove(&number) else {
                continue;
            };
            if let Body::Memory(bytes) = &entry.body {
                entries.used -= bytes.len();
            }
            for parent in entry.parents {
                if let Some(entry) = entries.by_number.get_mut(&parent) {
                    entry.children -= 1;
                    doubtful.push(parent);
                }
            }
        }
    }

    /// Passes whose counts something refers to.
    pub(super) fn held(&self) -> Vec<u64> {
        let entries = self.entries();
        let held = entries.by_number.iter().filter(|(_, entry)| entry.held);
        held.map(|(number, _)| *number).collect()
    }

    /// What to make again, in this order, for whoever has nothing.
    pub(super) fn steps(&self) -> Vec<Step> {
        let entries = self.entries();
        let mut last_use: BTreeMap<u64, u64> = BTreeMap::new();
        for (number, entry) in &entries.by_number {
            let end = if entry.held { u64::MAX } else { *number };
            last_use.entry(*number).or_insert(end);
            for parent in &entry.parents {
                let last = last_use.entry(*parent).or_insert(*number);
                *last = (*last).max(*number);
            }
        }
        let mut present: Vec<u64> = vec![];
        let numbers = entries.by_number.keys();
        numbers
            .map(|&number| {
                present.push(number);
                present.retain(|of| last_use.get(of).is_some_and(|&last| last > number));
                let held = present.clone();
                Step { number, held }
            })
            .collect()
    }

    /// A pass as a task has it.
    ///
    /// # Errors
    /// [`Error::Exchange`] where it can no longer be read.
    pub(super) fn body(&self, number: u64) -> Result<Vec<u8>> {
        let mut entries = self.entries();
        let Entries {
            by_number, file, ..
        } = &mut *entries;
        let gone = || Error::exchange(format!("pass {number} that nobody refers to"));
        match &by_number.get(&number).ok_or_else(gone)?.body {
            Body::Memory(bytes) => Ok(bytes.clone()),
            Body::File { at, length } => {
                let spilled = file.as_mut().ok_or_else(gone)?;
                let mut bytes = vec![0; *length];
                let sought = spilled.file.seek(SeekFrom::Start(*at));
                let read = sought.and_then(|_| spilled.file.read_exact(&mut bytes));
                read.map_err(|error| failed("read", &error))?;
                Ok(bytes)
            }
        }
    }
}

impl Entries {
    fn stored(&mut self, bytes: Vec<u8>) -> Result<Body> {
        if self.used + bytes.len() <= self.memory {
            self.used += bytes.len();
            return Ok(Body::Memory(bytes));
        }
        let spilled = match &mut self.file {
            Some(spilled) => spilled,
            none => none.insert(Spilled::create().map_err(|error| failed("made", &error))?),
        };
        let at = spilled.end;
        let sought = spilled.file.seek(SeekFrom::Start(at));
        let written = sought.and_then(|_| spilled.file.write_all(&bytes));
        written.map_err(|error| failed("written", &error))?;
        spilled.end += bytes.len() as u64;
        let length = bytes.len();
        Ok(Body::File { at, length })
    }
}

impl Spilled {
    fn create() -> std::io::Result<Self> {
        let folder = TemporaryFolder::create(&std::env::temp_dir().join("collapsar-passes"))?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        let file = options.open(folder.path().join("passes"))?;
        Ok(Self {
            file,
            end: 0,
            _folder: folder,
        })
    }
}

fn failed(what: &str, error: &std::io::Error) -> Error {
    let folder = std::env::temp_dir();
    Error::exchange(format!(
        "a temporary file in {} that cannot be {what}: {error}",
        folder.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::super::super::documents::Settle;
    use super::super::task::Begin;
    use super::*;

    fn pass(number: u64, from: u64, before: u64) -> Pass {
        Pass {
            number,
            begin: Begin {
                from,
                before,
                coefficient: 0.5,
            },
            settle: Settle::Sweeps(3),
            alpha: vec![0.1],
            messages: vec![number as f64; 4],
        }
    }

    fn made(log: &Log, from: u64, before: u64) -> u64 {
        let number = log.next();
        log.keep(&pass(number, from, before)).expect("room");
        number
    }

    #[test]
    fn passes_are_kept_for_those_that_depend_on_them() {
        let log = Log::default();
        let a = made(&log, 0, 0);
        let b = made(&log, a, 0);
        let tried = made(&log, b, a);
        log.release(tried);
        let c = made(&log, b, a);
        log.release(a);
        log.release(b);
        assert_eq!(log.held(), [c]);
        let step = |number, held: &[u64]| Step {
            number,
            held: held.to_vec(),
        };
        let expected = [step(a, &[a]), step(b, &[a, b]), step(c, &[c])];
        assert_eq!(log.steps(), expected);
        log.release(c);
        assert_eq!(log.steps(), []);
        assert_eq!(log.entries().used, 0);
    }

    #[test]
    #[expect(
        clippy::used_underscore_binding,
        reason = "nothing but this test asks where it is"
    )]
    fn what_does_not_fit_in_memory_comes_back_from_a_file() {
        let log = Log::with_memory(300);
        let mut number = 0;
        for _ in 0..9 {
            number = made(&log, number, 0);
        }
        assert!(log.entries().file.is_some());
        for number in (1..=9).rev() {
            let mut out = Writer::default();
            pass(number, number - 1, 0).write(&mut out);
            assert_eq!(log.body(number), Ok(out.into_bytes()));
        }
        let folder = log
            .entries()
            .file
            .as_ref()
            .map(|spilled| spilled._folder.path().to_owned());
        let folder = folder.expect("a file");
        assert!(folder.exists());
        drop(log);
        assert!(!folder.exists());
    }

    #[test]
    fn a_long_climb_is_released_at_once() {
        let log = Log::default();
        let mut number = 0;
        for _ in 0..50_000 {
            let next = made(&log, number, 0);
            log.release(number);
            number = next;
        }
        assert_eq!(log.entries().by_number.len(), 50_000);
        log.release(number);
        assert_eq!(log.entries().by_number.len(), 0);
    }
}
