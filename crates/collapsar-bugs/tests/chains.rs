//! Chains have the posterior as their stationary distribution, on every distribution and combinator: what
//! integration by parts says of the log joint holds on their average.

mod common;
mod models;

use collapsar::graph::{Compiled, Demands, Graph, Kind, LeapingChain, Stage, Told};
use common::{climb, data, prepared};
use models::MODELS;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Models with moves that none of the others has: factors and loadings that are scaled together, by themselves and between
/// bounds; labels that much depends on; answers that are scaled with coefficients; and vectors of effects that move with
/// their precision matrix.
const MOVED: &[(&str, &str, &str)] = &[
    (
        "a product of two normals",
        "model { y ~ dnorm(a * b, 2); a ~ dnorm(0.5, 1); b ~ dnorm(0, 0.5) }",
        "y=1.3",
    ),
    (
        "factor analysis",
        "model {
           for (n in 1:6) {
             for (k in 1:2) { x[n,k] ~ dnorm(0, 1) }
             for (d in 1:3) { y[n,d] ~ dnorm(mu[d] + inprod(w[d,], x[n,]), tau[d]) }
           }
           for (d in 1:3) {
             mu[d] ~ dnorm(0, 0.5); tau[d] ~ dgamma(2, 1)
             for (k in 1:2) { w[d,k] ~ dnorm(0, 1) }
           }
         }",
        "y[6,3]=1 1.3 0.8 3 3.3 2.6 0.2 0.9 3 2.2 0.1 -1 0.4 1.7 2 -0.3 1.1 0.6",
    ),
    (
        "coefficients that are in or out",
        "model {
           for (i in 1:6) { y[i] ~ dnorm(b0 + g[1] * b[1] * x[i,1] + g[2] * b[2] * x[i,2], tau) }
           for (j in 1:2) { g[j] ~ dbern(0.4); b[j] ~ dnorm(0, 1) }
           b0 ~ dnorm(0, 0.1)
           tau ~ dgamma(2, 1)
         }",
        "x[6,2]=1 0.9 -1 -1.2 2 1.5 0 0.4 1.5 1 -0.3 0.1; y=2.1 -0.4 3 0.7 1.1 0.5",
    ),
    (
        "a change-point",
        "model {
           for (i in 1:6) { y[i] ~ dnorm(mu[1 + step(i - k - 0.5)], tau) }
           for (j in 1:2) { mu[j] ~ dnorm(0, 0.2) }
           k ~ dcat(p[])
           tau ~ dgamma(2, 1)
         }",
        "y=0.3 -0.4 1.1 1.7 1.4 0.9; p=0.1 0.2 0.2 0.2 0.2 0.1",
    ),
    (
        "item response with discriminations",
        "model {
           for (i in 1:5) {
             theta[i] ~ dnorm(0, 1)
             for (j in 1:3) {
               above[i,j] ~ dinterval(z[i,j], 0)
               z[i,j] ~ dnorm(a[j] * theta[i] + b[j], 1)
             }
           }
           for (j in 1:3) { a[j] ~ dnorm(1, 1) T(0, ); b[j] ~ dnorm(0, 0.5) }
         }",
        "above[5,3]=1 1 0 0 1 0 1 1 1 0 0 1 1 0 0",
    ),
    (
        "answers to two coefficients",
        "model {
           for (i in 1:8) {
             above[i] ~ dinterval(z[i], 0)
             z[i] ~ dnorm(b[1] + b[2] * x[i], 1)
           }
           b[1] ~ dnorm(0.3, 0.5)
           b[2] ~ dnorm(0, 0.2)
         }",
        "above=1 0 1 1 1 0 1 0; x=0.3 -1 2 0.4 1.1 -0.6 -0.2 0.1",
    ),
    (
        "vectors of effects with a precision matrix",
        "model {
           for (i in 1:5) {
             b[i,1:3] ~ dmnorm(mu[], Omega[,])
             for (j in 1:4) { y[i,j] ~ dnorm(b[i,1] + b[i,2] * x[j] + b[i,3] * x[j] * x[j], tau) }
           }
           for (k in 1:3) { mu[k] ~ dnorm(0, 0.1) }
           Omega[1:3,1:3] ~ dwish(R[,], 6)
           tau ~ dgamma(3, 1)
         }",
        "x=-1 0 0.5 1.2; R[3,3]=2 0.3 0.1 0.3 1.5 -0.2 0.1 -0.2 1; \
         y[5,4]=1 1.3 0.8 3 3.3 2.6 0.2 0.9 3 2.2 0.1 -1 0.4 1.7 2 -0.3 1.1 0.6 0.2 0.9",
    ),
];

const SWEEPS: usize = 4_000;
/// Batches whose means are nearly independent.
const BATCHES: usize = 40;

/// Numbers with mean zero under the posterior, by variable: slopes of the log density along a move that
/// keeps the support, or indicators less their conditional probabilities.
fn identities(graph: &Graph, numbers: &mut [f64], out: &mut Vec<f64>) {
    let mut first = 0;
    for declared in graph.declared() {
        let elements = declared.kind.elements();
        for variable in declared.variables() {
            let places = first..first + elements;
            first += elements;
            let before = numbers[places.clone()].to_vec();
            let mut at = |change: &dyn Fn(usize, f64) -> f64| {
                for (place, x) in before.iter().enumerate() {
                    numbers[places.start + place] = change(place, *x);
                }
                let value = graph.ln_joint(numbers);
                numbers[places.clone()].copy_from_slice(&before);
                value
            };
            let h: f64 = 1e-4;
            match declared.kind {
                // Multiplied: the volume grows with the power that counts the numbers.
                Kind::Gamma | Kind::Wishart(_) => {
                    let free = match declared.kind {
                        Kind::Wishart(dim) => (dim * (dim + 1) / 2) as f64,
                        _ => 1.0,
                    };
                    let slope = (at(&|_, x| x * h.exp()) - at(&|_, x| x * (-h).exp())) / (2.0 * h);
                    out.push(slope + free);
                    if let Kind::Wishart(dim) = declared.kind
                        && dim > 1
                    {
                        // (I + t E)' Λ (I + t E) with the first row added to the second: volumes stay.
                        let sheared = |t: f64| {
                            let before = &before;
                            move |place: usize, x: f64| {
                                let (i, j) = (place / dim, place % dim);
                                let row = if i == 1 { before[j] } else { 0.0 };
                                let column = if j == 1 { before[i * dim] } else { 0.0 };
                                let both = if (i, j) == (1, 1) { before[0] } else { 0.0 };
                                x + t * (row + column) + t * t * both
                            }
                        };
                        out.push((at(&sheared(h)) - at(&sheared(-h))) / (2.0 * h));
                    }
                }
                Kind::Gaussian => {
                    let scale = 1e-3 * (1.0 + before[0].abs());
                    let slope = (at(&|_, x| x + scale) - at(&|_, x| x - scale)) / (2.0 * scale);
                    out.push(slope);
                    out.push(before[0] * slope + 1.0);
                }
                Kind::NormalWishart(dim) => {
                    let scale = 1e-3 * (1.0 + before[0].abs());
                    let moved = |by: f64| move |place, x| if place == 0 { x + by } else { x };
                    out.push((at(&moved(scale)) - at(&moved(-scale))) / (2.0 * scale));
                    let grown =
                        |by: f64| move |place, x| if place < dim { x } else { x * by.exp() };
                    let slope = (at(&grown(h)) - at(&grown(-h))) / (2.0 * h);
                    out.push(slope + (dim * (dim + 1) / 2) as f64);
                }
                Kind::Dirichlet(parts) => {
                    // The first part against the others, in the logarithm of their ratio.
                    if parts > 1 && before[0] > 0.0 && before[0] < 1.0 {
                        let odds = |by: f64| {
                            let grown = before[0] * by.exp();
                            let total = grown + 1.0 - before[0];
                            move |place: usize, x: f64| (if place == 0 { grown } else { x }) / total
                        };
                        let slope = (at(&odds(h)) - at(&odds(-h))) / (2.0 * h);
                        out.push(slope + 1.0 - parts as f64 * before[0]);
                    } else {
                        out.push(0.0);
                    }
                }
                Kind::Label(states) => {
                    let logs: Vec<f64> = (0..states).map(|s| at(&|_, _| s as f64)).collect();
                    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    let total: f64 = logs.iter().map(|l| (l - most).exp()).sum();
                    let first = (logs[0] - most).exp() / total;
                    out.push(f64::from(u8::from(before[0] == 0.0)) - first);
                }
                // Bounds have densities of their own, and a Pólya-Gamma variable's is no term: the slopes of what it
                // multiplies tell of it.
                Kind::Bounded | Kind::PolyaGamma => {}
                // Bounds of positive numbers are far away here.
                Kind::Positive { .. } => {
                    let Told::Power(power) = graph.told(variable) else {
                        continue;
                    };
                    let slope = (at(&|_, x| x * h.exp()) - at(&|_, x| x * (-h).exp())) / (2.0 * h);
                    out.push(power * slope + 1.0);
                }
            }
        }
    }
}

/// A model with a point at which chains begin.
fn models() -> impl Iterator<Item = (&'static str, Graph, Compiled)> {
    MODELS.iter().chain(MOVED).map(|(name, text, numbers)| {
        let graph = prepared(text, data(numbers)).graph().clone();
        let model = Compiled::new(graph.clone(), &Demands::default()).expect("a model");
        (*name, graph, model)
    })
}

/// What integration by parts says of draws that does not hold, and how many things were looked at.
fn broken(name: &str, graph: &Graph, mut draw: impl FnMut(&mut Vec<f64>)) -> (Vec<String>, usize) {
    let mut sums: Vec<Vec<f64>> = vec![];
    let (mut state, mut found) = (vec![], vec![]);
    for _ in 0..BATCHES {
        let mut sum: Vec<f64> = vec![];
        for _ in 0..SWEEPS / BATCHES {
            draw(&mut state);
            found.clear();
            identities(graph, &mut state, &mut found);
            sum.resize(found.len(), 0.0);
            sum.iter_mut().zip(&found).for_each(|(sum, x)| *sum += x);
        }
        let count = (SWEEPS / BATCHES) as f64;
        sums.push(sum.iter().map(|x| x / count).collect());
    }
    let mut broken = vec![];
    for place in 0..found.len() {
        let column: Vec<f64> = sums.iter().map(|batch| batch[place]).collect();
        let mean = column.iter().sum::<f64>() / BATCHES as f64;
        let spread: f64 = column.iter().map(|x| (x - mean).powi(2)).sum();
        let error = (spread / (BATCHES * (BATCHES - 1)) as f64).sqrt();
        // Some three hundred means, each of forty batches: one in a thousand beyond 4.2.
        if mean.abs() > 4.5 * error + 1e-7 {
            broken.push(format!("{name}: identity {place} is {mean} ± {error}"));
        }
    }
    (broken, found.len())
}

#[test]
fn chains_have_the_posterior() {
    let (mut all, mut checked) = (vec![], 0);
    for (name, graph, model) in models() {
        let fit = climb(&model, 1, 1e-6);
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let mut chain = match model.chain(&fit.point, &mut rng) {
            Ok(chain) => chain,
            Err(error) => {
                all.push(format!("{name}: {error}"));
                continue;
            }
        };
        for _ in 0..500 {
            chain.sweep(&mut rng).expect("inside the domain");
        }
        let (mut found, looked) = broken(name, &graph, |state| {
            chain.sweep(&mut rng).expect("inside the domain");
            state.clear();
            state.extend_from_slice(chain.numbers());
        });
        all.append(&mut found);
        checked += looked;
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
    assert!(checked > 200, "{checked}");
}

/// Whether leaps would pay or not: of models in which anything can be kept, chains leap.
#[test]
fn leaps_have_the_posterior() {
    let (mut all, mut leaping) = (vec![], 0);
    for (name, graph, model) in models() {
        let fit = climb(&model, 1, 1e-6);
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        let chain = model.chain(&fit.point, &mut rng).expect("a point");
        let seen: Vec<usize> = (0..chain.numbers().len()).collect();
        let mut chain = LeapingChain::new(chain, &seen, false);
        for stage in [Stage::Sweeps, Stage::Leaps] {
            (chain.warm_up(800, &mut rng, || true)).expect("inside the domain");
            LeapingChain::learn(stage, &mut [(&mut chain, &mut rng)]).expect("inside the domain");
        }
        if !chain.leaps() {
            continue;
        }
        leaping += 1;
        let (mut found, _) = broken(name, &graph, |state| {
            chain.sweep(&mut rng).expect("inside the domain");
            state.clear();
            state.extend_from_slice(chain.numbers());
        });
        all.append(&mut found);
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
    assert!(leaping > 20, "{leaping}");
}
