//! Decides what share one of several exponentials has in their sum: a probability whose log odds are a polynomial, or a
//! cell of a softmax.

use std::rc::Rc;

use crate::value::{Inverse, Scalar};

use collapsar::elementary::Elementary;

/// A sum of exponentials of polynomials, and of a positive number perhaps; two parts at least.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pair(Rc<Vec<Scalar>>);

/// What one exponential, or a positive number, is of a sum of three or more.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Share {
    pub(crate) own: Rc<Scalar>,
    all: Pair,
}

fn is_exponential(x: &Scalar) -> bool {
    matches!(x, Scalar::Linked(Inverse::Log, _))
}

fn is_positive(x: &Scalar) -> bool {
    matches!(x, Scalar::Known(x) if *x > 0.0 && x.is_finite())
}

impl Pair {
    /// The sum of two numbers, where it is one of exponentials.
    pub(crate) fn new(a: &Scalar, b: &Scalar) -> Option<Self> {
        let summed = |x: &Scalar| is_exponential(x) || matches!(x, Scalar::Pair(_));
        if !summed(a) && !summed(b) {
            return None;
        }
        let parts = |x: &Scalar| match x {
            Scalar::Pair(sum) => Some(sum.0.as_ref().clone()),
            x if is_exponential(x) || is_positive(x) => Some(vec![x.clone()]),
            _ => None,
        };
        let mut all = parts(a)?;
        for part in parts(b)? {
            let known = all
                .iter_mut()
                .find(|x| is_positive(x) && is_positive(&part));
            match known {
                Some(known) => *known = known.plus(&part),
                None => all.push(part),
            }
        }
        Some(Self(Rc::new(all)))
    }

    /// The sum times a positive number.
    pub(crate) fn times(&self, factor: f64) -> Scalar {
        let factor = Scalar::Known(factor);
        let all: Vec<Scalar> = self.0.iter().map(|part| part.times(&factor)).collect();
        let fits = all
            .iter()
            .all(|part| is_exponential(part) || is_positive(part));
        if fits {
            return Scalar::Pair(Self(Rc::new(all)));
        }
        Scalar::Opaque
    }

    /// What is divided by the sum: e^a / (e^a + e^b) has the log odds a - b, and so has r / (r + μ) with r for e^a.
    pub(crate) fn divides(&self, part: &Scalar) -> Scalar {
        let [a, b] = self.0.as_slice() else {
            if is_exponential(part) || is_positive(part) {
                let own = Rc::new(part.clone());
                let all = self.clone();
                return Scalar::Share(Share { own, all });
            }
            return Scalar::Opaque;
        };
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
            Scalar::Known(psi) => Scalar::Known(1.0 / (1.0 + (-psi).exp_())),
            _ => Scalar::Opaque,
        }
    }
}

/// The parts of a sum, where numbers are all its shares: what a softmax is of.
pub(crate) fn softmax(shares: &[Scalar]) -> Option<Vec<&Scalar>> {
    let mut parts = vec![];
    let mut whole = None;
    for share in shares {
        let Scalar::Share(share) = share else {
            return None;
        };
        if whole.is_some_and(|whole| whole != &share.all) {
            return None;
        }
        whole = Some(&share.all);
        parts.push(share.own.as_ref());
    }
    // Each exponential once, and numbers that add up to the one that is there.
    let mut left: Vec<&Scalar> = whole?.0.iter().collect();
    let mut number = 0.0;
    for part in &parts {
        match part {
            Scalar::Known(x) => number += x,
            part => {
                let place = left.iter().position(|x| x == part)?;
                left.swap_remove(place);
            }
        }
    }
    let rest = match left.as_slice() {
        [] => 0.0,
        [Scalar::Known(x)] => *x,
        _ => return None,
    };
    ((rest - number).abs() <= 1e-9 * rest).then_some(parts)
}

impl Scalar {
    /// The logarithm of an exponential or of a positive number.
    fn exponent(&self) -> Option<Self> {
        match self {
            Self::Known(x) if *x > 0.0 => Some(Self::Known(x.ln_())),
            Self::Linked(Inverse::Log, psi) => Some(Self::Polynomial(psi.clone())),
            _ => None,
        }
    }
}
