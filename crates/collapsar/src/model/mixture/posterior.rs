//! The collapsed blocks: weights and component parameters, prior plus statistics.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{Covariance, Mixture, Settings};
use collapsar_core::family::{
    Dirichlet, NormalGamma, NormalGammaColumns, NormalWishart, StickBreaking,
};
use collapsar_core::rows::SoftmaxSum;
use collapsar_core::vector::{add, dot};
use collapsar_core::{Blocks, IndexMap, Link, Potential, Result};

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
#[derive(Debug, Clone, Copy)]
pub(crate) enum Parameters {
    /// None, as rows have no numbers.
    Nothing,
    /// Of one component, or of all where covariances are tied.
    Full(NormalWishart),
    /// Precisions by groups of coordinates.
    Grouped(NormalGamma),
    /// The same where each column has been observed another number of times.
    Columns(NormalGammaColumns),
}

impl Parameters {
    pub(crate) fn new(
        covariance: Covariance,
        components: usize,
        columns: usize,
        gaps: bool,
    ) -> Self {
        match covariance {
            _ if columns == 0 => Self::Nothing,
            Covariance::Diagonal if gaps => Self::Columns(NormalGammaColumns {
                groups: columns,
                size: 1,
            }),
            Covariance::Spherical if gaps => Self::Columns(NormalGammaColumns {
                groups: 1,
                size: columns,
            }),
            Covariance::Full => Self::Full(NormalWishart::new(columns)),
            Covariance::Diagonal => Self::Grouped(NormalGamma::diagonal(columns)),
            Covariance::Spherical => Self::Grouped(NormalGamma::spherical(columns)),
            Covariance::Tied => Self::Full(NormalWishart::tied(columns, components)),
        }
    }

    fn join(
        self,
        blocks: Blocks,
        name: &str,
        prior: Vec<f64>,
        link: impl Link + 'static,
    ) -> Result<Blocks> {
        match self {
            Self::Nothing => Ok(blocks),
            Self::Full(family) => blocks.join(name, family, prior, link),
            Self::Grouped(family) => blocks.join(name, family, prior, link),
            Self::Columns(family) => blocks.join(name, family, prior, link),
        }
    }
}

/// What the blocks know of the local half.
pub trait Shape: Potential {
    /// How many columns there are.
    fn columns(&self) -> usize;

    /// How many components.
    fn components(&self) -> usize;

    /// How many features a row has.
    fn features(&self) -> usize;

    /// Whether rows have gaps that are integrated out.
    fn has_gaps(&self) -> bool;

    /// How many rows there are, and the upper triangle of the sum of their squares, row by row.
    ///
    /// # Errors
    /// Where rows are in a file that cannot be read.
    fn scatter(&self) -> Result<(f64, Vec<f64>)>;
}

impl Shape for SoftmaxSum {
    fn columns(&self) -> usize {
        self.rows().columns()
    }

    fn components(&self) -> usize {
        self.components()
    }

    fn features(&self) -> usize {
        self.features()
    }

    fn has_gaps(&self) -> bool {
        self.has_gaps()
    }

    fn scatter(&self) -> Result<(f64, Vec<f64>)> {
        Ok((self.total()?, scatter(self)?))
    }
}

/// $C(\tau)$ of a mixture (maths §4.2): a block for the weights, then one for each component, or one for
/// all of them where covariances are tied. `prior` is that of such a block. `all` is how many rows there are where those at
/// hand are a batch of them.
pub(super) fn blocks(
    settings: &Settings,
    parameters: Parameters,
    prior: Vec<f64>,
    (local, all): (&impl Shape, Option<f64>),
) -> Result<Blocks> {
    let (components, columns) = (settings.components, local.columns());
    let features = local.features();
    let concentration = settings.concentration();
    let blocks = Blocks::new(local.dim());
    let blocks = match settings.weights {
        Weights::Dirichlet => {
            let prior = vec![concentration; components];
            let each = 0..components;
            let counts = each.fold(IndexMap::default(), |map, k| map.and(k * features, k, 1.0));
            blocks.join("weights", Dirichlet::new(components), prior, counts)
        }
        Weights::DirichletProcess => {
            let prior = [1.0, concentration].repeat(components);
            let sticks = StickBreaking::new(components);
            let link = StickCounts {
                components,
                features,
            };
            blocks.join("weights", sticks, prior, link)
        }
    }?;
    if columns == 0 {
        return Ok(blocks);
    }
    if settings.covariance == Covariance::Tied {
        // No responsibilities can change the data's total count and scatter, but that of what is missing.
        let (rows, mut scatter) = local.scatter()?;
        let mut total = vec![0.0; prior.len() - scatter.len()];
        total[components] = all.unwrap_or(rows);
        let mut link = tied_components(components, columns);
        if local.has_gaps() {
            let (from, to) = (components * features, total.len());
            let each = 0..scatter.len();
            link = each.fold(link, |map, at| map.and(from + at, to + at, 1.0));
            scatter.fill(0.0);
        }
        total.extend(scatter);
        let blocks = parameters.join(blocks, "prior", prior, link)?;
        return Ok(blocks.with_constant(&total));
    }
    let freedom = match parameters {
        Parameters::Grouped(family) => family.size as f64,
        Parameters::Full(_) | Parameters::Columns(_) | Parameters::Nothing => 1.0,
    };
    (0..components).try_fold(blocks, |blocks, k| {
        let statistics = k * features..(k + 1) * features;
        if let Parameters::Columns(family) = parameters {
            let name = format!("component {}", k + 1);
            return parameters.join(
                blocks,
                &name,
                prior.clone(),
                by_columns(family, k * features),
            );
        }
        let link = OwnComponent {
            statistics,
            freedom,
        };
        let name = format!("component {}", k + 1);
        parameters.join(blocks, &name, prior.clone(), link)
    })
}

impl<L: Shape> Mixture<L> {
    /// The block that component `k` has its parameters in.
    pub(super) fn block(&self, k: usize) -> usize {
        match self.covariance {
            Covariance::Tied => 1,
            _ => 1 + k,
        }
    }

    /// By how much $C$ changes between two statistics that differ in a few `components`.
    pub(super) fn change(&self, from: &[f64], to: &[f64], components: &[usize]) -> Result<f64> {
        let numbers = components.iter().filter(|_| self.columns() > 0);
        let mut blocks: Vec<usize> = numbers.map(|&k| self.block(k)).collect();
        blocks.insert(0, 0);
        let of = |k: usize| (0..self.levels.columns()).map(move |c| self.level_block(k, c));
        blocks.extend(components.iter().flat_map(|&k| of(k)));
        blocks.dedup();
        let mut change = 0.0;
        for (statistics, sign) in [(from, -1.0), (to, 1.0)] {
            for &block in &blocks {
                change += sign * self.blocks.value(block, statistics)?;
            }
        }
        Ok(change)
    }
}

/// Each component's count goes to the sticks.
#[derive(Debug)]
struct StickCounts {
    components: usize,
    features: usize,
}

impl Link for StickCounts {
    fn add(&self, statistics: &[f64], natural: &mut [f64]) {
        let counts = statistics.iter().step_by(self.features);
        let counts: Vec<f64> = counts.take(self.components).copied().collect();
        StickBreaking::add_counts(&counts, natural);
    }

    fn pull_back(&self, mean: &[f64], out: &mut [f64]) {
        let mut per_count = vec![0.0; self.components];
        StickBreaking::pull_back(mean, &mut per_count);
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

/// A component's statistics (which numbers are there, those, squares) go to the natural parameters of each column
/// (maths §4.7): its count feeds the weights alone.
fn by_columns(family: NormalGammaColumns, first: usize) -> IndexMap {
    let (columns, groups) = (family.dimensions(), family.groups);
    let map = (0..columns).fold(IndexMap::default(), |map, d| {
        let (there, sum) = (first + 1 + d, first + 1 + columns + d);
        map.and(there, d, 1.0)
            .and(there, columns + d / family.size, 1.0)
            .and(sum, columns + groups + d, 1.0)
    });
    let (squares, last) = (first + 1 + 2 * columns, 2 * columns + groups);
    (0..groups).fold(map, |map, g| map.and(squares + g, last + g, 1.0))
}

/// Every component's count and sums go to one block. The degrees of freedom count every datum once,
/// whatever its component, so they are data here and send no message (maths §4.2).
fn tied_components(components: usize, columns: usize) -> IndexMap {
    (0..components).fold(IndexMap::default(), |map, k| {
        let (count, sums) = (k * (1 + columns), components + 1 + k * columns);
        (0..columns).fold(map.and(count, k, 1.0), |map, d| {
            map.and(count + 1 + d, sums + d, 1.0)
        })
    })
}

/// The upper triangle of the sum of w y y', row by row.
fn scatter(local: &SoftmaxSum) -> Result<Vec<f64>> {
    let columns = local.rows().columns();
    let mut packed = vec![0.0; columns * (columns + 1) / 2];
    local.each(0..local.rows().len(), |block| {
        let column = |i: usize| &block.values[i * block.width..(i + 1) * block.width];
        for (cell, (i, j)) in packed.iter_mut().zip(pairs(columns)) {
            *cell += match block.weights {
                None => dot(column(i), column(j)),
                Some(weights) => {
                    let both = column(i).iter().zip(column(j)).zip(weights);
                    both.map(|((a, b), weight)| weight * a * b).sum()
                }
            };
        }
        Ok(())
    })?;
    Ok(packed)
}

/// Pairs of columns, each once, as full squares have them.
pub(super) fn pairs(columns: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..columns).flat_map(move |i| (i..columns).map(move |j| (i, j)))
}
