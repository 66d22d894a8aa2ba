//! Leaps: many VBEM steps at once, as many as the last forecast of the gradient deserved.

use serde::{Deserialize, Serialize};

use super::secant::{Forecast, Secants};
use super::{Iterate, Proposal};

/// How far forecasts are trusted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Trust {
    /// A forecast of the gradient with a smaller relative error doubles the leap.
    good: f64,
    /// One with a larger error halves it.
    bad: f64,
    /// The longest leap along directions in which VBEM itself moves ever faster, away from a saddle.
    growth: f64,
}

/// For the climb from a start. Directions that grow decide between
/// optima: there nearly VBEM's own pace is kept, while all that decays is brought to rest at
/// once. On the ring data (scikit-learn's priors) this ends up to 80 nats *above* VBEM's mean
/// bound with a third of its passes; without the limit on growth it takes a sixth of the passes
/// but ends up to 30 nats below.
const CAREFUL: Trust = Trust {
    good: 0.1,
    bad: 0.3,
    growth: 2.0,
};
/// For the trial of a jump, whose optimum is near. From a start it costs optima: 45 nats of the mean
/// on one of the rings drawn to check it, jumps or no jumps.
const BOLD: Trust = Trust {
    good: 0.3,
    bad: 0.6,
    growth: LONGEST,
};

/// Steps remembered. Three to eight do as well on the ring data; older ones describe another place.
const MEMORY: usize = 4;
/// So long a leap is Newton's step.
const LONGEST: f64 = 1e6;

/// VBEM's path at the pace that the bound's curvature allows (maths §5.6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Auto {
    trust: Trust,
    secants: Secants,
    leap: f64,
    /// Whether the last step saw a saddle being left.
    growing: bool,
    /// Whether all but that growth has come to rest.
    resting: bool,
    /// Lives within an iteration, so no checkpoint carries it.
    #[serde(skip)]
    forecast: Option<Forecast>,
}

impl Auto {
    pub(crate) fn new(trial: bool) -> Self {
        let trust = if trial { BOLD } else { CAREFUL };
        Self {
            trust,
            secants: Secants::new(MEMORY),
            leap: 1.0,
            growing: false,
            resting: false,
            forecast: None,
        }
    }

    /// Whether all remembered steps have so many numbers.
    pub(crate) fn belongs(&self, messages: usize) -> bool {
        self.secants.belong(messages, MEMORY) && (1.0..=LONGEST).contains(&self.leap)
    }

    pub(crate) fn propose(&mut self, point: &Iterate, direction: &mut Vec<f64>) -> Proposal {
        // At rest on a saddle there is one way left, and no reason to take it slowly.
        let limit = if self.resting {
            LONGEST
        } else {
            self.trust.growth
        };
        let growth = self.leap.min(limit);
        self.forecast = self.secants.leap(point, self.leap, growth, direction);
        self.growing = self.forecast.as_ref().is_some_and(|found| found.growing);
        self.resting = false;
        Proposal {
            is_gradient: (self.forecast.is_none() || self.leap == 1.0) && !point.is_turned(),
            ..Proposal::default()
        }
    }

    /// Whether a small gain is a saddle's and not a maximum's: leaps bring all that decays to rest
    /// before what grows can be seen in the gain, where VBEM would still be busy with both.
    pub(crate) fn doubts(&mut self) -> bool {
        self.resting = self.growing;
        self.growing
    }

    pub(crate) fn learn(&mut self, before: &Iterate, after: &Iterate, fell_back: bool) {
        if fell_back {
            self.secants = Secants::new(MEMORY);
            self.leap = 1.0;
        } else if let Some(forecast) = self.forecast.take() {
            let error = self.secants.error(&forecast, after.ascent());
            if error < self.trust.good {
                self.leap = (2.0 * self.leap).min(LONGEST);
            } else if error > self.trust.bad {
                self.leap = (0.5 * self.leap).max(1.0);
            }
        }
        self.secants.remember(before, after);
    }
}
