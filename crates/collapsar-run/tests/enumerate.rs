//! Labels that everything meets: bounds, probabilities, moments, quantiles and draws of all fits together, against
//! exact answers.

mod common;

use std::sync::Arc;

use collapsar::family::Marginal;
use collapsar_bugs::{Array, Selection};
use collapsar_run::fit::{ModelRequest, ModelRun, ModelSource, PosteriorOptions};
use collapsar_run::{ClimbOptions, PosteriorKind, Verdict};
use common::{array, data, fit, nobody, of, prepare, result, seeded};

/// The log determinant of a positive definite matrix and the solution of a system, by elimination.
fn solve(matrix: &[Vec<f64>], right: &[f64]) -> (f64, Vec<f64>) {
    let n = right.len();
    let (mut m, mut x) = (matrix.to_vec(), right.to_vec());
    let mut ln_determinant = 0.0;
    for i in 0..n {
        ln_determinant += m[i][i].ln();
        for row in i + 1..n {
            let factor = m[row][i] / m[i][i];
            for column in i..n {
                m[row][column] -= factor * m[i][column];
            }
            x[row] -= factor * x[i];
        }
    }
    for i in (0..n).rev() {
        let rest: f64 = (i + 1..n).map(|j| m[i][j] * x[j]).sum();
        x[i] = (x[i] - rest) / m[i][i];
    }
    (ln_determinant, x)
}

/// The logarithm of the density of data under a regression on these columns, whose coefficients have the prior precision
/// `prior`, with data of precision `tau`; and the mean of the coefficients.
fn ln_regression(columns: &[Vec<f64>], y: &[f64], prior: f64, tau: f64) -> (f64, Vec<f64>) {
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let matrix: Vec<Vec<f64>> = (columns.iter().enumerate())
        .map(|(i, a)| {
            let entry =
                |(j, b): (usize, &Vec<f64>)| tau * dot(a, b) + if i == j { prior } else { 0.0 };
            columns.iter().enumerate().map(entry).collect()
        })
        .collect();
    let right: Vec<f64> = columns.iter().map(|column| tau * dot(column, y)).collect();
    let (ln_determinant, mean) = solve(&matrix, &right);
    let n = y.len() as f64;
    let ln_density = 0.5 * n * (tau / std::f64::consts::TAU).ln()
        + 0.5 * columns.len() as f64 * prior.ln()
        - 0.5 * ln_determinant
        - 0.5 * tau * dot(y, y)
        + 0.5 * dot(&right, &mean);
    (ln_density, mean)
}

fn ln_sum(values: &[f64]) -> f64 {
    collapsar::special::log_sum_exp(values)
}

/// Four columns of 12 numbers, of which the second is like the first.
fn columns() -> Vec<Vec<f64>> {
    let noise = |i: usize, j: usize| (((7 * i + 13 * j + 5 * i * j) % 17) as f64 - 8.0) / 5.0;
    let mut columns: Vec<Vec<f64>> = (0..4)
        .map(|j| (0..12).map(|i| noise(i, j)).collect())
        .collect();
    columns[1] = (0..12)
        .map(|i| 0.8 * columns[0][i] + 0.5 * columns[1][i])
        .collect();
    columns
}

fn response(columns: &[Vec<f64>]) -> Vec<f64> {
    (0..12)
        .map(|i| 0.7 * columns[0][i] + 0.3 * columns[2][i] + ((5 * i % 7) as f64 - 3.0) / 4.0)
        .collect()
}

fn table(columns: &[Vec<f64>]) -> Array {
    let rows = (0..columns[0].len()).flat_map(|i| columns.iter().map(move |column| column[i]));
    array(
        &[columns[0].len(), columns.len()],
        &rows.collect::<Vec<_>>(),
    )
}

/// With a precision that is known the model given all indicators is normal, so that every bound is the evidence, and
/// probabilities, means and quantiles are exact.
#[test]
fn spike_and_slab_with_a_known_precision_is_exact() {
    let text = "model {
       for (i in 1:12) {
         for (j in 1:4) { part[i,j] <- g[j] * b[j] * X[i,j] }
         y[i] ~ dnorm(sum(part[i,]), 2)
       }
       for (j in 1:4) { g[j] ~ dbern(0.3); b[j] ~ dnorm(0, 0.5); effect[j] <- g[j] * b[j] }
     }";
    let columns = columns();
    let y = response(&columns);
    let given = data([("X", table(&columns)), ("y", array(&[12], &y))]);
    let run = prepare(text, given, ModelRequest::default());
    let enumerated = run.enumerated.as_ref().expect("indicators");
    assert_eq!(enumerated.states.len(), 16);
    let climbed = fit(&run);
    let (mut evidence, mut included, mut effects) = (vec![], vec![vec![]; 4], vec![0.0; 4]);
    let mut states = vec![];
    for joint in 0..16_usize {
        let there: Vec<usize> = (0..4).filter(|j| joint >> j & 1 == 1).collect();
        let some: Vec<Vec<f64>> = there.iter().map(|&j| columns[j].clone()).collect();
        let (ln_density, mean) = ln_regression(&some, &y, 0.5, 2.0);
        let prior = there.len() as f64 * 0.3_f64.ln() + (4 - there.len()) as f64 * 0.7_f64.ln();
        evidence.push(ln_density + prior);
        for &j in &there {
            included[j].push(ln_density + prior);
        }
        states.push((there, mean));
    }
    let total = ln_sum(&evidence);
    let bound = climbed.best().point.bound;
    // Both are sums of a few hundred terms of order ten.
    assert!(
        (bound - total).abs() < 1e-10 * total.abs(),
        "{bound} {total}"
    );
    for (evidence, (there, mean)) in evidence.iter().zip(&states) {
        for (&j, mean) in there.iter().zip(mean) {
            effects[j] += (evidence - total).exp() * mean;
        }
    }
    for j in 0..4 {
        let expected = (ln_sum(&included[j]) - total).exp();
        let label = of(&run, &climbed, &format!("g[{}]", j + 1));
        assert!(
            (label.mean - expected).abs() < 1e-9,
            "{j}: {label:?} {expected}"
        );
        let effect = of(&run, &climbed, &format!("effect[{}]", j + 1));
        // Four standard errors of 4000 draws.
        let error = 4.0 * effect.sd / 4000_f64.sqrt();
        assert!(
            (effect.mean - effects[j]).abs() < error,
            "{j}: {effect:?} {}",
            effects[j]
        );
        // The spike is at zero exactly wherever it holds the median.
        if expected < 0.5 {
            assert_eq!(effect.quantiles[1], 0.0, "{j}");
        }
    }
}

/// With coefficients whose precision is a multiple of that of the data, which is unknown, the model given all
/// indicators is normal-gamma and every bound is the evidence still.
#[test]
fn spike_and_slab_with_a_normal_gamma_prior_is_exact() {
    let text = "model {
       for (i in 1:12) { y[i] ~ dnorm(g[1]*b[1]*X[i,1] + g[2]*b[2]*X[i,2] + g[3]*b[3]*X[i,3], tau) }
       t <- 0.5 * tau
       for (j in 1:3) { g[j] ~ dbern(0.5); b[j] ~ dnorm(0, t) }
       tau ~ dgamma(2, 1)
     }";
    let columns = columns();
    let y = response(&columns);
    let given = data([("X", table(&columns)), ("y", array(&[12], &y))]);
    let run = prepare(text, given, ModelRequest::default());
    assert_eq!(run.enumerated.as_ref().map(|of| of.states.len()), Some(8));
    let climbed = fit(&run);
    let mut evidence = vec![];
    for joint in 0..8_usize {
        let some = (0..3).filter(|j| joint >> j & 1 == 1);
        let some: Vec<Vec<f64>> = some.map(|j| columns[j].clone()).collect();
        // ∫ Gamma(τ; 2, 1) τ^{n/2} e^{-τ s} dτ with the density at τ = 1 as e^{-s} without its τ: 2 + n/2 and 1 + s.
        let (at_one, _) = ln_regression(&some, &y, 0.5, 1.0);
        let (ln_constant, _) = ln_regression(&some, &[0.0; 12], 0.5, 1.0);
        let s = ln_constant - at_one;
        let shape = 2.0 + 6.0;
        let gamma = collapsar::special::ln_gamma(shape) - shape * (1.0 + s).ln();
        evidence.push(ln_constant + gamma + 3.0 * 0.5_f64.ln());
    }
    let (bound, total) = (climbed.best().point.bound, ln_sum(&evidence));
    // Both are sums of a few hundred terms of order ten.
    assert!(
        (bound - total).abs() < 1e-10 * total.abs(),
        "{bound} {total}"
    );
    let included: Vec<f64> = (0..8).filter(|j| j & 1 == 1).map(|j| evidence[j]).collect();
    let expected = (ln_sum(&included) - total).exp();
    let label = of(&run, &climbed, "g[1]");
    assert!((label.mean - expected).abs() < 1e-9, "{label:?} {expected}");
}

const STAGNANT: &str = "model {
  for (i in 1:N) {
    J[i] <- 1 + step(i - k - 0.5)
    mu[i] <- alpha + beta[J[i]] * (x[i] - x[k])
    Y[i] ~ dnorm(mu[i], tau)
    p[i] <- 1 / N
  }
  tau ~ dgamma(0.001, 0.001)
  alpha ~ dnorm(0.0, 1.0E-6)
  for (j in 1:2) { beta[j] ~ dnorm(0.0, 1.0E-6) }
  k ~ dcat(p[])
}";

const X: [f64; 29] = [
    -1.39, -1.39, -1.08, -1.08, -0.94, -0.80, -0.63, -0.63, -0.25, -0.25, -0.12, -0.12, 0.01, 0.11,
    0.11, 0.11, 0.25, 0.25, 0.34, 0.34, 0.44, 0.59, 0.70, 0.70, 0.85, 0.85, 0.99, 0.99, 1.19,
];
const Y: [f64; 29] = [
    1.12, 1.12, 0.99, 1.03, 0.92, 0.90, 0.81, 0.83, 0.65, 0.67, 0.60, 0.59, 0.51, 0.44, 0.43, 0.43,
    0.33, 0.30, 0.25, 0.24, 0.13, -0.01, -0.13, -0.14, -0.30, -0.33, -0.46, -0.43, -0.65,
];

fn stagnant(request: ModelRequest) -> ModelRun {
    let numbers = [
        ("N", array(&[1], &[29.0])),
        ("x", array(&[29], &X)),
        ("Y", array(&[29], &Y)),
    ];
    prepare(STAGNANT, data(numbers), request)
}

/// ln p(Y, k), by quadrature over the logarithm of tau of what is normal given it.
fn ln_evidence_of_stagnant(k: usize) -> f64 {
    let slope = |before: bool| -> Vec<f64> {
        let at = |i: usize| {
            if (i < k) == before {
                X[i] - X[k - 1]
            } else {
                0.0
            }
        };
        (0..29).map(at).collect()
    };
    let columns = [vec![1.0; 29], slope(true), slope(false)];
    let (a, b) = (0.001_f64, 0.001_f64);
    let (low, high, steps) = (1.0_f64, 11.0_f64, 1000);
    let width = (high - low) / f64::from(steps);
    let terms = (0..=steps).map(|step| {
        let ln_tau = low + width * f64::from(step);
        let tau = ln_tau.exp();
        let (ln_density, _) = ln_regression(&columns, &Y, 1e-6, tau);
        let prior = a * b.ln() - collapsar::special::ln_gamma(a) + a * ln_tau - b * tau;
        ln_density + prior + width.ln()
    });
    ln_sum(&terms.collect::<Vec<_>>()) - 29_f64.ln()
}

/// The change-point of stagnant has the exact posterior to within what the bounds given each state leave out, the same
/// from any seed, and its bound is that much below the evidence.
#[test]
fn the_change_point_of_stagnant() {
    let run = stagnant(ModelRequest::default());
    let climbed = fit(&run);
    let exact: Vec<f64> = (1..=29).map(ln_evidence_of_stagnant).collect();
    let total = ln_sum(&exact);
    let bound = climbed.best().point.bound;
    // Three normals and a precision that 29 data tell of: q leaves out less than a tenth of a nat.
    assert!(bound < total && total - bound < 0.1, "{bound} {total}");
    let result = result(
        &run,
        &climbed,
        &run.monitor(&[]).expect("numbers").quantities,
    );
    let (estimate, error) = result.signs.ln_evidence.expect("weights");
    assert!(
        (estimate - total).abs() < 4.0 * error + 1e-3,
        "{estimate} {error} {total}"
    );
    let p: Vec<f64> = exact.iter().map(|ln| (ln - total).exp()).collect();
    let mean: f64 = (1..).zip(&p).map(|(k, p)| f64::from(k) * p).sum();
    let square: f64 = (1..).zip(&p).map(|(k, p)| f64::from(k * k) * p).sum();
    let sd = (square - mean * mean).sqrt();
    let k = of(&run, &climbed, "k");
    // Bounds of states differ from their evidence by nearly the same.
    assert!((k.mean - mean).abs() < 0.01 * sd, "{k:?} {mean}");
    assert!((k.sd / sd - 1.0).abs() < 0.01, "{k:?} {sd}");
    for seed in 1..20 {
        let other = fit(&stagnant(seeded(seed))).best().point.bound;
        // Each of 29 climbs ends where a step gains less than 1e-8.
        assert!((other - bound).abs() < 1e-6, "{seed}: {other} {bound}");
    }
}

/// Chains move between change-points, and their draws have the exact posterior: the probability of the likeliest, and
/// the mean and the deviation of a coefficient, summed and integrated.
#[test]
fn exact_draws_move_between_the_change_points_of_stagnant() {
    let request = ModelRequest {
        posterior: PosteriorOptions {
            posterior: Some(PosteriorKind::Exact),
            draws: Some(3000),
            ..PosteriorOptions::default()
        },
        ..ModelRequest::default()
    };
    let run = stagnant(request);
    let climbed = fit(&run);
    let exact: Vec<f64> = (1..=29).map(ln_evidence_of_stagnant).collect();
    let total = ln_sum(&exact);
    let mean: f64 = (1..)
        .zip(&exact)
        .map(|(k, ln)| f64::from(k) * (ln - total).exp())
        .sum();
    let selected = ["k", "alpha"].map(Selection::from);
    let quantities = run.monitor(&selected).expect("numbers").quantities;
    let found = result(&run, &climbed, &quantities);
    assert!(found.mixed());
    let error = |row: usize| found.diagnostics(row).expect("chains")[0].expect("an error");
    // In the order of the model's lines.
    let (alpha, k) = (found.rows[0], found.rows[1]);
    assert!((k.mean - mean).abs() < 4.0 * error(1), "{k:?} {mean}");
    // By quadrature over the precision and a sum over change-points (bench/bugs/data/stagnant.py).
    assert!((alpha.mean - 0.5424).abs() < 4.0 * error(0), "{alpha:?}");
    // Some thousand effective draws of a deviation with a long tail: a tenth is four errors.
    assert!((alpha.sd / 0.0223 - 1.0).abs() < 0.1, "{alpha:?}");
}

/// Quantiles are those of the mixture's CDF, draws come from it, and a part of the draws is a part of all.
#[test]
fn quantiles_and_draws_are_of_the_mixture() {
    let text = "model {
       y ~ dnorm(mu + shift[m + 1], 1)
       mu ~ dnorm(0, 1)
       m ~ dbern(0.4)
     }";
    let given = || {
        data([
            ("y", array(&[1], &[2.0])),
            ("shift", array(&[2], &[-1.0, 4.0])),
        ])
    };
    let run = prepare(text, given(), ModelRequest::default());
    let climbed = fit(&run);
    // y - shift has variance 2, and mu given it half of it as its mean and variance.
    let part = |shift: f64, p: f64| {
        let rest: f64 = 2.0 - shift;
        let normal = Marginal::Normal {
            mean: 0.5 * rest,
            sd: 0.5_f64.sqrt(),
        };
        (p * (-0.25 * rest * rest).exp(), normal)
    };
    let parts = [part(-1.0, 0.6), part(4.0, 0.4)];
    let total = parts[0].0 + parts[1].0;
    let cdf = |x: f64| {
        parts
            .iter()
            .map(|(w, of)| w / total * of.cdf(x))
            .sum::<f64>()
    };
    let mu = of(&run, &climbed, "mu");
    for (quantile, p) in mu.quantiles.iter().zip([0.025, 0.5, 0.975]) {
        // 1e-9 of the distance of the parts, times a density below one.
        assert!((cdf(*quantile) - p).abs() < 1e-8, "{mu:?} {p}");
    }
    let mean: f64 = parts.iter().map(|(w, of)| w / total * of.mean()).sum();
    let square = |of: &Marginal| of.mean().powi(2) + of.sd().powi(2);
    let square: f64 = parts.iter().map(|(w, of)| w / total * square(of)).sum();
    assert!((mu.mean - mean).abs() < 1e-9, "{mu:?} {mean}");
    assert!(
        (mu.sd - (square - mean * mean).sqrt()).abs() < 1e-9,
        "{mu:?}"
    );
    let selections = ["mu", "m"].map(Selection::from);
    let quantities = run.monitor(&selections).expect("numbers").quantities;
    let point = &climbed.best().point;
    let all = run.draws(point, &quantities, 3, 0..4000).expect("draws");
    let some = run.draws(point, &quantities, 3, 1300..1400).expect("draws");
    for (all, some) in all.iter().zip(&some) {
        assert_eq!(&all[1300..1400], some.as_slice());
    }
    let average = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let place = |name: &str| quantities.iter().position(|q| q.to_string() == name);
    let column = |name: &str| &all[place(name).expect("a column")];
    let p = parts[1].0 / total;
    // Four standard errors.
    let error = 4.0 * (p * (1.0 - p) / 4000.0).sqrt();
    assert!(
        (average(column("m")) - p).abs() < error,
        "{}",
        average(column("m"))
    );
    let error = 4.0 * mu.sd / 4000_f64.sqrt();
    assert!((average(column("mu")) - mean).abs() < error);
}

/// Chains that begin at states by their probability agree with the exact answer on a model on which a chain of single
/// moves goes from state to state.
#[test]
fn chains_begin_at_states() {
    let text = "model {
       for (i in 1:4) { y[i] ~ dnorm(mu * shift[m + 1], 1) }
       mu ~ dnorm(0, 0.1)
       m ~ dbern(0.4)
     }";
    let given = data([
        ("y", array(&[4], &[0.4, 1.0, 0.2, 0.9])),
        ("shift", array(&[2], &[1.0, 0.5])),
    ]);
    let request = ModelRequest {
        posterior: PosteriorOptions {
            posterior: Some(PosteriorKind::Exact),
            draws: Some(4000),
            ..PosteriorOptions::default()
        },
        ..ModelRequest::default()
    };
    let run = prepare(text, given, request);
    let climbed = fit(&run);
    let y = [0.4, 1.0, 0.2, 0.9];
    let evidence = [(1.0, 0.6_f64), (0.5, 0.4)].map(|(shift, p)| {
        let columns = [vec![shift; 4]];
        ln_regression(&columns, &y, 0.1, 1.0).0 + p.ln()
    });
    let expected = (evidence[1] - ln_sum(&evidence)).exp();
    let quantities = run.monitor(&[Selection::from("m")]).expect("m").quantities;
    let found = result(&run, &climbed, &quantities);
    let error = found.diagnostics(0).expect("chains")[0].expect("an error");
    let mean = found.rows[0].mean;
    assert!(
        (mean - expected).abs() < 4.0 * error,
        "{mean} {error} {expected}"
    );
}

/// What is asked for is enumerated, none where none is, and what cannot be is refused.
#[test]
fn labels_are_enumerated_as_asked() {
    let none = ModelRequest {
        enumerate: Some(vec![]),
        ..ModelRequest::default()
    };
    assert!(stagnant(none).enumerated.is_none());
    let whole = ModelRequest {
        explicit: vec!["k".into()],
        ..ModelRequest::default()
    };
    assert!(stagnant(whole).enumerated.is_none());
    let text = "model {
       for (i in 1:3) { y[i] ~ dnorm(mu[z[i]], 1); z[i] ~ dcat(p[]) }
       for (j in 1:2) { mu[j] ~ dnorm(0, 0.1) }
     }";
    let numbers = || {
        data([
            ("y", array(&[3], &[0.0, 0.2, 3.0])),
            ("p", array(&[2], &[0.5, 0.5])),
        ])
    };
    assert!(
        prepare(text, numbers(), ModelRequest::default())
            .enumerated
            .is_none()
    );
    let asked = |name: &str| ModelRequest {
        enumerate: Some(vec![name.into()]),
        ..ModelRequest::default()
    };
    let run = prepare(text, numbers(), asked("z"));
    assert_eq!(run.enumerated.as_ref().map(|of| of.states.len()), Some(8));
    // Given its labels a mixture is normal, and labels have no order: each is as likely to be one as two.
    let z = of(&run, &fit(&run), "z[1]");
    assert!((z.mean - 1.5).abs() < 1e-12, "{z:?}");
    let source = ModelSource::new("m.bug".into(), text.into()).expect("a model");
    let prepared = source.with(numbers()).expect("data");
    assert!(asked("mu").prepare(Arc::new(source), prepared).is_err());
}

/// A fit can be taken up again from its messages, of all states.
#[test]
fn a_fit_is_its_messages() {
    let run = stagnant(ModelRequest::default());
    let climbed = fit(&run);
    let again = ModelRequest {
        messages: Some(climbed.best().point.messages.clone()),
        climb: ClimbOptions {
            max_iterations: 0,
            ..ClimbOptions::default()
        },
        ..ModelRequest::default()
    };
    let again = stagnant(again);
    let still = again.climb(&nobody()).expect("a climb");
    assert_eq!(still.best().point.bound, climbed.best().point.bound);
    assert_eq!(of(&again, &still, "alpha"), of(&run, &climbed, "alpha"));
}

/// Tables with zeros leave no state to a label given some states of another, which are as unlikely as can be and no error.
#[test]
fn states_that_leave_none_to_others() {
    let text = "model {
      x ~ dcat(p[]); y ~ dcat(T[x,]); w ~ dcat(U[y,])
      p[1:2] ~ ddirch(a[])
    }";
    let given = data([
        ("a", array(&[2], &[1.0, 1.0])),
        ("T", array(&[2, 2], &[1.0, 0.0, 0.5, 0.5])),
        ("U", array(&[2, 2], &[1.0, 0.0, 0.2, 0.8])),
        ("w", array(&[1], &[2.0])),
    ]);
    let request = ModelRequest {
        enumerate: Some(vec!["x".into()]),
        ..seeded(1)
    };
    let run = prepare(text, given, request);
    let climbed = fit(&run);
    // Only x = 2, y = 2: half of 0.5 times 0.8.
    let bound = climbed.best().point.bound;
    assert!((bound - 0.2_f64.ln()).abs() < 1e-9, "{bound}");
    assert_eq!(of(&run, &climbed, "x").mean, 2.0);
}

/// Where all else is integrated out given each state, nothing is approximated, and the verdict says so.
#[test]
fn states_with_nothing_explicit_are_exact() {
    let text = "model {
        for (i in 1:6) { y[i] ~ dgamma(shape, rate) }
        rate ~ dgamma(1, 1)
        shape ~ dunif(0.5, 6)
    }";
    let y = array(&[6], &[1.2, 0.7, 2.1, 0.4, 1.6, 1.1]);
    let run = prepare(text, data([("y", y)]), seeded(1));
    let climbed = fit(&run);
    let found = result(&run, &climbed, &[]);
    assert!(found.signs.exact && run.enumerated.is_some());
    assert_eq!(found.verdict(true), Verdict::Trust);
}
