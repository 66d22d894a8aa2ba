//! Scalars in places that no family takes: evidence by quadrature, errors that hold, and counts that are summed.

mod common;

use std::sync::atomic::AtomicBool;

use collapsar::graph::Demands;
use collapsar::special::{beta_cdf, ln_beta, ln_gamma, log_sum_exp};
use collapsar_bugs::{ChainOptions, ChainStart, Model, Origin, Posterior, Prepared, Summary};
use common::{best_bound, climb, data, prepared};

/// The logarithm of the integral of exp f from a to b, by Simpson's rule.
fn ln_integral(a: f64, b: f64, f: impl Fn(f64) -> f64) -> f64 {
    let n = 20_000_u32;
    let h = (b - a) / f64::from(n);
    let terms = (0..=n).map(|k| {
        let weight: f64 = match k {
            0 => 1.0,
            k if k == n => 1.0,
            k if k % 2 == 1 => 4.0,
            _ => 2.0,
        };
        f(a + f64::from(k) * h) + (weight * h / 3.0).ln()
    });
    log_sum_exp(&terms.collect::<Vec<_>>())
}

/// Mean and deviation under a density.
fn moments(a: f64, b: f64, f: impl Fn(f64) -> f64) -> (f64, f64) {
    let total = ln_integral(a, b, &f);
    let mean = a + ln_integral(a, b, |x| f(x) + (x - a).max(1e-300).ln() - total).exp();
    let square = ln_integral(a, b, |x| {
        f(x) + 2.0 * (x - mean).abs().max(1e-300).ln() - total
    });
    (mean, (0.5 * square).exp())
}

/// What is told of a number by a fit of the whole.
fn summary(prepared: &Prepared, name: &str) -> Summary {
    let model = prepared.compile(&Demands::default()).expect("a choice");
    let fit = climb(&model, 1, 1e-12);
    let variational = model.variational_posterior(&fit.point);
    let response = model.linear_response(&fit.point).ok();
    let posterior = Posterior {
        prepared,
        variational: &variational,
        response: response.as_ref(),
        weighted: None,
        share: 1.0,
        seed: 1,
    };
    let quantities = prepared.quantities().expect("quantities");
    let of = quantities.iter().filter(|q| q.to_string() == name).cloned();
    posterior
        .summaries(&of.collect::<Vec<_>>())
        .expect("summaries")
        .0[0]
}

/// Checks evidence, mean and deviation of the only unknown of a model.
fn alone(text: &str, numbers: &str, name: &str, ends: (f64, f64), ln_joint: impl Fn(f64) -> f64) {
    let prepared = prepared(text, data(numbers));
    let grids = prepared.grids();
    let grid = grids.iter().find(|grid| grid.name == name).expect("a grid");
    assert!(grid.nodes <= 64, "{grid:?}");
    assert!(grid.error.is_some_and(|error| error < 1e-4), "{grid:?}");
    let model = prepared.compile(&Demands::default()).expect("a choice");
    let expected = ln_integral(ends.0, ends.1, &ln_joint);
    assert!(
        (best_bound(&model) - expected).abs() < 1e-6,
        "{} {expected}",
        best_bound(&model)
    );
    let found = summary(&prepared, name);
    let (mean, sd) = moments(ends.0, ends.1, &ln_joint);
    assert!(
        (found.mean - mean).abs() < 1e-5 * sd,
        "{found:?} {mean} {sd}"
    );
    assert!((found.sd / sd - 1.0).abs() < 1e-5, "{found:?} {sd}");
    let [low, median, high] = found.quantiles;
    for (quantile, probability) in [(low, 0.025), (median, 0.5), (high, 0.975)] {
        let below = (ln_integral(ends.0, quantile, &ln_joint) - expected).exp();
        assert!((below - probability).abs() < 2e-3, "{below} {probability}");
    }
}

const Y: [f64; 4] = [0.4, 1.3, 2.9, 0.8];

#[test]
fn shape_of_a_gamma() {
    let text = "model { for (i in 1:4) { y[i] ~ dgamma(a, 2) } a ~ dexp(0.5) }";
    alone(text, "y=0.4 1.3 2.9 0.8", "a", (1e-9, 40.0), |a| {
        let each = Y
            .iter()
            .map(|y| a * 2_f64.ln() - ln_gamma(a) + (a - 1.0) * y.ln() - 2.0 * y);
        0.5_f64.ln() - 0.5 * a + each.sum::<f64>()
    });
}

/// The logarithm of what a truncated beta density leaves under counts, and the mean of its probability then.
fn left(shapes: (f64, f64), counts: (f64, f64), upper: f64, normalised: bool) -> (f64, f64) {
    let within = |a: f64, b: f64| ln_beta(a, b) + beta_cdf(a, b, upper).ln();
    let (a, b) = shapes;
    let before = if normalised {
        within(a, b)
    } else {
        ln_beta(a, b)
    };
    let (a, b) = (a + counts.0, b + counts.1);
    (
        within(a, b) - before,
        (within(a + 1.0, b) - within(a, b)).exp(),
    )
}

/// Probabilities within bounds that only counts depend on have no nodes: they are summed out at each of those of their shapes, and drawn
/// afterwards.
#[test]
fn probabilities_within_bounds() {
    let counts = [(3.0, 2.0), (0.0, 4.0), (5.0, 1.0)];
    let ways = 10_f64.ln() + 6_f64.ln();
    for (bound, normalised) in [("T(,0.8)", true), ("I(,0.8)", false)] {
        let text = format!(
            "model {{ for (i in 1:3) {{ r[i] ~ dbin(p[i], n[i]); p[i] ~ dbeta(4*mu, 4*(1 - mu)) {bound} }}
               mu ~ dunif(0, 1); again ~ dbin(p[1], 9) }}"
        );
        let numbers = "r=3 0 5; n=5 4 6";
        let shapes = |mu: f64| (4.0 * mu, 4.0 * (1.0 - mu));
        let ln_joint = |mu: f64| {
            let each = counts.map(|counts| left(shapes(mu), counts, 0.8, normalised).0);
            ways + each.iter().sum::<f64>()
        };
        alone(&text, numbers, "mu", (1e-6, 1.0 - 1e-6), ln_joint);
        let expected = ln_integral(1e-6, 1.0 - 1e-6, |mu| {
            ln_joint(mu) + left(shapes(mu), counts[0], 0.8, normalised).1.ln()
        }) - ln_integral(1e-6, 1.0 - 1e-6, ln_joint);
        let found = summary(&prepared(&text, data(numbers)), "p[1]");
        // 4000 draws: four errors of the mean.
        assert!(
            (found.mean - expected.exp()).abs() < 0.065 * found.sd,
            "{found:?} {expected}"
        );
        assert!(found.quantiles[2] < 0.8);
        let again = summary(&prepared(&text, data(numbers)), "again");
        assert!(
            (again.mean - 9.0 * expected.exp()).abs() < 0.065 * again.sd,
            "{again:?}"
        );
    }
}

/// Single trials of one probability add up to counts.
#[test]
fn trials_of_probabilities_within_bounds() {
    let hyper =
        "for (j in 1:2) { p[j] ~ dbeta(4*mu, 4*(1 - mu)) T(0.01,0.99) }\n mu ~ dunif(0, 1) }";
    let single = format!("model {{ for (i in 1:7) {{ y[i] ~ dbern(p[g[i]]) }}\n {hyper}");
    let counted = format!("model {{ for (j in 1:2) {{ y[j] ~ dbin(p[j], n[j]) }}\n {hyper}");
    let single = prepared(&single, data("y=1 0 1 1 0 0 1; g=1 1 1 1 2 2 2"));
    let counted = prepared(&counted, data("y=3 1; n=4 3"));
    let bound =
        |prepared: &Prepared| best_bound(&prepared.compile(&Demands::default()).expect("a choice"));
    let ways = 4_f64.ln() + 3_f64.ln();
    assert!((bound(&counted) - bound(&single) - ways).abs() < 1e-9);
}

#[test]
fn shapes_of_a_beta_and_a_size() {
    let text = "model { for (i in 1:3) { y[i] ~ dbeta(s, 2) } s ~ dunif(0, 20) }";
    let y = [0.3_f64, 0.45, 0.7];
    alone(text, "y=0.3 0.45 0.7", "s", (1e-9, 20.0), |s| {
        let each = y
            .iter()
            .map(|y| (s - 1.0) * y.ln() + (-y).ln_1p() - ln_beta(s, 2.0));
        -(20_f64.ln()) + each.sum::<f64>()
    });
    let text = "model { for (i in 1:3) { y[i] ~ dnegbin(0.4, r) } r ~ dgamma(2, 0.5) }";
    let y = [2.0, 5.0, 1.0];
    alone(text, "y=2 5 1", "r", (1e-9, 80.0), |r| {
        let each = y.iter().map(|y| {
            ln_gamma(y + r) - ln_gamma(r) - ln_gamma(y + 1.0) + r * 0.4_f64.ln() + y * 0.6_f64.ln()
        });
        2.0 * 0.5_f64.ln() + r.ln() - 0.5 * r + each.sum::<f64>()
    });
}

#[test]
fn rates_inside_functions() {
    let text = "model { for (i in 1:4) { y[i] ~ dnorm(3*exp(-k*x[i]), 4) } k ~ dnorm(0, 1) }";
    let (x, y) = ([0.5, 1.0, 2.0, 4.0], [2.2, 1.9, 1.0, 0.4]);
    alone(
        text,
        "x=0.5 1 2 4; y=2.2 1.9 1.0 0.4",
        "k",
        (-2.0, 9.0),
        |k: f64| {
            let normal = |r: f64, p: f64| 0.5 * (p / std::f64::consts::TAU).ln() - 0.5 * p * r * r;
            let each = x
                .iter()
                .zip(&y)
                .map(|(x, y)| normal(y - 3.0 * (-k * x).exp(), 4.0));
            normal(k, 1.0) + each.sum::<f64>()
        },
    );
}

#[test]
fn shape_of_a_weibull() {
    let text = "model { for (i in 1:4) { y[i] ~ dweib(v, 0.7) } v ~ dgamma(1, 0.1) }";
    alone(text, "y=0.4 1.3 2.9 0.8", "v", (1e-9, 60.0), |v| {
        let each = Y
            .iter()
            .map(|y| (v * 0.7).ln() + (v - 1.0) * y.ln() - 0.7 * y.powf(v));
        0.1_f64.ln() - 0.1 * v + each.sum::<f64>()
    });
}

#[test]
fn a_narrow_posterior_under_a_wide_prior() {
    let text = "model { for (i in 1:2) { y[i] ~ dnorm(pow(b, 3), 1.0E6) } b ~ dunif(-1000, 1000) }";
    alone(text, "y=27.001 27.002", "b", (2.99, 3.01), |b| {
        let normal = |r: f64, p: f64| 0.5 * (p / std::f64::consts::TAU).ln() - 0.5 * p * r * r;
        let each = [27.001, 27.002].iter().map(|y| normal(y - b.powi(3), 1e6));
        -(2000_f64.ln()) + each.sum::<f64>()
    });
}

#[test]
fn a_family_and_a_grid_agree() {
    let text = |precision: &str| {
        format!("model {{ for (i in 1:4) {{ y[i] ~ dnorm(1, {precision}) }} tau ~ dgamma(3, 2) }}")
    };
    let conjugate = prepared(&text("tau"), data("y=0.4 1.3 2.9 0.8"));
    let forced = prepared(&text("exp(log(tau))"), data("y=0.4 1.3 2.9 0.8"));
    assert!(conjugate.grids().is_empty() && forced.grids().len() == 1);
    let bound = |of: &Prepared| best_bound(&of.compile(&Demands::default()).expect("a choice"));
    assert!((bound(&conjugate) - bound(&forced)).abs() < 1e-5);
    let (a, b) = (summary(&conjugate, "tau"), summary(&forced, "tau"));
    assert!((a.mean - b.mean).abs() < 1e-4 * a.sd, "{a:?} {b:?}");
    assert!((a.sd / b.sd - 1.0).abs() < 1e-4, "{a:?} {b:?}");
    for (a, b) in a.quantiles.iter().zip(&b.quantiles) {
        assert!((a - b).abs() < 5e-3 * a, "{a} {b}");
    }
}

/// Rates of ten machines, by counts over times.
const RATES: &str = "model {
    for (i in 1:10) { theta[i] ~ dgamma(alpha, beta); x[i] ~ dpois(theta[i]*t[i]) }
    alpha ~ dexp(1.0); beta ~ dgamma(0.5, 1.0) }";
const TIMES: [f64; 10] = [80.0, 12.0, 55.0, 100.0, 6.0, 30.0, 2.0, 1.5, 3.0, 10.0];
const COUNTS: [f64; 10] = [6.0, 1.0, 4.0, 15.0, 2.0, 17.0, 1.0, 2.0, 5.0, 21.0];

fn rates() -> Prepared {
    let list = |numbers: &[f64]| {
        numbers
            .iter()
            .map(f64::to_string)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let numbers = format!("t={}; x={}", list(&TIMES), list(&COUNTS));
    prepared(RATES, data(&numbers))
}

/// With the rates integrated out, the density of alpha is an integral over ln beta.
fn ln_density_of_alpha(alpha: f64) -> f64 {
    ln_integral(-9.0, 4.0, |u: f64| {
        let beta = u.exp();
        let each = TIMES.iter().zip(&COUNTS).map(|(t, x)| {
            let rate = alpha * u - (alpha + x) * (beta + t).ln();
            ln_gamma(alpha + x) - ln_gamma(alpha) + rate
        });
        0.5 * u - beta - alpha + each.sum::<f64>()
    })
}

#[test]
fn exact_draws_of_a_shape_of_many_rates() {
    let prepared = rates();
    let model = prepared.compile(&Demands::default()).expect("a choice");
    let fit = climb(&model, 1, 1e-10);
    let quantities = prepared.quantities().expect("quantities");
    let options = ChainOptions {
        chains: 4,
        warmup: 500,
        draws: 5000,
        seed: 3,
    };
    let start = ChainStart::Point(&fit.point);
    let chains = prepared.chains(&model, start, &quantities, options, &AtomicBool::new(false));
    let draws = chains.expect("draws").expect("no interrupt");
    let place = quantities.iter().position(|q| q.to_string() == "alpha");
    let place = place.expect("alpha");
    let found = draws.estimates()[place];
    let alphas: Vec<f64> = (1..=160).map(|k| 0.02 * f64::from(k)).collect();
    let ln: Vec<f64> = alphas.iter().map(|a| ln_density_of_alpha(*a)).collect();
    let total = log_sum_exp(&ln);
    let each = || {
        alphas
            .iter()
            .zip(&ln)
            .map(|(a, ln)| (a, (ln - total).exp()))
    };
    let mean: f64 = each().map(|(a, p)| a * p).sum();
    let variance: f64 = each().map(|(a, p)| (a - mean).powi(2) * p).sum();
    let error = found.diagnostics.and_then(|of| of.mcse_mean);
    let error = error.expect("an error");
    assert!(
        (found.summary.mean - mean).abs() < 4.0 * error,
        "{found:?} {mean}"
    );
    assert!(
        (found.summary.sd / variance.sqrt() - 1.0).abs() < 0.1,
        "{found:?} {variance}"
    );
    // Draws are nodes.
    let Origin::Grid(label) = quantities[place].origin else {
        panic!("a grid");
    };
    let nodes = prepared.nodes(label).expect("nodes");
    assert!(draws.chains[0][place].iter().all(|a| nodes.contains(a)));
}

#[test]
fn threads_change_nothing() {
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("a pool").install(|| {
            let prepared = rates();
            let model = prepared.compile(&Demands::default()).expect("a choice");
            let fit = climb(&model, 1, 1e-10);
            (prepared.grids(), fit.point.bound.to_bits())
        })
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn bounds_of_a_beta() {
    let text = "model { r ~ dbin(p, 12); p ~ dbeta(0.7, 0.8) T(,0.9) }";
    alone(text, "r=9", "p", (1e-12, 0.9), |p: f64| {
        let ways = ln_gamma(13.0) - ln_gamma(10.0) - ln_gamma(4.0);
        let inside = beta_cdf(0.7, 0.8, 0.9).ln();
        ways + (9.0 - 0.3) * p.ln() + (3.0 - 0.2) * (-p).ln_1p() - ln_beta(0.7, 0.8) - inside
    });
}

#[test]
fn counts_are_summed() {
    let text = "model { N ~ dpois(20); for (t in 1:3) { y[t] ~ dbin(0.6, N) } }";
    let prepared = prepared(text, data("y=11 9 14"));
    let model = prepared.compile(&Demands::default()).expect("a choice");
    let ways = |n: f64, y: f64| ln_gamma(n + 1.0) - ln_gamma(y + 1.0) - ln_gamma(n - y + 1.0);
    let joint = |n: f64| {
        let seen = [11.0, 9.0, 14.0].iter();
        let seen = seen.map(|y| ways(n, *y) + y * 0.6_f64.ln() + (n - y) * 0.4_f64.ln());
        n * 20_f64.ln() - 20.0 - ln_gamma(n + 1.0) + seen.sum::<f64>()
    };
    let all: Vec<f64> = (14..400).map(|n| joint(f64::from(n))).collect();
    assert!((best_bound(&model) - log_sum_exp(&all)).abs() < 1e-8);
    let grids = prepared.grids();
    assert!(grids[0].nodes < 60 && grids[0].error.is_none(), "{grids:?}");
}

#[test]
fn zero_inflation() {
    let text = "model { for (i in 1:6) { z[i] ~ dbern(0.3); y[i] ~ dpois(lambda*z[i]) } lambda ~ dgamma(2, 1) }";
    let prepared = prepared(text, data("y=0 0 3 0 5 0"));
    let model = prepared.compile(&Demands::default()).expect("a choice");
    let counts = [0.0, 0.0, 3.0, 0.0, 5.0, 0.0];
    let expected = ln_integral(1e-9, 40.0, |l: f64| {
        let each = counts.iter().map(|&y: &f64| {
            let on = 0.3_f64.ln() + y * l.ln() - l - ln_gamma(y + 1.0);
            if y == 0.0 {
                log_sum_exp(&[on, 0.7_f64.ln()])
            } else {
                on
            }
        });
        l.ln() - l + each.sum::<f64>()
    });
    let bound = best_bound(&model);
    assert!(
        bound < expected && expected - bound < 0.3,
        "{bound} {expected}"
    );
}

#[test]
fn without_a_few_scalars_to_blame_the_edge_is_refused() {
    let text = "model { for (i in 1:2) { y[i] ~ dnorm(exp(a + b + c + d), 1) }
        a ~ dnorm(0, 1); b ~ dnorm(0, 1); c ~ dnorm(0, 1); d ~ dnorm(0, 1) }";
    let refused = Model::parse(text).expect("a text").with(data("y=1 2"));
    let message = refused.expect_err("no grid").message;
    assert!(message.contains("not conjugate-exponential"), "{message}");
}

#[test]
fn sites_with_counts_that_nobody_saw() {
    let text = "model {
        for (i in 1:3) { N[i] ~ dpois(lambda); for (t in 1:2) { y[i,t] ~ dbin(p, N[i]) } }
        lambda ~ dgamma(3, 0.5); p ~ dbeta(4, 2) }";
    let prepared = prepared(text, data("y[3,2]=3 4 2 2 6 5"));
    let model = prepared.compile(&Demands::default()).expect("a choice");
    let ways = |n: f64, y: f64| ln_gamma(n + 1.0) - ln_gamma(y + 1.0) - ln_gamma(n - y + 1.0);
    let sites = [(3.0, 4.0), (2.0, 2.0), (6.0, 5.0)];
    let ln_joint = |lambda: f64, p: f64| {
        let site = |&(a, b): &(f64, f64)| {
            let counts = (a.max(b) as u32..60).map(|n| {
                let n = f64::from(n);
                let seen =
                    ways(n, a) + ways(n, b) + (a + b) * p.ln() + (2.0 * n - a - b) * (-p).ln_1p();
                n * lambda.ln() - lambda - ln_gamma(n + 1.0) + seen
            });
            log_sum_exp(&counts.collect::<Vec<_>>())
        };
        let prior = 3.0 * 0.5_f64.ln() - ln_gamma(3.0) + 2.0 * lambda.ln() - 0.5 * lambda;
        let prior = prior + 3.0 * p.ln() + (-p).ln_1p() - ln_beta(4.0, 2.0);
        prior + sites.iter().map(site).sum::<f64>()
    };
    // Midpoints over both.
    let (lambdas, ps) = ((0..150).map(|k| 0.1 * (f64::from(k) + 0.5)), 0..100);
    let cells = lambdas.flat_map(|lambda| {
        let ps = ps.clone().map(|k| (f64::from(k) + 0.5) / 100.0);
        ps.map(move |p| (lambda, p))
    });
    let cells: Vec<f64> = cells.map(|(lambda, p)| ln_joint(lambda, p)).collect();
    let expected = log_sum_exp(&cells) + (0.1_f64 / 100.0).ln();
    let bound = best_bound(&model);
    assert!(
        bound < expected && expected - bound < 1.0,
        "{bound} {expected}"
    );
}

#[test]
fn data_that_no_node_allows_are_refused() {
    let text = "model { for (i in 1:2) { y[i] ~ dgamma(a, 1) } a ~ dexp(1) }";
    let refused = Model::parse(text).expect("a text").with(data("y=1 -2"));
    let message = refused.expect_err("no grid helps").message;
    assert_eq!(
        message,
        "the data of y[2] are outside the support of dgamma"
    );
}

/// Two coefficients under vague priors: the first nodes are hundreds of deviations apart, and each grid must find its place while the other
/// one has not.
#[test]
fn two_scalars_under_vague_priors() {
    let text = "model {
      for (i in 1:5) { r[i] ~ dbin(p[i], 30); cloglog(p[i]) <- a + b*x[i] }
      a ~ dnorm(0, 0.001); b ~ dnorm(0, 0.001)
    }";
    let (x, r) = (
        [-0.06, -0.03, 0.0, 0.03, 0.06],
        [5.0, 9.0, 19.0, 27.0, 30.0],
    );
    let prepared = prepared(text, data("x=-0.06 -0.03 0 0.03 0.06; r=5 9 19 27 30"));
    let ln_joint = |a: f64, b: f64| {
        let each = x.iter().zip(r).map(|(x, r): (&f64, f64)| {
            let rate = (a + b * x).exp();
            // ln p = ln(1 − e^{-rate})
            r * (-(-rate).exp_m1()).ln() - (30.0 - r) * rate
        });
        each.sum::<f64>() - 0.0005 * (a * a + b * b)
    };
    let of_b = |b: f64| {
        let nodes = (0..=400).map(|k| ln_joint(-2.0 + 0.01 * f64::from(k), b));
        log_sum_exp(&nodes.collect::<Vec<_>>())
    };
    let nodes = || (0..=400).map(|k| 0.15 * f64::from(k));
    let total = log_sum_exp(&nodes().map(of_b).collect::<Vec<_>>());
    let mean: f64 = nodes().map(|b| b * (of_b(b) - total).exp()).sum();
    let square: f64 = nodes()
        .map(|b| (b - mean).powi(2) * (of_b(b) - total).exp())
        .sum();
    let found = summary(&prepared, "b");
    assert!(
        (found.mean - mean).abs() < 1e-3 * square.sqrt(),
        "{found:?} {mean}"
    );
    assert!(
        (found.sd / square.sqrt() - 1.0).abs() < 1e-3,
        "{found:?} {square}"
    );
    let errors = prepared.grids().into_iter().filter_map(|grid| grid.error);
    assert!(errors.fold(0.0, f64::max) < 1e-4);
}
