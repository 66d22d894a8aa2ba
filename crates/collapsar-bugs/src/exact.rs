//! Decides what of computed and predicted numbers is known without draws: sums of normal variables,
//! multiples of others, and what has constant parameters.

use collapsar::family::Marginal;
use collapsar::graph::{Kind, PosteriorMarginal, PosteriorMarginals, VariationalPosterior};

use crate::distribution::Distribution;
use crate::elaborate::{Definer, Latent, Mode, Scope, Stop};
use crate::lower::{Form, Lowered, Variables};
use crate::model::number;
use crate::predict::Drawer;
use crate::quantity::{Origin, Quantity};
use crate::syntax::ast::Span;
use crate::value::{Item, Value};

/// What q says in closed form of more than its own numbers.
pub(crate) struct Exact<'a> {
    lowered: &'a Lowered,
    answer: &'a VariationalPosterior<'a>,
    symbols: Symbols<'a>,
}

impl<'a> Exact<'a> {
    pub(crate) fn new(lowered: &'a Lowered, answer: &'a VariationalPosterior<'a>) -> Self {
        let symbols = Symbols(&lowered.variables);
        Self {
            lowered,
            answer,
            symbols,
        }
    }

    /// What is known of a quantity, if anything.
    pub(crate) fn belief(
        &self,
        quantity: &Quantity,
        beliefs: Option<&PosteriorMarginals>,
    ) -> Option<PosteriorMarginal> {
        let model = &self.lowered.model;
        match quantity.origin {
            Origin::Computed => {
                let scope = Scope::new(model, Mode::Latent(&self.symbols));
                let (array, element) = quantity.place;
                let item = scope.element(array, element, Span::default()).ok()?;
                match self.sum(&item) {
                    Some((mean, variance)) => normal(mean, variance),
                    None => self.multiple(&item, beliefs?),
                }
            }
            Origin::Predicted => {
                let definer = self.definer(quantity)?;
                let line = &model.lines[definer.line as usize];
                let of = line.sampling()?;
                let scope = Scope::within(
                    model,
                    Mode::Latent(&self.symbols),
                    definer.line as usize,
                    definer.instance as usize,
                );
                let values = scope.evaluate_all(of.arguments).ok()?;
                let numbers: Option<Vec<_>> = values.iter().map(Value::numbers).collect();
                if let Some(numbers) = numbers {
                    let drawer = Drawer::new(of.distribution, &numbers, line.size);
                    return drawer.ok()??.belief(definer.offset as usize);
                }
                let [mean, precision] = values.as_slice() else {
                    return None;
                };
                let precision = precision.single()?.known()?;
                if of.distribution != Distribution::Normal || precision.is_nan() || precision <= 0.0
                {
                    return None;
                }
                let (mean, variance) = self.sum(mean.single()?)?;
                normal(mean, variance + precision.recip())
            }
            _ => None,
        }
    }

    /// The value of the first state of a predicted label.
    pub(crate) fn lowest(&self, quantity: &Quantity) -> f64 {
        let line = |definer: Definer| &self.lowered.model.lines[definer.line as usize];
        let line = self.definer(quantity).map(line);
        let lowest = line.and_then(|line| line.sampling()?.distribution.lowest_state());
        f64::from(lowest.unwrap_or(0))
    }

    fn definer(&self, quantity: &Quantity) -> Option<Definer> {
        let (array, element) = quantity.place;
        self.lowered.model.arrays[array].definer(element)
    }

    /// What is known of a positive multiple of one number, or of one minus a share.
    fn multiple(&self, item: &Item, beliefs: &PosteriorMarginals) -> Option<PosteriorMarginal> {
        let Item::Sum(products) = item else {
            return None;
        };
        let (less, product) = match products.as_slice() {
            [one] if one.coefficient > 0.0 => (false, one),
            [one, less] if one.unknowns.is_empty() && one.coefficient == 1.0 => (true, less),
            _ => return None,
        };
        let [unknown] = product.unknowns.as_slice() else {
            return None;
        };
        let kind = self.lowered.variables.kind(unknown.variable);
        let element = number(kind, unknown.element) as usize;
        let PosteriorMarginal::Closed(marginal) = beliefs.of(unknown.variable, element)? else {
            return None;
        };
        let c = product.coefficient;
        Some(PosteriorMarginal::Closed(match (*marginal, less) {
            (Marginal::Gamma { shape, rate }, false) => Marginal::Gamma {
                shape,
                rate: rate / c,
            },
            (Marginal::Beta { a, b }, false) if c == 1.0 => Marginal::Beta { a, b },
            (Marginal::Beta { a, b }, true) if c == -1.0 => Marginal::Beta { a: b, b: a },
            _ => return None,
        }))
    }

    /// Mean and variance of a sum of normal variables with coefficients.
    fn sum(&self, item: &Item) -> Option<(f64, f64)> {
        let Item::Sum(products) = item else {
            return None;
        };
        let (mut constant, mut terms) = (0.0, vec![]);
        for product in products.iter() {
            match product.unknowns.as_slice() {
                [] => constant = product.coefficient,
                [one] if self.lowered.variables.kind(one.variable) == Kind::Gaussian => {
                    terms.push((one.variable, product.coefficient));
                }
                _ => return None,
            }
        }
        let (mean, variance) = self.answer.of_sum(&terms)?;
        Some((constant + mean, variance))
    }
}

fn normal(mean: f64, variance: f64) -> Option<PosteriorMarginal> {
    let sd = variance.sqrt();
    sd.is_finite()
        .then_some(PosteriorMarginal::Closed(Marginal::Normal { mean, sd }))
}

/// Unknown elements as symbols; what depends on labels or on predictions has none.
struct Symbols<'a>(&'a Variables);

impl Latent for Symbols<'_> {
    fn latent(&self, definer: Definer) -> Result<Item, Stop> {
        match self.0.form(definer) {
            Form::Unknown(variable, element) => Ok(Item::unknown(variable, element)),
            Form::Zero => Ok(Item::Known(0.0)),
            Form::Label(variable, _) => Err(Stop::Need(variable)),
            Form::Predicted => Ok(Item::Opaque),
        }
    }
}
