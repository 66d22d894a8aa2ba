//! Decides how the product of two sums becomes terms: like products together, in order.

use collapsar::graph::Atom;

use super::emit::{Emit, Rate};
use crate::elaborate::Resolved;
use crate::value::{Monomial, Scalar, Unknown};

/// Most unknowns of a product that is kept without a list of its own.
const MOST: usize = 4;

/// Unknowns as numbers from 1, sorted; zeros follow, so that keys are ordered as lists are.
type Key = [u64; MOST];

impl Emit<'_> {
    /// Adds `factor` times a rate times the product of two polynomials in Gaussians.
    pub(super) fn add_product(
        &mut self,
        factor: f64,
        rate: &Rate,
        a: &Scalar,
        b: &Scalar,
    ) -> Resolved {
        self.add_product_of(factor * rate.coefficient, rate.atoms(), a, b)
    }

    /// Adds `factor` times atoms times the product of two polynomials in Gaussians.
    pub(super) fn add_product_of(
        &mut self,
        factor: f64,
        atoms: Vec<Atom>,
        a: &Scalar,
        b: &Scalar,
    ) -> Resolved {
        let expanded = match (a, b) {
            (Scalar::Polynomial(a), Scalar::Polynomial(b)) => expand(a, b),
            _ => None,
        };
        match expanded {
            Some(products) => {
                let products = products.into_iter();
                let products = products.map(|(key, coefficient)| (coefficient, unknowns(key)));
                self.add_products(factor, atoms, products)
            }
            None => self.add_times(factor, atoms, &a.times(b)),
        }
    }
}

/// What [`Scalar::times`] gives, without a list for each product; nothing where one has too many unknowns.
fn expand(a: &[Monomial], b: &[Monomial]) -> Option<Vec<(Key, f64)>> {
    let longest = |products: &[Monomial]| products.iter().map(|p| p.unknowns.len()).max();
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
        let x = |k: u32| Scalar::unknown(k, k % 2);
        let of = |number: f64| Scalar::Known(number);
        let sums = [
            x(0).plus(&of(0.1)),
            x(3).minus(&x(1).times(&x(2))).plus(&of(1.7)),
            x(1).times(&x(2)).plus(&x(3)).plus(&x(0).times(&of(0.3))),
            x(0).minus(&of(0.1)),
            x(1).times(&x(1)).plus(&x(1)),
        ];
        for a in &sums {
            for b in &sums {
                let (Scalar::Polynomial(left), Scalar::Polynomial(right)) = (a, b) else {
                    panic!("sums");
                };
                let found = expand(left, right).unwrap();
                let found: Vec<Monomial> = (found.into_iter())
                    .map(|(key, coefficient)| Monomial {
                        coefficient,
                        unknowns: unknowns(key).collect(),
                    })
                    .collect();
                assert_eq!(found, a.times(b).monomials().unwrap());
            }
        }
        let cube = sums[4].times(&x(0)).times(&x(2));
        let (Scalar::Polynomial(four), Scalar::Polynomial(one)) = (&cube, &sums[0]) else {
            panic!("sums");
        };
        assert_eq!(expand(four, one), None);
    }
}
