//! Normal and exponential variates by the ziggurat of Marsaglia and Tsang (2000), with 256 layers, in the form of
//! Doornik (2005), "An improved ziggurat method to generate normal random samples".

use std::sync::LazyLock;

use rand::distr::{Distribution, Open01};
use rand::{Rng, RngExt};

use crate::elementary::Elementary;

const LAYERS: usize = 256;
/// Where the tail of a normal begins, for layers of equal areas to reach its top.
const NORMAL_TAIL: f64 = 3.654_152_885_361_009;
/// Where the tail of an exponential begins.
const EXPONENTIAL_TAIL: f64 = 7.697_117_470_131_05;

/// The right ends of the layers, from the bottom, and the density there.
struct Layers {
    ends: [f64; LAYERS + 1],
    densities: [f64; LAYERS + 1],
}

impl Layers {
    /// `area` is that of each layer, the lowest with the tail; `inverse` takes densities back to their ends.
    fn new(tail: f64, area: f64, density: fn(f64) -> f64, inverse: fn(f64) -> f64) -> Self {
        let mut ends = [0.0; LAYERS + 1];
        // As wide as a rectangle of its area would be.
        ends[0] = area / density(tail);
        ends[1] = tail;
        for i in 2..LAYERS {
            ends[i] = inverse(area / ends[i - 1] + density(ends[i - 1]));
        }
        Self {
            ends,
            densities: ends.map(density),
        }
    }
}

fn normal_density(x: f64) -> f64 {
    (-x * x / 2.0).exp_()
}

fn exponential_density(x: f64) -> f64 {
    (-x).exp_()
}

static NORMAL: LazyLock<Layers> = LazyLock::new(|| {
    let r = NORMAL_TAIL;
    let beyond = std::f64::consts::FRAC_PI_2.sqrt() * libm::erfc(r / std::f64::consts::SQRT_2);
    let area = r * normal_density(r) + beyond;
    Layers::new(r, area, normal_density, |y| (-2.0 * y.ln_()).sqrt())
});

static EXPONENTIAL: LazyLock<Layers> = LazyLock::new(|| {
    let r = EXPONENTIAL_TAIL;
    let area = (r + 1.0) * exponential_density(r);
    Layers::new(r, area, exponential_density, |y| -y.ln_())
});

/// The 52 high bits of random ones as a number from 1 to 2.
fn one_to_two(bits: u64) -> f64 {
    f64::from_bits((bits >> 12) | 1.0_f64.to_bits())
}

/// A normal variate of mean 0 and variance 1.
#[derive(Debug, Clone, Copy)]
pub struct StandardNormal;

impl Distribution<f64> for StandardNormal {
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        let layers = &*NORMAL;
        loop {
            let bits = rng.next_u64();
            let layer = (bits & 0xff) as usize;
            let u = 2.0 * one_to_two(bits) - 3.0;
            let x = u * layers.ends[layer];
            if x.abs() < layers.ends[layer + 1] {
                return x;
            }
            if layer == 0 {
                return normal_tail(u, rng);
            }
            let (low, high) = (layers.densities[layer], layers.densities[layer + 1]);
            if high + (low - high) * rng.random::<f64>() < normal_density(x) {
                return x;
            }
        }
    }
}

/// A normal variate beyond the tail's beginning, on the side of `u`: Marsaglia (1964).
#[cold]
fn normal_tail<R: Rng + ?Sized>(u: f64, rng: &mut R) -> f64 {
    loop {
        let (first, second): (f64, f64) = (rng.sample(Open01), rng.sample(Open01));
        let (x, y) = (first.ln_() / NORMAL_TAIL, second.ln_());
        if -2.0 * y >= x * x {
            return if u < 0.0 {
                x - NORMAL_TAIL
            } else {
                NORMAL_TAIL - x
            };
        }
    }
}

/// An exponential variate of mean 1.
#[derive(Debug, Clone, Copy)]
pub struct Exp1;

impl Distribution<f64> for Exp1 {
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        let layers = &*EXPONENTIAL;
        loop {
            let bits = rng.next_u64();
            let layer = (bits & 0xff) as usize;
            // Between 0 and 1 without the ends.
            let u = one_to_two(bits) - (1.0 - 0.5 * f64::EPSILON);
            let x = u * layers.ends[layer];
            if x < layers.ends[layer + 1] {
                return x;
            }
            if layer == 0 {
                return EXPONENTIAL_TAIL - rng.random::<f64>().ln_();
            }
            let (low, high) = (layers.densities[layer], layers.densities[layer + 1]);
            if high + (low - high) * rng.random::<f64>() < exponential_density(x) {
                return x;
            }
        }
    }
}
