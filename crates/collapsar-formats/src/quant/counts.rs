//! Decides which file beside kallisto's classes counts their reads, and which names the transcripts.

use std::path::Path;

use crate::error::{Error, Result};

use super::classes::amount;
use crate::lines::{Lines, first, shown, whole};
use crate::open::beside;

/// The names in `transcripts.txt` beside the classes, if there is one.
pub(super) fn read_names(classes: &Path) -> Result<Vec<String>> {
    let Some(path) = beside(classes, &["transcripts.txt".to_owned()]).next() else {
        return Ok(Vec::new());
    };
    let mut input = Lines::open(&path, "a transcript a line")?;
    let (mut names, mut lines) = (Vec::new(), Vec::new());
    while input.next_filled()? {
        names.push(input.text()?.trim().to_owned());
        lines.push(input.line);
    }
    input.unique(&names, &lines)?;
    Ok(names)
}

/// The count of each class.
pub(super) fn read_counts(classes: &Path, number: usize) -> Result<Vec<f64>> {
    let name = classes.file_name().unwrap_or_default().to_string_lossy();
    let bare = name.strip_suffix(".gz").unwrap_or(&name);
    let stem = bare.strip_suffix(".ec").unwrap_or(bare);
    let names = [".tsv", ".tcc.mtx", ".mtx"].map(|end| format!("{stem}{end}"));
    let Some(path) = beside(classes, &names).next() else {
        let found = format!("neither {} nor {} beside it", names[0], names[1]);
        let expected = "the counts that kallisto writes beside its classes";
        let path = classes.display().to_string();
        return Err(Error::content(path, found, expected));
    };
    let mut input = Lines::open(&path, "counts as kallisto writes them")?;
    let mut counts = vec![None; number];
    if input.peek()? == Some(b'%') {
        matrix(&mut input, &mut counts)?;
    } else {
        list(&mut input, &mut counts)?;
    }
    Ok(counts.into_iter().map(Option::unwrap_or_default).collect())
}

/// A class and its count a line.
fn list(input: &mut Lines, counts: &mut [Option<f64>]) -> Result<()> {
    let (number, mut found) = (counts.len(), 0);
    while input.next_filled()? {
        let [Some(class), Some(count), None] = first(&input.bytes) else {
            return Err(input.refuse(shown(&input.bytes), "a class and its count"));
        };
        set(input, counts, class, 0, count)?;
        found += 1;
    }
    if found < number {
        let cause = format!("it ends after {found} of {number} classes");
        return Err(Error::damaged(&input.path, "counts", cause));
    }
    Ok(())
}

/// A matrix of one row, in Matrix Market's coordinates: samples by classes.
fn matrix(input: &mut Lines, counts: &mut [Option<f64>]) -> Result<()> {
    let mut claimed = None;
    let mut found = 0;
    while input.next_filled()? {
        if input.bytes.starts_with(b"%") {
            continue;
        }
        let [Some(sample), Some(second), Some(third), None] = first(&input.bytes) else {
            return Err(input.refuse(shown(&input.bytes), "three numbers"));
        };
        if claimed.is_none() {
            if whole(sample) != Some(1) {
                let found = format!("{} samples", shown(sample));
                let hint = "one sample at a time, or the .ec file that has a .tsv beside it";
                return Err(input.refuse(found, "one").trying(hint));
            }
            if whole(second) != Some(counts.len() as u64) {
                let found = format!("{} classes", shown(second));
                return Err(input.refuse(found, format!("{} as in the .ec file", counts.len())));
            }
            let entries = whole(third);
            claimed = Some(entries.ok_or_else(|| input.refuse(shown(third), "a whole number"))?);
            continue;
        }
        if whole(sample) != Some(1) {
            return Err(input.refuse(format!("sample {}", shown(sample)), "sample 1"));
        }
        set(input, counts, second, 1, third)?;
        found += 1;
    }
    let cause = match claimed {
        Some(claimed) if claimed == found => return Ok(()),
        Some(claimed) => format!("{found} entries where its size says {claimed}"),
        None => "it has no size".to_owned(),
    };
    Err(Error::damaged(&input.path, "Matrix Market", cause))
}

/// Sets the count of a class; classes are numbered from `first` on.
fn set(
    input: &Lines,
    counts: &mut [Option<f64>],
    class: &[u8],
    first: u64,
    count: &[u8],
) -> Result<()> {
    let count = amount(input, "count", count)?;
    let index = whole(class).and_then(|class| class.checked_sub(first));
    let last = counts.len() as u64 + first - 1;
    let found = || format!("class {}", shown(class));
    let Some(place) = index.and_then(|index| counts.get_mut(index as usize)) else {
        let expected = format!("a whole number from {first} to {last} as in the .ec file");
        return Err(input.refuse(found(), expected));
    };
    match place.replace(count) {
        Some(_) => Err(input.refuse(format!("{} a second time", found()), "each class once")),
        None => Ok(()),
    }
}
