//! When to stop: rules that compose with `|` and `&`, and say whether they mean convergence.

use std::fmt;
use std::ops::{BitAnd, BitOr};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Step;

/// A stopping rule, judged after every step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The step's gain is below this many nats: convergence.
    Gain(f64),
    /// The gradient's squared Fisher norm is below this: convergence.
    Norm(f64),
    /// So many accepted steps.
    Iterations(u64),
    /// So many passes over the data.
    Passes(u64),
    /// So much time.
    Time(Duration),
    /// Any of these; the first that holds is the reason.
    Any(Vec<Stop>),
    /// All of these at once.
    All(Vec<Stop>),
}

impl Stop {
    /// The rule that holds after `step`, if one does.
    pub fn holds(&self, step: &Step) -> Option<Stop> {
        let holds = match self {
            Self::Gain(least) => step.gain < *least,
            Self::Norm(least) => step.squared_norm.is_some_and(|norm| norm < *least),
            Self::Iterations(most) => step.iteration >= *most,
            Self::Passes(most) => step.passes >= *most,
            Self::Time(most) => step.seconds >= most.as_secs_f64(),
            Self::Any(rules) => return rules.iter().find_map(|rule| rule.holds(step)),
            Self::All(rules) => {
                !rules.is_empty() && rules.iter().all(|rule| rule.holds(step).is_some())
            }
        };
        holds.then(|| self.clone())
    }

    /// The limit that is reached after `step`, if one is, whatever else holds: a small gain in the
    /// middle of a search means nothing, a limit always does.
    pub(crate) fn exhausted(&self, step: &Step) -> Option<Stop> {
        match self {
            Self::Any(rules) => rules.iter().find_map(|rule| rule.exhausted(step)),
            rule if rule.is_convergence() => None,
            rule => rule.holds(step),
        }
    }

    /// Whether stopping by this rule means convergence.
    pub fn is_convergence(&self) -> bool {
        match self {
            Self::Gain(_) | Self::Norm(_) => true,
            Self::Iterations(_) | Self::Passes(_) | Self::Time(_) => false,
            Self::Any(rules) | Self::All(rules) => rules.iter().any(Stop::is_convergence),
        }
    }
}

impl BitOr for Stop {
    type Output = Stop;

    fn bitor(self, other: Stop) -> Stop {
        let rules = |rule| match rule {
            Self::Any(rules) => rules,
            rule => vec![rule],
        };
        Self::Any([rules(self), rules(other)].concat())
    }
}

impl BitAnd for Stop {
    type Output = Stop;

    fn bitand(self, other: Stop) -> Stop {
        let rules = |rule| match rule {
            Self::All(rules) => rules,
            rule => vec![rule],
        };
        Self::All([rules(self), rules(other)].concat())
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |rules: &[Stop], word: &str| {
            let rules: Vec<String> = rules.iter().map(Self::to_string).collect();
            rules.join(word)
        };
        match self {
            Self::Gain(least) => write!(f, "gain below {least:e}"),
            Self::Norm(least) => write!(f, "squared norm below {least:e}"),
            Self::Iterations(most) => write!(f, "{most} iterations"),
            Self::Passes(most) => write!(f, "{most} passes"),
            Self::Time(most) => write!(f, "{} seconds", most.as_secs_f64()),
            Self::Any(rules) => f.write_str(&joined(rules, " or ")),
            Self::All(rules) => f.write_str(&joined(rules, " and ")),
        }
    }
}
