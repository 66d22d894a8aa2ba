//! Normal means with one full precision matrix in common.

use std::f64::consts::{LN_2, TAU};

use crate::random::{ChiSquared, Distribution, StandardNormal};
use nalgebra::{Cholesky, DMatrix, DMatrixView, DVector, DVectorView, Dyn};
use rand::Rng;

use super::{Family, StudentT, check_length, check_positive, require};
use crate::collapsed::Potential;
use crate::elementary::Elementary;
use crate::error::{Error, Result};
use crate::special::{ln_multivariate_gamma, multivariate_digamma, multivariate_trigamma};

const MORE_FREEDOM: &str = "more than the dimensions less one";

/// Means $\mu_k$ that share one precision matrix $\Lambda$.
///
/// $$\mu_k \mid \Lambda \sim N(m_k, (\kappa_k \Lambda)^{-1}), \qquad
/// p(\Lambda) \propto |\Lambda|^{(\nu - D - 1)/2} e^{-\operatorname{tr}(S \Lambda)/2}$$
///
/// Natural parameters are $(\kappa_1 .. \kappa_K, \nu, h_1 .. h_K, Q)$ with $h_k = \kappa_k m_k$,
/// $Q = S + \sum_k \kappa_k m_k m_k'$ packed as the rows of its upper triangle. The statistics are
/// $-\tfrac12 \mu_k'\Lambda\mu_k$, $\tfrac12 \ln|\Lambda|$, $\Lambda\mu_k$, and $-\tfrac12\Lambda_{ii}$
/// on the diagonal and $-\Lambda_{ij}$ off it, so that their product with the natural parameters
/// is a plain dot product. A datum $x$ of component k adds 1 to $\kappa_k$ and to $\nu$, $x$ to
/// $h_k$, $xx'$ to $Q$ and $-\tfrac D2 \ln 2\pi$ to the bound.
///
/// $$A = \tfrac{KD}{2} \ln 2\pi - \tfrac D2 \sum_k \ln \kappa_k + \tfrac{\nu D}{2} \ln 2
/// - \tfrac\nu2 \ln|S| + \ln\Gamma_D(\tfrac\nu2)$$
///
/// Without means, $K = 0$, it is the Wishart distribution of a precision matrix alone (maths §3.8): there a
/// datum at distance $x$ from its known mean adds 1 to $\nu$, $xx'$ to $Q = S$ and the same to the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NormalWishart {
    dim: usize,
    /// How many means share the precision matrix.
    pub means: usize,
}

/// Ordinary parameters of [`NormalWishart`].
#[derive(Debug, Clone, PartialEq)]
pub struct NormalWishartOrdinary {
    /// $m_k$: where each mean is expected.
    pub means: Vec<Vec<f64>>,
    /// $\kappa_k$: how many observations each mean is worth.
    pub mean_precisions: Vec<f64>,
    /// $\nu > D - 1$: how many observations the precision is worth.
    pub degrees_of_freedom: f64,
    /// $S$, row by row: $E[\Lambda] = \nu S^{-1}$.
    pub scale: Vec<f64>,
}

/// A draw of [`NormalWishart`].
#[derive(Debug, Clone, PartialEq)]
pub struct NormalWishartDraw {
    /// $\mu_k$.
    pub means: Vec<Vec<f64>>,
    /// $\Lambda$, row by row.
    pub precision: Vec<f64>,
    /// $\ln|\Lambda|$, kept because near the fewest degrees of freedom a draw is so nearly
    /// singular that the matrix no longer shows it.
    pub ln_determinant: f64,
}

/// What value, gradient and Hessian product have in common at one point.
struct Point<'a> {
    parts: Parts<'a>,
    means: Vec<DVector<f64>>,
    scale: Cholesky<f64, Dyn>,
    ln_determinant: f64,
}

/// A natural vector, direction or gradient, cut into its parts.
struct Parts<'a> {
    mean_precisions: &'a [f64],
    degrees_of_freedom: f64,
    shifts: DMatrixView<'a, f64>,
    packed: &'a [f64],
}

impl NormalWishart {
    /// One mean with its own precision matrix: a component with full covariance.
    pub fn new(dim: usize) -> Self {
        Self::tied(dim, 1)
    }

    /// A precision matrix alone.
    pub fn wishart(dim: usize) -> Self {
        Self::tied(dim, 0)
    }

    /// Several means that share one precision matrix: components with tied covariance.
    pub fn tied(dim: usize, means: usize) -> Self {
        Self { dim, means }
    }

    /// Length $D$ of a mean.
    pub fn dimensions(&self) -> usize {
        self.dim
    }

    /// The name in errors: without means the block is a Wishart distribution.
    fn block(&self) -> &'static str {
        if self.means == 0 {
            "Wishart block"
        } else {
            "normal-Wishart block"
        }
    }

    /// The density of the next datum of the component `mean_index`.
    ///
    /// # Errors
    /// Outside the domain, or where there is no such mean.
    pub fn predictive(&self, natural: &[f64], mean_index: usize) -> Result<StudentT> {
        let mut ordinary = self.ordinary(natural)?;
        let expected = "an index below the number of means";
        require(mean_index < self.means, self.block(), expected, || {
            format!("mean {mean_index} of {}", self.means)
        })?;
        let kappa = ordinary.mean_precisions[mean_index];
        let freedom = ordinary.degrees_of_freedom - self.dim as f64 + 1.0;
        let factor = (kappa + 1.0) / (kappa * freedom); // maths §3.6
        ordinary.scale.iter_mut().for_each(|s| *s *= factor);
        let mean = ordinary.means.swap_remove(mean_index);
        StudentT::new(freedom, mean, &ordinary.scale)
    }

    fn parts<'a>(&self, vector: &'a [f64]) -> Parts<'a> {
        let (mean_precisions, rest) = vector.split_at(self.means);
        let (shifts, packed) = rest[1..].split_at(self.means * self.dim);
        // Each h_k is a column, since nalgebra stores columns together.
        let shifts = DMatrixView::from_slice(shifts, self.dim, self.means);
        Parts {
            mean_precisions,
            degrees_of_freedom: rest[0],
            shifts,
            packed,
        }
    }

    fn point<'a>(&self, natural: &'a [f64]) -> Result<Point<'a>> {
        check_length(self.block(), natural, self.dim())?;
        let parts = self.parts(natural);
        self.check(parts.mean_precisions, parts.degrees_of_freedom)?;
        let (scale, ln_determinant) = factor(self.block(), self.scale(&parts))?;
        let shifts = parts.shifts.column_iter().zip(parts.mean_precisions);
        let means = shifts.map(|(shift, kappa)| shift / *kappa).collect();
        Ok(Point {
            parts,
            means,
            scale,
            ln_determinant,
        })
    }

    /// $S$, whether or not it is positive definite.
    fn scale(&self, parts: &Parts<'_>) -> DMatrix<f64> {
        let mut scale = unpack(parts.packed, self.dim);
        for (shift, kappa) in parts.shifts.column_iter().zip(parts.mean_precisions) {
            scale.ger(-1.0 / kappa, &shift, &shift, 1.0); // maths §3.4
        }
        scale
    }

    /// The log-partition function.
    fn value_at(&self, point: &Point<'_>) -> f64 {
        let (d, nu) = (self.dim as f64, point.parts.degrees_of_freedom);
        let kappas = point.parts.mean_precisions.iter();
        let ln_kappas: f64 = kappas.map(|kappa| kappa.ln_()).sum();
        0.5 * d * (self.means as f64 * TAU.ln_() - ln_kappas)
            + 0.5 * nu * (d * LN_2 - point.ln_determinant)
            + ln_multivariate_gamma(self.dim, 0.5 * nu)
    }

    fn check(&self, mean_precisions: &[f64], degrees_of_freedom: f64) -> Result<()> {
        let expected = "positive, finite precisions of the means";
        check_positive(self.block(), "mean precision", mean_precisions, expected)?;
        let enough = degrees_of_freedom > self.dim as f64 - 1.0 && degrees_of_freedom.is_finite();
        require(enough, self.block(), MORE_FREEDOM, || {
            let dim = self.dim;
            format!("{degrees_of_freedom} degrees of freedom in {dim} dimensions")
        })
    }

    /// Writes a vector laid out as the natural parameters are; `precision` is E[Λ] or its
    /// derivative, whose statistics count each pair off the diagonal twice.
    fn write(
        &self,
        out: &mut [f64],
        quadratics: impl Iterator<Item = f64>,
        half_ln_determinant: f64,
        shifts: impl Iterator<Item = DVector<f64>>,
        precision: &DMatrix<f64>,
    ) {
        let (head, rest) = out.split_at_mut(self.means);
        for (o, quadratic) in head.iter_mut().zip(quadratics) {
            *o = -0.5 * quadratic;
        }
        rest[0] = half_ln_determinant;
        let (middle, packed) = rest[1..].split_at_mut(self.means * self.dim);
        for (o, shift) in middle.chunks_exact_mut(self.dim).zip(shifts) {
            o.copy_from_slice(shift.as_slice());
        }
        for (o, (i, j)) in packed.iter_mut().zip(pairs(self.dim)) {
            let factor = if i == j { -0.5 } else { -1.0 };
            *o = factor * precision[(i, j)];
        }
    }
}

impl Potential for NormalWishart {
    fn dim(&self) -> usize {
        self.means + 1 + self.means * self.dim + self.dim * (self.dim + 1) / 2
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let point = self.point(at)?;
        let (d, nu) = (self.dim as f64, point.parts.degrees_of_freedom);
        let kappas = point.parts.mean_precisions;
        let precision = point.scale.inverse() * nu;
        let shifts: Vec<_> = point.means.iter().map(|m| &precision * m).collect();
        // maths §3.4
        let quadratics = point.means.iter().zip(&shifts).zip(kappas);
        let quadratics = quadratics.map(|((m, shift), kappa)| d / kappa + m.dot(shift));
        let expected = multivariate_digamma(self.dim, 0.5 * nu) + d * LN_2 - point.ln_determinant;
        let (half, shifts) = (0.5 * expected, shifts.iter().cloned());
        self.write(gradient, quadratics, half, shifts, &precision);
        Ok(self.value_at(&point))
    }

    fn value(&self, at: &[f64]) -> Result<f64> {
        Ok(self.value_at(&self.point(at)?))
    }

    fn contains(&self, at: &[f64]) -> bool {
        if at.len() != self.dim() {
            return false;
        }
        let parts = self.parts(at);
        self.check(parts.mean_precisions, parts.degrees_of_freedom)
            .is_ok()
            && Cholesky::new(self.scale(&parts)).is_some()
    }

    /// Differentiates the mean along the direction; the Hessian itself is never formed.
    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        let point = self.point(at)?;
        let (d, nu) = (self.dim as f64, point.parts.degrees_of_freedom);
        let kappas = point.parts.mean_precisions;
        let along = self.parts(along);
        let inverse = point.scale.inverse();
        // maths §3.4: dS = dQ - Σ (dh m' + m dh' - m m' dκ), and dm = (dh - m dκ) / κ
        let mut scale = unpack(along.packed, self.dim);
        let mut means = Vec::with_capacity(self.means);
        for (k, m) in point.means.iter().enumerate() {
            let (dh, dkappa) = (along.shifts.column(k), along.mean_precisions[k]);
            scale.ger(-1.0, &dh, m, 1.0);
            scale.ger(-1.0, m, &dh, 1.0);
            scale.ger(dkappa, m, m, 1.0);
            means.push((dh - m * dkappa) / kappas[k]);
        }
        // maths §3.4: dE[Λ] = dν S⁻¹ - ν S⁻¹ dS S⁻¹
        let ratio = &inverse * scale;
        let precision = (along.degrees_of_freedom * &inverse) - nu * (&ratio * &inverse);
        let bases = || {
            let pairs = point.means.iter().zip(&means);
            pairs.map(|(m, dm)| (m, &inverse * dm * nu))
        };
        let quadratics = bases().enumerate().map(|(k, (m, base))| {
            let square = kappas[k] * kappas[k];
            -d * along.mean_precisions[k] / square + m.dot(&(&precision * m + 2.0 * base))
        });
        let shifts = bases().map(|(m, base)| &precision * m + base);
        let half_ln_determinant =
            0.25 * multivariate_trigamma(self.dim, 0.5 * nu) * along.degrees_of_freedom
                - 0.5 * ratio.trace();
        self.write(out, quadratics, half_ln_determinant, shifts, &precision);
        Ok(())
    }
}

impl Family for NormalWishart {
    type Ordinary = NormalWishartOrdinary;
    type Draw = NormalWishartDraw;

    fn natural(&self, ordinary: &NormalWishartOrdinary) -> Result<Vec<f64>> {
        let d = self.dim;
        if self.means > 0 || !ordinary.means.is_empty() {
            check_length(self.block(), &ordinary.mean_precisions, self.means)?;
            check_length(self.block(), &ordinary.means.concat(), self.means * d)?;
        }
        check_length(self.block(), &ordinary.scale, d * d)?;
        self.check(&ordinary.mean_precisions, ordinary.degrees_of_freedom)?;
        let mut square = DMatrix::from_row_slice(d, d, &ordinary.scale);
        // Cholesky reads the lower triangle only and would accept any upper one. Half the digits:
        // a scale that someone computed is symmetric to rounding, a mistake differs by more.
        let symmetric = pairs(d).all(|(i, j)| {
            let size = square[(i, i)].abs().sqrt() * square[(j, j)].abs().sqrt();
            (square[(i, j)] - square[(j, i)]).abs() <= 1e-8 * size
        });
        if !symmetric {
            return Err(not_positive_definite(self.block()));
        }
        factor(self.block(), square.clone())?;
        let mut natural = ordinary.mean_precisions.clone();
        natural.push(ordinary.degrees_of_freedom);
        for (m, kappa) in ordinary.means.iter().zip(&ordinary.mean_precisions) {
            check_length(self.block(), m, d)?;
            let m = DVectorView::from_slice(m, d);
            square.ger(*kappa, &m, &m, 1.0); // maths §3.4
            natural.extend(m.iter().map(|x| kappa * x));
        }
        natural.extend(pairs(d).map(|at| square[at]));
        Ok(natural)
    }

    fn ordinary(&self, natural: &[f64]) -> Result<NormalWishartOrdinary> {
        let point = self.point(natural)?;
        // From the natural parameters and not as L L', which would round twice.
        let kappas = point.parts.mean_precisions;
        let mut scale = unpack(point.parts.packed, self.dim);
        for (m, kappa) in point.means.iter().zip(kappas) {
            scale.ger(-kappa, m, m, 1.0);
        }
        // The two triangles may differ in the last place.
        scale.fill_lower_triangle_with_upper_triangle();
        Ok(NormalWishartOrdinary {
            means: point.means.iter().map(|m| m.as_slice().to_vec()).collect(),
            mean_precisions: kappas.to_vec(),
            degrees_of_freedom: point.parts.degrees_of_freedom,
            scale: scale.as_slice().to_vec(),
        })
    }

    /// Bartlett's construction: Λ = L⁻ᵀ A Aᵀ L⁻¹ with S = L Lᵀ, A lower triangular with standard
    /// normals below and roots of chi-squares on the diagonal.
    fn sample<R: Rng + ?Sized>(&self, natural: &[f64], rng: &mut R) -> Result<NormalWishartDraw> {
        let point = self.point(natural)?;
        let d = self.dim;
        let mut root = DMatrix::zeros(d, d);
        let mut ln_determinant = -point.ln_determinant;
        for i in 0..d {
            let freedom = point.parts.degrees_of_freedom - i as f64;
            let chi_squared = ChiSquared::new(freedom).map_err(|_| {
                let found = format!("{freedom} degrees of freedom left");
                Error::domain(self.block(), found, MORE_FREEDOM)
            })?;
            let square: f64 = chi_squared.sample(rng);
            ln_determinant += square.ln_();
            root[(i, i)] = square.sqrt();
            for j in 0..i {
                root[(i, j)] = StandardNormal.sample(rng);
            }
        }
        let lower = point.scale.l();
        // B = L⁻ᵀ A, so that Λ = B Bᵀ, and B⁻ᵀ z = L A⁻ᵀ z has covariance Λ⁻¹.
        let factor = lower
            .tr_solve_lower_triangular(&root)
            .ok_or_else(|| not_positive_definite(self.block()))?;
        let precision = &factor * factor.transpose();
        let mut means = Vec::with_capacity(self.means);
        for (m, kappa) in point.means.iter().zip(point.parts.mean_precisions) {
            let noise: DVector<f64> = DVector::from_fn(d, |_, _| StandardNormal.sample(rng));
            let noise = root
                .tr_solve_lower_triangular(&noise)
                .ok_or_else(|| not_positive_definite(self.block()))?;
            let mean = m + &lower * noise / kappa.sqrt();
            means.push(mean.as_slice().to_vec());
        }
        Ok(NormalWishartDraw {
            means,
            precision: precision.as_slice().to_vec(),
            ln_determinant,
        })
    }

    fn statistics(&self, draw: &NormalWishartDraw, out: &mut [f64]) {
        let precision = DMatrix::from_row_slice(self.dim, self.dim, &draw.precision);
        let vector = |m| DVectorView::from_slice(m, self.dim);
        let means: Vec<_> = draw.means.iter().map(|m| vector(m)).collect();
        let quadratics = means.iter().map(|m| m.dot(&(&precision * m)));
        let shifts = means.iter().map(|m| &precision * m);
        let half_ln_determinant = 0.5 * draw.ln_determinant;
        self.write(out, quadratics, half_ln_determinant, shifts, &precision);
    }
}

/// Rows of the upper triangle, in the order in which they are packed.
fn pairs(d: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..d).flat_map(move |i| (i..d).map(move |j| (i, j)))
}

fn unpack(packed: &[f64], d: usize) -> DMatrix<f64> {
    let mut square = DMatrix::zeros(d, d);
    for (value, (i, j)) in packed.iter().zip(pairs(d)) {
        square[(i, j)] = *value;
        square[(j, i)] = *value;
    }
    square
}

/// The factor of a positive definite matrix and the logarithm of its determinant, as a sum of logarithms:
/// nalgebra's own determinant is a product, which overflows.
pub(super) fn factor(block: &str, matrix: DMatrix<f64>) -> Result<(Cholesky<f64, Dyn>, f64)> {
    let cholesky = Cholesky::new(matrix).ok_or_else(|| not_positive_definite(block))?;
    let diagonal = cholesky.l_dirty().diagonal();
    let ln_determinant = 2.0 * diagonal.iter().map(|x| x.ln_()).sum::<f64>();
    if ln_determinant.is_finite() {
        return Ok((cholesky, ln_determinant));
    }
    Err(not_positive_definite(block))
}

fn not_positive_definite(block: &str) -> Error {
    let found = "the scale matrix is not positive definite";
    Error::domain(block, found, "a positive definite scale matrix")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::Gamma;
    use std::f64::consts::PI;

    fn example() -> (NormalWishart, NormalWishartOrdinary) {
        let ordinary = NormalWishartOrdinary {
            means: vec![vec![1.0, -2.0], vec![0.5, 3.0]],
            mean_precisions: vec![0.7, 2.5],
            degrees_of_freedom: 3.5,
            scale: vec![2.0, 0.3, 0.3, 1.5],
        };
        (NormalWishart::tied(2, 2), ordinary)
    }

    #[test]
    fn predictive_is_the_ratio_of_partition_functions() {
        let (family, ordinary) = example();
        let natural = family.natural(&ordinary).expect("in the domain");
        let mut scratch = vec![0.0; family.dim()];
        let before = family
            .value_and_gradient(&natural, &mut scratch)
            .expect("in the domain");
        let x = [1.7, 0.2];
        for k in 0..2 {
            let mut after = natural.clone();
            after[k] += 1.0;
            after[2] += 1.0;
            for (i, x) in x.iter().enumerate() {
                after[3 + 2 * k + i] += x;
            }
            for (o, (i, j)) in after[7..].iter_mut().zip(pairs(2)) {
                *o += x[i] * x[j];
            }
            let after = family
                .value_and_gradient(&after, &mut scratch)
                .expect("in the domain");
            let expected = after - before - (2.0 * PI).ln();
            let predictive = family.predictive(&natural, k).expect("in the domain");
            let found = predictive.ln_density(&x, &mut [0.0; 2]);
            // Differences of log-partition functions of size ten.
            assert!((found - expected).abs() < 1e-13, "{found} {expected}");
        }
    }

    #[test]
    fn parameters_outside_the_domain_are_errors() {
        let (family, good) = example();
        let mut bad = good.clone();
        bad.scale = vec![1.0, 2.0, 2.0, 1.0];
        assert_eq!(
            family.natural(&bad).expect_err("indefinite").to_string(),
            "normal-Wishart block: the scale matrix is not positive definite, \
             expected a positive definite scale matrix"
        );
        bad.scale = vec![2.0, 0.3, 0.4, 1.5];
        assert!(family.natural(&bad).is_err());
        bad.clone_from(&good);
        bad.degrees_of_freedom = 1.0;
        assert!(family.natural(&bad).is_err());
        bad.clone_from(&good);
        bad.mean_precisions[1] = 0.0;
        assert!(family.natural(&bad).is_err());
        let mut natural = family.natural(&good).expect("in the domain");
        assert!(family.predictive(&natural, 2).is_err());
        for k in 0..natural.len() {
            let kept = std::mem::replace(&mut natural[k], f64::NAN);
            assert!(
                family.value_and_gradient(&natural, &mut [0.0; 10]).is_err(),
                "{k}"
            );
            natural[k] = kept;
        }
        assert!(family.ordinary(&natural[1..]).is_err());
    }

    #[test]
    fn one_row_is_a_gamma() {
        // Λ ~ Gamma(ν/2, S/2): the statistics are those of the gamma, both halved.
        let (natural, halved) = ([3.4, 0.6], [1.7, 0.3]);
        let (mut found, mut expected) = ([0.0; 2], [0.0; 2]);
        let value = NormalWishart::wishart(1).value_and_gradient(&natural, &mut found);
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
        let alone = NormalWishartOrdinary {
            means: vec![],
            mean_precisions: vec![],
            degrees_of_freedom: freedom,
            scale,
        };
        let natural = NormalWishart::wishart(2)
            .natural(&alone)
            .expect("in the domain");
        assert_eq!(natural, [3.5, 2.0, 0.3, 1.5]);
        let value = NormalWishart::wishart(2).value_and_gradient(&natural, &mut [0.0; 4]);
        let block = NormalWishart::new(2);
        let natural = block.natural(&with_mean).expect("in the domain");
        let joint = block.value_and_gradient(&natural, &mut [0.0; 7]);
        let expected = joint.expect("in the domain") - (std::f64::consts::TAU / kappa).ln();
        let found = value.expect("in the domain");
        assert!((found - expected).abs() < 1e-13, "{found} {expected}");
    }

    #[test]
    fn parameters_outside_the_domain_of_a_wishart_are_errors() {
        let family = NormalWishart::wishart(2);
        for bad in [
            &[1.0, 2.0, 0.3, 1.5][..],
            &[3.0, 1.0, 2.0, 1.0],
            &[3.0, f64::NAN, 0.0, 1.0],
            &[3.0, 1.0],
        ] {
            let found = family.value_and_gradient(bad, &mut [0.0; 4]);
            assert!(found.is_err(), "{bad:?}");
        }
        let indefinite = NormalWishartOrdinary {
            means: vec![],
            mean_precisions: vec![],
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
