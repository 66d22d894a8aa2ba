//! Linear response is what a refit with a tilted log joint says, on every distribution and combinator.

mod common;
mod models;

use collapsar::graph::{Atom, Compiled, Demands, Graph, Kind, PosteriorMarginal};
use collapsar::{Fit, Point};
use common::{climb, data, prepared};
use models::MODELS;

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
