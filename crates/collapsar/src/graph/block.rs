//! Decides what a block is: a family, and where products of atoms stand among its statistics.

use std::ops::Range;

use super::{Atom, Graph, Kind, Told};
use collapsar_core::family::{
    Categorical, Dirichlet, Gamma, Gaussian, GaussianCache, GaussianGamma, GaussianValues, Network,
    NormalWishart, PolyaGamma, Positive, Tail, TruncatedNormal,
};
use collapsar_core::{Potential, Result};

/// Variables with one joint factor of q.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) family: BlockFamily,
    /// Sorted, but for the precision of a Gaussian-gamma block, which is last.
    pub(super) variables: Vec<u32>,
    /// Declarations that the variables belong to, sorted: what makes blocks alike.
    pub(super) declarations: Vec<u32>,
    /// The units of each variable's numbers; empty where all are one.
    pub(super) units: Vec<Vec<f64>>,
}

/// The family of a block.
#[derive(Debug)]
pub(super) enum BlockFamily {
    Gaussian(Gaussian),
    GaussianGamma(GaussianGamma),
    Bounded(TruncatedNormal),
    Gamma(Gamma),
    /// With the scale in which its number is told.
    Positive(Positive, Told),
    PolyaGamma(PolyaGamma),
    Wishart(NormalWishart),
    NormalWishart(NormalWishart),
    Dirichlet(Dirichlet),
    Label(Categorical),
    /// With the variables of each table, sorted, and the number of the table.
    Network(Box<Network>, Vec<(Vec<u32>, usize)>),
}

impl BlockFamily {
    /// That of a variable by itself.
    pub(super) fn single(kind: Kind, variable: u32, graph: &Graph) -> Result<Self> {
        let everywhere = (f64::NEG_INFINITY, f64::INFINITY);
        let (lower, upper) = *graph.bounds.get(&variable).unwrap_or(&everywhere);
        Ok(match kind {
            Kind::Gaussian => Self::Gaussian(Gaussian::new(1, &[])),
            Kind::Bounded => Self::Bounded(TruncatedNormal::new(lower, upper)?),
            Kind::Gamma => Self::Gamma(Gamma),
            Kind::Positive { inverse, square } => {
                let mut family = Positive::new(lower.max(0.0), upper)?;
                if inverse {
                    family = family.with_inverse();
                }
                if square {
                    family = family.with_square();
                }
                if let Some(&tail) = graph.tails.get(&variable) {
                    family = family.with_tail(tail)?;
                }
                Self::Positive(family, graph.told(variable))
            }
            Kind::PolyaGamma => {
                let shape = graph.shapes.get(&variable).copied().unwrap_or(1.0);
                Self::PolyaGamma(PolyaGamma::new(shape)?)
            }
            Kind::Wishart(dim) => Self::Wishart(NormalWishart::wishart(dim)),
            Kind::NormalWishart(dim) => Self::NormalWishart(NormalWishart::new(dim)),
            Kind::Dirichlet(parts) => Self::Dirichlet(Dirichlet::new(parts)),
            Kind::Label(states) => Self::Label(Categorical::new(states)),
        })
    }
}

impl Block {
    pub(super) fn potential(&self) -> &dyn Potential {
        match &self.family {
            BlockFamily::Gaussian(family) => family,
            BlockFamily::GaussianGamma(family) => family,
            BlockFamily::Bounded(family) => family,
            BlockFamily::Gamma(family) => family,
            BlockFamily::Positive(family, _) => family,
            BlockFamily::PolyaGamma(family) => family,
            BlockFamily::Wishart(family) | BlockFamily::NormalWishart(family) => family,
            BlockFamily::Dirichlet(family) => family,
            BlockFamily::Label(family) => family,
            BlockFamily::Network(family, _) => family.as_ref(),
        }
    }

    /// How many labels it holds.
    pub(super) fn labels(&self) -> usize {
        match &self.family {
            BlockFamily::Label(_) | BlockFamily::Network(..) => self.variables.len(),
            _ => 0,
        }
    }

    /// Entries that a network of labels goes through in each pass.
    pub(super) fn entries(&self) -> usize {
        match &self.family {
            BlockFamily::Network(family, _) => family.entries(),
            _ => 0,
        }
    }

    /// About how many numbers an evaluation could go through in the time that this family takes by itself: integrals that are
    /// summed by quadrature take microseconds, however few statistics there are.
    pub(super) fn own_cost(&self) -> usize {
        match &self.family {
            BlockFamily::Positive(..) => 10_000,
            BlockFamily::Bounded(_) | BlockFamily::PolyaGamma(_) => 500,
            _ => 100,
        }
    }

    /// Number of statistics.
    pub(super) fn len(&self) -> usize {
        self.potential().dim()
    }

    /// What the family is called.
    pub(super) fn family_name(&self) -> String {
        match &self.family {
            BlockFamily::Gaussian(_) if self.variables.len() == 1 => "normal".into(),
            BlockFamily::Gaussian(_) => {
                format!("normal, {} together", self.variables.len())
            }
            BlockFamily::GaussianGamma(_) => "normal-gamma".into(),
            BlockFamily::Bounded(_) => "truncated normal".into(),
            BlockFamily::Gamma(_) => "gamma".into(),
            BlockFamily::Positive(family, _) => positive_name(family),
            BlockFamily::PolyaGamma(_) => "Pólya-Gamma".into(),
            BlockFamily::Wishart(_) => "Wishart".into(),
            BlockFamily::NormalWishart(_) => "normal-Wishart".into(),
            BlockFamily::Dirichlet(family) if family.dim == 2 => "beta".into(),
            BlockFamily::Dirichlet(_) => "Dirichlet".into(),
            BlockFamily::Label(_) => "categorical".into(),
            BlockFamily::Network(..) => {
                format!("discrete, {} together", self.variables.len())
            }
        }
    }

    /// Natural parameters of no terms at all: what makes a density without a prior of 1.
    pub(super) fn base(&self, natural: &mut [f64]) {
        natural.fill(0.0);
        match &self.family {
            BlockFamily::Gamma(_) | BlockFamily::GaussianGamma(_) | BlockFamily::Positive(..) => {
                natural[0] = 1.0;
            }
            BlockFamily::Dirichlet(_) => natural.fill(1.0),
            // |Λ|^{(ν - D - 1) / 2}
            BlockFamily::Wishart(family) => natural[0] = family.dimensions() as f64 + 1.0,
            // |Λ|^{1/2} of the mean beside it.
            BlockFamily::NormalWishart(family) => natural[1] = family.dimensions() as f64,
            BlockFamily::Gaussian(_)
            | BlockFamily::Bounded(_)
            | BlockFamily::PolyaGamma(_)
            | BlockFamily::Label(_)
            | BlockFamily::Network(..) => {}
        }
    }

    /// Natural parameters in the units of the variables, from those where all units are one.
    pub(super) fn in_units(&self, natural: &mut [f64]) {
        if self.units.is_empty() {
            return;
        }
        let unit = |variable: usize| self.units[variable].first().copied().unwrap_or(1.0);
        let matrix = |natural: &mut [f64], dim: usize| {
            let units = &self.units[0];
            let root = |element: usize| units.get(element).map_or(1.0, |unit| unit.sqrt());
            let upper = (0..dim).flat_map(|row| (row..dim).map(move |column| (row, column)));
            for (natural, (row, column)) in natural.iter_mut().zip(upper) {
                *natural /= root(row) * root(column);
            }
        };
        let field = |natural: &mut [f64], n: usize, of: &dyn Fn(usize) -> f64| {
            for variable in 0..n {
                natural[variable] /= of(variable);
                natural[n + variable] /= of(variable) * of(variable);
            }
        };
        match &self.family {
            BlockFamily::Gaussian(family) => field(natural, family.scalars(), &unit),
            BlockFamily::Bounded(_) => field(natural, 1, &unit),
            BlockFamily::GaussianGamma(family) => {
                // Field and precision together: in units of the precision a field has none.
                let n = family.field.scalars();
                let precision = unit(n);
                natural[1] /= precision;
                field(&mut natural[2..], n, &|variable| {
                    unit(variable) * precision.sqrt()
                });
                for variable in 0..n {
                    natural[2 + variable] /= precision.sqrt();
                }
            }
            BlockFamily::Gamma(_) => natural[1] /= unit(0),
            BlockFamily::Positive(..) => {
                natural[1] /= unit(0);
                natural[2] *= unit(0);
            }
            BlockFamily::Wishart(family) => matrix(&mut natural[1..], family.dimensions()),
            BlockFamily::NormalWishart(family) => {
                let dim = family.dimensions();
                matrix(&mut natural[2 + dim..], dim);
            }
            BlockFamily::PolyaGamma(_)
            | BlockFamily::Dirichlet(_)
            | BlockFamily::Label(_)
            | BlockFamily::Network(..) => {}
        }
    }

    /// The statistic that a product of the block's atoms, sorted, is a multiple of, and the factor.
    pub(super) fn statistic(&self, atoms: &[Atom]) -> Option<(usize, f64)> {
        match &self.family {
            BlockFamily::Gaussian(family) => {
                self.gaussian_statistic(family.pairs(), family.scalars(), atoms)
            }
            BlockFamily::GaussianGamma(family) => {
                let precision = *self.variables.last()?;
                let place = atoms.iter().position(|atom| atom.variable == precision)?;
                let mut rest = atoms.to_vec();
                let atom = rest.remove(place);
                match (atom.part, rest.is_empty()) {
                    (0, true) => Some((0, 1.0)),
                    (1, true) => Some((1, -1.0)),
                    (1, false) => self
                        .gaussian_statistic(family.field.pairs(), family.field.scalars(), &rest)
                        .map(|(statistic, factor)| (statistic + 2, factor)),
                    _ => None,
                }
            }
            BlockFamily::Bounded(_) => self.gaussian_statistic(&[], 1, atoms),
            BlockFamily::Network(family, scopes) => {
                let variables = || atoms.iter().map(|atom| atom.variable);
                let place = scopes
                    .binary_search_by(|(scope, _)| scope.iter().copied().cmp(variables()))
                    .ok()?;
                let table = scopes[place].1;
                let labels = atoms.iter().zip(&family.tables()[table].scope);
                let entry = labels.fold(0, |entry, (atom, &label)| {
                    entry * family.states()[label as usize] + atom.part as usize
                });
                Some((family.parameters(table).start + entry, 1.0))
            }
            family => {
                let [atom] = atoms else { return None };
                let part = atom.part as usize;
                let factor = match family {
                    BlockFamily::Gamma(_) => [1.0, -1.0][part],
                    BlockFamily::Positive(..) => [1.0, -1.0, -1.0, -2.0][part],
                    BlockFamily::PolyaGamma(_) => -1.0,
                    BlockFamily::Wishart(family) => match part {
                        0 => 2.0,
                        _ => entry_factor(part - 1, family.dimensions()),
                    },
                    BlockFamily::NormalWishart(family) => {
                        let dim = family.dimensions();
                        match part {
                            0 => -2.0,
                            1 => 2.0,
                            _ if part < 2 + dim => 1.0,
                            _ => entry_factor(part - 2 - dim, dim),
                        }
                    }
                    _ => 1.0,
                };
                Some((part, factor))
            }
        }
    }

    fn gaussian_statistic(
        &self,
        pairs: &[(u32, u32)],
        n: usize,
        atoms: &[Atom],
    ) -> Option<(usize, f64)> {
        let place = |atom: &Atom| self.variables[..n].binary_search(&atom.variable).ok();
        match atoms {
            [one] => Some((place(one)?, 1.0)),
            [a, b] if a == b => Some((n + place(a)?, -2.0)),
            [a, b] => {
                let pair = (place(a)? as u32, place(b)? as u32);
                let pair = pairs.binary_search(&pair).ok()?;
                Some((2 * n + pair, -1.0))
            }
            _ => None,
        }
    }

    /// The natural parameters that must be positive, where that is all that the domain asks for.
    pub(super) fn positive(&self) -> Option<Range<usize>> {
        match &self.family {
            BlockFamily::Gamma(_) | BlockFamily::Dirichlet(_) => Some(0..self.len()),
            BlockFamily::Gaussian(family) if family.scalars() == 1 => Some(1..2),
            // Any logits will do.
            BlockFamily::Label(_) | BlockFamily::Network(..) => Some(0..0),
            _ => None,
        }
    }

    /// Value, and the mean of the statistics.
    pub(super) fn evaluate(&self, natural: &[f64], mean: &mut [f64]) -> Result<f64> {
        self.potential().value_and_gradient(natural, mean)
    }
}

/// What a positive number is called, by the statistics that it has and its bounds.
fn positive_name(family: &Positive) -> String {
    let name = match (family.has_inverse(), family.has_square()) {
        (false, false) => "gamma",
        (true, false) => "generalised inverse Gaussian",
        (false, true) => "gamma with a log-normal factor",
        (true, true) => "generalised inverse Gaussian with a log-normal factor",
    };
    let name = match (family.tail(), name) {
        (Tail::None, name) => name.to_owned(),
        (Tail::Exponential { .. }, name) => format!("{name} with an exponential tail"),
        (Tail::Student { .. }, name) => format!("{name} with a Student tail"),
    };
    match family.bounds() {
        (0.0, f64::INFINITY) => name,
        _ => format!("{name} between bounds"),
    }
}

/// A block with the place of its first natural parameter among those of its role.
pub(super) type Placed = (Block, usize);

/// The places of a block's natural parameters.
pub(super) fn range_of((block, first): &Placed) -> Range<usize> {
    *first..first + block.len()
}

/// The sum of the values of blocks; writes the means of their statistics.
pub(super) fn evaluate_all(blocks: &[Placed], naturals: &[f64], means: &mut [f64]) -> Result<f64> {
    let mut value = 0.0;
    let mut last = GaussianCache::default();
    for placed in blocks {
        let range = range_of(placed);
        let (natural, mean) = (&naturals[range.clone()], &mut means[range]);
        value += match &placed.0.family {
            BlockFamily::Gaussian(family) => family.evaluate_after(&mut last, natural, mean)?,
            _ => placed.0.evaluate(natural, mean)?,
        };
    }
    Ok(value)
}

/// The sum of the values of blocks alone.
pub(super) fn value_all(blocks: &[Placed], naturals: &[f64]) -> Result<f64> {
    let mut value = 0.0;
    let mut gaussian = GaussianValues::default();
    for placed in blocks {
        let natural = &naturals[range_of(placed)];
        value += match &placed.0.family {
            BlockFamily::Gaussian(family) => gaussian.value(family, natural)?,
            _ => placed.0.potential().value(natural)?,
        };
    }
    Ok(value)
}

/// Whether the natural parameters of these blocks are all inside their domains.
pub(super) fn are_inside<'a>(
    blocks: impl IntoIterator<Item = &'a Placed>,
    naturals: &'a [f64],
) -> bool {
    let mut gaussian = GaussianValues::default();
    blocks.into_iter().all(|placed| {
        let natural = &naturals[range_of(placed)];
        match &placed.0.family {
            BlockFamily::Gaussian(family) => gaussian.contains(family, natural),
            _ => placed.0.potential().contains(natural),
        }
    })
}

/// Writes each block's Hessian times `along`.
pub(super) fn hessian_products(
    blocks: &[Placed],
    naturals: &[f64],
    along: &[f64],
    out: &mut [f64],
) -> Result<()> {
    for placed in blocks {
        let range = range_of(placed);
        let (natural, along) = (&naturals[range.clone()], &along[range.clone()]);
        let potential = placed.0.potential();
        potential.hessian_product(natural, along, &mut out[range])?;
    }
    Ok(())
}

/// Lets `fill` write the numbers of each block.
pub(super) fn fill_all(
    blocks: &[Placed],
    out: &mut [f64],
    mut fill: impl FnMut(&Block, &mut [f64]),
) {
    for placed in blocks {
        fill(&placed.0, &mut out[range_of(placed)]);
    }
}

/// The blocks with their natural parameters.
pub(super) fn with_naturals<'a>(
    blocks: &'a [Placed],
    naturals: &[f64],
) -> Vec<(&'a Block, Vec<f64>)> {
    (blocks.iter())
        .map(|placed| (&placed.0, naturals[range_of(placed)].to_vec()))
        .collect()
}

/// The places of the diagonal in a packed upper triangle.
pub(super) fn diagonal(dim: usize) -> impl Iterator<Item = usize> {
    (0..dim).map(move |row| row * (2 * dim + 1 - row) / 2)
}

/// −2 on the diagonal of a packed upper triangle and −1 off it.
fn entry_factor(place: usize, dim: usize) -> f64 {
    if diagonal(dim).any(|other| other == place) {
        -2.0
    } else {
        -1.0
    }
}
