//! Normal means with precisions by group, where each coordinate was observed another number of times.

use std::f64::consts::TAU;

use crate::random::{Distribution, Gamma, StandardNormal};
use rand::Rng;

use super::{Family, check_length, check_positive, require};
use crate::collapsed::Potential;
use crate::elementary::Elementary;
use crate::error::{Error, Result};
use crate::family::NormalGammaDraw;
use crate::number::{Dual, Real};

const BLOCK: &str = "normal-gamma block";
const SCALES: &str = "positive, finite scales";

/// As [`crate::family::NormalGamma`], with a $\kappa_d$ for each coordinate and a $\nu_g$ for each group: what data
/// with missing values leave.
///
/// $$\lambda_g \sim \mathrm{Gamma}(\tfrac{\nu_g}2, \tfrac{s_g}2), \qquad
/// \mu_d \mid \lambda \sim N(m_d, (\kappa_d \lambda_{g(d)})^{-1})$$
///
/// Natural parameters are $(\kappa_d, \nu_g, h_d, q_g)$ with $h_d = \kappa_d m_d$ and
/// $q_g = s_g + \sum_{d \in g} \kappa_d m_d^2$; statistics are $(-\tfrac12 \lambda_{g(d)} \mu_d^2,
/// \tfrac12 \ln\lambda_g, \lambda_{g(d)} \mu_d, -\tfrac12 \lambda_g)$. A number $x_d$ adds 1 to $\kappa_d$ and $\nu_{g(d)}$,
/// $x_d$ to $h_d$, $x_d^2$ to $q_{g(d)}$ and $-\tfrac12 \ln 2\pi$ to the bound (maths §4.7).
///
/// $$A = \tfrac12 \sum_d \ln\tfrac{2\pi}{\kappa_d}
/// + \sum_g \bigl[\ln\Gamma(\tfrac{\nu_g}2) - \tfrac{\nu_g}2 \ln\tfrac{s_g}2\bigr]$$
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NormalGammaColumns {
    /// Number $G$ of precisions.
    pub groups: usize,
    /// Number of coordinates that share a precision.
    pub size: usize,
}

/// Ordinary parameters of [`NormalGammaColumns`].
#[derive(Debug, Clone, PartialEq)]
pub struct NormalGammaColumnsOrdinary {
    /// $m$: where the mean is expected.
    pub mean: Vec<f64>,
    /// $\kappa_d$: how many observations each coordinate of the mean is worth.
    pub mean_precisions: Vec<f64>,
    /// $\nu_g$: how many observations each precision is worth.
    pub degrees_of_freedom: Vec<f64>,
    /// $s_g$: $E[\lambda_g] = \nu_g / s_g$.
    pub scales: Vec<f64>,
}

impl NormalGammaColumns {
    /// Length $D$ of the mean.
    pub fn dimensions(&self) -> usize {
        self.groups * self.size
    }

    /// $\kappa$, $\nu$, $h$ and $q$.
    fn parts<'a, T>(&self, natural: &'a [T]) -> [&'a [T]; 4] {
        let (kappa, rest) = natural.split_at(self.dimensions());
        let (nu, rest) = rest.split_at(self.groups);
        let (h, q) = rest.split_at(self.dimensions());
        [kappa, nu, h, q]
    }

    fn scales<T: Real>(&self, natural: &[T]) -> Result<Vec<T>> {
        check_length(
            BLOCK,
            &vec![0.0; natural.len()],
            2 * (self.dimensions() + self.groups),
        )?;
        let [kappa, nu, h, q] = self.parts(natural);
        let values = |numbers: &[T]| numbers.iter().map(|x| x.value()).collect::<Vec<_>>();
        check_positive(
            BLOCK,
            "mean precision",
            &values(kappa),
            "positive, finite precisions",
        )?;
        check_positive(
            BLOCK,
            "degrees of freedom",
            &values(nu),
            "positive, finite degrees",
        )?;
        let coordinates = kappa.chunks_exact(self.size).zip(h.chunks_exact(self.size));
        let scales = coordinates.zip(q).map(|((kappa, h), q)| {
            let mut scale = *q;
            for (kappa, h) in kappa.iter().zip(h) {
                scale -= *h * *h / *kappa;
            }
            scale
        });
        let scales: Vec<T> = scales.collect();
        check_positive(BLOCK, "scale", &values(&scales), SCALES)?;
        let finite = h.iter().all(|x| x.value().is_finite());
        require(finite, BLOCK, "finite sums", || {
            "a sum that is not finite".into()
        })?;
        Ok(scales)
    }

    fn evaluate<T: Real>(&self, at: &[T], gradient: &mut [T]) -> Result<T> {
        let scales = self.scales(at)?;
        let [kappa, nu, h, _] = self.parts(at);
        let (d, half) = (self.dimensions(), T::from(0.5));
        let mut value = T::from(0.5 * d as f64 * TAU.ln_());
        for (g, (nu, scale)) in nu.iter().zip(&scales).enumerate() {
            let (shape, ln_rate) = (half * *nu, (half * *scale).ln());
            let precision = *nu / *scale;
            value += shape.ln_gamma() - shape * ln_rate;
            gradient[d + g] = half * (shape.digamma() - ln_rate);
            gradient[2 * d + self.groups + g] = -half * precision;
            for c in g * self.size..(g + 1) * self.size {
                let mean = h[c] / kappa[c];
                value -= half * kappa[c].ln();
                gradient[c] = -half * (precision * mean * mean + kappa[c].recip());
                gradient[d + self.groups + c] = precision * mean;
            }
        }
        Ok(value)
    }
}

impl Potential for NormalGammaColumns {
    fn dim(&self) -> usize {
        2 * (self.dimensions() + self.groups)
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        self.evaluate(at, gradient)
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        Dual::slopes(at, along, out, |at, out| self.evaluate(at, out))
    }
}

impl Family for NormalGammaColumns {
    type Ordinary = NormalGammaColumnsOrdinary;
    type Draw = NormalGammaDraw;

    fn natural(&self, of: &NormalGammaColumnsOrdinary) -> Result<Vec<f64>> {
        let sums = of.mean.iter().zip(&of.mean_precisions).map(|(m, k)| m * k);
        let sums: Vec<f64> = sums.collect();
        let mut natural = [&of.mean_precisions[..], &of.degrees_of_freedom, &sums].concat();
        let squares: Vec<f64> = of.mean.iter().zip(&sums).map(|(m, h)| m * h).collect();
        let groups = squares.chunks_exact(self.size).zip(&of.scales);
        natural.extend(groups.map(|(squares, scale)| scale + squares.iter().sum::<f64>()));
        self.scales(&natural)?;
        Ok(natural)
    }

    fn ordinary(&self, natural: &[f64]) -> Result<NormalGammaColumnsOrdinary> {
        let scales = self.scales(natural)?;
        let [kappa, nu, h, _] = self.parts(natural);
        Ok(NormalGammaColumnsOrdinary {
            mean: h.iter().zip(kappa).map(|(h, kappa)| h / kappa).collect(),
            mean_precisions: kappa.to_vec(),
            degrees_of_freedom: nu.to_vec(),
            scales,
        })
    }

    fn sample<R: Rng + ?Sized>(&self, natural: &[f64], rng: &mut R) -> Result<NormalGammaDraw> {
        let of = self.ordinary(natural)?;
        let mut draw = NormalGammaDraw {
            mean: of.mean,
            precisions: vec![],
        };
        for (g, (nu, scale)) in of.degrees_of_freedom.iter().zip(&of.scales).enumerate() {
            let gamma = Gamma::new(0.5 * nu, 2.0 / scale).map_err(|_| {
                let found = format!("{nu} degrees of freedom with a scale of {scale}");
                Error::domain(BLOCK, found, SCALES)
            })?;
            let precision = gamma.sample(rng).max(f64::MIN_POSITIVE);
            for c in g * self.size..(g + 1) * self.size {
                let noise: f64 = StandardNormal.sample(rng);
                draw.mean[c] += noise / (of.mean_precisions[c] * precision).sqrt();
            }
            draw.precisions.push(precision);
        }
        Ok(draw)
    }

    fn statistics(&self, draw: &NormalGammaDraw, out: &mut [f64]) {
        let d = self.dimensions();
        for (g, precision) in draw.precisions.iter().enumerate() {
            out[d + g] = 0.5 * precision.ln_();
            out[2 * d + self.groups + g] = -0.5 * precision;
            for c in g * self.size..(g + 1) * self.size {
                let mean = draw.mean[c];
                out[c] = -0.5 * precision * mean * mean;
                out[d + self.groups + c] = precision * mean;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::NormalGamma;

    fn point(family: NormalGammaColumns) -> Vec<f64> {
        let d = family.dimensions();
        let numbers = |count: usize, step: f64| (0..count).map(|i| 1.5 + step * i as f64).collect();
        let ordinary = NormalGammaColumnsOrdinary {
            mean: numbers(d, -0.7),
            mean_precisions: numbers(d, 0.9),
            degrees_of_freedom: numbers(family.groups, 1.1),
            scales: numbers(family.groups, 0.4),
        };
        let natural = family.natural(&ordinary).expect("inside");
        let back = family.ordinary(&natural).expect("inside");
        for (a, b) in back.scales.iter().zip(&ordinary.scales) {
            // A difference of numbers of size ten.
            assert!((a - b).abs() < 1e-13, "{a} {b}");
        }
        natural
    }

    #[test]
    #[cfg(feature = "laws")]
    fn conforms() {
        for (groups, size) in [(1, 1), (3, 1), (1, 4), (2, 2)] {
            let family = NormalGammaColumns { groups, size };
            crate::laws::conforms(&family, &point(family), 3).expect("derivatives");
            crate::laws::family::conforms(&family, &point(family), 5).expect("draws");
        }
    }

    #[test]
    fn equal_columns_are_the_plain_family() {
        for (groups, size) in [(3, 1), (1, 3)] {
            let (plain, d) = (NormalGamma { groups, size }, 3);
            let columns = NormalGammaColumns { groups, size };
            let (kappa, nu) = (2.5, 4.0);
            let tail: Vec<f64> = [vec![0.3, -0.2, 1.0], vec![9.0; groups]].concat();
            let own: Vec<f64> = [vec![kappa; d], vec![nu; groups], tail.clone()].concat();
            let other: Vec<f64> = [vec![kappa, nu], tail].concat();
            let (mut a, mut b) = (vec![0.0; own.len()], vec![0.0; other.len()]);
            let value = columns.value_and_gradient(&own, &mut a).expect("inside");
            let expected = plain.value_and_gradient(&other, &mut b).expect("inside");
            assert!((value - expected).abs() < 1e-13, "{value} {expected}");
            assert!((a[..d].iter().sum::<f64>() - b[0]).abs() < 1e-13);
            assert!((a[d..d + groups].iter().sum::<f64>() - b[1]).abs() < 1e-13);
            for (a, b) in a[d + groups..].iter().zip(&b[2..]) {
                assert!((a - b).abs() < 1e-13, "{a} {b}");
            }
        }
    }

    #[test]
    fn parameters_outside_are_errors() {
        let family = NormalGammaColumns { groups: 1, size: 2 };
        let mut gradient = [0.0; 6];
        for at in [
            [0.0, 1.0, 1.0, 0.0, 0.0, 1.0],
            [1.0, 1.0, 0.0, 0.0, 0.0, 1.0],
            [1.0, 1.0, 1.0, 1.0, 1.0, 2.0],
            [1.0, 1.0, 1.0, f64::NAN, 1.0, 9.0],
        ] {
            assert!(family.value_and_gradient(&at, &mut gradient).is_err());
        }
    }
}
