//! VBEM while structure forms, then Newton in the span of the recent steps.

use serde::{Deserialize, Serialize};

use super::Proposal;
use super::secant::{Forecast, Secants};
use crate::driver::Point;

fn env(name: &str, default: f64) -> f64 {
    std::env::var(name)
        .ok()
        .map_or(default, |v| v.parse().unwrap())
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Auto {
    secants: Secants,
    leap: f64,
    forecast: Option<Forecast>,
    good: f64,
    bad: f64,
    grow: f64,
    shrink: f64,
    most: f64,
}

impl Default for Auto {
    fn default() -> Self {
        Self {
            secants: Secants::new(env("MEM", 6.0) as usize),
            leap: 1.0,
            forecast: None,
            good: env("GOOD", 0.2),
            bad: env("BAD", 0.5),
            grow: env("GROW", 2.0),
            shrink: env("SHRINK", 0.5),
            most: env("MOST", 1e6),
        }
    }
}

impl Auto {
    pub(crate) fn propose(&mut self, point: &Point, direction: &mut Vec<f64>) -> Proposal {
        self.forecast = self.secants.direction(point, self.leap, direction);
        if std::env::var("TRACE").is_ok() {
            eprintln!("leap {:.2} bound {}", self.leap, point.bound);
        }
        if self.forecast.is_some() && self.leap > 1.0 {
            return Proposal::default();
        }
        let leap = self.forecast.clone();
        let p = Proposal::gradient(point, direction);
        self.forecast = leap;
        p
    }

    pub(crate) fn learn(&mut self, before: &Point, after: &Point, fell_back: bool) {
        if fell_back {
            self.secants.clear();
            self.leap = 1.0;
        } else if let Some(forecast) = self.forecast.take() {
            let error = self.secants.error(&forecast, &after.gradient);
            if std::env::var("TRACE").is_ok() {
                eprintln!("   error {error:.3}");
            }
            if error < self.good {
                self.leap = (self.leap * self.grow).min(self.most);
            } else if error > self.bad {
                self.leap = (self.leap * self.shrink).max(1.0);
            }
        }
        self.secants.remember(before, after);
    }
}
