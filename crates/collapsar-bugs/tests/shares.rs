//! Shares of exponentials are log odds: negative binomial counts by their means, and choices between two.

mod common;

use common::{best_bound, compiled, data};

const COUNTS: &str = "y=0 3 1 7 2; x=-1 0 0.5 2 1";

/// p = r/(r + mu) with ln mu linear is a logit with the predictor ln r - ln mu.
#[test]
fn size_over_size_and_mean() {
    let text = |p: &str| {
        format!(
            "model {{ for (i in 1:5) {{ y[i] ~ dnegbin(p[i], 2.5)\n {p} }}\n a ~ dnorm(0, 0.1); b ~ dnorm(0, 0.1) }}"
        )
    };
    let spellings = [
        "logit(p[i]) <- log(2.5) - a - b*x[i]",
        "log(mu[i]) <- a + b*x[i]; p[i] <- 2.5/(2.5 + mu[i])",
        "mu[i] <- exp(a + b*x[i]); p[i] <- 2.5/(mu[i] + 2.5)",
        "log(mu[i]) <- a + b*x[i]; p[i] <- 1 - mu[i]/(mu[i] + 2.5)",
        "log(mu[i]) <- a + b*x[i]; p[i] <- 5/(2*(mu[i] + 2.5))",
        "log(mu[i]) <- a + b*x[i]; p[i] <- exp(log(2.5))/(exp(log(2.5)) + mu[i])",
    ];
    let bounds = spellings.map(|p| best_bound(&compiled(&text(p), data(COUNTS))));
    for (bound, spelling) in bounds.iter().zip(spellings) {
        let error = (bound - bounds[0]).abs();
        assert!(error < 1e-9, "{spelling}: {bound} {}", bounds[0]);
    }
}

/// The size is put on a grid, and zeros beyond what it explains may have a label.
#[test]
fn unknown_size() {
    let text = "model { for (i in 1:5) { y[i] ~ dnegbin(p[i], r)\n p[i] <- r/(r + (1 - z[i])*mu[i]) - 1.0E-10*z[i]
        z[i] ~ dbern(w)\n log(mu[i]) <- a + b*x[i] }
        a ~ dnorm(0, 0.1); b ~ dnorm(0, 0.1); w ~ dbeta(1, 1); r ~ dunif(0, 50) }";
    assert!(best_bound(&compiled(text, data(COUNTS))).is_finite());
}

/// One of two exponentials, divided by their sum.
#[test]
fn choices_between_two() {
    let text = |p: &str| {
        format!(
            "model {{ for (i in 1:5) {{ y[i] ~ dbern(p[i])\n {p} }}\n a ~ dnorm(0, 0.1); b ~ dnorm(0, 0.1) }}"
        )
    };
    let spellings = [
        "logit(p[i]) <- a*x[i] - b*v[i]",
        "p[i] <- exp(a*x[i])/(exp(a*x[i]) + exp(b*v[i]))",
        "q[i] <- exp(b*v[i])/(exp(a*x[i]) + exp(b*v[i])); p[i] <- 1 - q[i]",
    ];
    let choices = "y=0 1 1 0 1; x=-1 0.2 0.5 2 1; v=0.3 -0.7 1.1 0.4 2";
    let bounds = spellings.map(|p| best_bound(&compiled(&text(p), data(choices))));
    for (bound, spelling) in bounds.iter().zip(spellings) {
        let error = (bound - bounds[0]).abs();
        assert!(error < 1e-9, "{spelling}: {bound} {}", bounds[0]);
    }
}

/// Three grids of one line have no more nodes than can be summed over together.
#[test]
fn three_grids_stay_coarse() {
    let text =
        "model { for (i in 1:4) { y[i] ~ dnorm(m[i], 4)\n m[i] <- pow(c, x[i])*exp(-k*x[i])/(1 + d*x[i]) }
        c ~ dunif(0, 10); k ~ dunif(0, 10); d ~ dunif(0, 10) }";
    let data = data("y=2.1 1.2 0.9 0.3; x=0 1 2 3");
    assert!(best_bound(&compiled(text, data)).is_finite());
}

/// One of three exponentials, divided by their sum: spellings agree, and the bound is below the evidence by quadrature.
#[test]
fn choices_between_three() {
    let text = |p: &str| {
        format!(
            "model {{ for (i in 1:4) {{ y[i] ~ dcat(p[i, 1:3])\n for (k in 1:3) {{ {p} }} }}
            e[1] <- 0; e[2] <- a; e[3] <- b; a ~ dnorm(0, 0.5); b ~ dnorm(0, 0.5) }}"
        )
    };
    let spellings = [
        "p[i, k] <- phi[i, k]/sum(phi[i, 1:3]); log(phi[i, k]) <- e[k]*x[i]",
        "p[i, k] <- exp(e[k]*x[i])/sum(exp(e[1:3]*x[i]))",
        "p[i, k] <- exp(e[k]*x[i])/(1 + exp(a*x[i]) + exp(b*x[i]))",
    ];
    let (y, x) = ([1, 2, 3, 2], [0.5, 1.0, 2.0, 1.5]);
    let choices = "y=1 2 3 2; x=0.5 1 2 1.5";
    let bounds = spellings.map(|p| best_bound(&compiled(&text(p), data(choices))));
    for (bound, spelling) in bounds.iter().zip(spellings) {
        let error = (bound - bounds[0]).abs();
        assert!(error < 1e-8, "{spelling}: {bound} {}", bounds[0]);
    }
    let step = 0.05;
    let mut evidence = 0.0;
    for i in -200..=200 {
        for j in -200..=200 {
            let e = [0.0, f64::from(i) * step, f64::from(j) * step];
            let mut ln = (0.5 / std::f64::consts::TAU).ln() - 0.25 * (e[1] * e[1] + e[2] * e[2]);
            for (state, x) in y.iter().zip(x) {
                let whole: f64 = e.iter().map(|e| (e * x).exp()).sum();
                ln += e[state - 1] * x - whole.ln();
            }
            evidence += ln.exp() * step * step;
        }
    }
    let below = evidence.ln() - bounds[0];
    assert!(
        (0.0..2.0).contains(&below),
        "{} {}",
        evidence.ln(),
        bounds[0]
    );
}

/// A table that would take too long is refused by its roots, at once.
#[test]
fn tables_that_are_too_large() {
    let text = "model { for (i in 1:N) { y[i] ~ dbeta(mu[i]*phi, (1 - mu[i])*phi)\n logit(mu[i]) <- b0 + b1*x[i] }
        b0 ~ dnorm(0, 0.1); b1 ~ dnorm(0, 0.1); phi ~ dgamma(0.1, 0.1) }";
    let count = 2000;
    let mut numbers = data("N=2000");
    let x: Vec<f64> = (0..count).map(|i| f64::from(i % 17) / 17.0).collect();
    let y: Vec<f64> = x.iter().map(|x| 0.2 + 0.5 * x).collect();
    common::put(&mut numbers, "x", &[count as usize], &x);
    common::put(&mut numbers, "y", &[count as usize], &y);
    let model = collapsar_bugs::Model::parse(text).expect("a model");
    let refusal = model.with(numbers).expect_err("too many combinations");
    assert_eq!(
        refusal.message,
        "y[1] is derived for 18432 combinations of nodes of b0, b1 and phi, 2000 times over, which takes too long"
    );
}
