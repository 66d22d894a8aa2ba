//! Decides how a Gaussian block with exponentials of predictors is drawn given all others: by Hamiltonian steps about a
//! Gaussian near it (maths §9.14).
//!
//! The Gaussian part rotates exactly and what is left of the exponentials kicks, so that where nothing is left a quarter of
//! a turn is an independent draw. The number of kicks is found in the first sweep and stays.

use std::f64::consts::FRAC_PI_2;

use rand::{Rng, RngExt};

use crate::graph::block::{BlockFamily, range_of};
use crate::graph::compiled::Compiled;
use crate::graph::exponents::Exponents;
use collapsar_core::Result;
use collapsar_core::elementary::Elementary;
use collapsar_core::family::{Gaussian, GaussianSampler};

/// Numbers of kicks that are tried, the fewest first.
const KICKS: [usize; 8] = [1, 2, 3, 4, 6, 9, 13, 20];
/// Turns in which a number of kicks is tried, and the share of them that must be accepted on the average.
const TRIALS: usize = 12;
const ACCEPTED: f64 = 0.8;
/// Turns differ by so much of a quarter of a circle, so that none returns to where it was.
const JITTER: f64 = 0.1;

/// The exponentials of one own block.
#[derive(Debug, Clone)]
pub(super) struct Predictors {
    /// The place of the block among own ones.
    block: usize,
    /// Which exponentials it has; where the mean of each one's predictor is without the offset, and what it is expected to
    /// be, once there is something to expect.
    exponentials: Vec<u32>,
    centres: Vec<(f64, f64)>,
    /// Kicks in a turn, once they are known.
    kicks: Option<usize>,
}

/// A block in the middle of a draw.
struct Turning<'a> {
    exponents: &'a Exponents,
    predictors: &'a Predictors,
    family: &'a Gaussian,
    /// The natural parameters of the Gaussian that it turns about, and their factor.
    natural: Vec<f64>,
    about: GaussianSampler<'a>,
    /// What each exponential is multiplied by, without the sign.
    weights: Vec<f64>,
}

impl Predictors {
    /// Those of all own blocks that have any.
    pub(super) fn all(model: &Compiled) -> Vec<Self> {
        let exponents = model.posterior.exponents();
        let first = model.local.own_first();
        let own = model.local.blocks().1.iter().enumerate();
        let of = own.map(|(block, placed)| {
            let range = range_of(placed);
            let places = first + range.start..first + range.end;
            let held = |&index: &u32| exponents.is_within(index as usize, &places);
            Self {
                block,
                exponentials: (0..exponents.len() as u32).filter(held).collect(),
                centres: vec![],
                kicks: None,
            }
        });
        of.filter(|of| !of.exponentials.is_empty()).collect()
    }

    /// Expects what these means of statistics say.
    fn expect(&mut self, exponents: &Exponents, statistics: &[f64]) {
        let expected = |&index: &u32| exponents.expected(index as usize, statistics);
        self.centres = self.exponentials.iter().map(expected).collect();
    }
}

impl Turning<'_> {
    /// The logarithm of the density less that of the Gaussian, with the sign changed; writes its slopes by the predictors.
    fn rest(&self, x: &[f64], slopes: &mut [f64]) -> f64 {
        let mut sum = 0.0;
        for (place, &index) in self.predictors.exponentials.iter().enumerate() {
            let weight = self.weights[place];
            let (centre, expected) = self.predictors.centres[place];
            let (t, offset) = self.exponents.predictor(index as usize, x);
            let value = (offset + t).exp_();
            // W (e^{b + t} - ê (1 - t̂) t - ½ ê t²)
            sum += weight * (value - expected * t * (1.0 - centre + 0.5 * t));
            slopes[place] = weight * (value - expected * (1.0 + t - centre));
        }
        sum
    }

    /// x'Px.
    fn square(&self, x: &[f64]) -> f64 {
        let n = x.len();
        let own = self.natural[n..2 * n].iter().zip(x).map(|(p, x)| p * x * x);
        let pairs = self.family.pairs().iter().zip(&self.natural[2 * n..]);
        let pairs = pairs.map(|(&(i, j), c)| c * x[i as usize] * x[j as usize]);
        own.sum::<f64>() + 2.0 * pairs.sum::<f64>()
    }

    /// Moves the velocity by what is left of the exponentials.
    fn kick(&self, slopes: &[f64], length: f64, velocity: &mut [f64]) {
        let mut force = vec![0.0; velocity.len()];
        for (&index, slope) in self.predictors.exponentials.iter().zip(slopes) {
            (self.exponents).add_slopes(index as usize, -length * slope, &mut force);
        }
        let change = self.about.solve(&force);
        velocity.iter_mut().zip(change).for_each(|(v, c)| *v += c);
    }

    /// A turn of so many kicks from `x`, which it replaces if the end is accepted; returns the probability of that.
    fn turn<R: Rng + ?Sized>(&self, x: &mut Vec<f64>, kicks: usize, rng: &mut R) -> f64 {
        let jitter = 1.0 + JITTER * (2.0 * rng.random::<f64>() - 1.0);
        let step = jitter * FRAC_PI_2 / kicks as f64;
        let (sine, cosine) = step.sin_cos_();
        let mean = self.about.mean();
        let mut velocity = self.about.noise(rng);
        let mut from: Vec<f64> = x.iter().zip(mean).map(|(x, m)| x - m).collect();
        let mut here = x.clone();
        let mut slopes = vec![0.0; self.weights.len()];
        let rest = self.rest(&here, &mut slopes);
        let before = 0.5 * (self.square(&from) + self.square(&velocity)) + rest;
        let mut after = before;
        for kick in 0..kicks {
            self.kick(&slopes, 0.5 * step, &mut velocity);
            for (d, v) in from.iter_mut().zip(&mut velocity) {
                (*d, *v) = (*d * cosine + *v * sine, *v * cosine - *d * sine);
            }
            for ((x, d), m) in here.iter_mut().zip(&from).zip(mean) {
                *x = m + d;
            }
            let rest = self.rest(&here, &mut slopes);
            if !rest.is_finite() {
                return 0.0;
            }
            self.kick(&slopes, 0.5 * step, &mut velocity);
            if kick + 1 == kicks {
                after = 0.5 * (self.square(&from) + self.square(&velocity)) + rest;
            }
        }
        let probability = (before - after).exp_().min(1.0);
        if rng.random::<f64>() < probability {
            *x = here;
        }
        if probability.is_nan() {
            0.0
        } else {
            probability
        }
    }

    /// The fewest kicks whose turns are accepted often enough; `x` moves on the way.
    fn fewest<R: Rng + ?Sized>(&self, x: &mut Vec<f64>, rng: &mut R) -> usize {
        let enough = |kicks: &usize| {
            let sum: f64 = (0..TRIALS).map(|_| self.turn(x, *kicks, rng)).sum();
            sum >= ACCEPTED * TRIALS as f64
        };
        let last = KICKS[KICKS.len() - 1];
        KICKS.into_iter().find(enough).unwrap_or(last)
    }
}

impl super::Chain<'_> {
    /// Predictors are expected where these means of statistics have them.
    pub(super) fn expect_predictors(&mut self, statistics: &[f64]) {
        let exponents = self.model.posterior.exponents();
        for predictors in &mut self.predictors {
            predictors.expect(exponents, statistics);
        }
    }

    /// Whether an own block has exponentials.
    pub(super) fn has_predictors(&self, block: usize) -> bool {
        self.predictors.iter().any(|of| of.block == block)
    }

    /// Moves an own block with exponentials, given all others; `natural` is what they say of it without exponentials.
    pub(super) fn turn_predictors<R: Rng + ?Sized>(
        &mut self,
        block: usize,
        natural: &[f64],
        rng: &mut R,
    ) -> Result<()> {
        let Some(place) = self.predictors.iter().position(|of| of.block == block) else {
            return Ok(());
        };
        let model = self.model;
        let placed = &model.local.blocks().1[block];
        let BlockFamily::Gaussian(family) = &placed.0.family else {
            return Ok(());
        };
        let exponents = model.posterior.exponents();
        let predictors = &self.predictors[place];
        let seeds = (model.posterior).exponential_weights(&self.statistics, &self.collapsed);
        let weights = predictors.exponentials.iter();
        let weights: Vec<f64> = weights.map(|&index| -seeds[index as usize]).collect();
        let first = model.local.own_first() + placed.1;
        let mut natural = natural.to_vec();
        let each = predictors.exponentials.iter().zip(&predictors.centres);
        for ((&index, &(centre, expected)), weight) in each.zip(&weights) {
            let (weight, linear) = (weight * expected, -weight * expected * (1.0 - centre));
            exponents.add_square(index as usize, (weight, linear), first, &mut natural);
        }
        let turning = Turning {
            exponents,
            predictors,
            family,
            about: family.sampler(&natural)?,
            natural,
            weights,
        };
        let mut x = self.statistics[first..first + family.scalars()].to_vec();
        let kicks = match predictors.kicks {
            Some(kicks) => kicks,
            None => turning.fewest(&mut x, rng),
        };
        turning.turn(&mut x, kicks, rng);
        self.predictors[place].kicks = Some(kicks);
        let statistics = &mut self.statistics[first..first + placed.0.len()];
        family.write_statistics(&x, statistics);
        super::put(&self.targets[1][block], &x, &mut self.numbers);
        self.work.told = false;
        self.see_exponentials();
        Ok(())
    }

    /// Sees to it that what others are told of exponentials is that of what was drawn last.
    pub(super) fn see_exponentials(&mut self) {
        let exponents = self.model.posterior.exponents();
        if !exponents.is_empty() {
            self.work.exponentials.resize(exponents.len(), 0.0);
            exponents.write(&self.statistics, &mut self.work.exponentials);
        }
    }
}
