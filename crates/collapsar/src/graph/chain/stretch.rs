//! Decides how a precision and the effects that it scales move together where the effects are in log-linear predictors
//! (maths §9.14).
//!
//! The line is that of `scale`, along which the prior of the effects stays the same; exponentials of their predictors
//! are part of the density on it.

use rand::Rng;

use super::scale::{Effect, effects, is_prior, slice};
use crate::graph::block::{BlockFamily, range_of};
use crate::graph::compiled::Compiled;

use collapsar_core::elementary::Elementary;

/// A precision with the effects whose prior it is.
#[derive(Debug, Clone)]
pub(super) struct Stretch {
    /// The precision among collapsed blocks, and the block of the effects among own ones.
    gamma: usize,
    block: usize,
    effects: Vec<Effect>,
}

impl Stretch {
    /// All that a model has.
    pub(super) fn all(model: &Compiled) -> Vec<Self> {
        if model.posterior.exponents().is_empty() {
            return vec![];
        }
        let gammas = model.posterior.blocks().iter().enumerate();
        gammas
            .filter(|(_, placed)| matches!(placed.0.family, BlockFamily::Gamma(_)))
            .filter_map(|(gamma, _)| Self::new(model, gamma))
            .collect()
    }

    fn new(model: &Compiled, gamma: usize) -> Option<Self> {
        let (local, posterior) = (&model.local, &model.posterior);
        let told = posterior.told_alone(posterior.blocks()[gamma].1 + 1)?;
        let first = local.own_first();
        let places: Option<Vec<usize>> = (told.iter())
            .map(|(place, _)| place.checked_sub(first))
            .collect();
        let places = places?;
        let own = local.blocks().1;
        let block = own.partition_point(|placed| placed.1 <= *places.first().unwrap_or(&0)) - 1;
        let placed = own.get(block)?;
        let BlockFamily::Gaussian(family) = &placed.0.family else {
            return None;
        };
        let range = range_of(placed);
        if places.is_empty() || !places.iter().all(|place| range.contains(place)) {
            return None;
        }
        let mut form = vec![0.0; range.len()];
        for (place, (_, coefficient)) in places.iter().zip(&told) {
            // Of the precision itself, whose statistic has the other sign.
            form[place - range.start] -= coefficient;
        }
        let chosen = effects(family, &form);
        let effects = Effect::all(family, &form, &chosen);
        let prior = !effects.is_empty() && is_prior(&effects, family, &form);
        prior.then_some(Self {
            gamma,
            block,
            effects,
        })
    }
}

impl super::Chain<'_> {
    /// Moves each precision together with its effects, by a slice along the line on which their prior stays the same.
    pub(super) fn stretch<R: Rng + ?Sized>(&mut self, rng: &mut R) {
        let stretches = std::mem::take(&mut self.stretches);
        for stretch in &stretches {
            self.stretch_one(stretch, rng);
        }
        self.stretches = stretches;
    }

    fn stretch_one<R: Rng + ?Sized>(&mut self, stretch: &Stretch, rng: &mut R) {
        let (local, posterior) = (&self.model.local, &self.model.posterior);
        let placed = &local.blocks().1[stretch.block];
        let BlockFamily::Gaussian(family) = &placed.0.family else {
            return;
        };
        let (n, range) = (family.scalars(), range_of(placed));
        let first = local.own_first() + range.start;
        let mut natural = local.own_base[range.clone()].to_vec();
        posterior.add_told(
            &self.own_terms[stretch.block],
            first,
            &self.statistics,
            &self.work.exponentials,
            &self.collapsed,
            &mut natural,
        );
        let mut x = self.statistics[first..first + n].to_vec();
        let mut direction = vec![0.0; n];
        for effect in &stretch.effects {
            direction[effect.scalar] = effect.distance(&x);
        }
        // Natural parameters along x₀ + s d, as in `scale`.
        let (mut slope, mut curve, mut own) = (0.0, 0.0, 0.0);
        for effect in &stretch.effects {
            let (i, d) = (effect.scalar, direction[effect.scalar]);
            let mut at_x = natural[n + i] * x[i];
            let mut at_d = natural[n + i] * d;
            for &(other, parameter) in &effect.joined {
                let coupling = natural[parameter as usize];
                at_x += coupling * x[other as usize];
                at_d += coupling * direction[other as usize];
            }
            slope += d * (natural[i] - at_x);
            curve += d * at_d;
            own += effect.square * d * d;
        }
        let gamma = posterior.blocks()[stretch.gamma].1;
        let precision = -self.collapsed[gamma + 1];
        let (shape, prior_rate) = (self.work.given[gamma], posterior.base(gamma + 1));
        let linear = slope + curve;
        let square = -0.5 * (curve - precision * own);
        let power = stretch.effects.len() as f64 - 2.0 * shape;
        // Exponentials at s = 1, and the slopes of their predictors.
        let exponents = posterior.exponents();
        let weights = posterior.exponential_weights(&self.statistics, &self.collapsed);
        let places = first..first + range.len();
        let moved = (0..exponents.len()).filter(|&index| exponents.is_within(index, &places));
        let moved: Vec<(f64, f64)> = (moved)
            .map(|index| {
                let (t, offset) = exponents.predictor(index, &x);
                let value = weights[index] * (offset + t).exp_();
                (value, exponents.predictor(index, &direction).0)
            })
            .filter(|&(value, change)| value != 0.0 && change != 0.0)
            .collect();
        let density = |y: f64| {
            let s = y.exp_();
            let rest = moved
                .iter()
                .map(|(value, change)| value * ((s - 1.0) * change).exp_());
            power * y + linear * s + square * s * s - prior_rate * precision / (s * s)
                + rest.sum::<f64>()
        };
        let s = slice(density, rng).exp_();
        let precision = precision / (s * s);
        for (x, d) in x.iter_mut().zip(&direction) {
            *x += (s - 1.0) * d;
        }
        if !(precision > 0.0 && precision.is_finite() && x.iter().all(|x| x.is_finite())) {
            return;
        }
        family.write_statistics(&x, &mut self.statistics[first..first + range.len()]);
        super::put(&self.targets[1][stretch.block], &x, &mut self.numbers);
        self.collapsed[gamma] = precision.ln_();
        self.collapsed[gamma + 1] = -precision;
        self.numbers[self.targets[2][stretch.gamma][0] as usize] = precision;
        self.see_exponentials();
        self.work.told = false;
    }
}
