//! Decides what a model is where the states of some labels are known: the same log joint, without their atoms.

use super::exponential::Exponentials;
use super::rows::{RowPart, Rows, Sums};
use super::terms::Terms;
use super::{Atom, Graph, Kind};

impl Graph {
    /// The graph given the states of labels: where they have these, its log joint is the same, and elsewhere
    /// it is $-\infty$. None where they cannot have them, whatever the other variables are.
    ///
    /// All variables keep their numbers: a label that is known is one that has one possible state and meets
    /// nothing (maths §10.6).
    #[must_use]
    pub fn given(&self, known: &[(u32, u32)]) -> Option<Self> {
        let holds = |rows: &Rows| known.iter().any(|&(label, _)| rows.holds(label));
        let expanded = (self.rows.iter().any(holds)).then(|| self.expanded(holds));
        let whole = expanded.as_ref().unwrap_or(self);
        // Most terms are those of other states: they are passed by, not copied.
        let mut graph = whole.without_terms();
        let mut rest = vec![];
        for (atoms, coefficient, factor) in whole.terms.each() {
            if left(atoms, known, &mut rest) {
                graph.keep(coefficient, &rest, factor);
            }
        }
        for exponential in whole.exponentials.all() {
            if left(&exponential.atoms, known, &mut rest) {
                let predictor = exponential.predictor.clone();
                graph.add_exponential(
                    exponential.coefficient,
                    &rest,
                    predictor,
                    exponential.factor,
                );
            }
        }
        graph.rows = graph.rows.iter().map(|rows| rows.given(known)).collect();
        let factor = graph.factor("a state that is given");
        for &(variable, state) in known {
            for part in (0..graph.kind(variable).atoms() as u32).filter(|part| *part != state) {
                graph.add(f64::NEG_INFINITY, &[Atom { variable, part }], factor);
            }
        }
        (graph.constant > f64::NEG_INFINITY).then_some(graph)
    }

    /// The same variables, rows and bounds without a term.
    fn without_terms(&self) -> Self {
        Self {
            declared: self.declared.clone(),
            factors: self.factors.clone(),
            terms: Terms::default(),
            exponentials: Exponentials::default(),
            rows: self.rows.clone(),
            bounds: self.bounds.clone(),
            shapes: self.shapes.clone(),
            told: self.told.clone(),
            tails: self.tails.clone(),
            units: self.units.clone(),
            constant: self.constant,
            scratch: vec![],
        }
    }
}

/// Writes the atoms that are left of a product once labels are known; false where the product is zero.
fn left(atoms: &[Atom], known: &[(u32, u32)], rest: &mut Vec<Atom>) -> bool {
    rest.clear();
    for atom in atoms {
        match known.iter().find(|(label, _)| *label == atom.variable) {
            Some((_, state)) if *state != atom.part => return false,
            Some(_) => {}
            None => rest.push(*atom),
        }
    }
    true
}

impl Rows {
    /// Whether a label is one of the rows.
    pub(super) fn holds(&self, label: u32) -> bool {
        label >= self.first && ((label - self.first) as usize) < self.count
    }

    /// The rows where labels are known that are none of them.
    fn given(&self, known: &[(u32, u32)]) -> Self {
        let met = |atom: &Atom| known.iter().any(|(label, _)| *label == atom.variable);
        if !(self.products.each()).any(|(atoms, ..)| atoms.iter().any(met)) {
            return self.clone();
        }
        let mut rows = Self::new(self.first, self.count, self.states);
        for part in &self.parts {
            let part = match part {
                RowPart::Lookup { uses, sums } => RowPart::Lookup {
                    uses: uses.clone(),
                    sums: sums.given(known, &self.products, &mut rows),
                },
                RowPart::Features {
                    columns,
                    values,
                    sums,
                } => RowPart::Features {
                    columns: *columns,
                    values: values.clone(),
                    sums: sums.given(known, &self.products, &mut rows),
                },
                RowPart::Squares {
                    columns,
                    values,
                    shapes,
                    sums,
                } => RowPart::Squares {
                    columns: *columns,
                    values: values.clone(),
                    shapes: shapes.clone(),
                    sums: sums.given(known, &self.products, &mut rows),
                },
                support @ RowPart::Support { .. } => support.clone(),
            };
            rows.part(part);
        }
        rows
    }
}

impl Sums {
    /// The same sums of `products` where labels are known, as sums of `rows`.
    fn given(&self, known: &[(u32, u32)], products: &Terms, rows: &mut Rows) -> Self {
        let mut sums = Self::default();
        let mut rest = vec![];
        for (place, &constant) in self.constants.iter().enumerate() {
            let (mut constant, mut factor, mut found) = (constant, 0, vec![]);
            for (product, coefficient) in self.entries.row(place) {
                let (atoms, _, from) = products.get(product as usize);
                if left(atoms, known, &mut rest) {
                    if rest.is_empty() {
                        constant += coefficient;
                    } else {
                        found.push((coefficient, rest.clone()));
                    }
                    factor = from;
                }
            }
            let found = found.iter().map(|(c, atoms)| (*c, atoms.as_slice()));
            rows.sum(&mut sums, constant, found, factor);
        }
        sums
    }
}

impl Graph {
    /// The labels of these arrays.
    pub fn labels_of(&self, names: &[String]) -> Vec<u32> {
        let named = |name: &String| names.contains(name);
        let declared = self.declared.iter().filter(|declared| {
            matches!(declared.kind, Kind::Label(_)) && declared.names.iter().any(named)
        });
        declared.flat_map(super::Declared::variables).collect()
    }
}
