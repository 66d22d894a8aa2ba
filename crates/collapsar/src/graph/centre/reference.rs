//! Where the variables of a model are, roughly: a few rounds of mean field that survive the loss of digits.

use super::super::block::{Block, BlockFamily, diagonal};
use super::super::blocks::{ALONE, Blocks};
use super::super::terms::Starts;
use super::super::{Atom, Graph, Kind};
use collapsar_core::Result;
use collapsar_core::family::Gaussian;
use std::collections::BTreeSet;

/// Rounds of updates: places follow in one or two, precisions of effects in some more.
const ROUNDS: usize = 6;
/// Relative to the sum of their terms, what is added to precisions and rates before they are used: more than
/// the rounding of such a sum, so that what cancels is not taken for something.
const FLOOR: f64 = 1e-14;
/// What does not work then is tried with a hundred times as much, so often.
const TRIES: i32 = 6;

/// One term: a coefficient and, in each block that it holds, a statistic.
#[derive(Debug, Default)]
struct Products {
    starts: Starts,
    coefficients: Vec<f64>,
    /// Block, statistic, and what the statistic is to be multiplied by.
    parts: Vec<(u32, u32, f64)>,
}

/// Natural parameters of all blocks, after a few rounds.
#[derive(Debug)]
pub(super) struct Reference {
    blocks: Blocks,
    naturals: Vec<Vec<f64>>,
    means: Vec<Vec<f64>>,
    /// The terms that each block is in.
    of_block: Vec<Vec<u32>>,
    products: Products,
}

/// A Gaussian block: its variables, means and precision matrix.
#[derive(Debug)]
pub(super) struct Field<'a> {
    pub(super) family: &'a Gaussian,
    pub(super) variables: &'a [u32],
    pub(super) pairs: &'a [(u32, u32)],
    pub(super) means: Vec<f64>,
    pub(super) precisions: Vec<f64>,
    pub(super) couplings: Vec<f64>,
}

impl Reference {
    pub(super) fn new(graph: &Graph) -> Result<Self> {
        let blocks = Blocks::new(graph)?;
        let count = blocks.blocks.len();
        let mut reference = Self {
            naturals: vec![vec![]; count],
            means: blocks.blocks.iter().map(beginning).collect(),
            of_block: vec![vec![]; count],
            products: Products::default(),
            blocks,
        };
        for (atoms, coefficient, _) in graph.terms.each() {
            reference.add(atoms, coefficient);
        }
        for rows in &graph.rows {
            let real = |atom: &Atom| {
                let kind = graph.kind(atom.variable);
                matches!(kind, Kind::Gaussian | Kind::NormalWishart(_))
            };
            if rows
                .products
                .each()
                .any(|(atoms, ..)| atoms.iter().any(real))
            {
                for (product, coefficient) in rows.mean_coefficients().into_iter().enumerate() {
                    reference.add(rows.products.atoms(product), coefficient);
                }
            }
        }
        for _ in 0..ROUNDS {
            for block in 0..count {
                reference.update(block);
            }
        }
        Ok(reference)
    }

    /// Keeps a term, unless it is of labels and proportions only.
    fn add(&mut self, atoms: &[Atom], coefficient: f64) {
        let holding = |atom: &Atom| self.blocks.holding(*atom);
        let moves = |atom: &Atom| {
            let block = holding(atom) as usize;
            self.blocks.blocks.get(block).is_some_and(updated)
        };
        let whole = atoms.iter().all(|atom| holding(atom) != ALONE);
        if !coefficient.is_finite() || coefficient == 0.0 || !whole || !atoms.iter().any(moves) {
            return;
        }
        let (mut own, mut rest) = (vec![], atoms.to_vec());
        let first = self.products.parts.len();
        while let Some(&atom) = rest.first() {
            let block = self.blocks.holding(atom);
            let all = std::mem::take(&mut rest);
            self.blocks.split(&all, block, &mut own, &mut rest);
            let Some((place, factor)) = self.blocks.blocks[block as usize].statistic(&own) else {
                self.products.parts.truncate(first);
                return;
            };
            self.products.parts.push((block, place as u32, factor));
        }
        let term = self.products.coefficients.len() as u32;
        for &(block, ..) in &self.products.parts[first..] {
            self.of_block[block as usize].push(term);
        }
        self.products.coefficients.push(coefficient);
        self.products.starts.end(self.products.parts.len());
    }

    /// Natural parameters given the means of all other blocks' statistics, and the mean of the block's.
    fn update(&mut self, index: usize) {
        let block = &self.blocks.blocks[index];
        if !updated(block) {
            return;
        }
        let mut natural = vec![0.0; block.len()];
        block.base(&mut natural);
        let mut sizes: Vec<f64> = natural.iter().map(|n| n.abs()).collect();
        for &term in &self.of_block[index] {
            let parts = &self.products.parts[self.products.starts.range(term as usize)];
            let mut product = self.products.coefficients[term as usize];
            let mut target = 0;
            for &(other, statistic, factor) in parts {
                product *= factor;
                if other as usize == index {
                    target = statistic as usize;
                } else {
                    product *= self.means[other as usize][statistic as usize];
                }
            }
            natural[target] += product;
            sizes[target] += product.abs();
        }
        let supports = supports(block);
        let mut mean = vec![0.0; natural.len()];
        for attempt in 0..TRIES {
            let more = if attempt == 0 {
                FLOOR
            } else {
                FLOOR * 99.0 * 100_f64.powi(attempt - 1)
            };
            for &place in &supports {
                natural[place] += more * sizes[place];
            }
            let inside = block.evaluate(&natural, &mut mean);
            if inside.is_ok_and(f64::is_finite) && mean.iter().all(|mean| mean.is_finite()) {
                self.means[index] = mean;
                break;
            }
        }
        self.naturals[index] = natural;
    }

    /// The Gaussian blocks; one that is joint with its precision as it is where that is as expected.
    pub(super) fn fields(&self) -> impl Iterator<Item = Field<'_>> {
        let blocks = self.blocks.blocks.iter().enumerate();
        blocks.filter_map(|(index, block)| {
            let (natural, means) = (&self.naturals[index], &self.means[index]);
            let (family, first, times) = match &block.family {
                BlockFamily::Gaussian(family) => (family, 0, 1.0),
                BlockFamily::GaussianGamma(family) => (&family.field, 2, -means[1]),
                _ => return None,
            };
            let n = family.scalars();
            // E[τx] over E[τ].
            let means = means[first..first + n].iter().map(|mean| mean / times);
            let precisions = natural[first + n..first + 2 * n].iter();
            let couplings = natural[first + 2 * n..].iter();
            Some(Field {
                family,
                variables: &block.variables[..n],
                pairs: family.pairs(),
                means: means.collect(),
                precisions: precisions.map(|precision| precision * times).collect(),
                couplings: couplings.map(|coupling| coupling * times).collect(),
            })
        })
    }

    /// About how many numbers tell of each variable, as far as their precision is not known: a deviation is
    /// that of one of them.
    pub(super) fn counts(&self, graph: &Graph, slopes: &BTreeSet<u32>) -> Vec<f64> {
        let mut counts = vec![0.0; graph.variables() as usize];
        let mut own = vec![0.0; graph.variables() as usize];
        let rows = graph.rows.iter().flat_map(|rows| {
            let coefficients = rows.mean_coefficients();
            let atoms = (0..coefficients.len()).map(|product| rows.products.atoms(product));
            atoms.zip(coefficients)
        });
        let terms = graph.terms.each().map(|(atoms, c, _)| (atoms, c));
        for (atoms, coefficient) in terms.chain(rows) {
            let gammas = atoms.iter().filter(|atom| atom.part == 1);
            let shape = gammas
                .filter(|atom| {
                    matches!(
                        graph.kind(atom.variable),
                        Kind::Gamma | Kind::Positive { .. }
                    )
                })
                .map(|atom| self.naturals[self.blocks.holding(*atom) as usize][0])
                .fold(0.0, f64::max);
            let gaussian = |atom: &&Atom| graph.kind(atom.variable) == Kind::Gaussian;
            let normals: Vec<u32> = (atoms.iter().filter(gaussian))
                .map(|a| a.variable)
                .collect();
            if shape > 0.0
                && let [a, b] = normals[..]
                && a == b
            {
                let label = |atom: &&Atom| matches!(graph.kind(atom.variable), Kind::Label(_));
                let states = atoms
                    .iter()
                    .filter(label)
                    .map(|atom| graph.kind(atom.variable).atoms() as f64);
                own[a as usize] += 2.0 * coefficient.abs() / states.product::<f64>();
                counts[a as usize] = f64::max(counts[a as usize], 2.0 * shape);
            }
        }
        for (variable, (count, own)) in (0..).zip(counts.iter_mut().zip(own)) {
            if !slopes.contains(&variable) {
                *count = count.min(own);
            }
        }
        counts
    }

    /// Means that are joint with their precision matrix: for each element where it is, and the deviation of
    /// one number.
    pub(super) fn joint_means(&self) -> impl Iterator<Item = (u32, Vec<(f64, f64)>)> {
        let blocks = self.blocks.blocks.iter().zip(&self.naturals);
        blocks.filter_map(|(block, natural)| {
            let BlockFamily::NormalWishart(family) = &block.family else {
                return None;
            };
            let dim = family.dimensions();
            let (kappa, freedom) = (natural[0], natural[1].max(1.0));
            let elements = diagonal(dim).enumerate().map(|(element, place)| {
                let square = natural[2 + dim + place];
                let mean = natural[2 + element] / kappa;
                let left = (square - kappa * mean * mean).max(FLOOR * square);
                (mean, (left / freedom).sqrt())
            });
            Some((block.variables[0], elements.collect()))
        })
    }

    /// What precisions are about: of each gamma variable, and of the diagonal of each matrix.
    pub(super) fn precisions(&self) -> Vec<((u32, u32), f64)> {
        let mut out = vec![];
        for (index, block) in self.blocks.blocks.iter().enumerate() {
            let (natural, means) = (&self.naturals[index], &self.means[index]);
            match &block.family {
                BlockFamily::Gamma(_) | BlockFamily::Positive(..) => {
                    out.push(((block.variables[0], 0), -means[1]));
                }
                BlockFamily::GaussianGamma(family) => {
                    out.push(((block.variables[family.field.scalars()], 0), -means[1]));
                }
                BlockFamily::Wishart(family) => {
                    for (element, place) in (0..).zip(diagonal(family.dimensions())) {
                        let found = natural[0] / natural[1 + place];
                        out.push(((block.variables[0], element), found));
                    }
                }
                _ => {}
            }
        }
        for (variable, elements) in self.joint_means() {
            for (element, (_, unit)) in (0..).zip(elements) {
                out.push(((variable, element), unit.powi(-2)));
            }
        }
        out
    }
}

/// Whether a block is looked at: labels stay where all states are alike.
fn updated(block: &Block) -> bool {
    !matches!(
        block.family,
        BlockFamily::Dirichlet(_) | BlockFamily::Label(_) | BlockFamily::Network(..)
    )
}

/// The natural parameters that must be large enough: precisions and rates.
fn supports(block: &Block) -> Vec<usize> {
    match &block.family {
        BlockFamily::Gaussian(family) => (family.scalars()..2 * family.scalars()).collect(),
        BlockFamily::GaussianGamma(family) => {
            let n = family.field.scalars();
            std::iter::once(1).chain(2 + n..2 + 2 * n).collect()
        }
        BlockFamily::Bounded(_) | BlockFamily::Gamma(_) | BlockFamily::Positive(..) => vec![1],
        BlockFamily::Wishart(family) => diagonal(family.dimensions())
            .map(|place| 1 + place)
            .collect(),
        BlockFamily::NormalWishart(family) => {
            let dim = family.dimensions();
            diagonal(dim).map(|place| 2 + dim + place).collect()
        }
        _ => vec![],
    }
}

/// Means of statistics before the first round: real variables at zero, precisions at one, labels anywhere.
fn beginning(block: &Block) -> Vec<f64> {
    let mut means = vec![0.0; block.len()];
    match &block.family {
        BlockFamily::Gamma(_) | BlockFamily::GaussianGamma(_) => means[1] = -1.0,
        BlockFamily::Positive(..) => means[1..3].fill(-1.0),
        // That of a predictor near zero.
        BlockFamily::PolyaGamma(family) => means[0] = -0.25 * family.shape(),
        BlockFamily::Wishart(_) | BlockFamily::NormalWishart(_) => {
            for place in supports(block) {
                means[place] = -0.5;
            }
        }
        BlockFamily::Label(family) => means.fill(1.0 / family.components as f64),
        BlockFamily::Network(family, _) => {
            for table in 0..family.tables().len() {
                let range = family.parameters(table);
                let states = range.len() as f64;
                means[range].fill(1.0 / states);
            }
        }
        BlockFamily::Gaussian(_) | BlockFamily::Bounded(_) | BlockFamily::Dirichlet(_) => {}
    }
    means
}
