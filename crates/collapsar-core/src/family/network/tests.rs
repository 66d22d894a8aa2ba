//! Networks against enumeration, chains against forward-backward, and the laws of potentials.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::elimination::eliminate;
use super::{Network, Table};
use crate::collapsed::Potential;
use crate::error::Error;
use crate::laws;

fn table(scope: &[u32]) -> Table {
    Table {
        scope: scope.to_vec(),
        support: None,
    }
}

fn entry(states: &[usize], scope: &[u32], assignment: &[usize]) -> usize {
    scope.iter().fold(0, |entry, &v| {
        entry * states[v as usize] + assignment[v as usize]
    })
}

/// The value, the means and the marginals, by a sum over all assignments.
fn enumerated(
    states: &[usize],
    tables: &[Table],
    natural: &[f64],
) -> Option<(f64, Vec<f64>, Vec<Vec<f64>>)> {
    let mut assignment = vec![0; states.len()];
    let mut all = Vec::new();
    loop {
        let (mut sum, mut start, mut hits) = (0.0, 0, Vec::new());
        for table in tables {
            let at = entry(states, &table.scope, &assignment);
            let allowed = table.support.as_ref().is_none_or(|support| support[at]);
            sum += if allowed {
                natural[start + at]
            } else {
                f64::NEG_INFINITY
            };
            hits.push(start + at);
            start += table
                .scope
                .iter()
                .map(|&v| states[v as usize])
                .product::<usize>();
        }
        all.push((sum, hits, assignment.clone()));
        let Some(v) = (0..states.len()).find(|&v| assignment[v] + 1 < states[v]) else {
            break;
        };
        assignment[v] += 1;
        assignment[..v].fill(0);
    }
    let largest = all
        .iter()
        .fold(f64::NEG_INFINITY, |m, (sum, ..)| m.max(*sum));
    if largest == f64::NEG_INFINITY {
        return None;
    }
    let total: f64 = all.iter().map(|(sum, ..)| (sum - largest).exp()).sum();
    let mut means = vec![0.0; natural.len()];
    let mut marginals: Vec<Vec<f64>> = states.iter().map(|&n| vec![0.0; n]).collect();
    for (sum, hits, assignment) in all {
        let p = (sum - largest).exp() / total;
        for hit in hits {
            means[hit] += p;
        }
        for (v, &state) in assignment.iter().enumerate() {
            marginals[v][state] += p;
        }
    }
    Some((largest + total.ln(), means, marginals))
}

/// Up to seven variables of one to four states, tables of none to three of them, some entries without
/// support; loops, several pieces and variables without tables among them.
fn random_network(seed: u64, zeros: f64) -> (Vec<usize>, Vec<Table>, Vec<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let variables = rng.random_range(1..=7_usize);
    let states: Vec<usize> = (0..variables).map(|_| rng.random_range(1..=4)).collect();
    let mut tables = Vec::new();
    let mut natural = Vec::new();
    for _ in 0..rng.random_range(1..=8) {
        let mut scope: Vec<u32> = Vec::new();
        for _ in 0..rng.random_range(0..=3) {
            let v = rng.random_range(0..variables as u32);
            if !scope.contains(&v) {
                scope.push(v);
            }
        }
        let entries: usize = scope.iter().map(|&v| states[v as usize]).product();
        natural.extend((0..entries).map(|_| rng.random_range(-3.0..3.0)));
        let support = rng
            .random_bool(0.5)
            .then(|| (0..entries).map(|_| !rng.random_bool(zeros)).collect());
        tables.push(Table { scope, support });
    }
    (states, tables, natural)
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * (1.0 + b.abs())
}

fn agrees(states: &[usize], tables: &[Table], natural: &[f64]) -> Result<bool, String> {
    let network = Network::new(states.to_vec(), tables.to_vec()).map_err(|e| e.to_string())?;
    let mut gradient = vec![f64::NAN; natural.len()];
    let found = network.value_and_gradient(natural, &mut gradient);
    let Some((value, means, marginals)) = enumerated(states, tables, natural) else {
        return match found {
            Err(Error::Domain { .. }) => Ok(false),
            other => Err(format!("{other:?} without support")),
        };
    };
    let found = found.map_err(|e| e.to_string())?;
    // A few hundred roundings.
    if !close(found, value, 1e-13) {
        return Err(format!("value {found}, enumerated {value}"));
    }
    let found = network.marginals(natural).map_err(|e| e.to_string())?;
    let pairs = gradient.iter().zip(&means);
    for (a, b) in pairs.chain(found.iter().flatten().zip(marginals.iter().flatten())) {
        if !close(*a, *b, 1e-13) || (*b == 0.0 && *a != 0.0) {
            return Err(format!("probability {a}, enumerated {b}"));
        }
    }
    Ok(true)
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(7),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(512))]

    #[test]
    fn enumeration(seed: u64, zeros in 0.0..0.5) {
        let (states, tables, natural) = random_network(seed, zeros);
        agrees(&states, &tables, &natural).map_err(TestCaseError::fail)?;
    }

    /// What is never read may be anything; what never occurs may be given as -∞ too.
    #[test]
    fn support_and_infinity_agree(seed: u64) {
        let (states, tables, mut natural) = random_network(seed, 0.3);
        let network = Network::new(states.clone(), tables.clone()).unwrap();
        let mut without = tables.clone();
        let mut infinite = natural.clone();
        for (index, table) in without.iter_mut().enumerate() {
            if let Some(support) = table.support.take() {
                for (at, allowed) in network.parameters(index).zip(support) {
                    if !allowed {
                        natural[at] = f64::NAN;
                        infinite[at] = f64::NEG_INFINITY;
                    }
                }
            }
        }
        let plain = Network::new(states, without).unwrap();
        let mut means = [vec![0.0; natural.len()], vec![0.0; natural.len()]];
        let a = network.value_and_gradient(&natural, &mut means[0]);
        let b = plain.value_and_gradient(&infinite, &mut means[1]);
        prop_assert_eq!(a.is_ok(), b.is_ok());
        if let (Ok(a), Ok(b)) = (a, b) {
            prop_assert_eq!(a, b);
            prop_assert_eq!(&means[0], &means[1]);
            let along: Vec<f64> = (0..natural.len()).map(|i| (i as f64).sin()).collect();
            let mut products = means.clone();
            network.hessian_product(&natural, &along, &mut products[0]).unwrap();
            plain.hessian_product(&infinite, &along, &mut products[1]).unwrap();
            prop_assert_eq!(&products[0], &products[1]);
            prop_assert!(products[0].iter().all(|x| x.is_finite()));
        }
    }
}

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn laws_of_potentials(seed: u64) {
        let (states, tables, natural) = random_network(seed, 0.1);
        let network = Network::new(states, tables).unwrap();
        if network.value_and_gradient(&natural, &mut vec![0.0; natural.len()]).is_ok() {
            laws::conforms(&network, &natural, seed).map_err(TestCaseError::fail)?;
        }
    }

    /// Entry by entry: the Hessian is the covariance of the indicators.
    #[test]
    fn hessian_is_the_covariance(seed: u64) {
        let (states, tables, natural) = random_network(seed, 0.1);
        let network = Network::new(states.clone(), tables.clone()).unwrap();
        let Some((_, means, _)) = enumerated(&states, &tables, &natural) else { return Ok(()) };
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let along: Vec<f64> = natural.iter().map(|_| rng.random_range(-1.0..1.0)).collect();
        let mut product = vec![0.0; natural.len()];
        network.hessian_product(&natural, &along, &mut product).unwrap();
        // Cov(u_i, ⟨u, d⟩) is the slope of the mean; here by central differences of the enumeration.
        let step = 1e-5;
        let moved = |by: f64| -> Vec<f64> {
            natural.iter().zip(&along).map(|(x, d)| x + by * d).collect()
        };
        let up = enumerated(&states, &tables, &moved(step)).unwrap().1;
        let down = enumerated(&states, &tables, &moved(-step)).unwrap().1;
        for i in 0..means.len() {
            let slope = (up[i] - down[i]) / (2.0 * step);
            // The rounding of the means over the step; its square is less.
            prop_assert!((slope - product[i]).abs() < 1e-9, "{} and {}", slope, product[i]);
        }
    }
}

#[test]
fn loops_pieces_and_lone_variables() {
    // A ring of five, a piece of two, a variable without tables and a constant.
    let states = vec![2, 3, 2, 3, 2, 4, 2, 5];
    let tables: Vec<Table> = [
        &[0, 1][..],
        &[1, 2],
        &[2, 3],
        &[3, 4],
        &[4, 0],
        &[6, 5],
        &[],
        &[5],
        &[2, 0, 4],
    ]
    .map(table)
    .to_vec();
    let size: usize = tables
        .iter()
        .map(|t| {
            t.scope
                .iter()
                .map(|&v| states[v as usize])
                .product::<usize>()
        })
        .sum();
    let natural: Vec<f64> = (0..size).map(|i| 2.0 * (i as f64 * 1.7).sin()).collect();
    assert_eq!(agrees(&states, &tables, &natural), Ok(true));
    // Log-potentials of hundreds, whose exponentials are beyond the range of numbers.
    let huge: Vec<f64> = natural.iter().map(|x| 500.0 * x).collect();
    assert_eq!(agrees(&states, &tables, &huge), Ok(true));
}

/// A chain with scaled forward and backward probabilities, as the textbook has them.
fn forward_backward(k: usize, unary: &[f64], pairs: &[f64]) -> (f64, Vec<f64>) {
    let n = unary.len() / k;
    let mut forward = vec![vec![1.0; k]; n];
    let mut value = 0.0;
    for t in 0..n {
        for j in 0..k {
            let before = (t > 0).then(|| {
                let from = |i: usize| forward[t - 1][i] * pairs[((t - 1) * k + i) * k + j].exp();
                (0..k).map(from).sum::<f64>()
            });
            forward[t][j] = before.unwrap_or(1.0) * unary[t * k + j].exp();
        }
        let sum: f64 = forward[t].iter().sum();
        value += sum.ln();
        forward[t].iter_mut().for_each(|p| *p /= sum);
    }
    let mut backward = vec![1.0; k];
    let mut marginals = vec![0.0; n * k];
    for t in (0..n).rev() {
        let products: Vec<f64> = (0..k).map(|i| forward[t][i] * backward[i]).collect();
        let sum: f64 = products.iter().sum();
        for i in 0..k {
            marginals[t * k + i] = products[i] / sum;
        }
        if t > 0 {
            let to = |i: usize, j: usize| {
                pairs[((t - 1) * k + i) * k + j].exp() * unary[t * k + j].exp() * backward[j]
            };
            let next: Vec<f64> = (0..k).map(|i| (0..k).map(|j| to(i, j)).sum()).collect();
            let sum: f64 = next.iter().sum();
            backward = next.iter().map(|b| b / sum).collect();
        }
    }
    (value, marginals)
}

fn chain(n: usize, k: usize) -> Network {
    let unary = (0..n as u32).map(|t| table(&[t]));
    let pairs = (1..n as u32).map(|t| table(&[t - 1, t]));
    Network::new(vec![k; n], unary.chain(pairs).collect()).unwrap()
}

#[test]
fn a_long_chain_is_forward_backward() {
    let (n, k) = (100_000, 5);
    let began = std::time::Instant::now();
    let network = chain(n, k);
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let natural: Vec<f64> = (0..network.dim())
        .map(|_| rng.random_range(-20.0..2.0))
        .collect();
    let mut gradient = vec![0.0; natural.len()];
    let value = network.value_and_gradient(&natural, &mut gradient).unwrap();
    let mut product = vec![0.0; natural.len()];
    network
        .hessian_product(&natural, &natural, &mut product)
        .unwrap();
    // A tenth of it on one core; a rule that is quadratic in the length would take minutes.
    assert!(began.elapsed().as_secs() < 10);
    let (unary, pairs) = natural.split_at(n * k);
    let (expected, marginals) = forward_backward(k, unary, pairs);
    // The random walk of 100,000 roundings.
    assert!(close(value, expected, 1e-12), "{value} and {expected}");
    for (a, b) in gradient.iter().zip(&marginals) {
        assert!(close(*a, *b, 1e-11), "{a} and {b}");
    }
    // Each pair's means sum to one, so their slopes to nothing.
    for pair in product[n * k..].chunks(k * k) {
        assert!(pair.iter().sum::<f64>().abs() < 1e-9);
    }
    let draw = network.sample(&natural, &mut rng).unwrap();
    assert_eq!(draw.len(), n);
}

#[test]
fn a_star_of_many_is_built_fast() {
    let n = 100_000;
    let tables: Vec<Table> = (1..n).map(|v| table(&[0, v])).collect();
    let network = Network::new(vec![2; n as usize], tables).unwrap();
    let natural = vec![0.0; network.dim()];
    let mut gradient = natural.clone();
    let value = network.value_and_gradient(&natural, &mut gradient).unwrap();
    assert!(close(value, f64::from(n) * std::f64::consts::LN_2, 1e-12));
    assert!(gradient.iter().all(|p| close(*p, 0.25, 1e-13)));
}

#[test]
fn a_grid_has_narrow_cliques() {
    let side = 10_u32;
    let at = |i: u32, j: u32| i * side + j;
    let mut scopes = Vec::new();
    for i in 0..side {
        for j in 0..side {
            if i + 1 < side {
                scopes.push(vec![at(i, j), at(i + 1, j)]);
            }
            if j + 1 < side {
                scopes.push(vec![at(i, j), at(i, j + 1)]);
            }
        }
    }
    let found = eliminate(&[2; 100], &scopes).unwrap();
    let widest = found.steps.iter().map(|(_, ties)| ties.len()).max();
    // A grid of ten by ten has treewidth ten; a rule of thumb may miss it by a little.
    assert!(widest.is_some_and(|w| (10..=13).contains(&w)), "{widest:?}");
}

#[test]
fn draws_have_the_frequencies_of_the_means() {
    for seed in 0..6 {
        let (states, tables, natural) = random_network(100 + seed, 0.2);
        let Some((_, means, _)) = enumerated(&states, &tables, &natural) else {
            continue;
        };
        let network = Network::new(states, tables).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (mut sums, mut statistics) = (vec![0.0; means.len()], vec![0.0; means.len()]);
        let n = 4000;
        for _ in 0..n {
            let draw = network.sample(&natural, &mut rng).unwrap();
            network.statistics(&draw, &mut statistics);
            sums.iter_mut()
                .zip(&statistics)
                .for_each(|(sum, u)| *sum += u);
        }
        for (sum, p) in sums.iter().zip(&means) {
            let n = f64::from(n);
            // Five standard errors, and Bernstein's term for what is rare.
            let allowed = 5.0 * (p * (1.0 - p).max(0.0) / n).sqrt() + 4.0 / n;
            assert!((sum / n - p).abs() <= allowed, "{} and {p}", sum / n);
            assert!(*p > 0.0 || *sum == 0.0);
        }
    }
}

#[test]
fn refusals() {
    let new = |states: &[usize], tables: &[Table]| Network::new(states.to_vec(), tables.to_vec());
    let short = Table {
        scope: vec![0],
        support: Some(vec![true]),
    };
    // Every pair of 30 variables.
    let dense: Vec<Table> = (0..30)
        .flat_map(|a| (0..a).map(move |b| table(&[a, b])))
        .collect();
    let wide: Vec<u32> = (0..24).collect();
    let mut texts: Vec<String> = [
        new(&[2, 0], &[]),
        new(&[2], &[table(&[1])]),
        new(&[2, 2], &[table(&[0]), table(&[1, 1])]),
        new(&[2], &[short]),
        new(&[2; 30], &dense),
        new(&[2; 24], &[table(&wide)]),
    ]
    .map(|result| result.unwrap_err().to_string())
    .to_vec();
    let never = Table {
        scope: vec![1],
        support: Some(vec![false; 2]),
    };
    let network = new(&[1, 2], &[table(&[0]), never.clone()]).unwrap();
    let pair = new(&[2, 2], &[table(&[0, 1]), table(&[0])]).unwrap();
    let infinity = f64::INFINITY;
    for (network, natural) in [
        (&network, &[0.0; 3][..]),
        (&pair, &[0.0; 5]),
        (&pair, &[0.0, 0.0, f64::NAN, 0.0, 0.0, 0.0]),
        (&pair, &[0.0, 0.0, 0.0, 0.0, 0.0, infinity]),
        (&pair, &[-infinity, -infinity, 0.0, 0.0, 0.0, -infinity]),
        (&pair, &[1e308, 0.0, 0.0, 0.0, 1e308, 0.0]),
    ] {
        let mut out = vec![0.0; network.dim()];
        let error = network.value_and_gradient(natural, &mut out).unwrap_err();
        assert!(matches!(error, Error::Domain { .. }));
        assert!(network.marginals(natural).is_err());
        texts.push(error.to_string());
    }
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn nothing_at_all() {
    let network = Network::new(vec![], vec![]).unwrap();
    assert_eq!(network.value_and_gradient(&[], &mut []), Ok(0.0));
    let lone = Network::new(vec![3, 1], vec![]).unwrap();
    let value = lone.value_and_gradient(&[], &mut []).unwrap();
    assert!(close(value, 3_f64.ln(), 1e-15));
    assert_eq!(
        lone.marginals(&[]).unwrap(),
        [vec![1.0 / 3.0; 3], vec![1.0]]
    );
}
