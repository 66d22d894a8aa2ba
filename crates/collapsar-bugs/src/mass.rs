//! Decides what sums and differences of normal probabilities are: the mass between two predictors.

use std::rc::Rc;

use crate::value::{Monomial, Scalar};

/// An end of an interval; nothing where it has none.
type End = Option<Rc<Vec<Monomial>>>;

/// The probability that a standard normal number is between two polynomials.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mass {
    pub(crate) lower: End,
    pub(crate) upper: End,
}

impl Mass {
    /// That of all numbers: one.
    const WHOLE: Self = Self {
        lower: None,
        upper: None,
    };

    /// Φ of a polynomial.
    pub(crate) fn below(upper: Rc<Vec<Monomial>>) -> Scalar {
        Scalar::Mass(Rc::new(Self {
            lower: None,
            upper: Some(upper),
        }))
    }

    /// Two intervals that touch are one.
    pub(crate) fn plus(&self, other: &Self) -> Scalar {
        let (lower, upper) = match (self, other) {
            (a, b) if a.upper.is_some() && a.upper == b.lower => (&a.lower, &b.upper),
            (a, b) if a.lower.is_some() && a.lower == b.upper => (&b.lower, &a.upper),
            _ => return Scalar::Opaque,
        };
        let (lower, upper) = (lower.clone(), upper.clone());
        match (Self { lower, upper }) {
            Self::WHOLE => Scalar::Known(1.0),
            mass => Scalar::Mass(Rc::new(mass)),
        }
    }

    /// What is left of an interval without one that begins or ends with it.
    pub(crate) fn minus(&self, other: &Self) -> Scalar {
        let (lower, upper) = match (self, other) {
            (a, b) if a == b => return Scalar::Known(0.0),
            (a, b) if a.lower == b.lower => (&b.upper, &a.upper),
            (a, b) if a.upper == b.upper => (&a.lower, &b.lower),
            _ => return Scalar::Opaque,
        };
        let (lower, upper) = (lower.clone(), upper.clone());
        Scalar::Mass(Rc::new(Self { lower, upper }))
    }

    /// One less it.
    pub(crate) fn complement(&self) -> Scalar {
        Self::WHOLE.minus(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Inverse;

    #[test]
    fn cells_of_an_ordered_answer_are_intervals_that_add_up_to_one() {
        let (one, known) = (Scalar::Known(1.0), |x: f64| Scalar::Known(x));
        let mu = Scalar::unknown(0, 0);
        let phi = |cut: f64| known(cut).minus(&mu).linked(Inverse::Probit, |x| x);
        let (a, b) = (phi(-1.0), phi(2.0));
        let cells = [a.clone(), b.minus(&a), one.minus(&b)];
        assert_eq!(one.minus(&cells[0]).minus(&cells[1]), cells[2]);
        assert_eq!(b.minus(&cells[1]), cells[0]);
        let sum = |order: [usize; 3]| {
            let first = cells[order[0]].plus(&cells[order[1]]);
            first.plus(&cells[order[2]])
        };
        assert_eq!((sum([0, 1, 2]), sum([2, 1, 0])), (one.clone(), one.clone()));
        assert_eq!(sum([0, 2, 1]), Scalar::Opaque);
        assert_eq!(a.minus(&a), known(0.0));
        assert_eq!(a.times(&one).plus(&known(0.0)), a);
        assert_eq!(a.times(&known(0.5)), Scalar::Opaque);
        let other = mu.linked(Inverse::Probit, |x| x);
        assert_eq!(other.minus(&cells[1]), Scalar::Opaque);
    }
}
