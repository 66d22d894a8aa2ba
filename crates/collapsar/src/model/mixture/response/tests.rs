//! Linear response against refits with other priors, and the fast system against the plain one.

use collapsar_core::random::StandardNormal;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::mixture::{Settings, Start, Weights};
use collapsar_core::elementary::Elementary;
use collapsar_core::{Collapsed, Direction, Driver, Potential, Stop};

/// Three clusters that overlap, in units that differ.
fn rows(count: usize, columns: usize) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut values = vec![];
    for n in 0..count {
        for column in 0..columns {
            let noise: f64 = rng.sample(StandardNormal);
            let place = 3.5 * ((n + column) % 3) as f64;
            values.push((1.0 + column as f64) * (place + noise) - 2.0);
        }
    }
    values
}

fn kinds() -> impl Iterator<Item = (Covariance, Weights)> {
    let weights = |covariance| Weights::ALL.map(move |weights| (covariance, weights));
    Covariance::ALL.into_iter().flat_map(weights)
}

fn model(values: &[f64], kind: (Covariance, Weights), change: (f64, f64)) -> Mixture {
    let settings = Settings {
        covariance: kind.0,
        weights: kind.1,
        concentration: Some(2.0 + change.0),
        location: Some(vec![1.0 + change.1, 2.0]),
        mean_precision: Some(0.5),
        ..Settings::new(3)
    };
    Mixture::new(values, 2, &settings).expect("data that vary")
}

/// The optimum that a climb from here ends at, to the last digits: a climb ends where the bound no longer shows a
/// difference, which is half of them, and VBEM's own steps find the others.
fn optimum(model: &Mixture, start: Vec<f64>) -> Point {
    let fit = Driver::new(model, Direction::Auto).run(start);
    let mut point = fit.expect("a climb").point;
    for _ in 0..3000 {
        model.evaluate(&mut point).expect("inside the domain");
        point.messages.copy_from_slice(&point.gradient);
    }
    model.evaluate(&mut point).expect("inside the domain");
    point
}

/// The means of weights, of means and of covariances, in the order of the tilts.
fn expected(model: &Mixture, point: &Point) -> Vec<f64> {
    let fit = model.fit(point).expect("inside the domain");
    let mut out: Vec<f64> = fit.components.iter().map(|c| c.weight).collect();
    let columns = model.columns();
    for component in &fit.components {
        out.extend(&component.mean);
        let freedom = component.degrees_of_freedom;
        match &component.scale {
            Matrix::Full(rows) => {
                let freedom = freedom - columns as f64 - 1.0;
                let entries = crate::mixture::posterior::pairs(columns);
                out.extend(entries.map(|(i, j)| rows[i][j] / freedom));
            }
            Matrix::Diagonal(scales) => out.extend(scales.iter().map(|s| s / (freedom - 2.0))),
            Matrix::Spherical(scale) => out.push(scale / (freedom - 2.0)),
        }
    }
    out
}

fn tilts(model: &Mixture, point: &Point) -> Vec<Vec<f64>> {
    let mut out = model.weight_tilts(point);
    for k in 0..model.components() {
        out.extend(model.mean_tilts(point, k));
        let entries = model.covariance_tilts(point, k).expect("inside");
        out.extend(entries.expect("enough degrees of freedom"));
    }
    out
}

/// The prior is changed by a little, and the fit climbs to its new optimum: means move by their covariance
/// with what was changed, directly and through the labels.
#[test]
fn refits_with_other_priors_move_as_linear_response_says() {
    let values = rows(150, 2);
    let step = 1e-4;
    for kind in kinds() {
        let middle = model(&values, kind, (0.0, 0.0));
        let (start, _) = middle.start(&Start::KMeans, 1).expect("a start");
        let point = optimum(&middle, start);
        let response = Response::new(&middle, &point).expect("a maximum");
        for change in [(1.0, 0.0), (0.0, 1.0)] {
            let moved = [step, -step].map(|step| {
                let model = model(&values, kind, (change.0 * step, change.1 * step));
                let refitted = optimum(&model, point.messages.clone());
                let mut target = vec![0.0; point.statistics.len()];
                let value = (model.posterior()).value_and_gradient(&point.statistics, &mut target);
                value.expect("inside the domain");
                let directly = expected(&model, &point);
                (expected(&model, &refitted), target, directly)
            });
            let slope = |up: &[f64], down: &[f64]| -> Vec<f64> {
                let pairs = up.iter().zip(down);
                pairs.map(|(up, down)| (up - down) / (2.0 * step)).collect()
            };
            let [up, down] = &moved;
            let through = response.product(&slope(&up.1, &down.1)).expect("a maximum");
            let directly = slope(&up.2, &down.2);
            let found = slope(&up.0, &down.0);
            let answers = tilts(&middle, &point);
            let largest = found.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            for ((tilt, directly), found) in answers.iter().zip(&directly).zip(&found) {
                let predicted = directly + dot(tilt, &through);
                // Differences over 1e-4 of optima known to 1e-12 or so, and the square of the step.
                assert!(
                    (predicted - found).abs() < 1e-5 * largest.max(1e-3),
                    "{kind:?} {change:?}: {predicted} {found}"
                );
            }
            // The law is about what goes through the labels.
            let indirect = answers.iter().map(|tilt| dot(tilt, &through).abs());
            assert!(indirect.fold(0.0, f64::max) > 1e-3 * largest);
        }
    }
}

#[test]
fn the_system_by_components_is_that_of_the_whole_matrix() {
    let values = rows(400, 2);
    for kind in kinds() {
        let model = model(&values, kind, (0.0, 0.0));
        let (start, _) = model.start(&Start::KMeans, 1).expect("a start");
        let point = optimum(&model, start);
        // Every share counts here, however small.
        let all = model.local.overlaps(&point.messages, 0.0);
        let overlaps = MixtureOverlaps {
            overlaps: all.expect("finite densities"),
            cost: Some(0.0),
        };
        let fast = model.linear_response(&point, &overlaps).expect("a maximum");
        let plain = model.answers(&point, &Iterative::new(&model, &point).expect("a maximum"));
        let plain = plain.expect("a maximum");
        // Systems of 18 messages, solved in two ways; power iterations end at 1e-5 and 1e-6.
        let same = |a: &[f64], b: &[f64]| {
            let largest = b.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            let far = a
                .iter()
                .zip(b)
                .find(|(a, b)| (*a - *b).abs() > 1e-6 * largest);
            assert!(far.is_none(), "{kind:?}: {far:?} of {largest}");
        };
        assert!((fast.missing_information - plain.missing_information).abs() < 1e-3);
        same(&fast.weights, &plain.weights);
        for (fast, plain) in fast.means.iter().zip(&plain.means) {
            same(fast, plain);
        }
        let response = Response::new(&model, &point).expect("a maximum");
        let covariances = fast.covariances.expect("few messages");
        for (k, found) in covariances.iter().enumerate() {
            let tilts = model
                .covariance_tilts(&point, k)
                .expect("inside")
                .expect("variances");
            let variances: Vec<f64> = (tilts.iter())
                .map(|tilt| dot(tilt, &response.product(tilt).expect("a maximum")))
                .collect();
            let plain = model.shaped(&variances);
            let diagonal = |of: &Matrix| [of.variance(0), of.variance(1)];
            same(&diagonal(found), &diagonal(&plain));
        }
        // Shares that are left out by default do not show in a deviation.
        let usual = model.overlaps(&point).expect("finite densities");
        let usual = model.linear_response(&point, &usual).expect("a maximum");
        let fit = model.fit(&point).expect("inside");
        let (found, expected) = (fit.widened(&usual), fit.widened(&plain));
        for (found, expected) in found.components.iter().zip(&expected.components) {
            let pairs = found.mean_sd.iter().flatten();
            let pairs = pairs.zip(expected.mean_sd.iter().flatten());
            assert!(pairs.clone().count() == 2);
            for (found, expected) in pairs.chain([(&found.weight_sd, &expected.weight_sd)]) {
                assert!(
                    (found / expected - 1.0).abs() < 1e-4,
                    "{kind:?}: {found} {expected}"
                );
            }
        }
    }
}

#[test]
fn wider_where_components_overlap_and_the_same_where_they_do_not() {
    let apart: Vec<f64> = (0..200)
        .map(|n| f64::from(n % 2) * 50.0 + 2.0 * (f64::from(n) * 0.7).sin_())
        .collect();
    let near: Vec<f64> = apart
        .iter()
        .map(|x| if *x > 25.0 { x - 47.5 } else { *x })
        .collect();
    let widths = [&apart, &near].map(|values| {
        let settings = Settings {
            concentration: Some(1.0),
            ..Settings::new(2)
        };
        let model = Mixture::new(values, 1, &settings).expect("data that vary");
        let (start, _) = model.start(&Start::KMeans, 1).expect("a start");
        let point = optimum(&model, start);
        let overlaps = model.overlaps(&point).expect("finite densities");
        let response = model.linear_response(&point, &overlaps).expect("a maximum");
        let fit = model.fit(&point).expect("inside");
        let wider = fit.widened(&response);
        assert!((0.0..1.0).contains(&response.missing_information));
        wider.components[0].weight_sd / fit.components[0].weight_sd
    });
    // No row is shared to more than the smallest share that counts.
    assert!(
        (widths[0] - 1.0).abs() < 1e-6 && widths[1] > 1.1,
        "{widths:?}"
    );
}

#[test]
fn a_saddle_has_no_response() {
    // All components the same: a stationary point that every split leaves for the better.
    let values = rows(300, 2);
    let model = model(&values, (Covariance::Full, Weights::Dirichlet), (0.0, 0.0));
    let labels = Start::Responsibilities(vec![1.0 / 3.0; 900]);
    let (start, _) = model.start(&labels, 1).expect("a start");
    let driver = Driver::new(&model, Direction::Vbem).stop(Stop::Iterations(200));
    let point = driver.run(start).expect("a climb").point;
    let overlaps = model.overlaps(&point).expect("finite densities");
    let refused = model
        .linear_response(&point, &overlaps)
        .expect_err("a saddle");
    assert!(
        refused.to_string().contains("no strict maximum"),
        "{refused}"
    );
}
