//! Reads equivalence classes: how many reads fit the same transcripts, as salmon and kallisto count them.

use std::path::Path;

use crate::error::{Error, Result, count};

use super::counts::{read_counts, read_names};
use super::float::float;
use crate::lines::{Lines, fields, first, shown, whole};

const EXPECTED: &str = "salmon's eq_classes.txt or a kallisto .ec file";

/// Room that is made on the word of a header: a number there must not decide how much memory is taken.
const TRUSTED: u64 = 1 << 16;

/// Equivalence classes.
#[derive(Debug, Clone, PartialEq)]
pub struct Classes {
    /// The transcripts' names; empty where no file gives them.
    pub names: Vec<String>,
    /// How many transcripts there are; where no file says, one more than the largest of any class.
    pub transcripts: usize,
    /// The classes in the order of the file, those that no read is in among them.
    pub classes: Vec<Class>,
}

/// Reads that fit the same transcripts.
#[derive(Debug, Clone, PartialEq)]
pub struct Class {
    /// The transcripts, from 0, in the order of the file.
    pub transcripts: Vec<u32>,
    /// How well the reads fit each of them, up to a factor.
    pub weights: Option<Vec<f64>>,
    /// How many reads.
    pub count: f64,
}

/// Reads equivalence classes: salmon's `eq_classes.txt`, with or without weights, or kallisto's `.ec`
/// file, whose counts are looked for beside it (`.tsv`, or `.tcc.mtx` of one sample), as are the names
/// (`transcripts.txt`). `-` reads salmon's from standard input.
///
/// # Errors
///
/// A file that cannot be read, is of another kind, contradicts itself or is not whole.
pub fn read_classes(path: &Path) -> Result<Classes> {
    let mut input = Lines::open(path, EXPECTED)?;
    if !input.next_filled()? {
        return Err(unknown(&input, "blank lines"));
    }
    match first(&input.bytes).map(|field| field.map(whole)) {
        [Some(Some(transcripts)), None, None] => salmon(input, transcripts),
        [Some(Some(_)), Some(_), None] if path == Path::new("-") => {
            let found = "kallisto's classes, whose counts are in a file beside them";
            Err(unknown(&input, found))
        }
        [Some(Some(_)), Some(_), None] => kallisto(input, path),
        _ => Err(unknown(&input, &shown(&input.bytes))),
    }
}

fn unknown(input: &Lines, found: &str) -> Error {
    Error::content(&input.path, found, EXPECTED)
}

fn salmon(mut input: Lines, transcripts: u64) -> Result<Classes> {
    let damaged = |input: &Lines, cause: &str| {
        let cause = format!("it ends {cause}");
        Err(Error::damaged(&input.path, "eq_classes.txt", cause))
    };
    if transcripts == 0 || transcripts > u64::from(u32::MAX) {
        let found = count(transcripts, "transcript");
        return Err(input.refuse(found, "a number from 1 to 4294967295"));
    }
    if !input.next_filled()? {
        return damaged(&input, "before the number of classes");
    }
    let number = whole(input.bytes.trim_ascii())
        .ok_or_else(|| input.refuse(shown(&input.bytes), "the number of classes"))?;
    let mut names: Vec<String> = Vec::with_capacity(transcripts.min(TRUSTED) as usize);
    let mut lines = Vec::with_capacity(names.capacity());
    for read in 0..transcripts {
        if !input.next_filled()? {
            return damaged(&input, &format!("after {read} of {transcripts} names"));
        }
        let [Some(name), None] = first(&input.bytes) else {
            let expected = format!("name {} of {transcripts}, one a line", read + 1);
            return Err(input.refuse(shown(&input.bytes), expected));
        };
        names.push(input.decode(name)?.to_owned());
        lines.push(input.line);
    }
    input.unique(&names, &lines)?;
    let mut classes = Vec::with_capacity(number.min(TRUSTED) as usize);
    while input.next_filled()? {
        if classes.len() as u64 == number {
            let expected = format!("{number} as the second line says");
            return Err(input.refuse("a class more", expected));
        }
        classes.push(class(&input, transcripts)?);
    }
    if (classes.len() as u64) < number {
        return damaged(
            &input,
            &format!("after {} of {number} classes", classes.len()),
        );
    }
    Ok(Classes {
        names,
        transcripts: transcripts as usize,
        classes,
    })
}

/// A line of salmon's: a number, so many transcripts, perhaps as many weights, and a count.
fn class(input: &Lines, transcripts: u64) -> Result<Class> {
    let all = fields(&input.bytes).count() as u64;
    let mut parts = fields(&input.bytes);
    let size = parts.next().unwrap_or_default();
    let Some(size) = whole(size).filter(|&size| size > 0 && size < all) else {
        let found = format!("a class of {} transcripts", shown(size));
        let expected = "a whole number from 1, so many transcripts and a count";
        return Err(input.refuse(found, expected));
    };
    let weighted = all == 2 * size + 2;
    if !weighted && all != size + 2 {
        let (plain, weighted) = (size + 2, 2 * size + 2);
        let transcripts = count(size, "transcript");
        let expected =
            format!("{plain}, or {weighted} with weights, as the class has {transcripts}");
        return Err(input.refuse(count(all, "field"), expected));
    }
    let ids = parts.by_ref().take(size as usize);
    let ids: Result<Vec<u32>> = ids.map(|field| id(input, field, transcripts)).collect();
    let transcripts = ids?;
    let mut weights = None;
    if weighted {
        let own = parts.by_ref().take(size as usize);
        let own: Result<Vec<f64>> = own.map(|field| amount(input, "weight", field)).collect();
        let own = own?;
        if own.iter().all(|&weight| weight == 0.0) {
            return Err(input.refuse("weights of 0 only", "one above 0"));
        }
        weights = Some(own);
    }
    Ok(Class {
        transcripts,
        weights,
        count: amount(input, "count", parts.next().unwrap_or_default())?,
    })
}

/// A transcript, of so many.
fn id(input: &Lines, field: &[u8], transcripts: u64) -> Result<u32> {
    let id = whole(field).filter(|&id| id < transcripts);
    id.map(|id| id as u32).ok_or_else(|| {
        let expected = format!("a whole number from 0 to {}", transcripts - 1);
        input.refuse(format!("transcript {}", shown(field)), expected)
    })
}

/// A weight or a count.
pub(super) fn amount(input: &Lines, noun: &str, field: &[u8]) -> Result<f64> {
    let amount = float(field).filter(|amount| amount.is_finite() && *amount >= 0.0);
    amount.ok_or_else(|| input.refuse(format!("{noun} {}", shown(field)), "a finite number from 0"))
}

/// Lines of a class's number, from 0 on, and its transcripts, between commas.
fn kallisto(mut input: Lines, path: &Path) -> Result<Classes> {
    let names = read_names(path)?;
    let known = match names.len() as u64 {
        0 => u64::from(u32::MAX),
        names => names,
    };
    let mut classes: Vec<Class> = Vec::new();
    let mut transcripts = names.len();
    loop {
        let own = kallisto_class(&input, classes.len(), known)?;
        let last = own.iter().max().map_or(0, |&id| id as usize + 1);
        transcripts = transcripts.max(last);
        classes.push(Class {
            transcripts: own,
            weights: None,
            count: 0.0,
        });
        if !input.next_filled()? {
            break;
        }
    }
    let counts = read_counts(path, classes.len())?;
    for (class, count) in classes.iter_mut().zip(counts) {
        class.count = count;
    }
    Ok(Classes {
        names,
        transcripts,
        classes,
    })
}

/// The transcripts of class `number`, of so many.
fn kallisto_class(input: &Lines, number: usize, transcripts: u64) -> Result<Vec<u32>> {
    let [Some(own), Some(ids), None] = first(&input.bytes) else {
        let expected = "a class and its transcripts between commas";
        return Err(input.refuse(shown(&input.bytes), expected));
    };
    if whole(own) != Some(number as u64) {
        let found = format!("class {}", shown(own));
        let expected = format!("{number}, as classes are numbered from 0 on");
        return Err(input.refuse(found, expected));
    }
    let ids = ids.split(|&byte| byte == b',');
    ids.map(|field| id(input, field, transcripts)).collect()
}

#[cfg(test)]
mod tests;
