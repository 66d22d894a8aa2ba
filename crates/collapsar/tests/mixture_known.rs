//! Known labels: the bound against a plain computation and exact evidence, the laws, starts, jumps and exact draws.

mod common;
#[allow(dead_code)] // `theory` uses the rest of it
mod reference;

use std::sync::atomic::AtomicBool;

use collapsar::laws::model::{
    bound, conforms, never_falls, search_never_falls, threads_do_not_matter,
};
use collapsar::mixture::{
    Covariance, DrawOptions, Mixture, Number, Observations, Scale, Settings, Start, Weights,
};
use collapsar::special::{ln_gamma, log_sum_exp};
use collapsar::{Collapsed, Direction, Driver, Point, Stop};
use common::{blobs, kinds, settings};
use nalgebra::DMatrix;
use reference::Reference;

type Labels = Vec<Option<usize>>;

/// Every third label, of as many components.
fn some(rows: usize, components: usize) -> Labels {
    let label = |n: usize| {
        n.is_multiple_of(3)
            .then_some((n / 3 * 5 + n / 7) % components)
    };
    (0..rows).map(label).collect()
}

/// A prior that depends on nothing but the number of columns.
fn fixed(components: usize, columns: usize, kind: (Covariance, Weights)) -> Settings {
    let mut scale = vec![0.4; columns * columns];
    let diagonal = scale.iter_mut().step_by(columns + 1).enumerate();
    diagonal.for_each(|(i, s)| *s = 1.5 + i as f64);
    Settings {
        concentration: Some(0.7),
        location: Some((0..columns).map(|i| 1.0 - i as f64).collect()),
        mean_precision: Some(0.3),
        degrees_of_freedom: Some(columns as f64 + 0.5),
        scale: Some(Scale::Matrix(scale)),
        ..settings(components, kind)
    }
}

fn of(values: &[f64], columns: usize, labels: &[Option<usize>], settings: &Settings) -> Mixture {
    weighted(values, columns, None, labels, settings)
}

fn weighted(
    values: &[f64],
    columns: usize,
    weights: Option<&[f64]>,
    labels: &[Option<usize>],
    settings: &Settings,
) -> Mixture {
    let given = Observations {
        values,
        columns,
        weights,
        labels: Some(labels),
    };
    Mixture::of(given, settings).expect("data and labels")
}

fn climbed(model: &Mixture, start: &Start, seed: u64) -> Point {
    let (messages, _) = model.start(start, seed).expect("a start");
    let fit = Driver::new(model, Direction::Auto)
        .stop(Stop::Gain(1e-11))
        .run(messages);
    fit.expect("a climb").point
}

fn responsibilities(model: &Mixture, messages: &[f64]) -> Vec<Vec<f64>> {
    let mut rows = vec![vec![]; model.rows()];
    let keep = model.responsibilities(messages, |n, row| rows[n] = row.to_vec());
    keep.expect("finite densities");
    rows
}

#[test]
fn laws_hold_with_known_labels() {
    let (rows, columns) = (42, 3);
    let whole = blobs(rows, columns, 9);
    let mut gappy = whole.clone();
    for (i, x) in gappy.iter_mut().enumerate() {
        if (i * i + 3 * i / columns) % 11 < 3 {
            *x = f64::NAN;
        }
    }
    // Labels without a value, and one row without either.
    gappy[..2 * columns].fill(f64::NAN);
    let weights: Vec<f64> = (0..rows).map(|n| 0.3 + (n as f64).sin().abs()).collect();
    let labels = some(rows, 3);
    assert!(labels[0].is_some() && labels[1].is_none());
    for kind in kinds() {
        for values in [&whole, &gappy] {
            let given = [None, Some(&weights[..])];
            for weights in given {
                let settings = settings(4, kind);
                let model = weighted(values, columns, weights, &labels, &settings);
                for start in [Start::KMeans, Start::Random] {
                    let (messages, _) = model.start(&start, 1).expect("a start");
                    never_falls(&model, Direction::Auto, &messages).expect("it rises");
                }
                let (messages, _) = model.start(&Start::KMeans, 1).expect("a start");
                search_never_falls(&model, Direction::Auto, &messages).expect("it rises");
                let soft: Vec<f64> = messages.iter().map(|m| 0.1 * m).collect();
                conforms(&model, &soft, 3).expect("derivatives");
                threads_do_not_matter(&model, &messages).expect("the same bits");
                for (row, label) in responsibilities(&model, &soft).iter().zip(&labels) {
                    let Some(label) = label else { continue };
                    let one = |k: usize| f64::from(u8::from(k == *label));
                    assert_eq!(*row, (0..4).map(one).collect::<Vec<_>>(), "{kind:?}");
                }
            }
        }
    }
    let kind = (Covariance::Full, Weights::Dirichlet);
    let plain = Mixture::new(&whole, columns, &settings(4, kind)).expect("data");
    let model = of(&whole, columns, &labels, &settings(4, kind));
    assert_ne!(plain.fingerprint(), model.fingerprint());
    let gaps = of(&gappy, columns, &labels, &settings(4, kind)).gaps();
    let empty = |n: &usize| {
        gappy[n * columns..(n + 1) * columns]
            .iter()
            .all(|x| x.is_nan())
    };
    let said = (0..rows).filter(empty).filter(|n| labels[*n].is_none());
    assert_eq!(gaps.empty, said.count());
    assert!(gaps.empty > 0 && gaps.empty < (0..rows).filter(empty).count());
}

#[test]
fn the_bound_is_that_of_a_plain_computation() {
    let (rows, columns, components) = (25, 2, 4);
    let values = blobs(rows, columns, 3);
    let labels = some(rows, 3);
    for kind in kinds() {
        let model = of(&values, columns, &labels, &fixed(components, columns, kind));
        let plain = Reference::new(&values, model.prior(), components, kind);
        for seed in 0..3 {
            let (messages, _) = model.start(&Start::Random, seed).expect("a start");
            let rows = responsibilities(&model, &messages);
            let r = DMatrix::from_fn(rows.len(), components, |n, k| rows[n][k]);
            let (found, expected) = (bound(&model, &messages).expect("a point"), plain.bound(&r));
            // Sums of terms of size ten.
            assert!(
                (found - expected).abs() < 1e-12 * expected.abs(),
                "{kind:?}: {found} {expected}"
            );
        }
    }
}

#[test]
fn with_all_labels_known_the_bound_is_the_evidence() {
    let (rows, columns, components) = (12, 2, 3);
    let values = blobs(rows, columns, 6);
    let all: Vec<usize> = (0..rows).map(|n| (n * n + n / 5) % components).collect();
    let labels: Labels = all.iter().copied().map(Some).collect();
    for kind in kinds() {
        let model = of(&values, columns, &labels, &fixed(components, columns, kind));
        let reference = Reference::new(&values, model.prior(), components, kind);
        let exact = reference.ln_joint(&all);
        for start in [Start::Random, Start::KMeans] {
            let found = climbed(&model, &start, 3).bound;
            // Sums of terms of the size of the bound.
            assert!(
                (found - exact).abs() < 1e-12 * exact.abs(),
                "{kind:?}: {found} {exact}"
            );
        }
    }
}

/// Columns of a component are independent, so that what is missing takes nothing from exactness; a label without values
/// counts for the weights.
#[test]
fn with_all_labels_known_and_gaps_the_bound_is_the_evidence_where_columns_are_independent() {
    let (rows, columns, components) = (20, 2, 3);
    let mut values = blobs(rows, columns, 6);
    values.iter_mut().step_by(5).for_each(|x| *x = f64::NAN);
    values[4..6].fill(f64::NAN);
    let all: Vec<usize> = (0..rows).map(|n| (n * n + n / 5) % components).collect();
    let labels: Labels = all.iter().copied().map(Some).collect();
    for covariance in [Covariance::Diagonal, Covariance::Spherical] {
        let kind = (covariance, Weights::Dirichlet);
        let model = of(&values, columns, &labels, &fixed(components, columns, kind));
        let alpha = model.prior().concentration;
        let total = components as f64 * alpha;
        let mut exact = ln_gamma(total) - ln_gamma(total + rows as f64);
        for k in 0..components {
            let own = values.chunks(columns).zip(&all).filter(|(_, of)| **of == k);
            let own: Vec<f64> = own.flat_map(|(row, _)| row).copied().collect();
            let count = (own.len() / columns) as f64;
            exact += ln_gamma(alpha + count) - ln_gamma(alpha);
            let alone = Mixture::new(&own, columns, &fixed(1, columns, kind)).expect("rows");
            exact += climbed(&alone, &Start::KMeans, 1).bound;
        }
        let found = climbed(&model, &Start::Random, 3).bound;
        assert!(
            (found - exact).abs() < 1e-11 * exact.abs(),
            "{covariance:?}: {found} {exact}"
        );
    }
}

#[test]
fn with_all_labels_known_linear_response_has_nothing_to_add() {
    let (rows, columns, components) = (40, 2, 3);
    let values = blobs(rows, columns, 6);
    let labels: Labels = (0..rows)
        .map(|n| Some((n * n + n / 5) % components))
        .collect();
    for kind in kinds() {
        let model = of(&values, columns, &labels, &fixed(components, columns, kind));
        let point = climbed(&model, &Start::KMeans, 3);
        let overlaps = model.overlaps(&point).expect("finite");
        let response = model
            .linear_response(&point, &overlaps)
            .expect("a response");
        let fit = model.fit(&point).expect("a fit");
        let wider = fit.widened(&response);
        for (a, b) in wider.components.iter().zip(&fit.components) {
            assert!((a.weight_sd - b.weight_sd).abs() < 1e-9, "{kind:?}");
            let sds = a.mean_sd.iter().flatten().zip(b.mean_sd.iter().flatten());
            for (a, b) in sds {
                assert!((a - b).abs() < 1e-9 * (1.0 + b), "{kind:?}: {a} {b}");
            }
        }
    }
}

/// Every labelling of the rows that is as what is known of it.
fn labellings(known: &[Option<usize>], components: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for label in known {
        let states = match label {
            Some(k) => *k..k + 1,
            None => 0..components,
        };
        let more = |of: Vec<usize>| {
            let states = states.clone();
            states.map(move |k| [of.as_slice(), &[k]].concat())
        };
        all = all.into_iter().flat_map(more).collect();
    }
    all
}

#[test]
fn the_bound_is_at_most_the_evidence_and_draws_are_exact() {
    let (rows, columns, components) = (8, 1, 3);
    let values = blobs(rows, columns, 8);
    let labels: Labels = (0..rows)
        .map(|n| [None, Some(1), None, None, Some(0)][n % 5])
        .collect();
    for weights in Weights::ALL {
        let kind = (Covariance::Full, weights);
        let model = of(&values, columns, &labels, &fixed(components, columns, kind));
        let alpha = model.prior().concentration;
        let reference = Reference::new(&values, model.prior(), components, kind);
        let all = labellings(&labels, components);
        let joints: Vec<f64> = all.iter().map(|all| reference.ln_joint(all)).collect();
        let exact = log_sum_exp(&joints);
        let point = climbed(&model, &Start::KMeans, 1);
        let highest = joints.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        assert!(
            point.bound < exact && point.bound > highest - 1e-9,
            "{weights:?}"
        );
        let mut expected = [0.0; 3];
        for (labels, joint) in all.iter().zip(&joints) {
            let count = |k: usize| labels.iter().filter(|l| **l == k).count() as f64;
            let mut left = 1.0;
            for (k, expected) in expected.iter_mut().enumerate() {
                let weight = match weights {
                    Weights::Dirichlet => (alpha + count(k)) / (3.0 * alpha + rows as f64),
                    Weights::DirichletProcess => {
                        let later: f64 = (k + 1..components).map(count).sum();
                        let stick = (1.0 + count(k)) / (1.0 + alpha + count(k) + later);
                        let weight = left * stick;
                        left *= 1.0 - stick;
                        weight
                    }
                };
                *expected += weight * (joint - exact).exp();
            }
        }
        let options = DrawOptions {
            chains: 4,
            warmup: 200,
            draws: 4000,
            seed: 5,
        };
        let draws = model.chains(&point, options, &AtomicBool::new(false));
        let draws = draws.expect("chains").expect("nobody stops them");
        // Only the third component may be called otherwise, and there is no other such.
        assert_eq!(draws.relabelled, 0, "{weights:?}");
        for (number, column) in draws.numbers().iter().zip(0..) {
            let Number::Weight(k) = number else { continue };
            let column: Vec<f64> = draws.column(column).concat();
            let mean = column.iter().sum::<f64>() / column.len() as f64;
            // Weights vary by 0.15, and of 16,000 draws a tenth are worth one: this is four errors.
            assert!(
                (mean - expected[*k]).abs() < 0.015,
                "{weights:?}: {k}, {mean} {}",
                expected[*k]
            );
        }
    }
}

#[test]
fn whole_weights_are_repeated_rows_of_the_same_label() {
    let (rows, columns) = (60, 2);
    let values = blobs(rows, columns, 3);
    let labels = some(rows, 3);
    let weights: Vec<f64> = (0..rows).map(|n| f64::from((n * 7 % 4) as u8)).collect();
    let times = |n: usize| weights[n] as usize;
    let repeated: Vec<f64> = (0..rows)
        .flat_map(|n| values[n * columns..(n + 1) * columns].repeat(times(n)))
        .collect();
    let of_repeated: Labels = (0..rows).flat_map(|n| vec![labels[n]; times(n)]).collect();
    for kind in kinds() {
        let settings = settings(3, kind);
        let one = weighted(&values, columns, Some(&weights), &labels, &settings);
        let other = of(&repeated, columns, &of_repeated, &settings);
        let (one, other) = (
            climbed(&one, &Start::Labels(vec![0; rows]), 1).bound,
            climbed(&other, &Start::Labels(vec![0; of_repeated.len()]), 1).bound,
        );
        // Where climbs end the bound is flat.
        assert!(
            (one - other).abs() < 1e-9 * other.abs(),
            "{kind:?}: {one} {other}"
        );
    }
}

/// Three groups far apart, of which two have three known rows each, by numbers that are not those of their places.
fn groups() -> (Vec<f64>, Labels) {
    let rows = 90;
    let centre = |n: usize| [[0.0, 0.0], [8.0, 1.0], [4.0, 9.0]][n % 3];
    let noise = blobs(rows, 2, 4);
    let values = (0..2 * rows).map(|i| centre(i / 2)[i % 2] + 0.08 * noise[i]);
    let known = |n: usize| match n {
        n if n >= 9 => None,
        n if n % 3 == 0 => Some(1),
        n if n % 3 == 2 => Some(0),
        _ => None,
    };
    (values.collect(), (0..rows).map(known).collect())
}

#[test]
fn components_that_rows_are_known_to_be_of_keep_their_identity() {
    let (values, labels) = groups();
    for kind in kinds() {
        let model = of(&values, 2, &labels, &settings(5, kind));
        for (start, seed) in [(Start::Random, 1), (Start::Random, 2), (Start::KMeans, 1)] {
            let (messages, _) = model.start(&start, seed).expect("a start");
            let fit = Driver::new(&model, Direction::Auto)
                .search(&model)
                .stop(Stop::Gain(1e-8))
                .run(messages)
                .expect("a climb");
            let fitted = model.fit(&fit.point).expect("a fit");
            let near = |k: usize, centre: [f64; 2]| {
                let mean = &fitted.components[k].mean;
                (mean[0] - centre[0]).abs() < 2.0 && (mean[1] - centre[1]).abs() < 2.0
            };
            assert!(
                near(1, [0.2, 0.1]) && near(0, [4.2, 9.1]),
                "{kind:?}, {start:?}: {:?}",
                fitted
                    .components
                    .iter()
                    .map(|c| (c.count, &c.mean))
                    .collect::<Vec<_>>()
            );
        }
        let (messages, _) = model.start(&Start::KMeans, 3).expect("a start");
        let rows = responsibilities(&model, &messages);
        let best = |row: &[f64]| (0..5).max_by(|&a, &b| row[a].total_cmp(&row[b]));
        // k-means knows which is which: those of the second group are nobody's that is known.
        for (n, row) in rows.iter().enumerate() {
            let found = best(row).expect("components");
            match n % 3 {
                0 => assert!(found >= 1, "{kind:?}: {n} {found}"),
                1 => assert!(found > 1, "{kind:?}: {n} {found}"),
                _ => assert!(found == 0 || found > 1, "{kind:?}: {n} {found}"),
            }
        }
    }
}

#[test]
fn refusals_say_what_is_wrong() {
    let values = blobs(20, 2, 1);
    let refused = |labels: &[Option<usize>], components| {
        let given = Observations {
            values: &values,
            columns: 2,
            weights: None,
            labels: Some(labels),
        };
        let kind = (Covariance::Full, Weights::Dirichlet);
        let model = Mixture::of(given, &settings(components, kind));
        model.expect_err("refused").to_string()
    };
    assert_eq!(
        refused(&[None; 19], 2),
        "labels: 19 labels, expected 20, one for each row"
    );
    let mut labels = [None; 20];
    labels[3] = Some(4);
    assert_eq!(
        refused(&labels, 3),
        "components is 3, expected at least 5, one for each label"
    );
}
