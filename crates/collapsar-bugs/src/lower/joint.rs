//! Decides which means are joint with their precision matrices.

use std::collections::{BTreeMap, BTreeSet};

use super::leaves::Leaves;
use crate::distribution::Distribution;
use crate::elaborate::{Definer, Elaborated, Latent, Mode, Scope, Stop};
use crate::syntax::ast::Expr;
use crate::value::Item;

/// Lines of means that may be joint with their precision matrix: `dmnorm(known, c * Lambda)` with
/// one mean for each matrix. Gives the line of the matrix and the matrix of each repetition.
pub(super) fn joint_lines(
    model: &Elaborated,
    apart: &BTreeSet<u32>,
    leaves: &Leaves,
) -> BTreeMap<usize, (usize, Vec<u32>)> {
    let mut found: BTreeMap<usize, (usize, Vec<u32>)> = BTreeMap::new();
    let definers = Definers;
    let scope = Scope::new(model, Mode::Latent(&definers));
    for (index, line) in model.lines.iter().enumerate() {
        let Some(of) = line.sampling() else {
            continue;
        };
        let latent = (0..model.arrays[line.array].dims.iter().product())
            .filter(|&element| {
                let definer = model.arrays[line.array].definer(element);
                definer.is_some_and(|definer| definer.line == index as u32)
            })
            .all(|element| model.arrays[line.array].value(element).is_none());
        if of.distribution != Distribution::MultivariateNormal
            || apart.contains(&(index as u32))
            || leaves.any(index)
            || !latent
        {
            continue;
        }
        let pairs = (0..line.instances).map(|instance| {
            scope.enter(index, instance);
            pair(&scope, model, &of.arguments[0], &of.arguments[1])
        });
        let Some(pairs) = pairs.collect::<Option<Vec<(usize, u32)>>>() else {
            continue;
        };
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
    for item in &value.items {
        let products = item.products()?;
        let [product] = products.as_slice() else {
            return None;
        };
        let [unknown] = product.unknowns.as_slice() else {
            return None;
        };
        // Lines stand in the place of variables here.
        if found.is_some_and(|found| found != (unknown.variable, unknown.element)) {
            return None;
        }
        found = Some((unknown.variable, unknown.element));
    }
    let (line, instance) = found?;
    let of = &model.lines[line as usize];
    let wishart = of.sampling()?.distribution == Distribution::Wishart;
    let latent = model.arrays[of.array].value(0).is_none();
    (wishart && latent).then_some((line as usize, instance))
}

/// Unknown elements as the lines and repetitions that define them.
struct Definers;

impl Latent for Definers {
    fn latent(&self, definer: Definer) -> Result<Item, Stop> {
        Ok(Item::unknown(definer.line, definer.instance))
    }
}
