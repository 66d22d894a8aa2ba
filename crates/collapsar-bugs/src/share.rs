//! Decides what share one of two exponentials has in their sum: a probability whose log odds are a polynomial.

use std::rc::Rc;

use crate::value::{Inverse, Scalar};

/// A sum of two, each an exponential of a polynomial or a positive number, not both numbers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pair(Rc<[Scalar; 2]>);

impl Pair {
    /// The sum of two numbers, where it is one of exponentials.
    pub(crate) fn new(a: &Scalar, b: &Scalar) -> Option<Self> {
        let known = |x: &Scalar| matches!(x, Scalar::Known(x) if *x > 0.0 && x.is_finite());
        let exponential = |x: &Scalar| matches!(x, Scalar::Linked(Inverse::Log, _));
        let fits = match (exponential(a), exponential(b)) {
            (true, true) => true,
            (true, false) => known(b),
            (false, true) => known(a),
            (false, false) => false,
        };
        fits.then(|| Self(Rc::new([a.clone(), b.clone()])))
    }

    /// The sum times a positive number.
    pub(crate) fn times(&self, factor: f64) -> Scalar {
        let [a, b] = &*self.0;
        let factor = Scalar::Known(factor);
        let more = Self::new(&a.times(&factor), &b.times(&factor));
        more.map_or(Scalar::Opaque, Scalar::Pair)
    }

    /// What is divided by the sum: e^a / (e^a + e^b) has the log odds a - b, and so has r / (r + μ) with r for e^a.
    pub(crate) fn divides(&self, part: &Scalar) -> Scalar {
        let [a, b] = &*self.0;
        let (own, other) = match part {
            part if part == a => (a, b),
            part if part == b => (b, a),
            _ => return Scalar::Opaque,
        };
        let (Some(own), Some(other)) = (own.exponent(), other.exponent()) else {
            return Scalar::Opaque;
        };
        match own.minus(&other) {
            Scalar::Polynomial(psi) => Scalar::Linked(Inverse::Logit, psi),
            Scalar::Known(psi) => Scalar::Known(1.0 / (1.0 + (-psi).exp())),
            _ => Scalar::Opaque,
        }
    }
}

impl Scalar {
    /// The logarithm of an exponential or of a positive number.
    fn exponent(&self) -> Option<Self> {
        match self {
            Self::Known(x) if *x > 0.0 => Some(Self::Known(x.ln())),
            Self::Linked(Inverse::Log, psi) => Some(Self::Polynomial(psi.clone())),
            _ => None,
        }
    }
}
