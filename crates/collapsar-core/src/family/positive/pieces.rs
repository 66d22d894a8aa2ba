//! The density of the logarithm about its top, cut into panels along which it falls by a few.

use super::tail::{About, Tail};
use crate::elementary::Elementary;
use crate::family::marginal::solve;
use crate::family::truncated_normal::gauss;

/// The density of y = ln x, as the distance w from its top: what it has fallen by is convex in w.
pub(super) struct Pieces {
    /// Where its top is.
    top: f64,
    /// Its logarithm there.
    pub(super) ln_peak: f64,
    /// The slope of the log density at the top: zero unless the top is at a bound.
    slope: f64,
    /// b eʸ, c e⁻ʸ and d at the top: what bends it.
    bends: [f64; 3],
    /// What else bends it.
    about: About,
    /// How far away the bounds are to the left and to the right of the top.
    ends: [f64; 2],
}

/// Mass, and the means of statistics as they are counted from the top.
pub(super) struct Moments {
    pub(super) ln_mass: f64,
    means: [f64; 4],
    /// What x and 1/x are counted from.
    from: [f64; 2],
}

/// How far the log density has fallen at the ends of panels. The rule below integrates along each to rounding; beyond the
/// last nothing is left of the integral in sixteen digits.
const FALLS: [f64; 6] = [0.5, 2.0, 6.0, 13.0, 24.0, 40.0];

/// Distances at which panels end too: within the last of them exponentials of the distance still bend a density that falls
/// slowly.
pub(super) const BENDS: [f64; 4] = [2.0, 8.0, 24.0, 44.0];

/// How far before the distance at which an exponential of it takes over, or a bound is, panels end too: means of x and 1/x may come from
/// there, where from each to the next the rule integrates exponentials to rounding.
pub(super) const BEFORE: [f64; 3] = [40.0, 20.0, 8.0];

/// A reach beyond which exponentials of distances would overflow when they are squared.
const WIDE: f64 = 300.0;

/// eʷ - 1 - w, in all its digits near zero.
pub(super) fn exponential_gap(w: f64) -> f64 {
    if w.abs() > 0.1 {
        return w.exp_m1_() - w;
    }
    let (mut term, mut sum) = (0.5 * w * w, 0.0);
    for k in 3..13 {
        sum += term;
        term *= w / f64::from(k);
    }
    sum
}

impl Pieces {
    pub(super) fn new([a, b, c, d]: [f64; 4], (lower, upper): (f64, f64), tail: &Tail) -> Self {
        let (low, high) = (lower.ln_(), upper.ln_());
        let slope = |y: f64| {
            let plain = a - b * y.exp_() + c * (-y).exp_() - d * y;
            plain + tail.slope_and_bend(y).0
        };
        let bend = |y: f64| b * y.exp_() + c * (-y).exp_() + d + tail.slope_and_bend(y).1;
        // Terms of no weight at an infinite end would be products of zero and infinity.
        let falls_at_low = low.is_finite() && slope(low) <= 0.0;
        let rises_at_high = high.is_finite() && slope(high) >= 0.0;
        let top = if falls_at_low {
            low
        } else if rises_at_high {
            high
        } else {
            peak([a, b, c, d], (low, high), slope, bend)
        };
        let at_bound = falls_at_low || rises_at_high;
        Self {
            top,
            ln_peak: a * top - b * top.exp_() - c * (-top).exp_() - 0.5 * d * top * top
                + tail.ln_value(top),
            slope: if at_bound { slope(top) } else { 0.0 },
            bends: [b * top.exp_(), c * (-top).exp_(), d],
            about: tail.about(top),
            ends: [top - low, high - top],
        }
    }

    /// By how much the log density has fallen at a signed distance from the top.
    fn fall(&self, w: f64) -> f64 {
        let [b, c, d] = self.bends;
        let bent = |weight: f64, w: f64| {
            if weight == 0.0 {
                0.0
            } else {
                weight * exponential_gap(w)
            }
        };
        -self.slope * w + bent(b, w) + bent(c, -w) + 0.5 * d * w * w + self.about.fall(w)
    }

    /// The slope of the fall.
    fn fall_slope(&self, w: f64) -> f64 {
        let [b, c, d] = self.bends;
        let bent = |weight: f64, w: f64| {
            if weight == 0.0 {
                0.0
            } else {
                weight * w.exp_m1_()
            }
        };
        -self.slope + bent(b, w) - bent(c, -w) + d * w + self.about.fall_slope(w)
    }

    /// The distance on a side at which the log density has fallen by so much: roughly, since panels may end anywhere.
    fn reach(&self, side: f64, fall: f64, from: f64) -> f64 {
        let slope = -side * self.slope;
        let bend = self.bends.iter().sum::<f64>() + self.about.bend();
        let parabola = 2.0 * fall / (slope + (slope * slope + 2.0 * fall * bend).sqrt());
        // Beyond 2 an exponential that bends it is at least half of its fall.
        let exponential = (2.0 * fall / self.bends[usize::from(side < 0.0)])
            .ln_()
            .max(2.0);
        let (mut low, mut high) = (from, parabola.min(exponential).max(f64::MIN_POSITIVE));
        // A fall that bends less than at the top is not there yet.
        while self.fall(side * high) < fall && high < 1e300 {
            low = high;
            high *= 2.0;
        }
        for _ in 0..60 {
            let fallen = self.fall(side * high);
            if fallen <= 1.02 * fall {
                break;
            }
            let next = high - (fallen - fall) / (side * self.fall_slope(side * high));
            high = if next > low && next < high {
                next
            } else {
                0.5 * (low + high)
            };
            if self.fall(side * high) < fall {
                // The last step went too far: what is there is near enough.
                break;
            }
        }
        high
    }

    /// Distances on a side at which panels end too, in order; the rest is infinite or negative.
    fn breaks(&self, side: f64, end: f64) -> [f64; 16] {
        let mut out = [f64::INFINITY; 16];
        out[..10].copy_from_slice(&self.about.breaks(side));
        // Where it is not there it never takes over.
        let over = -self.bends[usize::from(side < 0.0)].ln_();
        for k in 0..3 {
            out[10 + k] = over - BEFORE[k];
            out[13 + k] = end - BEFORE[k];
        }
        out.sort_unstable_by(f64::total_cmp);
        out
    }

    /// Visits panels from the top outwards: the side, and the distances at which it begins and ends.
    fn panels(&self, mut visit: impl FnMut(f64, f64, f64)) {
        for (side, end) in [-1.0, 1.0].into_iter().zip(self.ends) {
            let mut from = 0.0;
            let breaks = self.breaks(side, end);
            for fall in FALLS {
                let to = self.reach(side, fall, from).min(end);
                for between in breaks {
                    if from < between && between < to {
                        visit(side, from, between);
                        from = between;
                    }
                }
                if from < to {
                    visit(side, from, to);
                    from = to;
                }
            }
        }
    }

    /// Visits points, as signed distances from the top, with their masses in units of the peak.
    fn visit(&self, mut visit: impl FnMut(f64, f64)) {
        self.panels(|side, from, to| {
            gauss(from, to, |w, weight| {
                let w = side * w;
                visit(w, weight * (-self.fall(w)).exp_());
            });
        });
    }

    /// The distances at which x and 1/x are counted from: the top, unless the density reaches so far that they would
    /// overflow; then the end of its reach, where the largest of them are.
    fn origins(&self) -> [f64; 2] {
        [1, 0].map(|place: usize| {
            let (side, end) = ([-1.0, 1.0][place], self.ends[place]);
            if end < WIDE {
                return 0.0;
            }
            let far = self.reach(side, FALLS[FALLS.len() - 1], 0.0).min(end);
            if far < WIDE { 0.0 } else { far }
        })
    }

    /// The logarithm of the integral.
    pub(super) fn ln_mass(&self) -> f64 {
        let mut mass = 0.0;
        self.visit(|_, weight| mass += weight);
        self.ln_peak + mass.ln_()
    }

    pub(super) fn moments(&self) -> Moments {
        let from = self.origins();
        let (mut mass, mut sums) = (0.0, [0.0; 4]);
        self.visit(|w, weight| {
            mass += weight;
            for (sum, statistic) in sums.iter_mut().zip(statistics(w, from)) {
                *sum += weight * statistic;
            }
        });
        Moments {
            ln_mass: self.ln_peak + mass.ln_(),
            means: sums.map(|sum| sum / mass),
            from,
        }
    }

    /// Means of the statistics of x from those that are counted from the top.
    pub(super) fn of_number(&self, moments: &Moments) -> [f64; 4] {
        let top = self.top;
        let [w, up, down, square] = moments.means;
        let one = |from: f64| if from == 0.0 { 1.0 } else { 0.0 };
        let [x, inverse] = self.scales(moments.from);
        [
            top + w,
            x * (up - one(moments.from[0])),
            inverse * (down - one(moments.from[1])),
            -0.5 * top * top - top * w + square,
        ]
    }

    /// What x and 1/x are where they are counted from.
    fn scales(&self, [up, down]: [f64; 2]) -> [f64; 2] {
        [(self.top + up).exp_(), (down - self.top).exp_()]
    }

    /// The covariance of the statistics of x, those that are there, times a vector.
    pub(super) fn covariance_times(
        &self,
        along: [f64; 4],
        (inverse, square): (bool, bool),
    ) -> [f64; 4] {
        let top = self.top;
        let Moments { means, from, .. } = self.moments();
        let [x, one_over] = self.scales(from);
        let mut along = [
            along[0] - top * along[3],
            x * along[1],
            one_over * along[2],
            along[3],
        ];
        let (mut mass, mut out) = (0.0, [0.0; 4]);
        if !inverse {
            along[2] = 0.0;
        }
        self.visit(|w, weight| {
            mass += weight;
            let mut away = statistics(w, from);
            for (away, mean) in away.iter_mut().zip(&means) {
                *away -= mean;
            }
            // What is no statistic may be infinite.
            if !inverse {
                away[2] = 0.0;
            }
            if !square {
                away[3] = 0.0;
            }
            let change: f64 = away
                .iter()
                .zip(&along)
                .map(|(away, along)| away * along)
                .sum();
            for (out, away) in out.iter_mut().zip(&away) {
                *out += weight * change * away;
            }
        });
        let out = out.map(|sum| sum / mass);
        [out[0], x * out[1], one_over * out[2], out[3] - top * out[0]]
    }

    /// The covariance of a power with the statistics of x.
    pub(super) fn covariance_of_power(&self, power: f64) -> [f64; 4] {
        let Moments { means, from, .. } = self.moments();
        let (mut mass, mut first) = (0.0, 0.0);
        self.visit(|w, weight| {
            mass += weight;
            first += weight * (power * w).exp_m1_();
        });
        let mean = first / mass;
        let mut out = [0.0; 4];
        self.visit(|w, weight| {
            let away = weight * ((power * w).exp_m1_() - mean) / mass;
            for ((out, statistic), mean) in out.iter_mut().zip(statistics(w, from)).zip(&means) {
                *out += away * (statistic - mean);
            }
        });
        let ([x, one_over], top) = (self.scales(from), self.top);
        let scale = (power * top).exp_();
        let out = [out[0], x * out[1], one_over * out[2], out[3] - top * out[0]];
        out.map(|covariance| scale * covariance)
    }

    /// Mean and variance of a power where it hardly varies.
    pub(super) fn narrow_moments(&self, power: f64) -> (f64, f64) {
        let (mut mass, mut first) = (0.0, 0.0);
        self.visit(|w, weight| {
            mass += weight;
            first += weight * (power * w).exp_m1_();
        });
        let mean = first / mass;
        let mut second = 0.0;
        self.visit(|w, weight| second += weight * ((power * w).exp_m1_() - mean).powi(2));
        let scale = (power * self.top).exp_();
        (scale * (1.0 + mean), scale * scale * second / mass)
    }

    /// The value of x that has this probability below it: finds the panel, then solves inside it.
    pub(super) fn quantile(&self, probability: f64) -> f64 {
        let mass = |side: f64, from: f64, to: f64| {
            let mut sum = 0.0;
            gauss(from, to, |w, weight| {
                sum += weight * (-self.fall(side * w)).exp_();
            });
            sum
        };
        // Panels from left to right; of those to the left of the top the last comes first.
        let (mut panels, mut to_the_left) = (vec![], 0);
        self.panels(|side, from, to| {
            panels.push((side, from, to, mass(side, from, to)));
            to_the_left += usize::from(side < 0.0);
        });
        panels[..to_the_left].reverse();
        let total: f64 = panels.iter().map(|panel| panel.3).sum();
        let mut left = probability.clamp(0.0, 1.0) * total;
        let mut place = 0;
        while place + 1 < panels.len() && left > panels[place].3 {
            left -= panels[place].3;
            place += 1;
        }
        let Some(&(side, from, to, whole)) = panels.get(place) else {
            return self.top.exp_();
        };
        let wanted = if side > 0.0 { left } else { whole - left };
        let small = |_: f64| 1e-13 * to;
        let away = solve(from, to, 0.5 * (from + to), small, |at| {
            (
                mass(side, from, at) - wanted,
                (-self.fall(side * at)).exp_(),
            )
        });
        (self.top + side * away).exp_()
    }

    /// Ends and slopes of a hat for draws, by side: where the density has fallen by one, or its end, where it is flat.
    pub(super) fn shoulder(&self, side: f64) -> (f64, f64) {
        let away = self.reach(side, 1.0, 0.0);
        let end = self.ends[usize::from(side > 0.0)];
        if away >= end {
            // A hat beyond a near bound would be nearly all of it, and every draw from there be refused.
            return (end, 0.0);
        }
        (away, side * self.fall_slope(side * away))
    }

    /// By how much the log density has fallen there, infinite beyond the bounds.
    pub(super) fn fall_within(&self, w: f64) -> f64 {
        if w.abs() > self.ends[usize::from(w > 0.0)] {
            f64::INFINITY
        } else {
            self.fall(w)
        }
    }

    /// ln x at a distance from the top.
    pub(super) fn at(&self, w: f64) -> f64 {
        self.top + w
    }
}

/// w, -(eʷ - 1), -(e⁻ʷ - 1) and -w²/2: the statistics of x, counted from the top. Where exponentials are counted from elsewhere
/// they are those of the distance from there, and one is not subtracted.
fn statistics(w: f64, [up, down]: [f64; 2]) -> [f64; 4] {
    let counted = |w: f64, from: f64| {
        if from == 0.0 {
            w.exp_m1_()
        } else {
            (w - from).exp_()
        }
    };
    [w, -counted(w, up), -counted(-w, down), -0.5 * w * w]
}

/// Where the slope, which falls, is zero.
fn peak(
    [a, b, c, d]: [f64; 4],
    (low, high): (f64, f64),
    slope: impl Fn(f64) -> f64,
    bend: impl Fn(f64) -> f64,
) -> f64 {
    // Without d the root of a quadratic in x; the form that does not cancel.
    let start = if d == 0.0 {
        let root = (a * a + 4.0 * b * c).sqrt();
        let x = if a > 0.0 {
            (a + root) / (2.0 * b)
        } else {
            2.0 * c / (root - a)
        };
        x.ln_()
    } else {
        (a / d).clamp(-50.0, 50.0)
    };
    // Where only a tail bounds it, there is none.
    let start = if start.is_finite() { start } else { 0.0 };
    let start = start.clamp(low.max(-700.0), high.min(700.0));
    let (mut left, mut right) = (start, start);
    let mut step = 1.0;
    while slope(left) < 0.0 && left > low {
        left = (left - step).max(low);
        step *= 2.0;
    }
    step = 1.0;
    while slope(right) > 0.0 && right < high {
        right = (right + step).min(high);
        step *= 2.0;
    }
    let small = |y: f64| 1e-15 * (1.0 + y.abs());
    solve(left, right, start, small, |y| (-slope(y), bend(y)))
}
