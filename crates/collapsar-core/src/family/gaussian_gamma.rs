//! A sparse Gaussian with an unknown factor on its precision.

use rand::Rng;

use super::dirichlet::ln_gamma_draw;
use super::gaussian::{GaussianValues, Solved, not_finite};
use super::{
    Family, Gaussian, GaussianBuffers, GaussianOrdinary, POSITIVE, check_length, is_positive,
    require,
};
use crate::collapsed::Potential;
use crate::elementary::Elementary;
use crate::error::Result;
use crate::number::{Dual, Real};
use crate::special::ln_gamma;
use crate::vector::dot;

const BLOCK: &str = "Gaussian-gamma block";

/// Scalars $x_1 .. x_n$ that are normal with the sparse precision matrix $\tau\Lambda$, and $\tau$
/// itself.
///
/// $$p(\tau, x) \propto \tau^{a - 1} e^{-b\tau + \tau h'x - \frac12 \tau x'\Lambda x}$$
///
/// Natural parameters are $(a, b, h, \Lambda_{11} .. \Lambda_{nn}, \Lambda_{ij})$ with the pairs in
/// the order of [`Gaussian::pairs`]; statistics are $\ln\tau$, $-\tau$, $\tau x_i$,
/// $-\tfrac12 \tau x_i^2$ and $-\tau x_i x_j$. With $m = \Lambda^{-1}h$,
///
/// $$\tau \sim \mathrm{Gamma}(a - \tfrac n2, b - \tfrac12 h'm), \qquad
/// x \mid \tau \sim N(m, (\tau\Lambda)^{-1}),$$
/// $$A = \tfrac n2 \ln 2\pi - \tfrac12 \ln|\Lambda| + \ln\Gamma(a - \tfrac n2)
/// - (a - \tfrac n2) \ln(b - \tfrac12 h'm).$$
///
/// A datum $y$ whose mean is a sum $c'x$ and whose precision is $\tau$ adds $\tfrac12$ to $a$,
/// $\tfrac12 y^2$ to $b$, $yc$ to $h$ and $cc'$ to $\Lambda$.
#[derive(Debug, Clone)]
pub struct GaussianGamma {
    /// $x$ where $\tau$ is one.
    pub field: Gaussian,
}

/// Ordinary parameters of [`GaussianGamma`].
#[derive(Debug, Clone, PartialEq)]
pub struct GaussianGammaOrdinary {
    /// The shape of $\tau$: $a - \tfrac n2$.
    pub shape: f64,
    /// The rate of $\tau$: $b - \tfrac12 h'\Lambda^{-1}h$.
    pub rate: f64,
    /// The mean of $x$ and $\Lambda$.
    pub field: GaussianOrdinary,
}

/// A draw of [`GaussianGamma`].
#[derive(Debug, Clone, PartialEq)]
pub struct GaussianGammaDraw {
    /// $\ln\tau$, which is finite however small the shape.
    pub ln_precision: f64,
    /// $x$.
    pub values: Vec<f64>,
}

impl GaussianGamma {
    /// A block of `n` scalars whose $\Lambda$ may be nonzero at these pairs, as
    /// [`Gaussian::new`].
    ///
    /// # Panics
    /// Where a pair names one scalar twice or a scalar that is not there.
    pub fn new(n: usize, pairs: &[(u32, u32)]) -> Self {
        Self {
            field: Gaussian::new(n, pairs),
        }
    }

    /// The ordinary parameters and the diagonal of $\Lambda^{-1}$: scalar $i$ is Student-t about its mean, with twice the shape as degrees of freedom
    /// and the squared scale $\Lambda^{-1}_{ii}$ times the rate over the shape.
    ///
    /// # Errors
    /// Outside the domain.
    pub fn marginals(&self, natural: &[f64]) -> Result<(GaussianGammaOrdinary, Vec<f64>)> {
        let ordinary = self.ordinary(natural)?;
        let (_, variances) = self.field.marginals(&natural[2..])?;
        Ok((ordinary, variances))
    }

    /// Draws as [`Family::sample`] does: $x$ into `values`; returns $\ln\tau$.
    ///
    /// # Errors
    /// Outside the domain.
    pub fn draw_into<R: Rng + ?Sized>(
        &self,
        natural: &[f64],
        rng: &mut R,
        buffers: &mut GaussianBuffers,
        values: &mut [f64],
    ) -> Result<f64> {
        check_length(BLOCK, natural, self.dim())?;
        let shape = self.shape(natural[0])?;
        let square = self.field.begin(BLOCK, &natural[2..], buffers)?;
        let rate = natural[1] - 0.5 * square;
        check_rate(rate)?;
        let ln_precision = ln_gamma_draw(shape, rng) - rate.ln_();
        let wide = (-0.5 * ln_precision).exp_();
        self.field.finish(wide, rng, buffers, values);
        Ok(ln_precision)
    }

    /// Writes the statistics of a draw.
    pub fn write_statistics(&self, ln_precision: f64, values: &[f64], out: &mut [f64]) {
        // √τ x is of ordinary size even where τ is so small that x is huge.
        let root = (0.5 * ln_precision).exp_();
        out[0] = ln_precision;
        out[1] = -ln_precision.exp_();
        let (scaled, rest) = out[2..].split_at_mut(values.len());
        let (squares, products) = rest.split_at_mut(values.len());
        for ((scaled, square), x) in scaled.iter_mut().zip(squares).zip(values) {
            *scaled = root * x;
            *square = -0.5 * *scaled * *scaled;
        }
        for (out, &(i, j)) in products.iter_mut().zip(self.field.pairs()) {
            *out = -scaled[i as usize] * scaled[j as usize];
        }
        for scaled in scaled {
            *scaled *= root;
        }
    }

    /// The shape left for τ once x is integrated out.
    fn shape<T: Real>(&self, a: T) -> Result<T> {
        let shape = a - T::from(0.5 * self.field.scalars() as f64);
        let enough = is_positive(shape.value());
        require(enough, BLOCK, "more than half the scalars", || {
            format!(
                "a shape of {} for {} scalars",
                a.value(),
                self.field.scalars()
            )
        })?;
        Ok(shape)
    }

    /// The shape and the rate of τ, and the solution for x.
    fn solve<T: Real>(&self, natural: &[T]) -> Result<(T, T, Solved<'_, T>)> {
        let shape = self.shape(natural[0])?;
        let solved = self.field.solve(BLOCK, &natural[2..])?;
        let rate = natural[1] - T::from(0.5) * solved.square;
        check_rate(rate.value())?;
        Ok((shape, rate, solved))
    }

    fn evaluate<T: Real>(&self, natural: &[T], gradient: &mut [T]) -> Result<T> {
        let (shape, rate, solved) = self.solve(natural)?;
        let precision = shape / rate; // maths §3.10
        gradient[0] = shape.digamma() - rate.ln();
        gradient[1] = -precision;
        let ln_volume = (self.field).write(&solved, precision, &mut gradient[2..]);
        Ok(ln_volume + shape.ln_gamma() - shape * rate.ln())
    }
}

fn check_rate(rate: f64) -> Result<()> {
    require(is_positive(rate), BLOCK, POSITIVE, || {
        format!("the rate of the precision is {rate}")
    })
}

impl Potential for GaussianGamma {
    fn dim(&self) -> usize {
        2 + self.field.dim()
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        check_length(BLOCK, at, self.dim())?;
        self.evaluate(at, gradient)
    }

    fn value(&self, at: &[f64]) -> Result<f64> {
        check_length(BLOCK, at, self.dim())?;
        let shape = self.shape(at[0])?;
        let mut values = GaussianValues::default();
        let (ln_volume, square) = values.next(&self.field, BLOCK, &at[2..])?;
        let rate = at[1] - 0.5 * square;
        check_rate(rate)?;
        Ok(ln_volume + ln_gamma(shape) - shape * rate.ln_())
    }

    /// The slope of the gradient, by dual numbers.
    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        check_length(BLOCK, at, self.dim())?;
        Dual::slopes(at, along, out, |at, gradient| self.evaluate(at, gradient))
    }
}

impl Family for GaussianGamma {
    type Ordinary = GaussianGammaOrdinary;
    type Draw = GaussianGammaDraw;

    fn natural(&self, ordinary: &GaussianGammaOrdinary) -> Result<Vec<f64>> {
        let a = ordinary.shape + 0.5 * self.field.scalars() as f64;
        self.shape(a)?;
        check_rate(ordinary.rate)?;
        let shifts = self.field.shifts(BLOCK, &ordinary.field)?;
        let b = ordinary.rate + 0.5 * dot(&shifts, &ordinary.field.mean); // maths §3.10
        if !b.is_finite() {
            return Err(not_finite(BLOCK, b));
        }
        let (precisions, couplings) = (&ordinary.field.precisions, &ordinary.field.couplings);
        Ok([&[a, b], &shifts[..], precisions, couplings].concat())
    }

    fn ordinary(&self, natural: &[f64]) -> Result<GaussianGammaOrdinary> {
        check_length(BLOCK, natural, self.dim())?;
        let (shape, rate, solved) = self.solve(natural)?;
        Ok(GaussianGammaOrdinary {
            shape,
            rate,
            field: self.field.with_mean(solved.mean, &natural[2..]),
        })
    }

    fn sample<R: Rng + ?Sized>(&self, natural: &[f64], rng: &mut R) -> Result<GaussianGammaDraw> {
        let mut values = vec![0.0; self.field.scalars()];
        let mut buffers = GaussianBuffers::default();
        let ln_precision = self.draw_into(natural, rng, &mut buffers, &mut values)?;
        Ok(GaussianGammaDraw {
            ln_precision,
            values,
        })
    }

    fn statistics(&self, draw: &GaussianGammaDraw, out: &mut [f64]) {
        self.write_statistics(draw.ln_precision, &draw.values, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::{Gamma, NormalGamma, NormalGammaOrdinary};

    #[test]
    fn one_scalar_is_a_normal_gamma() {
        // κ, ν, s and m of a normal-gamma block are Λ, twice the shape, twice the rate and m.
        let twin = NormalGamma::diagonal(1);
        let (kappa, nu, mean, scale) = (0.7, 3.2, -1.3, 2.4);
        let twin_natural = twin.natural(&NormalGammaOrdinary {
            mean: vec![mean],
            mean_precision: kappa,
            degrees_of_freedom: nu,
            scales: vec![scale],
        });
        let family = GaussianGamma::new(1, &[]);
        let natural = family.natural(&GaussianGammaOrdinary {
            shape: 0.5 * nu,
            rate: 0.5 * scale,
            field: GaussianOrdinary {
                mean: vec![mean],
                precisions: vec![kappa],
                couplings: vec![],
            },
        });
        let (natural, twin_natural) = (natural.expect("inside"), twin_natural.expect("inside"));
        let (mut found, mut expected) = ([0.0; 4], [0.0; 4]);
        let value = family.value_and_gradient(&natural, &mut found);
        let twin_value = twin.value_and_gradient(&twin_natural, &mut expected);
        // (κ, ν, h, q) there have the statistics -½τμ², ½lnτ, τμ, -½τ.
        let expected = [
            2.0 * expected[1],
            2.0 * expected[3],
            expected[2],
            expected[0],
        ];
        let (value, twin_value) = (value.expect("inside"), twin_value.expect("inside"));
        assert!((value - twin_value).abs() < 1e-13, "{value} {twin_value}");
        for (f, e) in found.iter().zip(expected) {
            assert!((f - e).abs() < 1e-13, "{found:?} {expected:?}");
        }
    }

    #[test]
    fn a_zero_shift_leaves_a_gamma_and_a_gaussian() {
        let pairs = [(0, 1), (1, 2)];
        let field = [0.0, 0.0, 0.0, 1.0, 2.0, 1.5, 0.4, -0.7];
        let mut natural = vec![4.0, 0.9];
        natural.extend(field);
        let value = |family: &dyn Potential, at: &[f64]| {
            let mut gradient = vec![0.0; at.len()];
            let value = family.value_and_gradient(at, &mut gradient);
            value.expect("in the domain")
        };
        let found = value(&GaussianGamma::new(3, &pairs), &natural);
        let expected = value(&Gaussian::new(3, &pairs), &field) + value(&Gamma, &[2.5, 0.9]);
        assert!((found - expected).abs() < 1e-13, "{found} {expected}");
    }

    #[test]
    fn parameters_outside_the_domain_are_errors() {
        let family = GaussianGamma::new(2, &[(0, 1)]);
        // Λ = I and h = (1, 1) take one from the rate.
        let good = [1.5, 1.1, 1.0, 1.0, 1.0, 1.0, 0.0];
        assert!(family.value_and_gradient(&good, &mut [0.0; 7]).is_ok());
        for (k, bad) in [
            (0, 1.0),
            (1, 1.0),
            (1, f64::INFINITY),
            (4, -1.0),
            (6, 1.0),
            (2, f64::NAN),
        ] {
            let mut natural = good;
            natural[k] = bad;
            let found = family.value_and_gradient(&natural, &mut [0.0; 7]);
            assert!(found.is_err(), "{k} {bad}");
            assert!(family.ordinary(&natural).is_err(), "{k} {bad}");
        }
        assert_eq!(
            family
                .value_and_gradient(&[0.5, 1.1, 1.0, 1.0, 1.0, 1.0, 0.0], &mut [0.0; 7])
                .expect_err("too small")
                .to_string(),
            "Gaussian-gamma block: a shape of 0.5 for 2 scalars, expected more than half the scalars"
        );
    }
}
