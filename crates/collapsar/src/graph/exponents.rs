//! Decides what exponentials of predictors are expected to be, as functions of the means of Gaussian statistics
//! (maths §9.14).

use std::collections::HashMap;
use std::ops::Range;

use super::Graph;
use super::block::BlockFamily;
use super::blocks::Blocks;
use super::exponential::Exponential;
use super::terms::Starts;
use collapsar_core::elementary::Elementary;
use collapsar_core::{Error, Result};

/// Exponentials of predictors, each with the places of the statistics that it is a function of.
#[derive(Debug, Clone, Default)]
pub(super) struct Exponents {
    patterns: Vec<Pattern>,
    /// The pattern of each exponential.
    of: Vec<u32>,
    starts: Starts,
    slopes: Vec<f64>,
    offsets: Vec<f64>,
    /// About what each term is worth, for a climb to begin with.
    abouts: Vec<f64>,
}

/// The variables of a predictor.
#[derive(Debug, Clone)]
struct Pattern {
    /// Their places in their block.
    scalars: Vec<u32>,
    /// The places of $x_j$, $-\tfrac12x_j^2$ and $-x_jx_k$, $j<k$, among messages.
    means: Vec<u32>,
    squares: Vec<u32>,
    pairs: Vec<u32>,
}

impl Exponents {
    /// Those of a graph; `firsts` are the places of own blocks among messages.
    pub(super) fn new(graph: &Graph, blocks: &Blocks, firsts: &[u32], own: u32) -> Result<Self> {
        let mut found = Self::default();
        let mut known: HashMap<Vec<u32>, u32> = HashMap::new();
        for exponential in graph.exponentials.all() {
            let slopes = &exponential.predictor.slopes;
            let variables: Vec<u32> = slopes.iter().map(|slope| slope.0).collect();
            if !known.contains_key(&variables) {
                let pattern = Pattern::new(blocks, &variables, firsts, own);
                let pattern = pattern.ok_or_else(|| refusal(graph, exponential))?;
                known.insert(variables.clone(), found.patterns.len() as u32);
                found.patterns.push(pattern);
            }
            found.of.push(known[&variables]);
            found.slopes.extend(slopes.iter().map(|slope| slope.1));
            found.starts.end(found.slopes.len());
            found.offsets.push(exponential.predictor.offset);
            found.abouts.push(exponential.predictor.about);
        }
        Ok(found)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.of.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// The variables, slopes and offset of an exponential.
    fn get(&self, exponential: usize) -> (&Pattern, &[f64], f64) {
        (
            &self.patterns[self.of[exponential] as usize],
            &self.slopes[self.starts.range(exponential)],
            self.offsets[exponential],
        )
    }

    /// Writes what each is expected to be at these means of statistics: $e^{b+h+\frac12 v}$ with the mean $b+h$ and the
    /// variance $v$ of its predictor.
    pub(super) fn write(&self, at: &[f64], out: &mut [f64]) {
        for (exponential, out) in out.iter_mut().enumerate() {
            let (pattern, slopes, offset) = self.get(exponential);
            let (mean, variance) = pattern.moments(slopes, at);
            *out = (offset + mean + 0.5 * variance).exp_();
        }
    }

    /// Statistics, and what is expected of each exponential after them.
    pub(super) fn extended(&self, statistics: &[f64]) -> Vec<f64> {
        let mut all = statistics.to_vec();
        all.resize(statistics.len() + self.len(), 0.0);
        let (statistics, values) = all.split_at_mut(statistics.len());
        self.write(statistics, values);
        all
    }

    /// How they change where statistics change along `along`; `at` is extended.
    pub(super) fn forward(&self, at: &[f64], along: &[f64], out: &mut [f64]) {
        let values = &at[at.len() - self.len()..];
        for (exponential, out) in out.iter_mut().enumerate() {
            let (pattern, slopes, _) = self.get(exponential);
            *out = values[exponential] * pattern.change(slopes, at, along).0;
        }
    }

    /// Adds `seeds` times the gradient of each; `at` is extended.
    pub(super) fn backward(&self, at: &[f64], seeds: &[f64], out: &mut [f64]) {
        let values = &at[at.len() - self.len()..];
        for (exponential, (seed, value)) in seeds.iter().zip(values).enumerate() {
            let (pattern, slopes, _) = self.get(exponential);
            pattern.add_gradient(slopes, at, seed * value, out);
        }
    }

    /// Adds what the second-order expansion of each says of statistics, where it is about what the data say and has the
    /// coefficient `seeds`.
    pub(super) fn add_working(&self, seeds: &[f64], out: &mut [f64]) {
        for (exponential, (&seed, &about)) in seeds.iter().zip(&self.abouts).enumerate() {
            let (pattern, slopes, offset) = self.get(exponential);
            let centre = (about / -seed).ln_() - offset;
            if centre.is_finite() {
                // -w (1 + (ψ - ψ₀) + ½ (ψ - ψ₀)²), where -½ψ² is among the statistics.
                pattern.add_square(slopes, (about, about * (centre - 1.0)), 0, out);
            }
        }
    }

    /// Whether these places hold the statistics of an exponential's predictor.
    pub(super) fn is_within(&self, exponential: usize, places: &Range<usize>) -> bool {
        places.contains(&(self.get(exponential).0.means[0] as usize))
    }

    /// The mean of a predictor without its offset, and what its exponential is expected to be.
    pub(super) fn expected(&self, exponential: usize, at: &[f64]) -> (f64, f64) {
        let (pattern, slopes, offset) = self.get(exponential);
        let (mean, variance) = pattern.moments(slopes, at);
        (mean, (offset + mean + 0.5 * variance).exp_())
    }

    /// A predictor without its offset, and the offset, at the numbers of its block.
    pub(super) fn predictor(&self, exponential: usize, x: &[f64]) -> (f64, f64) {
        let (pattern, slopes, offset) = self.get(exponential);
        let terms = slopes.iter().zip(&pattern.scalars);
        (terms.map(|(a, &j)| a * x[j as usize]).sum(), offset)
    }

    /// Adds `factor` times the slopes of a predictor to those of the numbers of its block.
    pub(super) fn add_slopes(&self, exponential: usize, factor: f64, out: &mut [f64]) {
        let (pattern, slopes, _) = self.get(exponential);
        for (slope, &scalar) in slopes.iter().zip(&pattern.scalars) {
            out[scalar as usize] += factor * slope;
        }
    }

    /// Adds $-\tfrac12 w\psi^2+l\psi$ of a predictor without its offset to the natural parameters of a block whose first
    /// statistic is at `first`.
    pub(super) fn add_square(
        &self,
        exponential: usize,
        (weight, linear): (f64, f64),
        first: usize,
        out: &mut [f64],
    ) {
        let (pattern, slopes, _) = self.get(exponential);
        pattern.add_square(slopes, (weight, linear), first, out);
    }

    /// Adds `seeds` times the Hessian of each times `along`; `at` is extended.
    pub(super) fn hessian(&self, at: &[f64], along: &[f64], seeds: &[f64], out: &mut [f64]) {
        let values = &at[at.len() - self.len()..];
        for (exponential, (seed, value)) in seeds.iter().zip(values).enumerate() {
            let (pattern, slopes, _) = self.get(exponential);
            let (change, mean) = pattern.change(slopes, at, along);
            // ∇²e^q = e^q (∇q∇q' + ∇²q), and ∇²q is -aa' among means.
            pattern.add_gradient(slopes, at, seed * value * change, out);
            for (&place, slope) in pattern.means.iter().zip(slopes) {
                out[place as usize] -= seed * value * slope * mean;
            }
        }
    }
}

impl Pattern {
    fn new(blocks: &Blocks, variables: &[u32], firsts: &[u32], own: u32) -> Option<Self> {
        let block = blocks.of[*variables.first()? as usize];
        let holder = &blocks.blocks[block as usize];
        let BlockFamily::Gaussian(family) = &holder.family else {
            return None;
        };
        let n = family.scalars() as u32;
        let first = own + firsts[block as usize];
        let place = |variable: &u32| holder.variables.binary_search(variable).ok();
        let scalars: Option<Vec<u32>> = (variables.iter())
            .map(|variable| place(variable).map(|place| place as u32))
            .collect();
        let scalars = scalars?;
        let mut pairs = vec![];
        for (index, &one) in scalars.iter().enumerate() {
            for &other in &scalars[index + 1..] {
                let pair = family.pairs().binary_search(&(one, other)).ok()?;
                pairs.push(first + 2 * n + pair as u32);
            }
        }
        Some(Self {
            means: scalars.iter().map(|scalar| first + scalar).collect(),
            squares: scalars.iter().map(|scalar| first + n + scalar).collect(),
            pairs,
            scalars,
        })
    }

    /// The mean and the variance of the predictor without its offset.
    fn moments(&self, slopes: &[f64], at: &[f64]) -> (f64, f64) {
        let at = |place: u32| at[place as usize];
        let mut pairs = self.pairs.iter();
        let (mut mean, mut variance) = (0.0, 0.0);
        for (j, (&slope, &place)) in slopes.iter().zip(&self.means).enumerate() {
            let own = at(place);
            mean += slope * own;
            variance += slope * slope * (-2.0 * at(self.squares[j]) - own * own);
            for (&next, &other) in slopes[j + 1..].iter().zip(&self.means[j + 1..]) {
                let product = pairs.next().map_or(0.0, |&pair| -at(pair));
                variance += 2.0 * slope * next * (product - own * at(other));
            }
        }
        (mean, variance)
    }

    /// Adds `seed` times the gradient of $h+\frac12v$.
    fn add_gradient(&self, slopes: &[f64], at: &[f64], seed: f64, out: &mut [f64]) {
        let means = self.means.iter().map(|&place| at[place as usize]);
        let mean: f64 = slopes.iter().zip(means).map(|(a, m)| a * m).sum();
        self.add_square(slopes, (-seed, seed * (1.0 - mean)), 0, out);
    }

    /// Adds the natural parameters of $-\tfrac12 w\psi^2+l\psi$, counted from the place `first`.
    fn add_square(
        &self,
        slopes: &[f64],
        (weight, linear): (f64, f64),
        first: usize,
        out: &mut [f64],
    ) {
        let mut pairs = self.pairs.iter();
        for (j, &slope) in slopes.iter().enumerate() {
            out[self.means[j] as usize - first] += linear * slope;
            out[self.squares[j] as usize - first] += weight * slope * slope;
            for (&next, &pair) in slopes[j + 1..].iter().zip(&mut pairs) {
                out[pair as usize - first] += weight * slope * next;
            }
        }
    }

    /// How $h+\frac12v$ and $h$ change along `along`.
    fn change(&self, slopes: &[f64], at: &[f64], along: &[f64]) -> (f64, f64) {
        let (mut mean, mut moved, mut rest) = (0.0, 0.0, 0.0);
        let mut pairs = self.pairs.iter();
        for (j, &slope) in slopes.iter().enumerate() {
            mean += slope * at[self.means[j] as usize];
            moved += slope * along[self.means[j] as usize];
            rest -= slope * slope * along[self.squares[j] as usize];
            for (&next, &pair) in slopes[j + 1..].iter().zip(&mut pairs) {
                rest -= slope * next * along[pair as usize];
            }
        }
        (moved * (1.0 - mean) + rest, moved)
    }
}

/// A predictor whose variables are not in one block: some term is of more than the second degree in them together.
fn refusal(graph: &Graph, exponential: &Exponential) -> Error {
    let names = exponential.predictor.slopes.iter();
    let names: Vec<String> = names.map(|slope| graph.name(slope.0)).collect();
    Error::Graph {
        factor: graph.named_factor(exponential.factor),
        found: format!(
            "a log-linear predictor of {}, which no Gaussian block holds together",
            names.join(", ")
        ),
        expected: "Gaussians that are multiplied by one another in no other line".into(),
    }
}
