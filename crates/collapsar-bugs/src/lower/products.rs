//! Decides how the product of two sums becomes terms: like products together, in order.

use collapsar::graph::Atom;

use super::Halt;
use super::emit::{Emit, Rate};
use crate::value::{Item, Product, Unknown};

/// Most unknowns of a product that is kept without a list of its own.
const MOST: usize = 4;

/// Unknowns as numbers from 1, sorted; zeros follow, so that keys are ordered as lists are.
type Key = [u64; MOST];

impl Emit<'_> {
    /// Adds `factor` times a rate times the product of two sums of products of Gaussians.
    pub(super) fn add_product(
        &mut self,
        factor: f64,
        rate: &Rate,
        a: &Item,
        b: &Item,
    ) -> Result<(), Halt> {
        let expanded = match (a, b) {
            (Item::Sum(a), Item::Sum(b)) => expand(a, b),
            _ => None,
        };
        let Some(expanded) = expanded else {
            let products = a.times(b).products().unwrap_or_default();
            return self.add_times(factor, rate, &products);
        };
        let mut atoms: Vec<Atom> = (rate.gammas.iter())
            .map(|&variable| Atom { variable, part: 1 })
            .collect();
        for (key, coefficient) in expanded {
            atoms.truncate(rate.gammas.len());
            for unknown in unknowns(key) {
                atoms.push(self.factor_atom(unknown)?);
            }
            self.add(factor * rate.coefficient * coefficient, &atoms)?;
        }
        Ok(())
    }
}

/// What [`Item::times`] gives, without a list for each product; nothing where one has too many unknowns.
fn expand(a: &[Product], b: &[Product]) -> Option<Vec<(Key, f64)>> {
    let longest = |products: &[Product]| products.iter().map(|p| p.unknowns.len()).max();
    if longest(a)? + longest(b)? > MOST {
        return None;
    }
    let mut found = Vec::with_capacity(a.len() * b.len());
    for a in a {
        for b in b {
            let mut key = [0; MOST];
            let both = a.unknowns.iter().chain(&b.unknowns);
            for (word, unknown) in key.iter_mut().zip(both) {
                *word = (u64::from(unknown.variable) << 32 | u64::from(unknown.element)) + 1;
            }
            key[..a.unknowns.len() + b.unknowns.len()].sort_unstable();
            found.push((key, a.coefficient * b.coefficient));
        }
    }
    // Stable: what is alike is added up in the order in which it was found.
    found.sort_by_key(|product| product.0);
    found.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    found.retain(|product| product.1 != 0.0);
    Some(found)
}

fn unknowns(key: Key) -> impl Iterator<Item = Unknown> {
    let words = key.into_iter().take_while(|word| *word > 0);
    words.map(|word| Unknown {
        variable: ((word - 1) >> 32) as u32,
        element: (word - 1) as u32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_items() {
        let x = |k: u32| Item::unknown(k, k % 2);
        let of = |number: f64| Item::Known(number);
        let sums = [
            x(0).plus(&of(0.1)),
            x(3).minus(&x(1).times(&x(2))).plus(&of(1.7)),
            x(1).times(&x(2)).plus(&x(3)).plus(&x(0).times(&of(0.3))),
            x(0).minus(&of(0.1)),
            x(1).times(&x(1)).plus(&x(1)),
        ];
        for a in &sums {
            for b in &sums {
                let (Item::Sum(left), Item::Sum(right)) = (a, b) else {
                    panic!("sums");
                };
                let found = expand(left, right).unwrap();
                let found: Vec<Product> = (found.into_iter())
                    .map(|(key, coefficient)| Product {
                        coefficient,
                        unknowns: unknowns(key).collect(),
                    })
                    .collect();
                assert_eq!(found, a.times(b).products().unwrap());
            }
        }
        let cube = sums[4].times(&x(0)).times(&x(2));
        let (Item::Sum(four), Item::Sum(one)) = (&cube, &sums[0]) else {
            panic!("sums");
        };
        assert_eq!(expand(four, one), None);
    }
}
