//! Blocks of rows are what their rows are one by one, whatever is taken together.

use super::*;
use rand::SeedableRng;

/// Rows with predictors near zero and far from it, more than a block of them.
fn table(rows: usize, columns: usize) -> SquareSum {
    let number = |i: usize| (1.7 * i as f64).sin() * if i.is_multiple_of(13) { 3.0 } else { 0.4 };
    let values = (0..rows * columns).map(number).collect();
    let shapes = (0..rows).map(|row| [1.0, 2.5, 7.0][row % 3]).collect();
    SquareSum::new(columns, Arc::new(values), shapes).expect("shapes are positive")
}

/// The triangle of a positive definite matrix, of which so much is that of one vector.
fn matrix(columns: usize, spread: f64) -> Vec<f64> {
    let c: Vec<f64> = (0..columns).map(|i| (0.9 * i as f64 + 0.2).cos()).collect();
    let mut out = vec![];
    Triangle::new(columns).each_entry(|i, j, _| {
        out.push(c[i] * c[j] + if i == j { spread } else { 0.1 * spread });
    });
    out
}

/// ½ x'Mx of a row, and its gradient.
fn plain(of: &SquareSum, row: usize, matrix: &[f64]) -> (f64, Vec<f64>) {
    let x = &of.values[row * of.columns..(row + 1) * of.columns];
    let mut gradient = vec![];
    Triangle::new(of.columns).each_entry(|i, j, _| {
        gradient.push(if i == j { 0.5 } else { 1.0 } * x[i] * x[j]);
    });
    (crate::vector::dot(&gradient, matrix), gradient)
}

fn assert_near(found: &[f64], expected: &[f64]) {
    let most = expected.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
    for (place, (a, b)) in found.iter().zip(expected).enumerate() {
        // Rounding of sums of some thousand terms.
        assert!((a - b).abs() <= 1e-12 * most, "{place}: {a} {b}");
    }
}

#[test]
fn sums_are_those_of_single_rows() {
    for (rows, columns) in [(1, 1), (7, 3), (130, 4), (1300, 12), (300, 23)] {
        let of = table(rows, columns);
        let (at, along) = (matrix(columns, 0.3), matrix(columns, -0.2));
        let dim = of.dim();
        let (mut value, mut gradient, mut product) = (0.0, vec![0.0; dim], vec![0.0; dim]);
        let mut hessian = vec![0.0; dim * dim];
        for row in 0..rows {
            let (r, pairs) = plain(&of, row, &at);
            let family = PolyaGamma::new(of.shapes[row]).expect("positive");
            let mut mean = [0.0];
            value += family.value_and_gradient(&[r], &mut mean).expect("inside");
            let variance = family.mean_and_variance(&[r]).expect("inside").1;
            let (change, _) = plain(&of, row, &along);
            for i in 0..dim {
                gradient[i] += mean[0] * pairs[i];
                product[i] += variance * change * pairs[i];
                for j in 0..dim {
                    hessian[i * dim + j] += variance * pairs[i] * pairs[j];
                }
            }
        }
        let mut found = vec![f64::NAN; dim];
        let fast = of.value_and_gradient(&at, &mut found).expect("inside");
        assert_near(&[fast, of.value(&at).expect("inside")], &[value; 2]);
        assert_near(&found, &gradient);
        of.hessian_product(&at, &along, &mut found).expect("inside");
        assert_near(&found, &product);
        let mut found = vec![1.0; dim * dim];
        of.add_hessian(&at, &mut found).expect("inside");
        for entry in &mut found {
            *entry -= 1.0;
        }
        assert_near(&found, &hessian);
    }
}

#[test]
fn matrices_together_are_those_one_by_one() {
    let of = table(3000, 6);
    // More than are taken at once, of one vector and of more.
    let matrices: Vec<Vec<f64>> = (0..100)
        .map(|i| {
            let size = 0.05 * f64::from(i);
            let spread = if i % 7 == 3 { 0.2 } else { 0.0 };
            matrix(6, spread).iter().map(|x| size * x).collect()
        })
        .collect();
    let vectors = |matrix: &Vec<f64>| Triangle::new(6).vector_of(matrix, RANK_ONE).is_some();
    assert_eq!(matrices.iter().filter(|m| vectors(m)).count(), 86);
    for (matrix, together) in matrices.iter().zip(of.values(&matrices)) {
        let mut gradient = vec![0.0; matrix.len()];
        let alone = of
            .value_and_gradient(matrix, &mut gradient)
            .expect("inside");
        assert_near(&[together.expect("inside")], &[alone]);
    }
}

#[test]
fn what_is_below_zero_is_as_the_family_has_it() {
    let of = table(200, 1);
    let x = of.values.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    // The most negative natural parameter is near the end of the domain, and then beyond it.
    let mut gradient = [0.0];
    let value = of.value_and_gradient(&[-9.0 / (x * x)], &mut gradient);
    assert!(value.is_ok_and(|value| value > 0.0) && gradient[0].is_finite());
    assert!(
        of.value_and_gradient(&[-10.0 / (x * x)], &mut gradient)
            .is_err()
    );
    assert!(of.value(&[-10.0 / (x * x)]).is_err());
    assert!(of.value(&[f64::NAN]).is_err());
}

#[test]
fn draws_have_the_means_of_the_family() {
    let of = table(4000, 2);
    let at = matrix(2, 0.5);
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(3);
    let (mut numbers, mut statistics) = (vec![0.0; 4000], vec![]);
    of.draw(&at, &mut rng, &mut numbers, &mut statistics)
        .expect("inside");
    let (mut pairs, mut variance) = (vec![0.0; 3], [0.0; 3]);
    for (row, number) in numbers.iter().enumerate() {
        let (r, gradient) = plain(&of, row, &at);
        let family = PolyaGamma::new(of.shapes[row]).expect("positive");
        let spread = family.mean_and_variance(&[r]).expect("inside").1;
        for i in 0..3 {
            pairs[i] -= number * gradient[i];
            variance[i] += spread * gradient[i] * gradient[i];
        }
    }
    assert_near(&statistics, &pairs);
    let mut means = [0.0; 3];
    of.value_and_gradient(&at, &mut means).expect("inside");
    for i in 0..3 {
        // Four standard errors.
        assert!((statistics[i] - means[i]).abs() < 4.0 * variance[i].sqrt());
    }
}
