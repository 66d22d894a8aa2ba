//! Decides which labels have states that could as well be called otherwise: exchanging two of them, with everything that
//! is indexed by them, leaves the log joint as it is (maths §10.7).

use std::collections::{BTreeMap, BTreeSet};

use super::rows::{RowPart, Rows, Sums};
use super::{Atom, Graph, Kind};
use collapsar_core::special::ln_gamma;

/// Coefficients that differ by less, relative to their size, are the same sum in another order.
const SAME: f64 = 1e-9;

/// Labels whose states can be permuted, and what moves with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symmetry {
    /// How many states there are, all of which may be exchanged.
    pub states: usize,
    /// The labels, in order.
    pub labels: Vec<u32>,
    /// Variables that there is one of for each state, such as the means of a mixture: by state.
    pub orbits: Vec<Vec<u32>>,
    /// Proportions whose parts are the states, such as the weights of a mixture.
    pub parted: Vec<u32>,
}

impl Symmetry {
    /// The logarithm of the number of permutations, $\ln K!$.
    pub fn ln_permutations(&self) -> f64 {
        ln_gamma(self.states as f64 + 1.0)
    }
}

/// What the exchange of state 0 and another does to variables and to parts of proportions.
#[derive(Debug, Default)]
struct Exchange {
    other: u32,
    labels: BTreeSet<u32>,
    moved: BTreeMap<u32, u32>,
    parted: BTreeSet<u32>,
}

impl Graph {
    /// The labels whose states are exchangeable, all of them: labels of one name together.
    pub fn symmetries(&self) -> Vec<Symmetry> {
        let mut classes: BTreeMap<(u32, usize), Vec<u32>> = BTreeMap::new();
        for declared in &self.declared {
            if let Kind::Label(states) = declared.kind {
                let class = (self.namesake(declared.first), states);
                let labels = classes.entry(class).or_default();
                labels.extend(declared.variables());
            }
        }
        let symmetries = classes.into_iter();
        symmetries
            .filter_map(|((_, states), labels)| self.symmetry(states, labels))
            .collect()
    }

    fn symmetry(&self, states: usize, labels: Vec<u32>) -> Option<Symmetry> {
        if states < 2 {
            return None;
        }
        let set: BTreeSet<u32> = labels.iter().copied().collect();
        let mut orbits: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let mut parted = BTreeSet::new();
        for other in 1..states as u32 {
            let exchange = Exchange {
                other,
                labels: set.clone(),
                ..Exchange::default()
            };
            let exchange = exchange.of(self)?;
            let firsts: Vec<u32> = (exchange.moved.iter())
                .filter(|(from, to)| match orbits.get(from) {
                    Some(_) => true,
                    None => other == 1 && from < to,
                })
                .map(|(&from, _)| from)
                .collect();
            if firsts.len() * 2 != exchange.moved.len() {
                return None;
            }
            for first in firsts {
                let orbit = orbits.entry(first).or_insert_with(|| vec![first]);
                orbit.push(exchange.moved[&first]);
            }
            parted.extend(exchange.parted);
        }
        let whole = orbits.values().all(|orbit| orbit.len() == states);
        whole.then(|| Symmetry {
            states,
            labels,
            orbits: orbits.into_values().collect(),
            parted: parted.into_iter().collect(),
        })
    }
}

impl Exchange {
    /// Finds what has to move, and checks that then nothing has changed.
    fn of(mut self, graph: &Graph) -> Option<Self> {
        for rows in &graph.rows {
            if self.labels.contains(&rows.first) {
                self.learn_rows(graph, rows)?;
            }
        }
        self.learn_terms(graph)?;
        let keeps = self.keeps_terms(graph) && self.keeps_rows(graph) && self.keeps_bounds(graph);
        (keeps && self.keeps_exponentials(graph)).then_some(self)
    }

    /// What becomes of a state, or of a part of proportions that is one.
    fn state(&self, state: u32) -> u32 {
        match state {
            0 => self.other,
            state if state == self.other => 0,
            state => state,
        }
    }

    /// What becomes of an atom.
    fn image(&self, atom: Atom) -> Atom {
        let variable = self.moved.get(&atom.variable).copied();
        let states = self.labels.contains(&atom.variable) || self.parted.contains(&atom.variable);
        Atom {
            variable: variable.unwrap_or(atom.variable),
            part: if states {
                self.state(atom.part)
            } else {
                atom.part
            },
        }
    }

    /// Learns from a product of state 0 and the same of the other state.
    fn learn(&mut self, graph: &Graph, one: &[Atom], other: &[Atom]) -> Option<()> {
        if one.len() != other.len() {
            return None;
        }
        for (a, b) in one.iter().zip(other) {
            let (kind, same) = (graph.kind(a.variable), a.variable == b.variable);
            if kind != graph.kind(b.variable) {
                return None;
            }
            if a.part != b.part {
                let states = matches!(kind, Kind::Dirichlet(_)) && self.state(a.part) == b.part;
                if !states {
                    return None;
                }
                self.parted.extend([a.variable, b.variable]);
            }
            if !same {
                for (from, to) in [(a, b), (b, a)] {
                    let known = *self.moved.entry(from.variable).or_insert(to.variable);
                    if known != to.variable {
                        return None;
                    }
                }
            }
        }
        Some(())
    }

    fn learn_rows(&mut self, graph: &Graph, rows: &Rows) -> Option<()> {
        for (sums, one, other) in self.paired(rows)? {
            let products = |place: usize| sums.entries.row(place).map(|(product, _)| product);
            if products(one).count() != products(other).count() {
                return None;
            }
            for (a, b) in products(one).zip(products(other)) {
                let [a, b] = [a, b].map(|product| rows.products.atoms(product as usize));
                self.learn(graph, a, b)?;
            }
        }
        Some(())
    }

    /// Sums of rows, each with the places of a state's and of what that state becomes.
    fn paired<'a>(&self, rows: &'a Rows) -> Option<Vec<(&'a Sums, usize, usize)>> {
        let mut pairs = vec![];
        let states = rows.states;
        for part in &rows.parts {
            match part {
                RowPart::Lookup { sums, .. } => {
                    for key in 0..sums.len() / states {
                        for state in 0..states {
                            let image = self.state(state as u32) as usize;
                            pairs.push((sums, key * states + state, key * states + image));
                        }
                    }
                }
                RowPart::Features { sums, .. } => {
                    let features = sums.len() / states;
                    for state in 0..states {
                        let image = self.state(state as u32) as usize;
                        for feature in 0..features {
                            pairs.push((
                                sums,
                                state * features + feature,
                                image * features + feature,
                            ));
                        }
                    }
                }
                // Which states a row may have is its own, and so are squares.
                RowPart::Support { .. } | RowPart::Squares { .. } => return None,
            }
        }
        Some(pairs)
    }

    /// Terms of the same labels whose states are exchanged, in the order in which they were added, tell of one another.
    fn learn_terms(&mut self, graph: &Graph) -> Option<()> {
        let mut by_labels: BTreeMap<Vec<Atom>, Vec<usize>> = BTreeMap::new();
        for term in 0..graph.terms.len() {
            let own = |atom: &&Atom| self.labels.contains(&atom.variable);
            let labels: Vec<Atom> = graph
                .terms
                .atoms(term)
                .iter()
                .filter(own)
                .copied()
                .collect();
            if !labels.is_empty() {
                by_labels.entry(labels).or_default().push(term);
            }
        }
        for (labels, terms) in &by_labels {
            let image: Vec<Atom> = labels.iter().map(|&atom| self.image(atom)).collect();
            let images = by_labels.get(&image)?;
            if terms.len() != images.len() {
                return None;
            }
            let set = self.labels.clone();
            let others = |term: usize| -> Vec<Atom> {
                let atoms = graph.terms.atoms(term).iter();
                atoms
                    .filter(|atom| !set.contains(&atom.variable))
                    .copied()
                    .collect()
            };
            for (&one, &other) in terms.iter().zip(images) {
                self.learn(graph, &others(one), &others(other))?;
            }
        }
        Some(())
    }

    fn keeps_terms(&self, graph: &Graph) -> bool {
        let mut atoms = vec![];
        graph.terms.each().all(|(one, coefficient, _)| {
            atoms.clear();
            atoms.extend(one.iter().map(|&atom| self.image(atom)));
            atoms.sort_unstable();
            let other = graph.terms.find(&atoms);
            other.is_some_and(|other| same(coefficient, graph.terms.get(other).1))
        })
    }

    fn keeps_exponentials(&self, graph: &Graph) -> bool {
        graph.exponentials.all().iter().all(|one| {
            let mut atoms: Vec<Atom> = one.atoms.iter().map(|&atom| self.image(atom)).collect();
            atoms.sort_unstable();
            let slopes = one.predictor.slopes.iter();
            let image = |variable| self.image(Atom { variable, part: 0 }).variable;
            let mut slopes: Vec<(u32, f64)> = slopes
                .map(|&(variable, slope)| (image(variable), slope))
                .collect();
            slopes.sort_by_key(|slope| slope.0);
            let other = graph.exponentials.find(&atoms, &slopes);
            other.is_some_and(|other| {
                same(one.coefficient, other.coefficient)
                    && same(one.predictor.offset, other.predictor.offset)
            })
        })
    }

    fn keeps_rows(&self, graph: &Graph) -> bool {
        graph.rows.iter().all(|rows| {
            if !self.labels.contains(&rows.first) {
                // Other rows must see nothing of it.
                let stays = |atom: &Atom| self.image(*atom) == *atom;
                return rows
                    .products
                    .each()
                    .all(|(atoms, ..)| atoms.iter().all(stays));
            }
            let image = |product: u32| -> Vec<Atom> {
                let atoms = rows.products.atoms(product as usize).iter();
                let mut atoms: Vec<Atom> = atoms.map(|&atom| self.image(atom)).collect();
                atoms.sort_unstable();
                atoms
            };
            let pairs = self.paired(rows).unwrap_or_default();
            pairs.iter().all(|&(sums, one, other)| {
                let mut images: Vec<Product> = (sums.entries.row(one))
                    .map(|(product, value)| (image(product), value))
                    .collect();
                let mut others: Vec<Product> = (sums.entries.row(other))
                    .map(|(product, value)| (rows.products.atoms(product as usize).to_vec(), value))
                    .collect();
                images.sort_by(|a, b| a.0.cmp(&b.0));
                others.sort_by(|a, b| a.0.cmp(&b.0));
                let equal = |(a, b): (&Product, &Product)| a.0 == b.0 && same(a.1, b.1);
                same(sums.constants[one], sums.constants[other])
                    && images.len() == others.len()
                    && images.iter().zip(&others).all(equal)
            })
        })
    }

    fn keeps_bounds(&self, graph: &Graph) -> bool {
        let bounds = |variable: &u32| (graph.bounds.get(variable), graph.shapes.get(variable));
        (self.moved.iter()).all(|(from, to)| bounds(from) == bounds(to))
    }
}

/// A product with its coefficient.
type Product = (Vec<Atom>, f64);

fn same(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= SAME * a.abs().max(b.abs())
}

#[cfg(test)]
mod tests {
    use collapsar_core::elementary::Elementary;

    use super::*;

    /// Two labels of two states, each with a count that has a rate by state, and weights.
    fn mixture(rates: [f64; 2]) -> Graph {
        let mut graph = Graph::default();
        let labels = graph.declare("z", Kind::Label(2), 2).expect("few");
        let rate = graph.declare("rate", Kind::Gamma, 2).expect("few");
        let weights = graph.declare("pi", Kind::Dirichlet(2), 1).expect("few");
        let factor = graph.factor("all");
        let atom = |variable, part| Atom { variable, part };
        for state in 0..2 {
            graph.add(-rates[state as usize], &[atom(rate + state, 1)], factor);
            for label in 0..2 {
                let z = atom(labels + label, state);
                graph.add(1.0, &[z, atom(weights, state)], factor);
                graph.add(3.0 + f64::from(label), &[z, atom(rate + state, 0)], factor);
                graph.add(-1.0, &[z, atom(rate + state, 1)], factor);
            }
        }
        graph
    }

    #[test]
    fn components_with_one_prior_can_be_exchanged() {
        let found = mixture([0.5, 0.5]).symmetries();
        let expected = Symmetry {
            states: 2,
            labels: vec![0, 1],
            orbits: vec![vec![2, 3]],
            parted: vec![4],
        };
        assert_eq!(found, [expected]);
        // A rounding of ln Γ(3).
        assert!((found[0].ln_permutations() - 2.0_f64.ln_()).abs() < 1e-14);
    }

    #[test]
    fn components_with_priors_of_their_own_cannot() {
        assert!(mixture([0.5, 0.6]).symmetries().is_empty());
    }

    #[test]
    fn a_term_of_one_component_alone_tells_it_apart() {
        let mut graph = mixture([0.5, 0.5]);
        let factor = graph.factor("seen");
        graph.add(
            1.0,
            &[Atom {
                variable: 2,
                part: 0,
            }],
            factor,
        );
        assert!(graph.symmetries().is_empty());
    }
}
