//! The laws themselves: they accept a correct potential and refuse subtly wrong ones.

use super::*;
use crate::Result;
use crate::family::Dirichlet;

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
