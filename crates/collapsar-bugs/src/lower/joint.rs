//! Decides which means are joint with their precision matrices.

use std::collections::{BTreeMap, BTreeSet};

use super::barren::Barren;
use crate::distribution::Distribution;
use crate::elaborate::{Definer, Elaborated, Latent, Mode, Resolved, Scope};
use crate::syntax::ast::Expr;
use crate::value::Scalar;

/// Lines of means that may be joint with their precision matrix: `dmnorm(known, c * Lambda)` with
/// one mean for each matrix. Gives the line of the matrix and the matrix of each repetition.
pub(super) fn joint_lines(
    model: &Elaborated,
    apart: &BTreeSet<u32>,
    barren: &Barren,
) -> BTreeMap<usize, (usize, Vec<u32>)> {
    let mut found: BTreeMap<usize, (usize, Vec<u32>)> = BTreeMap::new();
    let scope = Scope::new(model, Mode::Latent(&Definers));
    for (index, line) in model.lines.iter().enumerate() {
        let array = &model.arrays[line.array];
        let observed = |element: usize| {
            let definer = array.definer(element);
            array.value(element).is_some() && definer.is_some_and(|d| d.line as usize == index)
        };
        let Some(of) = line.sampling() else {
            continue;
        };
        if of.distribution != Distribution::MultivariateNormal
            || apart.contains(&(index as u32))
            || barren.any(index)
            || (0..array.len()).any(observed)
        {
            continue;
        }
        let pairs = (0..line.instances).map(|instance| {
            scope.enter(index, instance);
            pair(&scope, model, &of.arguments[0], &of.arguments[1])
        });
        let pairs: Vec<(usize, u32)> = pairs.collect::<Option<_>>().unwrap_or_default();
        let Some(&(matrix, _)) = pairs.first() else {
            continue;
        };
        let instances: Vec<u32> = pairs.iter().map(|pair| pair.1).collect();
        let distinct: BTreeSet<u32> = instances.iter().copied().collect();
        if pairs.iter().all(|pair| pair.0 == matrix)
            && distinct.len() == instances.len()
            && instances.len() == model.lines[matrix].instances
            && found.values().all(|(other, _)| *other != matrix)
        {
            found.insert(index, (matrix, instances));
        }
    }
    found
}

/// The Wishart line, and its repetition, that a precision is a multiple of, if the mean is known.
fn pair(scope: &Scope, model: &Elaborated, mean: &Expr, precision: &Expr) -> Option<(usize, u32)> {
    scope.evaluate(mean).ok()?.numbers()?;
    let value = scope.evaluate(precision).ok()?;
    let mut found = None;
    for entry in &value.elements {
        let (_, unknown) = entry.multiple()?;
        if *found.get_or_insert(unknown) != unknown {
            return None;
        }
    }
    // Lines and repetitions stand in the place of variables and elements here.
    let (line, instance) = found.map(|matrix| (matrix.variable as usize, matrix.element))?;
    let wishart = model.lines[line].sampling()?.distribution == Distribution::Wishart;
    let latent = model.arrays[model.lines[line].array].value(0).is_none();
    (wishart && latent).then_some((line, instance))
}

/// Unknown elements as the lines and repetitions that define them.
struct Definers;

impl Latent for Definers {
    fn latent(&self, definer: Definer) -> Resolved<Scalar> {
        Ok(Scalar::unknown(definer.line, definer.instance))
    }
}
