//! Decides how distributions are drawn from where their parameters are numbers, and what is known
//! of them without draws.

use collapsar::elementary::Elementary;
use collapsar::family::{Family, Marginal, NormalWishart, NormalWishartOrdinary};
use collapsar::graph::PosteriorMarginal;
use collapsar::random::{
    Beta, Binomial, Distribution as _, Exp1, Gamma, OpenClosed01, Poisson, StandardNormal,
};
use collapsar::special::beta_cdf;
use nalgebra::{DMatrix, DVector};
use rand::{Rng, RngExt};

use crate::diagnostic::Diagnostic;
use crate::distribution::Distribution;
use crate::elaborate::Sampling;
use crate::lower::Share;
use crate::quantity::Element;

/// Draws of which one should be within bounds, before its place is computed.
const MOST_TRIED: usize = 100;
/// Halvings of an interval until its ends are the same number.
const HALVINGS: usize = 60;

/// A parameter that a distribution cannot have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BadParameter {
    /// Which, counted from 0.
    argument: usize,
    found: String,
    expected: &'static str,
}

impl BadParameter {
    /// A complaint about the parameter of a line, for an element.
    pub(crate) fn diagnostic(&self, of: Sampling, element: &Element) -> Diagnostic {
        of.parameter(self.argument, &self.found, self.expected, element)
    }
}

fn bad(argument: usize, found: &impl ToString, expected: &'static str) -> BadParameter {
    BadParameter {
        argument,
        found: found.to_string(),
        expected,
    }
}

/// A distribution with numbers for parameters, ready to be drawn from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fixed {
    /// Mean and standard deviation.
    Normal(f64, f64),
    /// The mean, and a matrix that makes independent numbers have the covariance.
    Normals(DVector<f64>, DMatrix<f64>),
    /// Mean and standard deviation of the logarithm.
    LogNormal(f64, f64),
    /// Mean, scale and degrees of freedom.
    StudentT(f64, f64, f64),
    /// The scale and the degrees of freedom of the standard deviation, whose precision it is.
    ScaledGamma(f64, f64),
    /// Shape and lower end.
    Pareto(f64, f64),
    /// Shape and rate.
    Gamma(f64, f64),
    Wishart(NormalWishartOrdinary),
    /// Both shapes.
    Beta(f64, f64),
    /// Lower and upper end.
    Uniform(f64, f64),
    /// Concentrations; zeros stay zero.
    Dirichlet(Vec<f64>),
    /// The lowest value, and the probabilities of values from there on.
    States(f64, Vec<f64>),
    /// Probability and trials.
    Binomial(f64, u64),
    /// Probabilities and trials.
    Multinomial(Vec<f64>, u64),
    /// Rate.
    Poisson(f64),
    /// Probability and size.
    NegativeBinomial(f64, f64),
    /// Shape and rate.
    Weibull(f64, f64),
    /// Mean and rate.
    Laplace(f64, f64),
    /// Mean and rate.
    Logistic(f64, f64),
    /// Shape, rate, and the power whose gamma distribution it is.
    GeneralisedGamma(f64, f64, f64),
    /// Both degrees of freedom.
    F(f64, f64),
    /// Degrees of freedom and non-centrality.
    NoncentralChiSquared(f64, f64),
    /// Both shapes, and trials.
    BetaBinomial(f64, f64, u64),
}

fn positive(argument: usize, value: f64) -> Result<f64, BadParameter> {
    let found = Some(value).filter(|value| *value > 0.0 && value.is_finite());
    found.ok_or_else(|| bad(argument, &value, "a positive number"))
}

/// Weights that make probabilities when they are divided by their sum.
fn normalised(argument: usize, weights: &[f64]) -> Result<Vec<f64>, BadParameter> {
    if let Some(found) = weights.iter().find(|w| !(**w >= 0.0 && w.is_finite())) {
        return Err(bad(argument, found, "probabilities of 0 or more"));
    }
    let total: f64 = weights.iter().sum();
    if total <= 0.0 {
        return Err(bad(argument, &total, "a positive probability at least"));
    }
    Ok(weights.iter().map(|weight| weight / total).collect())
}

/// As many numbers as a target has elements.
fn as_long(argument: usize, values: &[f64], length: usize) -> Result<&[f64], BadParameter> {
    if values.len() == length {
        return Ok(values);
    }
    let found = format!("{} numbers", values.len());
    Err(bad(argument, &found, "as many as the target has"))
}

impl Fixed {
    /// A distribution of `size` numbers; `None` where it is never predicted.
    pub(crate) fn new(
        distribution: Distribution,
        p: &[Vec<f64>],
        size: usize,
    ) -> Result<Option<Self>, BadParameter> {
        let single = |argument: usize| match p[argument].as_slice() {
            [one] => Ok(*one),
            many => {
                let found = format!("{} numbers", many.len());
                Err(bad(argument, &found, "a single number"))
            }
        };
        let positive = |argument: usize| positive(argument, single(argument)?);
        let probability = |argument: usize| match single(argument)? {
            p if (0.0..=1.0 + 1e-9).contains(&p) => Ok(p.min(1.0)),
            p => Err(bad(argument, &p, "a probability from 0 to 1")),
        };
        let trials_at = |argument: usize| match single(argument)? {
            n if n >= 0.0 && n.fract() == 0.0 && n < 1e15 => Ok(n as u64),
            n => Err(bad(argument, &n, "a whole number of 0 or more")),
        };
        let trials = || trials_at(1);
        Ok(Some(match distribution {
            Distribution::Normal => Self::Normal(single(0)?, positive(1)?.sqrt().recip()),
            Distribution::MultivariateNormal => {
                let mean = DVector::from_column_slice(as_long(0, &p[0], size)?);
                let precision = as_long(1, &p[1], size * size)?;
                let factor = DMatrix::from_row_slice(size, size, precision).cholesky();
                // Λ = LL': L'⁻¹z has covariance Λ⁻¹.
                let root = factor.and_then(|factor| factor.l().transpose().try_inverse());
                let root = root.ok_or_else(|| bad(1, &"indefinite", "a positive definite matrix"));
                Self::Normals(mean, root?)
            }
            Distribution::LogNormal => Self::LogNormal(single(0)?, positive(1)?.sqrt().recip()),
            Distribution::StudentT => {
                Self::StudentT(single(0)?, positive(1)?.sqrt().recip(), positive(2)?)
            }
            Distribution::ScaledGamma => Self::ScaledGamma(positive(0)?, positive(1)?),
            Distribution::Pareto => Self::Pareto(positive(0)?, positive(1)?),
            Distribution::Gamma => Self::Gamma(positive(0)?, positive(1)?),
            Distribution::Exponential => Self::Gamma(1.0, positive(0)?),
            Distribution::ChiSquared => Self::Gamma(0.5 * positive(0)?, 0.5),
            Distribution::Wishart => {
                let freedom = single(1)?;
                if freedom.is_nan() || freedom <= size.isqrt() as f64 - 1.0 {
                    return Err(bad(1, &freedom, "more than the rows less 1"));
                }
                Self::Wishart(NormalWishartOrdinary {
                    means: Vec::new(),
                    mean_precisions: Vec::new(),
                    degrees_of_freedom: freedom,
                    scale: as_long(0, &p[0], size)?.to_vec(),
                })
            }
            Distribution::Beta => Self::Beta(positive(0)?, positive(1)?),
            Distribution::Uniform => match (single(0)?, single(1)?) {
                (low, high) if low >= high || !(high - low).is_finite() => {
                    return Err(bad(1, &high, "an upper end above the lower"));
                }
                (low, high) => Self::Uniform(low, high),
            },
            Distribution::Dirichlet => {
                normalised(0, as_long(0, &p[0], size)?)?;
                Self::Dirichlet(p[0].clone())
            }
            Distribution::Categorical => Self::States(1.0, normalised(0, &p[0])?),
            Distribution::Bernoulli => {
                let p = probability(0)?;
                Self::States(0.0, vec![1.0 - p, p])
            }
            Distribution::Binomial => Self::Binomial(probability(0)?, trials()?),
            Distribution::Multinomial => {
                Self::Multinomial(normalised(0, as_long(0, &p[0], size)?)?, trials()?)
            }
            Distribution::Poisson if single(0)? == 0.0 => Self::Poisson(0.0),
            Distribution::Poisson => Self::Poisson(positive(0)?),
            Distribution::NegativeBinomial => {
                let p = self::positive(0, probability(0)?)?;
                Self::NegativeBinomial(p, positive(1)?)
            }
            Distribution::Weibull => Self::Weibull(positive(0)?, positive(1)?),
            Distribution::Laplace => Self::Laplace(single(0)?, positive(1)?),
            Distribution::Logistic => Self::Logistic(single(0)?, positive(1)?),
            Distribution::GeneralisedGamma => {
                Self::GeneralisedGamma(positive(0)?, positive(1)?, positive(2)?)
            }
            Distribution::F => Self::F(positive(0)?, positive(1)?),
            Distribution::NoncentralChiSquared => match single(1)? {
                noncentrality if noncentrality >= 0.0 && noncentrality.is_finite() => {
                    Self::NoncentralChiSquared(positive(0)?, noncentrality)
                }
                found => return Err(bad(1, &found, "a number of 0 or more")),
            },
            Distribution::BetaBinomial => {
                Self::BetaBinomial(positive(0)?, positive(1)?, trials_at(2)?)
            }
            Distribution::NormalMixture | Distribution::Interval | Distribution::Flat => {
                return Ok(None);
            }
        }))
    }

    /// Draws all elements; a waiting time above a number, where there is one.
    pub(crate) fn draw_above<R: Rng + ?Sized>(
        &self,
        above: Option<f64>,
        rng: &mut R,
        out: &mut [f64],
    ) {
        match (self, above) {
            (Self::Weibull(shape, rate), Some(above)) => {
                let e: f64 = Exp1.sample(rng);
                out[0] = (above.powf_(*shape) + e / rate).powf_(shape.recip());
            }
            // Exponential ones do not age.
            (Self::Gamma(..), Some(above)) => {
                self.draw(rng, out);
                out[0] += above;
            }
            _ => self.draw(rng, out),
        }
    }

    /// Draws a probability of which counts are known.
    pub(crate) fn draw_share<R: Rng + ?Sized>(&self, share: Share, rng: &mut R, out: &mut [f64]) {
        let Self::Beta(a, b) = self else {
            return self.draw(rng, out);
        };
        let (a, b) = (a + share.successes, b + share.failures);
        let within = share.lower..=share.upper;
        for _ in 0..MOST_TRIED {
            Self::Beta(a, b).draw(rng, out);
            if within.contains(&out[0]) {
                return;
            }
        }
        // Nearly all of the distribution is outside: by the inverse of its distribution function.
        let (low, high) = (beta_cdf(a, b, share.lower), beta_cdf(a, b, share.upper));
        let wanted = low + (high - low) * rng.random::<f64>();
        let (mut below, mut above) = (share.lower, share.upper);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (below + above);
            if beta_cdf(a, b, middle) < wanted {
                below = middle;
            } else {
                above = middle;
            }
        }
        out[0] = 0.5 * (below + above);
    }

    /// Draws all elements.
    pub(crate) fn draw<R: Rng + ?Sized>(&self, rng: &mut R, out: &mut [f64]) {
        out[0] = match self {
            Self::Normal(mean, sd) => mean + sd * normal(rng),
            Self::Laplace(mean, rate) => {
                let e: f64 = Exp1.sample(rng);
                let side = if rng.random() { 1.0 } else { -1.0 };
                mean + side * e / rate
            }
            Self::Logistic(mean, rate) => {
                // The log odds of a uniform number.
                let u: f64 = OpenClosed01.sample(rng);
                mean + (u / (1.0 - u).max(f64::MIN_POSITIVE)).ln_() / rate
            }
            Self::LogNormal(mean, sd) => (mean + sd * normal(rng)).exp_(),
            Self::GeneralisedGamma(shape, rate, power) => {
                gamma(*shape, rng).powf_(power.recip()) / rate
            }
            Self::StudentT(mean, scale, degrees) => mean + scale * student(*degrees, rng),
            Self::ScaledGamma(scale, degrees) => (scale * student(*degrees, rng)).powi(-2),
            Self::Pareto(shape, lower) => {
                let e: f64 = Exp1.sample(rng);
                lower * (e / shape).exp_()
            }
            Self::F(n, m) => (gamma(0.5 * n, rng) / n) / (gamma(0.5 * m, rng) / m),
            Self::NoncentralChiSquared(degrees, noncentrality) => {
                let more = poisson(0.5 * noncentrality, rng);
                2.0 * gamma(0.5 * degrees + more, rng)
            }
            Self::BetaBinomial(a, b, trials) => binomial(*trials, beta(*a, *b, rng), rng) as f64,
            Self::Gamma(shape, rate) => gamma(*shape, rng) / rate,
            Self::Beta(a, b) => beta(*a, *b, rng),
            Self::Uniform(low, high) => low + (high - low) * rng.random::<f64>(),
            Self::States(lowest, probabilities) => {
                let mut left: f64 = rng.random();
                let state = probabilities.iter().position(|p| {
                    left -= p;
                    left < 0.0
                });
                lowest + state.unwrap_or(probabilities.len() - 1) as f64
            }
            Self::Binomial(probability, trials) => binomial(*trials, *probability, rng) as f64,
            Self::Poisson(rate) => poisson(*rate, rng),
            Self::NegativeBinomial(probability, size) => {
                let rate = gamma(*size, rng) * (1.0 - probability) / probability;
                poisson(rate, rng)
            }
            Self::Weibull(shape, rate) => {
                let e: f64 = Exp1.sample(rng);
                (e / rate).powf_(shape.recip())
            }
            Self::Normals(mean, root) => {
                let z = DVector::from_fn(mean.len(), |_, _| StandardNormal.sample(rng));
                return out.copy_from_slice((mean + root * z).as_slice());
            }
            Self::Wishart(ordinary) => {
                let family = NormalWishart::wishart(out.len().isqrt());
                let drawn = (family.natural(ordinary)).and_then(|n| family.sample(&n, rng));
                return match drawn {
                    Ok(drawn) => out.copy_from_slice(&drawn.precision),
                    Err(_) => out.fill(f64::NAN),
                };
            }
            Self::Dirichlet(concentrations) => {
                for (out, &a) in out.iter_mut().zip(concentrations) {
                    *out = if a > 0.0 { gamma(a, rng) } else { 0.0 };
                }
                let total: f64 = out.iter().sum();
                return out.iter_mut().for_each(|out| *out /= total);
            }
            Self::Multinomial(probabilities, trials) => {
                let (mut left, mut rest) = (*trials, 1.0);
                for (out, &p) in out.iter_mut().zip(probabilities) {
                    let count = binomial(left, (p / rest).clamp(0.0, 1.0), rng);
                    *out = count as f64;
                    left -= count;
                    rest -= p;
                }
                return;
            }
        };
    }

    /// What is known of an element in closed form.
    pub(crate) fn marginal(&self, element: usize) -> Option<PosteriorMarginal> {
        Some(PosteriorMarginal::Closed(match self {
            &Self::Normal(mean, sd) => Marginal::Normal { mean, sd },
            Self::Normals(mean, root) => Marginal::Normal {
                mean: mean[element],
                sd: root.row(element).norm(),
            },
            &Self::StudentT(mean, scale, degrees) => Marginal::StudentT {
                mean,
                scale,
                degrees,
            },
            &Self::Gamma(shape, rate) => Marginal::Gamma { shape, rate },
            &Self::Beta(a, b) => Marginal::Beta { a, b },
            Self::Dirichlet(all) => {
                let (a, total) = (all[element], all.iter().sum::<f64>());
                match a {
                    0.0 => Marginal::Point(0.0),
                    a if a == total => Marginal::Point(1.0),
                    a => Marginal::Beta { a, b: total - a },
                }
            }
            Self::States(_, probabilities) => {
                return Some(PosteriorMarginal::States(probabilities.clone()));
            }
            _ => return None,
        }))
    }
}

fn normal<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    StandardNormal.sample(rng)
}

fn beta<R: Rng + ?Sized>(a: f64, b: f64, rng: &mut R) -> f64 {
    Beta::new(a, b).map_or(f64::NAN, |beta| beta.sample(rng))
}

fn student<R: Rng + ?Sized>(degrees: f64, rng: &mut R) -> f64 {
    normal(rng) / (gamma(0.5 * degrees, rng) / (0.5 * degrees)).sqrt()
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
mod tests;
