//! Decides which nearly normal number a gamma variable is the cube of (maths §10.7).

use crate::random::{Distribution, StandardNormal};
use rand::{Rng, RngExt};

use crate::elementary::Elementary;

/// Shapes below which the number is not nearly normal.
const LEAST: f64 = 1.0;

/// $\tau=d\,(1+cz)^3$ with $d=a-\tfrac13$ and $c=1/\sqrt{9d}$: where $\tau$ is gamma with shape $a$ and rate one, $z$ has the
/// density $\propto\exp(d\ln v-dv)$ with $v=(1+cz)^3$, which is nearly that of a standard normal number (Marsaglia00).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GammaCube {
    shape: f64,
    d: f64,
    c: f64,
}

impl GammaCube {
    /// For this shape; none where it is small.
    pub fn new(shape: f64) -> Option<Self> {
        let d = shape - 1.0 / 3.0;
        (shape >= LEAST && shape.is_finite()).then(|| Self {
            shape,
            d,
            c: 1.0 / (9.0 * d).sqrt(),
        })
    }

    /// The shape.
    pub fn shape(&self) -> f64 {
        self.shape
    }

    /// $\tau$.
    pub fn at(&self, z: f64) -> f64 {
        self.d * (1.0 + self.c * z).powi(3)
    }

    /// The log density of $z$ but for a constant, zero at zero: $-\infty$ where $\tau$ would not be positive.
    pub fn ln_density(&self, z: f64) -> f64 {
        let root = 1.0 + self.c * z;
        if root <= 0.0 {
            return f64::NEG_INFINITY;
        }
        self.d * (1.0 + 3.0 * root.ln_() - root.powi(3))
    }

    /// A draw of $z$: normal, kept as often as its density is that of a normal number.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        loop {
            let z: f64 = StandardNormal.sample(rng);
            let u = 1.0 - rng.random::<f64>();
            let square = z * z;
            // A bound that spares most of the logarithms.
            if self.c * z > -1.0
                && (u < 1.0 - 0.0331 * square * square
                    || u.ln_() < 0.5 * square + self.ln_density(z))
            {
                return z;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    /// Mean and variance of a gamma variable are its shape, whether it is drawn or turned round again and again.
    #[test]
    fn draws_have_the_moments_and_so_do_reflections() {
        assert!(GammaCube::new(0.5).is_none());
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        for shape in [1.0, 2.5, 40.0] {
            let cube = GammaCube::new(shape).expect("large enough");
            let count = 50_000;
            let (mut sums, mut z) = ([0.0; 2], 0.0);
            for turn in 0..2 * count {
                if turn % 2 == 0 {
                    z = cube.draw(&mut rng);
                } else if rng.random::<f64>() < (cube.ln_density(-z) - cube.ln_density(z)).exp() {
                    z = -z;
                }
                let tau = cube.at(z);
                assert!(tau > 0.0);
                sums[0] += tau - shape;
                sums[1] += (tau - shape).powi(2) - shape;
            }
            let [mean, variance] = sums.map(|sum| sum / f64::from(2 * count));
            // Of 50,000 pairs, the second of which may be the first once more.
            let error = (shape / f64::from(count)).sqrt();
            assert!(mean.abs() < 4.0 * error, "{shape}: {mean} ± {error}");
            let error = ((2.0 * shape * shape + 6.0 * shape) / f64::from(count)).sqrt();
            assert!(
                variance.abs() < 4.0 * error,
                "{shape}: {variance} ± {error}"
            );
        }
    }
}
