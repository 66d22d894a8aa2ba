//! What else the density of a positive number may fall by: factors of priors that are no statistics.

use crate::elementary::Elementary;

/// A factor of a density, in terms of $v = x^q$: it falls with $v$, and its logarithm is concave in $\ln x$.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Tail {
    /// No factor.
    #[default]
    None,
    /// $e^{-cv}$.
    Exponential {
        /// $c$, positive.
        rate: f64,
        /// $q$, not zero.
        power: f64,
    },
    /// $(1+sv)^{-w}$.
    Student {
        /// $w$, positive.
        weight: f64,
        /// $s$, positive.
        scale: f64,
        /// $q$, not zero.
        power: f64,
    },
}

impl Tail {
    /// Its logarithm at $\ln x$.
    pub fn ln_value(&self, y: f64) -> f64 {
        match *self {
            Self::None => 0.0,
            Self::Exponential { rate, power } => -rate * (power * y).exp_(),
            Self::Student {
                weight,
                scale,
                power,
            } => {
                let z = scale.ln_() + power * y;
                -weight * (z.max(0.0) + (-z.abs()).exp_().ln_1p_())
            }
        }
    }

    /// The slope of its logarithm, and by how much that falls.
    pub(super) fn slope_and_bend(&self, y: f64) -> (f64, f64) {
        match self.about(y) {
            About::Nothing => (0.0, 0.0),
            About::Exponential { weight, power } => (-power * weight, power * power * weight),
            About::Student {
                weight,
                shares: [with, without],
                power,
            } => (
                -weight * power * with,
                weight * power * power * with * without,
            ),
        }
    }

    /// How steeply it falls at last, to the left and to the right: infinitely where that is not as a power.
    pub(super) fn falls(&self) -> [f64; 2] {
        let (power, steep) = match *self {
            Self::None => return [0.0; 2],
            Self::Exponential { power, .. } => (power, f64::INFINITY),
            Self::Student { weight, power, .. } => (power, weight * power.abs()),
        };
        if power < 0.0 {
            [steep, 0.0]
        } else {
            [0.0, steep]
        }
    }

    pub(super) fn about(&self, y: f64) -> About {
        match *self {
            Self::None => About::Nothing,
            Self::Exponential { rate, power } => About::Exponential {
                weight: rate * (power * y).exp_(),
                power,
            },
            Self::Student {
                weight,
                scale,
                power,
            } => {
                let z = scale.ln_() + power * y;
                About::Student {
                    weight,
                    shares: [1.0 / (1.0 + (-z).exp_()), 1.0 / (1.0 + z.exp_())],
                    power,
                }
            }
        }
    }
}

/// The same about a point.
#[derive(Debug, Clone, Copy)]
pub(super) enum About {
    Nothing,
    /// c xᵠ there.
    Exponential {
        weight: f64,
        power: f64,
    },
    /// The shares of s xᵠ and of 1 in their sum there.
    Student {
        weight: f64,
        shares: [f64; 2],
        power: f64,
    },
}

impl About {
    /// By how much the logarithm has fallen at a signed distance, beyond its tangent.
    pub(super) fn fall(&self, w: f64) -> f64 {
        match *self {
            Self::Nothing => 0.0,
            Self::Exponential { weight, power } => {
                weight * super::pieces::exponential_gap(power * w)
            }
            Self::Student {
                weight,
                shares: [with, without],
                power,
            } => {
                let z = power * w;
                let sum = if z < 30.0 {
                    (with * z.exp_m1_()).ln_1p_()
                } else {
                    z + (with + without * (-z).exp_()).ln_()
                };
                weight * (sum - with * z)
            }
        }
    }

    /// The slope of that.
    pub(super) fn fall_slope(&self, w: f64) -> f64 {
        match *self {
            Self::Nothing => 0.0,
            Self::Exponential { weight, power } => weight * power * (power * w).exp_m1_(),
            Self::Student {
                weight,
                shares: [with, without],
                power,
            } => {
                let z = power * w;
                // with·without (e^z - 1) / (without + with e^z), which does not cancel near zero.
                let moved = if z < 0.0 {
                    with * without * z.exp_m1_() / (without + with * z.exp_())
                } else {
                    -with * without * (-z).exp_m1_() / (without * (-z).exp_() + with)
                };
                weight * power * moved
            }
        }
    }

    /// How much it bends there.
    pub(super) fn bend(&self) -> f64 {
        match *self {
            Self::Nothing => 0.0,
            Self::Exponential { weight, power } => weight * power * power,
            Self::Student {
                weight,
                shares: [with, without],
                power,
            } => weight * power * power * with * without,
        }
    }

    /// Distances on a side at which panels end too, so that each is smooth: in order, the rest infinite.
    pub(super) fn breaks(&self, side: f64) -> [f64; 10] {
        let mut out = [f64::INFINITY; 10];
        let power = match *self {
            Self::Nothing => 1.0,
            Self::Exponential { weight, power } => {
                if side * power > 0.0 {
                    for (out, before) in out[4..].iter_mut().zip(super::pieces::BEFORE) {
                        let at = -(weight.ln_() + before) / power.abs();
                        *out = if at > 0.0 { at } else { f64::INFINITY };
                    }
                }
                power
            }
            Self::Student {
                shares: [with, without],
                power,
                ..
            } => {
                // About where both parts are equal, in units of how fast one takes over from the other.
                let turn = (without / with).ln_() / power;
                for (out, away) in out[4..].iter_mut().zip([-20.0, -6.0, -2.0, 2.0, 6.0, 20.0]) {
                    let at = side * turn + away / power.abs();
                    *out = if at > 0.0 { at } else { f64::INFINITY };
                }
                power
            }
        };
        for (out, bend) in out.iter_mut().zip(super::pieces::BENDS) {
            *out = bend / power.abs().max(1.0);
        }
        out.sort_unstable_by(f64::total_cmp);
        out
    }
}
