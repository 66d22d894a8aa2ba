//! A folder of checkpoints: each a file of its own, named by its iteration and its digest and never written again, and a
//! manifest, replaced as a whole, that says which of them count.
//!
//! A file that is there without the manifest knowing of it was being written when the run died. One whose bytes are not those
//! that the manifest knows, or that is of another iteration than the manifest says, is not taken up: the one before it is.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::checkpoint::{Checkpoint, damaged, failed, hexadecimal, place};
use crate::error::{Error, Result};
use crate::files::lock_folder;
use sha2::{Digest, Sha256};

/// The file that is renamed into its place last.
const MANIFEST: &str = "manifest.json";
/// Checkpoints that are kept: the newest, and one for the case that it is damaged.
const KEPT: usize = 2;
/// Digits of a digest in a name.
const DIGITS: usize = 16;

/// Checkpoints from the oldest to the newest.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Manifest {
    checkpoints: Vec<Entry>,
}

/// A checkpoint that was written whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    iteration: u64,
    sha256: String,
}

impl Entry {
    /// Its file: a name that the manifest does not choose leads nowhere else.
    fn file(&self, folder: &Path) -> PathBuf {
        let digits = self.sha256.chars().filter(char::is_ascii_hexdigit);
        let digits: String = digits.take(DIGITS).collect();
        folder.join(format!("{:010}-{digits}.json", self.iteration))
    }

    /// The checkpoint, if it is what the manifest says.
    fn read(&self, folder: &Path) -> Result<Checkpoint> {
        let path = self.file(folder);
        let bytes = read(&path)?;
        if hexadecimal(&Sha256::digest(&bytes)) != self.sha256 {
            let cause = format!("its bytes are not those that {MANIFEST} knows");
            return Err(damaged(&path, cause));
        }
        let checkpoint = Checkpoint::parse(&path, &bytes)?;
        if checkpoint.iterations() != self.iteration {
            let cause = format!(
                "it is of iteration {}, {MANIFEST} says {}",
                checkpoint.iterations(),
                self.iteration
            );
            return Err(damaged(&path, cause));
        }
        Ok(checkpoint)
    }
}

/// Writes a checkpoint that the manifest does not know of yet.
fn store(folder: &Path, checkpoint: &Checkpoint) -> Result<Entry> {
    let bytes = checkpoint.bytes(folder)?;
    let entry = Entry {
        iteration: checkpoint.iterations(),
        sha256: hexadecimal(&Sha256::digest(&bytes)),
    };
    let path = entry.file(folder);
    // One that is there under this name holds these bytes, or was damaged since.
    place(&path, &bytes)?;
    Ok(entry)
}

/// Makes a stored checkpoint the newest, and removes those that count no longer.
fn commit(folder: &Path, entry: Entry) -> Result<()> {
    let _lock = lock_folder(folder);
    let mut manifest = manifest(folder)?.unwrap_or_default();
    manifest.checkpoints.retain(|other| *other != entry);
    manifest.checkpoints.push(entry);
    let superfluous = manifest.checkpoints.len().saturating_sub(KEPT);
    manifest.checkpoints.drain(..superfluous);
    let path = folder.join(MANIFEST);
    let text = serde_json::to_vec_pretty(&manifest).map_err(|cause| failed(&path, &cause))?;
    place(&path, &text)?;
    let kept: Vec<PathBuf> = (manifest.checkpoints.iter())
        .map(|entry| entry.file(folder))
        .collect();
    for file in fs::read_dir(folder).into_iter().flatten().flatten() {
        if is_name(&file.file_name().to_string_lossy()) && !kept.contains(&file.path()) {
            // What cannot be removed does no harm.
            let _ = fs::remove_file(file.path());
        }
    }
    Ok(())
}

/// Whether a file has the name of a checkpoint.
fn is_name(name: &str) -> bool {
    let parts = name.strip_suffix(".json").and_then(|n| n.split_once('-'));
    parts.is_some_and(|(iteration, digest)| {
        iteration.len() >= 10
            && iteration.bytes().all(|byte| byte.is_ascii_digit())
            && digest.len() == DIGITS
            && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Writes a checkpoint into a folder of them.
pub(super) fn write(folder: &Path, checkpoint: &Checkpoint) -> Result<()> {
    let entry = store(folder, checkpoint)?;
    commit(folder, entry)
}

/// The newest checkpoint of a folder that is as the manifest says.
pub(super) fn newest(folder: &Path) -> Result<Checkpoint> {
    let none = || damaged(folder, format!("there is no {MANIFEST} in it"));
    let manifest = manifest(folder)?.ok_or_else(none)?;
    let mut refused = None;
    for entry in manifest.checkpoints.iter().rev() {
        match entry.read(folder) {
            Ok(checkpoint) => return Ok(checkpoint),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    Err(refused.unwrap_or_else(|| damaged(folder, format!("{MANIFEST} lists no checkpoint"))))
}

fn manifest(folder: &Path) -> Result<Option<Manifest>> {
    let path = folder.join(MANIFEST);
    if !path.exists() {
        return Ok(None);
    }
    let found = serde_json::from_slice(&read(&path)?);
    Ok(Some(
        found.map_err(|cause| damaged(&path, cause.to_string()))?,
    ))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|cause| Error::File {
        path: path.display().to_string(),
        cause: cause.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::direction::{Direction, Iterate, Rule};
    use crate::driver::State;
    use crate::driver::search::Search;
    use crate::point::Point;

    /// A run that is known by its iteration alone.
    fn at(iteration: u64) -> Checkpoint {
        let point = Point {
            messages: vec![iteration as f64],
            ..Point::default()
        };
        let state = State {
            iterate: Iterate {
                point,
                turned: None,
            },
            rule: Rule::new(Direction::Vbem, false, &crate::Advice::default()),
            iteration,
            passes: iteration,
            fallbacks: 0,
            misled: 0,
            seconds: 0.5,
            search: Search::new(false),
            jump_due: false,
            last: None,
            stationary: false,
            looked: false,
        };
        Checkpoint::new(&state, Direction::Vbem, "a model".into())
    }

    fn newest_of(folder: &Path) -> u64 {
        let checkpoint = newest(folder).expect("one that is whole");
        assert_eq!(
            Checkpoint::read(folder).expect("the same").iterations(),
            checkpoint.iterations()
        );
        checkpoint.iterations()
    }

    #[test]
    fn the_newest_counts_and_older_ones_go() {
        let folder = tempfile::tempdir().expect("a folder");
        for iteration in [10, 20, 30, 40] {
            at(iteration).write(folder.path()).expect("written");
            assert_eq!(newest_of(folder.path()), iteration);
        }
        let files = fs::read_dir(folder.path()).expect("a folder").flatten();
        let names = files.filter(|f| is_name(&f.file_name().to_string_lossy()));
        assert_eq!(names.count(), KEPT);
    }

    #[test]
    fn what_was_written_and_not_committed_does_not_count() {
        let folder = tempfile::tempdir().expect("a folder");
        at(40).write(folder.path()).expect("written");
        store(folder.path(), &at(50)).expect("stored");
        assert_eq!(newest_of(folder.path()), 40);
        // The next run goes on from there, comes to 50 again, and commits that.
        at(50).write(folder.path()).expect("written");
        assert_eq!(newest_of(folder.path()), 50);
    }

    #[test]
    fn no_state_goes_under_the_number_of_another() {
        let folder = tempfile::tempdir().expect("a folder");
        at(30).write(folder.path()).expect("written");
        let entry = store(folder.path(), &at(40)).expect("stored");
        commit(folder.path(), entry.clone()).expect("committed");
        // Checkpoint 40 is written over with state 50, as a driver that was lost in between once did.
        let state = at(50).bytes(folder.path()).expect("bytes");
        fs::write(entry.file(folder.path()), &state).expect("written");
        assert_eq!(newest_of(folder.path()), 30);
        // Nor where the manifest knows these bytes, under another number.
        let wrong = Entry {
            iteration: 40,
            sha256: hexadecimal(&Sha256::digest(&state)),
        };
        fs::write(wrong.file(folder.path()), &state).expect("written");
        commit(folder.path(), wrong.clone()).expect("committed");
        let error = wrong.read(folder.path()).expect_err("another iteration");
        assert!(
            error
                .to_string()
                .contains("it is of iteration 50, manifest.json says 40"),
            "{error}"
        );
    }

    #[test]
    fn a_damaged_one_gives_way_to_the_one_before() {
        let folder = tempfile::tempdir().expect("a folder");
        at(30).write(folder.path()).expect("written");
        let entry = store(folder.path(), &at(40)).expect("stored");
        commit(folder.path(), entry.clone()).expect("committed");
        let whole = fs::read(entry.file(folder.path())).expect("a file");
        for end in [0, 1, whole.len() / 2, whole.len() - 1] {
            fs::write(entry.file(folder.path()), &whole[..end]).expect("written");
            assert_eq!(newest_of(folder.path()), 30);
        }
        fs::remove_file(entry.file(folder.path())).expect("removed");
        assert_eq!(newest_of(folder.path()), 30);
        fs::write(folder.path().join(MANIFEST), "{").expect("written");
        assert!(Checkpoint::read(folder.path()).is_err());
        let empty = tempfile::tempdir().expect("a folder");
        let error = Checkpoint::read(empty.path()).expect_err("nothing there");
        assert!(
            error
                .to_string()
                .contains("there is no manifest.json in it")
        );
    }
}
