//! How fast a climb is, and how long it will take: by its limits, and by how its gains become smaller.

use std::collections::VecDeque;
use std::time::Instant;

use collapsar::Step;
use collapsar_run::ClimbOptions;

use crate::text::{duration, short};

/// Steps whose gains are looked at.
const STEPS: usize = 20;
/// Fewer than this tell nothing of where gains are going.
const FEWEST: usize = 6;
/// Gains that shrink more slowly than this a pass foretell nothing.
const SLOWEST: f64 = 1e-4;

/// What is remembered of a climb.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    tolerance: Option<f64>,
    max_passes: Option<u64>,
    time: Option<f64>,
    /// When it was first seen, and the passes by then.
    began: Option<(Instant, u64)>,
    /// Passes and logarithms of gains of the last steps.
    gains: VecDeque<(f64, f64)>,
}

impl Pace {
    pub(crate) fn new(options: &ClimbOptions) -> Self {
        Self {
            tolerance: options.tolerance,
            max_passes: options.max_passes,
            time: options.time,
            ..Self::default()
        }
    }

    pub(crate) fn step(&mut self, step: &Step) {
        self.began.get_or_insert((Instant::now(), step.passes));
        if step.trial || step.gain.is_nan() || step.gain <= 0.0 {
            return;
        }
        if self.gains.len() == STEPS {
            self.gains.pop_front();
        }
        self.gains.push_back((step.passes as f64, step.gain.ln()));
    }

    /// Passes a second, and the time left where it can be told.
    pub(crate) fn words(&self, step: &Step) -> String {
        let Some((began, first)) = self.began else {
            return String::new();
        };
        let seconds = began.elapsed().as_secs_f64();
        let rate = step.passes.saturating_sub(first) as f64 / seconds.max(1e-9);
        if rate <= 0.0 {
            return String::new();
        }
        let left = self.left(step.passes, rate, seconds);
        let left = left.map(|left| format!(", {} left", duration(left.max(1.0))));
        format!(", {}/s{}", short(rate), left.unwrap_or_default())
    }

    /// Seconds until the first of what can end it.
    fn left(&self, passes: u64, rate: f64, seconds: f64) -> Option<f64> {
        let by_gains = self.passes_left().map(|passes| passes / rate);
        let by_passes = self
            .max_passes
            .map(|most| most.saturating_sub(passes) as f64 / rate);
        let by_time = self.time.map(|most| (most - seconds).max(0.0));
        let all = [by_gains, by_passes, by_time].into_iter().flatten();
        all.min_by(f64::total_cmp)
    }

    /// Passes until gains, which shrink by about the same factor each pass, are below the tolerance: by least squares on
    /// their logarithms.
    fn passes_left(&self) -> Option<f64> {
        let tolerance = self.tolerance.filter(|tolerance| *tolerance > 0.0)?;
        let count = self.gains.len();
        if count < FEWEST {
            return None;
        }
        let mean =
            |of: fn(&(f64, f64)) -> f64| self.gains.iter().map(of).sum::<f64>() / count as f64;
        let (x, y) = (mean(|gain| gain.0), mean(|gain| gain.1));
        let square: f64 = self.gains.iter().map(|gain| (gain.0 - x).powi(2)).sum();
        let cross: f64 = self
            .gains
            .iter()
            .map(|gain| (gain.0 - x) * (gain.1 - y))
            .sum();
        let slope = cross / square;
        let (last, _) = self.gains.back()?;
        let at_last = y + slope * (last - x);
        let left = (tolerance.ln() - at_last) / slope;
        (slope < -SLOWEST && left.is_finite()).then_some(left.max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(options: Pace, gains: impl Iterator<Item = f64>) -> Pace {
        let mut pace = options;
        for (pass, gain) in (1..).zip(gains) {
            pace.step(&Step {
                iteration: pass,
                passes: pass,
                bound: 0.0,
                gain,
                squared_norm: None,
                beta: None,
                fell_back: false,
                trial: false,
                seconds: 0.0,
            });
        }
        pace
    }

    #[test]
    fn gains_that_halve_end_when_they_are_small_enough() {
        let known = Pace {
            tolerance: Some(2f64.powi(-30)),
            ..Pace::default()
        };
        let halving = pace(known, (1..=10).map(|k| 2f64.powi(-k)));
        assert!((halving.passes_left().unwrap() - 20.0).abs() < 1e-9);
        // Two passes a second; a limit that comes first counts.
        assert!((halving.left(10, 2.0, 5.0).unwrap() - 10.0).abs() < 1e-9);
        let limited = Pace {
            max_passes: Some(12),
            ..halving
        };
        assert_eq!(limited.left(10, 2.0, 5.0), Some(1.0));
    }

    #[test]
    fn gains_that_do_not_shrink_foretell_nothing() {
        let known = Pace {
            tolerance: Some(1e-6),
            ..Pace::default()
        };
        assert_eq!(
            pace(known, std::iter::repeat_n(3.0, 30)).passes_left(),
            None
        );
        assert_eq!(
            pace(Pace::default(), (1..=10).map(f64::from)).left(10, 1.0, 1.0),
            None
        );
    }
}
