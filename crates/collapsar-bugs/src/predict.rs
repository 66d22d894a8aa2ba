//! Decides how distributions are drawn from where their parameters are numbers, and what is known
//! of them without draws.

use collapsar::family::{Family, Marginal, Wishart, WishartOrdinary};
use collapsar::graph::PosteriorMarginal;
use nalgebra::{DMatrix, DVector};
use rand::{Rng, RngExt};
use rand_distr::{Beta, Binomial, Distribution as _, Exp1, Gamma, Poisson, StandardNormal};

use crate::distribution::Distribution;

/// A parameter that a distribution cannot have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wrong {
    /// Which, counted from 0.
    pub(crate) argument: usize,
    /// What it is.
    pub(crate) found: String,
    pub(crate) expected: &'static str,
}

fn wrong(argument: usize, found: &impl ToString, expected: &'static str) -> Wrong {
    Wrong {
        argument,
        found: found.to_string(),
        expected,
    }
}

/// A distribution with numbers for parameters, ready to be drawn from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Drawer {
    Normal {
        mean: f64,
        sd: f64,
    },
    /// The mean, and a matrix that makes independent numbers have the covariance.
    Normals {
        mean: DVector<f64>,
        root: DMatrix<f64>,
    },
    Gamma {
        shape: f64,
        rate: f64,
    },
    Wishart {
        freedom: f64,
        scale: Vec<f64>,
    },
    Beta {
        a: f64,
        b: f64,
    },
    Uniform {
        low: f64,
        high: f64,
    },
    /// Zeros stay zero.
    Dirichlet(Vec<f64>),
    /// Probabilities of values that count from the lowest.
    States {
        lowest: f64,
        probabilities: Vec<f64>,
    },
    Binomial {
        trials: u64,
        probability: f64,
    },
    Multinomial {
        trials: u64,
        probabilities: Vec<f64>,
    },
    Poisson {
        rate: f64,
    },
    NegativeBinomial {
        probability: f64,
        size: f64,
    },
    Weibull {
        shape: f64,
        rate: f64,
    },
}

fn positive(argument: usize, value: f64) -> Result<f64, Wrong> {
    if value > 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(wrong(argument, &value, "a positive number"))
    }
}

fn share(argument: usize, value: f64) -> Result<f64, Wrong> {
    if (0.0..=1.0 + 1e-9).contains(&value) {
        Ok(value.min(1.0))
    } else {
        Err(wrong(argument, &value, "a probability from 0 to 1"))
    }
}

/// A probability that is not zero.
fn at_least_some(value: f64) -> Result<f64, Wrong> {
    positive(0, value)
}

fn whole(argument: usize, value: f64) -> Result<u64, Wrong> {
    if value >= 0.0 && value.fract() == 0.0 && value < 1e15 {
        Ok(value as u64)
    } else {
        Err(wrong(argument, &value, "a whole number of 0 or more"))
    }
}

/// Weights that make probabilities when they are divided by their sum.
fn shares(argument: usize, weights: &[f64]) -> Result<Vec<f64>, Wrong> {
    if let Some(bad) = weights.iter().find(|w| !(**w >= 0.0 && w.is_finite())) {
        return Err(wrong(argument, bad, "probabilities of 0 or more"));
    }
    let total: f64 = weights.iter().sum();
    if total <= 0.0 {
        return Err(wrong(argument, &total, "a positive probability at least"));
    }
    Ok(weights.iter().map(|weight| weight / total).collect())
}

/// As many numbers as a target has elements.
fn as_long(argument: usize, values: &[f64], length: usize) -> Result<&[f64], Wrong> {
    if values.len() == length {
        Ok(values)
    } else {
        let found = format!("{} numbers", values.len());
        Err(wrong(argument, &found, "as many as the target has"))
    }
}

impl Drawer {
    /// A distribution of `size` numbers; `None` where it is never predicted.
    pub(crate) fn new(
        distribution: Distribution,
        p: &[Vec<f64>],
        size: usize,
    ) -> Result<Option<Self>, Wrong> {
        let single = |argument: usize| match p[argument].as_slice() {
            [one] => Ok(*one),
            many => {
                let found = format!("{} numbers", many.len());
                Err(wrong(argument, &found, "a single number"))
            }
        };
        let positive = |argument: usize| positive(argument, single(argument)?);
        Ok(Some(match distribution {
            Distribution::Normal => Self::Normal {
                mean: single(0)?,
                sd: positive(1)?.sqrt().recip(),
            },
            Distribution::MultivariateNormal => {
                let mean = DVector::from_column_slice(as_long(0, &p[0], size)?);
                let precision = as_long(1, &p[1], size * size)?;
                let factor = DMatrix::from_row_slice(size, size, precision).cholesky();
                let not = || wrong(1, &"indefinite", "a positive definite matrix");
                // Λ = LL': L'⁻¹z has covariance Λ⁻¹.
                let root = factor.ok_or_else(not)?.l().transpose();
                let root = root.try_inverse().ok_or_else(not)?;
                Self::Normals { mean, root }
            }
            Distribution::Gamma => Self::Gamma {
                shape: positive(0)?,
                rate: positive(1)?,
            },
            Distribution::Exponential => Self::Gamma {
                shape: 1.0,
                rate: positive(0)?,
            },
            Distribution::ChiSquared => Self::Gamma {
                shape: 0.5 * positive(0)?,
                rate: 0.5,
            },
            Distribution::Wishart => {
                let dim = size.isqrt();
                let freedom = single(1)?;
                if freedom.is_nan() || freedom <= dim as f64 - 1.0 {
                    return Err(wrong(1, &freedom, "more than the rows less 1"));
                }
                Self::Wishart {
                    freedom,
                    scale: as_long(0, &p[0], size)?.to_vec(),
                }
            }
            Distribution::Beta => Self::Beta {
                a: positive(0)?,
                b: positive(1)?,
            },
            Distribution::Uniform => {
                let (low, high) = (single(0)?, single(1)?);
                if low >= high || !(high - low).is_finite() {
                    return Err(wrong(1, &high, "an upper end above the lower"));
                }
                Self::Uniform { low, high }
            }
            Distribution::Dirichlet => {
                shares(0, as_long(0, &p[0], size)?)?;
                Self::Dirichlet(p[0].clone())
            }
            Distribution::Categorical => Self::States {
                lowest: 1.0,
                probabilities: shares(0, &p[0])?,
            },
            Distribution::Bernoulli => {
                let p = share(0, single(0)?)?;
                Self::States {
                    lowest: 0.0,
                    probabilities: vec![1.0 - p, p],
                }
            }
            Distribution::Binomial => Self::Binomial {
                probability: share(0, single(0)?)?,
                trials: whole(1, single(1)?)?,
            },
            Distribution::Multinomial => Self::Multinomial {
                probabilities: shares(0, as_long(0, &p[0], size)?)?,
                trials: whole(1, single(1)?)?,
            },
            Distribution::Poisson => match single(0)? {
                0.0 => Self::Poisson { rate: 0.0 },
                _ => Self::Poisson { rate: positive(0)? },
            },
            Distribution::NegativeBinomial => Self::NegativeBinomial {
                probability: at_least_some(share(0, single(0)?)?)?,
                size: positive(1)?,
            },
            Distribution::Weibull => Self::Weibull {
                shape: positive(0)?,
                rate: positive(1)?,
            },
            Distribution::NormalMixture | Distribution::Interval => return Ok(None),
        }))
    }

    /// Draws all elements.
    pub(crate) fn draw<R: Rng + ?Sized>(&self, rng: &mut R, out: &mut [f64]) {
        match self {
            Self::Normal { mean, sd } => {
                let z: f64 = StandardNormal.sample(rng);
                out[0] = mean + sd * z;
            }
            Self::Normals { mean, root } => {
                let z: DVector<f64> =
                    DVector::from_fn(mean.len(), |_, _| StandardNormal.sample(rng));
                let x = mean + root * z;
                out.copy_from_slice(x.as_slice());
            }
            Self::Gamma { shape, rate } => out[0] = gamma(*shape, rng) / rate,
            Self::Wishart { freedom, scale } => {
                let family = Wishart::new(out.len().isqrt());
                let ordinary = WishartOrdinary {
                    degrees_of_freedom: *freedom,
                    scale: scale.clone(),
                };
                let drawn = (family.natural(&ordinary)).and_then(|n| family.sample(&n, rng));
                match drawn {
                    Ok(drawn) => out.copy_from_slice(&drawn.precision),
                    Err(_) => out.fill(f64::NAN),
                }
            }
            Self::Beta { a, b } => {
                out[0] = Beta::new(*a, *b).map_or(f64::NAN, |beta| beta.sample(rng));
            }
            Self::Uniform { low, high } => out[0] = low + (high - low) * rng.random::<f64>(),
            Self::Dirichlet(concentrations) => {
                for (out, &a) in out.iter_mut().zip(concentrations) {
                    *out = if a > 0.0 { gamma(a, rng) } else { 0.0 };
                }
                let total: f64 = out.iter().sum();
                for out in out.iter_mut() {
                    *out /= total;
                }
            }
            Self::States {
                lowest,
                probabilities,
            } => {
                let mut left: f64 = rng.random();
                let state = probabilities.iter().position(|p| {
                    left -= p;
                    left < 0.0
                });
                out[0] = lowest + state.unwrap_or(probabilities.len() - 1) as f64;
            }
            Self::Binomial {
                trials,
                probability,
            } => out[0] = binomial(*trials, *probability, rng) as f64,
            Self::Multinomial {
                trials,
                probabilities,
            } => {
                let (mut left, mut rest) = (*trials, 1.0);
                for (out, &p) in out.iter_mut().zip(probabilities) {
                    let count = binomial(left, (p / rest).clamp(0.0, 1.0), rng);
                    *out = count as f64;
                    left -= count;
                    rest -= p;
                }
            }
            Self::Poisson { rate } => out[0] = poisson(*rate, rng),
            Self::NegativeBinomial { probability, size } => {
                let rate = gamma(*size, rng) * (1.0 - probability) / probability;
                out[0] = poisson(rate, rng);
            }
            Self::Weibull { shape, rate } => {
                let e: f64 = Exp1.sample(rng);
                out[0] = (e / rate).powf(shape.recip());
            }
        }
    }

    /// What is known of an element in closed form.
    pub(crate) fn belief(&self, element: usize) -> Option<PosteriorMarginal> {
        Some(PosteriorMarginal::Closed(match self {
            &Self::Normal { mean, sd } => Marginal::Normal { mean, sd },
            Self::Normals { mean, root } => Marginal::Normal {
                mean: mean[element],
                sd: root.row(element).norm(),
            },
            &Self::Gamma { shape, rate } => Marginal::Gamma { shape, rate },
            &Self::Beta { a, b } => Marginal::Beta { a, b },
            Self::Dirichlet(all) => {
                let (a, total) = (all[element], all.iter().sum::<f64>());
                match a {
                    0.0 => Marginal::Point(0.0),
                    a if a == total => Marginal::Point(1.0),
                    a => Marginal::Beta { a, b: total - a },
                }
            }
            Self::States { probabilities, .. } => {
                return Some(PosteriorMarginal::States(probabilities.clone()));
            }
            _ => return None,
        }))
    }
}

fn gamma<R: Rng + ?Sized>(shape: f64, rng: &mut R) -> f64 {
    Gamma::new(shape, 1.0).map_or(f64::NAN, |gamma| gamma.sample(rng))
}

fn poisson<R: Rng + ?Sized>(rate: f64, rng: &mut R) -> f64 {
    if rate == 0.0 {
        return 0.0;
    }
    Poisson::new(rate).map_or(f64::NAN, |poisson| poisson.sample(rng))
}

fn binomial<R: Rng + ?Sized>(trials: u64, probability: f64, rng: &mut R) -> u64 {
    Binomial::new(trials, probability).map_or(0, |binomial| binomial.sample(rng))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    const DRAWS: usize = 20_000;
    type Parameters = Vec<Vec<f64>>;

    /// Means and variances in JAGS's parameters, by textbook formulas.
    #[test]
    fn draws_have_their_moments() {
        let cases: [(Distribution, Parameters, f64, f64); 14] = [
            (Distribution::Normal, vec![vec![1.0], vec![4.0]], 1.0, 0.25),
            (Distribution::Gamma, vec![vec![3.0], vec![2.0]], 1.5, 0.75),
            (Distribution::Exponential, vec![vec![2.0]], 0.5, 0.25),
            (Distribution::ChiSquared, vec![vec![5.0]], 5.0, 10.0),
            (Distribution::Beta, vec![vec![2.0], vec![3.0]], 0.4, 0.04),
            (
                Distribution::Uniform,
                vec![vec![-1.0], vec![3.0]],
                1.0,
                16.0 / 12.0,
            ),
            (
                Distribution::Categorical,
                vec![vec![2.0, 1.0, 1.0]],
                1.75,
                0.6875,
            ),
            (Distribution::Bernoulli, vec![vec![0.3]], 0.3, 0.21),
            (
                Distribution::Binomial,
                vec![vec![0.3], vec![50.0]],
                15.0,
                10.5,
            ),
            (Distribution::Poisson, vec![vec![37.5]], 37.5, 37.5),
            (Distribution::Poisson, vec![vec![0.0]], 0.0, 0.0),
            (
                Distribution::NegativeBinomial,
                vec![vec![0.25], vec![3.0]],
                9.0,
                36.0,
            ),
            // Γ(1 + 1/2) / λ^(1/2) and (Γ(2) − Γ(1.5)²) / λ.
            (
                Distribution::Weibull,
                vec![vec![2.0], vec![4.0]],
                0.886_226_925_452_758 / 2.0,
                (1.0 - std::f64::consts::FRAC_PI_4) / 4.0,
            ),
            (Distribution::Wishart, vec![vec![2.0], vec![3.0]], 1.5, 1.5),
        ];
        for (of, parameters, mean, variance) in cases {
            let drawer = Drawer::new(of, &parameters, 1).unwrap().unwrap();
            let mut rng = ChaCha8Rng::seed_from_u64(3);
            let mut sums = [0.0; 2];
            for _ in 0..DRAWS {
                let mut x = [0.0];
                drawer.draw(&mut rng, &mut x);
                sums[0] += x[0];
                sums[1] += (x[0] - mean).powi(2);
            }
            let [found, spread] = sums.map(|sum| sum / DRAWS as f64);
            // Five standard errors of a mean; variances of heavy tails vary by more.
            let error = 5.0 * (variance / DRAWS as f64).sqrt() + 1e-12;
            assert!((found - mean).abs() <= error, "{of:?}: {found} for {mean}");
            let near = (spread - variance).abs() <= 0.1 * variance + 1e-12;
            assert!(near, "{of:?}: {spread} for {variance}");
        }
    }

    #[test]
    fn vectors_have_their_moments() {
        let cases: [(Distribution, Parameters, [f64; 2], f64); 3] = [
            // The inverse of [2 1; 1 1] is [1 -1; -1 2].
            (
                Distribution::MultivariateNormal,
                vec![vec![1.0, -1.0], vec![2.0, 1.0, 1.0, 1.0]],
                [1.0, -1.0],
                -1.0,
            ),
            // Covariances −ab/(s²(s + 1)) and −npq.
            (
                Distribution::Dirichlet,
                vec![vec![1.0, 3.0]],
                [0.25, 0.75],
                -3.0 / 80.0,
            ),
            (
                Distribution::Multinomial,
                vec![vec![1.0, 4.0], vec![10.0]],
                [2.0, 8.0],
                -1.6,
            ),
        ];
        for (of, parameters, means, covariance) in cases {
            let drawer = Drawer::new(of, &parameters, 2).unwrap().unwrap();
            let mut rng = ChaCha8Rng::seed_from_u64(4);
            let mut sums = [0.0; 3];
            for _ in 0..DRAWS {
                let mut x = [0.0; 2];
                drawer.draw(&mut rng, &mut x);
                sums[0] += x[0];
                sums[1] += x[1];
                sums[2] += (x[0] - means[0]) * (x[1] - means[1]);
            }
            let found = sums.map(|sum| sum / DRAWS as f64);
            for (found, expected) in found.iter().zip([means[0], means[1], covariance]) {
                let near = (found - expected).abs() <= 0.05 * expected.abs();
                assert!(near, "{of:?}: {found} for {expected}");
            }
        }
    }

    #[test]
    fn wrong_parameters_are_named() {
        let refused = |of: Distribution, p: &[Vec<f64>]| Drawer::new(of, p, 1).unwrap_err();
        let found = refused(Distribution::Normal, &[vec![0.0], vec![-1.0]]);
        assert_eq!((found.argument, found.expected), (1, "a positive number"));
        assert_eq!(refused(Distribution::Bernoulli, &[vec![1.5]]).argument, 0);
        assert_eq!(
            refused(Distribution::Binomial, &[vec![0.5], vec![1.5]]).argument,
            1
        );
        assert_eq!(
            refused(Distribution::Gamma, &[vec![1.0, 2.0], vec![1.0]]).found,
            "2 numbers"
        );
    }
}
