//! Columns of levels: the laws, plain computations and exact evidence, what levels say of a mixture, and predictions.

mod common;
#[allow(dead_code)] // `theory` uses the rest of it
mod reference;

use collapsar::laws::model::{
    bound, conforms, never_falls, search_never_falls, threads_do_not_matter,
};
use collapsar::mixture::{
    Cells, Covariance, LevelColumn, MISSING, Mixture, MixtureFit, Observations, Scale, Settings,
    Start, Weights,
};
use collapsar::special::{ln_gamma, log_sum_exp};
use collapsar::{Collapsed, Direction, Driver, Point, Potential, Stop};
use common::{blobs, kinds, settings};
use nalgebra::DMatrix;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use reference::Reference;

/// Columns of so many levels, of which some are missing.
fn levels(rows: usize, sizes: &[usize], seed: u64) -> Vec<LevelColumn> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut column = |levels: usize| LevelColumn {
        levels,
        codes: (0..rows)
            .map(|_| match rng.random_range(0..levels + 1) {
                level if level == levels => MISSING,
                level => level as u32,
            })
            .collect(),
    };
    sizes.iter().map(|levels| column(*levels)).collect()
}

fn given(values: &[f64], columns: usize) -> Observations<'_> {
    Observations {
        values,
        columns,
        weights: None,
        labels: None,
    }
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
        level_concentration: Some(0.8),
        ..settings(components, kind)
    }
}

fn climbed(model: &Mixture, start: &Start, seed: u64) -> Point {
    let (messages, _) = model.start(start, seed).expect("a start");
    let fit = Driver::new(model, Direction::Auto)
        .stop(Stop::Gain(1e-11))
        .run(messages);
    fit.expect("a climb").point
}

/// The best of some climbs with jumps.
fn searched(model: &Mixture, seeds: u64) -> Point {
    let climbs = (0..seeds).map(|seed| {
        let (messages, _) = model.start(&Start::KMeans, seed).expect("a start");
        let fit = Driver::new(model, Direction::Auto)
            .search(model)
            .stop(Stop::Gain(1e-8))
            .run(messages);
        fit.expect("a climb").point
    });
    let best = climbs.max_by(|a, b| a.bound.total_cmp(&b.bound));
    best.expect("a climb")
}

fn responsibilities(model: &Mixture, messages: &[f64]) -> Vec<Vec<f64>> {
    let mut rows = vec![vec![]; model.rows()];
    let keep = model.responsibilities(messages, |n, row| rows[n] = row.to_vec());
    keep.expect("finite densities");
    rows
}

/// What responsibilities of rows add to the bound through levels: a ratio of Dirichlet normalisers for each component and column.
fn of_levels(categories: &[LevelColumn], r: &[Vec<f64>], concentration: f64) -> f64 {
    let components = r[0].len();
    let mut sum = 0.0;
    for column in categories {
        for k in 0..components {
            let mut counts = vec![0.0; column.levels];
            for (row, code) in r.iter().zip(&column.codes) {
                if *code != MISSING {
                    counts[*code as usize] += row[k];
                }
            }
            let all: f64 = counts.iter().sum();
            let prior = concentration * column.levels as f64;
            sum += ln_gamma(prior) - ln_gamma(prior + all);
            for count in counts {
                sum += ln_gamma(concentration + count) - ln_gamma(concentration);
            }
        }
    }
    sum
}

fn one_hot(labels: &[usize], components: usize) -> Vec<Vec<f64>> {
    let one = |k: &usize| {
        (0..components)
            .map(|j| f64::from(u8::from(j == *k)))
            .collect()
    };
    labels.iter().map(one).collect()
}

/// Every labelling of so many rows.
fn labellings(rows: usize, components: usize) -> Vec<Vec<usize>> {
    let of = |mut code: usize| {
        let mut digit = || {
            let digit = code % components;
            code /= components;
            digit
        };
        (0..rows).map(|_| digit()).collect()
    };
    (0..components.pow(rows as u32)).map(of).collect()
}

/// The log probability of labels, weights integrated out.
fn ln_labels(labels: &[usize], components: usize, alpha: f64, weights: Weights) -> f64 {
    let count = |k: usize| labels.iter().filter(|l| **l == k).count() as f64;
    match weights {
        Weights::Dirichlet => {
            let total = alpha * components as f64;
            let each = (0..components).map(|k| ln_gamma(alpha + count(k)) - ln_gamma(alpha));
            ln_gamma(total) - ln_gamma(total + labels.len() as f64) + each.sum::<f64>()
        }
        Weights::DirichletProcess => {
            let beta = |a: f64, b: f64| ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b);
            let each = (0..components).map(|k| {
                let later: f64 = (k + 1..components).map(count).sum();
                beta(1.0 + count(k), alpha + later) - beta(1.0, alpha)
            });
            each.sum()
        }
    }
}

#[test]
fn laws_hold_with_levels() {
    let (rows, columns) = (42, 3);
    let whole = blobs(rows, columns, 9);
    let mut gappy = whole.clone();
    for (i, x) in gappy.iter_mut().enumerate() {
        if (i * i + 3 * i / columns) % 11 < 3 {
            *x = f64::NAN;
        }
    }
    gappy[..2 * columns].fill(f64::NAN);
    let mut categories = levels(rows, &[2, 5], 4);
    // A row of which nothing is known, and one of which one level is.
    (categories[0].codes[0], categories[1].codes[0]) = (MISSING, MISSING);
    (categories[0].codes[1], categories[1].codes[1]) = (1, MISSING);
    let weights: Vec<f64> = (0..rows).map(|n| 0.3 + (n as f64).sin().abs()).collect();
    let labels: Vec<Option<usize>> = (0..rows)
        .map(|n| (n % 5 == 3).then_some(n / 5 % 2))
        .collect();
    for kind in kinds() {
        for (values, columns) in [(&whole[..], 3), (&gappy[..], 3), (&[], 0)] {
            for (weights, labels) in [(None, None), (Some(&weights[..]), Some(&labels[..]))] {
                let given = Observations {
                    values,
                    columns,
                    weights,
                    labels,
                };
                let model = Mixture::mixed(given, &categories, &settings(4, kind)).expect("data");
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
    }
    let kind = (Covariance::Full, Weights::Dirichlet);
    let of = |values: &[f64], columns| {
        let model = Mixture::mixed(given(values, columns), &categories, &settings(3, kind));
        model.expect("data")
    };
    let gaps = of(&gappy, columns).gaps();
    assert_eq!((gaps.empty, of(&whole, columns).gaps().empty), (1, 0));
    assert!(gaps.values > of(&whole, columns).gaps().values);
    let plain = Mixture::new(&whole, columns, &settings(3, kind)).expect("data");
    assert_ne!(plain.fingerprint(), of(&whole, columns).fingerprint());
}

#[test]
fn many_rows_are_the_same_bits_for_any_number_of_threads() {
    let rows = 5000;
    let (values, categories) = (blobs(rows, 2, 5), levels(rows, &[3, 40], 2));
    for kind in [Covariance::Full, Covariance::Diagonal].map(|of| (of, Weights::Dirichlet)) {
        let model = Mixture::mixed(given(&values, 2), &categories, &settings(4, kind));
        let model = model.expect("data");
        let (messages, _) = model.start(&Start::KMeans, 1).expect("a start");
        threads_do_not_matter(&model, &messages).expect("the same bits");
    }
}

#[test]
fn the_bound_is_that_of_a_plain_computation() {
    let (rows, columns, components) = (25, 2, 4);
    let (values, categories) = (blobs(rows, columns, 3), levels(rows, &[3, 2], 3));
    for kind in kinds() {
        let settings = fixed(components, columns, kind);
        let model = Mixture::mixed(given(&values, columns), &categories, &settings).expect("data");
        let plain = Reference::new(&values, model.prior(), components, kind);
        for seed in 0..3 {
            let (messages, _) = model.start(&Start::Random, seed).expect("a start");
            let rows = responsibilities(&model, &messages);
            let r = DMatrix::from_fn(rows.len(), components, |n, k| rows[n][k]);
            let expected = plain.bound(&r) + of_levels(&categories, &rows, 0.8);
            let found = bound(&model, &messages).expect("a point");
            // Sums of terms of size ten.
            assert!(
                (found - expected).abs() < 1e-12 * expected.abs(),
                "{kind:?}: {found} {expected}"
            );
        }
    }
}

#[test]
fn the_bound_is_at_most_the_evidence() {
    let (rows, components) = (7, 3);
    let (values, categories) = (blobs(rows, 1, 8), levels(rows, &[2, 3], 6));
    let all = labellings(rows, components);
    for weights in Weights::ALL {
        for columns in [0, 1] {
            let kind = (Covariance::Full, weights);
            let settings = fixed(components, columns, kind);
            let values = &values[..rows * columns];
            let model = Mixture::mixed(given(values, columns), &categories, &settings);
            let model = model.expect("data");
            let joint = |labels: &Vec<usize>| {
                let numbers = if columns == 0 {
                    ln_labels(labels, components, 0.7, weights)
                } else {
                    Reference::new(values, model.prior(), components, kind).ln_joint(labels)
                };
                numbers + of_levels(&categories, &one_hot(labels, components), 0.8)
            };
            let joints: Vec<f64> = all.iter().map(joint).collect();
            let exact = log_sum_exp(&joints);
            let highest = joints.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let best = (0..5).map(|seed| climbed(&model, &Start::KMeans, seed).bound);
            let best = best.fold(f64::NEG_INFINITY, f64::max);
            assert!(
                best < exact && best > highest - 1.0,
                "{weights:?}, {columns}: {best} {exact}"
            );
            // Where every label is known, nothing is approximated.
            let labels: Vec<usize> = (0..rows).map(|n| n * n % components).collect();
            let known: Vec<Option<usize>> = labels.iter().copied().map(Some).collect();
            let given = Observations {
                labels: Some(&known),
                ..given(values, columns)
            };
            let model = Mixture::mixed(given, &categories, &settings).expect("data");
            let (found, exact) = (climbed(&model, &Start::Random, 3).bound, joint(&labels));
            assert!(
                (found - exact).abs() < 1e-12 * exact.abs(),
                "{weights:?}, {columns}: {found} {exact}"
            );
        }
    }
}

#[test]
fn whole_weights_are_repeated_rows() {
    let rows = 60;
    let (values, categories) = (blobs(rows, 2, 3), levels(rows, &[2, 4], 8));
    let weights: Vec<f64> = (0..rows).map(|n| f64::from((n * 7 % 4) as u8)).collect();
    let order: Vec<usize> = (0..rows)
        .flat_map(|n| vec![n; weights[n] as usize])
        .collect();
    let repeated: Vec<f64> = order
        .iter()
        .flat_map(|n| values[n * 2..n * 2 + 2].to_vec())
        .collect();
    let of_repeated: Vec<LevelColumn> = categories
        .iter()
        .map(|of| LevelColumn {
            levels: of.levels,
            codes: order.iter().map(|n| of.codes[*n]).collect(),
        })
        .collect();
    for kind in kinds() {
        for columns in [2, 0] {
            let settings = settings(3, kind);
            let one = Observations {
                weights: Some(&weights),
                ..given(&values[..rows * columns], columns)
            };
            let one = Mixture::mixed(one, &categories, &settings).expect("data");
            let other = given(&repeated[..order.len() * columns], columns);
            let other = Mixture::mixed(other, &of_repeated, &settings).expect("data");
            let start: Vec<usize> = (0..rows).map(|n| n % 3).collect();
            let of_order: Vec<usize> = order.iter().map(|n| n % 3).collect();
            let one = climbed(&one, &Start::Labels(start), 1).bound;
            let other = climbed(&other, &Start::Labels(of_order), 1).bound;
            // Where climbs end the bound is flat.
            assert!(
                (one - other).abs() < 1e-9 * other.abs(),
                "{kind:?}, {columns}: {one} {other}"
            );
        }
    }
}

#[test]
fn what_levels_are_called_changes_nothing() {
    let rows = 50;
    let (values, categories) = (blobs(rows, 2, 3), levels(rows, &[2, 4], 8));
    let turned: Vec<LevelColumn> = categories
        .iter()
        .rev()
        .map(|of| LevelColumn {
            levels: of.levels,
            codes: of
                .codes
                .iter()
                .map(|code| match *code {
                    MISSING => MISSING,
                    code => (code + 1) % of.levels as u32,
                })
                .collect(),
        })
        .collect();
    let kind = (Covariance::Full, Weights::Dirichlet);
    let fitted = |categories: &[LevelColumn]| {
        let model = Mixture::mixed(given(&values, 2), categories, &settings(3, kind));
        let model = model.expect("data");
        let point = climbed(&model, &Start::KMeans, 1);
        (point.bound, model.fit(&point).expect("a fit"))
    };
    let ((one, first), (other, second)) = (fitted(&categories), fitted(&turned));
    // The bound of a climb that stopped at 1e-11.
    assert!((one - other).abs() < 1e-10 * one.abs(), "{one} {other}");
    for (a, b) in first.components.iter().zip(&second.components) {
        for (c, of) in a.levels.iter().enumerate() {
            let turned = &b.levels[1 - c].probabilities;
            for (level, p) in of.probabilities.iter().enumerate() {
                let q = turned[(level + 1) % turned.len()];
                assert!((p - q).abs() < 1e-5, "{p} {q}");
            }
        }
    }
}

/// Rows of three groups that numbers tell apart badly, and levels well.
fn groups(rows: usize, seed: u64) -> (Vec<f64>, Vec<LevelColumn>, Vec<usize>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let truth: Vec<usize> = (0..rows).map(|_| rng.random_range(0..3)).collect();
    let values = truth
        .iter()
        .flat_map(|k| {
            let mut noise = || rng.sample::<f64, _>(StandardNormal);
            [*k as f64 + noise(), noise() - *k as f64]
        })
        .collect();
    let mut column = |levels: usize, shift: usize| LevelColumn {
        levels,
        codes: truth
            .iter()
            .map(|k| match rng.random::<f64>() {
                p if p < 0.75 => ((k + shift) % levels) as u32,
                _ => rng.random_range(0..levels) as u32,
            })
            .collect(),
    };
    let categories = vec![column(3, 0), column(4, 1), column(3, 2), column(5, 0)];
    (values, categories, truth)
}

/// The fraction of rows that are with most of their group, under the best names.
fn agreement(model: &Mixture, point: &Point, truth: &[usize]) -> f64 {
    let rows = responsibilities(model, &point.messages);
    let mut table = vec![[0_usize; 3]; model.components()];
    for (row, k) in rows.iter().zip(truth) {
        let best = (0..row.len()).max_by(|a, b| row[*a].total_cmp(&row[*b]));
        table[best.expect("components")][*k] += 1;
    }
    let most: usize = table
        .iter()
        .map(|line| line.iter().copied().max().unwrap_or(0))
        .sum();
    most as f64 / truth.len() as f64
}

#[test]
fn a_mixed_table_is_recovered_better_than_numbers_alone() {
    let (values, categories, truth) = groups(900, 1);
    let kind = (Covariance::Full, Weights::Dirichlet);
    let numbers = Mixture::new(&values, 2, &settings(3, kind)).expect("data");
    let mixed = Mixture::mixed(given(&values, 2), &categories, &settings(3, kind)).expect("data");
    let alone = Mixture::mixed(given(&[], 0), &categories, &settings(3, kind)).expect("data");
    let of = |model: &Mixture| agreement(model, &searched(model, 4), &truth);
    let (numbers, mixed, alone) = (of(&numbers), of(&mixed), of(&alone));
    assert!(
        mixed > 0.93 && alone > 0.88 && numbers < 0.75,
        "numbers {numbers}, mixed {mixed}, levels alone {alone}"
    );
}

/// From one component that has everything, only jumps lead on, and only those by levels where there is nothing else.
#[test]
fn splits_by_levels_find_classes() {
    let (_, categories, truth) = groups(900, 2);
    for weights in Weights::ALL {
        let kind = (Covariance::Full, weights);
        let model = Mixture::mixed(given(&[], 0), &categories, &settings(4, kind)).expect("data");
        let (messages, _) = (model.start(&Start::Labels(vec![0; 900]), 1)).expect("a start");
        let fit = Driver::new(&model, Direction::Auto)
            .search(&model)
            .stop(Stop::Gain(1e-8))
            .run(messages)
            .expect("a climb");
        assert!(agreement(&model, &fit.point, &truth) > 0.88, "{weights:?}");
    }
}

fn fit_of(columns: usize, seed: u64) -> (MixtureFit, Vec<f64>, Vec<LevelColumn>) {
    let (values, categories, _) = groups(300, seed);
    let values = values[..300 * columns].to_vec();
    let kind = (Covariance::Full, Weights::DirichletProcess);
    let settings = settings(4, kind);
    let model = Mixture::mixed(given(&values, columns), &categories, &settings).expect("data");
    let fit = model.fit(&searched(&model, 1)).expect("a fit");
    (fit, values, categories)
}

#[test]
fn a_density_adds_up_over_levels() {
    for columns in [0, 2] {
        let (fit, values, categories) = fit_of(columns, 3);
        let density = fit.predictive().expect("a density");
        let row = |value: &[f64], codes: [u32; 4]| {
            let taken: Vec<LevelColumn> = categories
                .iter()
                .zip(codes)
                .map(|(of, code)| LevelColumn {
                    levels: of.levels,
                    codes: vec![code],
                })
                .collect();
            let cells = Cells {
                values: value,
                columns,
                categories: &taken,
            };
            density.score_cells(cells).expect("a row").ln_density[0]
        };
        let y = &values[..columns];
        let mut sum = vec![];
        for (a, b, c) in (0..36).map(|i| (i / 12, i / 3 % 4, i % 3)) {
            sum.push(row(y, [a, b, c, MISSING]));
        }
        let whole = row(y, [MISSING; 4]);
        assert!((log_sum_exp(&sum) - whole).abs() < 1e-12, "{columns}");
        if columns > 0 {
            // What is there of numbers is a margin too, and levels go with it.
            let nothing = row(&[f64::NAN; 2], [MISSING; 4]);
            assert!(nothing.abs() < 1e-12, "{nothing}");
            let some: Vec<f64> = (0..5)
                .map(|e| row(&[f64::NAN, y[1]], [1, MISSING, MISSING, e]))
                .collect();
            let margin = row(&[f64::NAN, y[1]], [1, MISSING, MISSING, MISSING]);
            assert!((log_sum_exp(&some) - margin).abs() < 1e-12);
        }
    }
}

#[test]
fn missing_levels_are_filled_in_by_bayes() {
    for columns in [0, 2] {
        let (fit, values, categories) = fit_of(columns, 4);
        let density = fit.predictive().expect("a density");
        let mut gappy = categories.clone();
        gappy[1].codes[7] = MISSING;
        let mut with_gaps = values.clone();
        if columns > 0 {
            with_gaps[15] = f64::NAN;
        }
        let cells = Cells {
            values: &with_gaps,
            columns,
            categories: &gappy,
        };
        let imputed = density.impute_cells(cells).expect("rows");
        let (level, probability) = (imputed.levels[1][7], imputed.probabilities[1][7]);
        assert_eq!(imputed.levels[0], categories[0].codes);
        assert_eq!(imputed.probabilities[1][6], 1.0);
        let base = density.score_cells(cells).expect("rows").ln_density[7];
        let each: Vec<f64> = (0..4)
            .map(|level| {
                let mut filled = gappy.clone();
                filled[1].codes[7] = level;
                let cells = Cells {
                    categories: &filled,
                    ..cells
                };
                (density.score_cells(cells).expect("rows").ln_density[7] - base).exp()
            })
            .collect();
        let best = (0..4).max_by(|a, b| each[*a].total_cmp(&each[*b]));
        assert_eq!(best, Some(level as usize));
        assert!((probability - each[level as usize]).abs() < 1e-12);
        if columns > 0 {
            // The number is expected given the levels as well: other levels, another number.
            let mut other = gappy.clone();
            for column in &mut other {
                column.codes[7] = (column.codes[8] + 1) % 3;
            }
            let moved = density.impute_cells(Cells {
                categories: &other,
                ..cells
            });
            let moved = moved.expect("rows").numbers.mean[15];
            assert!((moved - imputed.numbers.mean[15]).abs() > 1e-3);
        }
    }
}

#[test]
fn draws_and_tails_are_those_of_the_density() {
    for columns in [0, 2] {
        let (fit, values, categories) = fit_of(columns, 5);
        let density = fit.predictive().expect("a density");
        let (drawn, codes) = density.sample_cells(20_000, 3);
        assert_eq!(drawn.len(), 20_000 * columns);
        for (c, column) in codes.iter().enumerate() {
            for level in 0..column.levels {
                let found = column.codes.iter().filter(|of| **of as usize == level);
                let expected: f64 = (fit.components.iter())
                    .map(|of| of.weight * of.levels[c].probabilities[level])
                    .sum::<f64>()
                    + fit.unused_weight / column.levels as f64;
                // Deviations of 20,000 draws are below 0.0036: this is four of them.
                assert!((found.count() as f64 / 20_000.0 - expected).abs() < 0.0145);
            }
        }
        let mut gappy = categories.clone();
        gappy[0].codes[..50].fill(MISSING);
        let cells = Cells {
            values: &values,
            columns,
            categories: &gappy,
        };
        let scores = density.score_cells(cells).expect("rows");
        let tail = density
            .tail_of_cells(cells, &scores.ln_density, 1)
            .expect("rows");
        // Rows of the fit are like draws of it: their tails are spread evenly.
        let mean = tail.iter().sum::<f64>() / tail.len() as f64;
        assert!(
            (mean - 0.5).abs() < 0.1 && tail.iter().all(|p| *p > 0.0 && *p < 1.0),
            "{mean}"
        );
        assert!(density.score(&values, columns).is_err());
    }
}

#[test]
fn linear_response_answers_for_levels() {
    let (rows, components) = (60, 3);
    let (values, categories, truth) = groups(rows, 7);
    let known: Vec<Option<usize>> = truth.iter().copied().map(Some).collect();
    for columns in [0, 2] {
        let kind = (Covariance::Diagonal, Weights::Dirichlet);
        let settings = fixed(components, columns, kind);
        let values = &values[..rows * columns];
        for labels in [Some(&known[..]), None] {
            let given = Observations {
                labels,
                ..given(values, columns)
            };
            let model = Mixture::mixed(given, &categories, &settings).expect("data");
            let point = searched(&model, 1);
            let overlaps = model.overlaps(&point).expect("finite");
            assert!(overlaps.cost.is_some());
            let response = model
                .linear_response(&point, &overlaps)
                .expect("a response");
            let fit = model.fit(&point).expect("a fit");
            let wider = fit.widened(&response);
            let sds = |fit: &MixtureFit| -> Vec<f64> {
                let levels = fit.components.iter().flat_map(|of| &of.levels);
                levels.flat_map(|of| of.sds.clone()).collect()
            };
            let (before, after) = (sds(&fit), sds(&wider));
            let changes = before.iter().zip(&after).map(|(a, b)| b - a);
            let most = changes.clone().fold(0.0, f64::max);
            if labels.is_some() {
                // With all labels known it has nothing to add.
                assert!(most < 1e-9, "{columns}: {most}");
            } else {
                assert!(changes.clone().all(|x| x > -1e-12) && most > 1e-3, "{most}");
            }
        }
    }
}

/// The variance of a probability is the slope of its mean along a tilt of the log joint by what it is in terms of statistics: here by VBEM
/// steps of the tilted model, to where they stand still.
#[test]
fn linear_response_is_the_slope_along_a_tilt() {
    let (values, categories, _) = groups(60, 7);
    for columns in [0, 2] {
        let kind = (Covariance::Diagonal, Weights::Dirichlet);
        let settings = fixed(2, columns, kind);
        let given = given(&values[..60 * columns], columns);
        let model = Mixture::mixed(given, &categories, &settings).expect("data");
        let point = searched(&model, 2);
        let overlaps = model.overlaps(&point).expect("finite");
        let response = model
            .linear_response(&point, &overlaps)
            .expect("an optimum");
        let levels = response.levels.expect("few messages");
        let fit = model.fit(&point).expect("a fit");
        for (k, c, level) in [(0, 0, 1), (1, 3, 2)] {
            let of = &fit.components[k].levels[c];
            let total: f64 = of.concentrations.iter().sum();
            let mut tilt = vec![0.0; point.messages.len()];
            for (at, place) in model.local().level_places().of(k, c).enumerate() {
                let own = f64::from(u8::from(at == level));
                tilt[place] = (own - of.probabilities[level]) / total;
            }
            let along = |epsilon: f64| -> f64 {
                let mut statistics = point.statistics.clone();
                let mut messages = vec![0.0; tilt.len()];
                for _ in 0..4000 {
                    let sent = model
                        .posterior()
                        .value_and_gradient(&statistics, &mut messages);
                    sent.expect("statistics of rows");
                    for (message, of) in messages.iter_mut().zip(&tilt) {
                        *message += epsilon * of;
                    }
                    let found = model.local().value_and_gradient(&messages, &mut statistics);
                    found.expect("finite densities");
                }
                tilt.iter().zip(&statistics).map(|(a, t)| a * t).sum()
            };
            let epsilon = 0.1;
            let slope = (along(epsilon) - along(-epsilon)) / (2.0 * epsilon);
            let found = levels[k][c][level];
            // Statistics move by a thousandth of a row, of which differences of second order are as small a part.
            assert!(
                (slope - found).abs() < 1e-3 * slope.abs(),
                "{columns}: {slope} {found}"
            );
        }
    }
}

#[test]
fn refusals_say_what_is_wrong() {
    let values = blobs(20, 1, 1);
    let refused = |categories: &[LevelColumn], components| {
        let kind = (Covariance::Full, Weights::Dirichlet);
        let model = Mixture::mixed(given(&values, 1), categories, &settings(components, kind));
        model.expect_err("refused").to_string()
    };
    let column = |levels: usize, codes: Vec<u32>| LevelColumn { levels, codes };
    assert_eq!(
        refused(&[column(2, vec![0; 19])], 2),
        "column 2: levels of 19 rows, expected 20, one for each row"
    );
    assert_eq!(
        refused(&[column(2, vec![2; 20])], 2),
        "column 2: level 2, expected levels below 2"
    );
    assert!(
        refused(&[column(2, vec![MISSING; 20])], 2)
            .starts_with("column 2: no value, expected a column that has a value")
    );
    let told = refused(&[column(100_000, vec![7; 20])], 11);
    assert!(
        told.starts_with("categorical columns: 100000 levels in 11 components, expected at most"),
        "{told}"
    );
    let kind = (Covariance::Full, Weights::Dirichlet);
    let settings = Settings {
        level_concentration: Some(0.0),
        ..settings(2, kind)
    };
    let model = Mixture::mixed(given(&values, 1), &levels(20, &[2], 1), &settings);
    let told = model.expect_err("refused").to_string();
    assert!(told.contains("a positive number"), "{told}");
}
