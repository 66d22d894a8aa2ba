//! Draws from q have the means and deviations that q is said to have, and computed lines follow them.

mod common;
mod models;

use collapsar::graph::PosteriorMarginal;
use collapsar_bugs::{Origin, Posterior};
use common::{climb, data, marginals, prepared};
use models::MODELS;

const DRAWS: usize = 4000;

/// Mean and standard deviation, where there are both, with labels counted from `lowest`.
fn moments(marginal: &PosteriorMarginal, lowest: f64) -> Option<(f64, f64)> {
    let (mean, sd) = match marginal {
        PosteriorMarginal::Closed(marginal) => (marginal.mean(), marginal.sd()),
        PosteriorMarginal::Moments { mean, sd } => (*mean, *sd),
        PosteriorMarginal::States(states) => {
            let mean = |power: i32| -> f64 {
                let values =
                    (states.iter().enumerate()).map(|(k, p)| p * (lowest + k as f64).powi(power));
                values.sum()
            };
            (mean(1), (mean(2) - mean(1).powi(2)).max(0.0).sqrt())
        }
    };
    (mean.is_finite() && sd.is_finite()).then_some((mean, sd))
}

#[test]
fn draws_have_the_moments_of_beliefs() {
    let mut compared = 0;
    for (name, text, numbers) in MODELS {
        let prepared = prepared(text, data(numbers));
        let model = prepared.compile(&collapsar::graph::Demands::default());
        let model = model.expect("a choice");
        let fit = climb(&model, 1, 1e-9);
        let variational = model.variational_posterior(&fit.point);
        let marginals = marginals(&prepared, &variational);
        let quantities = prepared.quantities().expect("quantities");
        let posterior = Posterior {
            prepared: &prepared,
            variational: &variational,
            response: None,
            weighted: None,
            share: 1.0,
            seed: 7,
        };
        let draws = posterior.draws(&quantities, 0..DRAWS).expect("draws");
        let moment = |power: i32| -> Vec<f64> {
            let of = |values: &Vec<f64>| {
                let powers = values.iter().map(|value| value.powi(power));
                powers.sum::<f64>() / DRAWS as f64
            };
            draws.iter().map(of).collect()
        };
        let (sums, squares) = (moment(1), moment(2));
        for (place, quantity) in quantities.iter().enumerate() {
            let lowest = match quantity.origin {
                Origin::Label(_, lowest) => f64::from(lowest),
                _ => 0.0,
            };
            let Some(marginal) = marginals.get(&quantity.to_string()) else {
                assert!(sums[place].is_finite(), "{name}: {quantity}");
                continue;
            };
            let Some((mean, sd)) = moments(marginal, lowest) else {
                continue;
            };
            compared += 1;
            // Five standard errors of a mean, and three more for heavy tails; deviations of heavy
            // tails are known to some tenths only.
            let error = 8.0 * sd / (DRAWS as f64).sqrt() + 1e-9;
            let found = (squares[place] - sums[place].powi(2)).max(0.0).sqrt();
            assert!(
                (sums[place] - mean).abs() <= error,
                "{name}: {} has mean {mean}, draws {} ({marginal:?})",
                quantity,
                sums[place]
            );
            // A rare state may never be drawn.
            let rare = matches!(marginal, PosteriorMarginal::States(_)) && sd < 0.1;
            assert!(
                rare || (found - sd).abs() <= 0.5 * sd + 1e-9,
                "{name}: {quantity} has deviation {sd}, draws {found} ({marginal:?})"
            );
        }
    }
    assert!(compared > 250, "{compared}");
}

/// Lines that are computed from what is drawn: elements of matrices, labels, sums and products.
#[test]
fn computed_lines_follow_the_draws() {
    let text = "model {
        for (n in 1:4) { z[n] ~ dcat(pi[]); y[n,1:2] ~ dmnorm(mu[z[n],], Lambda[z[n],,]) }
        pi[1:2] ~ ddirch(a[])
        for (k in 1:2) {
          mu[k,1:2] ~ dmnorm(m[], 0.3 * Lambda[k,,])
          Lambda[k,1:2,1:2] ~ dwish(R[,], 3)
          Sigma[k,1:2,1:2] <- inverse(Lambda[k,,])
        }
        first <- mu[z[1],2]
        ratio <- pi[1] / pi[2]
        cross <- mu[1,1] * mu[2,2] - mu[1,2] * mu[2,1]
        unit <- Lambda[2,1,1] * Sigma[2,1,2] + Lambda[2,1,2] * Sigma[2,2,2]
    }";
    let numbers = "y[4,2]=1 2 1.3 2.2 3 1 3.3 0.2; a=1 2; m=1 1; R[2,2]=2 0.3 0.3 1";
    let prepared = prepared(text, data(numbers));
    let model = prepared.compile(&collapsar::graph::Demands::default());
    let model = model.expect("a choice");
    let fit = climb(&model, 1, 1e-9);
    let variational = model.variational_posterior(&fit.point);
    let quantities = prepared.quantities().expect("quantities");
    let posterior = Posterior {
        prepared: &prepared,
        variational: &variational,
        response: None,
        weighted: None,
        share: 1.0,
        seed: 7,
    };
    let draws = posterior.draws(&quantities, 0..20).expect("draws");
    for draw in 0..20 {
        let of = |name: &str| {
            let place = quantities.iter().position(|q| q.to_string() == name);
            draws[place.unwrap_or_else(|| panic!("no {name}"))][draw]
        };
        let near =
            |a: f64, b: f64| assert!((a - b).abs() <= 1e-9 * b.abs().max(1.0), "{a} and {b}");
        assert_eq!(of("first"), of(&format!("mu[{},2]", of("z[1]"))));
        near(of("pi[1]") + of("pi[2]"), 1.0);
        near(of("ratio"), of("pi[1]") / of("pi[2]"));
        near(
            of("cross"),
            of("mu[1,1]") * of("mu[2,2]") - of("mu[1,2]") * of("mu[2,1]"),
        );
        assert_eq!(of("Lambda[2,1,2]"), of("Lambda[2,2,1]"));
        near(of("unit"), 0.0);
    }
}

/// Draws of a number are the same whatever else is asked for, and wherever one begins.
#[test]
fn draws_do_not_depend_on_what_else_is_asked_for() {
    let text = "model {
        for (i in 1:N) { y[i] ~ dnorm(mu, tau) }
        mu ~ dnorm(0, 0.01); tau ~ dgamma(1, 1); phi ~ dgamma(2, 1)
        sigma <- 1/sqrt(tau); both <- mu * sigma; next <- y[4] + phi
    }";
    let prepared = prepared(text, data("N=4; y=1 2 4 NA"));
    let model = prepared.compile(&collapsar::graph::Demands::default());
    let model = model.expect("a choice");
    let fit = climb(&model, 1, 1e-9);
    let variational = model.variational_posterior(&fit.point);
    let posterior = Posterior {
        prepared: &prepared,
        variational: &variational,
        response: None,
        weighted: None,
        share: 1.0,
        seed: 3,
    };
    let quantities = prepared.quantities().expect("quantities");
    let all = posterior.draws(&quantities, 0..1200).expect("draws");
    for (quantity, all) in quantities.iter().zip(&all) {
        let alone = std::slice::from_ref(quantity);
        for range in [0..1200, 500..1000, 707..1105] {
            let some = posterior.draws(alone, range.clone()).expect("draws");
            assert_eq!(some[0], all[range], "{quantity}");
        }
    }
}
