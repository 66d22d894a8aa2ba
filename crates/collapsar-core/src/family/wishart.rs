//! A precision matrix alone: a normal-Wishart block without means.

use rand::Rng;

use super::{Family, NormalWishart, NormalWishartDraw, NormalWishartOrdinary};
use crate::collapsed::Potential;
use crate::error::Result;

/// A Wishart distribution of a precision matrix $\Lambda$ of $D$ dimensions.
///
/// $$p(\Lambda) \propto |\Lambda|^{(\nu - D - 1)/2} e^{-\operatorname{tr}(S \Lambda)/2}, \qquad
/// A = \tfrac{\nu D}2 \ln 2 - \tfrac\nu2 \ln|S| + \ln\Gamma_D(\tfrac\nu2)$$
///
/// Natural parameters are $(\nu, S)$ with $S$ packed as the rows of its upper triangle; the
/// statistics are $\tfrac12 \ln|\Lambda|$, and $-\tfrac12\Lambda_{ii}$ on the diagonal and
/// $-\Lambda_{ij}$ off it. A normal datum at distance $x$ from its mean adds 1 to $\nu$, $xx'$ to
/// $S$ and $-\tfrac D2 \ln 2\pi$ to the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wishart {
    /// Number $D$ of rows of the matrix.
    pub dim: usize,
}

/// Ordinary parameters of [`Wishart`].
#[derive(Debug, Clone, PartialEq)]
pub struct WishartOrdinary {
    /// $\nu > D - 1$: how many observations the precision is worth.
    pub degrees_of_freedom: f64,
    /// $S$, row by row: $E[\Lambda] = \nu S^{-1}$.
    pub scale: Vec<f64>,
}

/// A draw of [`Wishart`].
#[derive(Debug, Clone, PartialEq)]
pub struct WishartDraw {
    /// $\Lambda$, row by row.
    pub precision: Vec<f64>,
    /// $\ln|\Lambda|$, which a nearly singular matrix no longer shows.
    pub ln_determinant: f64,
}

impl Wishart {
    /// A distribution of matrices with `dim` rows.
    pub fn new(dim: usize) -> Self {
        Self { dim }
    }

    /// Rows of a matrix.
    pub fn dimensions(&self) -> usize {
        self.dim
    }

    /// The same distribution as a block of no means (maths §3.8).
    fn block(self) -> NormalWishart {
        NormalWishart::tied(self.dim, 0)
    }
}

impl Potential for Wishart {
    fn dim(&self) -> usize {
        self.block().dim()
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        self.block().value_and_gradient(at, gradient)
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        self.block().hessian_product(at, along, out)
    }
}

impl Family for Wishart {
    type Ordinary = WishartOrdinary;
    type Draw = WishartDraw;

    fn natural(&self, ordinary: &WishartOrdinary) -> Result<Vec<f64>> {
        self.block().natural(&NormalWishartOrdinary {
            means: Vec::new(),
            mean_precisions: Vec::new(),
            degrees_of_freedom: ordinary.degrees_of_freedom,
            scale: ordinary.scale.clone(),
        })
    }

    fn ordinary(&self, natural: &[f64]) -> Result<WishartOrdinary> {
        let ordinary = self.block().ordinary(natural)?;
        Ok(WishartOrdinary {
            degrees_of_freedom: ordinary.degrees_of_freedom,
            scale: ordinary.scale,
        })
    }

    fn sample<R: Rng + ?Sized>(&self, natural: &[f64], rng: &mut R) -> Result<WishartDraw> {
        let draw = self.block().sample(natural, rng)?;
        Ok(WishartDraw {
            precision: draw.precision,
            ln_determinant: draw.ln_determinant,
        })
    }

    fn statistics(&self, draw: &WishartDraw, out: &mut [f64]) {
        let draw = NormalWishartDraw {
            means: Vec::new(),
            precision: draw.precision.clone(),
            ln_determinant: draw.ln_determinant,
        };
        self.block().statistics(&draw, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::Gamma;

    #[test]
    fn one_row_is_a_gamma() {
        // Λ ~ Gamma(ν/2, S/2): the statistics are those of the gamma, both halved.
        let (natural, halved) = ([3.4, 0.6], [1.7, 0.3]);
        let (mut found, mut expected) = ([0.0; 2], [0.0; 2]);
        let value = Wishart::new(1).value_and_gradient(&natural, &mut found);
        let twin = Gamma.value_and_gradient(&halved, &mut expected);
        let close = |a: f64, b: f64| (a - b).abs() < 1e-14 * b.abs().max(1.0);
        assert!(close(value.expect("inside"), twin.expect("inside")));
        assert!(close(found[0], 0.5 * expected[0]) && close(found[1], 0.5 * expected[1]));
    }

    #[test]
    fn a_mean_that_is_integrated_out_leaves_the_normal_wishart() {
        // ∫ dμ of a normal-Wishart block is a Wishart with the same ν and S, times (2π/κ)^{D/2}.
        let scale = vec![2.0, 0.3, 0.3, 1.5];
        let (kappa, freedom) = (0.7, 3.5);
        let with_mean = NormalWishartOrdinary {
            means: vec![vec![1.0, -2.0]],
            mean_precisions: vec![kappa],
            degrees_of_freedom: freedom,
            scale: scale.clone(),
        };
        let alone = WishartOrdinary {
            degrees_of_freedom: freedom,
            scale,
        };
        let natural = Wishart::new(2).natural(&alone).expect("in the domain");
        assert_eq!(natural, [3.5, 2.0, 0.3, 1.5]);
        let value = Wishart::new(2).value_and_gradient(&natural, &mut [0.0; 4]);
        let block = NormalWishart::new(2);
        let natural = block.natural(&with_mean).expect("in the domain");
        let joint = block.value_and_gradient(&natural, &mut [0.0; 7]);
        let expected = joint.expect("in the domain") - (std::f64::consts::TAU / kappa).ln();
        let found = value.expect("in the domain");
        assert!((found - expected).abs() < 1e-13, "{found} {expected}");
    }

    #[test]
    fn parameters_outside_the_domain_are_errors() {
        let family = Wishart::new(2);
        for bad in [
            &[1.0, 2.0, 0.3, 1.5][..],
            &[3.0, 1.0, 2.0, 1.0],
            &[3.0, f64::NAN, 0.0, 1.0],
            &[3.0, 1.0],
        ] {
            let found = family.value_and_gradient(bad, &mut [0.0; 4]);
            assert!(found.is_err(), "{bad:?}");
        }
        let indefinite = WishartOrdinary {
            degrees_of_freedom: 3.0,
            scale: vec![1.0, 2.0, 2.0, 1.0],
        };
        assert_eq!(
            family.natural(&indefinite).expect_err("no").to_string(),
            "Wishart block: the scale matrix is not positive definite, \
             expected a positive definite scale matrix"
        );
    }
}
