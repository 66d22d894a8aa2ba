//! Weights of rows: whole numbers are repeated rows, zero is no row, and whatever they are the laws hold.

mod common;

use collapsar::laws::model::{conforms, never_falls, threads_do_not_matter};
use collapsar::mixture::{Mixture, MixtureFit, Settings, Start};
use collapsar::{Collapsed, Direction, Driver, Point, Stop};
use common::{blobs, kinds, settings};

/// How often each row is there.
fn weights(rows: usize) -> Vec<f64> {
    (0..rows).map(|n| f64::from((n * 7 % 4) as u8)).collect()
}

/// Rows, each as often as its weight says.
fn repeated(values: &[f64], columns: usize, weights: &[f64]) -> Vec<f64> {
    let rows = values.chunks_exact(columns).zip(weights);
    rows.flat_map(|(row, weight)| row.repeat(*weight as usize))
        .collect()
}

/// Which of the three centres the first number of each row is nearest to.
fn labels(values: &[f64], columns: usize) -> Vec<usize> {
    let first = values.iter().step_by(columns);
    // Apart from the start: from where components are alike, steps make rounding larger.
    let label = |x: &f64| usize::from(*x > 1.5) + usize::from(*x > 4.5);
    first.map(label).collect()
}

/// A few steps: at the very top the bound is flat, and says no more than half of the digits of where it is.
fn climbed(model: &Mixture, labels: Vec<usize>) -> (Point, MixtureFit) {
    let (messages, _) = model.start(&Start::Labels(labels), 0).expect("a start");
    let fit = Driver::new(model, Direction::Vbem)
        .stop(Stop::Iterations(6))
        .run(messages)
        .expect("a climb");
    let described = model.fit(&fit.point).expect("a fit");
    (fit.point, described)
}

#[test]
fn whole_weights_are_repeated_rows() {
    let (rows, columns) = (70, 3);
    let values = blobs(rows, columns, 3);
    let weights = weights(rows);
    let all = repeated(&values, columns, &weights);
    for kind in kinds() {
        let settings = settings(3, kind);
        let weighted = Mixture::weighted(&values, columns, &weights, &settings).expect("data");
        let plain = Mixture::new(&all, columns, &settings).expect("data");
        let (one, fit) = climbed(&weighted, labels(&values, columns));
        let (other, expected) = climbed(&plain, labels(&all, columns));
        assert!(
            (one.bound - other.bound).abs() < 1e-10 * other.bound.abs(),
            "{kind:?}: {} {}",
            one.bound,
            other.bound
        );
        for (a, b) in fit.components.iter().zip(&expected.components) {
            let numbers = [
                (a.weight, b.weight),
                (a.count, b.count),
                (a.weight_sd, b.weight_sd),
            ];
            let means = a.mean.iter().copied().zip(b.mean.iter().copied());
            let variances = (0..columns).map(|d| (a.scale.variance(d), b.scale.variance(d)));
            for (x, y) in numbers.into_iter().chain(means).chain(variances) {
                assert!((x - y).abs() < 1e-10 * (1.0 + y.abs()), "{kind:?}: {x} {y}");
            }
        }
        let wider = |model: &Mixture, point: &Point| {
            let overlaps = model.overlaps(point).expect("finite");
            model.linear_response(point, &overlaps).expect("a response")
        };
        let (a, b) = (wider(&weighted, &one), wider(&plain, &other));
        for (x, y) in a.weights.iter().zip(&b.weights) {
            // Shares below 1e-7 are left out, of a row or of each of its copies.
            assert!((x - y).abs() < 1e-6 * (1.0 + y.abs()), "{kind:?}: {x} {y}");
        }
    }
}

#[test]
fn rows_without_weight_are_not_there() {
    let (rows, columns) = (60, 2);
    let values = blobs(rows, columns, 5);
    let weights: Vec<f64> = (0..rows).map(|n| f64::from(u8::from(n % 3 > 0))).collect();
    let kept = repeated(&values, columns, &weights);
    for kind in kinds() {
        let settings = settings(3, kind);
        let weighted = Mixture::weighted(&values, columns, &weights, &settings).expect("data");
        let plain = Mixture::new(&kept, columns, &settings).expect("data");
        let (one, _) = climbed(&weighted, labels(&values, columns));
        let (other, _) = climbed(&plain, labels(&kept, columns));
        assert!(
            (one.bound - other.bound).abs() < 1e-10 * other.bound.abs(),
            "{kind:?}"
        );
        assert_eq!(weighted.prior().location.len(), columns);
        for (a, b) in weighted.prior().scale.iter().zip(&plain.prior().scale) {
            assert!((a - b).abs() < 1e-12 * (1.0 + b.abs()));
        }
    }
}

#[test]
fn laws_hold_with_any_weights() {
    let (rows, columns) = (40, 2);
    let values = blobs(rows, columns, 9);
    let weights: Vec<f64> = (0..rows).map(|n| 0.3 + (n as f64).sin().abs()).collect();
    for kind in kinds() {
        let model = Mixture::weighted(&values, columns, &weights, &settings(3, kind));
        let model = model.expect("data");
        let (messages, _) = model.start(&Start::KMeans, 1).expect("a start");
        never_falls(&model, Direction::Auto, &messages).expect("it rises");
        let soft: Vec<f64> = messages.iter().map(|m| 0.1 * m).collect();
        conforms(&model, &soft, 3).expect("derivatives");
        threads_do_not_matter(&model, &messages).expect("the same bits");
        assert_ne!(
            model.fingerprint(),
            Mixture::new(&values, columns, &settings(3, kind))
                .expect("data")
                .fingerprint()
        );
    }
}

/// A chain gives every copy of a row its own component: counts of draws add up to the weights.
#[test]
fn draws_are_those_of_repeated_rows() {
    use collapsar::mixture::DrawOptions;
    let (rows, columns) = (40, 1);
    let values = blobs(rows, columns, 3);
    let weights: Vec<f64> = (0..rows).map(|n| f64::from((n % 3) as u8)).collect();
    let all = repeated(&values, columns, &weights);
    let settings = Settings::new(2);
    let options = DrawOptions {
        chains: 4,
        warmup: 200,
        draws: 2000,
        seed: 1,
    };
    let never = std::sync::atomic::AtomicBool::new(false);
    let mean = |model: &Mixture, labels: Vec<usize>| {
        let (point, fit) = climbed(model, labels);
        let draws = model.chains(&point, options, &never).expect("chains");
        draws.expect("not interrupted").describe(&fit)
    };
    let sign = |values: &[f64]| values.iter().map(|x| usize::from(*x > 3.0)).collect();
    let weighted = Mixture::weighted(&values, columns, &weights, &settings).expect("data");
    let plain = Mixture::new(&all, columns, &settings).expect("data");
    let a = mean(&weighted, sign(&values));
    let b = mean(&plain, sign(&all));
    for (a, b) in a.components.iter().zip(&b.components) {
        // Of 8000 draws a few hundred at least are independent: five standard errors of a mean, four of a deviation.
        let near = |x: f64, y: f64, sd: f64| (x - y).abs() < 0.25 * sd;
        assert!(
            near(a.weight, b.weight, b.weight_sd),
            "{} {}",
            a.weight,
            b.weight
        );
        assert!(
            (a.weight_sd / b.weight_sd - 1.0).abs() < 0.2,
            "{} {}",
            a.weight_sd,
            b.weight_sd
        );
    }
}

#[test]
fn weights_that_say_nothing_are_refused() {
    let values = [1.0, 2.0, 4.0];
    let refused = |weights: &[f64]| {
        let model = Mixture::weighted(&values, 1, weights, &Settings::new(1));
        model.expect_err("a refusal").to_string()
    };
    assert_eq!(
        refused(&[1.0, -1.0, 1.0]),
        "row 2: a weight of -1, expected a finite number that is not negative"
    );
    assert_eq!(
        refused(&[f64::NAN, 1.0, 1.0]),
        "row 1: a weight of NaN, expected a finite number that is not negative"
    );
    assert_eq!(
        refused(&[0.0; 3]),
        "data: weights that are all zero, expected a weight above zero"
    );
    assert_eq!(
        refused(&[1.0, 1.0]),
        "data: 2 weights, expected 3, one for each row"
    );
    assert_eq!(
        refused(&[0.2, 0.4, 0.4]),
        "data: weights whose sum is 1, expected a sum of more than 1, since weights count rows; try scale"
    );
}
