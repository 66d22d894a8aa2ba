//! Decides where to step: `vbem`, `fr`, `pr`, `hs`, `lbfgs`, `newton`, `auto`.
//!
//! - `conjugate`: the three conjugate rules of HRL12, side by side
//! - `lbfgs`: limited-memory quasi-Newton in the metric
//! - `newton`: truncated Newton
//! - `dense`: Newton with whole matrices, for few messages
//! - `secant`: what the recent steps taught about curvature, for no further pass
//! - `auto`: VBEM's path in leaps, as long as `secant` can foresee
//! - `momentum`: the same where slow directions are many
//! - `iterate`: what a rule sees of a point

mod auto;
mod conjugate;
mod dense;
mod iterate;
mod lbfgs;
mod momentum;
mod newton;
mod secant;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::advice::Advice;
use crate::collapsed::Collapsed;
use crate::error::{Error, Result};
use crate::point::{Point, Warm};

use auto::Auto;
use conjugate::{Beta, Conjugate};
use dense::Dense;
pub(crate) use iterate::Iterate;
use lbfgs::Lbfgs;
use momentum::Momentum;
use newton::Newton;

/// Which direction a run follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// The natural gradient with a unit step: variational Bayesian expectation maximisation.
    Vbem,
    /// Fletcher-Reeves conjugate gradients.
    Fr,
    /// Polak-Ribière conjugate gradients.
    Pr,
    /// Hestenes-Stiefel conjugate gradients as HRL12 writes them: the denominator holds the
    /// previous gradient, where textbooks have the previous direction (maths §5.2).
    Hs,
    /// Limited-memory BFGS in the Fisher metric.
    Lbfgs,
    /// Truncated Newton.
    Newton,
    /// Newton's steps with the metric as a matrix: for models of a few hundred messages at the most.
    Dense,
    /// VBEM's path, faster: in leaps as long as the gradient can be foreseen where slow
    /// directions are few, with momentum where they are many.
    #[default]
    Auto,
}

impl Direction {
    /// Every direction for models of any size, in the order of the documentation.
    pub const ALL: [Self; 7] = [
        Self::Vbem,
        Self::Fr,
        Self::Pr,
        Self::Hs,
        Self::Lbfgs,
        Self::Newton,
        Self::Auto,
    ];

    /// The name, as `--method` takes it.
    pub fn name(self) -> &'static str {
        // In the order of the variants.
        let names = ["vbem", "fr", "pr", "hs", "lbfgs", "newton", "dense", "auto"];
        names[self as usize]
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Direction {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|way| way.name() == name);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::setting("method", format!("{name:?}"), names)
        })
    }
}

/// What a rule says beside its direction.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Proposal {
    /// The coefficient of the previous direction, for conjugate rules.
    pub(crate) beta: Option<f64>,
    /// Fisher norm of the gradient, squared, where the rule computed it.
    pub(crate) squared_norm: Option<f64>,
    /// Whether the direction is the natural gradient itself.
    pub(crate) is_gradient: bool,
    /// Passes that it took to find.
    pub(crate) passes: u64,
}

impl Proposal {
    /// The natural gradient, as VBEM takes it.
    pub(crate) fn gradient(point: &Point, direction: &mut Vec<f64>) -> Self {
        direction.clone_from(&point.gradient);
        Self {
            is_gradient: true,
            ..Self::default()
        }
    }
}

/// A rule with its memory, which a checkpoint carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Rule {
    Vbem,
    Conjugate(Conjugate),
    Lbfgs(Lbfgs),
    Newton(Newton),
    Dense(Dense),
    Auto(Box<Auto>),
    Momentum(Box<Momentum>),
}

impl Rule {
    /// A rule for a model with this advice; `trial` says whether the climb is the trial of a jump.
    pub(crate) fn new(direction: Direction, trial: bool, advice: &Advice<'_>) -> Self {
        let plain_steps = if trial { 0 } else { advice.plain_steps };
        match direction {
            Direction::Vbem => Self::Vbem,
            Direction::Fr => Self::Conjugate(Conjugate::new(Beta::FletcherReeves)),
            Direction::Pr => Self::Conjugate(Conjugate::new(Beta::PolakRibiere)),
            Direction::Hs => Self::Conjugate(Conjugate::new(Beta::HestenesStiefel)),
            Direction::Lbfgs => Self::Lbfgs(Lbfgs::default()),
            Direction::Newton => Self::Newton(Newton::default()),
            Direction::Dense => Self::Dense(Dense::new(plain_steps)),
            Direction::Auto if advice.momentum => {
                Self::Momentum(Box::new(Momentum::new(plain_steps)))
            }
            Direction::Auto => Self::Auto(Box::new(Auto::new(trial))),
        }
    }

    /// Writes the direction to step along from `point`.
    pub(crate) fn propose(
        &mut self,
        point: &Iterate,
        model: &impl Collapsed,
        direction: &mut Vec<f64>,
    ) -> Result<Proposal> {
        match self {
            Self::Vbem => Ok(Proposal::gradient(point, direction)),
            Self::Conjugate(rule) => rule.propose(point, model, direction),
            Self::Lbfgs(rule) => rule.propose(point, model, direction),
            Self::Newton(rule) => rule.propose(point, model, direction),
            Self::Dense(rule) => rule.propose(point, model, direction),
            Self::Auto(rule) => Ok(rule.propose(point, direction)),
            Self::Momentum(rule) => Ok(rule.propose(point, direction)),
        }
    }

    /// Learns that the step to `after` was taken; `fell_back` if it is not the one proposed.
    pub(crate) fn learn(&mut self, before: &Iterate, after: &Iterate, fell_back: bool) {
        match self {
            Self::Vbem => {}
            Self::Newton(rule) => rule.learn(fell_back),
            Self::Conjugate(rule) => rule.learn(before, after),
            Self::Lbfgs(rule) => rule.learn(before, after, fell_back),
            Self::Dense(rule) => rule.learn(fell_back),
            Self::Auto(rule) => rule.learn(before, after, fell_back),
            Self::Momentum(rule) => rule.learn(before, after, fell_back),
        }
    }

    /// Whether a rule that was read from a file can have been made for so many messages and numbers of inner
    /// problems, by `fresh` for the same direction and model.
    pub(crate) fn belongs(&self, fresh: &Self, messages: usize, inner: usize) -> bool {
        let alike = std::mem::discriminant(self) == std::mem::discriminant(fresh);
        alike
            && match self {
                Self::Vbem => true,
                Self::Newton(rule) => rule.belongs(),
                Self::Conjugate(rule) => rule.belongs(messages),
                Self::Lbfgs(rule) => rule.belongs(messages),
                Self::Dense(rule) => rule.belongs(),
                Self::Auto(rule) => rule.belongs(messages),
                Self::Momentum(rule) => rule.belongs(messages, inner),
            }
    }

    /// Whether a small gain should not be taken for convergence.
    pub(crate) fn doubts(&mut self) -> bool {
        match self {
            Self::Dense(rule) => rule.doubts(),
            Self::Auto(rule) => rule.doubts(),
            Self::Momentum(rule) => rule.doubts(),
            _ => false,
        }
    }

    /// Whether its steps are so long that they may lead to a saddle, at which it then stays: VBEM's own steps lead away from there, and
    /// `dense` and `auto` go on for as long as there is a direction that VBEM would leave along.
    pub(crate) fn overlooks_saddles(&self) -> bool {
        matches!(self, Self::Conjugate(_) | Self::Lbfgs(_) | Self::Newton(_))
    }

    /// Where the last step came from and the coefficient with which the proposed step repeats it, for
    /// a model's inner problems to begin as far ahead.
    pub(crate) fn lead(&self) -> Option<(&Warm, f64)> {
        match self {
            Self::Momentum(rule) => rule.lead(),
            _ => None,
        }
    }
}

/// Whether `vectors` are each as long as `length` says, or empty.
fn all_of(length: usize, vectors: &[&Vec<f64>]) -> bool {
    (vectors.iter()).all(|vector| vector.is_empty() || vector.len() == length)
}
