//! Decides which counts with logistic predictors are rows: those of a line that all read the same normal variables.
//!
//! The predictor is derived once, with symbols in the place of the data; each repetition then has numbers that
//! multiply the same unknowns, and its Pólya-Gamma variable multiplies the square of their sum (maths §9.10). So memory is
//! that of the data, not of a term for each pair of coefficients of each repetition.

use std::sync::Arc;

use collapsar::graph::{Atom, Graph, Kind, RowPart, Rows, Sums};
use collapsar::special::ln_gamma;

use super::Stochastic;
use super::emit::Sink;
use super::logistic::NAME;
use super::variables::PLACEHOLDER;
use crate::distribution::Distribution;
use crate::elaborate::Watch;
use crate::value::{Inverse, Monomial, Scalar, Unknown};

/// Fewer repetitions are terms like any other.
const FEWEST: usize = 32;

/// A predictor with symbols for data.
struct Predictor {
    /// The unknowns that it is linear in; nothing for what is known.
    columns: Vec<Option<Unknown>>,
    /// The column, the coefficient and the data of each product.
    products: Vec<(usize, f64, Vec<usize>)>,
    leaves: usize,
}

/// What is added up over repetitions.
struct Sum {
    constant: f64,
    linear: Vec<f64>,
    values: Vec<f64>,
    shapes: Vec<f64>,
}

impl Stochastic<'_> {
    /// Adds all repetitions as rows; false where they are none.
    pub(super) fn by_predictors(&self, graph: &mut Graph) -> bool {
        let instances = self.scope.model.lines[self.line].instances;
        let observed = self.variables.lines[self.line].is_none();
        let counts = matches!(
            self.of.distribution,
            Distribution::Bernoulli | Distribution::Binomial
        );
        let any_barren = self.variables.barren.any(self.line);
        if !counts || !observed || instances < FEWEST || any_barren {
            return false;
        }
        let Some(predictor) = self.predictor() else {
            return false;
        };
        let Some(sum) = self.sum(&predictor) else {
            return false;
        };
        let atom = |unknown: &Unknown| Atom {
            variable: unknown.variable,
            part: 0,
        };
        let columns: Vec<Vec<Atom>> = (predictor.columns.iter())
            .map(|unknown| unknown.iter().map(atom).collect())
            .collect();
        graph.add(sum.constant, &[], self.factor);
        for (column, &linear) in columns.iter().zip(&sum.linear) {
            graph.keep(linear, column, self.factor);
        }
        let count = sum.shapes.len();
        let first = (self.hidden).reserve(self.line, NAME, Kind::PolyaGamma, count);
        for (variable, &shape) in (first..).zip(&sum.shapes) {
            if shape != 1.0 {
                graph.shape(variable, shape);
            }
        }
        let mut rows = Rows::new(first, count, 1);
        let mut sums = Sums::default();
        for (place, a) in columns.iter().enumerate() {
            for b in &columns[place..] {
                let both = [a.as_slice(), b].concat();
                if both.is_empty() {
                    rows.sum(&mut sums, 1.0, [], self.factor);
                } else {
                    rows.sum(&mut sums, 0.0, [(1.0, both.as_slice())], self.factor);
                }
            }
        }
        rows.part(RowPart::Squares {
            columns: columns.len(),
            values: Arc::new(sum.values),
            shapes: sum.shapes,
            sums,
        });
        graph.add_rows(rows).is_ok()
    }

    /// The predictor of the first repetition, where it is linear in normal variables.
    fn predictor(&self) -> Option<Predictor> {
        let (_, arguments) = self.read(0, Watch::Symbols(PLACEHOLDER)).ok()?;
        let leaves = self.scope.leaves.borrow().len();
        let psi = match arguments[0].single()? {
            Scalar::Linked(Inverse::Logit, psi) => psi.clone(),
            _ => return None,
        };
        let is_data = |unknown: &Unknown| unknown.variable >= PLACEHOLDER;
        let of_data = |monomial: &Monomial| monomial.unknowns.iter().all(is_data);
        if let Some(trials) = arguments.get(1) {
            let known = trials.single()?.monomials()?;
            known.iter().all(of_data).then_some(())?;
        }
        let mut sink = Sink::default();
        let mean = Scalar::Polynomial(psi.clone());
        self.emit(0, &mut sink).ok()?.check_mean(&mean).ok()?;
        let (mut columns, mut products) = (vec![], vec![]);
        for Monomial {
            coefficient,
            unknowns,
        } in psi.iter()
        {
            let (data, others): (Vec<Unknown>, Vec<Unknown>) =
                unknowns.iter().partition(|unknown| is_data(unknown));
            let own = match others.as_slice() {
                [] => None,
                [one] if self.variables.kind(one.variable) == Kind::Gaussian => Some(*one),
                _ => return None,
            };
            let column = (columns.iter().position(|known| *known == own)).unwrap_or_else(|| {
                columns.push(own);
                columns.len() - 1
            });
            let data = data
                .iter()
                .map(|leaf| (leaf.variable - PLACEHOLDER) as usize);
            products.push((column, *coefficient, data.collect()));
        }
        Some(Predictor {
            columns,
            products,
            leaves,
        })
    }

    /// What all repetitions add; nothing where they differ in what they read, or where data are refused.
    fn sum(&self, predictor: &Predictor) -> Option<Sum> {
        let width = predictor.columns.len();
        let mut sum = Sum {
            constant: 0.0,
            linear: vec![0.0; width],
            values: vec![],
            shapes: vec![],
        };
        let mut first = None;
        for instance in 0..self.scope.model.lines[self.line].instances {
            let Ok((target, arguments)) = self.read(instance, Watch::Reads) else {
                return None;
            };
            let (seen, leaves) = (self.scope.seen.borrow(), self.scope.leaves.borrow());
            let expected = first.get_or_insert_with(|| seen.clone());
            if *expected != *seen || leaves.len() != predictor.leaves {
                return None;
            }
            let n = match arguments.get(1) {
                Some(trials) => trials.single().and_then(Scalar::known),
                None => Some(1.0),
            };
            let (Some(x), Some(n)) = (target[0].known(), n) else {
                return None;
            };
            // What cannot be is refused elsewhere.
            let whole = |count: f64| count >= 0.0 && count.fract() == 0.0;
            if !whole(x) || !whole(n) || x > n {
                return None;
            }
            if n == 0.0 {
                continue;
            }
            let at = sum.values.len();
            sum.values.resize(at + width, 0.0);
            let row = &mut sum.values[at..];
            for (column, coefficient, data) in &predictor.products {
                let data = data.iter().map(|&leaf| leaves[leaf]);
                row[*column] += data.fold(*coefficient, |product, x| product * x);
            }
            let kappa = x - 0.5 * n;
            for (linear, x) in sum.linear.iter_mut().zip(row) {
                *linear += kappa * *x;
            }
            let ways = ln_gamma(n + 1.0) - ln_gamma(x + 1.0) - ln_gamma(n - x + 1.0);
            sum.constant += ways - n * std::f64::consts::LN_2;
            sum.shapes.push(n);
        }
        Some(sum).filter(|sum| !sum.shapes.is_empty())
    }
}
