//! Decides how a sparse Gaussian is drawn in buffers that are kept between draws.

use std::f64::consts::TAU;

use crate::random::{Distribution, StandardNormal};
use rand::Rng;

use super::factor::refactor;
use super::{BLOCK, Gaussian, not_finite};
use crate::elementary::Elementary;
use crate::error::Result;
use crate::family::check_length;

/// What draws of a [`Gaussian`] are made in: a chain draws the same one again and again.
#[derive(Debug, Clone, Default)]
pub struct GaussianBuffers {
    pivots: Vec<f64>,
    below: Vec<f64>,
    solution: Vec<f64>,
    draw: Vec<f64>,
}

/// Some scalars of a [`Gaussian`], and what is drawn so that they can be.
#[derive(Debug, Clone, Default)]
pub struct GaussianPart {
    /// Columns of the factor, last first: each is followed by none that it depends on.
    columns: Vec<u32>,
    scalars: Vec<u32>,
}

impl GaussianPart {
    /// How many numbers its noise is.
    pub fn noise(&self) -> usize {
        self.columns.len()
    }

    /// The scalars that are drawn, in the order in which [`Gaussian::draw_part`] hands them over.
    pub fn scalars(&self) -> &[u32] {
        &self.scalars
    }
}

impl Gaussian {
    /// Draws as [`crate::family::Family::sample`] does, into `out`.
    ///
    /// # Errors
    /// Where the precision matrix is not positive definite.
    pub fn draw_into<R: Rng + ?Sized>(
        &self,
        natural: &[f64],
        rng: &mut R,
        buffers: &mut GaussianBuffers,
        out: &mut [f64],
    ) -> Result<()> {
        check_length(BLOCK, natural, 2 * self.scalars() + self.pairs().len())?;
        self.begin(BLOCK, natural, buffers)?;
        self.finish(1.0, rng, buffers, out);
        Ok(())
    }

    /// The part that these scalars are drawn with: given all after it in the order of elimination, a scalar depends on the
    /// rows of its own column alone.
    pub fn part(&self, wanted: impl Fn(usize) -> bool) -> GaussianPart {
        let pattern = &*self.pattern;
        let mut needed: Vec<bool> = (pattern.order.iter())
            .map(|scalar| wanted(*scalar as usize))
            .collect();
        for column in 0..pattern.len() {
            if needed[column] {
                for row in pattern.rows(column) {
                    needed[*row as usize] = true;
                }
            }
        }
        let columns: Vec<u32> = (0..pattern.len() as u32)
            .rev()
            .filter(|column| needed[*column as usize])
            .collect();
        GaussianPart {
            scalars: (columns.iter())
                .map(|column| pattern.order[*column as usize])
                .collect(),
            columns,
        }
    }

    /// The log-partition function; leaves the factor in the buffers, for [`Gaussian::draw_part`].
    ///
    /// # Errors
    /// Where the precision matrix is not positive definite.
    pub fn value_into(&self, natural: &[f64], buffers: &mut GaussianBuffers) -> Result<f64> {
        check_length(BLOCK, natural, 2 * self.scalars() + self.pairs().len())?;
        let square = self.begin(BLOCK, natural, buffers)?;
        let ln_determinant = ln_product(&buffers.pivots);
        let n = self.scalars() as f64;
        Ok(0.5 * (n * TAU.ln_() - ln_determinant + square)) // maths §3.9
    }

    /// Draws a part, by the factor that [`Gaussian::value_into`] left, from standard normal noise; `see` gets each
    /// scalar's number, in the order of [`GaussianPart::scalars`].
    pub fn draw_part(
        &self,
        part: &GaussianPart,
        noise: &[f64],
        buffers: &mut GaussianBuffers,
        mut see: impl FnMut(usize, f64),
    ) {
        let pattern = &*self.pattern;
        let draw = &mut buffers.draw;
        draw.resize(pattern.len(), 0.0);
        for (place, (&column, z)) in part.columns.iter().zip(noise).enumerate() {
            let j = column as usize;
            let mut x = buffers.solution[j] + z / buffers.pivots[j].sqrt();
            for (row, l) in (pattern.rows(j).iter()).zip(&buffers.below[pattern.places(j)]) {
                x -= l * draw[*row as usize];
            }
            draw[j] = x;
            see(place, x);
        }
    }

    /// Factors, and solves for the mean half way; returns $h'\Lambda^{-1}h$.
    pub(in crate::family) fn begin(
        &self,
        block: &str,
        natural: &[f64],
        buffers: &mut GaussianBuffers,
    ) -> Result<f64> {
        let [shifts, precisions, couplings] = self.parts(natural);
        let (
            pattern,
            GaussianBuffers {
                pivots,
                below,
                solution,
                ..
            },
        ) = (&*self.pattern, buffers);
        refactor(pattern, precisions, couplings, pivots, below)
            .map_err(|scalar| self.not_positive(block, scalar))?;
        solution.clear();
        solution.extend(pattern.order.iter().map(|i| shifts[*i as usize]));
        let mut square = 0.0;
        for j in 0..solution.len() {
            let known = solution[j];
            for (row, l) in pattern.rows(j).iter().zip(&below[pattern.places(j)]) {
                solution[*row as usize] -= l * known;
            }
            solution[j] = known / pivots[j];
            square += known * solution[j];
        }
        if square.is_finite() {
            Ok(square)
        } else {
            Err(not_finite(block, square))
        }
    }

    /// The other half, with noise of so many standard deviations: mean and noise are solved for at once, as
    /// $L'x = D^{-1}y + w D^{-1/2}z$.
    pub(in crate::family) fn finish<R: Rng + ?Sized>(
        &self,
        wide: f64,
        rng: &mut R,
        buffers: &mut GaussianBuffers,
        out: &mut [f64],
    ) {
        let (
            pattern,
            GaussianBuffers {
                pivots,
                below,
                solution,
                ..
            },
        ) = (&*self.pattern, buffers);
        for (x, pivot) in solution.iter_mut().zip(pivots) {
            let z: f64 = StandardNormal.sample(rng);
            *x += wide * z / pivot.sqrt();
        }
        for j in (0..solution.len()).rev() {
            let mut x = solution[j];
            for (row, l) in pattern.rows(j).iter().zip(&below[pattern.places(j)]) {
                x -= l * solution[*row as usize];
            }
            solution[j] = x;
            out[pattern.order[j] as usize] = x;
        }
    }

    /// Writes the statistics of a draw.
    pub fn write_statistics(&self, x: &[f64], out: &mut [f64]) {
        let (first, rest) = out.split_at_mut(x.len());
        let (squares, products) = rest.split_at_mut(x.len());
        first.copy_from_slice(x);
        for (out, x) in squares.iter_mut().zip(x) {
            *out = -0.5 * x * x;
        }
        for (out, &(i, j)) in products.iter_mut().zip(self.pairs()) {
            *out = -x[i as usize] * x[j as usize];
        }
    }
}

/// The sum of logarithms: eight factors at a time, where their product is a number that has one.
fn ln_product(factors: &[f64]) -> f64 {
    let ln = |factors: &[f64]| {
        let product: f64 = factors.iter().product();
        if product.is_normal() {
            product.ln_()
        } else {
            factors.iter().map(|factor| factor.ln_()).sum()
        }
    };
    factors.chunks(8).map(ln).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapsed::Potential;
    use crate::family::Family;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    /// A chain of four with an arm.
    fn field() -> (Gaussian, Vec<f64>) {
        let family = Gaussian::new(5, &[(0, 1), (1, 2), (2, 3), (1, 4)]);
        let mut natural = vec![0.3, -1.0, 0.0, 2.0, 0.7];
        natural.extend([1.5, 3.0, 2.0, 1.2, 0.9, 0.4, -0.6, 0.3, 0.8]);
        (family, natural)
    }

    #[test]
    fn draws_have_the_mean_of_the_statistics() {
        let (family, natural) = field();
        let mut mean = vec![0.0; natural.len()];
        family
            .value_and_gradient(&natural, &mut mean)
            .expect("inside");
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let (mut buffers, mut draw) = (GaussianBuffers::default(), vec![0.0; 5]);
        let count = 20_000;
        let mut sums = vec![(0.0, 0.0); mean.len()];
        let mut statistics = vec![0.0; mean.len()];
        for _ in 0..count {
            (family.draw_into(&natural, &mut rng, &mut buffers, &mut draw)).expect("inside");
            family.statistics(&draw, &mut statistics);
            for ((sum, squares), x) in sums.iter_mut().zip(&statistics) {
                *sum += x;
                *squares += x * x;
            }
        }
        for ((sum, squares), mean) in sums.iter().zip(&mean) {
            let found = sum / f64::from(count);
            let error = ((squares / f64::from(count) - found * found) / f64::from(count)).sqrt();
            // Fourteen means: one in a hundred thousand is beyond 4.5 standard errors.
            assert!(
                (found - mean).abs() < 4.5 * error,
                "{found} ± {error}, {mean}"
            );
        }
    }

    /// A part has the numbers that the whole has for the same noise, and the value is that of the family.
    #[test]
    fn a_part_is_drawn_as_in_the_whole() {
        let (family, natural) = field();
        let mut buffers = GaussianBuffers::default();
        let value = family.value_into(&natural, &mut buffers).expect("inside");
        let expected = family.value(&natural).expect("inside");
        assert!((value - expected).abs() < 1e-13, "{value} {expected}");
        let whole = family.part(|_| true);
        assert_eq!(whole.noise(), 5);
        let noise = [0.3, -1.2, 0.8, 0.1, -0.4];
        let mut all = [0.0; 5];
        family.draw_part(&whole, &noise, &mut buffers, |place, x| {
            all[whole.scalars()[place] as usize] = x;
        });
        for wanted in 0..5 {
            let part = family.part(|scalar| scalar == wanted);
            let own: Vec<f64> = (part.scalars().iter())
                .map(|scalar| {
                    let same = |other: &u32| other == scalar;
                    noise[whole.scalars().iter().position(same).expect("in all")]
                })
                .collect();
            let mut last = f64::NAN;
            family.draw_part(&part, &own, &mut buffers, |_, x| last = x);
            assert_eq!(*part.scalars().last().expect("one") as usize, wanted);
            assert!(last == all[wanted], "{last} {}", all[wanted]);
        }
        let tiny = vec![1e-200; 20];
        assert!((ln_product(&tiny) / 20.0 - 1e-200_f64.ln()).abs() < 1e-12);
    }
}
