//! Normal means with a precision for each group of coordinates: all of them, or one each.

use std::f64::consts::TAU;

use crate::random::{Distribution, Gamma, StandardNormal};
use rand::Rng;

use super::{Family, POSITIVE, check_length, check_positive, is_positive, require};
use crate::collapsed::Potential;
use crate::elementary::Elementary;
use crate::error::{Error, Result};
use crate::special::{digamma, ln_gamma, trigamma};
use crate::vector::dot;

const BLOCK: &str = "normal-gamma block";
const SCALES: &str = "positive, finite scales";

/// A mean of $D = G \times n$ coordinates with a precision for each of $G$ groups of $n$.
///
/// $$\lambda_g \sim \mathrm{Gamma}(\tfrac\nu2, \tfrac{s_g}2), \qquad
/// \mu_d \mid \lambda \sim N(m_d, (\kappa \lambda_{g(d)})^{-1})$$
///
/// Natural parameters are $(\kappa, \nu, h, q)$ with $h = \kappa m$ and
/// $q_g = s_g + \kappa \sum_{d \in g} m_d^2$; statistics are
/// $(-\tfrac12 \sum_d \lambda_{g(d)} \mu_d^2, \tfrac12 \sum_g \ln\lambda_g, \lambda_{g(d)} \mu_d,
/// -\tfrac12 \lambda_g)$. A datum $x$ adds 1 to $\kappa$, $n$ to $\nu$, $x$ to $h$,
/// $\sum_{d \in g} x_d^2$ to $q_g$ and $-\tfrac D2 \ln 2\pi$ to the bound.
///
/// $$A = \tfrac D2 \ln 2\pi - \tfrac D2 \ln\kappa
/// + \sum_g \bigl[\ln\Gamma(\tfrac\nu2) - \tfrac\nu2 \ln\tfrac{s_g}2\bigr]$$
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NormalGamma {
    /// Number $G$ of precisions.
    pub groups: usize,
    /// Number $n$ of coordinates that share a precision.
    pub size: usize,
}

/// Ordinary parameters of [`NormalGamma`].
#[derive(Debug, Clone, PartialEq)]
pub struct NormalGammaOrdinary {
    /// $m$: where the mean is expected.
    pub mean: Vec<f64>,
    /// $\kappa$: how many observations the mean is worth.
    pub mean_precision: f64,
    /// $\nu$: how many observations each precision is worth.
    pub degrees_of_freedom: f64,
    /// $s_g$: $E[\lambda_g] = \nu / s_g$.
    pub scales: Vec<f64>,
}

/// A draw of [`NormalGamma`].
#[derive(Debug, Clone, PartialEq)]
pub struct NormalGammaDraw {
    /// $\mu$.
    pub mean: Vec<f64>,
    /// $\lambda_g$.
    pub precisions: Vec<f64>,
}

impl NormalGamma {
    /// A precision for each of `d` coordinates: a component with diagonal covariance.
    pub fn diagonal(d: usize) -> Self {
        Self { groups: d, size: 1 }
    }

    /// One precision for all `d` coordinates: a component with spherical covariance.
    pub fn spherical(d: usize) -> Self {
        Self { groups: 1, size: d }
    }

    /// Length $D$ of the mean.
    pub fn dimensions(&self) -> usize {
        self.groups * self.size
    }

    /// Writes statistics of these means and precisions, with what `spread` of the means adds to the
    /// quadratic and the sum of the logarithms of the precisions.
    fn write(
        &self,
        out: &mut [f64],
        mean: &[f64],
        precisions: &[f64],
        spread: f64,
        ln_precisions: f64,
    ) {
        let (head, rest) = out.split_at_mut(2);
        let (shifts, last) = rest.split_at_mut(self.dimensions());
        let mut quadratic = spread;
        let groups = mean.chunks_exact(self.size).zip(precisions);
        for ((m, precision), shifts) in groups.zip(shifts.chunks_exact_mut(self.size)) {
            quadratic += precision * dot(m, m);
            for (o, m) in shifts.iter_mut().zip(m) {
                *o = precision * m;
            }
        }
        head[0] = -0.5 * quadratic;
        head[1] = 0.5 * ln_precisions;
        for (o, precision) in last.iter_mut().zip(precisions) {
            *o = -0.5 * precision;
        }
    }
}

impl Potential for NormalGamma {
    fn dim(&self) -> usize {
        2 + self.dimensions() + self.groups
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let point = self.ordinary(at)?;
        let (kappa, nu) = (point.mean_precision, point.degrees_of_freedom);
        let (d, groups) = (self.dimensions() as f64, self.groups as f64);
        let ln_rates: f64 = point.scales.iter().map(|s| (0.5 * s).ln_()).sum();
        let precisions: Vec<f64> = point.scales.into_iter().map(|s| nu / s).collect(); // maths §3.5
        let ln_precisions = groups * digamma(0.5 * nu) - ln_rates;
        self.write(gradient, &point.mean, &precisions, d / kappa, ln_precisions);
        Ok(0.5 * d * (TAU / kappa).ln_() + groups * ln_gamma(0.5 * nu) - 0.5 * nu * ln_rates)
    }

    /// Differentiates the mean along the direction.
    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        let point = self.ordinary(at)?;
        let (kappa, nu) = (point.mean_precision, point.degrees_of_freedom);
        let d = self.dimensions();
        let (dkappa, dnu) = (along[0], along[1]);
        let (dh, dq) = along[2..].split_at(d);
        let (head, rest) = out.split_at_mut(2);
        let (shifts, precisions) = rest.split_at_mut(d);
        let mut quadratic = -(d as f64) * dkappa / (kappa * kappa);
        let mut ln_rates = 0.0;
        for (g, m) in point.mean.chunks_exact(self.size).enumerate() {
            let scale = point.scales[g];
            let range = g * self.size..(g + 1) * self.size;
            let dh = &dh[range.clone()];
            let square = dot(m, m);
            // maths §3.5: ds = dq - 2 m'dh + m'm dκ, dm = (dh - m dκ) / κ
            let ds = dq[g] - 2.0 * dot(m, dh) + square * dkappa;
            let precision = nu / scale;
            let dprecision = (dnu - precision * ds) / scale;
            quadratic += dprecision * square;
            for ((o, m), dh) in shifts[range].iter_mut().zip(m).zip(dh) {
                let dm = (dh - m * dkappa) / kappa;
                quadratic += 2.0 * precision * m * dm;
                *o = dprecision * m + precision * dm;
            }
            ln_rates += ds / scale;
            precisions[g] = -0.5 * dprecision;
        }
        head[0] = -0.5 * quadratic;
        head[1] = 0.25 * self.groups as f64 * trigamma(0.5 * nu) * dnu - 0.5 * ln_rates;
        Ok(())
    }
}

impl Family for NormalGamma {
    type Ordinary = NormalGammaOrdinary;
    type Draw = NormalGammaDraw;

    fn natural(&self, ordinary: &NormalGammaOrdinary) -> Result<Vec<f64>> {
        let (kappa, nu) = (ordinary.mean_precision, ordinary.degrees_of_freedom);
        check_length(BLOCK, &ordinary.mean, self.dimensions())?;
        check_length(BLOCK, &ordinary.scales, self.groups)?;
        check_counts(kappa, nu)?;
        check_positive(BLOCK, "scale", &ordinary.scales, SCALES)?;
        let mut natural = vec![kappa, nu];
        natural.extend(ordinary.mean.iter().map(|m| kappa * m));
        let groups = (ordinary.scales.iter()).zip(ordinary.mean.chunks_exact(self.size));
        natural.extend(groups.map(|(s, m)| s + kappa * dot(m, m))); // maths §3.5
        Ok(natural)
    }

    fn ordinary(&self, natural: &[f64]) -> Result<NormalGammaOrdinary> {
        check_length(BLOCK, natural, self.dim())?;
        let (kappa, nu) = (natural[0], natural[1]);
        check_counts(kappa, nu)?;
        let (h, q) = natural[2..].split_at(self.dimensions());
        let mean: Vec<f64> = h.iter().map(|h| h / kappa).collect();
        let groups = (h.chunks_exact(self.size)).zip(mean.chunks_exact(self.size));
        let scales: Vec<f64> = q
            .iter()
            .zip(groups)
            .map(|(q, (h, m))| q - dot(h, m))
            .collect(); // maths §3.5
        check_positive(BLOCK, "scale", &scales, SCALES)?;
        Ok(NormalGammaOrdinary {
            mean,
            mean_precision: kappa,
            degrees_of_freedom: nu,
            scales,
        })
    }

    fn sample<R: Rng + ?Sized>(&self, natural: &[f64], rng: &mut R) -> Result<NormalGammaDraw> {
        let mut point = self.ordinary(natural)?;
        let mut precisions = Vec::with_capacity(self.groups);
        let groups = point.mean.chunks_exact_mut(self.size);
        for (scale, mean) in point.scales.iter().zip(groups) {
            let gamma = Gamma::new(0.5 * point.degrees_of_freedom, 2.0 / scale)
                .map_err(|_| Error::domain(BLOCK, format!("a scale is {scale}"), SCALES))?;
            let precision: f64 = gamma.sample(rng);
            precisions.push(precision);
            for m in mean {
                let noise: f64 = StandardNormal.sample(rng);
                *m += noise / (point.mean_precision * precision).sqrt();
            }
        }
        Ok(NormalGammaDraw {
            mean: point.mean,
            precisions,
        })
    }

    fn statistics(&self, draw: &NormalGammaDraw, out: &mut [f64]) {
        let ln_precisions: f64 = draw
            .precisions
            .iter()
            .map(|precision| precision.ln_())
            .sum();
        self.write(out, &draw.mean, &draw.precisions, 0.0, ln_precisions);
    }
}

fn check_counts(kappa: f64, nu: f64) -> Result<()> {
    require(is_positive(kappa), BLOCK, POSITIVE, || {
        format!("the precision of the mean is {kappa}")
    })?;
    require(is_positive(nu), BLOCK, POSITIVE, || {
        format!("the degrees of freedom are {nu}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::{NormalWishart, StudentT};

    #[test]
    fn one_coordinate_is_a_normal_wishart() {
        let (gamma, wishart) = (NormalGamma::diagonal(1), NormalWishart::new(1));
        let natural = [0.3, 1.7, -2.0, 20.0];
        let along = [0.5, -0.1, 0.7, 2.0];
        let evaluate = |family: &dyn Potential| {
            let (mut mean, mut product) = ([0.0; 4], [0.0; 4]);
            let value = family
                .value_and_gradient(&natural, &mut mean)
                .expect("in the domain");
            family
                .hessian_product(&natural, &along, &mut product)
                .expect("in the domain");
            [&[value][..], &mean, &product].concat()
        };
        for (a, b) in evaluate(&gamma).into_iter().zip(evaluate(&wishart)) {
            // The same formulas in another order, on a well-conditioned point.
            assert!((a - b).abs() < 1e-13 * a.abs().max(1.0), "{a} {b}");
        }
    }

    #[test]
    fn diagonal_predictive_is_a_product_of_univariate_ts() {
        let family = NormalGamma::diagonal(2);
        let ordinary = NormalGammaOrdinary {
            mean: vec![1.0, -3.0],
            mean_precision: 0.4,
            degrees_of_freedom: 2.5,
            scales: vec![0.5, 4.0],
        };
        let before = family.natural(&ordinary).expect("in the domain");
        let x = [0.2, -1.0];
        let step = [1.0, 1.0, x[0], x[1], x[0] * x[0], x[1] * x[1]];
        let after: Vec<f64> = before.iter().zip(step).map(|(n, s)| n + s).collect();
        let value = |at: &[f64]| {
            family
                .value_and_gradient(at, &mut [0.0; 6])
                .expect("in domain")
        };
        let expected = value(&after) - value(&before) - TAU.ln();
        let found: f64 = (0..2)
            .map(|d| {
                let scale = ordinary.scales[d] * 1.4 / (0.4 * 2.5);
                let t = StudentT::new(2.5, vec![ordinary.mean[d]], &[scale]).expect("positive");
                t.ln_density(&x[d..=d], &mut [0.0])
            })
            .sum();
        // Differences of log-partition functions of size ten.
        assert!((found - expected).abs() < 1e-13, "{found} {expected}");
    }

    #[test]
    fn parameters_outside_the_domain_are_errors() {
        let family = NormalGamma::spherical(2);
        assert!(family.ordinary(&[1.0, 1.0, 3.0, 4.0, 26.0]).is_ok());
        for bad in [
            &[1.0, 1.0, 3.0, 4.0, 25.0][..],
            &[0.0, 1.0, 3.0, 4.0, 26.0],
            &[1.0, 0.0, 3.0, 4.0, 26.0],
            &[1.0, 1.0, f64::NAN, 4.0, 26.0],
            &[1.0, 1.0],
        ] {
            assert!(
                family.value_and_gradient(bad, &mut [0.0; 5]).is_err(),
                "{bad:?}"
            );
        }
    }
}
