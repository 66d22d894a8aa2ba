//! Rows with levels beside their numbers: densities, labels, what is missing, and draws (maths §4.10).

use std::collections::HashMap;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::{DRAWS, Imputation, PredictiveDensity, Scores, below};
use crate::mixture::levels;
use collapsar_core::elementary::Elementary;
use collapsar_core::rows::{LevelColumn, MISSING};
use collapsar_core::special::log_sum_exp;
use collapsar_core::{Error, Place, Result};

/// Densities of draws that tail probabilities of rows with gaps take in all.
const WORK: usize = 200_000;

/// Rows of numbers with columns of levels beside them.
#[derive(Debug, Clone, Copy)]
pub struct Cells<'a> {
    /// The numbers, row by row; NaN is one that is missing.
    pub values: &'a [f64],
    /// How many numbers there are in a row.
    pub columns: usize,
    /// The levels.
    pub categories: &'a [LevelColumn],
}

impl Cells<'_> {
    /// How many rows there are.
    pub fn rows(&self) -> usize {
        match self.columns {
            0 => levels::rows(self.categories),
            _ => self.values.len() / self.columns,
        }
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }
}

/// What a fit says of cells without a level.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelImputation {
    /// What it says of numbers.
    pub numbers: Imputation,
    /// The level of each row, the likeliest where there was none, column by column.
    pub levels: Vec<Vec<u32>>,
    /// Its probability: one where it was given.
    pub probabilities: Vec<Vec<f64>>,
}

impl PredictiveDensity {
    /// What a row's levels add to the log density of a part; one that is missing adds nothing.
    pub(super) fn ln_levels(&self, part: usize, categories: &[LevelColumn], row: usize) -> f64 {
        let logs = &self.parts[part].ln_levels;
        let each = categories.iter().enumerate().map(|(c, column)| {
            let logs = &logs[self.levels.within(c)];
            logs.get(column.codes[row] as usize).copied().unwrap_or(0.0)
        });
        each.sum()
    }

    /// Labels and densities of rows with levels.
    ///
    /// # Errors
    /// As [`PredictiveDensity::score`]; where columns of levels are not those of the fit.
    pub fn score_cells(&self, cells: Cells<'_>) -> Result<Scores> {
        let (ln_density, probabilities) = self.probabilities_of_cells(cells)?;
        let best = |row: &[f64]| {
            let known = row[..self.components].iter().enumerate();
            known.fold((0, f64::NEG_INFINITY), |best, (k, &p)| {
                if p > best.1 { (k, p) } else { best }
            })
        };
        let (labels, certainty) = probabilities
            .chunks_exact(self.components + usize::from(self.unused))
            .map(best)
            .unzip();
        Ok(Scores {
            labels,
            certainty,
            ln_density,
        })
    }

    /// Log densities of rows with levels, and the probabilities of components given each, row by row.
    ///
    /// # Errors
    /// As [`PredictiveDensity::score_cells`].
    pub fn probabilities_of_cells(&self, cells: Cells<'_>) -> Result<(Vec<f64>, Vec<f64>)> {
        let parts = self.parts_of_cells(cells)?;
        let width = self.components + usize::from(self.unused);
        let mut probabilities = vec![0.0; cells.rows() * width];
        let lines = parts.par_chunks_exact(self.parts.len());
        let rows = lines.zip(probabilities.par_chunks_exact_mut(width));
        let ln_density: Vec<f64> = rows
            .with_min_len(256)
            .map(|(each, out)| {
                let ln_density = log_sum_exp(each);
                for (of, part) in self.parts.iter().zip(each) {
                    out[of.component] += (part - ln_density).exp_();
                }
                ln_density
            })
            .collect();
        Ok((ln_density, probabilities))
    }

    /// The log weight and density of each part at each row, row by row.
    fn parts_of_cells(&self, cells: Cells<'_>) -> Result<Vec<f64>> {
        self.check_cells(cells)?;
        let count = self.parts.len();
        let mut all = vec![0.0; cells.rows() * count];
        if cells.values.iter().any(|x| x.is_nan()) {
            let found = self.by_pattern(cells.values, |_, _, given, y| {
                let each = given.iter().map(|(weight, of)| weight + of.ln_density(y));
                each.collect::<Vec<f64>>()
            })?;
            for (row, parts) in found {
                all[row * count..(row + 1) * count].copy_from_slice(&parts);
            }
        } else {
            let lines = all.par_chunks_exact_mut(count).enumerate();
            lines.with_min_len(256).for_each_init(
                || vec![0.0; self.columns],
                |scratch, (row, line)| {
                    for (of, out) in self.parts.iter().zip(line) {
                        *out = of.ln_weight + of.part.ln_density(cells.row(row), scratch);
                    }
                },
            );
        }
        let lines = all.par_chunks_exact_mut(count).enumerate();
        lines.with_min_len(256).for_each(|(row, line)| {
            for (part, out) in line.iter_mut().enumerate() {
                *out += self.ln_levels(part, cells.categories, row);
            }
        });
        Ok(all)
    }

    /// Draws of rows with levels: numbers, row-major, and the levels' columns.
    pub fn sample_cells(&self, count: usize, seed: u64) -> (Vec<f64>, Vec<LevelColumn>) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut values = Vec::with_capacity(count * self.columns);
        let columns = 0..self.levels.columns();
        let mut categories: Vec<LevelColumn> = (columns.map(|c| self.levels.within(c).len()))
            .map(|levels| LevelColumn {
                levels,
                codes: Vec::with_capacity(count),
            })
            .collect();
        for _ in 0..count {
            let of = &self.parts[self.drawn_part(&mut rng)];
            values.extend(of.part.sample(&mut rng));
            for (c, column) in categories.iter_mut().enumerate() {
                let logs = &of.ln_levels[self.levels.within(c)];
                let mut left: f64 = rng.random();
                let chosen = logs.iter().position(|log| {
                    left -= log.exp_();
                    left < 0.0
                });
                column.codes.push(chosen.unwrap_or(logs.len() - 1) as u32);
            }
        }
        (values, categories)
    }

    /// A part by its weight.
    pub(super) fn drawn_part(&self, rng: &mut impl Rng) -> usize {
        let mut left: f64 = rng.random();
        let chosen = self.parts.iter().position(|of| {
            left -= of.ln_weight.exp_();
            left < 0.0
        });
        chosen.unwrap_or(self.parts.len() - 1)
    }

    /// As [`PredictiveDensity::tail`], of rows with levels: each against draws that miss what it misses.
    ///
    /// # Errors
    /// As [`PredictiveDensity::score_cells`].
    pub fn tail_of_cells(
        &self,
        cells: Cells<'_>,
        ln_density: &[f64],
        seed: u64,
    ) -> Result<Vec<f64>> {
        self.check_cells(cells)?;
        let missing = |row: usize| -> Vec<bool> {
            let numbers = cells.row(row).iter().map(|x| x.is_nan());
            let codes = cells.categories.iter().map(|of| of.codes[row] == MISSING);
            numbers.chain(codes).collect()
        };
        let (mut places, mut patterns) = (HashMap::new(), vec![]);
        for row in 0..cells.rows() {
            let missing = missing(row);
            let place = *places.entry(missing.clone()).or_insert_with(|| {
                patterns.push((missing, vec![]));
                patterns.len() - 1
            });
            patterns[place].1.push(row);
        }
        let gappy = patterns
            .iter()
            .filter(|(missing, _)| missing.iter().any(|is| *is));
        let fewer = (WORK / gappy.count().max(1)).clamp(200, DRAWS);
        let (values, categories) = self.sample_cells(DRAWS, seed);
        let mut tail = vec![0.0; cells.rows()];
        for (missing, rows) in patterns {
            let whole = !missing.iter().any(|is| *is);
            let count = if whole { DRAWS } else { fewer };
            let mut values = values[..count * self.columns].to_vec();
            for line in values.chunks_exact_mut(self.columns.max(1)) {
                let gaps = line.iter_mut().zip(&missing).filter(|(_, is)| **is);
                gaps.for_each(|(x, _)| *x = f64::NAN);
            }
            let columns = categories.iter().zip(&missing[self.columns..]);
            let taken = columns.map(|(of, is)| LevelColumn {
                levels: of.levels,
                codes: if *is {
                    vec![MISSING; count]
                } else {
                    of.codes[..count].to_vec()
                },
            });
            let taken: Vec<LevelColumn> = taken.collect();
            let draws = Cells {
                values: &values,
                columns: self.columns,
                categories: &taken,
            };
            let mut reference = self.probabilities_of_cells(draws)?.0;
            reference.sort_by(f64::total_cmp);
            for row in rows {
                tail[row] = below(&reference, ln_density[row]);
            }
        }
        Ok(tail)
    }

    /// What is expected where numbers are missing, and the likeliest level where one is.
    ///
    /// # Errors
    /// As [`PredictiveDensity::score_cells`].
    pub fn impute_cells(&self, cells: Cells<'_>) -> Result<LevelImputation> {
        let (_, probabilities) = self.probabilities_of_cells(cells)?;
        let width = self.components + usize::from(self.unused);
        let numbers = if self.columns == 0 {
            Imputation {
                mean: vec![],
                sd: vec![],
            }
        } else {
            self.impute_given(cells.values, cells.categories)?
        };
        let (mut levels, mut certain) = (vec![], vec![]);
        for (c, column) in cells.categories.iter().enumerate() {
            let within = self.levels.within(c);
            let one = |(row, code): (usize, &u32)| {
                if *code != MISSING {
                    return (*code, 1.0);
                }
                let given = &probabilities[row * width..(row + 1) * width];
                // Components are parts here: exact draws know of no levels.
                let of = |level: usize| -> f64 {
                    let each = self.parts.iter().map(|part| {
                        given[part.component] * part.ln_levels[within.start + level].exp_()
                    });
                    each.sum()
                };
                let each = (0..within.len()).map(|level| (level as u32, of(level)));
                each.fold(
                    (0, 0.0),
                    |best, next| if next.1 > best.1 { next } else { best },
                )
            };
            let (codes, each): (Vec<u32>, Vec<f64>) =
                column.codes.iter().enumerate().map(one).unzip();
            levels.push(codes);
            certain.push(each);
        }
        Ok(LevelImputation {
            numbers,
            levels,
            probabilities: certain,
        })
    }

    /// Refuses rows that are not like those of the fit.
    pub(super) fn check_cells(&self, cells: Cells<'_>) -> Result<()> {
        self.check_numbers(cells.values, cells.columns)?;
        let (found, expected) = (cells.categories.len(), self.levels.columns());
        if found != expected {
            let found = format!("{found} categorical columns");
            let expected = format!("{expected}, as the fit has");
            return Err(Error::data(Place::Whole("data"), found, expected));
        }
        for (c, column) in cells.categories.iter().enumerate() {
            let (levels, rows) = (self.levels.within(c).len(), cells.rows());
            let known = |code: &u32| *code == MISSING || (*code as usize) < levels;
            if column.codes.len() != rows || !column.codes.iter().all(known) {
                let found = format!("{} levels in {} rows", column.levels, column.codes.len());
                let expected = format!("those of the fit, {levels}, in {rows}");
                return Err(Error::data(
                    Place::Column(cells.columns + c),
                    found,
                    expected,
                ));
            }
        }
        Ok(())
    }
}
