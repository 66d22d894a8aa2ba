//! Starts that look at the data, and labels too dense to be summed exactly.

mod common;

use collapsar::graph::{Compiled, Demands, PosteriorMarginal, Role};
use collapsar::{Direction, Driver, Fit, Stop};
use collapsar_bugs::Data;
use common::{compiled, data, marginals, prepared, put};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const COMMUNITIES: &str = "model {
  for (i in 1:N) { z[i] ~ dcat(pi[]) }
  for (i in 2:N) { for (j in 1:(i-1)) { A[i,j] ~ dbern(B[z[i], z[j]]) } }
  pi[1:K] ~ ddirch(a[])
  for (k in 1:K) { for (l in 1:K) { B[k,l] ~ dbeta(1, 1) } }
}";

/// Links between nodes, of which every `groups`-th is of one community.
fn network(nodes: usize, groups: usize, seed: u64) -> (Vec<f64>, Data) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut links = vec![0.0; nodes * nodes];
    for i in 0..nodes {
        for j in 0..i {
            let p = if i % groups == j % groups { 0.6 } else { 0.1 };
            links[i * nodes + j] = f64::from(u8::from(rng.random::<f64>() < p));
        }
    }
    let mut data = data(&format!("N={nodes}; K={groups}"));
    put(&mut data, "a", &[groups], &vec![1.0; groups]);
    put(&mut data, "A", &[nodes, nodes], &links);
    (links, data)
}

fn climb(model: &Compiled, seed: u64) -> Fit {
    let (start, passes) = model.start_from_data(seed).expect("a start");
    Driver::new(model, Direction::Auto)
        .stop(Stop::Gain(1e-8) | Stop::Passes(20_000))
        .spent(passes)
        .run(start)
        .expect("a run")
}

/// The highest of several climbs.
fn best(model: &Compiled, starts: u64) -> Fit {
    let fits = (0..starts).map(|seed| climb(model, seed));
    let best = fits.max_by(|a, b| a.point.bound.total_cmp(&b.point.bound));
    best.expect("a climb")
}

/// ln of the number of orders: a table from 0 on.
fn ln_factorials(most: usize) -> Vec<f64> {
    let mut table = vec![0.0];
    for n in 1..=most {
        table.push(table[n - 1] + (n as f64).ln());
    }
    table
}

/// The evidence of a model of two communities, by a walk over all assignments that moves one node at a time.
fn evidence(links: &[f64], nodes: usize) -> f64 {
    let ln = ln_factorials(nodes * nodes);
    let mut z = vec![0_usize; nodes];
    // Links and their absences by communities of the later and the earlier node.
    let mut counts = [[[0_i32; 2]; 2]; 2];
    for i in 0..nodes {
        for j in 0..i {
            counts[0][0][links[i * nodes + j] as usize] += 1;
        }
    }
    let mut second = 0;
    let (mut largest, mut sum) = (f64::NEG_INFINITY, 0.0);
    for step in 1..=1_u64 << nodes {
        // ∫ p^a (1-p)^b dp = a! b! / (a+b+1)!, for each rate and for the weights of communities.
        let beta = |a: usize, b: usize| ln[a] + ln[b] - ln[a + b + 1];
        let mut value = beta(second, nodes - second);
        for row in &counts {
            for pair in row {
                value += beta(pair[0] as usize, pair[1] as usize);
            }
        }
        if value > largest {
            sum = sum * (largest - value).exp() + 1.0;
            largest = value;
        } else {
            sum += (value - largest).exp();
        }
        let node = step.trailing_zeros() as usize;
        if node >= nodes {
            break;
        }
        let (old, new) = (z[node], 1 - z[node]);
        for other in (0..nodes).filter(|&other| other != node) {
            let link = links[node.max(other) * nodes + node.min(other)] as usize;
            let place = |own: usize| {
                if node > other {
                    (own, z[other])
                } else {
                    (z[other], own)
                }
            };
            let ((a, b), (c, d)) = (place(old), place(new));
            counts[a][b][link] -= 1;
            counts[c][d][link] += 1;
        }
        second = second + new - old;
        z[node] = new;
    }
    largest + sum.ln()
}

/// Just too many nodes for a junction tree, few enough to be enumerated.
#[test]
fn labels_apart_bound_the_evidence() {
    let (links, data) = network(24, 2, 1);
    let model = compiled(COMMUNITIES, data);
    let class = (model.choice().classes.iter()).find(|class| class.names == ["z"]);
    let class = class.expect("labels");
    assert!(class.parted && class.role == Role::Own && class.blocks == 24);
    let (bound, evidence) = (best(&model, 8).point.bound, evidence(&links, 24));
    assert!(bound < evidence, "{bound} {evidence}");
    // Either order of the communities is an optimum, which costs ln 2; one by one, labels and rates are foreseen
    // too surely, which costs a few nats more.
    assert!(bound > evidence - 6.0, "{bound} {evidence}");
}

#[test]
fn few_labels_are_summed_exactly() {
    let model = compiled(COMMUNITIES, network(6, 2, 1).1);
    assert!(model.choice().classes.iter().all(|class| !class.parted));
}

#[test]
fn communities_are_recovered() {
    for (nodes, groups) in [(40, 2), (90, 3)] {
        let prepared = prepared(COMMUNITIES, network(nodes, groups, 7).1);
        let model = prepared.compile(&Demands::default()).expect("a choice");
        let fit = best(&model, 8);
        assert!(fit.outcome.converged());
        let found = marginals(&prepared, &model.variational_posterior(&fit.point));
        let state = |node: usize| match &found[&format!("z[{}]", node + 1)] {
            PosteriorMarginal::States(p) => (0..groups).max_by(|&a, &b| p[a].total_cmp(&p[b])),
            other => panic!("{other:?}"),
        };
        // The first nodes are of different communities, and all others of one of theirs.
        let first: Vec<Option<usize>> = (0..groups).map(state).collect();
        let right = (0..nodes).filter(|&node| state(node) == first[node % groups]);
        assert_eq!(right.count(), nodes, "{groups} groups");
    }
}

/// Three groups far apart: every start that looks at the data has one datum of each, most random ones do not.
#[test]
fn starts_see_groups() {
    let text = "model {
      for (i in 1:N) { z[i] ~ dcat(p[]); y[i] ~ dnorm(mu[z[i]], tau[z[i]]) }
      p[1:3] ~ ddirch(a[])
      for (k in 1:3) { mu[k] ~ dnorm(0, 1.0E-10); tau[k] ~ dgamma(0.01, 0.01) }
    }";
    // Whatever the scale.
    for scale in [1e-3, 1.0, 1e3] {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let y: Vec<f64> = (0..150_u32)
            .map(|i| scale * (f64::from(i % 3) * 10.0 + rng.random::<f64>()))
            .collect();
        let mut numbers = data("N=150; a=1 1 1");
        put(&mut numbers, "y", &[150], &y);
        let model = compiled(text, numbers);
        let bounds: Vec<f64> = (0..12)
            .map(|seed| climb(&model, seed).point.bound)
            .collect();
        let highest = bounds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // One in four is random.
        let reached = bounds.iter().filter(|&&bound| bound > highest - 1.0);
        assert!(reached.count() >= 9, "{scale}: {bounds:?}");
    }
}
