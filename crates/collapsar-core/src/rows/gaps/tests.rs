//! Sums over rows with gaps against dense matrices, against finite differences, and without gaps.

use nalgebra::{Cholesky, DMatrix, DVector};

use crate::collapsed::Potential;
use crate::rows::{Features, Rows, SoftmaxSum};
use crate::special::log_sum_exp;

fn number(i: usize) -> f64 {
    (i as f64 * 0.77).sin()
}

/// Rows of which each misses other columns: none, some, all.
fn table(rows: usize, columns: usize, gaps: bool) -> Vec<f64> {
    let cell = |i: usize| {
        let missing = gaps && (i * i + i / columns) % 7 < 2 && !(i / columns).is_multiple_of(3);
        if missing { f64::NAN } else { 2.0 * number(i) }
    };
    let mut values: Vec<f64> = (0..rows * columns).map(cell).collect();
    if gaps {
        values[columns..2 * columns].fill(f64::NAN);
    }
    values
}

/// Messages of components with precisions that are positive definite; those about products may be shared.
fn messages(columns: usize, components: usize, shared: bool) -> Vec<f64> {
    let (mut own, mut products) = (vec![], vec![]);
    for k in 0..components {
        let seed = if shared { 0 } else { 100 * k };
        own.push(
            (0..=columns)
                .map(|i| number(31 * k + i))
                .collect::<Vec<_>>(),
        );
        let root = DMatrix::from_fn(columns, columns, |i, j| number(seed + 7 * i + 3 * j));
        let precision = &root * root.transpose() + DMatrix::identity(columns, columns);
        let pairs = (0..columns).flat_map(|i| (i..columns).map(move |j| (i, j)));
        let of = |(i, j)| if i == j { -0.5 } else { -1.0 } * precision[(i, j)];
        products.push(pairs.map(of).collect::<Vec<f64>>());
    }
    if shared {
        own.push(products.swap_remove(0));
        return own.concat();
    }
    let each = own.into_iter().zip(products);
    each.flat_map(|(own, products)| [own, products].concat())
        .collect()
}

fn sum(values: &[f64], columns: usize, components: usize, shared: bool) -> SoftmaxSum {
    let features = if shared {
        Features::Linear
    } else {
        Features::Full
    };
    let (shift, scale) = (vec![0.0; columns], vec![1.0; columns]);
    SoftmaxSum::with_gaps(values, (&shift, &scale), features, components)
}

/// ln Σ_k ∫ exp⟨m, ψ(y)⟩ over what is missing, by inverses of whole matrices.
fn plain(values: &[f64], columns: usize, components: usize, at: &[f64]) -> f64 {
    let p = 1 + columns + columns * (columns + 1) / 2;
    let row = |row: &[f64]| {
        let logits: Vec<f64> = (0..components)
            .map(|k| {
                let own = &at[k * p..(k + 1) * p];
                let (linear, mut products) = (&own[1..=columns], own[1 + columns..].iter());
                let mut precision = DMatrix::zeros(columns, columns);
                for i in 0..columns {
                    for j in i..columns {
                        let message = products.next().expect("a message");
                        let entry = if i == j { -2.0 * message } else { -message };
                        (precision[(i, j)], precision[(j, i)]) = (entry, entry);
                    }
                }
                let there: Vec<usize> = (0..columns).filter(|d| !row[*d].is_nan()).collect();
                let missing: Vec<usize> = (0..columns).filter(|d| row[*d].is_nan()).collect();
                let block = |a: &[usize], b: &[usize]| {
                    DMatrix::from_fn(a.len(), b.len(), |i, j| precision[(a[i], b[j])])
                };
                let of = |places: &[usize], x: &[f64]| {
                    DVector::from_iterator(places.len(), places.iter().map(|d| x[*d]))
                };
                let y = of(&there, row);
                let known = own[0] + of(&there, linear).dot(&y)
                    - 0.5 * (y.transpose() * block(&there, &there) * &y)[(0, 0)];
                let rest = of(&missing, linear) - block(&missing, &there) * &y;
                let factor = Cholesky::new(block(&missing, &missing)).expect("a precision");
                known + 0.5 * rest.dot(&factor.solve(&rest)) - 0.5 * factor.ln_determinant()
                    + 0.5 * missing.len() as f64 * std::f64::consts::TAU.ln()
            })
            .collect();
        log_sum_exp(&logits)
    };
    values.chunks_exact(columns).map(row).sum()
}

#[test]
fn values_are_those_of_whole_matrices() {
    for (rows, columns, components) in [(40, 1, 2), (50, 3, 1), (60, 4, 3), (300, 5, 2)] {
        let values = table(rows, columns, true);
        let at = messages(columns, components, false);
        let found = sum(&values, columns, components, false).value(&at);
        let expected = plain(&values, columns, components, &at);
        let found = found.expect("finite");
        // A few hundred terms of size ten, each with rounding errors of its matrices.
        assert!(
            (found - expected).abs() < 1e-10 * expected.abs(),
            "{found} {expected}"
        );
    }
}

#[test]
fn shared_products_are_those_that_are_the_same() {
    let (rows, columns, components) = (60, 3, 3);
    let values = table(rows, columns, true);
    let shared = messages(columns, components, true);
    let (own, products) = shared.split_at(components * (1 + columns));
    let own = own.chunks_exact(1 + columns);
    let all: Vec<f64> = own.flat_map(|own| [own, products].concat()).collect();
    let found = sum(&values, columns, components, true)
        .value(&shared)
        .expect("finite");
    let expected = sum(&values, columns, components, false)
        .value(&all)
        .expect("finite");
    assert!(
        (found - expected).abs() < 1e-12 * expected.abs(),
        "{found} {expected}"
    );
}

#[test]
#[cfg(feature = "laws")]
fn gradients_and_hessians_are_slopes() {
    for (columns, components, shared) in [(1, 2, false), (3, 2, false), (3, 3, true)] {
        let values = table(30, columns, true);
        let sum = sum(&values, columns, components, shared);
        let at = messages(columns, components, shared);
        crate::laws::conforms(&sum, &at, 7).expect("derivatives");
    }
}

#[test]
fn rows_without_gaps_are_plain_rows() {
    // Enough for all ways of adding up.
    let (rows, columns, components) = (400, 3, 3);
    let values = table(rows, columns, false);
    let at = messages(columns, components, false);
    let along: Vec<f64> = (0..at.len()).map(number).collect();
    let weights: Vec<f64> = (0..rows).map(|n| 0.5 + number(n).abs()).collect();
    for weights in [None, Some(weights)] {
        let rows = Rows::new(&values, columns, &vec![0.0; columns], &vec![1.0; columns]);
        let gaps = sum(&values, columns, components, false).weighted(weights.clone());
        let plain = SoftmaxSum::new(rows, Features::Full, components).weighted(weights);
        let (mut a, mut b) = (vec![0.0; at.len()], vec![0.0; at.len()]);
        let value = gaps.value_and_gradient(&at, &mut a).expect("finite");
        let expected = plain.value_and_gradient(&at, &mut b).expect("finite");
        assert!((value - expected).abs() < 1e-12 * expected.abs());
        for (a, b) in a.iter().zip(&b) {
            assert!((a - b).abs() < 1e-10 * (1.0 + b.abs()), "{a} {b}");
        }
        gaps.hessian_product(&at, &along, &mut a).expect("finite");
        plain.hessian_product(&at, &along, &mut b).expect("finite");
        for (a, b) in a.iter().zip(&b) {
            assert!((a - b).abs() < 1e-10 * (1.0 + b.abs()), "{a} {b}");
        }
    }
}

#[test]
fn draws_have_the_expected_statistics() {
    use rand::SeedableRng;
    let (rows, columns, components) = (30, 3, 2);
    let values = table(rows, columns, true);
    for shared in [false, true] {
        let sum = sum(&values, columns, components, shared);
        let at = messages(columns, components, shared);
        let mut expected = vec![0.0; at.len()];
        sum.value_and_gradient(&at, &mut expected).expect("finite");
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(3);
        let (count, mut labels) = (4000, vec![0.0; rows]);
        let (mut mean, mut square) = (vec![0.0; at.len()], vec![0.0; at.len()]);
        for _ in 0..count {
            let drawn = sum.draw(&at, &mut rng, &mut labels).expect("finite");
            for ((mean, square), x) in mean.iter_mut().zip(&mut square).zip(drawn) {
                *mean += x / f64::from(count);
                *square += x * x / f64::from(count);
            }
        }
        for ((mean, square), expected) in mean.iter().zip(&square).zip(&expected) {
            let error = ((square - mean * mean).max(0.0) / f64::from(count)).sqrt();
            // Four and a half standard errors of some thirty numbers.
            assert!(
                (mean - expected).abs() < 4.5 * error + 1e-9,
                "{mean} {expected} {error}"
            );
        }
    }
}

#[test]
fn messages_without_variance_are_refused() {
    let values = [1.0, f64::NAN];
    let sum = sum(&values, 2, 1, false);
    let at = [0.0, 0.0, 0.0, -0.5, 0.0, 0.5];
    let error = sum.value(&at).expect_err("a precision below zero");
    assert!(matches!(error, crate::Error::Domain { .. }), "{error}");
}
