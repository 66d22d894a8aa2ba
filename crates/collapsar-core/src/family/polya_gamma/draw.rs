//! Draws of Pólya-Gamma variables, by alternating series that are stopped as soon as they decide.
//!
//! A variable of shape b is a sum of variables whose shapes add up to b. Those of shape one are drawn by Devroye's method
//! (PolsonEtAl13), one of a shape between one and two by that of WindleEtAl14, both exactly. Shapes that are small or large
//! have a sum of gamma variables, of which the first are drawn and the rest is a number and a gamma variable with its first
//! three cumulants ([`Series`]). For large tilts an inverse Gaussian variable is the same to rounding, whatever the shape.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2, PI};

use crate::random::{Distribution, Exp1, StandardNormal};
use rand::{Rng, RngExt};

use crate::elementary::Elementary;
use crate::family::dirichlet::{gamma_draw, gammas};
use crate::special::{gamma_tails, ln_gamma};

/// A draw of PG(b, c), c of 0 or more.
pub(super) fn draw<R: Rng + ?Sized>(b: f64, c: f64, rng: &mut R) -> f64 {
    let z = 0.5 * c;
    if b.max(1.0).ln_() - c < LN_ROUNDING {
        // All terms of the density but the first have b e^{-c} of its mass (WindleEtAl14), and the first is inverse Gaussian.
        return 0.25 * left(b, z, f64::INFINITY, rng);
    }
    if !(1.0..=MANY).contains(&b) {
        return Series::new(b, c).draw(rng);
    }
    let whole = b.floor();
    let part = b - whole;
    let ones = if part == 0.0 { whole } else { whole - 1.0 };
    let mut sum = 0.0;
    if ones > 0.0 {
        let one = One::new(z);
        for _ in 0..ones as u64 {
            sum += one.draw(rng);
        }
    }
    if part > 0.0 {
        sum += Between::new(1.0 + part, z).draw(rng);
    }
    0.25 * sum
}

/// ln Φ(x), for x down to -37, below which Φ underflows: tilts at which that is so have the inverse Gaussian alone.
fn ln_normal_cdf(x: f64) -> f64 {
    (0.5 * libm::erfc(-x * FRAC_1_SQRT_2)).ln_()
}

/// ln P(X ≤ t) for an inverse Gaussian X of shape λ = h² and mean h / z, plus −hz: the mass of
/// h (2πx³)^{-1/2} exp(−h²/(2x) − z²x/2) up to t.
fn ln_left_mass(h: f64, z: f64, t: f64) -> f64 {
    let root = t.sqrt();
    let near = ln_normal_cdf((t * z - h) / root) - h * z;
    let far = ln_normal_cdf(-(t * z + h) / root) + h * z;
    let high = near.max(far);
    high + ((near - high).exp_() + (far - high).exp_()).ln_()
}

/// An inverse Gaussian variable of shape h² and mean h / z that is at most t.
fn left<R: Rng + ?Sized>(h: f64, z: f64, t: f64, rng: &mut R) -> f64 {
    let mean = h / z;
    if mean > t {
        // The reciprocal of a squared normal tail, thinned by the tilt.
        let scale = h * h;
        loop {
            let (e, f): (f64, f64) = (Exp1.sample(rng), Exp1.sample(rng));
            if e * e > 2.0 * f * scale / t {
                continue;
            }
            let x = t / (1.0 + t * e / scale).powi(2);
            if rng.random::<f64>() <= (-0.5 * z * z * x).exp_() {
                return x;
            }
        }
    }
    loop {
        let y: f64 = StandardNormal.sample(rng);
        // The smaller root, by the larger: their product is the square of the mean.
        let w = y * y / (h * z);
        let mut x = mean / (1.0 + 0.5 * (w + (w * (4.0 + w)).sqrt()));
        if rng.random::<f64>() > mean / (mean + x) {
            x = mean * mean / x;
        }
        if x <= t {
            return x;
        }
    }
}

/// Where the two series of shape one take turns.
const TURN: f64 = 0.64;

/// Draws of shape one: four times PG(1, 2z).
struct One {
    z: f64,
    rate: f64,
    /// The probability of beginning to the right of the turn.
    right: f64,
}

impl One {
    fn new(z: f64) -> Self {
        let rate = 0.125 * PI * PI + 0.5 * z * z;
        let ln_right = (FRAC_PI_2 / rate).ln_() - rate * TURN;
        let ln_left = std::f64::consts::LN_2 + ln_left_mass(1.0, z, TURN);
        Self {
            z,
            rate,
            right: 1.0 / (1.0 + (ln_left - ln_right).exp_()),
        }
    }

    fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        loop {
            let x = if rng.random::<f64>() < self.right {
                let e: f64 = Exp1.sample(rng);
                TURN + e / self.rate
            } else {
                left(1.0, self.z, TURN, rng)
            };
            if one_accepts(x, rng.random::<f64>()) {
                return x;
            }
        }
    }
}

/// Whether a level, as a share of the first term, is below the density at x.
fn one_accepts(x: f64, share: f64) -> bool {
    let terms = OneTerms::at(x);
    let mut sum = terms.get(0);
    let level = share * sum;
    let mut n = 0;
    loop {
        n += 1;
        if n % 2 == 1 {
            sum -= terms.get(n);
            if level <= sum {
                return true;
            }
        } else {
            sum += terms.get(n);
            if level > sum {
                return false;
            }
        }
    }
}

/// The terms of the density at a place, without the tilt; they fall on either side of the turn.
struct OneTerms {
    scale: f64,
    /// The exponent of a term is this times the square of its place.
    exponent: f64,
}

impl OneTerms {
    fn at(x: f64) -> Self {
        if x <= TURN {
            // A power of three halves, which all terms share.
            let ratio = 2.0 / (PI * x);
            return Self {
                scale: PI * ratio * ratio.sqrt(),
                exponent: -2.0 / x,
            };
        }
        Self {
            scale: PI,
            exponent: -0.5 * PI * PI * x,
        }
    }

    /// The nth term.
    fn get(&self, n: u32) -> f64 {
        let k = f64::from(n) + 0.5;
        self.scale * k * (self.exponent * k * k).exp_()
    }
}

/// Draws of a shape from one to two: four times PG(h, 2z).
struct Between {
    h: f64,
    z: f64,
    turn: f64,
    rate: f64,
    right: f64,
}

impl Between {
    fn new(h: f64, z: f64) -> Self {
        // Where the two bounds of the density are about equal for these shapes: the cheapest turn, not one that matters.
        let turn = 0.64 + 0.72 * (h - 1.0);
        let rate = 0.125 * PI * PI + 0.5 * z * z;
        let upper = gamma_tails(h, rate * turn).1;
        let ln_right = h * (FRAC_PI_2 / rate).ln_() + upper.ln_();
        let ln_left = h * std::f64::consts::LN_2 + ln_left_mass(h, z, turn);
        Self {
            h,
            z,
            turn,
            rate,
            right: 1.0 / (1.0 + (ln_left - ln_right).exp_()),
        }
    }

    /// The nth term of the alternating series of the density, without the tilt.
    fn term(&self, n: u32, x: f64) -> f64 {
        let (h, k) = (self.h, f64::from(n));
        let ways = ln_gamma(k + h) - ln_gamma(h) - ln_gamma(k + 1.0);
        let place = 2.0 * k + h;
        let ln_scale = h * std::f64::consts::LN_2 + ways - 0.5 * place * place / x;
        place * ln_scale.exp_() / (2.0 * PI * x * x * x).sqrt()
    }

    /// What bounds the density from above, without the tilt.
    fn bound(&self, x: f64) -> f64 {
        if x <= self.turn {
            return self.term(0, x);
        }
        let h = self.h;
        (h * FRAC_PI_2.ln_() + (h - 1.0) * x.ln_() - 0.125 * PI * PI * x - ln_gamma(h)).exp_()
    }

    fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        loop {
            let x = if rng.random::<f64>() < self.right {
                self.beyond(rng)
            } else {
                left(self.h, self.z, self.turn, rng)
            };
            if self.accepts(x, rng.random::<f64>()) {
                return x;
            }
        }
    }

    /// Whether a level, as a share of the bound, is below the density at x.
    fn accepts(&self, x: f64, share: f64) -> bool {
        let level = share * self.bound(x);
        let (mut sum, mut last) = (self.term(0, x), f64::INFINITY);
        let mut n = 0;
        loop {
            n += 1;
            let term = self.term(n, x);
            sum += if n % 2 == 1 { -term } else { term };
            // Sums are on either side of the density in turn, once terms fall.
            let falls = term <= last;
            last = term;
            if falls && n % 2 == 1 && level <= sum {
                return true;
            }
            if falls && n % 2 == 0 && level > sum {
                return false;
            }
        }
    }

    /// A gamma variable beyond the turn: an exponential with a thinning.
    fn beyond<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        // The turn is beyond its top, from where x^{h-1} e^{-x} is below the exponential that touches it there.
        let shift = self.rate * self.turn;
        let slope = 1.0 - (self.h - 1.0) / shift;
        loop {
            let e: f64 = Exp1.sample(rng);
            let away = e / slope;
            let ln_accept = (self.h - 1.0) * ((away / shift).ln_1p_() - away / shift);
            if rng.random::<f64>() <= ln_accept.exp_() {
                return (shift + away) / self.rate;
            }
        }
    }
}

/// A shape above which a sum of gamma variables takes less than one of variables of shape one.
const MANY: f64 = 10.0;

/// The logarithm of 1e-15.
const LN_ROUNDING: f64 = -34.5;

/// PG(b, c) as $\frac1{2\pi^2}\sum_k g_k/((k+\frac12)^2+s^2)$ with $g_k$ gamma variables of shape b and $s=c/2\pi$.
///
/// The first terms are drawn, the rest is a number and a gamma variable with its first three cumulants. The fourth is then off by
/// less than $10^{-8}$ of the square of the whole's variance, and the CDF by less than a twentieth of that: a chain would see it
/// after $10^{18}$ draws. The error falls with the shape and with the seventh power of the number of terms.
pub(super) struct Series {
    shape: f64,
    /// What is drawn is multiplied by these.
    pub(super) weights: Vec<f64>,
    /// The rest: a number, and the shape and the scale of a gamma variable that is added to it.
    pub(super) rest: [f64; 3],
}

impl Series {
    pub(super) fn new(b: f64, c: f64) -> Self {
        let s = 0.5 * c / PI;
        // A shape below one has nothing that would smooth what is left out.
        let least = match b {
            ..1.0 => 60,
            ..FOUR => 4,
            ..THREE => 3,
            _ => 2,
        };
        let count = least + (6.0 * s) as usize;
        let scale = 0.5 / (PI * PI);
        let weight = |k: usize| scale / ((k as f64 + 0.5).powi(2) + s * s);
        let weights: Vec<f64> = (0..count).map(weight).collect();
        // Of one unit of shape; the tilt is that of a number of 0 or more: inside the domain.
        let whole = super::unit(0.5 * c * c);
        let mean = whole.mean - weights.iter().sum::<f64>();
        let variance = whole.variance - weights.iter().map(|w| w * w).sum::<f64>();
        let exact = (count..count + MORE).map(|k| ((k as f64 + 0.5).powi(2) + s * s).powi(-3));
        let sixths = exact.sum::<f64>() + sixth_powers((count + MORE) as f64, s);
        let third = 2.0 * scale.powi(3) * sixths;
        let size = 0.5 * third / variance;
        let shape = variance / (size * size);
        Self {
            shape: b,
            weights,
            rest: [b * (mean - shape * size), b * shape, size],
        }
    }

    fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        let sum = gammas(self.shape, &self.weights, rng);
        let [least, shape, scale] = self.rest;
        sum + least + scale * gamma_draw(shape, rng)
    }
}

/// Shapes up to which four terms and three are drawn, and the terms of the rest whose third cumulants are added one by one.
const FOUR: f64 = 30.0;
const THREE: f64 = 350.0;
const MORE: usize = 2;

/// $\sum_{k\ge K}((k+\frac12)^2+s^2)^{-3}$ for K well beyond s: the integral from K on, by a series in s²/K², and the first
/// corrections of the midpoint rule.
fn sixth_powers(count: f64, s: f64) -> f64 {
    let square = count * count;
    let ratio = s * s / square;
    let [mut integral, mut slope, mut third, mut fifth] = [0.0; 4];
    let mut term = count.powi(-5);
    for j in (0..20).map(f64::from) {
        // Of x^{-e}: the integral x^{1-e}/(e-1), the slope -e x^{-e-1}, the third derivative -e(e+1)(e+2) x^{-e-3}, and so on.
        let e = 2.0 * (3.0 + j);
        let steep = e * (e + 1.0) * (e + 2.0);
        integral += term / (e - 1.0);
        slope -= term * e;
        third -= term * steep;
        fifth -= term * steep * (e + 3.0) * (e + 4.0);
        term *= -ratio * (3.0 + j) / (j + 1.0);
        if term.abs() < f64::EPSILON * integral {
            break;
        }
    }
    let corrections = slope / 24.0 - third * 7.0 / (5760.0 * square)
        + fifth * 31.0 / (967_680.0 * square * square);
    integral + corrections / square
}

#[cfg(test)]
mod tests;
