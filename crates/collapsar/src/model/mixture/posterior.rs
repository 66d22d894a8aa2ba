//! The collapsed blocks: weights and component parameters, prior plus statistics.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::covariance::Covariance;
use collapsar_core::family::{Dirichlet, NormalGamma, NormalWishart, StickBreaking};
use collapsar_core::vector::add;
use collapsar_core::{Blocks, Link, Potential, Result};

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

    fn join(
        &self,
        blocks: Blocks,
        name: &str,
        prior: Vec<f64>,
        link: impl Link + 'static,
    ) -> Result<Blocks> {
        match self {
            Self::Full(family) | Self::Tied(family) => blocks.join(name, *family, prior, link),
            Self::Grouped(family) => blocks.join(name, *family, prior, link),
        }
    }
}

/// $C(\tau)$ of a mixture (maths §4.2): a block for the weights, then one for each component, or one for
/// all of them where covariances are tied.
#[derive(Debug)]
pub struct Posterior {
    pub(crate) weights: Weights,
    pub(crate) parameters: Parameters,
    blocks: Blocks,
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
        prior: Vec<f64>,
        scatter: (f64, &[f64]),
    ) -> Result<Self> {
        let parameters = Parameters::new(covariance, components, columns);
        let features = covariance.features().count(columns);
        let counts = Counts { weights, features };
        let blocks = Blocks::new(components * features);
        let blocks = match weights {
            Weights::Dirichlet => {
                let prior = vec![concentration; components];
                blocks.join("weights", Dirichlet::new(components), prior, counts)
            }
            Weights::DirichletProcess => {
                let prior = [1.0, concentration].repeat(components);
                blocks.join("weights", StickBreaking::new(components), prior, counts)
            }
        }?;
        let blocks = if covariance == Covariance::Tied {
            // No responsibilities can change the data's total count and scatter.
            let mut total = vec![0.0; prior.len()];
            total[components] = scatter.0;
            let squares = total.len() - scatter.1.len();
            total[squares..].copy_from_slice(scatter.1);
            let link = TiedComponents {
                components,
                columns,
            };
            parameters
                .join(blocks, "prior", prior, link)?
                .with_constant(&total)
        } else {
            let freedom = match &parameters {
                Parameters::Grouped(family) => family.size as f64,
                Parameters::Full(_) | Parameters::Tied(_) => 1.0,
            };
            (0..components).try_fold(blocks, |blocks, k| {
                let statistics = k * features..(k + 1) * features;
                let link = OwnComponent {
                    statistics,
                    freedom,
                };
                let name = format!("component {}", k + 1);
                parameters.join(blocks, &name, prior.clone(), link)
            })?
        };
        Ok(Self {
            weights,
            parameters,
            blocks,
        })
    }

    /// By how much the value changes between two statistics that differ in a few `components`.
    pub(crate) fn change(&self, from: &[f64], to: &[f64], components: &[usize]) -> Result<f64> {
        let tied = matches!(self.parameters, Parameters::Tied(_));
        let components = if tied { &[0] } else { components };
        let mut change = 0.0;
        for (statistics, sign) in [(from, -1.0), (to, 1.0)] {
            change += sign * self.blocks.value(0, statistics)?;
            for &k in components {
                change += sign * self.blocks.value(1 + k, statistics)?;
            }
        }
        Ok(change)
    }

    /// Prior plus statistics, in natural parameters.
    pub(crate) fn naturals(&self, statistics: &[f64]) -> Naturals {
        let natural = |block| self.blocks.natural(block, statistics);
        Naturals {
            weights: natural(0),
            blocks: (1..self.blocks.count()).map(natural).collect(),
        }
    }
}

impl Potential for Posterior {
    fn dim(&self) -> usize {
        self.blocks.dim()
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        self.blocks.value_and_gradient(at, gradient)
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        self.blocks.hessian_product(at, along, out)
    }
}

/// Each component's count goes to the weights.
#[derive(Debug)]
struct Counts {
    weights: Weights,
    features: usize,
}

impl Link for Counts {
    fn add(&self, statistics: &[f64], natural: &mut [f64]) {
        let counts: Vec<f64> = statistics.iter().step_by(self.features).copied().collect();
        match self.weights {
            Weights::Dirichlet => add(natural, 1.0, &counts),
            Weights::DirichletProcess => StickBreaking::add_counts(&counts, natural),
        }
    }

    fn pull_back(&self, mean: &[f64], out: &mut [f64]) {
        let mut per_count = vec![0.0; out.len() / self.features];
        match self.weights {
            Weights::Dirichlet => add(&mut per_count, 1.0, mean),
            Weights::DirichletProcess => StickBreaking::pull_back(mean, &mut per_count),
        }
        for (out, count) in out.iter_mut().step_by(self.features).zip(per_count) {
            *out += count;
        }
    }
}

/// A component's statistics (count, sums, squares) go to its own natural parameters (mean precision,
/// degrees of freedom, sums, squares).
#[derive(Debug)]
struct OwnComponent {
    statistics: Range<usize>,
    /// What a datum adds to the degrees of freedom.
    freedom: f64,
}

impl Link for OwnComponent {
    fn add(&self, statistics: &[f64], natural: &mut [f64]) {
        let statistics = &statistics[self.statistics.clone()];
        natural[0] += statistics[0];
        natural[1] += self.freedom * statistics[0];
        add(&mut natural[2..], 1.0, &statistics[1..]);
    }

    fn pull_back(&self, mean: &[f64], out: &mut [f64]) {
        let out = &mut out[self.statistics.clone()];
        out[0] += mean[0] + self.freedom * mean[1];
        add(&mut out[1..], 1.0, &mean[2..]);
    }
}

/// Every component's count and sums go to one block. The degrees of freedom count every datum once,
/// whatever its component, so they are data here and send no message (maths §4.2).
#[derive(Debug)]
struct TiedComponents {
    components: usize,
    columns: usize,
}

impl TiedComponents {
    /// Where the sums of component `k` stand among natural parameters.
    fn sums(&self, k: usize) -> Range<usize> {
        let start = self.components + 1 + k * self.columns;
        start..start + self.columns
    }
}

impl Link for TiedComponents {
    fn add(&self, statistics: &[f64], natural: &mut [f64]) {
        for (k, statistics) in statistics.chunks_exact(1 + self.columns).enumerate() {
            natural[k] += statistics[0];
            add(&mut natural[self.sums(k)], 1.0, &statistics[1..]);
        }
    }

    fn pull_back(&self, mean: &[f64], out: &mut [f64]) {
        for (k, out) in out.chunks_exact_mut(1 + self.columns).enumerate() {
            out[0] += mean[k];
            add(&mut out[1..], 1.0, &mean[self.sums(k)]);
        }
    }
}
