//! The laws themselves: they accept a correct potential and refuse subtly wrong ones.

use super::*;
use crate::family::{Categorical, Dirichlet};
use crate::{Collapsed, Result};

/// A Dirichlet log-partition function with one mistake.
struct Wrong {
    gradient: f64,
    product: f64,
    asymmetry: f64,
    sign: f64,
}

const RIGHT: Wrong = Wrong {
    gradient: 0.0,
    product: 0.0,
    asymmetry: 0.0,
    sign: 1.0,
};
const AT: [f64; 3] = [0.3, 2.0, 50.0];
const ALONG: [f64; 3] = [0.1, -0.5, 4.0];
const OTHER: [f64; 3] = [-0.2, 0.3, 1.0];

impl Potential for Wrong {
    fn dim(&self) -> usize {
        3
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let value = Dirichlet::new(3).value_and_gradient(at, gradient)?;
        gradient[1] += self.gradient;
        Ok(value)
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        Dirichlet::new(3).hessian_product(at, along, out)?;
        out[1] += self.product * along[1] + self.asymmetry * along[0];
        for o in out {
            *o *= self.sign;
        }
        Ok(())
    }
}

#[test]
fn the_right_potential_conforms() {
    for seed in 0..20 {
        conforms(&RIGHT, &AT, seed).expect("a Dirichlet conforms");
    }
}

// A mistake shows where it is larger than the second-order error at the smallest step that clears
// rounding, which here is about a millionth: ten times that must be noticed.
#[test]
fn a_wrong_gradient_is_noticed() {
    let wrong = Wrong {
        gradient: 1e-5,
        ..RIGHT
    };
    let message = gradient_is_slope(&wrong, &AT, &ALONG).expect_err("the gradient is wrong");
    assert!(
        message.starts_with("gradient is the slope of the value: "),
        "{message}"
    );
}

#[test]
fn a_wrong_product_is_noticed() {
    let wrong = Wrong {
        product: 1e-5,
        ..RIGHT
    };
    hessian_is_slope(&wrong, &AT, &ALONG).expect_err("the product is wrong");
}

#[test]
fn an_asymmetric_product_is_noticed() {
    let wrong = Wrong {
        asymmetry: 1e-5,
        ..RIGHT
    };
    hessian_is_symmetric(&wrong, &AT, &ALONG, &OTHER).expect_err("the product is asymmetric");
}

#[test]
fn a_negative_product_is_noticed() {
    let wrong = Wrong {
        sign: -1.0,
        ..RIGHT
    };
    hessian_is_nonnegative(&wrong, &AT, &ALONG).expect_err("the product is negative");
}

#[test]
fn a_point_outside_the_domain_is_reported() {
    let message = conforms(&RIGHT, &[-1.0, 1.0, 1.0], 0).expect_err("outside the domain");
    assert!(message.starts_with("Dirichlet block"), "{message}");
}

/// Labels of equal data with a Dirichlet prior, and mistakes in the collapsed function.
struct WrongModel {
    local: Labels,
    posterior: Collapsing,
}

struct Labels;
struct Collapsing {
    wrong: Wrong,
    by_thread: f64,
}

impl Potential for Labels {
    fn dim(&self) -> usize {
        3
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let value = Categorical::new(3).value_and_gradient(at, gradient)?;
        for g in gradient {
            *g *= 20.0;
        }
        Ok(20.0 * value)
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        Categorical::new(3).hessian_product(at, along, out)?;
        for o in out {
            *o *= 20.0;
        }
        Ok(())
    }
}

impl Potential for Collapsing {
    fn dim(&self) -> usize {
        3
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let at: Vec<f64> = at.iter().map(|t| 0.5 + t).collect();
        let value = self.wrong.value_and_gradient(&at, gradient)?;
        Ok(value + self.by_thread * rayon::current_num_threads() as f64)
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        let at: Vec<f64> = at.iter().map(|t| 0.5 + t).collect();
        self.wrong.hessian_product(&at, along, out)
    }
}

impl Collapsed for WrongModel {
    type Local = Labels;
    type Posterior = Collapsing;

    fn local(&self) -> &Labels {
        &self.local
    }

    fn posterior(&self) -> &Collapsing {
        &self.posterior
    }

    fn constant(&self) -> f64 {
        0.0
    }

    fn fingerprint(&self) -> String {
        "labels".to_owned()
    }
}

fn model_with(wrong: Wrong, by_thread: f64) -> WrongModel {
    WrongModel {
        local: Labels,
        posterior: Collapsing { wrong, by_thread },
    }
}

const MESSAGES: [f64; 3] = [0.3, -0.4, 0.9];

#[test]
fn the_right_model_conforms() {
    let right = model_with(RIGHT, 0.0);
    for seed in 0..20 {
        model::conforms(&right, &MESSAGES, seed).expect("a Dirichlet of labels conforms");
    }
    model::threads_do_not_matter(&right, &MESSAGES).expect("no sums");
    model::rules_agree_on_stationarity(&right, &MESSAGES).expect("one optimum");
    for direction in crate::Direction::ALL {
        model::never_falls(&right, direction, &MESSAGES).expect("no fall");
    }
}

#[test]
fn a_wrong_model_is_noticed() {
    let gradient = model_with(
        Wrong {
            gradient: 1e-4,
            ..RIGHT
        },
        0.0,
    );
    model::gradient_is_slope_of_bound(&gradient, &MESSAGES, &OTHER).expect_err("wrong gradient");
    model::potentials_conform(&gradient, &MESSAGES, 1).expect_err("wrong gradient");
    // Seen by the curvature alone: ten times its tolerance, in Fisher units of about one.
    let product = model_with(
        Wrong {
            product: 1e-3,
            ..RIGHT
        },
        0.0,
    );
    model::curvature(&product, &MESSAGES, &OTHER).expect_err("wrong product");
    model::gradient_has_curvature(&product, &MESSAGES, &OTHER).expect_err("wrong product");
    model::gradient_is_slope_of_bound(&product, &MESSAGES, &OTHER).expect("right gradient");
    // A target that moves away from the posterior's mean lowers the bound.
    let target = model_with(
        Wrong {
            gradient: 3.0,
            ..RIGHT
        },
        0.0,
    );
    model::vbem_step_cannot_fall(&target, &MESSAGES).expect_err("wrong target");
    model::rules_agree_on_stationarity(&target, &MESSAGES).expect_err("no stationary point");
    let threads = model_with(RIGHT, 1e-9);
    model::threads_do_not_matter(&threads, &MESSAGES).expect_err("depends on threads");
}
