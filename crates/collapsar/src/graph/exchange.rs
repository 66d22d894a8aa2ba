//! Decides whether the states of labels may be exchanged: permutations of numbers that leave the joint density as it is (maths §10.10).
//!
//! A mixture has as many equal modes as its states have orders. Which numbers belong to which state is not
//! told by the terms of rows; so each way in which arrays may follow the states is tried on a draw, and the joint density says
//! which one is right.

use super::Kind;
use super::kept::Kept;

use collapsar_core::elementary::Elementary;

/// Labels with more states than this have too many orders to average over.
const STATES: usize = 5;
/// Ways that are tried at most.
const WAYS: usize = 100;
/// Joint densities that differ by less than this, for each nat of their size, are equal but for rounding.
const ROUNDING: f64 = 1e-9;

/// Orders of states that leave the posterior as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// How many states there are.
    pub states: usize,
    /// For each order, the place from which each number is taken; only the given order where there are too many.
    pub orders: Vec<Vec<usize>>,
}

impl Exchange {
    /// The logarithm of the number of orders that `orders` leaves out.
    pub fn ln_left_out(&self) -> f64 {
        let all: f64 = (1..=self.states).map(|k| (k as f64).ln_()).sum();
        all - (self.orders.len() as f64).ln_()
    }
}

/// How an array follows the states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Not at all.
    Not,
    /// The parts of each variable are those of the states.
    Parts,
    /// The variable at place v is that of state (v / inner) mod K.
    Variables { inner: usize },
    /// Both: a table of transitions.
    Both,
}

/// An array that is kept: where its numbers begin, how many variables it has, and how many numbers each.
struct Array {
    first: usize,
    count: usize,
    elements: usize,
    ways: Vec<Way>,
}

impl Kept<'_> {
    /// Orders of states that leave the posterior as it is, found by trying them at coordinates; none where there is
    /// only one.
    pub fn exchange(&self, at: &[f64]) -> Option<Exchange> {
        let declared = self.model.declared();
        let mut states: Vec<usize> = (declared.iter())
            .filter_map(|declared| match declared.kind {
                Kind::Label(states) if states > 1 => Some(states),
                _ => None,
            })
            .collect();
        states.sort_unstable();
        states.dedup();
        states
            .into_iter()
            .find_map(|states| self.exchanged(states, at))
    }

    fn exchanged(&self, states: usize, at: &[f64]) -> Option<Exchange> {
        let arrays = self.arrays(states);
        let ways = arrays.iter().map(|array| array.ways.len());
        let total = ways.fold(1_usize, usize::saturating_mul);
        if total > WAYS {
            return None;
        }
        let numbers = self.numbers(at);
        let before = self.ln_joint(at);
        // The two that make all: the first two exchanged, and all in turn.
        let mut swap: Vec<usize> = (0..states).collect();
        swap.swap(0, 1);
        let turn: Vec<usize> = (0..states).map(|k| (k + 1) % states).collect();
        let same = |way: usize, order: &[usize]| {
            let moved: Vec<f64> = (places(&arrays, way, order, numbers.len()).iter())
                .map(|&place| numbers[place])
                .collect();
            let after = self.ln_joint(&self.coordinates(&moved));
            (after - before).abs() <= ROUNDING * (1.0 + before.abs())
        };
        // Way 0 moves nothing, and what does not move this draw is no order of states.
        let moves = |way: usize| {
            let places = places(&arrays, way, &swap, numbers.len());
            (places.iter().enumerate()).any(|(place, &from)| numbers[place] != numbers[from])
        };
        let way = (1..total).find(|&way| moves(way) && same(way, &swap) && same(way, &turn))?;
        let orders = if states <= STATES {
            orders(states)
        } else {
            vec![(0..states).collect()]
        };
        let orders = orders
            .iter()
            .map(|order| places(&arrays, way, order, numbers.len()));
        Some(Exchange {
            states,
            orders: orders.collect(),
        })
    }

    /// The arrays that are kept, with the ways in which each may follow so many states.
    fn arrays(&self, states: usize) -> Vec<Array> {
        let mut arrays = vec![];
        let mut first = 0;
        for declared in self.model.declared() {
            let (count, elements) = (declared.count as usize, declared.kind.elements());
            if count > 0 && self.holds(declared.first) {
                let mut ways = vec![Way::Not];
                let parts = declared.kind == Kind::Dirichlet(states);
                if parts && count == states {
                    ways.push(Way::Both);
                }
                if parts {
                    ways.push(Way::Parts);
                }
                if count.is_multiple_of(states) {
                    ways.push(Way::Variables {
                        inner: count / states,
                    });
                    if count > states {
                        ways.push(Way::Variables { inner: 1 });
                    }
                }
                arrays.push(Array {
                    first,
                    count,
                    elements,
                    ways,
                });
            }
            first += count * elements;
        }
        arrays
    }
}

/// The place from which each number is taken, where arrays follow an order of states in one of their ways.
fn places(arrays: &[Array], mut way: usize, order: &[usize], len: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..len).collect();
    for array in arrays {
        let choice = array.ways[way % array.ways.len()];
        way /= array.ways.len();
        for variable in 0..array.count {
            let from = match choice {
                Way::Not | Way::Parts => variable,
                Way::Both => order[variable],
                Way::Variables { inner } => {
                    let state = variable / inner % order.len();
                    variable + (order[state] * inner) - state * inner
                }
            };
            for element in 0..array.elements {
                let part = match choice {
                    Way::Parts | Way::Both => order[element],
                    Way::Not | Way::Variables { .. } => element,
                };
                places[array.first + variable * array.elements + element] =
                    array.first + from * array.elements + part;
            }
        }
    }
    places
}

/// All orders of so many states, the one that moves nothing first.
fn orders(states: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for state in 0..states {
        let longer = |order: &Vec<usize>| {
            (0..=order.len())
                .rev()
                .map(|place| {
                    let mut order = order.clone();
                    order.insert(place, state);
                    order
                })
                .collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_orders_once() {
        let mut all = orders(4);
        assert_eq!((all.len(), all[0].as_slice()), (24, &[0, 1, 2, 3][..]));
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 24);
    }

    #[test]
    fn tables_follow_in_both_directions() {
        // Two states: a table of transitions, then two means of each state.
        let arrays = [
            Array {
                first: 0,
                count: 2,
                elements: 2,
                ways: vec![Way::Both],
            },
            Array {
                first: 4,
                count: 4,
                elements: 1,
                ways: vec![Way::Variables { inner: 2 }],
            },
        ];
        assert_eq!(places(&arrays, 0, &[1, 0], 8), [3, 2, 1, 0, 6, 7, 4, 5]);
    }
}
