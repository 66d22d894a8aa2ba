//! Labels that are known, labels that everything meets, and chains that begin at given numbers.

mod common;
mod models;

use collapsar::graph::{Compiled, Demands, Graph, Kind};
use common::{climb, data, prepared};
use models::MODELS;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Numbers of all variables that are possible: a draw of a chain.
fn numbers(graph: &Graph) -> Vec<f64> {
    let model = Compiled::new(graph.clone(), &Demands::default()).expect("a model");
    let fit = climb(&model, 1, 1e-4);
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let chain = model.chain(&fit.point, &mut rng).expect("a chain");
    chain.numbers().to_vec()
}

/// The place of each label among all numbers, and how many states it has.
fn labels(graph: &Graph) -> Vec<(u32, usize, usize)> {
    let (mut found, mut place) = (vec![], 0);
    for declared in graph.declared() {
        for variable in declared.variables() {
            if let Kind::Label(states) = declared.kind {
                found.push((variable, place, states));
            }
            place += declared.kind.elements();
        }
    }
    found
}

/// On every distribution and combinator, rows and networks included: given states, the log joint is the same where
/// labels have them, and -∞ elsewhere.
#[test]
fn the_log_joint_given_states_is_the_same() {
    let mut compared = 0;
    for (name, text, data_text) in MODELS {
        let prepared = prepared(text, data(data_text));
        let graph = prepared.graph();
        let labels = labels(graph);
        if labels.is_empty() {
            continue;
        }
        let drawn = numbers(graph);
        // One label, two, and all.
        for count in [1, 2, labels.len()] {
            let known = &labels[..count.min(labels.len())];
            let drawn_states = known
                .iter()
                .map(|&(label, place, _)| (label, drawn[place] as u32));
            let given = graph.given(&drawn_states.collect::<Vec<_>>());
            let given = given.unwrap_or_else(|| panic!("{name}: the states can be"));
            let (expected, found) = (graph.ln_joint(&drawn), given.ln_joint(&drawn));
            // The same terms in another order.
            let near = 1e-11 * (1.0 + expected.abs());
            assert!(
                (expected - found).abs() < near,
                "{name}: {expected} {found}"
            );
            for &(_, place, states) in known.iter().filter(|label| label.2 > 1) {
                let mut other = drawn.clone();
                other[place] = (drawn[place] + 1.0) % states as f64;
                assert_eq!(given.ln_joint(&other), f64::NEG_INFINITY, "{name}");
            }
            compared += 1;
        }
    }
    assert!(compared > 20, "{compared}");
}

/// Where labels are all that is unknown but for what can be collapsed given them, the exponentials of the bounds given all
/// joint states sum to the evidence, and no bound of the whole is above it.
#[test]
fn bounds_given_states_sum_to_a_bound() {
    let text = "model {
       for (i in 1:6) { y[i] ~ dnorm(g[1] * b[1] * x[i] + g[2] * b[2] * z[i], tau) }
       for (j in 1:2) { g[j] ~ dbern(0.3); b[j] ~ dnorm(0, tau * 0.5) }
       tau ~ dgamma(2, 1)
     }";
    let numbers = "x=1 2 -1 0.5 0 -2; z=0.3 1 -1 0 1 -1; y=1.1 1.7 -0.2 0.6 0.4 -1.9";
    let prepared = prepared(text, data(numbers));
    let graph = prepared.graph();
    let labels = labels(graph);
    assert_eq!(labels.len(), 2);
    let mut bounds = vec![];
    for joint in 0..4 {
        let states: Vec<(u32, u32)> = vec![(labels[0].0, joint / 2), (labels[1].0, joint % 2)];
        let given = graph.given(&states).expect("a state that can be");
        let model = Compiled::new(given, &Demands::default()).expect("a model");
        bounds.push(climb(&model, 0, 1e-12).point.bound);
    }
    let total = collapsar::special::log_sum_exp(&bounds);
    let whole = Compiled::new(graph.clone(), &Demands::default()).expect("a model");
    for seed in 0..5 {
        let bound = climb(&whole, seed, 1e-10).point.bound;
        assert!(bound < total, "{bound} {total}");
    }
}

/// Which arrays of a model everything meets, with at most so many states.
fn lone(text: &str, numbers: &str) -> Vec<String> {
    let prepared = prepared(text, data(numbers));
    let found = prepared.graph().lone_labels(512).into_iter();
    found.map(|array| array.name).collect()
}

#[test]
fn change_points_and_indicators_are_met_by_everything() {
    let change = "model {
       for (i in 1:5) { y[i] ~ dnorm(mu[1 + step(i - k - 0.5)], tau); p[i] <- 0.2 }
       for (j in 1:2) { mu[j] ~ dnorm(0, 0.1) }
       k ~ dcat(p[]); tau ~ dgamma(1, 1)
     }";
    assert_eq!(lone(change, "y=1 1.2 3 3.1 2.9"), ["k"]);
    let slab = "model {
       for (i in 1:5) { y[i] ~ dnorm(a + g[1] * b[1] * x[i] + g[2] * b[2] * z[i], tau) }
       for (j in 1:2) { g[j] ~ dbern(0.5); b[j] ~ dnorm(0, 1) }
       a ~ dnorm(0, 1); tau ~ dgamma(1, 1)
     }";
    let numbers = "x=1 2 -1 0.5 0; z=0.3 1 -1 0 1; y=1.1 1.7 -0.2 0.6 0.4";
    assert_eq!(lone(slab, numbers), ["g"]);
    // Indicators of the priors of coefficients, which the data tie.
    let spikes = "model {
       for (i in 1:5) { y[i] ~ dnorm(a + b[1] * x[i] + b[2] * z[i], tau) }
       for (j in 1:2) { g[j] ~ dbern(w); b[j] ~ dnorm(0, precision[g[j] + 1]) }
       a ~ dnorm(0, 1); tau ~ dgamma(1, 1); w ~ dbeta(1, 1)
     }";
    let numbers = format!("{numbers}; precision=100 1");
    assert_eq!(lone(spikes, &numbers), ["g"]);
    // Two coefficients of different data have nothing to do with one another.
    let apart = spikes.replace("a + b[1] * x[i] + b[2] * z[i], tau", "b[1] * x[i], tau");
    let apart = apart.replace(
        "a ~",
        "for (i in 1:5) { x2[i] ~ dnorm(b[2] * z[i], tau) } a ~",
    );
    assert!(lone(&apart, &format!("{numbers}; x2=1 2 3 2 1")).is_empty());
}

/// However few their data are, labels of single data are not taken for indicators.
#[test]
fn labels_of_data_are_not() {
    let mixture = "model {
       for (i in 1:3) { m[i] <- mu[z[i]]; y[i] ~ dnorm(m[i], tau); z[i] ~ dcat(p[]) }
       for (j in 1:2) { mu[j] ~ dnorm(0, 0.1) }
       p[1:2] ~ ddirch(a[]); tau ~ dgamma(1, 1)
     }";
    assert!(lone(mixture, "y=1 1.2 3; a=1 1").is_empty());
    let chain = "model {
       z[1] ~ dcat(p[1,])
       for (t in 2:4) { z[t] ~ dcat(p[z[t-1],]) }
       for (t in 1:4) { y[t] ~ dnorm(mu[z[t]], tau) }
       for (j in 1:2) { mu[j] ~ dnorm(0, 0.1); p[j,1:2] ~ ddirch(a[]) }
       tau ~ dgamma(1, 1)
     }";
    assert!(lone(chain, "y=1 1.2 3 3.1; a=1 1").is_empty());
    let network = "model { a ~ dbern(0.3); b ~ dbern(0.2 + 0.5 * a); c ~ dbern(0.9 - 0.7 * b) }";
    assert!(lone(network, "c=1").is_empty());
}

/// A chain begins at the numbers that it is given: where the mean is far from the data, its first sweep draws a precision
/// that says so.
#[test]
fn chains_begin_at_numbers() {
    let text = "model {
       for (i in 1:3) { y[i] ~ dnorm(mu, tau) }
       mu ~ dnorm(0, 0.0001); tau ~ dgamma(0.001, 0.001)
     }";
    let prepared = prepared(text, data("y=1 2 4"));
    let demands = common::demands("mu", "tau");
    let model = Compiled::new(prepared.graph().clone(), &demands).expect("a model");
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    // tau is drawn given mu, which is collapsed and begins far away: a rate of about 3/2 · 10^8.
    let mu = prepared.graph().declared()[0].names[0] == "mu";
    let numbers = if mu { [1e4, 1.0] } else { [1.0, 1e4] };
    let chain = model.chain_at(&numbers, &mut rng).expect("a chain");
    let tau = chain.numbers()[usize::from(mu)];
    // A gamma with shape 1.501 and this rate is below 1e-6 but for 1e-40.
    assert!(tau > 0.0 && tau < 1e-6, "{tau}");
}
