//! Files that appear whole: written under a private name beside their place, then renamed.
//!
//! Private names are random and made new, so that nobody can plant a link where one will be written. Whoever writes
//! holds a lock, by which the next run knows what a dead process left behind and removes it. Inside a private folder there is
//! nobody to keep out, and whoever moves files out of it makes sure that they stay: files there cost no more than a file.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

/// What private names end with.
const ENDING: &str = ".tmp";
/// Hexadecimal digits of a private name.
const DIGITS: usize = 16;
/// Names that are tried before it is the folder's fault.
const TRIES: usize = 16;

/// A file on its way to `target`; it vanishes unless it is finished.
#[derive(Debug)]
pub struct Temporary {
    file: File,
    path: PathBuf,
    target: PathBuf,
    /// Whether a private folder holds it.
    inside: bool,
    /// Whether it is in its place.
    placed: bool,
}

impl Temporary {
    /// An empty file beside `target`, and those that dead processes left there removed.
    ///
    /// # Errors
    /// As the system reports them.
    pub fn create(target: &Path) -> io::Result<Self> {
        let inside = is_inside(target);
        if !inside {
            sweep(target);
        }
        let make = |path: &Path| {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create_new(true).open(path)
        };
        let (path, file) = made(target, !inside, make)?;
        Ok(Self {
            file,
            path,
            target: target.to_owned(),
            inside,
            placed: false,
        })
    }

    /// The file to write into, and to read again.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Where it is going.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Puts the file in its place, where a crash of the machine leaves it too. A link of that name is replaced,
    /// not followed.
    ///
    /// # Errors
    /// As the system reports them; what was there is there still.
    pub fn finish(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, &self.target)?;
        self.placed = true;
        if !self.inside {
            sync_folder(parent(&self.target));
        }
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.placed {
            // Whoever dropped us has the error.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A folder of this process alone beside `target`; it vanishes with all that is in it.
#[derive(Debug)]
pub struct TemporaryFolder {
    path: PathBuf,
    /// Held for its lock.
    _lock: Option<File>,
}

impl TemporaryFolder {
    /// An empty folder beside `target`, and those that dead processes left there removed.
    ///
    /// # Errors
    /// As the system reports them.
    pub fn create(target: &Path) -> io::Result<Self> {
        sweep(target);
        let (path, lock) = made(target, true, |path| {
            let mut builder = fs::DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(path)?;
            // Some systems open no folders: then there is no lock, and nobody takes what is left for dead.
            Ok(File::open(path).ok())
        })?;
        Ok(Self { path, _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // Nothing to tell anyone here: whoever dropped us has the error.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Waits until no other process changes a folder, and keeps others waiting while the answer lives; nothing where the
/// system has no such locks.
pub fn lock_folder(folder: &Path) -> Option<File> {
    let file = File::open(folder).ok()?;
    file.lock().ok()?;
    Some(file)
}

/// Makes sure that what was renamed in a folder stays so, as far as the system can.
pub fn sync_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        // Some file systems refuse it, and then there is nothing more to be done.
        let _ = folder.sync_all();
    }
}

/// A way to a file handle that may hold a lock.
trait Locked {
    fn lock(&self);
}

impl Locked for File {
    fn lock(&self) {
        // Without locks nothing is ever taken for dead, which is safe.
        let _ = File::lock(self);
    }
}

impl Locked for Option<File> {
    fn lock(&self) {
        if let Some(file) = self {
            Locked::lock(file);
        }
    }
}

/// Makes something new under a private name, and locks it where others may come by.
fn made<T: Locked>(
    target: &Path,
    lock: bool,
    make: impl Fn(&Path) -> io::Result<T>,
) -> io::Result<(PathBuf, T)> {
    for _ in 0..TRIES {
        let path = target.with_file_name(private(target));
        match make(&path) {
            Ok(made) if !lock => return Ok((path, made)),
            Ok(made) => {
                made.lock();
                // Somebody may have swept it away before it was locked.
                if fs::symlink_metadata(&path).is_ok() {
                    return Ok((path, made));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// A hidden name that nobody can foresee: the keys of a hasher are the system's random numbers.
fn private(target: &Path) -> String {
    let random = RandomState::new().build_hasher().finish();
    format!("{}{random:0DIGITS$x}{ENDING}", beginning(target))
}

/// Whether a name ends as private ones do.
fn is_private(name: &str) -> bool {
    let random = (name.strip_prefix('.'))
        .and_then(|name| name.strip_suffix(ENDING))
        .and_then(|name| name.rsplit_once('.'));
    random.is_some_and(|(_, random)| is_random(random))
}

fn is_random(digits: &str) -> bool {
    digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a private folder holds a target.
fn is_inside(target: &Path) -> bool {
    let folders = target.ancestors().skip(1);
    let mut names = folders.filter_map(|folder| folder.file_name()?.to_str());
    names.any(is_private)
}

fn beginning(target: &Path) -> String {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    format!(".{name}.")
}

fn parent(target: &Path) -> &Path {
    let folder = target.parent();
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Removes what dead processes left of `target`: what nobody holds a lock on.
fn sweep(target: &Path) {
    let beginning = beginning(target);
    let Ok(entries) = fs::read_dir(parent(target)) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let random = name.to_str().and_then(|name| {
            let name = name.strip_prefix(&beginning)?;
            name.strip_suffix(ENDING)
        });
        let ours = random.is_some_and(is_random);
        // Not what a link leads to.
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if !ours || !(kind.is_file() || kind.is_dir()) {
            continue;
        }
        let path = entry.path();
        let Ok(left) = File::open(&path) else {
            continue;
        };
        match left.try_lock() {
            Ok(()) if kind.is_dir() => drop(fs::remove_dir_all(&path)),
            Ok(()) => drop(fs::remove_file(&path)),
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Write;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder");
        let name = |entry: io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
        let mut names: Vec<String> = entries
            .map(|entry| name(entry).to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn leftovers_of_the_dead_go_and_those_of_the_living_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("fit");
        fs::write(folder.path().join(".fit.0123456789abcdef.tmp"), "dead").expect("a file");
        let left = folder.path().join(".fit.fedcba9876543210.tmp");
        fs::create_dir(&left).expect("a folder");
        fs::write(left.join("run.json"), "dead").expect("a file");
        // Not ours, by name or by kind.
        fs::write(folder.path().join(".fit.tmp"), "").expect("a file");
        fs::write(folder.path().join(".fit.0123.tmp"), "").expect("a file");
        fs::write(folder.path().join(".other.0123456789abcdef.tmp"), "").expect("a file");
        let link = folder.path().join(".fit.aaaaaaaaaaaaaaaa.tmp");
        std::os::unix::fs::symlink("/nowhere", link).expect("a link");

        let first = Temporary::create(&target).expect("a file");
        let second = TemporaryFolder::create(&target).expect("a folder");
        let third = Temporary::create(&target).expect("a file");
        assert!(first.path.exists() && second.path.exists() && third.path.exists());
        first.file().write_all(b"first").expect("a write");
        first.finish().expect("a rename");
        third.file().write_all(b"third").expect("a write");
        drop((second, third));
        assert_eq!(fs::read(&target).expect("a file"), b"first");
        assert_eq!(
            names(folder.path()),
            [
                ".fit.0123.tmp",
                ".fit.aaaaaaaaaaaaaaaa.tmp",
                ".fit.tmp",
                ".other.0123456789abcdef.tmp",
                "fit"
            ]
        );
    }

    #[test]
    fn files_in_a_private_folder_appear_whole_too() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = TemporaryFolder::create(&place.path().join("run")).expect("a folder");
        let below = folder.path().join("new");
        fs::create_dir(&below).expect("a folder");
        let target = below.join("fit");
        assert!(is_inside(&target) && !is_inside(folder.path()));
        let [first, dropped] = [(); 2].map(|()| Temporary::create(&target).expect("a file"));
        first.file().write_all(b"whole").expect("a write");
        assert!(!target.exists());
        first.finish().expect("a rename");
        drop(dropped);
        assert_eq!(fs::read(&target).expect("a file"), b"whole");
        assert_eq!(names(&below), ["fit"]);
    }

    #[test]
    fn names_cannot_be_foreseen_and_links_are_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let (target, precious) = (folder.path().join("fit"), folder.path().join("precious"));
        fs::write(&precious, "mine").expect("a file");
        std::os::unix::fs::symlink(&precious, &target).expect("a link");
        let made = [(); 3].map(|()| Temporary::create(&target).expect("a file"));
        let mut paths = made.each_ref().map(|made| made.path.clone());
        paths.sort();
        assert!(paths[0] != paths[1] && paths[1] != paths[2]);
        for temporary in made {
            temporary.file().write_all(b"new").expect("a write");
            temporary.finish().expect("a rename");
        }
        assert_eq!(fs::read(&precious).expect("a file"), b"mine");
        assert_eq!(fs::read(&target).expect("a file"), b"new");
        let kind = fs::symlink_metadata(&target).expect("a file").file_type();
        assert!(kind.is_file());
    }
}
