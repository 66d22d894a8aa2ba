//! Every seed and every input that was once answered wrongly, given to its reader: no panic, no more than a gigabyte, no longer
//! than ten seconds.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use collapsar_fuzz::{Counting, LIMIT, TARGETS};

#[global_allocator]
static MEMORY: Counting = Counting::new();

/// Memory is that of the process: one reader at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// The longest that an input may take, in seconds.
const LONGEST: f64 = 10.0;

fn folder(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(kind)
}

/// The inputs of a reader.
fn inputs(kind: &str, name: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder(kind).join(name)) else {
        return vec![];
    };
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    files
}

fn replay(kind: &str) {
    let _alone = ALONE.lock();
    let mut all = 0;
    for (name, read) in TARGETS {
        for file in inputs(kind, name) {
            let bytes = fs::read(&file).expect("an input");
            assert!(
                bytes.len() < 100_000,
                "{}: too long for an input",
                file.display()
            );
            MEMORY.peak();
            let begin = Instant::now();
            let done = std::panic::catch_unwind(|| read(&bytes));
            let (peak, seconds) = (MEMORY.peak(), begin.elapsed().as_secs_f64());
            assert!(done.is_ok(), "{}: a panic", file.display());
            assert!(peak <= LIMIT, "{}: {peak} bytes", file.display());
            assert!(seconds < LONGEST, "{}: {seconds} seconds", file.display());
            all += 1;
        }
    }
    assert!(all >= 20, "{all} inputs in {kind}");
}

#[test]
fn seeds_are_answered() {
    for (name, _) in TARGETS {
        assert!(!inputs("seeds", name).is_empty(), "{name} has no seed");
    }
    replay("seeds");
}

#[test]
fn what_was_found_stays_answered() {
    replay("regressions");
}

/// The seeds of a checkpoint are of this format, or nothing of one would be fuzzed.
#[test]
fn seeds_of_checkpoints_are_taken_up() {
    for file in inputs("seeds", "checkpoint") {
        let bytes = fs::read(&file).expect("a seed");
        let copy = std::env::temp_dir().join(format!("collapsar-{}", std::process::id()));
        fs::write(&copy, &bytes[1..]).expect("a file");
        let read = collapsar::Checkpoint::read(&copy);
        fs::remove_file(&copy).expect("the file");
        assert!(
            read.is_ok(),
            "{}: make it again with the example seeds",
            file.display()
        );
    }
}
