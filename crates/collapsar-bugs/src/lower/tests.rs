//! A model counted from elsewhere is the same model: its log joint at the same numbers.

use std::collections::BTreeSet;

use collapsar::graph::{Centring, Graph};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Effort, Grids, Lowered, Prepared, Work};
use crate::data::{Array, Data};
use crate::elaborate::Elaborated;
use crate::model::Model;

/// Numbers of all variables, and the same ones as a graph that counts them elsewhere has them.
fn numbers(graph: &Graph, centring: &Centring, rng: &mut ChaCha8Rng) -> (Vec<f64>, Vec<f64>) {
    use collapsar::graph::Kind;
    let (mut places, mut moved) = (std::collections::HashMap::new(), vec![]);
    for declared in graph.declared() {
        for variable in declared.variables() {
            places.insert(variable, moved.len());
            let mut draw = || rng.random_range(0.5..1.5);
            match declared.kind {
                Kind::Label(states) => moved.push(rng.random_range(0..states) as f64),
                Kind::Dirichlet(parts) => moved.extend(vec![1.0 / parts as f64; parts]),
                Kind::NormalWishart(dim) => {
                    moved.extend((0..dim).map(|_| draw()));
                    moved
                        .extend((0..dim * dim).map(|k| if k % (dim + 1) == 0 { 2.0 } else { 0.3 }));
                }
                kind => moved.extend((0..kind.elements()).map(|_| draw())),
            }
        }
    }
    let mut plain = moved.clone();
    for ((variable, number), _) in centring.each() {
        let place = places[&variable] + number as usize;
        plain[place] = centring.restored(variable, number, moved[place], |v| moved[places[&v]]);
    }
    (plain, moved)
}

#[test]
fn the_log_joint_is_that_of_the_same_numbers() {
    let y: Vec<f64> = (0..40)
        .map(|i| 1000.0 + f64::from(i * 7 % 11) / 4.0)
        .collect();
    let x: Vec<f64> = (0..40)
        .map(|i| 2000.0 + f64::from(i * 5 % 13) / 4.0)
        .collect();
    let g: Vec<f64> = (0..40).map(|i| f64::from(1 + i % 4)).collect();
    let models = [
        "model { for (i in 1:N) { y[i] ~ dnorm(a + b * x[i], tau) }
           a ~ dnorm(0, 1.0E-6) b ~ dnorm(0, 0.01) tau ~ dgamma(1, 1) }",
        "model { for (i in 1:N) { y[i] ~ dnorm(a[g[i]] + b * x[i], tau) }
           for (j in 1:4) { a[j] ~ dnorm(mu, s) }
           mu ~ dnorm(0, 1.0E-6) b ~ dnorm(0, 0.01) tau ~ dgamma(1, 1) s ~ dgamma(1, 1) }",
        "model { for (i in 1:N) { z[i] ~ dcat(p[]) y[i] ~ dnorm(mu[z[i]], tau[z[i]]) }
           for (k in 1:2) { mu[k] ~ dnorm(0, 1.0E-6) tau[k] ~ dgamma(1, 1) } p[1:2] ~ ddirch(d[]) }",
        "model { for (i in 1:N) { z[i] ~ dcat(p[]) y[i] ~ dnorm(mu[z[i]] + b * x[i], tau) }
           for (k in 1:2) { mu[k] ~ dnorm(0, 1.0E-6) } b ~ dnorm(0, 1) tau ~ dgamma(1, 1) p[1:2] ~ ddirch(d[]) }",
        "model { for (i in 1:20) { w[i,1:2] ~ dmnorm(m[], L[,]) }
           m[1:2] ~ dmnorm(o[], K[,]) L[1:2,1:2] ~ dwish(R[,], 3)
           for (i in 1:2) { for (j in 1:2) { K[i,j] <- 0.1 * L[i,j] } } }",
    ];
    for text in models {
        let mut data = Data::default();
        let mut put = |name: &str, dims: &[usize], values: &[f64]| {
            let (dims, values) = (dims.to_vec(), values.to_vec());
            data.arrays.insert(name.into(), Array { dims, values });
        };
        let arrays: [(&str, &[usize], &[f64]); 8] = [
            ("N", &[1], &[40.0]),
            ("y", &[40], &y),
            ("x", &[40], &x),
            ("g", &[40], &g),
            ("d", &[2], &[1.0, 1.0]),
            ("w", &[20, 2], &y),
            ("o", &[2], &[1000.0, 1000.0]),
            ("R", &[2, 2], &[1.0, 0.0, 0.0, 1.0]),
        ];
        for (name, dims, values) in arrays {
            if text.contains(&format!("{name}[")) || text.contains(&format!(":{name}")) {
                put(name, dims, values);
            }
        }
        let model = Model::parse(text).expect("a model");
        let prepared: Prepared = model.with(data).expect("a graph");
        let centring = &prepared.variables.centring;
        assert!(!centring.is_empty(), "{text}");
        let none = BTreeSet::new();
        let plain = Lowered::new(
            &prepared.model,
            text,
            (&none, &Grids::new()),
            Centring::default(),
            &Effort::default(),
        );
        let Ok(plain) = plain else {
            panic!("{text}: lowered before");
        };
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for _ in 0..5 {
            let (before, after) = numbers(&prepared.graph, centring, &mut rng);
            let [a, b] = [
                plain.graph.ln_joint(&before),
                prepared.graph.ln_joint(&after),
            ];
            // Squares of numbers near 1e3, and of slopes times 2e3: terms of some 1e8, known to 1e-16 of them each.
            assert!((a - b).abs() <= 1e-6 * (1.0 + b.abs()), "{text}: {a} {b}");
        }
    }
}

/// What a text takes until its grids stand, beside what it may.
fn work_of(text: &str) -> (usize, usize) {
    let model = Model::parse(text).expect("a model");
    let elaborated = Elaborated::new(&model.program, Data::default());
    let elaborated = elaborated.expect("a model with its data");
    let mut work = Work::of(&elaborated);
    // Whether there are grids that serve in that time is another question.
    let _ = Prepared::within(elaborated, text, &mut work);
    (work.spent, work.allowed)
}

#[test]
fn small_models_take_no_more_than_they_may() {
    // Passes of models as small as these take what their families take by themselves, and each joint state of the grids is derived.
    let small = |link: &str, effect: &str, level: &str, sd: &str| {
        format!(
            "model {{ y ~ dpois(m) log(m) <- {link} e ~ {effect} a ~ {level} s ~ {sd} t <- pow(s, -2) }}"
        )
    };
    for text in [
        small("a - e", "dnorm(0, t)", "dunif(-5, 5)", "dunif(0, 10)"),
        small(
            "a + e",
            "dnorm(0, pow(s, -3))",
            "dnorm(0, 0.1)",
            "dunif(0, 10)",
        ),
        small("a + e", "dnorm(a, t)", "dgamma(0.1, 1)", "dunif(0, 100)"),
        small("a * e", "dnorm(a, t)", "dunif(-5, 5)", "dunif(0, 1)"),
    ] {
        let (spent, allowed) = work_of(&text);
        assert_eq!(allowed, 100_000_000, "a model without data");
        // The last look may take what its climbs need beyond the least.
        assert!(spent > 0 && spent <= 3 * allowed / 2, "{spent}: {text}");
    }
}
