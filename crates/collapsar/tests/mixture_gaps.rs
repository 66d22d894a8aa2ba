//! Missing values: the laws, exact evidence and posteriors by quadrature over what is missing, and what it is to miss all.

mod common;

use std::sync::atomic::AtomicBool;

use collapsar::laws::model::{conforms, never_falls, search_never_falls, threads_do_not_matter};
use collapsar::mixture::{
    Covariance, DrawOptions, Mixture, MixtureFit, Number, Scale, Settings, Start, Weights,
};
use collapsar::{Collapsed, Direction, Driver, Point, Stop};
use common::{blobs, kinds, settings};

/// Blobs, of which some numbers are missing, and all of one row.
fn gappy(rows: usize, columns: usize, seed: u64) -> Vec<f64> {
    let mut values = blobs(rows, columns, seed);
    for (i, x) in values.iter_mut().enumerate() {
        if (i * i + 3 * i / columns) % 11 < 3 {
            *x = f64::NAN;
        }
    }
    values[..columns].fill(f64::NAN);
    values
}

/// A prior that does not depend on the data.
fn fixed(components: usize, covariance: Covariance) -> Settings {
    Settings {
        covariance,
        weights: Weights::Dirichlet,
        concentration: Some(1.5),
        location: Some(vec![0.5, 1.0]),
        mean_precision: Some(0.7),
        degrees_of_freedom: Some(3.5),
        scale: Some(Scale::Matrix(vec![2.0, 0.6, 0.6, 3.0])),
        ..Settings::new(components)
    }
}

fn climbed(model: &Mixture, start: &Start) -> Point {
    let (messages, _) = model.start(start, 1).expect("a start");
    let fit = Driver::new(model, Direction::Auto)
        .stop(Stop::Gain(1e-11))
        .run(messages);
    fit.expect("a climb").point
}

fn bound(values: &[f64], columns: usize, settings: &Settings) -> f64 {
    let model = Mixture::new(values, columns, settings).expect("data");
    climbed(&model, &Start::KMeans).bound
}

#[test]
fn laws_hold_with_gaps() {
    let (rows, columns) = (40, 3);
    let values = gappy(rows, columns, 9);
    for kind in kinds() {
        let model = Mixture::new(&values, columns, &settings(3, kind)).expect("data");
        assert!(model.gaps().empty > 0 && model.gaps().rows > 20);
        for start in [Start::KMeans, Start::Random] {
            let (messages, _) = model.start(&start, 1).expect("a start");
            never_falls(&model, Direction::Auto, &messages).expect("it rises");
        }
        let (messages, _) = model.start(&Start::KMeans, 1).expect("a start");
        search_never_falls(&model, Direction::Auto, &messages).expect("it rises");
        let soft: Vec<f64> = messages.iter().map(|m| 0.1 * m).collect();
        conforms(&model, &soft, 3).expect("derivatives");
        threads_do_not_matter(&model, &messages).expect("the same bits");
    }
}

#[test]
fn rows_that_miss_everything_are_not_there() {
    let (rows, columns) = (60, 2);
    let values = gappy(rows, columns, 5);
    let empty = |row: &[f64]| row.iter().all(|x| x.is_nan());
    let each = || values.chunks_exact(columns);
    let kept: Vec<f64> = each()
        .filter(|row| !empty(row))
        .flatten()
        .copied()
        .collect();
    assert!(kept.len() < values.len());
    let label = |row: &[f64]| usize::from(row[0] > 1.5) + usize::from(row[0] > 4.5);
    let all: Vec<usize> = each().map(label).collect();
    let of_kept: Vec<usize> = each().filter(|row| !empty(row)).map(label).collect();
    for kind in kinds() {
        let settings = settings(3, kind);
        let one = Mixture::new(&values, columns, &settings).expect("data");
        let other = Mixture::new(&kept, columns, &settings).expect("data");
        let steps = |model: &Mixture, labels: &[usize]| {
            let (messages, _) = model
                .start(&Start::Labels(labels.to_vec()), 0)
                .expect("labels");
            let driver = Driver::new(model, Direction::Vbem).stop(Stop::Iterations(6));
            driver.run(messages).expect("a climb").point.bound
        };
        let (a, b) = (steps(&one, &all), steps(&other, &of_kept));
        assert!((a - b).abs() < 1e-10 * b.abs(), "{kind:?}: {a} {b}");
    }
}

/// Weights of the trapezoid rule for one missing number: its places, each with the log of its width.
fn places() -> impl Iterator<Item = (f64, f64)> {
    // Tails of a Student-t with a few degrees of freedom: places ever further apart.
    let (count, widest) = (4000, 9.0);
    let step = 2.0 * widest / f64::from(count);
    (0..=count).map(move |i| {
        let u = -widest + step * f64::from(i);
        (u.sinh(), (step * u.cosh()).ln())
    })
}

fn ln_sum(terms: &[f64]) -> f64 {
    collapsar::special::log_sum_exp(terms)
}

#[test]
fn evidence_of_one_component_is_that_of_quadrature() {
    // One component has no labels: its bound on whole data is their evidence.
    let with = |x: f64| [1.0, 2.0, 0.3, x, -1.1, 0.4, 2.5, 1.7, 0.2, 0.9];
    for covariance in Covariance::ALL {
        let settings = fixed(1, covariance);
        let settings = match covariance {
            Covariance::Diagonal | Covariance::Spherical => Settings {
                scale: Some(Scale::Matrix(vec![2.0, 0.0, 0.0, 2.0])),
                ..settings
            },
            _ => settings,
        };
        let terms: Vec<f64> = places()
            .map(|(x, ln_width)| bound(&with(x), 2, &settings) + ln_width)
            .collect();
        let (evidence, found) = (ln_sum(&terms), bound(&with(f64::NAN), 2, &settings));
        match covariance {
            // What is missing is integrated out: no approximation.
            Covariance::Diagonal | Covariance::Spherical => {
                // The rule's error: its last places have densities of 1e-8 of the highest.
                assert!(
                    (found - evidence).abs() < 1e-6,
                    "{covariance:?}: {found} {evidence}"
                );
            }
            // A factor of q of its own: a bound, that falls short by what the number and the parameters know of each other.
            Covariance::Full | Covariance::Tied => {
                assert!(
                    found < evidence + 1e-9,
                    "{covariance:?}: {found} {evidence}"
                );
                assert!(
                    found > evidence - 0.25,
                    "{covariance:?}: {found} {evidence}"
                );
            }
        }
    }
}

#[test]
fn exact_draws_are_those_of_quadrature() {
    let with = |x: f64| [1.0, 2.0, 0.3, x, -1.1, 0.4, 2.5, 1.7, 0.2, 0.9];
    for covariance in [Covariance::Full, Covariance::Diagonal] {
        let settings = fixed(1, covariance);
        // Means and variances of the mean of the second column, over places of the missing number.
        let (mut terms, mut moments) = (vec![], vec![]);
        for (x, ln_width) in places().step_by(8) {
            let model = Mixture::new(&with(x), 2, &settings).expect("data");
            let point = climbed(&model, &Start::KMeans);
            let component = model.fit(&point).expect("a fit").components.swap_remove(0);
            let sd = component.mean_sd.expect("finite")[1];
            terms.push(point.bound + ln_width);
            moments.push((component.mean[1], sd * sd));
        }
        let all = ln_sum(&terms);
        let expect = |of: &dyn Fn(&(f64, f64)) -> f64| -> f64 {
            let each = terms.iter().zip(&moments);
            each.map(|(term, moments)| (term - all).exp() * of(moments))
                .sum()
        };
        let mean = expect(&|of| of.0);
        let sd = expect(&|of| of.1 + (of.0 - mean).powi(2)).sqrt();
        let model = Mixture::new(&with(f64::NAN), 2, &settings).expect("data");
        let point = climbed(&model, &Start::KMeans);
        let options = DrawOptions {
            chains: 4,
            warmup: 100,
            draws: 4000,
            seed: 3,
        };
        let draws = model.chains(&point, options, &AtomicBool::new(false));
        let draws = draws.expect("inside the domain").expect("not interrupted");
        let place = draws
            .numbers()
            .iter()
            .position(|number| *number == Number::Mean(0, 1));
        let numbers: Vec<f64> = draws.column(place.expect("a mean")).concat();
        let count = numbers.len() as f64;
        let found = numbers.iter().sum::<f64>() / count;
        let found_sd = (numbers.iter().map(|x| (x - found).powi(2)).sum::<f64>() / count).sqrt();
        // 16,000 draws that hardly depend on one another: five standard errors, more for tails in the deviation.
        let error = sd / count.sqrt();
        assert!(
            (found - mean).abs() < 5.0 * 1.5 * error,
            "{covariance:?}: {found} {mean}"
        );
        assert!(
            (found_sd - sd).abs() < 0.06 * sd,
            "{covariance:?}: {found_sd} {sd}"
        );
    }
}

#[test]
fn linear_response_is_the_same_by_blocks_and_by_passes() {
    let values = gappy(50, 2, 4);
    for kind in kinds() {
        let settings = Settings {
            concentration: Some(2.0),
            location: Some(vec![1.0, 2.0]),
            mean_precision: Some(0.5),
            degrees_of_freedom: Some(4.0),
            ..settings(2, kind)
        };
        let plain = Mixture::new(&values, 2, &settings).expect("data");
        let mut point = climbed(&plain, &Start::KMeans);
        for _ in 0..2000 {
            plain.evaluate(&mut point).expect("inside");
            point.messages.copy_from_slice(&point.gradient);
        }
        plain.evaluate(&mut point).expect("inside");
        let overlaps = plain.overlaps(&point).expect("finite");
        let response = plain.linear_response(&point, &overlaps).expect("a maximum");
        assert!(
            (0.0..1.0).contains(&response.missing_information),
            "{kind:?}"
        );
        // Both ways to answer: blocks of the metric, and conjugate gradients with passes.
        let mut others = plain.overlaps(&point).expect("finite");
        others.cost = None;
        let slow = plain.linear_response(&point, &others).expect("a maximum");
        for (a, b) in response.weights.iter().zip(&slow.weights) {
            assert!((a - b).abs() < 1e-5 * (1e-3 + b.abs()), "{kind:?}: {a} {b}");
        }
        let means = response.means.iter().zip(&slow.means);
        for (a, b) in means.flat_map(|(a, b)| a.iter().zip(b)) {
            assert!((a - b).abs() < 1e-5 * (1e-2 + b.abs()), "{kind:?}: {a} {b}");
        }
    }
}

#[test]
fn densities_of_rows_with_gaps_are_margins() {
    let values = gappy(60, 2, 4);
    for kind in kinds() {
        // So many that all variances exist, of components without rows too.
        let settings = Settings {
            degrees_of_freedom: Some(8.0),
            ..settings(2, kind)
        };
        let model = Mixture::new(&values, 2, &settings).expect("data");
        let fit: MixtureFit = model.fit(&climbed(&model, &Start::KMeans)).expect("a fit");
        let density = fit.predictive().expect("a density");
        let (mut terms, mut probabilities) = (vec![], vec![]);
        let (mut first, mut second) = (0.0, 0.0);
        for (x, ln_width) in places() {
            terms.push(density.ln_density(&[1.3, x], &mut probabilities) + ln_width);
        }
        let all = ln_sum(&terms);
        for (term, (x, _)) in terms.iter().zip(places()) {
            first += (term - all).exp() * x;
            second += (term - all).exp() * x * x;
        }
        let row = [1.3, f64::NAN, f64::NAN, f64::NAN];
        let scores = density.score(&row, 2).expect("rows");
        // Tails beyond the last places.
        assert!((scores.ln_density[0] - all).abs() < 1e-4, "{kind:?}");
        assert!(scores.ln_density[1].abs() < 1e-12, "{kind:?}");
        let imputed = density.impute(&row, 2).expect("rows");
        assert_eq!((imputed.mean[0], imputed.sd[0]), (1.3, 0.0));
        assert!(
            (imputed.mean[1] - first).abs() < 1e-3 * (1.0 + first.abs()),
            "{kind:?}"
        );
        let sd = (second - first * first).sqrt();
        assert!(
            (imputed.sd[1] - sd).abs() < 2e-2 * sd,
            "{kind:?}: {} {sd}",
            imputed.sd[1]
        );
        let draws = density.impute_draws(&row, 2, 4000, 1).expect("rows");
        let drawn: Vec<f64> = draws.chunks_exact(4).map(|rows| rows[1]).collect();
        let mean = drawn.iter().sum::<f64>() / 4000.0;
        // Five standard errors.
        assert!(
            (mean - first).abs() < 5.0 * sd / 4000.0_f64.sqrt(),
            "{kind:?}: {mean} {first}"
        );
        assert!(
            draws
                .chunks_exact(4)
                .all(|rows| rows[0] == 1.3 && rows[2].is_finite())
        );
    }
}

#[test]
fn columns_without_a_value_and_infinite_numbers_are_refused() {
    let nan = f64::NAN;
    let refused = |values: &[f64]| {
        let refused = Mixture::new(values, 2, &Settings::new(1));
        refused.expect_err("refused").to_string()
    };
    let empty = refused(&[1.0, nan, 2.0, nan, 0.5, nan]);
    assert!(
        empty.contains("no value, expected a column that has a value"),
        "{empty}"
    );
    let infinite = refused(&[1.0, f64::INFINITY, 2.0, nan, 0.5, 1.0]);
    assert!(infinite.contains("finite number"), "{infinite}");
}
