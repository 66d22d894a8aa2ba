//! Decides what any conjugate-exponential model is to the engine: variables and additive terms.
//!
//! A model is the sum of its log joint's terms, each a coefficient times statistics of variables
//! (maths §9.1). From the terms alone follow the blocks that are kept joint, which of them meet,
//! what may be collapsed, and the two log-partition functions of a [`crate::Collapsed`] model.
//!
//! - `terms`: how a log joint is kept: as a sum of products of statistics, like terms together
//! - `begin`: where a climb begins that is given values of variables
//! - `blocks`: which variables have one joint factor of q
//! - `block`: what a block is: a family, and where products of atoms stand among its statistics
//! - `centre`: where numbers should be counted from, so that no digits are lost
//! - `chain`: how a Markov chain of exact draws moves
//! - `choice`: which classes of blocks are collapsed, and why
//! - `compiled`: a graph made ready to climb
//! - `coordinates`: in which coordinates a block has no bounds
//! - `corrected`: draws with the covariance of linear response
//! - `bridged`: the evidence from chains and a proposal that is fitted to them
//! - `draw`: how a block is drawn, and what others see of a draw
//! - `exponential`: exponentials of linear predictors beside products of statistics
//! - `exponents`: what they are expected to be, as functions of means
//! - `exchange`: whether the states of labels may be exchanged
//! - `given`: a graph where the states of some labels are known
//! - `growth`: by what factor uncertain precisions widen normal variables
//! - `joint`: the log joint at given numbers
//! - `kept`: which blocks a joint density is kept of, the rest being summed out
//! - `layout`: which messages there are, and where each term of the log joint goes
//! - `local`: the sum over explicit blocks
//! - `lone`: which labels most of a model meets
//! - `nested`: how a proposal follows uncertain precisions
//! - `orders`: what coordinates become where states are exchanged
//! - `posterior`: the collapsed blocks and the terms between explicit ones
//! - `proposal`: from what draws are proposed that are weighed against the joint
//! - `response`: how the posterior answers to small changes of the model
//! - `sensitivity`: how the mean of a number answers to natural parameters
//! - `rows`: how labels that know of no other label are kept: as rows, all at once
//! - `kernel`: the sum over rows
//! - `short`: where a short chain goes from the fit
//! - `seeds`: starts that look at the data
//! - `start`: where a climb begins
//! - `student`: a t distribution, of which proposals are made
//! - `symmetry`: which labels have states that could as well be called otherwise

//! - `sweeps`: where labels that are approximated one by one begin
//! - `told`: in which scale a positive number is told
//! - `turn`: how the basis of a space of factors is turned while a climb goes on
//! - `variational`: the posterior of each variable at the end of a fit
//! - `working`: where Gaussians of log-linear predictors begin
//! - `weights`: what draws are worth against the posterior

mod begin;
mod block;
mod blocks;
mod bridged;
mod centre;
mod chain;
mod choice;
mod compiled;
mod coordinates;
mod corrected;
mod draw;
mod exchange;
mod exponential;
mod exponents;
mod given;
mod growth;
mod joint;
mod kept;
mod kernel;
mod layout;
mod local;
mod lone;
mod nested;
mod orders;
mod posterior;
mod proposal;
mod response;
mod rows;
mod seeds;
mod sensitivity;
mod short;
mod start;
mod student;
mod symmetry;

mod sweeps;
mod terms;
mod told;
mod turn;
mod variational;
mod weights;
mod working;

use std::collections::BTreeMap;
use std::ops::Range;

use collapsar_core::family::Tail;
use collapsar_core::{Error, Factor, Place, Result};
use exponential::Exponentials;
use terms::Terms;

pub use begin::GivenNumbers;
pub use centre::{Centring, Moved};
pub use chain::{Chain, LeapingChain, Relabelling, Stage, SwitchingChain};
pub use choice::{Choice, Class, Conflict, Demands, Role};
pub use compiled::Compiled;
pub use corrected::CorrectedDraws;
pub use exchange::Exchange;
pub use exponential::Predictor;
pub use kept::Kept;
pub use local::Local;
pub use lone::LoneLabels;
pub use orders::Orders;
pub use posterior::Posterior;
pub use proposal::Proposal;
pub use response::LinearResponse;
pub use rows::{RowPart, Rows, Sums};
pub use short::ShortChain;
pub use symmetry::Symmetry;
pub use told::Told;
pub use variational::{PosteriorMarginal, PosteriorMarginals, VariationalPosterior};
pub use weights::{Origins, WeightedDraws, WeightedWalk};

/// What a variable is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A real number whose terms are linear or quadratic in it; its one atom is its value.
    Gaussian,
    /// The same between bounds, infinite ones unless [`Graph::bound`] says otherwise.
    Bounded,
    /// A positive number; its atoms are its logarithm and itself.
    Gamma,
    /// A positive number between bounds, 0 and infinity unless [`Graph::bound`] says otherwise; its atoms are its
    /// logarithm, itself, its inverse and the square of its logarithm, of which the last two are there where they are
    /// asked for.
    Positive {
        /// Whether terms hold its inverse.
        inverse: bool,
        /// Whether terms hold the square of its logarithm.
        square: bool,
    },
    /// A Pólya-Gamma variable, of shape 1 unless [`Graph::shape`] says otherwise, whose density is part of the log joint
    /// without a term; its one atom is its value.
    PolyaGamma,
    /// A positive definite matrix of this size; its atoms are the logarithm of its determinant
    /// and the entries of the upper triangle, row by row.
    Wishart(usize),
    /// A vector and the matrix that its precision is proportional to. With vector m and matrix L
    /// its atoms are m'Lm, ln|L|, the elements of Lm and the entries of L's upper triangle.
    NormalWishart(usize),
    /// Proportions of a whole; its atoms are their logarithms.
    Dirichlet(usize),
    /// One of so many states, whose atoms are one where it is the state and zero elsewhere.
    Label(usize),
}

impl Kind {
    /// How many atoms it has.
    pub fn atoms(self) -> usize {
        match self {
            Self::Gaussian | Self::Bounded | Self::PolyaGamma => 1,
            Self::Gamma => 2,
            Self::Positive { .. } => 4,
            Self::Wishart(dim) => 1 + dim * (dim + 1) / 2,
            Self::NormalWishart(dim) => 2 + dim + dim * (dim + 1) / 2,
            Self::Dirichlet(parts) => parts,
            Self::Label(states) => states,
        }
    }
}

/// A statistic of one variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Atom {
    /// The variable.
    pub variable: u32,
    /// Which of its atoms, as [`Kind`] lists them.
    pub part: u32,
}

/// Variables of one kind that were declared together.
#[derive(Debug, Clone, PartialEq)]
pub struct Declared {
    /// The arrays that they are of: several where each is joint, such as a mean and its precision matrix.
    pub names: Vec<String>,
    /// What each of them is.
    pub kind: Kind,
    /// The first of them.
    pub first: u32,
    /// How many they are.
    pub count: u32,
}

impl Declared {
    /// What they are called together.
    pub fn name(&self) -> String {
        self.names.join(", ")
    }

    /// Their numbers.
    pub fn variables(&self) -> Range<u32> {
        self.first..self.first + self.count
    }
}

/// A model as variables and terms; also the builder for programs that make models.
///
/// # Examples
/// Numbers with an unknown mean and an unknown precision:
/// ```
/// use collapsar::graph::{Atom, Graph, Kind};
///
/// let mut graph = Graph::default();
/// let mean = graph.declare("mean", Kind::Gaussian, 1)?;
/// let precision = graph.declare("precision", Kind::Gamma, 1)?;
/// let [mu, ln_tau, tau] = [(mean, 0), (precision, 0), (precision, 1)]
///     .map(|(variable, part)| Atom { variable, part });
/// let prior = graph.factor("mean ~ dnorm(0, 0.01)");
/// graph.add(-0.005, &[mu, mu], prior);
/// let prior = graph.factor("precision ~ dgamma(1, 1)");
/// graph.add(-1.0, &[tau], prior);
/// let data = graph.factor("y[i] ~ dnorm(mean, precision)");
/// for y in [1.0, 2.0, 4.0] {
///     graph.add(0.5, &[ln_tau], data);
///     graph.add(-0.5 * y * y, &[tau], data);
///     graph.add(y, &[tau, mu], data);
///     graph.add(-0.5, &[tau, mu, mu], data);
/// }
/// # Ok::<(), collapsar::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Graph {
    declared: Vec<Declared>,
    factors: Vec<String>,
    terms: Terms,
    exponentials: Exponentials,
    rows: Vec<Rows>,
    bounds: BTreeMap<u32, (f64, f64)>,
    /// Shapes of Pólya-Gamma variables that are not 1.
    shapes: BTreeMap<u32, f64>,
    /// Positive numbers that are told otherwise than as what their terms hold, and those with a factor that is no term.
    told: BTreeMap<u32, Told>,
    tails: BTreeMap<u32, Tail>,
    /// Where a climb begins, by variable and number: the unit of a real variable, or what a precision is about.
    /// Empty where all are one.
    units: BTreeMap<(u32, u32), f64>,
    constant: f64,
    scratch: Vec<Atom>,
}

impl Graph {
    /// Adds `count` variables of one kind and returns the first; the others follow it.
    ///
    /// # Errors
    /// [`Error::Data`] where there would be more than four billion.
    pub fn declare(&mut self, name: impl Into<String>, kind: Kind, count: usize) -> Result<u32> {
        self.declare_joint(vec![name.into()], kind, count)
    }

    /// Declares variables that are each of several arrays.
    ///
    /// # Errors
    /// As [`Graph::declare`].
    pub fn declare_joint(&mut self, names: Vec<String>, kind: Kind, count: usize) -> Result<u32> {
        let first = self.variables();
        let count = u32::try_from(count)
            .ok()
            .filter(|count| first.checked_add(*count).is_some());
        let Some(count) = count else {
            let found = "more than four billion variables";
            return Err(Error::data(Place::Named(names.join(", ")), found, "fewer"));
        };
        self.declared.push(Declared {
            names,
            kind,
            first,
            count,
        });
        Ok(first)
    }

    /// Sets the shape of a variable of [`Kind::PolyaGamma`].
    pub fn shape(&mut self, variable: u32, shape: f64) {
        self.shapes.insert(variable, shape);
    }

    /// Sets in which scale the number of a variable of [`Kind::Positive`] is told; its bounds and terms are those of $x$.
    pub fn tell(&mut self, variable: u32, told: Told) {
        self.told.insert(variable, told);
    }

    /// Gives the density of a variable of [`Kind::Positive`] a factor that is no term.
    pub fn tail(&mut self, variable: u32, tail: Tail) {
        self.tails.insert(variable, tail);
    }

    /// In which scale the number of a variable is told.
    pub fn told(&self, variable: u32) -> Told {
        self.told.get(&variable).copied().unwrap_or_default()
    }

    /// Narrows the bounds of a variable of [`Kind::Bounded`] or [`Kind::Positive`].
    pub fn bound(&mut self, variable: u32, lower: f64, upper: f64) {
        let bounds = self
            .bounds
            .entry(variable)
            .or_insert((f64::NEG_INFINITY, f64::INFINITY));
        *bounds = (bounds.0.max(lower), bounds.1.min(upper));
    }

    /// Names a factor of the joint, whose terms [`Graph::add`] adds.
    pub fn factor(&mut self, text: impl Into<String>) -> u32 {
        self.factors.push(text.into());
        self.factors.len() as u32 - 1
    }

    /// The factor of a number.
    fn named_factor(&self, number: u32) -> Factor {
        Factor {
            number,
            name: self.factors[number as usize].clone(),
        }
    }

    /// Adds `coefficient` times the product of `atoms` to the log joint; zero is no term.
    pub fn add(&mut self, coefficient: f64, atoms: &[Atom], factor: u32) {
        if coefficient != 0.0 {
            self.keep(coefficient, atoms, factor);
        }
    }

    /// The same, where a coefficient of zero still links its atoms.
    pub fn keep(&mut self, coefficient: f64, atoms: &[Atom], factor: u32) {
        if atoms.is_empty() {
            self.constant += coefficient;
            return;
        }
        self.scratch.clear();
        self.scratch.extend_from_slice(atoms);
        self.scratch.sort_unstable();
        self.terms.add(&self.scratch, coefficient, factor);
    }

    /// All that was declared.
    pub fn declared(&self) -> &[Declared] {
        &self.declared
    }

    /// How many variables there are.
    pub fn variables(&self) -> u32 {
        (self.declared.last()).map_or(0, |last| last.variables().end)
    }

    /// The place in [`Graph::declared`] of a variable.
    pub fn declaration(&self, variable: u32) -> usize {
        self.declared
            .partition_point(|declared| declared.variables().end <= variable)
    }

    /// What a variable is called, counted from 1 where there are several.
    pub fn name(&self, variable: u32) -> String {
        let declared = &self.declared[self.declaration(variable)];
        if declared.count == 1 {
            declared.name()
        } else {
            format!("{}[{}]", declared.name(), variable - declared.first + 1)
        }
    }

    /// Products of atoms that the log joint holds, those that rows multiply by a label's state among
    /// them, with their coefficients and the factors that brought them.
    fn products(&self) -> impl Iterator<Item = (&[Atom], f64, u32)> {
        let rows = self.rows.iter().flat_map(|rows| rows.products.each());
        self.terms.each().chain(rows)
    }

    /// The first declaration of a variable's name.
    fn namesake(&self, variable: u32) -> u32 {
        let declaration = self.declaration(variable);
        let declared = &self.declared[declaration];
        let same = |other: &Declared| other.names == declared.names;
        self.declared.iter().position(same).unwrap_or(declaration) as u32
    }

    /// How many states each of these labels has.
    fn states(&self, labels: &[u32]) -> Vec<usize> {
        labels
            .iter()
            .map(|&label| self.kind(label).atoms())
            .collect()
    }

    fn kind(&self, variable: u32) -> Kind {
        self.declared[self.declaration(variable)].kind
    }
}
