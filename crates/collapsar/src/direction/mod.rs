//! Decides where to step: `vbem`, `fr`, `pr`, `hs`, `lbfgs`, `newton`, `auto`.
//!
//! - `conjugate`: the three conjugate rules of HRL12, side by side
//! - `lbfgs`: limited-memory quasi-Newton in the metric
//! - `newton`: truncated Newton
//! - `secant`: what the recent steps taught about curvature, for no further pass
//! - `auto`: VBEM's path in leaps, as long as `secant` can foresee
//! - `momentum`: the same where slow directions are many

mod auto;
mod conjugate;
mod lbfgs;
mod momentum;
mod newton;
mod secant;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::driver::{Geometry, Point};
use crate::error::{Error, Result};

use auto::Auto;
use conjugate::{Beta, Conjugate};
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
    /// VBEM's path, faster: in leaps as long as the gradient can be foreseen where slow
    /// directions are few, with momentum where they are many.
    #[default]
    Auto,
}

impl Direction {
    /// Every direction, in the order of the documentation.
    pub const ALL: [Self; 7] = [
        Self::Vbem,
        Self::Fr,
        Self::Pr,
        Self::Hs,
        Self::Lbfgs,
        Self::Newton,
        Self::Auto,
    ];

    /// Whether it goes where changes of basis lead; the others are about the gradient.
    pub(crate) fn follows_turns(self) -> bool {
        self == Self::Auto
    }

    /// The name, as `--method` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Vbem => "vbem",
            Self::Fr => "fr",
            Self::Pr => "pr",
            Self::Hs => "hs",
            Self::Lbfgs => "lbfgs",
            Self::Newton => "newton",
            Self::Auto => "auto",
        }
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
        Self::ALL
            .into_iter()
            .find(|direction| direction.name() == name)
            .ok_or_else(|| {
                Error::setting(
                    "method",
                    format!("{name:?}"),
                    Self::ALL.map(Self::name).join(", "),
                )
            })
    }
}

/// What a rule says beside its direction.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Proposal {
    /// The share of the previous direction, for conjugate rules.
    pub(crate) beta: Option<f64>,
    /// Fisher norm of the gradient, squared, where the rule computed it.
    pub(crate) squared_norm: Option<f64>,
    /// Whether the direction is the natural gradient itself.
    pub(crate) is_gradient: bool,
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
    Auto(Box<Auto>),
    Momentum(Box<Momentum>),
}

impl Rule {
    /// `trial` says whether the climb is the trial of a jump, `many_slow` what the model says of
    /// its slow directions.
    pub(crate) fn new(direction: Direction, trial: bool, many_slow: Option<u64>) -> Self {
        match direction {
            Direction::Vbem => Self::Vbem,
            Direction::Fr => Self::Conjugate(Conjugate::new(Beta::FletcherReeves)),
            Direction::Pr => Self::Conjugate(Conjugate::new(Beta::PolakRibiere)),
            Direction::Hs => Self::Conjugate(Conjugate::new(Beta::HestenesStiefel)),
            Direction::Lbfgs => Self::Lbfgs(Lbfgs::default()),
            Direction::Newton => Self::Newton(Newton::default()),
            Direction::Auto => match many_slow {
                Some(first) => {
                    Self::Momentum(Box::new(Momentum::new(if trial { 0 } else { first })))
                }
                None => Self::Auto(Box::new(Auto::new(trial))),
            },
        }
    }

    /// Writes the direction to step along from `point`.
    pub(crate) fn propose(
        &mut self,
        point: &Point,
        geometry: &mut dyn Geometry,
        direction: &mut Vec<f64>,
    ) -> Result<Proposal> {
        match self {
            Self::Vbem => Ok(Proposal::gradient(point, direction)),
            Self::Conjugate(rule) => rule.propose(point, geometry, direction),
            Self::Lbfgs(rule) => rule.propose(point, geometry, direction),
            Self::Newton(rule) => rule.propose(point, geometry, direction),
            Self::Auto(rule) => Ok(rule.propose(point, direction)),
            Self::Momentum(rule) => Ok(rule.propose(point, direction)),
        }
    }

    /// Learns that the step to `after` was taken; `fell_back` if it is not the one proposed.
    pub(crate) fn learn(&mut self, before: &Point, after: &Point, fell_back: bool) {
        match self {
            Self::Vbem | Self::Newton(_) => {}
            Self::Conjugate(rule) => rule.learn(before, after),
            Self::Lbfgs(rule) => rule.learn(before, after, fell_back),
            Self::Auto(rule) => rule.learn(before, after, fell_back),
            Self::Momentum(rule) => rule.learn(before, after, fell_back),
        }
    }

    /// Whether a small gain should not be taken for convergence.
    pub(crate) fn doubts(&mut self) -> bool {
        match self {
            Self::Auto(rule) => rule.doubts(),
            Self::Momentum(rule) => rule.doubts(),
            _ => false,
        }
    }

    /// Where the last step came from and what share of it the proposed step repeats, for a
    /// model's inner problems to begin as far ahead.
    pub(crate) fn lead(&self) -> Option<(&[f64], f64)> {
        match self {
            Self::Momentum(rule) => rule.lead(),
            _ => None,
        }
    }
}
