//! Decides how a precision and the effects that it scales move together: along the line on which their prior stays the
//! same (maths §10.4).
//!
//! A precision is drawn given its effects and they given it, so that a small variance keeps effects small and small
//! effects the variance. Along $x = x_0 + s\,d$, $\gamma/s^2$ both change at once.

use rand::{Rng, RngExt};

use crate::graph::block::{BlockFamily, Placed, range_of};
use crate::graph::compiled::Compiled;
use collapsar_core::family::{Family, Gaussian};

/// The width of a slice to begin with, in the logarithm of the scale.
const WIDTH: f64 = 0.7;
/// Steps out of a slice, and into it, at most.
const STEPS: usize = 60;
/// A residual this small against what it is a sum of is nothing.
const NOTHING: f64 = 1e-9;

/// A precision with the effects whose prior it is.
#[derive(Debug, Clone)]
pub(super) struct Scale {
    /// The precision among collapsed blocks, and the field of the effects among shared ones.
    gamma: usize,
    field: usize,
    /// The quadratic form that the precision multiplies, as natural parameters of the field have it.
    form: Vec<f64>,
    /// The effects among the field's scalars.
    effects: Vec<u32>,
}

impl Scale {
    /// All that a model has.
    pub(super) fn all(model: &Compiled) -> Vec<Self> {
        // With own blocks, forms depend on what was drawn.
        if !model.local.own_base.is_empty() {
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
        let dim = local.own_first();
        let mut changes = vec![0.0; posterior.statistics()];
        changes[posterior.blocks()[gamma].1 + 1] = -1.0;
        let mut messages = vec![0.0; dim];
        posterior.backward_changes(&vec![0.0; dim], &changes, &mut messages);
        let told = |slot: u32| messages[slot as usize] != 0.0;
        if local.rows.iter().any(|rows| rows.looks_at(told)) {
            return None;
        }
        let forms = local.spread(&messages);
        let used =
            |block: &(usize, &Placed)| forms[range_of(block.1)].iter().any(|entry| *entry != 0.0);
        let mut fields = local.blocks().0.iter().enumerate().filter(used);
        let (field, placed) = fields.next()?;
        let BlockFamily::Gaussian(family) = &placed.0.family else {
            return None;
        };
        let form = forms[range_of(placed)].to_vec();
        let scale = Self {
            gamma,
            field,
            effects: effects(family, &form),
            form,
        };
        let alone = fields.next().is_none() && !scale.effects.is_empty();
        (alone && scale.is_prior(family)).then_some(scale)
    }

    /// Whether nothing is left of the form once the effects are at their means: then it is their prior.
    fn is_prior(&self, family: &Gaussian) -> bool {
        // No special values of scalars are among these.
        let x: Vec<f64> = (0..family.scalars())
            .map(|i| (1.3 * i as f64 + 0.7).sin())
            .collect();
        let direction = self.direction(family, &x);
        let centre: Vec<f64> = x.iter().zip(&direction).map(|(x, d)| x - d).collect();
        let left = dot(family, &self.form, &centre);
        left.abs() <= NOTHING * dot(family, &self.form, &x).abs()
    }

    /// How far each effect is from its mean given the rest of the field; zero elsewhere.
    fn direction(&self, family: &Gaussian, x: &[f64]) -> Vec<f64> {
        let slope = gradient(family, &self.form, x);
        let mut direction = vec![0.0; x.len()];
        for &effect in &self.effects {
            let effect = effect as usize;
            // The form is -½ H x² and so on, with H among the second statistics.
            direction[effect] = -slope[effect] / self.form[x.len() + effect];
        }
        direction
    }
}

impl super::Chain<'_> {
    /// Moves a precision together with its effects, by a slice along the line on which their prior stays the same.
    pub(super) fn rescale<R: Rng + ?Sized>(&mut self, scale: &Scale, rng: &mut R) {
        let (local, posterior) = (&self.model.local, &self.model.posterior);
        let placed = &local.blocks().0[scale.field];
        let BlockFamily::Gaussian(family) = &placed.0.family else {
            return;
        };
        let first = posterior.blocks()[scale.gamma].1;
        let precision = -self.collapsed[first + 1];
        let natural = &posterior.naturals(&self.statistics).0[first..first + 2];
        let (shape, prior_rate) = (natural[0], posterior.base(first + 1));
        let mut rest = local.naturals(&self.told()).0[range_of(placed)].to_vec();
        for (rest, form) in rest.iter_mut().zip(&scale.form) {
            *rest -= precision * form;
        }
        let x: Vec<f64> = (placed.0.variables.iter())
            .map(|&variable| self.numbers[self.places.places(variable).start])
            .collect();
        let direction = scale.direction(family, &x);
        let centre: Vec<f64> = x.iter().zip(&direction).map(|(x, d)| x - d).collect();
        // ⟨rest, u(x₀ + s d)⟩ = constant + linear s + square s².
        let square = second(family, &rest, &direction);
        let slope = gradient(family, &rest, &centre);
        let linear: f64 = slope.iter().zip(&direction).map(|(g, d)| g * d).sum();
        // Volumes grow by s for each effect and fall by s² for the precision; the measure of scales is ds / s,
        // and the logarithm of s is what moves.
        let power = scale.effects.len() as f64 - 2.0 * shape;
        let density = |y: f64| {
            let s = y.exp();
            power * y + linear * s + square * s * s - prior_rate * precision / (s * s)
        };
        let s = slice(density, rng).exp();
        let moved = centre.iter().zip(&direction).map(|(c, d)| c + s * d);
        let moved: Vec<f64> = moved.collect();
        let precision = precision / (s * s);
        if !(precision > 0.0 && precision.is_finite() && moved.iter().all(|x| x.is_finite())) {
            return;
        }
        let mut statistics = vec![0.0; range_of(placed).len()];
        let slots = local.own_first();
        family.statistics(&x, &mut statistics);
        for statistic in &mut statistics {
            *statistic = -*statistic;
        }
        local.gather(placed.1, &statistics, &mut self.statistics[..slots]);
        family.statistics(&moved, &mut statistics);
        local.gather(placed.1, &statistics, &mut self.statistics[..slots]);
        self.places.put(&placed.0, moved, &mut self.numbers);
        self.collapsed[first] = precision.ln();
        self.collapsed[first + 1] = -precision;
        let block = &posterior.blocks()[scale.gamma].0;
        self.places.put(block, [precision], &mut self.numbers);
    }
}

/// Scalars that the form is quadratic in and that no two of which it joins: those with the fewest others first.
fn effects(family: &Gaussian, form: &[f64]) -> Vec<u32> {
    let n = family.scalars();
    let mut joined = vec![vec![]; n];
    for (&(i, j), coupling) in family.pairs().iter().zip(&form[2 * n..]) {
        if *coupling != 0.0 {
            joined[i as usize].push(j);
            joined[j as usize].push(i);
        }
    }
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.sort_by_key(|&i| joined[i as usize].len());
    let mut chosen = vec![false; n];
    for i in order {
        let free = !joined[i as usize].iter().any(|&j| chosen[j as usize]);
        chosen[i as usize] = free && form[n + i as usize] > 0.0;
    }
    (0..n as u32).filter(|&i| chosen[i as usize]).collect()
}

/// ⟨natural, u(x)⟩ of a field.
fn dot(family: &Gaussian, natural: &[f64], x: &[f64]) -> f64 {
    let mut statistics = vec![0.0; natural.len()];
    family.statistics(&x.to_vec(), &mut statistics);
    natural.iter().zip(&statistics).map(|(n, u)| n * u).sum()
}

/// Its gradient, h − Λx.
fn gradient(family: &Gaussian, natural: &[f64], x: &[f64]) -> Vec<f64> {
    let n = x.len();
    let mut out: Vec<f64> = (0..n).map(|i| natural[i] - natural[n + i] * x[i]).collect();
    for (&(i, j), coupling) in family.pairs().iter().zip(&natural[2 * n..]) {
        out[i as usize] -= coupling * x[j as usize];
        out[j as usize] -= coupling * x[i as usize];
    }
    out
}

/// −½ d'Λd.
fn second(family: &Gaussian, natural: &[f64], d: &[f64]) -> f64 {
    let mut quadratic = natural.to_vec();
    quadratic[..d.len()].fill(0.0);
    dot(family, &quadratic, d)
}

/// A draw of a number with this log density from zero, by stepping out and shrinking (Neal03).
fn slice<R: Rng + ?Sized>(density: impl Fn(f64) -> f64, rng: &mut R) -> f64 {
    let level = density(0.0) + (1.0 - rng.random::<f64>()).ln();
    let mut low = -WIDTH * rng.random::<f64>();
    let mut high = low + WIDTH;
    for _ in 0..STEPS {
        if density(low) <= level {
            break;
        }
        low -= WIDTH;
    }
    for _ in 0..STEPS {
        if density(high) <= level {
            break;
        }
        high += WIDTH;
    }
    for _ in 0..STEPS {
        let y = low + (high - low) * rng.random::<f64>();
        if density(y) > level {
            return y;
        }
        if y < 0.0 {
            low = y;
        } else {
            high = y;
        }
    }
    0.0
}
