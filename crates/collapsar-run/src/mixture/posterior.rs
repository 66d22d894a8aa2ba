//! Which posterior the results of a mixture are of, what it says of each number, and how far it may be trusted.

use collapsar::family::Marginal;
use collapsar::mixture::{
    Component, DrawOptions, Matrix, MixtureDraws, MixtureFit, MixtureResponse, Number,
};
use collapsar::{ChainWatch, Collapsed, Potential};
use collapsar_bugs::{ChainDraws, Summary};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{CategoryNames, ClassNames, MixtureResult, MixtureRun, USED};
use crate::error::Result;
use crate::fit::{CHAIN_DRAWS, ModelResult};
use crate::verdict::{PosteriorKind, Signs};

/// Products of numbers that linear response may take by default, however short the climb was: about a second.
const AFFORDABLE: f64 = 3e9;
/// The same for the weights of draws of q, each of which is a pass with its exponentials.
const AFFORDABLE_WEIGHTS: usize = 300_000_000;
/// Why another posterior is told of than the one that was asked for.
const INTERRUPTED: &str = "the run was interrupted";
/// Draws of q whose weights are looked at.
const WEIGHTS: usize = 1000;

/// What is known of a mixture's weights, means and covariances.
pub struct MixturePosterior {
    /// The components with the means and standard deviations of this posterior.
    pub fit: MixtureFit,
    /// The numbers of components in use: weights, means, and the covariances' diagonal.
    pub numbers: Vec<Number>,
    /// What each of them is, with signs of how far to trust it.
    pub result: ModelResult,
    /// Exact draws.
    pub draws: Option<MixtureDraws>,
    /// The covariances that mean field leaves out.
    pub response: Option<MixtureResponse>,
    /// Why it is mean field's, where another was to be.
    pub refused: Option<String>,
}

impl MixtureRun<'_> {
    /// What is known at the end of the climbs. Chains that were interrupted leave what the climbs reached.
    pub fn posterior(
        &self,
        result: &MixtureResult,
        watch: &dyn ChainWatch,
    ) -> Result<MixturePosterior> {
        let (fit, point) = (&result.fit, &result.climbed.best().point);
        let numbers = reported(fit);
        let options = &self.request.posterior;
        if options.posterior == Some(PosteriorKind::Exact) {
            let draws = options.draws.unwrap_or(CHAIN_DRAWS);
            let length = DrawOptions {
                chains: options.chains,
                warmup: options.warmup.unwrap_or(draws / 4),
                draws,
                seed: self.request.climb.seed,
            };
            if let Some(draws) = result.model.chains(point, length, watch)? {
                return Ok(sampled(fit, numbers, draws));
            }
        }
        let (response, refused) = if watch.goes_on() {
            self.response(result)?
        } else {
            // Nobody waits for it who has interrupted the run.
            (None, options.posterior.map(|_| INTERRUPTED.to_owned()))
        };
        let mut signs = self.weighed(result)?;
        signs.missing_information = response.as_ref().map(|of| of.missing_information);
        let kind = match response {
            Some(_) => PosteriorKind::LinearResponse,
            None => PosteriorKind::MeanField,
        };
        let fit = match &response {
            Some(response) => fit.widened(response),
            None => fit.clone(),
        };
        let rows = numbers.iter().map(|number| summary(&fit, *number));
        Ok(MixturePosterior {
            result: ModelResult {
                kind,
                rows: rows.collect(),
                draws: 0,
                chains: None,
                signs,
            },
            fit,
            numbers,
            draws: None,
            response,
            refused,
        })
    }

    /// The linear response where it is asked for or costs no more than the climbs did, or else why there is none.
    fn response(
        &self,
        result: &MixtureResult,
    ) -> Result<(Option<MixtureResponse>, Option<String>)> {
        let asked = self.request.posterior.posterior;
        match asked {
            Some(PosteriorKind::MeanField) => return Ok((None, None)),
            Some(PosteriorKind::Exact) => {
                return Ok((None, Some(INTERRUPTED.to_owned())));
            }
            Some(PosteriorKind::LinearResponse) | None => {}
        }
        let point = &result.climbed.best().point;
        let overlaps = result.model.overlaps(point)?;
        // A pass is two products for each row and message.
        let pass = 2.0 * (result.model.rows() * point.messages.len()) as f64;
        let affordable = (result.climbed.passes as f64 * pass).max(AFFORDABLE);
        if asked.is_none() && overlaps.cost.is_none_or(|cost| cost > affordable) {
            return Ok((None, None));
        }
        match result.model.linear_response(point, &overlaps) {
            Ok(response) => Ok((Some(response), None)),
            Err(refused) => Ok((None, Some(refused.to_string()))),
        }
    }

    /// What weights of draws of q say.
    fn weighed(&self, result: &MixtureResult) -> Result<Signs> {
        let model = &result.model;
        let cost = (model.rows() * model.local().dim()).saturating_mul(WEIGHTS);
        if cost > AFFORDABLE_WEIGHTS {
            return Ok(Signs::default());
        }
        let mut rng = ChaCha8Rng::seed_from_u64(self.request.climb.seed);
        let point = &result.climbed.best().point;
        let weights = model.ln_weights(point, WEIGHTS, &mut rng)?;
        Ok(Signs {
            // Draws around one optimum know nothing of the other orders of its components.
            ln_evidence: None,
            ..Signs::of_weights(&weights)
        })
    }
}

/// The numbers of components in use: weights, means, and the covariances' diagonal.
fn reported(fit: &MixtureFit) -> Vec<Number> {
    let used: Vec<usize> = (fit.components.iter().enumerate())
        .filter(|(_, component)| component.count >= USED)
        .map(|(k, _)| k)
        .collect();
    let columns = || 0..fit.columns();
    let mut numbers: Vec<Number> = used.iter().map(|&k| Number::Weight(k)).collect();
    numbers.extend(
        used.iter()
            .flat_map(|&k| columns().map(move |d| Number::Mean(k, d))),
    );
    for &k in &used {
        let entries = match fit.components[k].covariance {
            Matrix::Spherical(_) => fit.columns().min(1),
            _ => fit.columns(),
        };
        numbers.extend((0..entries).map(|d| Number::Covariance(k, d, d)));
    }
    for &k in &used {
        for (c, levels) in fit.level_sizes().enumerate() {
            numbers.extend((0..levels).map(|level| Number::Level(k, c, level)));
        }
    }
    numbers
}

/// What exact draws say.
fn sampled(fit: &MixtureFit, numbers: Vec<Number>, draws: MixtureDraws) -> MixturePosterior {
    let all = draws.numbers();
    let places = numbers
        .iter()
        .filter_map(|number| all.iter().position(|of| of == number));
    let mut chains = vec![vec![]; draws.chains()];
    for place in places {
        for (chain, column) in chains.iter_mut().zip(draws.column(place)) {
            chain.push(column);
        }
    }
    let chains = ChainDraws {
        chains,
        relabelled: Some(draws.relabelled),
        complete: true,
    };
    let estimates = chains.estimates();
    let diagnostics: Vec<_> = estimates.iter().map(|one| one.diagnostics).collect();
    let deviations = estimates.iter().map(|one| one.summary.sd);
    let of: Vec<_> = deviations.zip(diagnostics.iter().copied()).collect();
    let signs = Signs::of_chains(&of);
    MixturePosterior {
        fit: draws.describe(fit),
        numbers,
        result: ModelResult {
            kind: PosteriorKind::Exact,
            rows: estimates.iter().map(|one| one.summary).collect(),
            draws: 0,
            chains: Some((chains, diagnostics)),
            signs,
        },
        draws: Some(draws),
        response: None,
        refused: None,
    }
}

/// Mean, deviation and quantiles of a number, from a distribution of its support with this mean and deviation.
fn summary(fit: &MixtureFit, number: Number) -> Summary {
    let of = |component: usize| &fit.components[component];
    match number {
        Number::Weight(k) => {
            let (mean, sd) = (of(k).weight, of(k).weight_sd);
            proportion(mean, sd)
        }
        Number::Level(k, column, level) => {
            let levels = &of(k).levels[column];
            proportion(levels.probabilities[level], levels.sds[level])
        }
        Number::Mean(k, d) => {
            let component = of(k);
            let degrees = freedom(component, d) + 1.0;
            let squared = component.scale.variance(d) / (component.mean_precision_of(d) * degrees);
            let plain = Marginal::StudentT {
                mean: component.mean[d],
                scale: squared.sqrt(),
                degrees,
            };
            let sd = component.mean_sd.as_ref().map(|sds| sds[d]);
            let marginal = sd.map_or(plain, |sd| plain.with_sd(sd));
            quantiles(marginal.mean(), marginal.sd(), |p| marginal.quantile(p))
        }
        Number::Covariance(k, d, _) => {
            let component = of(k);
            let (freedom, scale) = (freedom(component, d), component.scale.variance(d));
            // An inverse gamma distribution: with a deviation, the one that has it and the same mean.
            let mean = if freedom > 1.0 {
                scale / (freedom - 1.0)
            } else {
                f64::INFINITY
            };
            let sd = component.covariance_sd.as_ref().map(|sds| sds.variance(d));
            let (shape, rate) = match sd {
                Some(sd) => {
                    let shape = 2.0 + (mean / sd).powi(2);
                    (shape, mean * (shape - 1.0))
                }
                None => (0.5 * (freedom + 1.0), 0.5 * scale),
            };
            let inverse = Marginal::Gamma { shape, rate };
            let sd = sd.unwrap_or(f64::INFINITY);
            quantiles(mean, sd, |p| 1.0 / inverse.quantile(1.0 - p))
        }
    }
}

/// A proportion's summary, from a beta distribution with this mean and deviation.
fn proportion(mean: f64, sd: f64) -> Summary {
    // Its shapes add up to this.
    let total = mean * (1.0 - mean) / (sd * sd) - 1.0;
    let marginal = if total > 0.0 && total.is_finite() {
        Marginal::Beta {
            a: mean * total,
            b: (1.0 - mean) * total,
        }
    } else {
        Marginal::Point(mean)
    };
    quantiles(mean, sd, |p| marginal.quantile(p))
}

/// Degrees of freedom less dimensions: those of a column's variance, less one.
fn freedom(component: &Component, d: usize) -> f64 {
    let dimensions = match component.scale {
        Matrix::Full(_) => component.mean.len() as f64,
        _ => 1.0,
    };
    component.degrees_of_freedom_of(d) - dimensions
}

fn quantiles(mean: f64, sd: f64, quantile: impl Fn(f64) -> f64) -> Summary {
    Summary {
        mean,
        sd,
        quantiles: [0.025, 0.5, 0.975].map(quantile),
    }
}

/// A number's name, by the names of the data's columns and of components.
pub fn name_of_number(
    number: Number,
    (columns, categories): (&[String], &[CategoryNames]),
    names: ClassNames<'_>,
) -> String {
    match number {
        Number::Weight(k) => format!("weight[{}]", names.of(k)),
        Number::Mean(k, d) => format!("mean[{},{}]", names.of(k), columns[d]),
        Number::Covariance(k, i, j) if i == j => {
            format!("variance[{},{}]", names.of(k), columns[i])
        }
        Number::Level(k, c, level) => {
            let of = &categories[c];
            let (k, level) = (names.of(k), &of.levels[level]);
            format!("probability[{k},{},{level}]", of.name)
        }
        Number::Covariance(k, i, j) => {
            format!("covariance[{},{},{}]", names.of(k), columns[i], columns[j])
        }
    }
}
