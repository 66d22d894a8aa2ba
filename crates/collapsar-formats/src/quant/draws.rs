//! Writes result folders in salmon's layout: `quant.sf` and the draws, as tximport and swish read them.

use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::error::{Error, Result};
use crate::write::{Temporary, prepare_folder};

use super::folder::COLUMNS;

/// A line of `quant.sf`, or of `quant.genes.sf`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuantRow<'a> {
    /// The transcript or gene.
    pub name: &'a str,
    /// Its length.
    pub length: f64,
    /// Its effective length.
    pub effective: f64,
    /// Transcripts per million.
    pub tpm: f64,
    /// Reads.
    pub count: f64,
}

/// Writes `quant.sf` as salmon does, whole or not at all.
///
/// # Errors
///
/// Whatever the system reports, and a number that is negative or not finite.
pub fn write_quant_sf<'a>(path: &Path, rows: impl IntoIterator<Item = QuantRow<'a>>) -> Result<()> {
    let mut file = Temporary::create(path)?;
    let failed = |error| Error::file(path, &error);
    writeln!(file.writer, "{}", COLUMNS.join("\t")).map_err(failed)?;
    for row in rows {
        let (name, numbers) = (row.name, [row.length, row.effective, row.tpm, row.count]);
        for (value, column) in numbers.into_iter().zip(&COLUMNS[1..]) {
            check(path, value, || format!("{column} of {name}"))?;
        }
        let [length, effective, tpm, count] = numbers;
        let line = format!("{name}\t{length}\t{effective:.3}\t{tpm:.6}\t{count:.3}\n");
        file.writer.write_all(line.as_bytes()).map_err(failed)?;
    }
    file.finish()
}

/// Writes draws of reads as salmon's bootstrap replicates, `bootstrap/bootstraps.gz` and
/// `bootstrap/names.tsv.gz` in the folder `aux`, neither before both are whole; gives how many there are,
/// which `meta_info.json` has to say. Each draw has a value for each name.
///
/// # Errors
///
/// Whatever the system reports, and a draw of another length or with a value that is negative or not
/// finite.
pub fn write_draws(
    aux: &Path,
    names: &[String],
    draws: impl IntoIterator<Item = Vec<f64>>,
) -> Result<usize> {
    let folder = aux.join("bootstrap");
    prepare_folder(&folder)?;
    let path = folder.join("bootstraps.gz");
    let failed = |error| Error::file(&path, &error);
    let mut values = Temporary::create(&path)?;
    // Noise compresses little, and hard work gains next to nothing.
    let mut encoder = GzEncoder::new(&mut values.writer, Compression::fast());
    let mut number = 0;
    let mut bytes = Vec::with_capacity(8 * names.len());
    for draw in draws {
        number += 1;
        if draw.len() != names.len() {
            let found = format!("field \"draw {number}\" is of length {}", draw.len());
            let expected = "one of as many values as there are names";
            return Err(Error::content(path.display().to_string(), found, expected));
        }
        bytes.clear();
        for (&value, name) in draw.iter().zip(names) {
            check(&path, value, || format!("draw {number} of {name}"))?;
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        encoder.write_all(&bytes).map_err(failed)?;
    }
    encoder.finish().map_err(failed)?;
    let path = folder.join("names.tsv.gz");
    let failed = |error| Error::file(&path, &error);
    let mut list = Temporary::create(&path)?;
    let mut encoder = GzEncoder::new(&mut list.writer, Compression::default());
    writeln!(encoder, "{}", names.join("\t")).map_err(failed)?;
    encoder.finish().map_err(failed)?;
    list.finish()?;
    values.finish()?;
    Ok(number)
}

fn check(path: &Path, value: f64, field: impl FnOnce() -> String) -> Result<()> {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    let found = format!("field {:?} is {value}", field());
    let path = path.display().to_string();
    Err(Error::content(path, found, "a finite number from 0"))
}
