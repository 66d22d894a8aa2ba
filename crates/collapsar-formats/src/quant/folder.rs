//! Reads result folders in salmon's layout, ours or salmon's own.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::{Error, Result, count};
use crate::open::{Opened, text_error};

use super::float::float;
use crate::lines::{Lines, shown};

/// A quantification.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantification {
    /// The transcripts.
    pub names: Vec<String>,
    /// Their lengths.
    pub lengths: Vec<f64>,
    /// Their effective lengths.
    pub effective: Vec<f64>,
    /// Transcripts per million.
    pub tpm: Vec<f64>,
    /// Reads.
    pub counts: Vec<f64>,
    /// Draws or bootstrap replicates of the reads, each in the order of `names`; may be empty.
    pub draws: Vec<Vec<f64>>,
}

/// The columns of `quant.sf`.
pub(super) const COLUMNS: [&str; 5] = ["Name", "Length", "EffectiveLength", "TPM", "NumReads"];

/// Reads `quant.sf` of a result folder and, if `aux_info/meta_info.json` speaks of any, its draws.
///
/// # Errors
///
/// A file that cannot be read or is not whole, and draws of other transcripts than those of `quant.sf`.
pub fn read_quantification(folder: &Path) -> Result<Quantification> {
    let plain = folder.join("quant.sf");
    let zipped = folder.join("quant.sf.gz");
    let path = if !plain.exists() && zipped.exists() {
        zipped
    } else {
        plain
    };
    let mut quantification = read_quant_sf(&path)?;
    let aux = folder.join("aux_info");
    let meta = aux.join("meta_info.json");
    if meta.exists() {
        let meta = read_meta(&meta)?;
        if meta.draws > 0 {
            let bootstrap = aux.join("bootstrap");
            quantification.draws = read_draws(&bootstrap, &meta, &quantification.names)?;
        }
    }
    Ok(quantification)
}

fn read_quant_sf(path: &Path) -> Result<Quantification> {
    const EXPECTED: &str = "a quant.sf file with Name, Length, EffectiveLength, TPM and NumReads";
    let mut input = Lines::open(path, EXPECTED)?;
    input.next_filled()?;
    let header: Vec<&[u8]> = input.bytes.split(|&byte| byte == b'\t').collect();
    let place = |name: &&str| header.iter().position(|&cell| cell == name.as_bytes());
    let places: Option<Vec<usize>> = COLUMNS.iter().map(place).collect();
    let Some(&[name, ref places @ ..]) = places.as_deref() else {
        let found = format!("{} at the beginning", shown(&input.bytes));
        return Err(Error::content(&input.path, found, EXPECTED));
    };
    let width = header.len();
    let (mut names, mut lines) = (Vec::new(), Vec::new());
    let mut numbers = [const { Vec::new() }; 4];
    while input.next_filled()? {
        let cells: Vec<&[u8]> = input.bytes.split(|&byte| byte == b'\t').collect();
        if cells.len() != width {
            return Err(input.ragged(cells.len(), width));
        }
        for ((place, column), numbers) in places.iter().zip(&COLUMNS[1..]).zip(&mut numbers) {
            let cell = cells[*place].trim_ascii();
            let number = float(cell).filter(|number| number.is_finite() && *number >= 0.0);
            numbers.push(number.ok_or_else(|| {
                let found = format!("{column} {} of {}", shown(cell), shown(cells[name]));
                input.refuse(found, "a finite number from 0")
            })?);
        }
        names.push(input.decode(cells[name])?.to_owned());
        lines.push(input.line);
    }
    if names.is_empty() {
        let cause = "it has no transcripts";
        return Err(Error::damaged(&input.path, "quant.sf", cause));
    }
    input.unique(&names, &lines)?;
    let [lengths, effective, tpm, counts] = numbers;
    Ok(Quantification {
        names,
        lengths,
        effective,
        tpm,
        counts,
        draws: Vec::new(),
    })
}

/// What `meta_info.json` tells of draws.
struct Meta {
    path: PathBuf,
    draws: u64,
    targets: Option<u64>,
}

fn read_meta(path: &Path) -> Result<Meta> {
    let file = File::open(path).map_err(|error| Error::file(path, &error))?;
    let value: Value = serde_json::from_reader(BufReader::new(file)).map_err(|error| {
        if error.is_io() {
            return Error::file(path, &error.into());
        }
        let cause = format!("no JSON at line {} byte {}", error.line(), error.column());
        Error::damaged(&path.display().to_string(), "JSON", cause)
    })?;
    let number = |name: &str| match &value[name] {
        Value::Null => Ok(None),
        number => number.as_u64().map(Some).ok_or_else(|| {
            let found = format!("field {name:?} is {number}");
            Error::content(path.display().to_string(), found, "a whole number")
        }),
    };
    let valid = number("num_valid_targets")?;
    Ok(Meta {
        path: path.to_owned(),
        draws: number("num_bootstraps")?.unwrap_or(0),
        // The name of versions before 0.9.
        targets: valid.or(number("num_targets")?),
    })
}

fn read_draws(folder: &Path, meta: &Meta, names: &[String]) -> Result<Vec<Vec<f64>>> {
    let places = places(&folder.join("names.tsv.gz"), meta, names)?;
    let input = Opened::open(&folder.join("bootstraps.gz"))?;
    let (path, mut reader) = (input.name, input.reader);
    let damaged = |cause: String| Err(Error::damaged(&path, "bootstraps", cause));
    let width = names.len();
    let mut bytes = Vec::with_capacity(8 * width);
    let mut draws = Vec::new();
    for draw in 1..=meta.draws {
        bytes.clear();
        let length = 8 * width;
        let read = reader.by_ref().take(length as u64).read_to_end(&mut bytes);
        read.map_err(|error| text_error(&path, &error))?;
        if bytes.len() != length {
            let (complete, all) = (count(draw - 1, "draw"), meta.draws);
            let each = format!("{} of 8 bytes each", count(width, "transcript"));
            return damaged(format!("it ends after {complete} of {all} of {each}"));
        }
        let mut values = vec![0.0; width];
        let (words, _) = bytes.as_chunks::<8>();
        for (&place, &word) in places.iter().zip(words) {
            let value = f64::from_le_bytes(word);
            if !value.is_finite() || value < 0.0 {
                let found = format!("draw {draw} of {:?} is {value}", names[place]);
                return damaged(format!("{found}, expected a finite number from 0"));
            }
            values[place] = value;
        }
        draws.push(values);
    }
    let rest = reader.by_ref().take(1).read_to_end(&mut bytes);
    if rest.map_err(|error| text_error(&path, &error))? > 0 {
        let (draws, meta) = (count(meta.draws, "draw"), meta.path.display());
        let cause = format!("it goes on after {draws}, as {meta} says there are");
        return damaged(cause);
    }
    Ok(draws)
}

/// For each transcript of the draws its place among `names`.
fn places(path: &Path, meta: &Meta, names: &[String]) -> Result<Vec<usize>> {
    let mut input = Lines::open(path, "names between tabs")?;
    input.next_filled()?;
    let line = input.text()?.trim_end_matches('\t');
    let own: Vec<&str> = line.split('\t').collect();
    if let Some(targets) = meta.targets
        && own.len() as u64 != targets
    {
        let expected = format!("{targets} as {} says", meta.path.display());
        return Err(input.refuse(count(own.len(), "name"), expected));
    }
    if own.len() != names.len() {
        let expected = format!("{} as in quant.sf", names.len());
        return Err(input.refuse(count(own.len(), "name"), expected));
    }
    let pairs = names.iter().enumerate();
    let mut known: HashMap<&str, usize> = pairs.map(|(i, name)| (name.as_str(), i)).collect();
    // Taken out, so that none comes twice.
    let places = own.iter().map(|name| {
        let expected = "each transcript of quant.sf once";
        let place = known.remove(name);
        place.ok_or_else(|| input.refuse(format!("name {name:?}"), expected))
    });
    places.collect()
}

#[cfg(test)]
mod tests;
