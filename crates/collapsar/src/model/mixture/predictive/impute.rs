//! Rows with missing values: the density of what is there, and what it says of what is not (maths §4.7).

use collapsar_core::elementary::Elementary;
use std::collections::HashMap;
use std::f64::consts::{PI, TAU};

use collapsar_core::random::{ChiSquared, Distribution, StandardNormal};
use nalgebra::{Cholesky, DMatrix, DVector, Dyn};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::{LevelColumn, Part, PredictiveDensity, Scores};
use collapsar_core::special::{ln_beta, ln_gamma, log_sum_exp};
use collapsar_core::{Error, Place, Result};

/// What a fit says of missing values.
#[derive(Debug, Clone, PartialEq)]
pub struct Imputation {
    /// The rows, with expected values where there was none.
    pub mean: Vec<f64>,
    /// Standard deviations of these; zero where a value was given.
    pub sd: Vec<f64>,
}

/// A part's distribution of some columns, by what is needed of it.
enum Shape {
    /// One after the other: degrees of freedom, location and squared scale of each column.
    Apart(Vec<(f64, f64, f64)>),
    /// Together: degrees of freedom, infinite for a normal distribution, location and scale.
    Together(f64, DVector<f64>, DMatrix<f64>),
}

impl Shape {
    fn of(part: &Part) -> Self {
        match part {
            Part::Normal(mean, lower, _) => Self::Together(
                f64::INFINITY,
                DVector::from_column_slice(mean),
                lower * lower.transpose(),
            ),
            Part::StudentT(parts) if parts.len() == 1 && parts[0].dim() > 1 => {
                let (freedom, mean, scale) = parts[0].parameters();
                Self::Together(freedom, DVector::from_vec(mean), scale)
            }
            Part::StudentT(parts) => {
                let one = |part: &collapsar_core::family::StudentT| {
                    let (freedom, mean, scale) = part.parameters();
                    (freedom, mean[0], scale[(0, 0)])
                };
                Self::Apart(parts.iter().map(one).collect())
            }
        }
    }

    /// What it says where some columns are there.
    fn given(&self, there: &[usize], missing: &[usize]) -> Result<Given> {
        Ok(match self {
            Self::Apart(columns) => {
                let of = |places: &[usize]| places.iter().map(|d| columns[*d]).collect();
                Given::Apart {
                    there: of(there),
                    missing: of(missing),
                }
            }
            Self::Together(freedom, mean, scale) => {
                let block = |rows: &[usize], columns: &[usize]| {
                    DMatrix::from_fn(rows.len(), columns.len(), |i, j| {
                        scale[(rows[i], columns[j])]
                    })
                };
                let of = |places: &[usize]| {
                    DVector::from_iterator(places.len(), places.iter().map(|d| mean[*d]))
                };
                let factor = Cholesky::new(block(there, there)).ok_or_else(flat)?;
                let slopes = factor.solve(&block(there, missing)).transpose();
                let rest = block(missing, missing) - &slopes * block(there, missing);
                let count = there.len() as f64;
                let diagonal = factor.l_dirty().diagonal();
                let half_ln_determinant: f64 = diagonal.iter().map(|x| x.ln_()).sum();
                // maths §3.6
                let constant = match (freedom.is_finite(), there.is_empty()) {
                    (_, true) => 0.0,
                    (true, _) => {
                        ln_gamma(0.5 * count)
                            - ln_beta(0.5 * freedom, 0.5 * count)
                            - 0.5 * count * (freedom * PI).ln_()
                            - half_ln_determinant
                    }
                    (false, _) => -0.5 * count * TAU.ln_() - half_ln_determinant,
                };
                Given::Together {
                    freedom: *freedom,
                    there: of(there),
                    missing: of(missing),
                    factor,
                    slopes,
                    rest,
                    constant,
                }
            }
        })
    }
}

/// A part's distribution for one set of missing columns.
pub(super) enum Given {
    Apart {
        there: Vec<(f64, f64, f64)>,
        missing: Vec<(f64, f64, f64)>,
    },
    Together {
        freedom: f64,
        there: DVector<f64>,
        missing: DVector<f64>,
        factor: Cholesky<f64, Dyn>,
        /// How missing columns follow those that are there.
        slopes: DMatrix<f64>,
        /// The scale that is left.
        rest: DMatrix<f64>,
        constant: f64,
    },
}

/// The log density of a Student-t at a squared distance, but for its normaliser.
fn tail(freedom: f64, count: f64, square: f64) -> f64 {
    if freedom.is_finite() {
        -0.5 * (freedom + count) * (square / freedom).ln_1p_()
    } else {
        -0.5 * square
    }
}

impl Given {
    pub(super) fn ln_density(&self, y: &DVector<f64>) -> f64 {
        match self {
            Self::Apart { there, .. } => {
                let each = there.iter().zip(y.iter());
                let one = |((freedom, mean, scale), y): (&(f64, f64, f64), &f64)| {
                    let square = (y - mean) * (y - mean) / scale;
                    let ln_scale = 0.5 * (scale * freedom * PI).ln_();
                    let constant = ln_gamma(0.5) - ln_beta(0.5 * freedom, 0.5) - ln_scale;
                    constant + tail(*freedom, 1.0, square)
                };
                each.map(one).sum()
            }
            Self::Together {
                freedom, constant, ..
            } => constant + tail(*freedom, y.len() as f64, self.square(y)),
        }
    }

    /// The squared distance of what is there.
    fn square(&self, y: &DVector<f64>) -> f64 {
        match self {
            Self::Apart { .. } => 0.0,
            Self::Together { there, factor, .. } => {
                let mut off = y - there;
                factor.l_dirty().solve_lower_triangular_mut(&mut off);
                off.norm_squared()
            }
        }
    }

    /// How much wider than `rest` what is missing is, and its degrees of freedom.
    fn widened(&self, y: &DVector<f64>) -> (f64, f64) {
        match self {
            Self::Together { freedom, .. } if freedom.is_finite() => {
                let after = freedom + y.len() as f64;
                ((freedom + self.square(y)) / after, after)
            }
            _ => (1.0, f64::INFINITY),
        }
    }

    fn mean(&self, y: &DVector<f64>) -> DVector<f64> {
        match self {
            Self::Apart { missing, .. } => {
                DVector::from_iterator(missing.len(), missing.iter().map(|of| of.1))
            }
            Self::Together {
                there,
                missing,
                slopes,
                ..
            } => missing + slopes * (y - there),
        }
    }

    fn variances(&self, y: &DVector<f64>) -> Vec<f64> {
        let of = |freedom: f64, scale: f64| match freedom {
            _ if freedom.is_infinite() => scale,
            _ if freedom > 2.0 => scale * freedom / (freedom - 2.0),
            _ => f64::INFINITY,
        };
        match self {
            Self::Apart { missing, .. } => missing.iter().map(|at| of(at.0, at.2)).collect(),
            Self::Together { rest, .. } => {
                let (wider, freedom) = self.widened(y);
                let each = rest.diagonal();
                each.iter()
                    .map(|scale| of(freedom, wider * scale))
                    .collect()
            }
        }
    }

    fn draw<R: Rng + ?Sized>(&self, y: &DVector<f64>, rng: &mut R) -> DVector<f64> {
        let spread = |freedom: f64, rng: &mut R| {
            let root = |chi: ChiSquared| (freedom / chi.sample(rng)).sqrt();
            let chi = freedom.is_finite().then(|| ChiSquared::new(freedom).ok());
            chi.flatten().map_or(1.0, root)
        };
        match self {
            Self::Apart { missing, .. } => {
                let one = |(freedom, mean, scale): &(f64, f64, f64)| {
                    let noise: f64 = StandardNormal.sample(rng);
                    mean + scale.sqrt() * noise * spread(*freedom, rng)
                };
                DVector::from_iterator(missing.len(), missing.iter().map(one))
            }
            Self::Together { rest, .. } => {
                let (wider, freedom) = self.widened(y);
                let noise = DVector::from_fn(rest.nrows(), |_, _| StandardNormal.sample(rng));
                let lower = Cholesky::new(rest.clone());
                let moved = lower.map_or_else(|| noise.clone(), |of| of.l() * &noise);
                self.mean(y) + moved * (wider.sqrt() * spread(freedom, rng))
            }
        }
    }
}

/// Rows that miss the same columns.
pub(super) struct Pattern {
    there: Vec<usize>,
    missing: Vec<usize>,
    rows: Vec<usize>,
}

fn patterns(values: &[f64], columns: usize) -> Vec<Pattern> {
    let mut places: HashMap<Vec<usize>, usize> = HashMap::new();
    let mut found: Vec<Pattern> = vec![];
    for (number, row) in values.chunks_exact(columns).enumerate() {
        let missing: Vec<usize> = (0..columns).filter(|d| row[*d].is_nan()).collect();
        let place = *places.entry(missing.clone()).or_insert_with(|| {
            found.push(Pattern {
                there: (0..columns).filter(|d| !row[*d].is_nan()).collect(),
                missing,
                rows: vec![],
            });
            found.len() - 1
        });
        found[place].rows.push(number);
    }
    found
}

/// What one row says of the parts: its log density, and the log of each part's probability.
fn parts_of(given: &[(f64, Given)], y: &DVector<f64>) -> (f64, Vec<f64>) {
    let each = given
        .iter()
        .map(|(ln_weight, of)| ln_weight + of.ln_density(y));
    let mut each: Vec<f64> = each.collect();
    let ln_density = log_sum_exp(&each);
    for part in &mut each {
        *part -= ln_density;
    }
    (ln_density, each)
}

impl PredictiveDensity {
    /// Visits the rows of each set of missing columns, in parallel.
    pub(super) fn by_pattern<T: Send>(
        &self,
        values: &[f64],
        visit: impl Fn(usize, &Pattern, &[(f64, Given)], &DVector<f64>) -> T + Sync,
    ) -> Result<Vec<(usize, T)>> {
        let shapes: Vec<Shape> = self.parts.iter().map(|of| Shape::of(&of.part)).collect();
        let each = |pattern: &Pattern| -> Result<Vec<(usize, T)>> {
            let given = self.given(&shapes, pattern)?;
            let rows = pattern.rows.iter().map(|&row| {
                let own = &values[row * self.columns..][..self.columns];
                let there = pattern.there.iter().map(|d| own[*d]);
                let y = DVector::from_iterator(pattern.there.len(), there);
                (row, visit(row, pattern, &given, &y))
            });
            Ok(rows.collect())
        };
        let found: Vec<Result<_>> = patterns(values, self.columns)
            .par_iter()
            .map(each)
            .collect();
        let mut all = vec![];
        for rows in found {
            all.extend(rows?);
        }
        Ok(all)
    }

    fn given(&self, shapes: &[Shape], pattern: &Pattern) -> Result<Vec<(f64, Given)>> {
        let parts = self.parts.iter().zip(shapes);
        let given = parts.map(|(of, shape)| {
            let given = shape.given(&pattern.there, &pattern.missing)?;
            Ok((of.ln_weight, given))
        });
        given.collect()
    }

    /// As [`PredictiveDensity::score`], where values are missing.
    pub(super) fn score_gaps(&self, values: &[f64]) -> Result<Scores> {
        let rows = values.len() / self.columns;
        let mut scores = Scores {
            labels: vec![0; rows],
            certainty: vec![0.0; rows],
            ln_density: vec![0.0; rows],
        };
        let found = self.by_pattern(values, |_, _, given, y| {
            let (ln_density, parts) = parts_of(given, y);
            let mut known = vec![0.0; self.components + 1];
            for (of, part) in self.parts.iter().zip(parts) {
                known[of.component] += part.exp_();
            }
            let known = known[..self.components].iter().enumerate();
            let (label, certainty) = known.fold((0, f64::NEG_INFINITY), |best, (k, &p)| {
                if p > best.1 { (k, p) } else { best }
            });
            (label, certainty, ln_density)
        })?;
        for (row, (label, certainty, ln_density)) in found {
            scores.labels[row] = label;
            scores.certainty[row] = certainty;
            scores.ln_density[row] = ln_density;
        }
        Ok(scores)
    }

    /// The probabilities of components given each row, row by row, where values may be missing.
    ///
    /// # Errors
    /// As [`PredictiveDensity::score`].
    pub fn probabilities(&self, values: &[f64], columns: usize) -> Result<Vec<f64>> {
        self.check(values, columns)?;
        let width = self.components + usize::from(self.unused);
        let mut out = vec![0.0; values.len() / columns * width];
        if values.iter().any(|x| x.is_nan()) {
            let found = self.by_pattern(values, |_, _, given, y| parts_of(given, y).1)?;
            for (row, parts) in found {
                for (of, part) in self.parts.iter().zip(parts) {
                    out[row * width + of.component] += part.exp_();
                }
            }
            return Ok(out);
        }
        let rows = out
            .par_chunks_exact_mut(width.max(1))
            .zip(values.par_chunks_exact(columns));
        rows.with_min_len(256)
            .for_each_init(Vec::new, |found, (out, y)| {
                self.ln_density(y, found);
                out.copy_from_slice(found);
            });
        Ok(out)
    }

    /// What is expected where values are missing, by the components that have a variance there, unless these are improbable.
    ///
    /// # Errors
    /// As [`PredictiveDensity::score`].
    pub fn impute(&self, values: &[f64], columns: usize) -> Result<Imputation> {
        self.check(values, columns)?;
        self.impute_given(values, &[])
    }

    /// The same given levels, of rows that have been checked.
    pub(super) fn impute_given(
        &self,
        values: &[f64],
        categories: &[LevelColumn],
    ) -> Result<Imputation> {
        let columns = self.columns;
        let mut imputed = Imputation {
            mean: values.to_vec(),
            sd: vec![0.0; values.len()],
        };
        let found = self.by_pattern(values, |row, pattern, given, y| {
            let (_, mut parts) = parts_of(given, y);
            if !categories.is_empty() {
                for (part, ln) in parts.iter_mut().enumerate() {
                    *ln += self.ln_levels(part, categories, row);
                }
                let total = log_sum_exp(&parts);
                for ln in &mut parts {
                    *ln -= total;
                }
            }
            let count = pattern.missing.len();
            let mut mean = vec![0.0; count];
            let all: Vec<_> = given
                .iter()
                .map(|(_, of)| (of.mean(y), of.variances(y)))
                .collect();
            // Parts that no row has narrowed may have no variance: a trace of one would drown what all others say.
            let finite = |(_, of): &(_, Vec<f64>)| of.iter().all(|variance| variance.is_finite());
            let usable = parts.iter().zip(&all).filter(|(_, of)| finite(of));
            let mut usable: Vec<_> = usable.map(|(part, of)| (part.exp_(), of)).collect();
            if usable.iter().map(|(part, _)| part).sum::<f64>() < 0.5 {
                usable = parts.iter().map(|part| part.exp_()).zip(&all).collect();
                usable.retain(|(part, _)| *part > 0.0);
            }
            let total: f64 = usable.iter().map(|(part, _)| part).sum();
            for (part, (own, _)) in &usable {
                for (mean, own) in mean.iter_mut().zip(own.iter()) {
                    *mean += part / total * own;
                }
            }
            let mut variance = vec![0.0; count];
            for (part, (own, spread)) in &usable {
                for (at, variance) in variance.iter_mut().enumerate() {
                    *variance += part / total * (spread[at] + (own[at] - mean[at]).powi(2));
                }
            }
            let sds: Vec<f64> = variance.into_iter().map(f64::sqrt).collect();
            (pattern.missing.clone(), mean, sds)
        })?;
        for (row, (missing, mean, sds)) in found {
            for ((d, mean), sd) in missing.into_iter().zip(mean).zip(sds) {
                imputed.mean[row * columns + d] = mean;
                imputed.sd[row * columns + d] = sd;
            }
        }
        Ok(imputed)
    }

    /// Draws of what is missing: the rows, so many times, one after the other. Rows have random numbers of their own, so
    /// that a draw of one does not depend on the others.
    ///
    /// # Errors
    /// As [`PredictiveDensity::score`].
    pub fn impute_draws(
        &self,
        values: &[f64],
        columns: usize,
        count: usize,
        seed: u64,
    ) -> Result<Vec<f64>> {
        self.check(values, columns)?;
        let mut out = values.repeat(count);
        let found = self.by_pattern(values, |row, pattern, given, y| {
            if pattern.missing.is_empty() {
                return (vec![], vec![]);
            }
            let (_, parts) = parts_of(given, y);
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(row as u64);
            let draws = (0..count).map(|_| {
                let mut left: f64 = rng.random();
                let chosen = parts.iter().position(|part| {
                    left -= part.exp_();
                    left < 0.0
                });
                let (_, of) = &given[chosen.unwrap_or(given.len() - 1)];
                of.draw(y, &mut rng)
            });
            (draws.collect::<Vec<_>>(), pattern.missing.clone())
        })?;
        for (row, (draws, missing)) in found {
            for (draw, numbers) in draws.iter().enumerate() {
                for (d, x) in missing.iter().zip(numbers.iter()) {
                    out[draw * values.len() + row * columns + d] = *x;
                }
            }
        }
        Ok(out)
    }

    /// Hands `visit` each row that misses something, with the log densities of draws of the columns that it has, in order.
    pub(super) fn tail_of_gaps(
        &self,
        values: &[f64],
        draws: &[f64],
        mut visit: impl FnMut(usize, &[f64]),
    ) {
        /// Densities of draws in all: as many as those of twenty sets of columns.
        const WORK: usize = 200_000;
        let shapes: Vec<Shape> = self.parts.iter().map(|of| Shape::of(&of.part)).collect();
        let mut patterns = patterns(values, self.columns);
        patterns.retain(|pattern| !pattern.missing.is_empty());
        let count = (WORK / patterns.len().max(1)).clamp(200, draws.len() / self.columns);
        let references: Vec<Vec<f64>> = patterns
            .par_iter()
            .map(|pattern| {
                let Ok(given) = self.given(&shapes, pattern) else {
                    return vec![];
                };
                let rows = draws.chunks_exact(self.columns).take(count);
                let mut all: Vec<f64> = rows
                    .map(|row| {
                        let there = pattern.there.iter().map(|d| row[*d]);
                        let y = DVector::from_iterator(pattern.there.len(), there);
                        parts_of(&given, &y).0
                    })
                    .collect();
                all.sort_by(f64::total_cmp);
                all
            })
            .collect();
        for (pattern, reference) in patterns.iter().zip(&references) {
            for row in &pattern.rows {
                visit(*row, reference);
            }
        }
    }

    /// Refuses rows that are not like those of the fit, or know nothing of its levels.
    pub(super) fn check(&self, values: &[f64], columns: usize) -> Result<()> {
        self.check_numbers(values, columns)?;
        if self.levels.columns() > 0 {
            let expected = format!("{}, as the fit has", self.levels.columns());
            let found = "no categorical columns";
            return Err(Error::data(Place::Whole("data"), found, expected));
        }
        Ok(())
    }

    /// The same of numbers alone.
    pub(super) fn check_numbers(&self, values: &[f64], columns: usize) -> Result<()> {
        if columns != self.columns {
            let expected = format!("{}, as the fit has", self.columns);
            let found = format!("{columns} columns");
            return Err(Error::data(Place::Whole("data"), found, expected));
        }
        if let Some(bad) = values.iter().position(|x| x.is_infinite()) {
            let (place, found) = (Place::cell(bad, columns), values[bad].to_string());
            return Err(Error::data(place, found, "a finite number"));
        }
        Ok(())
    }
}

fn flat() -> Error {
    Error::domain(
        "predictive density",
        "a scale that is not positive definite",
        "a fit that has not been damaged",
    )
}
