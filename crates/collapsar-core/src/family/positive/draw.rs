//! Draws by rejection: a hat that is flat about the top and exponential beyond its shoulders, which serves any log density
//! that is concave (Devroye86).

use crate::random::{Distribution, Exp1};
use rand::{Rng, RngExt};

use super::pieces::Pieces;

impl Pieces {
    /// A draw of ln x.
    pub(super) fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        let [(left, fall_left), (right, fall_right)] = [-1.0, 1.0].map(|side| self.shoulder(side));
        // At a shoulder the density is e⁻¹ of its peak or ends; tangents meet the height of the peak before it.
        let tail = |away: f64, slope: f64, side: f64| {
            if away == 0.0 {
                return (0.0, 0.0);
            }
            let fall = self.fall_within(side * away);
            let from = if slope > 0.0 {
                (away - fall / slope).max(0.0)
            } else {
                away
            };
            (from, if slope > 0.0 { 1.0 / slope } else { 0.0 })
        };
        let (from_left, mass_left) = tail(left, fall_left, -1.0);
        let (from_right, mass_right) = tail(right, fall_right, 1.0);
        let total = mass_left + from_left + from_right + mass_right;
        loop {
            let u = total * rng.random::<f64>();
            let (w, hat) = if u < mass_left {
                let e: f64 = Exp1.sample(rng);
                (-(from_left + e * mass_left), e)
            } else if u < mass_left + from_left + from_right {
                (u - mass_left - from_left, 0.0)
            } else {
                let e: f64 = Exp1.sample(rng);
                (from_right + e * mass_right, e)
            };
            let e: f64 = Exp1.sample(rng);
            if self.fall_within(w) <= hat + e {
                return self.at(w);
            }
        }
    }
}
