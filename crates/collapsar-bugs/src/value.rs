//! Decides what an expression may be worth: numbers, or polynomials in what is not known.

use std::rc::Rc;

use crate::mass::Mass;
use crate::product::Product;
use crate::share::{Pair, Share};

use collapsar::elementary::Elementary;

/// An unknown number: an element of a variable of the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Unknown {
    pub(crate) variable: u32,
    pub(crate) element: u32,
}

/// A product of unknowns with a coefficient; the unknowns are sorted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Monomial {
    pub(crate) coefficient: f64,
    pub(crate) unknowns: Vec<Unknown>,
}

/// What undoes a link function.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Inverse {
    /// e^ψ / (1 + e^ψ)
    Logit,
    /// e^ψ
    Log,
    /// Φ(ψ), which is kept as a [`Mass`].
    Probit,
}

/// One number of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Scalar {
    Known(f64),
    /// A sum of monomials, like ones together, none of them constant but the first perhaps.
    Polynomial(Rc<Vec<Monomial>>),
    /// A product in which some factors are one less an unknown: multiplied out it would be long.
    Product(Rc<Product>),
    /// A function of a polynomial that some distributions have a likelihood for.
    Linked(Inverse, Rc<Vec<Monomial>>),
    /// A sum of exponentials, on the way to log odds or to cells of a softmax.
    Pair(Pair),
    /// A cell of a softmax.
    Share(Share),
    /// A normal probability.
    Mass(Rc<Mass>),
    /// A product of powers of unknowns, sorted, none of them zero, with a coefficient: what is no polynomial, such as a
    /// standard deviation whose precision is unknown. What went through a root stays one, since a root has lost a sign.
    Power(f64, Rc<Vec<(Unknown, f64)>>),
    /// A product of powers of unknowns, which is the first, times the exponential of a polynomial.
    Scaled(Rc<Scalar>, Rc<Vec<Monomial>>),
    /// Known numbers, one for each of many draws at once.
    Draws(Rc<Vec<f64>>),
    /// What no family takes in, such as the logarithm of an unknown.
    Opaque,
}

impl Monomial {
    fn times(&self, other: &Self) -> Self {
        let mut unknowns = [self.unknowns.as_slice(), &other.unknowns].concat();
        unknowns.sort_unstable();
        Self {
            coefficient: self.coefficient * other.coefficient,
            unknowns,
        }
    }
}

/// A product in which zero times infinity is zero, as in JAGS: `(n - r)*log(1 - r/n)` where all n were counted.
fn product(a: f64, b: f64) -> f64 {
    let none = |x: f64, y: f64| x == 0.0 && y.is_infinite();
    if none(a, b) || none(b, a) {
        return 0.0;
    }
    a * b
}

impl Scalar {
    /// A product of powers times an exponential, as which single products and exponentials can be seen.
    fn as_scaled(&self) -> Option<(Self, Self)> {
        match self {
            Self::Linked(Inverse::Log, psi) => Some((Self::Known(1.0), Self::inner(psi))),
            Self::Scaled(scale, psi) => Some((scale.as_ref().clone(), Self::inner(psi))),
            other => other.powers().map(|_| (other.clone(), Self::Known(0.0))),
        }
    }

    /// Its product with another, where one of them has an exponential and none is a sum.
    fn scaled_by(&self, other: &Self) -> Option<Self> {
        let exponential =
            |of: &Self| matches!(of, Self::Linked(Inverse::Log, _) | Self::Scaled(..));
        if !exponential(self) && !exponential(other) {
            return None;
        }
        let ((a, left), (b, right)) = (self.as_scaled()?, other.as_scaled()?);
        Some(Self::of_scaled(a.times(&b), left.plus(&right)))
    }

    /// A product of powers times the exponential of a polynomial.
    fn of_scaled(scale: Self, psi: Self) -> Self {
        match (scale, psi) {
            (Self::Known(0.0), _) => Self::Known(0.0),
            (Self::Known(scale), Self::Polynomial(psi)) if scale > 0.0 => {
                let psi = Self::Polynomial(psi).plus(&Self::Known(scale.ln_()));
                Self::of_inner(Inverse::Log, psi)
            }
            (scale, Self::Polynomial(psi)) => Self::Scaled(Rc::new(scale), psi),
            (scale, Self::Known(psi)) => scale.times(&Self::Known(psi.exp_())),
            _ => Self::Opaque,
        }
    }

    pub(crate) fn unknown(variable: u32, element: u32) -> Self {
        Self::Polynomial(Rc::new(vec![Monomial {
            coefficient: 1.0,
            unknowns: vec![Unknown { variable, element }],
        }]))
    }

    pub(crate) fn known(&self) -> Option<f64> {
        match self {
            Self::Known(value) => Some(*value),
            _ => None,
        }
    }

    /// The number that it is in a draw of many, where it is one.
    pub(crate) fn in_draw(&self, draw: usize) -> Option<f64> {
        match self {
            Self::Draws(values) => Some(values[draw]),
            other => other.known(),
        }
    }

    /// A function of it, which is known by name where it is a polynomial.
    pub(crate) fn linked(&self, inverse: Inverse, function: fn(f64) -> f64) -> Self {
        match self {
            Self::Polynomial(psi) if inverse == Inverse::Probit => Mass::below(psi.clone()),
            Self::Polynomial(monomials) => Self::Linked(inverse, monomials.clone()),
            Self::Product(product) => match product.expanded() {
                Some(Self::Polynomial(monomials)) => Self::Linked(inverse, monomials),
                _ => Self::Opaque,
            },
            _ => self.map(function),
        }
    }

    /// The function that undoes another, which gives back what that was of.
    pub(crate) fn unlinked(&self, inverse: Inverse, function: fn(f64) -> f64) -> Self {
        match self {
            Self::Linked(found, psi) if *found == inverse => Self::inner(psi),
            _ => self.map(function),
        }
    }

    /// Whether it is a probability whose log odds are a polynomial.
    pub(crate) fn is_logistic(&self) -> bool {
        matches!(self, Self::Linked(Inverse::Logit, _))
    }

    /// Whether these have no products of unknowns.
    pub(crate) fn is_log_odds_of_sums(&self) -> bool {
        let single = |monomial: &Monomial| monomial.unknowns.len() < 2;
        matches!(self, Self::Linked(Inverse::Logit, psi) if psi.iter().all(single))
    }

    /// The polynomial that a function is of.
    fn inner(monomials: &Rc<Vec<Monomial>>) -> Self {
        Self::Polynomial(monomials.clone())
    }

    /// The same function of a polynomial that is now another.
    fn of_inner(inverse: Inverse, inner: Self) -> Self {
        match inner {
            Self::Polynomial(monomials) => Self::Linked(inverse, monomials),
            _ => Self::Opaque,
        }
    }

    /// Its monomials; a number is a product of nothing.
    pub(crate) fn monomials(&self) -> Option<Vec<Monomial>> {
        match self {
            Self::Known(value) => Some(vec![Monomial {
                coefficient: *value,
                unknowns: vec![],
            }]),
            Self::Polynomial(monomials) => Some(monomials.as_ref().clone()),
            Self::Product(product) => product.expanded()?.monomials(),
            Self::Linked(..)
            | Self::Scaled(..)
            | Self::Pair(_)
            | Self::Share(_)
            | Self::Mass(_)
            | Self::Power(..)
            | Self::Draws(_)
            | Self::Opaque => None,
        }
    }

    /// The only monomial, where there is one.
    pub(crate) fn monomial(&self) -> Option<Monomial> {
        let mut monomials = self.monomials()?;
        monomials.pop().filter(|_| monomials.is_empty())
    }

    /// One unknown with its coefficient, where there is nothing else.
    pub(crate) fn multiple(&self) -> Option<(f64, Unknown)> {
        let (coefficient, unknown, complement) = self.multiple_or_complement()?;
        (!complement).then_some((coefficient, unknown))
    }

    /// The same, or the same added to one, and whether it is that.
    pub(crate) fn multiple_or_complement(&self) -> Option<(f64, Unknown, bool)> {
        let Self::Polynomial(monomials) = self else {
            return None;
        };
        let (monomial, complement) = match monomials.as_slice() {
            [one] => (one, false),
            [one, less] if one.unknowns.is_empty() && one.coefficient == 1.0 => (less, true),
            _ => return None,
        };
        let [unknown] = monomial.unknowns.as_slice() else {
            return None;
        };
        Some((monomial.coefficient, *unknown, complement))
    }

    pub(crate) fn of(mut monomials: Vec<Monomial>) -> Self {
        monomials.sort_by(|a, b| a.unknowns.cmp(&b.unknowns));
        monomials.dedup_by(|next, kept| {
            let same = next.unknowns == kept.unknowns;
            if same {
                kept.coefficient += next.coefficient;
            }
            same
        });
        monomials.retain(|monomial| monomial.coefficient != 0.0);
        match monomials.as_slice() {
            [] => Self::Known(0.0),
            [one] if one.unknowns.is_empty() => Self::Known(one.coefficient),
            _ => Self::Polynomial(Rc::new(monomials)),
        }
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        match (self, other) {
            (
                Self::Known(0.0),
                linked @ (Self::Linked(..) | Self::Scaled(..) | Self::Mass(_) | Self::Power(..)),
            )
            | (
                linked @ (Self::Linked(..) | Self::Scaled(..) | Self::Mass(_) | Self::Power(..)),
                Self::Known(0.0),
            ) => return linked.clone(),
            (Self::Mass(a), Self::Mass(b)) => return a.plus(b),
            (Self::Linked(Inverse::Logit, a), Self::Linked(Inverse::Logit, b))
                if are_opposite(a, b) =>
            {
                return Self::Known(1.0);
            }
            _ => {}
        }
        if let Some(pair) = Pair::new(self, other) {
            return Self::Pair(pair);
        }
        self.combine(other, |a, b| a + b, |a, b| a.into_iter().chain(b).collect())
    }

    pub(crate) fn minus(&self, other: &Self) -> Self {
        match (self, other) {
            // One less a probability has the opposite odds.
            (Self::Known(1.0), Self::Linked(Inverse::Logit, psi)) => {
                let opposite = Self::inner(psi).times(&Self::Known(-1.0));
                return Self::of_inner(Inverse::Logit, opposite);
            }
            (Self::Known(1.0), Self::Mass(mass)) => return mass.complement(),
            (Self::Mass(a), Self::Mass(b)) => return a.minus(b),
            _ => {}
        }
        self.plus(&other.times(&Self::Known(-1.0)))
    }

    pub(crate) fn times(&self, other: &Self) -> Self {
        if let Some(scaled) = self.scaled_by(other) {
            return scaled;
        }
        match (self, other) {
            (Self::Known(factor), Self::Pair(sum)) | (Self::Pair(sum), Self::Known(factor))
                if *factor > 0.0 =>
            {
                return sum.times(*factor);
            }
            (Self::Known(factor), linked @ Self::Linked(..))
            | (linked @ Self::Linked(..), Self::Known(factor)) => {
                return match *factor {
                    0.0 => Self::Known(0.0),
                    1.0 => linked.clone(),
                    _ => Self::Opaque,
                };
            }
            (Self::Known(0.0), Self::Mass(_) | Self::Power(..))
            | (Self::Mass(_) | Self::Power(..), Self::Known(0.0)) => {
                return Self::Known(0.0);
            }
            (Self::Known(1.0), mass @ Self::Mass(_)) | (mass @ Self::Mass(_), Self::Known(1.0)) => {
                return mass.clone();
            }
            (Self::Power(..), _) | (_, Self::Power(..)) => {
                return match (self.powers(), other.powers()) {
                    (Some(a), Some(b)) => Self::of_powers(a, b),
                    _ => Self::Opaque,
                };
            }
            _ => {}
        }
        if let Some(product) = Product::joined(self, other) {
            return product;
        }
        let join = |a: Vec<Monomial>, b: Vec<Monomial>| {
            let pairs = a.iter().flat_map(|a| b.iter().map(move |b| a.times(b)));
            pairs.collect()
        };
        self.combine(other, product, join)
    }

    pub(crate) fn over(&self, other: &Self) -> Self {
        let opposite = |psi: &Rc<Vec<Monomial>>| Self::inner(psi).times(&Self::Known(-1.0));
        match (self, other) {
            (linked @ (Self::Linked(..) | Self::Scaled(..)), Self::Known(b)) => {
                linked.times(&Self::Known(1.0 / b))
            }
            (_, Self::Pair(sum)) => sum.divides(self),
            (Self::Pair(sum), Self::Known(b)) if *b > 0.0 => sum.times(1.0 / b),
            // Odds.
            (Self::Linked(Inverse::Logit, a), Self::Linked(Inverse::Logit, b))
                if are_opposite(a, b) =>
            {
                Self::Linked(Inverse::Log, a.clone())
            }
            (_, Self::Linked(Inverse::Log, psi)) => {
                self.times(&Self::of_inner(Inverse::Log, opposite(psi)))
            }
            (Self::Polynomial(_) | Self::Product(_) | Self::Power(..), Self::Known(b)) => {
                self.times(&Self::Known(1.0 / b))
            }
            (Self::Polynomial(_) | Self::Product(_), Self::Polynomial(_) | Self::Product(_)) => {
                let reduced = Product::reduced(self, other);
                reduced.unwrap_or_else(|| self.times(&other.raised(-1.0)))
            }
            (_, Self::Polynomial(_) | Self::Power(..) | Self::Scaled(..)) => {
                self.times(&other.raised(-1.0))
            }
            _ => self.map_with(other, |a, b| a / b),
        }
    }

    pub(crate) fn power(&self, exponent: &Self) -> Self {
        match (self, exponent) {
            (Self::Polynomial(_) | Self::Product(_), Self::Known(1.0)) => self.clone(),
            (Self::Polynomial(_) | Self::Product(_) | Self::Draws(_), Self::Known(2.0)) => {
                self.times(self)
            }
            (
                Self::Polynomial(_) | Self::Power(..) | Self::Linked(..) | Self::Scaled(..),
                Self::Known(exponent),
            ) => self.raised(*exponent),
            _ => self.map_with(exponent, f64::powf_),
        }
    }

    /// What is not known to the power of a number.
    fn raised(&self, exponent: f64) -> Self {
        if let (Self::Linked(Inverse::Log, _) | Self::Scaled(..), Some((scale, psi)), true) =
            (self, self.as_scaled(), exponent != 0.0)
        {
            let scale = scale.power(&Self::Known(exponent));
            return Self::of_scaled(scale, psi.times(&Self::Known(exponent)));
        }
        let Some((coefficient, factors)) = self.powers() else {
            return Self::Opaque;
        };
        let raised = coefficient.powf_(exponent);
        let factors = factors
            .into_iter()
            .map(|(of, power)| (of, power * exponent));
        Self::of_powers((raised, factors.collect()), (1.0, vec![]))
    }

    /// The square root.
    pub(crate) fn root(&self) -> Self {
        match self {
            Self::Known(_) | Self::Draws(_) => self.map(f64::sqrt),
            _ => self.raised(0.5),
        }
    }

    /// The factors of a product of powers.
    pub(crate) fn powers(&self) -> Option<(f64, Vec<(Unknown, f64)>)> {
        if let Self::Power(coefficient, factors) = self {
            return Some((*coefficient, factors.as_ref().clone()));
        }
        let monomial = self.monomial()?;
        let factors = monomial.unknowns.into_iter().map(|unknown| (unknown, 1.0));
        Some((monomial.coefficient, together(factors.collect())))
    }

    /// The product of two products of powers.
    fn of_powers(
        (a, mut factors): (f64, Vec<(Unknown, f64)>),
        (b, more): (f64, Vec<(Unknown, f64)>),
    ) -> Self {
        factors.extend(more);
        let (coefficient, factors) = (a * b, together(factors));
        match factors.as_slice() {
            _ if !coefficient.is_finite() => Self::Opaque,
            [] => Self::Known(coefficient),
            _ => Self::Power(coefficient, Rc::new(factors)),
        }
    }

    /// A function that only numbers can be given to.
    pub(crate) fn map(&self, function: impl Fn(f64) -> f64) -> Self {
        match self {
            Self::Known(value) => Self::Known(function(*value)),
            Self::Draws(values) => {
                let values = values.iter().map(|&value| function(value));
                Self::Draws(Rc::new(values.collect()))
            }
            Self::Polynomial(_)
            | Self::Product(_)
            | Self::Linked(..)
            | Self::Scaled(..)
            | Self::Pair(_)
            | Self::Share(_)
            | Self::Mass(_)
            | Self::Power(..)
            | Self::Opaque => Self::Opaque,
        }
    }

    /// A function that only two numbers can be given to.
    pub(crate) fn map_with(&self, other: &Self, function: impl Fn(f64, f64) -> f64) -> Self {
        match (self, other) {
            (_, Self::Known(b)) => self.map(|a| function(a, *b)),
            (Self::Known(a), _) => other.map(|b| function(*a, b)),
            (Self::Draws(a), Self::Draws(b)) => {
                let both = a.iter().zip(b.iter());
                Self::Draws(Rc::new(both.map(|(&a, &b)| function(a, b)).collect()))
            }
            _ => Self::Opaque,
        }
    }

    /// A function of two numbers that polynomials can be given to as well.
    fn combine(
        &self,
        other: &Self,
        numbers: fn(f64, f64) -> f64,
        polynomials: impl FnOnce(Vec<Monomial>, Vec<Monomial>) -> Vec<Monomial>,
    ) -> Self {
        match self.map_with(other, numbers) {
            Self::Opaque => match (self.monomials(), other.monomials()) {
                (Some(a), Some(b)) => Self::of(polynomials(a, b)),
                _ => Self::Opaque,
            },
            found => found,
        }
    }
}

/// Whether one polynomial is the other times minus one.
fn are_opposite(a: &[Monomial], b: &[Monomial]) -> bool {
    let opposite = |(a, b): (&Monomial, &Monomial)| {
        a.unknowns == b.unknowns && a.coefficient == -b.coefficient
    };
    a.len() == b.len() && a.iter().zip(b).all(opposite)
}

/// Each unknown once, with the sum of its powers.
fn together(mut factors: Vec<(Unknown, f64)>) -> Vec<(Unknown, f64)> {
    factors.sort_by_key(|factor| factor.0);
    factors.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    factors.retain(|factor| factor.1 != 0.0);
    factors
}

/// Numbers in an array, the last index running fastest.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Value {
    /// Empty for a single number.
    pub(crate) dims: Vec<usize>,
    pub(crate) elements: Vec<Scalar>,
}

impl Value {
    pub(crate) fn one(element: Scalar) -> Self {
        Self {
            dims: vec![],
            elements: vec![element],
        }
    }

    pub(crate) fn number(value: f64) -> Self {
        Self::one(Scalar::Known(value))
    }

    pub(crate) fn vector(elements: Vec<Scalar>) -> Self {
        Self {
            dims: vec![elements.len()],
            elements,
        }
    }

    /// The only number, where there is one.
    pub(crate) fn single(&self) -> Option<&Scalar> {
        match self.elements.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }

    /// How many draws there are at once, if any.
    pub(crate) fn draws(&self) -> Option<usize> {
        self.elements.iter().find_map(|element| match element {
            Scalar::Draws(values) => Some(values.len()),
            _ => None,
        })
    }

    /// One draw of many.
    pub(crate) fn of_draw(&self, draw: usize) -> Self {
        let number = |element: &Scalar| element.in_draw(draw).map(Scalar::Known);
        self.map(|element| number(element).unwrap_or_else(|| element.clone()))
    }

    /// All elements as numbers.
    pub(crate) fn numbers(&self) -> Option<Vec<f64>> {
        self.elements.iter().map(Scalar::known).collect()
    }

    /// Rows and columns; a vector is a column.
    pub(crate) fn matrix(&self) -> Option<(usize, usize)> {
        match self.dims.as_slice() {
            [] => Some((1, 1)),
            [rows] => Some((*rows, 1)),
            [rows, columns] => Some((*rows, *columns)),
            _ => None,
        }
    }

    /// Element by element, a single one with all of the other; `None` where shapes differ.
    pub(crate) fn zip(
        &self,
        other: &Self,
        function: impl Fn(&Scalar, &Scalar) -> Scalar,
    ) -> Option<Self> {
        let (a, b) = (&self.elements, &other.elements);
        let shape = match (a.len(), b.len()) {
            (a, b) if a == b && self.dims.len() < other.dims.len() => other,
            (a, b) if a == b || b == 1 => self,
            (1, _) => other,
            _ => return None,
        };
        let at = |all: &'_ [Scalar], place: usize| if all.len() == 1 { 0 } else { place };
        let places = 0..shape.elements.len();
        let elements = places.map(|place| function(&a[at(a, place)], &b[at(b, place)]));
        Some(Self {
            dims: shape.dims.clone(),
            elements: elements.collect(),
        })
    }

    pub(crate) fn map(&self, function: impl Fn(&Scalar) -> Scalar) -> Self {
        Self {
            dims: self.dims.clone(),
            elements: self.elements.iter().map(function).collect(),
        }
    }
}
