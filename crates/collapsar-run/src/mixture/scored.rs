//! Labels and densities of rows that are read from a file, some at a time: all threads score, one writes.

use std::fmt::Write as _;
use std::io::Write;
use std::ops::Range;

use collapsar::mixture::{BLOCK, Mixture, PredictiveDensity, Stored};
use rayon::prelude::*;

use crate::error::Result;

/// The columns of `assignments.csv`.
pub(super) const HEADER: &str = "row,component,probability,ln_density";

/// Rows that one thread scores at a time, and how many such parts are scored before they are written.
const PART: usize = 32 * BLOCK;
const PARTS: usize = 32;

/// Writes the component of each row, with its probability at these messages and its density.
pub(super) fn write(
    out: &mut dyn Write,
    of: (&Mixture, &[f64], &PredictiveDensity),
    stored: &Stored,
) -> Result<()> {
    let rows = stored.len();
    let refused = |error| collapsar_formats::Error::file("assignments.csv", &error);
    writeln!(out, "{HEADER}").map_err(refused)?;
    for first in (0..rows).step_by(PARTS * PART) {
        let parts: Vec<usize> = (first..rows.min(first + PARTS * PART))
            .step_by(PART)
            .collect();
        let texts: Vec<Result<String>> = parts
            .into_par_iter()
            .map(|first| lines(of, stored, first..rows.min(first + PART)))
            .collect();
        for text in texts {
            out.write_all(text?.as_bytes()).map_err(refused)?;
        }
    }
    Ok(())
}

fn lines(
    (model, messages, density): (&Mixture, &[f64], &PredictiveDensity),
    stored: &Stored,
    rows: Range<usize>,
) -> Result<String> {
    let values = stored.rows(rows.clone())?;
    let scores = density.score(&values, stored.columns())?;
    let mut text = String::with_capacity(64 * rows.len());
    let mut densities = scores.ln_density.iter();
    // The fit's own responsibilities: q(Z), which the bound is about.
    model.responsibilities_of(messages, rows, |n, row| {
        let (component, probability) = most_probable(row);
        let ln_density = densities.next().copied().unwrap_or(f64::NAN);
        // Strings take all text.
        let _ = writeln!(text, "{},{component},{probability:?},{ln_density:?}", n + 1);
    })?;
    Ok(text)
}

pub(super) fn most_probable(row: &[f64]) -> (usize, f64) {
    let all = row.iter().copied().enumerate();
    let higher = |best: (usize, f64), next: (usize, f64)| if next.1 > best.1 { next } else { best };
    all.fold((0, f64::NEG_INFINITY), higher)
}
