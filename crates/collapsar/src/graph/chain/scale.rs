//! Decides how a precision and the effects that it scales move together: along the line on which their prior stays the
//! same (maths §10.4).
//!
//! A precision is drawn given its effects and they given it, so that a small variance keeps effects small and small
//! effects the variance. Along $x = x_0 + s\,d$, $\gamma/s^2$ both change at once.

use rand::{Rng, RngExt};

use crate::graph::block::{BlockFamily, Placed, range_of};
use crate::graph::compiled::Compiled;
use collapsar_core::elementary::Elementary;
use collapsar_core::family::{Family, Gaussian, Positive};

/// The width of a slice to begin with, in the logarithm of the scale.
const WIDTH: f64 = 0.7;
/// Steps out of a slice, and into it, at most.
const STEPS: usize = 60;
/// A residual this small against what it is a sum of is nothing.
pub(super) const NOTHING: f64 = 1e-9;

/// A precision with the effects whose prior it is.
#[derive(Debug, Clone)]
pub(super) struct Scale {
    /// The precision among collapsed blocks, and the field of the effects among shared ones.
    gamma: usize,
    field: usize,
    /// The quadratic form that the precision multiplies, as natural parameters of the field have it: those that are not
    /// zero, by place.
    form: Vec<(u32, f64)>,
    effects: Vec<Effect>,
    /// Whether another statistic of the precision, such as its logarithm, is told to something too.
    logarithm: bool,
}

/// A scalar whose prior has the precision.
#[derive(Debug, Clone)]
pub(super) struct Effect {
    pub(super) scalar: usize,
    /// The form's shift and its square's coefficient.
    shift: f64,
    pub(super) square: f64,
    /// Scalars that the form joins to it, with the coefficients of the products.
    mean: Vec<(u32, f64)>,
    /// Scalars that the field joins to it, with the places of the products among its natural parameters.
    pub(super) joined: Vec<(u32, u32)>,
}

/// The scalars of a field and a direction, kept between moves.
#[derive(Debug, Clone, Default)]
pub(super) struct ScaleBuffers {
    x: Vec<f64>,
    direction: Vec<f64>,
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
            .filter(|(_, placed)| {
                let family = &placed.0.family;
                matches!(family, BlockFamily::Gamma(_) | BlockFamily::Positive(..))
            })
            .filter_map(|(gamma, _)| Self::new(model, gamma))
            .collect()
    }

    fn new(model: &Compiled, gamma: usize) -> Option<Self> {
        let (local, posterior) = (&model.local, &model.posterior);
        let dim = local.own_first();
        let told = |statistic: usize, mean: f64| {
            let mut changes = vec![0.0; posterior.statistics()];
            changes[posterior.blocks()[gamma].1 + statistic] = mean;
            let mut messages = vec![0.0; dim];
            posterior.backward_changes(&vec![0.0; dim], &changes, &mut messages);
            messages
        };
        let messages = told(1, -1.0);
        let sees = |slot: u32| messages[slot as usize] != 0.0;
        if local.rows.iter().any(|rows| rows.looks_at(sees)) {
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
        let form = &forms[range_of(placed)];
        let chosen = effects(family, form);
        let alone = fields.next().is_none() && !chosen.is_empty();
        let nonzero = (0..).zip(form).filter(|(_, entry)| **entry != 0.0);
        let scale = Self {
            gamma,
            field,
            form: nonzero.map(|(place, &entry)| (place, entry)).collect(),
            effects: Effect::all(family, form, &chosen),
            logarithm: (0..posterior.blocks()[gamma].0.len())
                .filter(|&statistic| statistic != 1)
                .any(|statistic| told(statistic, 1.0).iter().any(|message| *message != 0.0)),
        };
        (alone && is_prior(&scale.effects, family, form)).then_some(scale)
    }
}

impl Effect {
    pub(super) fn all(family: &Gaussian, form: &[f64], chosen: &[u32]) -> Vec<Self> {
        let n = family.scalars();
        let mut place = vec![usize::MAX; n];
        let mut all: Vec<Self> = vec![];
        for &scalar in chosen {
            let scalar = scalar as usize;
            place[scalar] = all.len();
            all.push(Self {
                scalar,
                shift: form[scalar],
                square: form[n + scalar],
                mean: vec![],
                joined: vec![],
            });
        }
        for (pair, &(i, j)) in family.pairs().iter().enumerate() {
            for (one, other) in [(i, j), (j, i)] {
                if let Some(effect) = all.get_mut(place[one as usize]) {
                    let parameter = 2 * n + pair;
                    effect.joined.push((other, parameter as u32));
                    if form[parameter] != 0.0 {
                        effect.mean.push((other, form[parameter]));
                    }
                }
            }
        }
        all
    }

    /// How far it is from its mean given the rest of the field.
    pub(super) fn distance(&self, x: &[f64]) -> f64 {
        let joined = self.mean.iter().map(|&(other, c)| c * x[other as usize]);
        // The form is -½ H x² and so on, with H among the second statistics.
        x[self.scalar] + (joined.sum::<f64>() - self.shift) / self.square
    }
}

impl super::Chain<'_> {
    /// Moves each precision together with its effects, by a slice along the line on which their prior stays the same.
    pub(super) fn rescale<R: Rng + ?Sized>(&mut self, rng: &mut R) {
        if self.scales.is_empty() {
            return;
        }
        self.tell();
        let scales = std::mem::take(&mut self.scales);
        let mut field = usize::MAX;
        for scale in &scales {
            if scale.field != field {
                field = scale.field;
                let targets = self.targets[0][field].iter();
                let ScaleBuffers { x, direction } = &mut self.work.scale;
                x.clear();
                x.extend(targets.map(|&target| self.numbers[target as usize]));
                direction.clear();
                direction.resize(x.len(), 0.0);
            }
            self.rescale_one(scale, rng);
        }
        self.scales = scales;
    }

    fn rescale_one<R: Rng + ?Sized>(&mut self, scale: &Scale, rng: &mut R) {
        let (local, posterior) = (&self.model.local, &self.model.posterior);
        let placed = &local.blocks().0[scale.field];
        let first = posterior.blocks()[scale.gamma].1;
        let precision = -self.collapsed[first + 1];
        let (shape, prior_rate) = (self.work.given[first], posterior.base(first + 1));
        let family = &posterior.blocks()[scale.gamma].0.family;
        let more = More::new(family, &self.work.given[first..], precision.ln_());
        let natural = &mut self.work.shared[range_of(placed)];
        let ScaleBuffers { x, direction } = &mut self.work.scale;
        let n = x.len();
        for effect in &scale.effects {
            direction[effect.scalar] = effect.distance(x);
        }
        // Natural parameters ν along x₀ + s d: d'(h - Λx) and d'Λd, and what of the latter is the form's. Its slope is
        // zero at x₀.
        let (mut slope, mut curve, mut own) = (0.0, 0.0, 0.0);
        for effect in &scale.effects {
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
        // ⟨rest, u(x₀ + s d)⟩ = constant + linear s + square s².
        let linear = slope + curve;
        let square = -0.5 * (curve - precision * own);
        // Volumes grow by s for each effect and fall by s² for the precision; the measure of scales is ds / s,
        // and the logarithm of s is what moves.
        let power = scale.effects.len() as f64 - 2.0 * shape;
        let density = |y: f64| {
            let s = y.exp_();
            let plain = power * y + linear * s + square * s * s;
            plain - prior_rate * precision / (s * s) + more.ln_density(y)
        };
        let s = slice(density, rng).exp_();
        let moved = precision / (s * s);
        let finite = |effect: &Effect| {
            let far = direction[effect.scalar];
            (x[effect.scalar] + (s - 1.0) * far).is_finite()
        };
        let inside = moved > 0.0 && moved.is_finite() && scale.effects.iter().all(finite);
        let targets = &self.targets[0][scale.field];
        for effect in &scale.effects {
            let far = std::mem::take(&mut direction[effect.scalar]);
            if inside {
                x[effect.scalar] += (s - 1.0) * far;
                self.numbers[targets[effect.scalar] as usize] = x[effect.scalar];
            }
        }
        if !inside {
            return;
        }
        for &(place, entry) in &scale.form {
            natural[place as usize] += (moved - precision) * entry;
        }
        // What is told of the logarithm is not in these natural parameters alone.
        self.work.told &= !scale.logarithm;
        let number = &mut self.numbers[self.targets[2][scale.gamma][0] as usize];
        let statistics = &mut self.collapsed[first..];
        if let BlockFamily::Positive(family, told) = family {
            family.statistics(&moved.ln_(), &mut statistics[..4]);
            *number = told.number(moved.ln_());
        } else {
            statistics[0] = moved.ln_();
            statistics[1] = -moved;
            *number = moved;
        }
    }
}

/// What a positive number's density has beside that of a gamma variable.
struct More<'a> {
    family: Option<&'a Positive>,
    /// The natural parameters of its inverse and of its squared logarithm.
    inverse: f64,
    square: f64,
    ln_precision: f64,
}

impl<'a> More<'a> {
    fn new(family: &'a BlockFamily, natural: &[f64], ln_precision: f64) -> Self {
        let family = match family {
            BlockFamily::Positive(family, _) => Some(family),
            _ => None,
        };
        let given = |has: bool, place: usize| if has { natural[place] } else { 0.0 };
        Self {
            inverse: given(family.is_some_and(Positive::has_inverse), 2),
            square: given(family.is_some_and(Positive::has_square), 3),
            family,
            ln_precision,
        }
    }

    /// Its logarithm where the precision is divided by e^{2y}.
    fn ln_density(&self, y: f64) -> f64 {
        let Some(family) = self.family else {
            return 0.0;
        };
        let log = self.ln_precision - 2.0 * y;
        let (lower, upper) = family.bounds();
        // A precision at a bound is there up to rounding.
        if y != 0.0 && (log < lower.ln_() || log > upper.ln_()) {
            return f64::NEG_INFINITY;
        }
        let inverse = if self.inverse == 0.0 {
            0.0
        } else {
            self.inverse * (-log).exp_()
        };
        family.tail().ln_value(log) - inverse - 0.5 * self.square * log * log
    }
}

/// Whether nothing is left of a form once the effects are at their means: then it is their prior.
pub(super) fn is_prior(effects: &[Effect], family: &Gaussian, form: &[f64]) -> bool {
    // No special values of scalars are among these.
    let x: Vec<f64> = (0..family.scalars())
        .map(|i| (1.3 * i as f64 + 0.7).sin_())
        .collect();
    let mut centre = x.clone();
    for effect in effects {
        centre[effect.scalar] -= effect.distance(&x);
    }
    let left = dot(family, form, &centre);
    left.abs() <= NOTHING * dot(family, form, &x).abs()
}

/// Scalars that the form is quadratic in and that no two of which it joins: those with the fewest others first.
pub(super) fn effects(family: &Gaussian, form: &[f64]) -> Vec<u32> {
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
pub(super) fn dot(family: &Gaussian, natural: &[f64], x: &[f64]) -> f64 {
    let mut statistics = vec![0.0; natural.len()];
    family.write_statistics(x, &mut statistics);
    natural.iter().zip(&statistics).map(|(n, u)| n * u).sum()
}

/// A draw of a number with this log density from zero, by stepping out and shrinking (Neal03).
pub(super) fn slice<R: Rng + ?Sized>(density: impl Fn(f64) -> f64, rng: &mut R) -> f64 {
    let level = density(0.0) + (1.0 - rng.random::<f64>()).ln_();
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
