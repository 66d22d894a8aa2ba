//! What is known of rows before a model is: how many, their moments, and so prior and units.

use super::super::data::{Data, check_varies, digest};
use super::super::known::Held;
use super::super::posterior::{Parameters, blocks, pairs};
use super::super::settings::diagonal;
use super::super::{Covariance, Gaps, Mixture, Prior, Settings};
use super::task::{SetUp, Task};
use super::{Asker, FarMixture, FarSum};
use collapsar_core::elementary::Elementary;
use collapsar_core::exchange::Far;
use collapsar_core::rows::LevelPlaces;
use collapsar_core::{Change, Error, Hint, Place, Result};

/// Mixtures of the same rows, which workers hold, with any number of components.
#[derive(Debug)]
pub struct FarMixtures<'a> {
    asker: Asker<'a>,
    settings: Settings,
    prior: Prior,
    shift: Vec<f64>,
    scale: Vec<f64>,
    rows: f64,
    /// Of squares about the means: the upper triangle row by row, or the diagonal.
    spread: Vec<f64>,
    digest: u64,
}

impl<'a> FarMixtures<'a> {
    /// Mixtures of rows with so many columns, of no more components than `settings` have: two passes over the data.
    ///
    /// # Errors
    /// [`Error::Data`] where the data cannot be used; [`Error::Setting`] where a hyperparameter is out of range;
    /// [`Error::Exchange`] where workers do not answer.
    pub fn new(asker: Asker<'a>, columns: usize, settings: &Settings) -> Result<Self> {
        let whole = || Place::Whole("data");
        if columns == 0 {
            let expected = "at least one row of numbers";
            return Err(Error::data(whole(), "no columns", expected));
        }
        let components = settings.components;
        if components == 0 {
            return Err(Error::setting("components", "0", "at least 1"));
        }
        if asker.cuts().rows() < components as u64 {
            let found = format!("{} rows for {components} components", asker.cuts().rows());
            let refused = Error::data(whole(), found, "at least as many rows as components");
            return Err(refused.with_hint(Hint::Option("components", Change::Fewer)));
        }
        let ask = |task: &Task, expected: usize| {
            let found = asker.ask(task.kind(), 0, |out| task.write(out))?;
            if found.len() == expected {
                return Ok(found);
            }
            let found = found.len();
            Err(Error::exchange(format!(
                "a vector of {found} numbers, expected {expected}"
            )))
        };
        let survey = ask(&Task::Survey, 3 + 3 * columns)?;
        let rows = survey[0];
        let counted = asker.cuts().rows();
        if rows != counted as f64 {
            return Err(Error::exchange(format!(
                "{rows} rows, expected {counted} as were counted"
            )));
        }
        let mut mean: Vec<f64> = survey[3..3 + columns]
            .iter()
            .map(|sum| sum / rows)
            .collect();
        let of_pairs = matches!(settings.covariance, Covariance::Full | Covariance::Tied);
        let of_pairs = of_pairs && columns > 1;
        let spread = Task::Spread {
            mean: mean.clone(),
            pairs: of_pairs,
        };
        let numbers = if of_pairs {
            columns * (columns + 1) / 2
        } else {
            columns
        };
        let spread = ask(&spread, numbers)?;
        let squares: Vec<f64> = if of_pairs {
            let all = pairs(columns).zip(&spread);
            all.filter(|((i, j), _)| i == j).map(|(_, s)| *s).collect()
        } else {
            spread.clone()
        };
        let mut variance: Vec<f64> = squares.iter().map(|sum| sum / rows).collect();
        let (lows, highs) = survey[3 + columns..].split_at(columns);
        for (d, (v, m)) in variance.iter_mut().zip(&mut mean).enumerate() {
            // A constant column's mean may be off by rounding: its variance is still none.
            if lows[d] == -highs[d] || *v <= (1e-14 * m.abs()).powi(2) {
                (*v, *m) = (0.0, lows[d]);
            }
        }
        let prior = settings.prior_of(&mean, || {
            default_scale(settings.covariance, rows, (&mean, &variance), &spread)
        })?;
        let (shift, scale) = Data::standard((mean, variance), settings.covariance);
        Ok(Self {
            asker,
            settings: settings.clone(),
            prior,
            shift,
            scale,
            rows,
            spread,
            digest: survey[1] as u64 ^ (survey[2] as u64).rotate_left(32),
        })
    }

    /// Who is asked, and how the data are cut.
    pub fn asker(&self) -> &Asker<'a> {
        &self.asker
    }

    /// The one with so many components, which workers are prepared for: one that was made before can no longer be climbed.
    ///
    /// # Errors
    /// [`Error::Setting`] where there are none, or more than there may be.
    pub fn with(&self, components: usize) -> Result<FarMixture<'_>> {
        let most = self.settings.components;
        if !(1..=most).contains(&components) {
            let expected = format!("1 to {most}");
            return Err(Error::setting("components", components, expected));
        }
        let settings = Settings {
            components,
            ..self.settings.clone()
        };
        let prior = Prior {
            concentration: settings.concentration(),
            ..self.prior.clone()
        };
        let (covariance, weights) = (settings.covariance, settings.weights);
        let columns = self.shift.len();
        let set_up = SetUp {
            covariance,
            components,
            shift: self.shift.clone(),
            scale: self.scale.clone(),
        };
        let preparation = set_up.preparation();
        let task = Task::SetUp(set_up);
        self.asker.prepare(task.kind(), 0, |out| task.write(out))?;
        let features = covariance.features(false).count(columns);
        let local = FarSum {
            far: Far::new(&self.asker, preparation, components * features),
            columns,
            components,
            features,
            rows: self.rows,
            scatter: self.scatter(),
        };
        let parameters = Parameters::new(covariance, components, columns, false);
        let natural = prior.natural(parameters, &self.shift, &self.scale)?;
        let blocks = blocks(&settings, parameters, natural, (&local, None))?;
        let half_ln_tau = 0.5 * std::f64::consts::TAU.ln_();
        // The Gaussians' 2π and the change of units: maths §4.3, §4.4.
        let ln_scale: f64 = self.scale.iter().map(|s| s.ln_()).sum();
        let constant = -self.rows * (columns as f64 * half_ln_tau + ln_scale);
        let cuts = self.asker.cuts();
        let fingerprint = format!(
            "a mixture of {components} {} components with {} weights on {} rows of {columns} columns in {} chunks of {} (data {:016x}, prior {:016x})",
            covariance.name(),
            weights.name(),
            self.rows,
            cuts.count(),
            cuts.chunk_rows(),
            self.digest,
            digest(&prior.numbers()),
        );
        Ok(Mixture {
            local,
            covariance,
            weights,
            parameters,
            blocks,
            prior,
            shift: self.shift.clone(),
            scale: self.scale.clone(),
            total: self.rows,
            gaps: Gaps::default(),
            held: Held::none(components),
            levels: LevelPlaces::default(),
            constant,
            fingerprint,
        })
    }

    /// The sum of squares in standardised units, whose means are the columns' own.
    fn scatter(&self) -> Vec<f64> {
        if self.settings.covariance != Covariance::Tied {
            return vec![];
        }
        let all = pairs(self.shift.len()).zip(&self.spread);
        all.map(|((i, j), sum)| sum / (self.scale[i] * self.scale[j]))
            .collect()
    }
}

/// The sample covariance, its diagonal, or the mean of that times the identity.
fn default_scale(
    covariance: Covariance,
    rows: f64,
    (mean, variance): (&[f64], &[f64]),
    spread: &[f64],
) -> Result<Vec<f64>> {
    let columns = mean.len();
    check_varies(mean, variance, covariance)?;
    // scikit-learn divides by N - 1.
    let others = rows - 1.0;
    let unbiased = rows / others;
    Ok(match covariance {
        Covariance::Full | Covariance::Tied if columns > 1 => {
            let mut matrix = vec![0.0; columns * columns];
            for ((i, j), sum) in pairs(columns).zip(spread) {
                matrix[i * columns + j] = sum / others;
                matrix[j * columns + i] = sum / others;
            }
            matrix
        }
        Covariance::Spherical => {
            let mean = variance.iter().sum::<f64>() / columns as f64;
            diagonal(columns, |_| mean * unbiased)
        }
        _ => diagonal(columns, |i| variance[i] * unbiased),
    })
}
