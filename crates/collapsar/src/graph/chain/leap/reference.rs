//! Decides where leaps go: to draws of a t distribution of coordinates that are bent until they have no skew (maths §10.7).

use collapsar_core::random::{ChiSquared, Distribution, StandardNormal};
use nalgebra::DMatrix;
use rand::Rng;

use collapsar_core::elementary::Elementary;

/// Degrees of freedom: tails must be heavier than those of what is left once coordinates are bent.
const DEGREES: f64 = 10.0;
/// The strongest bend: the skew of a few draws is not to be believed beyond what it undoes.
const STRONGEST: f64 = 0.4;
/// Draws that each coordinate must have.
const VISITS: usize = 8;
/// A bend below which a coordinate is as good as straight.
const STRAIGHT: f64 = 1e-3;

/// A t distribution about the draws of a chain.
#[derive(Debug, Clone)]
pub(super) struct Reference {
    bends: Vec<Bend>,
    mean: Vec<f64>,
    /// The root of the scale matrix, the rows of its lower triangle one after another.
    root: Vec<f64>,
}

/// $u=(e^{\lambda(x-c)/s}-1)/\lambda$.
#[derive(Debug, Clone)]
struct Bend {
    centre: f64,
    scale: f64,
    strength: f64,
}

impl Bend {
    /// With the strength that leaves draws without skew: $u\approx z+\lambda z^2/2$ has three times $\lambda$ more of it than $z$.
    fn new(draws: &(impl Iterator<Item = f64> + Clone)) -> Option<Self> {
        let count = draws.clone().count() as f64;
        let centre = draws.clone().sum::<f64>() / count;
        let moment = |power: i32| draws.clone().map(|x| (x - centre).powi(power)).sum::<f64>();
        let scale = (moment(2) / count).sqrt();
        let skew = moment(3) / count / scale.powi(3);
        let strength = (-skew / 3.0).clamp(-STRONGEST, STRONGEST);
        let straight = strength.abs() < STRAIGHT;
        (scale > 0.0 && strength.is_finite()).then_some(Self {
            centre,
            scale,
            strength: if straight { 0.0 } else { strength },
        })
    }

    fn bent(&self, x: f64) -> f64 {
        let z = (x - self.centre) / self.scale;
        if self.strength == 0.0 {
            z
        } else {
            (self.strength * z).exp_m1_() / self.strength
        }
    }

    /// The coordinate, and $\ln|dx/du|$ but for a constant; not finite where nothing is bent there.
    fn unbent(&self, u: f64) -> (f64, f64) {
        if self.strength == 0.0 {
            return (self.centre + self.scale * u, 0.0);
        }
        let log = (self.strength * u).ln_1p_();
        (self.centre + self.scale * log / self.strength, -log)
    }
}

impl Reference {
    /// With the moments of these draws; none where they have no spread or are too few to tell.
    pub(super) fn new(draws: &[&[f64]]) -> Option<Self> {
        let dim = draws.first()?.len();
        if dim == 0 || draws.len() < VISITS * dim {
            return None;
        }
        let bends: Option<Vec<Bend>> = (0..dim)
            .map(|i| Bend::new(&draws.iter().map(move |draw| draw[i])))
            .collect();
        let bends = bends?;
        let bent: Vec<Vec<f64>> = (draws.iter())
            .map(|draw| bends.iter().zip(*draw).map(|(b, x)| b.bent(*x)).collect())
            .collect();
        let count = draws.len() as f64;
        let mean: Vec<f64> = (0..dim)
            .map(|i| bent.iter().map(|u| u[i]).sum::<f64>() / count)
            .collect();
        let covariance = |i: usize, j: usize| {
            let products = bent.iter().map(|u| (u[i] - mean[i]) * (u[j] - mean[j]));
            products.sum::<f64>() / count
        };
        let shrunk = (DEGREES - 2.0) / DEGREES;
        let scale = DMatrix::from_fn(dim, dim, |i, j| shrunk * covariance(i, j));
        let factor = scale.cholesky()?.l();
        let root: Vec<f64> = (0..dim)
            .flat_map(|i| (0..=i).map(move |j| (i, j)))
            .map(|place| factor[place])
            .collect();
        let finite = root.iter().chain(&mean).all(|x| x.is_finite());
        finite.then_some(Self { bends, mean, root })
    }

    /// Draws a place, in coordinates without correlation.
    pub(super) fn draw<R: Rng + ?Sized>(rng: &mut R, white: &mut [f64]) {
        let chi = ChiSquared::new(DEGREES).map_or(DEGREES, |chi| chi.sample(rng));
        let wide = (DEGREES / chi).sqrt();
        for v in white {
            let z: f64 = StandardNormal.sample(rng);
            *v = wide * z;
        }
    }

    /// Writes the coordinates of a place; returns the logarithm of the density by which it was proposed, by those
    /// coordinates and but for a constant.
    pub(super) fn unbend(&self, white: &[f64], out: &mut [f64]) -> f64 {
        let (mut first, mut square, mut ln_slope) = (0, 0.0, 0.0);
        for (i, (bend, out)) in self.bends.iter().zip(out).enumerate() {
            let row = &self.root[first..=first + i];
            let products = row.iter().zip(white).map(|(l, v)| l * v);
            let (x, more) = bend.unbent(self.mean[i] + products.sum::<f64>());
            *out = x;
            ln_slope += more;
            square += white[i] * white[i];
            first += i + 1;
        }
        let dim = white.len() as f64;
        -0.5 * (DEGREES + dim) * (square / DEGREES).ln_1p_() - ln_slope
    }

    /// Writes the place at which these are the coordinates.
    pub(super) fn bend(&self, coordinates: &[f64], white: &mut [f64]) {
        let mut first = 0;
        for (i, (bend, x)) in self.bends.iter().zip(coordinates).enumerate() {
            let row = &self.root[first..first + i];
            let products = row.iter().zip(&*white).map(|(l, v)| l * v);
            let left = bend.bent(*x) - self.mean[i] - products.sum::<f64>();
            white[i] = left / self.root[first + i];
            first += i + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    /// Logarithms of gamma draws, which are skew, and a sum with them.
    fn reference() -> Reference {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let gamma = collapsar_core::random::Gamma::new(3.0, 1.0).expect("positive");
        let draws: Vec<Vec<f64>> = (0..2000)
            .map(|_| {
                let z: f64 = StandardNormal.sample(&mut rng);
                let x = gamma.sample(&mut rng).ln_();
                vec![x, 0.4 * x + z]
            })
            .collect();
        let draws: Vec<&[f64]> = draws.iter().map(Vec::as_slice).collect();
        Reference::new(&draws).expect("spread")
    }

    #[test]
    fn bending_is_undone() {
        let reference = reference();
        assert!(reference.bends[0].strength > 0.1);
        let (mut at, mut white) = ([0.0; 2], [0.0; 2]);
        reference.unbend(&[0.7, -1.1], &mut at);
        reference.bend(&at, &mut white);
        assert!((white[0] - 0.7).abs() < 1e-12 && (white[1] + 1.1).abs() < 1e-12);
    }

    /// The density integrates draws as they come: the mean of π / q over draws of q is the integral of π, for any π.
    #[test]
    fn draws_have_the_density() {
        let reference = reference();
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let (mut at, mut white) = ([0.0; 2], [0.0; 2]);
        let mut integral = |centre: [f64; 2]| {
            let weights: Vec<f64> = (0..40_000)
                .map(|_| {
                    Reference::draw(&mut rng, &mut white);
                    let ln_proposed = reference.unbend(&white, &mut at);
                    if !ln_proposed.is_finite() {
                        return 0.0;
                    }
                    let far = (at[0] - centre[0]).powi(2) + (at[1] - centre[1]).powi(2);
                    (-8.0 * far - ln_proposed).exp_()
                })
                .collect();
            let mean = weights.iter().sum::<f64>() / weights.len() as f64;
            let square = weights.iter().map(|w| (w - mean).powi(2)).sum::<f64>();
            (mean, square.sqrt() / weights.len() as f64)
        };
        let (first, error) = integral([1.0, 0.4]);
        for centre in [[0.4, 0.0], [1.4, 0.8], [1.0, -0.5]] {
            let (other, more) = integral(centre);
            // Three comparisons of integrals that are the same.
            let far = (first - other).abs() / error.hypot_(more);
            assert!(far < 4.0, "{first} {other}: {far}");
        }
    }
}
