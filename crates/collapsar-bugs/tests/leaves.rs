//! What no datum depends on is left out of the fit, and predicted from its parents.

mod common;

use collapsar::graph::Demands;
use collapsar_bugs::{Posterior, Summary};
use common::{best_bound, climb, compiled, data, prepared};

/// Rows by name and the bound.
fn fitted(text: &str, numbers: &str, names: &[&str]) -> (Vec<Summary>, f64, usize) {
    let prepared = prepared(text, data(numbers));
    let model = prepared.compile(&Demands::default()).expect("a choice");
    let fit = climb(&model, 1, 1e-13);
    let variational = model.variational_posterior(&fit.point);
    let posterior = Posterior {
        prepared: &prepared,
        variational: &variational,
        response: None,
        weighted: None,
        share: 1.0,
        seed: 1,
    };
    let all = prepared.quantities().expect("quantities");
    let of = |name: &&str| {
        let found = all.iter().find(|quantity| quantity.to_string() == **name);
        found.unwrap_or_else(|| panic!("no {name}")).clone()
    };
    let asked: Vec<_> = names.iter().map(of).collect();
    let (rows, draws) = posterior.summaries(&asked).expect("rows");
    (rows, fit.point.bound, draws)
}

fn near(name: &str, found: f64, expected: f64, error: f64) {
    assert!(
        (found - expected).abs() <= error,
        "{name}: {found}, expected {expected}"
    );
}

/// The example of docs/language.md: a fourth number that is missing changes nothing.
#[test]
fn a_missing_number_changes_neither_bound_nor_parameters() {
    let text = "model { for (i in 1:N) { y[i] ~ dgamma(2, b) }; b ~ dgamma(1, 1) }";
    let (rows, bound, _) = fitted(text, "N=3; y=1 2 3", &["b"]);
    let (more, same, draws) = fitted(text, "N=4; y=1 NA 2 3", &["b", "y[2]"]);
    near("bound", same, bound, 1e-12);
    near("b", more[0].mean, rows[0].mean, 1e-12);
    near("sd of b", more[0].sd, rows[0].sd, 1e-12);
    // b is gamma(7, 7): E[y] = 2 E[1/b] = 2 * 7/6, E[y²] = 6 E[1/b²] = 6 * 49/30.
    let (mean, square): (f64, f64) = (7.0 / 3.0, 9.8);
    let sd = (square - mean * mean).sqrt();
    assert_eq!(draws, 4000);
    near(
        "mean of y[2]",
        more[1].mean,
        mean,
        5.0 * sd / 4000_f64.sqrt(),
    );
    near("sd of y[2]", more[1].sd, sd, 0.1 * sd);
}

/// y = m + noise with a known precision is normal, and no draws are needed for it.
#[test]
fn normal_predictions_are_exact() {
    let text = "model {
        for (i in 1:N) { y[i] ~ dnorm(a + b*x[i], 4) }
        a ~ dnorm(0, 1); b ~ dnorm(0, 1)
        line <- a + 3*b - 1
        next ~ dnorm(line, 2)
    }";
    let (rows, bound, draws) = fitted(
        text,
        "N=4; x=-1 0 1 3; y=0.5 1 2 NA",
        &["y[4]", "line", "next"],
    );
    assert_eq!(draws, 0);
    // The precision of (a, b) is I + 4 X'X = diag(13, 9), and 4 X'y = (14, 6).
    let (a, b) = (14.0 / 13.0, 6.0 / 9.0);
    let variance: f64 = 1.0 / 13.0 + 9.0 / 9.0;
    for (row, mean, variance) in [
        (rows[0], a + 3.0 * b, variance + 0.25),
        (rows[1], a + 3.0 * b - 1.0, variance),
        (rows[2], a + 3.0 * b - 1.0, variance + 0.5),
    ] {
        near("mean", row.mean, mean, 1e-12);
        near("sd", row.sd, variance.sqrt(), 1e-12);
        let high = mean + 1.959_963_984_540_054 * variance.sqrt();
        near("quantile", row.quantiles[2], high, 1e-9);
    }
    let fewer = "model {
        for (i in 1:N) { y[i] ~ dnorm(a + b*x[i], 4) }
        a ~ dnorm(0, 1); b ~ dnorm(0, 1)
    }";
    near(
        "bound",
        bound,
        best_bound(&compiled(fewer, data("N=3; x=-1 0 1; y=0.5 1 2"))),
        1e-12,
    );
}

/// Parents of predictions that have no other children are predictions too, and chains of them go on.
#[test]
fn leaves_of_leaves_are_left_out() {
    let text = "model {
        for (i in 1:3) { y[i] ~ dnorm(theta[i], 1); theta[i] ~ dnorm(mu, tau) }
        for (t in 2:40) { walk[t] ~ dnorm(walk[t-1], 1) }
        walk[1] ~ dnorm(mu, 1)
        mu ~ dnorm(0, 0.1); tau ~ dgamma(3, 1)
    }";
    let prepared = prepared(text, data("y=1 NA 3"));
    let predicted = prepared.predicted();
    let of = |name: &str| predicted.iter().find(|found| found.0 == name).map(|f| f.1);
    assert_eq!(of("y"), Some(1));
    assert_eq!(of("theta"), Some(1));
    assert_eq!(of("walk"), Some(40));
    assert_eq!(prepared.graph().variables(), 4);
    let (rows, _, _) = fitted(text, "y=1 NA 3", &["mu", "walk[40]"]);
    let sd = (rows[0].sd.powi(2) + 40.0).sqrt();
    near(
        "end of the walk",
        rows[1].mean,
        rows[0].mean,
        5.0 * sd / 4000_f64.sqrt(),
    );
    near("its sd", rows[1].sd, sd, 0.06 * sd);
}

/// What has no conjugate family may still be predicted.
#[test]
fn counts_are_predicted() {
    let text = "model {
        for (i in 1:4) { y[i] ~ dpois(l) }
        for (i in 1:4) { z[i] ~ dcat(p[]) }
        l ~ dgamma(2, 1); p[1:2] ~ ddirch(a[])
        k ~ dnegbin(0.25, 3); u ~ dunif(2, 4); s ~ dgamma(3, 2); c ~ dcat(q[])
        w ~ dnorm(m[z[3]], 100)
    }";
    let numbers = "y=3 5 NA 4; z=1 1 NA 2; a=1 1; q=1 2 1; m=0 10";
    let names = ["y[3]", "z[3]", "k", "u", "s", "c", "w"];
    let (rows, _, _) = fitted(text, numbers, &names);
    // l is gamma(14, 4), p[2] is beta(2, 3).
    let expected = [
        (3.5, (3.5 + 14.0 / 16.0_f64).sqrt()),
        (1.4, 0.24_f64.sqrt()),
        (9.0, 6.0),
        (3.0, (4.0 / 12.0_f64).sqrt()),
        (1.5, 0.75_f64.sqrt()),
        (2.0, 0.5_f64.sqrt()),
        (4.0, (24.0 + 0.01_f64).sqrt()),
    ];
    for ((name, row), (mean, sd)) in names.iter().zip(&rows).zip(expected) {
        near(name, row.mean, mean, 5.0 * sd / 4000_f64.sqrt());
        near(name, row.sd, sd, 0.1 * sd);
    }
    // With constant parameters there is nothing to draw.
    near("s", rows[4].mean, 1.5, 1e-12);
    near("c", rows[5].mean, 2.0, 1e-12);
    assert_eq!(rows[5].quantiles, [1.0, 2.0, 3.0]);
}

/// Labels of one line stay rows when some of their data are missing, and bounds those of all states.
#[test]
fn labels_of_missing_data_stay() {
    let text = "model {
        for (i in 1:N) { z[i] ~ dcat(pi[]); y[i] ~ dnorm(mu[z[i]], 1) }
        pi[1:2] ~ ddirch(a[])
    }";
    let (rows, bound, _) = fitted(
        text,
        "N=4; y=-2.2 NA 2.5 1.8; a=1 2; mu=-2 2",
        &["pi[1]", "z[2]", "y[2]"],
    );
    assert!(bound.is_finite());
    let share = 2.0 - rows[1].mean;
    near("z[2]", share, rows[0].mean, 0.05);
    near(
        "y[2]",
        rows[2].mean,
        -2.0 * share + 2.0 * (1.0 - share),
        0.2,
    );
}

/// A model without any datum is fitted whole.
#[test]
fn priors_alone_are_fitted() {
    let prepared = prepared("model { x ~ dnorm(m, 1); m ~ dnorm(2, 1) }", data(""));
    assert!(prepared.predicted().is_empty());
    assert_eq!(prepared.graph().variables(), 2);
}

/// Multiples of one number need no draws, and states pick numbers draw by draw.
#[test]
fn multiples_are_exact_and_states_pick() {
    let text = "model {
        for (i in 1:3) { y[i] ~ dpois(l) }
        for (i in 1:4) { x[i] ~ dcat(p[]) }
        z ~ dcat(p[]); w ~ dnorm(m[z], 1)
        l ~ dgamma(2, 1); p[1:2] ~ ddirch(a[])
        three <- 3*l; other <- 1 - p[1]; picked <- m[z]; twice <- p[z] + n[z,2]
    }";
    let numbers = "y=3 5 4; x=1 1 1 2; w=1; a=1 1; m=0 2; n[2,2]=1 2 3 4";
    let names = ["l", "three", "p[2]", "other", "z", "picked", "twice"];
    let (rows, _, _) = fitted(text, numbers, &names);
    for (a, b, c) in [(0, 1, 3.0), (2, 3, 1.0)] {
        near("mean", rows[b].mean, c * rows[a].mean, 1e-12);
        near("sd", rows[b].sd, c * rows[a].sd, 1e-12);
        near("high", rows[b].quantiles[2], c * rows[a].quantiles[2], 1e-9);
    }
    // m[z] is 2z − 2.
    near("picked", rows[5].mean, 2.0 * rows[4].mean - 2.0, 0.1);
    assert!(rows[6].mean > 2.0 && rows[6].mean < 5.0);
    let prepared = prepared(text, data(numbers));
    let model = prepared.compile(&Demands::default()).expect("a choice");
    let fit = climb(&model, 1, 1e-13);
    let variational = model.variational_posterior(&fit.point);
    let posterior = Posterior {
        prepared: &prepared,
        variational: &variational,
        response: None,
        weighted: None,
        share: 1.0,
        seed: 1,
    };
    let all = prepared.quantities().expect("quantities");
    let draws = posterior.draws(&all, 0..50).expect("draws");
    let of = |name: &str| {
        &draws[all
            .iter()
            .position(|q| q.to_string() == name)
            .expect("a name")]
    };
    for draw in 0..50 {
        let z = of("z")[draw];
        assert_eq!(of("picked")[draw], 2.0 * z - 2.0);
        let share = of(&format!("p[{z}]"))[draw];
        assert_eq!(of("twice")[draw], share + 2.0 * z);
    }
}
