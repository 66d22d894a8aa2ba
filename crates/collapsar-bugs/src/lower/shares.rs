//! Decides which probabilities are summed out: those of a beta distribution within bounds that only counts depend on.
//!
//! Given its shapes, what is left of p ~ dbeta(a, b) T(l, u) under x successes and y failures is
//! B(a + x, b + y)/B(a, b), times a ratio of the probabilities between the bounds (maths §9.13). So p has no nodes, only
//! its shapes do, and it is drawn afterwards.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use collapsar::elementary::Elementary;
use collapsar::special::{beta_cdf, ln_beta};

use super::censored::Names;
use super::emit::Emit;
use crate::distribution::Distribution;
use crate::elaborate::{Elaborated, Mode, Resolved, Sampling, Scope};
use crate::syntax::ast::Node;
use crate::value::{Scalar, Value};

/// Trials up to which a ratio of beta functions is a product, which keeps all digits however large shapes are.
const FEW: f64 = 4096.0;

/// What is known of a probability that is summed out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Share {
    pub(crate) successes: f64,
    pub(crate) failures: f64,
    pub(crate) lower: f64,
    pub(crate) upper: f64,
    /// Whether the density is one within the bounds.
    normalised: bool,
}

/// Probabilities that are summed out, by line and repetition, and the lines of their counts.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    lines: BTreeMap<usize, Vec<Share>>,
    counts: BTreeSet<usize>,
}

impl Shares {
    /// All lines of probabilities within bounds that nothing but counts depends on.
    pub(super) fn find(model: &Elaborated) -> Self {
        let mut found = Self::default();
        for (index, line) in model.lines.iter().enumerate() {
            let Some(of) = line.sampling() else { continue };
            let bounded = of.distribution == Distribution::Beta && of.truncation.is_some();
            // With known shapes it has a grid of its own, which tells more than draws do.
            let unknown = |above: &usize| {
                let above = &model.lines[*above];
                above.stochastic() && !model.arrays[above.array].is_data()
            };
            if bounded
                && model.lines_above(index).iter().any(unknown)
                && let Some((shares, counts)) = shares(model, (index, of))
            {
                found.lines.insert(index, shares);
                found.counts.extend(counts);
            }
        }
        found
    }

    /// The lines, each with its repetitions.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, usize)> {
        self.lines
            .iter()
            .map(|(line, shares)| (*line, shares.len()))
    }

    /// What is known of a repetition, where it is summed out.
    pub(crate) fn of(&self, line: usize, instance: usize) -> Option<Share> {
        self.lines.get(&line)?.get(instance).copied()
    }

    /// Whether a line is one of counts whose probabilities are summed out.
    pub(super) fn counts(&self, line: usize) -> bool {
        self.counts.contains(&line)
    }
}

/// What is known of each repetition of a line, and the lines of counts; none where one is observed, or read by anything else.
fn shares(
    model: &Elaborated,
    (index, of): (usize, Sampling),
) -> Option<(Vec<Share>, BTreeSet<usize>)> {
    let shape = Scope::new(model, Mode::Shape);
    let mut found = vec![];
    for instance in 0..model.lines[index].instances {
        shape.enter(index, instance);
        let element = *shape.targets(index, instance).ok()?.first()?;
        if model.arrays[model.lines[index].array]
            .value(element)
            .is_some()
        {
            return None;
        }
        let truncation = of.truncation.as_ref()?;
        let end = |expr: &Option<_>, absent: f64| match expr {
            Some(expr) => shape.evaluate(expr).ok()?.single()?.known(),
            None => Some(absent),
        };
        found.push(Share {
            successes: 0.0,
            failures: 0.0,
            lower: end(&truncation.lower, 0.0)?.max(0.0),
            upper: end(&truncation.upper, 1.0)?.min(1.0),
            normalised: truncation.normalised,
        });
    }
    let mut counts = BTreeSet::new();
    for (other, reader) in model.lines.iter().enumerate() {
        let below = other != index && model.lines_above(other).contains(&index);
        let Some(of) = reader.sampling().filter(|_| below) else {
            continue;
        };
        if is_prediction(model, other) {
            continue;
        }
        count(model, (other, of), index, &mut found)?;
        counts.insert(other);
    }
    (!counts.is_empty()).then_some((found, counts))
}

/// Whether a line has no data, nor has any that depends on it.
fn is_prediction(model: &Elaborated, line: usize) -> bool {
    let observed = |line: usize| {
        let array = &model.arrays[model.lines[line].array];
        (0..array.len()).any(|element| array.value(element).is_some())
    };
    let stochastic = |other: &usize| model.lines[*other].stochastic();
    let below = |other: &usize| model.lines_above(*other).contains(&line);
    let others = (0..model.lines.len()).filter(stochastic).filter(below);
    !observed(line) && !others.into_iter().any(observed)
}

/// Adds the counts of a line to what is known of the probabilities that they are of; none where they are of anything else.
fn count(
    model: &Elaborated,
    (line, of): (usize, Sampling),
    index: usize,
    found: &mut [Share],
) -> Option<()> {
    let single = match of.distribution {
        Distribution::Bernoulli => true,
        Distribution::Binomial => false,
        _ => return None,
    };
    let (Node::Reference(_), None) = (&of.arguments[0].node, of.truncation) else {
        return None;
    };
    let array = &model.arrays[model.lines[line].array];
    let shape = Scope::new(model, Mode::Shape);
    for instance in 0..model.lines[line].instances {
        let names = Names(RefCell::default());
        let scope = Scope::within(model, Mode::Latent(&names), line, instance);
        let value = scope.evaluate(&of.arguments[0]).ok()?;
        let (1.0, _) = value.single()?.multiple()? else {
            return None;
        };
        let names = names.0.into_inner();
        let [definer] = names.as_slice() else {
            return None;
        };
        if definer.line as usize != index {
            return None;
        }
        shape.enter(line, instance);
        let x = array.value(*shape.targets(line, instance).ok()?.first()?)?;
        let n = if single {
            1.0
        } else {
            shape.evaluate(&of.arguments[1]).ok()?.single()?.known()?
        };
        // What there cannot be is for the line itself to refuse.
        if x.fract() != 0.0 || n.fract() != 0.0 || !(0.0..=n).contains(&x) {
            return None;
        }
        let share = found.get_mut(definer.instance as usize)?;
        share.successes += x;
        share.failures += n - x;
    }
    Some(())
}

impl Share {
    /// The logarithm of what is left of a density with these shapes.
    fn ln_left(&self, a: f64, b: f64) -> f64 {
        let (x, y) = (self.successes, self.failures);
        let whole = if x + y <= FEW {
            let steps = |shape: f64, trials: f64, before: f64| -> f64 {
                let step = |k: u32| {
                    let k = f64::from(k);
                    ((shape + k) / (a + b + before + k)).ln_()
                };
                (0..trials as u32).map(step).sum()
            };
            steps(a, x, 0.0) + steps(b, y, x)
        } else {
            ln_beta(a + x, b + y) - ln_beta(a, b)
        };
        let inside = |a: f64, b: f64| {
            let below = if self.lower > 0.0 {
                beta_cdf(a, b, self.lower)
            } else {
                0.0
            };
            let above = if self.upper < 1.0 {
                beta_cdf(b, a, 1.0 - self.upper)
            } else {
                0.0
            };
            1.0 - below - above
        };
        let before = if self.normalised { inside(a, b) } else { 1.0 };
        let after = inside(a + x, b + y);
        if before > 0.0 && after > 0.0 {
            whole + (after / before).ln_()
        } else {
            f64::NEG_INFINITY
        }
    }
}

impl Emit<'_> {
    /// What a probability that is summed out leaves.
    pub(super) fn share(&mut self, share: Share, arguments: &[Value]) -> Resolved {
        let shape = |place: usize| {
            let value = arguments.get(place).and_then(Value::single);
            self.positive(place, value.unwrap_or(&Scalar::Opaque))
        };
        let (a, b) = (shape(0)?, shape(1)?);
        self.add(share.ln_left(a, b), &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_the_integral() {
        let share = |x: f64, y: f64, lower: f64, upper: f64, normalised: bool| Share {
            successes: x,
            failures: y,
            lower,
            upper,
            normalised,
        };
        for (a, b) in [(2.0, 3.0), (1.5, 7.0), (40.0, 4.0)] {
            for (x, y) in [(0.0, 0.0), (3.0, 1.0), (0.0, 5.0)] {
                for (lower, upper) in [(0.0, 1.0), (0.0, 0.9), (0.2, 0.7), (0.05, 1.0)] {
                    // By the trapezoidal rule between the bounds.
                    let integral = |a: f64, b: f64| {
                        let parts = 20_000;
                        let step = (upper - lower) / f64::from(parts);
                        let density = |p: f64| p.powf_(a - 1.0) * (1.0 - p).powf_(b - 1.0);
                        let inner: f64 = (1..parts)
                            .map(|part| density(lower + step * f64::from(part)))
                            .sum();
                        step * (inner + 0.5 * (density(lower) + density(upper)))
                    };
                    let left = integral(a + x, b + y);
                    for (normalised, whole) in
                        [(true, integral(a, b)), (false, ln_beta(a, b).exp_())]
                    {
                        let found = share(x, y, lower, upper, normalised).ln_left(a, b);
                        let expected = (left / whole).ln_();
                        assert!(
                            (found - expected).abs() < 1e-5,
                            "{a} {b} {x} {y} {lower} {upper} {found} {expected}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn large_shapes_keep_their_digits() {
        let share = Share {
            successes: 3.0,
            failures: 2.0,
            lower: 0.0,
            upper: 1.0,
            normalised: true,
        };
        // Then p is a/(a + b).
        let found = share.ln_left(1e13, 3e13);
        let expected = 3.0 * 0.25_f64.ln_() + 2.0 * 0.75_f64.ln_();
        assert!((found - expected).abs() < 1e-11);
    }
}
