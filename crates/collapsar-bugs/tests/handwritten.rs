//! Two derivations agree: the graph's mixture, topics and quantification and the hand-written ones.
//!
//! Messages differ between the two, but both make logits of labels that are linear in them, and
//! bound, gradient and curvature depend on the logits alone. So the graph is placed where its
//! labels have the hand-written model's responsibilities, and what does not depend on coordinates
//! is compared.

mod common;

use std::sync::Arc;

use collapsar::graph::{Compiled, Demands};
use collapsar::laws::model::bound;
use collapsar::mixture::{Covariance, LevelColumn, Mixture, Observations, Scale, Settings, Start};
use collapsar::quant::{Compression, Quant, ReadsBuilder};
use collapsar::special::{digamma, ln_gamma};
use collapsar::topics::{Alpha, Beta, Corpus, Topics};
use collapsar::{Collapsed, Direction, Driver, Point, Potential, Stop};
use collapsar_bugs::{Origin, Prepared};
use common::{data, prepared, put};
use nalgebra::{DMatrix, DVector};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Both sides are sums of some hundred terms: this is a million roundings of them.
const TOLERANCE: f64 = 1e-10;

fn assert_near(what: &str, graph: f64, hand: f64, size: f64) {
    assert!(
        (graph - hand).abs() <= TOLERANCE * size.max(1.0),
        "{what}: {graph} from the graph, {hand} by hand"
    );
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn moved(at: &[f64], along: &[f64]) -> Vec<f64> {
    at.iter().zip(along).map(|(m, d)| m + d).collect()
}

/// Logarithms of probabilities, each label's relative to their mean over its possible states.
fn centred(rows: &[Vec<f64>]) -> Vec<f64> {
    let mut out = vec![];
    for row in rows {
        let possible = || row.iter().filter(|p| **p > 0.0).map(|p| p.ln());
        let mean = possible().sum::<f64>() / possible().count() as f64;
        out.extend(possible().map(|ln| ln - mean));
    }
    out
}

fn difference(a: &[Vec<f64>], b: &[Vec<f64>]) -> Vec<f64> {
    let (a, b) = (centred(a), centred(b));
    a.iter().zip(&b).map(|(a, b)| a - b).collect()
}

/// The model with the labels `z` that are compared.
struct Labelled {
    model: Compiled,
    labels: Vec<u32>,
}

impl Labelled {
    fn new(prepared: &Prepared) -> Self {
        let quantities = prepared.quantities().expect("quantities");
        let label = |origin: &Origin| match origin {
            Origin::Label(variable, _) => Some(*variable),
            _ => None,
        };
        Self {
            model: prepared.compile(&Demands::default()).expect("a choice"),
            labels: quantities.iter().filter_map(|q| label(&q.origin)).collect(),
        }
    }

    fn responsibilities(&self, messages: &[f64]) -> Vec<Vec<f64>> {
        let mut point = Point {
            messages: messages.to_vec(),
            statistics: vec![0.0; messages.len()],
            ..Point::default()
        };
        let local = self.model.local();
        local
            .value_and_gradient(messages, &mut point.statistics)
            .expect("inside the domain");
        let variational = self.model.variational_posterior(&point);
        let marginals = variational.marginals().expect("marginals");
        let mut all = vec![vec![]; self.labels.len()];
        for (states, &label) in all.iter_mut().zip(&self.labels) {
            if let Some(collapsar::graph::PosteriorMarginal::States(found)) = marginals.of(label, 0)
            {
                states.clone_from(found);
            }
        }
        variational
            .each_label(|variable, states| {
                if let Some(place) = self.labels.iter().position(|&label| label == variable) {
                    all[place] = states.to_vec();
                }
            })
            .expect("labels");
        all
    }

    /// Messages at which labels have these responsibilities, by least squares.
    fn at(&self, responsibilities: &[Vec<f64>]) -> Vec<f64> {
        let dim = self.model.local().dim();
        let mut messages = vec![0.0; dim];
        let base = self.responsibilities(&messages);
        let mut columns = vec![];
        for j in 0..dim {
            messages[j] = 1.0;
            columns.push(DVector::from_vec(difference(
                &self.responsibilities(&messages),
                &base,
            )));
            messages[j] = 0.0;
        }
        let inverse = DMatrix::from_columns(&columns)
            .pseudo_inverse(1e-9)
            .expect("a tolerance");
        // The second and third rounds remove the first one's rounding.
        for _ in 0..3 {
            let here = self.responsibilities(&messages);
            let step = &inverse * DVector::from_vec(difference(responsibilities, &here));
            messages = moved(&messages, step.as_slice());
        }
        let rest = difference(&self.responsibilities(&messages), responsibilities);
        let worst = rest.iter().fold(0.0, |worst: f64, x| worst.max(x.abs()));
        assert!(
            worst < 1e-10,
            "the graph's labels miss their logits by {worst:e}"
        );
        messages
    }
}

/// Bound, gradient, its squared norm and the curvature along it, g'JFJg.
struct Seen {
    bound: f64,
    gradient: Vec<f64>,
    norm: f64,
    curvature: f64,
}

fn seen<M: Collapsed>(model: &M, messages: &[f64]) -> Seen {
    let dim = messages.len();
    let (mut statistics, mut gradient) = (vec![0.0; dim], vec![0.0; dim]);
    let (local, posterior) = (model.local(), model.posterior());
    local
        .value_and_gradient(messages, &mut statistics)
        .expect("a point");
    posterior
        .value_and_gradient(&statistics, &mut gradient)
        .expect("a point");
    gradient.iter_mut().zip(messages).for_each(|(g, m)| *g -= m);
    let (mut dual, mut image) = (vec![0.0; dim], vec![0.0; dim]);
    local
        .hessian_product(messages, &gradient, &mut dual)
        .expect("a point");
    posterior
        .hessian_product(&statistics, &dual, &mut image)
        .expect("a point");
    Seen {
        bound: bound(model, messages).expect("a point"),
        norm: dot(&gradient, &dual),
        curvature: dot(&dual, &image),
        gradient,
    }
}

/// Compares a hand-written model at `messages` with the graph at the same responsibilities.
fn compare<M: Collapsed>(
    graph: &Labelled,
    hand: &M,
    messages: &[f64],
    responsibilities: impl Fn(&[f64]) -> Vec<Vec<f64>>,
) -> Vec<f64> {
    let here = responsibilities(messages);
    let there = graph.at(&here);
    let (a, b) = (seen(&graph.model, &there), seen(hand, messages));
    assert_near("bound", a.bound, b.bound, b.bound.abs());
    assert_near("squared norm", a.norm, b.norm, b.norm);
    assert_near("curvature", a.curvature, b.curvature, b.curvature);
    // Small steps along the gradient: whole ones leave nothing of some states.
    let step = |g: &[f64]| -> Vec<f64> { g.iter().map(|g| 1e-2 * g).collect() };
    let by_graph = difference(
        &graph.responsibilities(&moved(&there, &step(&a.gradient))),
        &graph.responsibilities(&there),
    );
    let by_hand = difference(
        &responsibilities(&moved(messages, &step(&b.gradient))),
        &here,
    );
    let largest = by_hand.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    for (a, b) in by_graph.iter().zip(&by_hand) {
        assert!(
            (a - b).abs() <= 1e-9 * largest.max(1e-3),
            "logits move by {a} and {b}"
        );
    }
    there
}

/// Climbs both from one q(Z): a rule's steps do not depend on coordinates.
fn climbs_agree<M: Collapsed>(graph: &Labelled, hand: &M, there: &[f64], here: &[f64]) {
    fn trace<M: Collapsed>(model: &M, direction: Direction, start: &[f64]) -> Vec<f64> {
        let mut bounds = vec![];
        Driver::new(model, direction)
            .stop(Stop::Iterations(8))
            .observe(|step| {
                bounds.push(step.bound);
                std::ops::ControlFlow::Continue(())
            })
            .run(start.to_vec())
            .expect("a run");
        bounds
    }
    for direction in [Direction::Vbem, Direction::Fr, Direction::Pr, Direction::Hs] {
        let (a, b) = (
            trace(&graph.model, direction, there),
            trace(hand, direction, here),
        );
        assert_eq!(a.len(), b.len(), "{direction}");
        for (a, b) in a.iter().zip(&b) {
            // Rounding grows with the steps.
            assert!((a - b).abs() <= 1e-8 * b.abs(), "{direction}: {a} and {b}");
        }
    }
}

/// The mixture by both derivations, with the labels of some rows known.
fn mixtures_agree(labels: &[Option<usize>]) {
    let text = "model {
        for (n in 1:14) { z[n] ~ dcat(pi[]); y[n,1:2] ~ dmnorm(mu[z[n],], Lambda[z[n],,]) }
        pi[1:3] ~ ddirch(alpha[])
        for (k in 1:3) {
          mu[k,1:2] ~ dmnorm(m[], 0.3 * Lambda[k,,])
          Lambda[k,1:2,1:2] ~ dwish(R[,], 3.5)
        }
    }";
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let values: Vec<f64> = (0..28)
        .map(|i| 3.0 + f64::from(i % 3) + rng.random_range(-1.5..1.5))
        .collect();
    let mut given = data("alpha=0.7 0.7 0.7; m=3 4; R[2,2]=2 0.3 0.3 1");
    put(&mut given, "y", &[14, 2], &values);
    if labels.iter().any(Option::is_some) {
        let z = labels
            .iter()
            .map(|z| z.map_or(f64::NAN, |z| z as f64 + 1.0));
        put(&mut given, "z", &[14], &z.collect::<Vec<_>>());
    }
    let graph = Labelled::new(&prepared(text, given));
    let mut settings = Settings::new(3);
    settings.concentration = Some(0.7);
    settings.location = Some(vec![3.0, 4.0]);
    settings.mean_precision = Some(0.3);
    settings.degrees_of_freedom = Some(3.5);
    settings.scale = Some(Scale::Matrix(vec![2.0, 0.3, 0.3, 1.0]));
    let observed = Observations {
        values: &values,
        columns: 2,
        weights: None,
        labels: Some(labels),
    };
    let hand = Mixture::of(observed, &settings).expect("a mixture");
    let responsibilities = |messages: &[f64]| {
        let mut rows = vec![];
        // Labels that are known are no labels of the graph.
        hand.responsibilities(messages, |n, row| {
            if labels[n].is_none() {
                rows.push(row.to_vec());
            }
        })
        .expect("finite densities");
        rows
    };
    for seed in 0..5 {
        let (mut messages, _) = hand.start(&Start::Random, seed).expect("a start");
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for message in &mut messages {
            *message += rng.random_range(-0.2..0.2);
        }
        let there = compare(&graph, &hand, &messages, responsibilities);
        climbs_agree(&graph, &hand, &there, &messages);
    }
}

#[test]
fn the_mixture_is_the_mixture() {
    mixtures_agree(&[None; 14]);
}

#[test]
fn the_mixture_with_known_labels_is_the_mixture_with_known_labels() {
    let mut labels = [None; 14];
    for (n, label) in [(0, 2), (3, 0), (4, 0), (9, 1), (13, 2)] {
        labels[n] = Some(label);
    }
    mixtures_agree(&labels);
}

#[test]
fn the_mixture_with_levels_is_the_mixture_with_levels() {
    let text = "model {
        for (n in 1:14) {
          z[n] ~ dcat(pi[]); y[n] ~ dnorm(mu[z[n]], lambda[z[n]])
          a[n] ~ dcat(P[z[n],]); b[n] ~ dcat(Q[z[n],])
        }
        pi[1:3] ~ ddirch(alpha[])
        for (k in 1:3) {
          mu[k] ~ dnorm(3, tau[k]); tau[k] <- 0.3 * lambda[k]; lambda[k] ~ dgamma(1.75, 1.2)
          P[k,1:4] ~ ddirch(four[]); Q[k,1:2] ~ ddirch(two[])
        }
    }";
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let values: Vec<f64> = (0..14)
        .map(|i| 3.0 + f64::from(i % 3) + rng.random_range(-1.5..1.5))
        .collect();
    let mut column = |levels: usize| LevelColumn {
        levels,
        codes: (0..14)
            .map(|_| rng.random_range(0..levels) as u32)
            .collect(),
    };
    let categories = [column(4), column(2)];
    let mut given = data("alpha=0.7 0.7 0.7; four=0.6 0.6 0.6 0.6; two=0.6 0.6");
    put(&mut given, "y", &[14], &values);
    for (name, column) in ["a", "b"].into_iter().zip(&categories) {
        let codes = column.codes.iter().map(|code| f64::from(*code) + 1.0);
        put(&mut given, name, &[14], &codes.collect::<Vec<_>>());
    }
    let graph = Labelled::new(&prepared(text, given));
    let settings = Settings {
        covariance: Covariance::Diagonal,
        concentration: Some(0.7),
        location: Some(vec![3.0]),
        mean_precision: Some(0.3),
        degrees_of_freedom: Some(3.5),
        scale: Some(Scale::Identity(2.4)),
        level_concentration: Some(0.6),
        ..Settings::new(3)
    };
    let observed = Observations {
        values: &values,
        columns: 1,
        weights: None,
        labels: None,
    };
    let hand = Mixture::mixed(observed, &categories, &settings).expect("a mixture");
    let responsibilities = |messages: &[f64]| {
        let mut rows = vec![];
        let keep = hand.responsibilities(messages, |_, row| rows.push(row.to_vec()));
        keep.expect("finite densities");
        rows
    };
    for seed in 0..5 {
        let (mut messages, _) = hand.start(&Start::Random, seed).expect("a start");
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for message in &mut messages {
            *message += rng.random_range(-0.2..0.2);
        }
        let there = compare(&graph, &hand, &messages, responsibilities);
        climbs_agree(&graph, &hand, &there, &messages);
    }
}

#[test]
fn quantification_is_quantification() {
    let text = "model {
        for (i in 1:6) { z[i] ~ dcat(theta[]); one[i] ~ dbern(P[i,z[i]]) }
        theta[1:4] ~ ddirch(alpha[])
    }";
    let p = [
        [0.5, 0.1, 0.0, 0.0],
        [0.2, 0.2, 0.2, 0.0],
        [0.0, 0.9, 0.3, 0.0],
        [0.4, 0.0, 0.0, 0.0],
        [0.01, 0.3, 0.6, 0.2],
        [0.0, 0.0, 0.05, 0.7],
    ];
    let mut given = data("one=1 1 1 1 1 1; alpha=0.6 0.6 0.6 0.6");
    put(&mut given, "P", &[6, 4], &p.concat());
    let graph = Labelled::new(&prepared(text, given));
    let compression = Compression {
        cut: 0.0,
        grain: 0.0,
    };
    let mut builder = ReadsBuilder::new(4, compression).expect("compression");
    for row in &p {
        let alignments: Vec<(u32, f64)> = (0..4)
            .filter(|&m| row[m as usize] > 0.0)
            .map(|m| (m, f64::ln(row[m as usize])))
            .collect();
        builder.push(&alignments, 1.0).expect("a read");
    }
    let reads = builder.finish().expect("reads");
    let hand = Quant::whole(&reads, 0.6);
    let responsibilities = |messages: &[f64]| -> Vec<Vec<f64>> {
        let messages = reads.by_transcript(messages);
        let weights = |row: &[f64; 4]| -> Vec<f64> {
            let weights: Vec<f64> = (0..4).map(|m| row[m] * messages[m].exp()).collect();
            let total: f64 = weights.iter().sum();
            weights.iter().map(|w| w / total).collect()
        };
        p.iter().map(weights).collect()
    };
    for seed in 0..5 {
        let messages = hand.start(seed);
        let there = compare(&graph, &hand, &messages, responsibilities);
        climbs_agree(&graph, &hand, &there, &messages);
    }
}

/// Topics by hand have each document's messages at their optimum: so has the graph, at the
/// responsibilities that a plain loop finds.
#[test]
fn topics_are_topics() {
    const K: usize = 3;
    let (docs, words) = (
        [0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2],
        [0, 1, 0, 3, 2, 3, 1, 0, 2, 2, 3, 1],
    );
    let (alpha, beta) = (0.8, 0.4);
    let text = "model {
        for (d in 1:3) { theta[d,1:3] ~ ddirch(alpha[]) }
        for (k in 1:3) { phi[k,1:4] ~ ddirch(beta[]) }
        for (i in 1:12) { z[i] ~ dcat(theta[doc[i],]); w[i] ~ dcat(phi[z[i],]) }
    }";
    let mut given = data("alpha=0.8 0.8 0.8; beta=0.4 0.4 0.4 0.4");
    let from_one = |x: &[usize; 12]| x.map(|x| x as f64 + 1.0);
    put(&mut given, "doc", &[12], &from_one(&docs));
    put(&mut given, "w", &[12], &from_one(&words));
    let graph = Labelled::new(&prepared(text, given));

    let (mut starts, mut columns, mut counts) = (vec![0], vec![], vec![]);
    for d in 0..3 {
        for w in 0..4 {
            let count = (0..12).filter(|&i| (docs[i], words[i]) == (d, w)).count();
            if count > 0 {
                columns.push(w as u32);
                counts.push(count as f32);
            }
        }
        starts.push(columns.len());
    }
    let corpus = Corpus::new(starts, columns, counts, 4).expect("a corpus");
    let mut settings = collapsar::topics::Settings::new(K);
    settings.alpha = Alpha::Symmetric(alpha);
    settings.beta = Beta::Given(beta);
    let hand = Topics::new(Arc::new(corpus), &settings).expect("topics");

    for seed in 0..5 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let messages: Vec<f64> = (0..4 * K).map(|_| rng.random_range(-1.0..1.0)).collect();
        let mut proportions = [[0.0; K]; 3];
        let mut rows = vec![vec![0.0; K]; 12];
        for _ in 0..5000 {
            for (i, row) in rows.iter_mut().enumerate() {
                for k in 0..K {
                    row[k] = f64::exp(proportions[docs[i]][k] + messages[words[i] * K + k]);
                }
                let total: f64 = row.iter().sum();
                for r in row.iter_mut() {
                    *r /= total;
                }
            }
            for (d, proportions) in proportions.iter_mut().enumerate() {
                for k in 0..K {
                    let own = (0..12).filter(|&i| docs[i] == d).map(|i| rows[i][k]);
                    proportions[k] = digamma(alpha + own.sum::<f64>());
                }
            }
        }
        let there = graph.at(&rows);
        let (a, b) = (seen(&graph.model, &there), seen(&hand, &messages));
        assert_near("bound", a.bound, b.bound, b.bound.abs());
        // Documents are settled, so that words move by the gradient of their topics alone.
        let step: Vec<f64> = a.gradient.iter().map(|g| 1e-2 * g).collect();
        let by_graph = difference(&graph.responsibilities(&moved(&there, &step)), &rows);
        let by_hand: Vec<Vec<f64>> = (rows.iter().zip(&words))
            .map(|(row, &w)| {
                let moved = row.iter().zip(&b.gradient[w * K..]);
                moved.map(|(r, g)| r * f64::exp(1e-2 * g)).collect()
            })
            .collect();
        for (a, b) in by_graph.iter().zip(difference(&by_hand, &rows)) {
            assert!((a - b).abs() <= 1e-10, "logits move by {a} and {b}");
        }
        // And the bound is the one of its definition.
        let dirichlet = |prior: f64, counts: &[f64]| {
            let total: f64 = prior * counts.len() as f64;
            let parts = counts.iter().map(|n| ln_gamma(prior + n) - ln_gamma(prior));
            parts.sum::<f64>() + ln_gamma(total) - ln_gamma(total + counts.iter().sum::<f64>())
        };
        let (mut theta, mut phi) = ([[0.0; K]; 3], [[0.0; 4]; K]);
        let mut entropy = 0.0;
        for (i, row) in rows.iter().enumerate() {
            for (k, r) in row.iter().enumerate() {
                theta[docs[i]][k] += r;
                phi[k][words[i]] += r;
                entropy -= r * r.ln();
            }
        }
        let plain = entropy
            + theta.iter().map(|n| dirichlet(alpha, n)).sum::<f64>()
            + phi.iter().map(|n| dirichlet(beta, n)).sum::<f64>();
        assert_near("plain bound", a.bound, plain, plain.abs());
    }
}
