//! Linear response is what a refit with a tilted log joint says, on every distribution and combinator.

mod common;
mod models;

use collapsar::family::Marginal;
use collapsar::graph::{Atom, Compiled, Demands, Graph, Kind, PosteriorMarginal};
use collapsar::{Fit, Point};
use common::{climb, data, prepared, put};
use models::MODELS;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The mean and the variance of a number under q.
fn moments(model: &Compiled, point: &Point, variable: u32, number: usize) -> (f64, f64) {
    let marginals = (model.variational_posterior(point).marginals()).expect("marginals");
    match marginals.of(variable, number) {
        Some(PosteriorMarginal::Closed(marginal)) => (marginal.mean(), marginal.sd().powi(2)),
        Some(&PosteriorMarginal::Moments { mean, sd }) => (mean, sd * sd),
        other => panic!("{other:?}"),
    }
}

/// The part of a variable's atoms that is its number, where one is.
fn atom(kind: Kind, number: usize) -> Option<u32> {
    match kind {
        Kind::Gaussian | Kind::Bounded => Some(0),
        Kind::Gamma => Some(1),
        Kind::Wishart(_) => (number == 0).then_some(1),
        _ => None,
    }
}

fn tilted(graph: &Graph, atom: Atom, by: f64) -> Graph {
    let mut graph = graph.clone();
    let factor = graph.factor("a tilt");
    // By nothing, it still links what it would tilt, so that blocks are the same.
    graph.keep(by, &[atom], factor);
    graph
}

/// The mean of a number after a climb from an optimum with the log joint tilted.
fn refitted(graph: Graph, start: &Point, variable: u32, number: usize) -> f64 {
    let model = Compiled::new(graph, &Demands::default()).expect("a model");
    let fit = collapsar::Driver::new(&model, collapsar::Direction::Auto)
        .stop(collapsar::Stop::Gain(1e-15) | collapsar::Stop::Passes(20_000))
        .run(start.messages.clone())
        .expect("a run");
    moments(&model, &fit.point, variable, number).0
}

#[test]
fn variances_are_slopes_of_means_along_tilts() {
    let mut checked = 0;
    let mut broken = vec![];
    for (name, text, numbers) in MODELS {
        let prepared = prepared(text, data(numbers));
        let graph = prepared.graph();
        for declared in graph.declared() {
            let Some(part) = atom(declared.kind, 0) else {
                continue;
            };
            for variable in declared.variables().take(2) {
                let atom = Atom { variable, part };
                let tilted = |by| tilted(graph, atom, by);
                let model = Compiled::new(tilted(0.0), &Demands::default()).expect("a model");
                // Of several starts, as one may end at a saddle between states that are alike.
                let fits = (1..=4).map(|seed| climb(&model, seed, 1e-15));
                let higher = |a: &Fit, b: &Fit| a.point.bound.total_cmp(&b.point.bound);
                let fit = fits.max_by(higher).expect("a fit");
                let response = match model.linear_response(&fit.point) {
                    // Refits may turn along directions in which the bound is flat.
                    Ok(response) if response.flat() > 0 => continue,
                    Ok(response) => response,
                    // One factor in one direction: its sign is not determined, nor whether there is one.
                    Err(_) if *name == "mixture of factors" => continue,
                    Err(error) => {
                        broken.push(format!("{name}: {error}"));
                        continue;
                    }
                };
                let (_, variance) = moments(&model, &fit.point, variable, 0);
                if !variance.is_finite() {
                    continue;
                }
                let extra = response
                    .extra_variance(&[(variable, 0, 1.0)])
                    .expect("inside the domain")
                    .expect("a number");
                let corrected = variance + extra;
                // Third cumulants are of the order of the variance's power 3/2, so that the slope is that
                // of a step of this length to a relative 1e-4 or so.
                let step = 1e-3 / corrected.sqrt();
                let mean = |by| refitted(tilted(by), &fit.point, variable, 0);
                let slope = (mean(step) - mean(-step)) / (2.0 * step);
                checked += 1;
                if (slope / corrected - 1.0).abs() > 2e-3 {
                    broken.push(format!(
                        "{name}: {} has variance {variance}, response {corrected}, slope {slope}",
                        graph.name(variable)
                    ));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(checked > 60, "{checked}");
}

/// Two overlapping components with known means and an unknown weight: mean field is far too sure of the weight,
/// linear response is not, and neither are draws that have its covariance.
#[test]
fn an_overlapping_mixture_is_as_uncertain_as_its_posterior() {
    let text = "model {
        for (i in 1:200) { z[i] ~ dcat(w[]); y[i] ~ dnorm(mu[z[i]], 1) }
        w[1:2] ~ ddirch(one[])
    }";
    // Numbers at the quantiles of 0.4 N(-0.75, 1) + 0.6 N(0.75, 1).
    let normal = |z: f64| Marginal::Normal { mean: 0.0, sd: 1.0 }.cdf(z);
    let cdf = |y: f64| 0.4 * normal(y + 0.75) + 0.6 * normal(y - 0.75);
    let quantile = |p: f64| {
        let (mut low, mut high) = (-9.0, 9.0);
        while high - low > 1e-12 {
            let middle = 0.5 * (low + high);
            if cdf(middle) < p {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    };
    let y: Vec<f64> = (0..200)
        .map(|i| quantile((f64::from(i) + 0.5) / 200.0))
        .collect();
    let mut data = data("mu=-0.75 0.75; one=1 1");
    put(&mut data, "y", &[200], &y);
    let prepared = prepared(text, data);
    let model = Compiled::new(prepared.graph().clone(), &Demands::default()).expect("a model");
    let fit = climb(&model, 1, 1e-12);
    let proportions = prepared
        .graph()
        .declared()
        .iter()
        .find(|d| d.kind == Kind::Dirichlet(2));
    let w = proportions.expect("proportions").first;
    let (_, variance) = moments(&model, &fit.point, w, 0);
    let response = model.linear_response(&fit.point).expect("a maximum");
    let extra = response
        .extra_variance(&[(w, 0, 1.0)])
        .expect("inside")
        .expect("a number");
    let corrected = (variance + extra).sqrt();

    let density = |w: f64| -> f64 {
        let one = |y: &f64| {
            let at = |mean: f64| (-0.5 * (y - mean).powi(2)).exp();
            (w * at(-0.75) + (1.0 - w) * at(0.75)).ln()
        };
        y.iter().map(one).sum()
    };
    let grid: Vec<(f64, f64)> = (1..1000)
        .map(|i| f64::from(i) / 1000.0)
        .map(|w| (w, density(w)))
        .collect();
    let most = grid
        .iter()
        .map(|(_, d)| *d)
        .fold(f64::NEG_INFINITY, f64::max);
    let moment = |power: i32| -> f64 {
        grid.iter()
            .map(|(w, d)| w.powi(power) * (d - most).exp())
            .sum()
    };
    let mean = moment(1) / moment(0);
    let exact = (moment(2) / moment(0) - mean * mean).sqrt();

    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let place = model.variational_posterior(&fit.point).place(w);
    let mut draws = response
        .draws(&mut rng)
        .expect("draws")
        .expect("few messages");
    let drawn: Vec<f64> = (0..4000)
        .map(|_| draws.draw(false, &mut rng).expect("a draw")[place])
        .collect();
    let of_draws = sd(&drawn);
    let mut chain = model.chain(&fit.point, &mut rng).expect("a chain");
    let chain: Vec<f64> = (0..40_000)
        .map(|_| {
            chain.sweep(&mut rng).expect("a sweep");
            chain.numbers()[place]
        })
        .collect();
    let of_chain = sd(&chain);
    assert!(variance.sqrt() < 0.7 * exact);
    assert!(
        (corrected / exact - 1.0).abs() < 0.08,
        "{corrected} {exact}"
    );
    // The standard error of an sd of 4,000 draws is 1.1%.
    assert!(
        (of_draws / corrected - 1.0).abs() < 0.06,
        "{of_draws} {corrected}"
    );
    // Sweeps forget slowly here: some two thousand independent ones.
    assert!((of_chain / exact - 1.0).abs() < 0.08, "{of_chain} {exact}");
}

fn sd(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt()
}
