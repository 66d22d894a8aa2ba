//! Decides which products are not multiplied out: those with factors 1 - x, such as the pieces of a broken stick.

use std::rc::Rc;

use crate::value::{Monomial, Scalar, Unknown};

/// A coefficient times unknowns and what some lack to one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Product {
    pub(crate) coefficient: f64,
    /// Unknowns, and whether one less each is meant; sorted.
    pub(crate) factors: Vec<(Unknown, bool)>,
}

/// Most factors 1 - x that are multiplied out: each doubles the monomials.
const MOST: usize = 12;

impl Product {
    /// What is a product already: a number, one monomial, or one less an unknown.
    fn of(scalar: &Scalar) -> Option<Self> {
        if let Scalar::Product(product) = scalar {
            return Some(product.as_ref().clone());
        }
        if let Some((coefficient, unknown, true)) = scalar.multiple_or_complement() {
            return (coefficient == -1.0).then(|| Self {
                coefficient: 1.0,
                factors: vec![(unknown, true)],
            });
        }
        let monomial = scalar.monomial()?;
        Some(Self {
            coefficient: monomial.coefficient,
            factors: (monomial.unknowns.into_iter())
                .map(|unknown| (unknown, false))
                .collect(),
        })
    }

    fn complements(&self) -> usize {
        self.factors.iter().filter(|factor| factor.1).count()
    }

    /// As simple as it can be said.
    fn scalar(self) -> Scalar {
        if self.coefficient == 0.0 || self.factors.is_empty() {
            return Scalar::Known(self.coefficient);
        }
        if self.complements() == 0 || self.factors.len() == 1 {
            return self.expanded().unwrap_or(Scalar::Opaque);
        }
        Scalar::Product(Rc::new(self))
    }

    /// The product of two, where it is one that is not multiplied out.
    pub(crate) fn joined(a: &Scalar, b: &Scalar) -> Option<Scalar> {
        let known = |scalar: &Scalar| scalar.known().is_some();
        let product = |scalar: &Scalar| matches!(scalar, Scalar::Product(_));
        if (known(a) || known(b)) && !product(a) && !product(b) {
            return None;
        }
        let (a, b) = (Self::of(a)?, Self::of(b)?);
        if a.complements() + b.complements() == 0 {
            return None;
        }
        let mut factors = [a.factors, b.factors].concat();
        factors.sort_unstable();
        let coefficient = a.coefficient * b.coefficient;
        Some(
            Self {
                coefficient,
                factors,
            }
            .scalar(),
        )
    }

    /// One product over another, where all factors of the second are among those of the first.
    pub(crate) fn reduced(a: &Scalar, b: &Scalar) -> Option<Scalar> {
        let (mut a, b) = (Self::of(a)?, Self::of(b)?);
        for factor in &b.factors {
            let place = a.factors.iter().position(|own| own == factor)?;
            a.factors.remove(place);
        }
        a.coefficient /= b.coefficient;
        Some(a.scalar())
    }

    /// Multiplied out; nothing where that is too long.
    pub(crate) fn expanded(&self) -> Option<Scalar> {
        if self.complements() > MOST {
            return None;
        }
        let mut monomials = vec![Monomial {
            coefficient: self.coefficient,
            unknowns: vec![],
        }];
        for &(unknown, complement) in &self.factors {
            let times = monomials.iter().map(|monomial| Monomial {
                coefficient: if complement { -1.0 } else { 1.0 } * monomial.coefficient,
                unknowns: [monomial.unknowns.as_slice(), &[unknown]].concat(),
            });
            let times: Vec<Monomial> = times.collect();
            if complement {
                monomials.extend(times);
            } else {
                monomials = times;
            }
        }
        for monomial in &mut monomials {
            monomial.unknowns.sort_unstable();
        }
        Some(Scalar::of(monomials))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worth of a scalar where each unknown has a number of its own.
    fn worth(scalar: &Scalar) -> f64 {
        let monomials = scalar.monomials().unwrap();
        let number = |unknown: &Unknown| 0.3 + 0.1 * f64::from(unknown.variable);
        let monomials = monomials.iter();
        monomials
            .map(|m| m.coefficient * m.unknowns.iter().map(number).product::<f64>())
            .sum()
    }

    #[test]
    fn products_are_worth_what_they_are_multiplied_out() {
        let x = |variable: u32| Scalar::unknown(variable, 0);
        let less = |variable: u32| Scalar::Known(1.0).minus(&x(variable));
        let stick = x(3).times(&less(1)).times(&less(2));
        assert!(matches!(stick, Scalar::Product(_)));
        assert!((worth(&stick) - 0.6 * 0.6 * 0.5).abs() < 1e-15);
        // p[k] <- v[k] * (1 - v[k-1]) * p[k-1] / v[k-1]
        let before = x(2).times(&less(1));
        let recursive = x(3).times(&less(2)).times(&before).over(&x(2));
        assert_eq!(recursive, stick);
        assert_eq!(stick.over(&less(1)).over(&less(2)), x(3));
        assert_eq!(stick.times(&Scalar::Known(0.0)), Scalar::Known(0.0));
        assert!((worth(&Scalar::Known(1.0).minus(&stick)) - 0.82).abs() < 1e-15);
        assert_eq!(
            x(1).times(&less(1)).plus(&x(1).power(&Scalar::Known(2.0))),
            x(1)
        );
        let long = (0..40).fold(Scalar::Known(1.0), |product, k| product.times(&less(k)));
        assert!(matches!(long, Scalar::Product(_)) && long.monomials().is_none());
    }
}
