//! The weights of a Dirichlet process, as independent beta sticks.

use rand::Rng;

use super::dirichlet::ln_gamma_draw;
use super::{Family, check_length, check_positive};
use crate::collapsed::Potential;
use crate::elementary::Elementary;
use crate::error::Result;
use crate::special::{digamma_gap, ln_beta, trigamma, trigamma_gap};

const BLOCK: &str = "stick-breaking block";

/// Sticks $v_k \sim \mathrm{Beta}(a_k, b_k)$ that make weights $\pi_k = v_k \prod_{j<k} (1 - v_j)$.
///
/// There are as many sticks as components: what the last one leaves is the mass of all components
/// never used, so the process is not truncated. Natural parameters are
/// $(a_1, b_1, a_2, b_2, \ldots)$, statistics $(\ln v_1, \ln(1 - v_1), \ldots)$.
///
/// $$A(a, b) = \sum_k \ln B(a_k, b_k)$$
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StickBreaking {
    /// Number of sticks, and of components.
    pub sticks: usize,
}

impl StickBreaking {
    /// As many sticks as components in use.
    pub fn new(sticks: usize) -> Self {
        Self { sticks }
    }

    /// Adds counts over components to the shapes: $a_k$ gains $c_k$ and $b_k$ gains
    /// $\sum_{j>k} c_j$.
    pub fn add_counts(counts: &[f64], natural: &mut [f64]) {
        debug_assert_eq!(natural.len(), 2 * counts.len());
        let mut beyond = 0.0;
        for (count, shapes) in counts.iter().zip(natural.chunks_exact_mut(2)).rev() {
            shapes[0] += count; // maths §3.3
            shapes[1] += beyond;
            beyond += count;
        }
    }

    /// Adds to `per_component` the gradient with respect to counts, given that with respect to
    /// shapes: the transpose of [`StickBreaking::add_counts`].
    pub fn pull_back(per_stick: &[f64], per_component: &mut [f64]) {
        debug_assert_eq!(per_stick.len(), 2 * per_component.len());
        let mut before = 0.0;
        for (shapes, out) in per_stick.chunks_exact(2).zip(per_component) {
            *out += shapes[0] + before; // maths §3.3
            before += shapes[1];
        }
    }

    /// $E[\pi_k]$ for each component, and the mass expected beyond the last.
    pub fn expected_weights(natural: &[f64]) -> (Vec<f64>, f64) {
        let mut left = 1.0;
        let weights = natural.as_chunks().0.iter().map(|[a, b]| {
            let weight = left * a / (a + b);
            left *= b / (a + b);
            weight
        });
        (weights.collect(), left)
    }

    fn check(self, natural: &[f64]) -> Result<()> {
        check_length(BLOCK, natural, 2 * self.sticks)?;
        check_positive(BLOCK, "shape", natural, "positive, finite shapes")
    }
}

impl Potential for StickBreaking {
    fn dim(&self) -> usize {
        2 * self.sticks
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        self.check(at)?;
        let mut value = 0.0;
        for (&[a, b], g) in at.as_chunks().0.iter().zip(gradient.chunks_exact_mut(2)) {
            // Differences in one piece: a stick with a million counts on one side and one on the
            // other would lose digits to cancelling log-gammas.
            value += ln_beta(a, b); // maths §3.3
            g[0] = -digamma_gap(a, b);
            g[1] = -digamma_gap(b, a);
        }
        Ok(value)
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        self.check(at)?;
        let sticks = at.as_chunks().0.iter().zip(along.chunks_exact(2));
        for ((&[a, b], d), o) in sticks.zip(out.chunks_exact_mut(2)) {
            let shared = trigamma(a + b);
            o[0] = trigamma_gap(a, b) * d[0] - shared * d[1]; // maths §3.3
            o[1] = trigamma_gap(b, a) * d[1] - shared * d[0];
        }
        Ok(())
    }
}

impl Family for StickBreaking {
    /// The shapes $(a_k, b_k)$ of each stick.
    type Ordinary = Vec<[f64; 2]>;
    /// $(\ln v_k, \ln (1 - v_k))$ of each stick: in logarithms neither end is lost.
    type Draw = Vec<[f64; 2]>;

    fn natural(&self, ordinary: &Vec<[f64; 2]>) -> Result<Vec<f64>> {
        let natural = ordinary.concat();
        self.check(&natural)?;
        Ok(natural)
    }

    fn ordinary(&self, natural: &[f64]) -> Result<Vec<[f64; 2]>> {
        self.check(natural)?;
        Ok(natural.as_chunks().0.to_vec())
    }

    fn sample<R: Rng + ?Sized>(&self, natural: &[f64], rng: &mut R) -> Result<Vec<[f64; 2]>> {
        let draw = self.ordinary(natural)?.into_iter().map(|shapes| {
            let [x, y] = shapes.map(|shape| ln_gamma_draw(shape, rng));
            [-ln_1p_exp(y - x), -ln_1p_exp(x - y)]
        });
        Ok(draw.collect())
    }

    fn statistics(&self, draw: &Vec<[f64; 2]>, out: &mut [f64]) {
        out.copy_from_slice(draw.as_flattened());
    }
}

/// ln(1 + eˣ) for any x.
fn ln_1p_exp(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp_().ln_1p_()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pull_back_is_the_transpose_of_add_counts() {
        let counts = [3.0, 0.0, 1.5, 7.0];
        let gradient = [0.3, -1.0, 2.0, 0.7, -0.2, 5.0, 1.1, -3.0];
        let mut shapes = [0.0; 8];
        StickBreaking::add_counts(&counts, &mut shapes);
        assert_eq!(shapes, [3.0, 8.5, 0.0, 8.5, 1.5, 7.0, 7.0, 0.0]);
        let mut pulled = [0.0; 4];
        StickBreaking::pull_back(&gradient, &mut pulled);
        let left: f64 = shapes.iter().zip(gradient).map(|(s, g)| s * g).sum();
        let right: f64 = counts.iter().zip(pulled).map(|(c, p)| c * p).sum();
        // A dozen terms of size ten.
        assert!((left - right).abs() < 1e-12);
    }

    #[test]
    fn weights_and_remainder_sum_to_one() {
        let (weights, left) = StickBreaking::expected_weights(&[1.0, 3.0, 2.0, 2.0]);
        assert_eq!(weights, [0.25, 0.375]);
        assert_eq!(left, 0.375);
    }

    #[test]
    fn shapes_outside_the_domain_are_errors() {
        for bad in [&[0.0, 1.0][..], &[1.0, f64::NAN], &[1.0]] {
            assert!(
                StickBreaking::new(1)
                    .value_and_gradient(bad, &mut [0.0; 2])
                    .is_err()
            );
        }
    }
}
