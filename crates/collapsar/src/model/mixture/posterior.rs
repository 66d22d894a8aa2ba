//! The collapsed blocks: weights and component parameters, prior plus statistics.

use serde::{Deserialize, Serialize};

use super::covariance::Covariance;
use collapsar_core::family::{Dirichlet, NormalGamma, NormalWishart, StickBreaking};
use collapsar_core::vector::add;
use collapsar_core::{Error, Potential, Result};

/// The prior over the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weights {
    /// A symmetric Dirichlet over a finite number of components.
    #[default]
    Dirichlet,
    /// A Dirichlet process, of which q uses the first K sticks.
    #[serde(rename = "dp")]
    DirichletProcess,
}

impl Weights {
    /// Every kind, in the order of the documentation.
    pub const ALL: [Self; 2] = [Self::Dirichlet, Self::DirichletProcess];

    /// The name, as `--weights` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dirichlet => "dirichlet",
            Self::DirichletProcess => "dp",
        }
    }
}

/// The family of the component parameters.
#[derive(Debug, Clone)]
pub(crate) enum Parameters {
    /// One block for each component.
    Full(NormalWishart),
    /// One block for each component, precisions by groups of coordinates.
    Grouped(NormalGamma),
    /// One block for all components.
    Tied(NormalWishart),
}

impl Parameters {
    pub(crate) fn new(covariance: Covariance, components: usize, columns: usize) -> Self {
        match covariance {
            Covariance::Full => Self::Full(NormalWishart::new(columns)),
            Covariance::Diagonal => Self::Grouped(NormalGamma::diagonal(columns)),
            Covariance::Spherical => Self::Grouped(NormalGamma::spherical(columns)),
            Covariance::Tied => Self::Tied(NormalWishart::tied(columns, components)),
        }
    }

    fn family(&self) -> &dyn Potential {
        match self {
            Self::Full(family) | Self::Tied(family) => family,
            Self::Grouped(family) => family,
        }
    }
}

/// $C(\tau)$ of a mixture (maths §4.2).
#[derive(Debug, Clone)]
pub struct Posterior {
    pub(crate) components: usize,
    columns: usize,
    features: usize,
    pub(crate) weights: Weights,
    pub(crate) parameters: Parameters,
    /// Natural parameters of the weights' prior.
    pub(crate) weights_prior: Vec<f64>,
    /// Natural parameters of a block's prior; for tied covariances with the data's total count
    /// and scatter, which no responsibilities can change, already added.
    pub(crate) block_prior: Vec<f64>,
    /// What a datum adds to the degrees of freedom.
    freedom: f64,
    /// The log-partition functions of the priors.
    prior_value: f64,
}

/// Everything of the posterior in natural parameters.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Naturals {
    pub(crate) weights: Vec<f64>,
    /// One for each component, or one for all where covariances are tied.
    pub(crate) blocks: Vec<Vec<f64>>,
}

impl Posterior {
    /// `scatter` is the count and the packed sum of y y' of the data, used where covariances are tied.
    pub(crate) fn new(
        (components, columns): (usize, usize),
        covariance: Covariance,
        weights: Weights,
        concentration: f64,
        mut block_prior: Vec<f64>,
        scatter: (f64, &[f64]),
    ) -> Result<Self> {
        let parameters = Parameters::new(covariance, components, columns);
        let weights_prior = match weights {
            Weights::Dirichlet => Dirichlet::symmetric(components, concentration),
            Weights::DirichletProcess => [1.0, concentration].repeat(components),
        };
        let blocks = if covariance == Covariance::Tied {
            1.0
        } else {
            components as f64
        };
        let freedom = match &parameters {
            Parameters::Grouped(family) => family.size() as f64,
            _ => 1.0,
        };
        let mut scratch = vec![0.0; block_prior.len()];
        let mut prior_value = blocks
            * parameters
                .family()
                .value_and_gradient(&block_prior, &mut scratch)
                .map_err(named("prior"))?;
        if covariance == Covariance::Tied {
            block_prior[components] += scatter.0;
            let start = block_prior.len() - scatter.1.len();
            for (q, s) in block_prior[start..].iter_mut().zip(scatter.1) {
                *q += s;
            }
        }
        let features = covariance.features().count(columns);
        let mut posterior = Self {
            components,
            columns,
            features,
            weights,
            parameters,
            weights_prior,
            block_prior,
            freedom,
            prior_value,
        };
        let mut scratch = vec![0.0; posterior.weights_prior.len()];
        prior_value += posterior.weights_value(&posterior.weights_prior, &mut scratch)?;
        posterior.prior_value = prior_value;
        Ok(posterior)
    }

    fn weights_value(&self, natural: &[f64], mean: &mut [f64]) -> Result<f64> {
        match self.weights {
            Weights::Dirichlet => Dirichlet::new(self.components).value_and_gradient(natural, mean),
            Weights::DirichletProcess => {
                StickBreaking::new(self.components).value_and_gradient(natural, mean)
            }
        }
        .map_err(named("weights"))
    }

    fn weights_hessian(&self, natural: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        match self.weights {
            Weights::Dirichlet => {
                Dirichlet::new(self.components).hessian_product(natural, along, out)
            }
            Weights::DirichletProcess => {
                StickBreaking::new(self.components).hessian_product(natural, along, out)
            }
        }
        .map_err(named("weights"))
    }

    /// Adds what `statistics` say of the weights to their natural parameters.
    fn add_counts(&self, statistics: &[f64], natural: &mut [f64]) {
        let counts: Vec<f64> = statistics.iter().step_by(self.features).copied().collect();
        match self.weights {
            Weights::Dirichlet => add(natural, 1.0, &counts),
            Weights::DirichletProcess => StickBreaking::add_counts(&counts, natural),
        }
    }

    /// Adds the weights' part of the gradient, given per natural parameter, to each component's count.
    fn pull_back_counts(&self, per_natural: &[f64], out: &mut [f64]) {
        let mut per_count = vec![0.0; self.components];
        match self.weights {
            Weights::Dirichlet => add(&mut per_count, 1.0, per_natural),
            Weights::DirichletProcess => {
                StickBreaking::pull_back(per_natural, &mut per_count);
            }
        }
        for (o, c) in out.iter_mut().step_by(self.features).zip(per_count) {
            *o += c;
        }
    }

    /// Adds a component's statistics (count, sums, squares) to its block's natural parameters
    /// (mean precision, degrees of freedom, sums, squares).
    fn add_component(&self, k: usize, statistics: &[f64], natural: &mut [f64]) {
        let columns = self.columns;
        if let Parameters::Tied(_) = self.parameters {
            natural[k] += statistics[0];
            let start = self.components + 1 + k * columns;
            add(&mut natural[start..start + columns], 1.0, &statistics[1..]);
        } else {
            natural[0] += statistics[0];
            natural[1] += self.freedom * statistics[0];
            add(&mut natural[2..], 1.0, &statistics[1..]);
        }
    }

    /// The transpose of [`Self::add_component`].
    fn pull_back_component(&self, k: usize, per_natural: &[f64], out: &mut [f64]) {
        let columns = self.columns;
        if let Parameters::Tied(_) = self.parameters {
            // The degrees of freedom count every datum once, whatever its component, so they
            // are data here and send no message (maths §4.2).
            out[0] += per_natural[k];
            let start = self.components + 1 + k * columns;
            add(&mut out[1..], 1.0, &per_natural[start..start + columns]);
        } else {
            out[0] += per_natural[0] + self.freedom * per_natural[1];
            add(&mut out[1..], 1.0, &per_natural[2..]);
        }
    }

    /// The components that block `b` serves.
    fn served(&self, b: usize) -> std::ops::Range<usize> {
        if let Parameters::Tied(_) = self.parameters {
            0..self.components
        } else {
            b..b + 1
        }
    }

    fn blocks(&self) -> usize {
        if let Parameters::Tied(_) = self.parameters {
            1
        } else {
            self.components
        }
    }

    fn component<'a>(&self, k: usize, vector: &'a [f64]) -> &'a [f64] {
        &vector[k * self.features..(k + 1) * self.features]
    }

    /// By how much the value changes between two statistics that differ in a few `components`.
    pub(crate) fn change(&self, from: &[f64], to: &[f64], components: &[usize]) -> Result<f64> {
        let mut change = 0.0;
        for (statistics, sign) in [(from, -1.0), (to, 1.0)] {
            let mut weights = self.weights_prior.clone();
            self.add_counts(statistics, &mut weights);
            let mut mean = vec![0.0; weights.len().max(self.block_prior.len())];
            change += sign * self.weights_value(&weights, &mut mean[..weights.len()])?;
            let tied = matches!(self.parameters, Parameters::Tied(_));
            for &b in if tied { &[0][..] } else { components } {
                let natural = self.block(b, statistics);
                let family = self.parameters.family();
                change += sign * family.value_and_gradient(&natural, &mut mean[..natural.len()])?;
            }
        }
        Ok(change)
    }

    /// Prior plus statistics of block `b`, in natural parameters.
    fn block(&self, b: usize, statistics: &[f64]) -> Vec<f64> {
        let mut natural = self.block_prior.clone();
        for k in self.served(b) {
            self.add_component(k, self.component(k, statistics), &mut natural);
        }
        natural
    }

    /// Prior plus statistics, in natural parameters.
    pub(crate) fn naturals(&self, statistics: &[f64]) -> Naturals {
        let mut weights = self.weights_prior.clone();
        self.add_counts(statistics, &mut weights);
        let blocks = (0..self.blocks())
            .map(|b| self.block(b, statistics))
            .collect();
        Naturals { weights, blocks }
    }
}

impl Potential for Posterior {
    fn dim(&self) -> usize {
        self.components * self.features
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let Naturals { weights, blocks } = self.naturals(at);
        gradient.fill(0.0);
        let mut mean = vec![0.0; weights.len()];
        let mut value = self.weights_value(&weights, &mut mean)? - self.prior_value;
        self.pull_back_counts(&mean, gradient);
        mean.resize(self.block_prior.len(), 0.0);
        for (b, natural) in blocks.iter().enumerate() {
            let mean = &mut mean[..natural.len()];
            value += self
                .parameters
                .family()
                .value_and_gradient(natural, mean)
                .map_err(component(b))?;
            for k in self.served(b) {
                let part = &mut gradient[k * self.features..(k + 1) * self.features];
                self.pull_back_component(k, mean, part);
            }
        }
        Ok(value)
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        let Naturals { weights, blocks } = self.naturals(at);
        out.fill(0.0);
        let mut change = vec![0.0; weights.len()];
        self.add_counts(along, &mut change);
        let mut image = vec![0.0; weights.len()];
        self.weights_hessian(&weights, &change, &mut image)?;
        self.pull_back_counts(&image, out);
        let mut change = vec![0.0; self.block_prior.len()];
        let mut image = vec![0.0; self.block_prior.len()];
        for (b, natural) in blocks.iter().enumerate() {
            change.fill(0.0);
            for k in self.served(b) {
                self.add_component(k, self.component(k, along), &mut change);
            }
            self.parameters
                .family()
                .hessian_product(natural, &change, &mut image)
                .map_err(component(b))?;
            for k in self.served(b) {
                let part = &mut out[k * self.features..(k + 1) * self.features];
                self.pull_back_component(k, &image, part);
            }
        }
        Ok(())
    }
}

/// Names the block in a family's error, which knows only its own numbers.
fn named(block: &str) -> impl Fn(Error) -> Error + '_ {
    move |error| match error {
        Error::Domain {
            found, expected, ..
        } => Error::Domain {
            block: block.to_owned(),
            found,
            expected,
        },
        other => other,
    }
}

fn component(index: usize) -> impl Fn(Error) -> Error {
    move |error| named(&format!("component {}", index + 1))(error)
}
