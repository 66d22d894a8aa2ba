//! A plain mixture to compare with: textbook VBEM in ordinary parameters and the data's own units,
//! which keeps every responsibility.
//!
//! Written from HRL12's supplement and Bishop06, section 10.2, sharing nothing with the library
//! but log-gamma and digamma. Rows of responsibilities and logits are data, columns components.

use std::f64::consts::{LN_2, PI, TAU};

use collapsar::mixture::{Covariance, Prior, Weights};
use collapsar::special::{digamma, ln_gamma};
use nalgebra::{DMatrix, DVector};

/// The data and the prior.
pub(crate) struct Reference {
    pub(crate) rows: Vec<DVector<f64>>,
    pub(crate) components: usize,
    pub(crate) covariance: Covariance,
    pub(crate) weights: Weights,
    pub(crate) prior: Prior,
}

/// An approximate posterior of weights and component parameters, q(X).
#[derive(Debug, Clone)]
pub(crate) struct Parameters {
    /// Concentrations of independent Dirichlets: one of all components, or one of two a stick.
    pub(crate) weights: Vec<Vec<f64>>,
    /// Mean precision κ and mean m of each component.
    pub(crate) means: Vec<(f64, DVector<f64>)>,
    /// One for each component, or one for all where covariances are tied.
    pub(crate) precisions: Vec<Precision>,
}

/// Degrees of freedom and scale of a precision: a matrix, a diagonal, or a matrix of one.
#[derive(Debug, Clone)]
pub(crate) struct Precision {
    pub(crate) freedom: f64,
    pub(crate) scale: DMatrix<f64>,
}

/// The conjugate rules of HRL12, and plain VBEM.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Rule {
    Vbem,
    FletcherReeves,
    PolakRibiere,
    HestenesStiefel,
}

impl Reference {
    pub(crate) fn new(
        values: &[f64],
        prior: &Prior,
        components: usize,
        (covariance, weights): (Covariance, Weights),
    ) -> Self {
        let columns = prior.location.len();
        Self {
            rows: values
                .chunks(columns)
                .map(DVector::from_row_slice)
                .collect(),
            components,
            covariance,
            weights,
            prior: prior.clone(),
        }
    }

    pub(crate) fn columns(&self) -> usize {
        self.prior.location.len()
    }

    fn location(&self) -> DVector<f64> {
        DVector::from_row_slice(&self.prior.location)
    }

    pub(crate) fn prior(&self) -> Parameters {
        self.posterior(&DMatrix::zeros(0, self.components))
    }

    /// HRL12's M step, given responsibilities of the first rows.
    pub(crate) fn posterior(&self, r: &DMatrix<f64>) -> Parameters {
        let (d, kappa0, m0) = (self.columns(), self.prior.mean_precision, self.location());
        let counts: Vec<f64> = r.column_iter().map(|c| c.sum()).collect();
        let weights = match self.weights {
            Weights::Dirichlet => {
                vec![
                    counts
                        .iter()
                        .map(|c| self.prior.concentration + c)
                        .collect(),
                ]
            }
            Weights::DirichletProcess => (0..self.components)
                .map(|k| {
                    let beyond: f64 = counts[k + 1..].iter().sum();
                    vec![1.0 + counts[k], self.prior.concentration + beyond]
                })
                .collect(),
        };
        let means: Vec<(f64, DVector<f64>)> = (0..self.components)
            .map(|k| {
                let kappa = kappa0 + counts[k];
                let sum = r
                    .column(k)
                    .iter()
                    .zip(&self.rows)
                    .fold(kappa0 * &m0, |sum, (r, y)| sum + *r * y);
                (kappa, sum / kappa)
            })
            .collect();
        // The scatter of a component's data and of the prior mean around the posterior mean:
        // κ₀m₀m₀' + Σ r yy' − κmm' without its cancellation.
        let scatter = |k: usize| {
            let m = &means[k].1;
            let from_prior = kappa0 * (&m0 - m) * (&m0 - m).transpose();
            r.column(k)
                .iter()
                .zip(&self.rows)
                .fold(from_prior, |sum, (r, y)| {
                    sum + *r * (y - m) * (y - m).transpose()
                })
        };
        let (nu0, s0) = (
            self.prior.degrees_of_freedom,
            DMatrix::from_row_slice(d, d, &self.prior.scale),
        );
        let precisions = if self.covariance == Covariance::Tied {
            let scale = (0..self.components).fold(s0, |sum, k| sum + scatter(k));
            let freedom = nu0 + counts.iter().sum::<f64>();
            vec![Precision { freedom, scale }]
        } else {
            let one = |k: usize| {
                let (full, freedom) = (&s0 + scatter(k), nu0 + counts[k]);
                match self.covariance {
                    Covariance::Diagonal => Precision {
                        freedom,
                        scale: DMatrix::from_diagonal(&full.diagonal()),
                    },
                    // D coordinates share one precision, so each datum counts D times.
                    Covariance::Spherical => Precision {
                        freedom: freedom * d as f64,
                        scale: DMatrix::from_element(1, 1, full.trace()),
                    },
                    _ => Precision {
                        freedom,
                        scale: full,
                    },
                }
            };
            (0..self.components).map(one).collect()
        };
        Parameters {
            weights,
            means,
            precisions,
        }
    }

    /// The precision of component `k`.
    fn of<'a>(&self, q: &'a Parameters, k: usize) -> &'a Precision {
        &q.precisions[if self.covariance == Covariance::Tied {
            0
        } else {
            k
        }]
    }

    /// A precision as independent Wisharts.
    fn wisharts(&self, precision: &Precision) -> Vec<Precision> {
        if self.covariance == Covariance::Diagonal {
            let one = |s: &f64| Precision {
                freedom: precision.freedom,
                scale: DMatrix::from_element(1, 1, *s),
            };
            precision.scale.diagonal().iter().map(one).collect()
        } else {
            vec![precision.clone()]
        }
    }

    fn expected_precision(&self, precision: &Precision) -> DMatrix<f64> {
        let d = self.columns();
        match self.covariance {
            Covariance::Spherical => {
                DMatrix::identity(d, d) * (precision.freedom / precision.scale[(0, 0)])
            }
            _ => inverse(&precision.scale) * precision.freedom,
        }
    }

    fn expected_ln_determinant(&self, precision: &Precision) -> f64 {
        let sum: f64 = self
            .wisharts(precision)
            .iter()
            .map(Precision::ln_determinant)
            .sum();
        if self.covariance == Covariance::Spherical {
            sum * self.columns() as f64
        } else {
            sum
        }
    }

    /// E[ln π_k].
    fn ln_weights(&self, q: &Parameters) -> Vec<f64> {
        let expected = |a: &Vec<f64>, k: usize| digamma(a[k]) - digamma(a.iter().sum());
        match self.weights {
            Weights::Dirichlet => (0..self.components)
                .map(|k| expected(&q.weights[0], k))
                .collect(),
            Weights::DirichletProcess => (0..self.components)
                .map(|k| {
                    let before: f64 = q.weights[..k].iter().map(|a| expected(a, 1)).sum();
                    expected(&q.weights[k], 0) + before
                })
                .collect(),
        }
    }

    /// E[ln π_k p(y_n | k)] under q(X): the logits of the textbook's E step.
    pub(crate) fn logits(&self, q: &Parameters) -> DMatrix<f64> {
        let ln_weights = self.ln_weights(q);
        let d = self.columns() as f64;
        let mut logits = DMatrix::zeros(self.rows.len(), self.components);
        for (k, (kappa, m)) in q.means.iter().enumerate() {
            let block = self.of(q, k);
            let (precision, ln_det) = (
                self.expected_precision(block),
                self.expected_ln_determinant(block),
            );
            for (n, y) in self.rows.iter().enumerate() {
                let square = (y - m).dot(&(&precision * (y - m)));
                logits[(n, k)] = ln_weights[k] + 0.5 * (ln_det - d * TAU.ln() - d / kappa - square);
            }
        }
        logits
    }

    /// KL(q(X) ‖ p(X)) of two sets of parameters.
    pub(crate) fn divergence(&self, q: &Parameters, p: &Parameters) -> f64 {
        let weights: f64 = q
            .weights
            .iter()
            .zip(&p.weights)
            .map(|(a, b)| dirichlet_divergence(a, b))
            .sum();
        let d = self.columns() as f64;
        let means: f64 = (0..self.components)
            .map(|k| {
                let ((kappa, m), (kappa0, m0)) = (&q.means[k], &p.means[k]);
                let square = (m - m0).dot(&(self.expected_precision(self.of(q, k)) * (m - m0)));
                0.5 * (d * (kappa0 / kappa - 1.0 + (kappa / kappa0).ln()) + kappa0 * square)
            })
            .sum();
        let precisions: f64 = q
            .precisions
            .iter()
            .zip(&p.precisions)
            .flat_map(|(q, p)| self.wisharts(q).into_iter().zip(self.wisharts(p)))
            .map(|(q, p)| q.divergence(&p))
            .sum();
        weights + means + precisions
    }

    /// The mean-field bound of HRL12 (2), for any q(Z) and any q(X), with all constants.
    pub(crate) fn mean_field(&self, r: &DMatrix<f64>, q: &Parameters) -> f64 {
        let expected = r.component_mul(&self.logits(q)).sum();
        let entropy: f64 = r.iter().filter(|r| **r > 0.0).map(|r| -r * r.ln()).sum();
        expected + entropy - self.divergence(q, &self.prior())
    }

    /// The collapsed bound: the mean-field bound at the best q(X).
    pub(crate) fn bound(&self, r: &DMatrix<f64>) -> f64 {
        self.mean_field(r, &self.posterior(r))
    }

    /// ln p(data, labels): with labels known there is nothing to bound.
    pub(crate) fn ln_joint(&self, labels: &[usize]) -> f64 {
        let one = |n: usize, k: usize| f64::from(u8::from(labels[n] == k));
        self.bound(&DMatrix::from_fn(labels.len(), self.components, one))
    }

    /// The bounds of a run from `logits` that keeps the logits of every row: the natural gradient
    /// is the E step's logits less the present ones; a step that falls is replaced by VBEM's.
    pub(crate) fn climb(&self, rule: Rule, mut logits: DMatrix<f64>, steps: usize) -> Vec<f64> {
        let mut bound = self.bound(&softmax(&logits));
        let mut bounds = Vec::new();
        // The gradient, its metric and the step that was taken, of the previous iteration.
        let mut previous: Option<(DMatrix<f64>, DMatrix<f64>, DMatrix<f64>)> = None;
        for _ in 0..steps {
            let r = softmax(&logits);
            let gradient = self.logits(&self.posterior(&r)) - &logits;
            let mut step = gradient.clone();
            if let Some((old, old_r, old_step)) = &previous {
                let change = &gradient - old;
                // HRL12's supplement, section 1.
                let beta = match rule {
                    Rule::Vbem => 0.0,
                    Rule::FletcherReeves => {
                        inner(&r, &gradient, &gradient) / inner(old_r, old, old)
                    }
                    Rule::PolakRibiere => inner(&r, &gradient, &change) / inner(old_r, old, old),
                    Rule::HestenesStiefel => {
                        inner(&r, &gradient, &change) / inner(old_r, old, &change)
                    }
                };
                if beta > 0.0 && beta.is_finite() {
                    step += beta * old_step;
                }
            }
            let mut next = self.bound(&softmax(&(&logits + &step)));
            if next <= bound {
                step.clone_from(&gradient);
                next = self.bound(&softmax(&(&logits + &step)));
            }
            logits += &step;
            bound = next;
            bounds.push(bound);
            previous = Some((gradient, r, step));
        }
        bounds
    }
}

impl Precision {
    fn dim(&self) -> usize {
        self.scale.nrows()
    }

    /// E[ln |Λ|] of a Wishart.
    fn ln_determinant(&self) -> f64 {
        let terms = (0..self.dim()).map(|i| digamma(0.5 * (self.freedom - i as f64)) + LN_2);
        terms.sum::<f64>() - ln_determinant(&self.scale)
    }

    /// The log of the integral of |Λ|^((ν−D−1)/2) exp(−tr SΛ / 2).
    fn ln_normaliser(&self) -> f64 {
        let d = self.dim() as f64;
        let gammas: f64 = (0..self.dim())
            .map(|i| ln_gamma(0.5 * (self.freedom - i as f64)))
            .sum();
        0.5 * self.freedom * (d * LN_2 - ln_determinant(&self.scale))
            + 0.25 * d * (d - 1.0) * PI.ln()
            + gammas
    }

    fn divergence(&self, other: &Self) -> f64 {
        let mean = inverse(&self.scale) * self.freedom;
        other.ln_normaliser() - self.ln_normaliser()
            + 0.5 * (self.freedom - other.freedom) * self.ln_determinant()
            - 0.5 * ((&self.scale - &other.scale) * mean).trace()
    }
}

fn dirichlet_divergence(a: &[f64], b: &[f64]) -> f64 {
    let (total_a, total_b): (f64, f64) = (a.iter().sum(), b.iter().sum());
    let terms = a
        .iter()
        .zip(b)
        .map(|(a, b)| ln_gamma(*b) - ln_gamma(*a) + (a - b) * (digamma(*a) - digamma(total_a)));
    ln_gamma(total_a) - ln_gamma(total_b) + terms.sum::<f64>()
}

/// Σ_n cov(a_n, b_n) under the responsibilities: the Fisher metric of HRL12 (14).
pub(crate) fn inner(r: &DMatrix<f64>, a: &DMatrix<f64>, b: &DMatrix<f64>) -> f64 {
    (0..r.nrows())
        .map(|n| {
            let mean = |x: &DMatrix<f64>| r.row(n).dot(&x.row(n));
            let (mean_a, mean_b) = (mean(a), mean(b));
            (0..r.ncols())
                .map(|k| r[(n, k)] * (a[(n, k)] - mean_a) * (b[(n, k)] - mean_b))
                .sum::<f64>()
        })
        .sum()
}

pub(crate) fn softmax(logits: &DMatrix<f64>) -> DMatrix<f64> {
    let mut r = logits.clone();
    for mut row in r.row_iter_mut() {
        let highest = row.max();
        row.apply(|x| *x = (*x - highest).exp());
        let total = row.sum();
        row /= total;
    }
    r
}

fn inverse(matrix: &DMatrix<f64>) -> DMatrix<f64> {
    matrix.clone().try_inverse().expect("a scale of full rank")
}

fn ln_determinant(matrix: &DMatrix<f64>) -> f64 {
    let lower = matrix
        .clone()
        .cholesky()
        .expect("positive definite")
        .unpack();
    2.0 * lower.diagonal().iter().map(|x| x.ln()).sum::<f64>()
}
