//! Mixtures of rows in a file are those of rows in memory, bit for bit, however the file has them.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use collapsar::mixture::{Covariance, Mixture, Mixtures, Settings, Start, Weights};
use collapsar::{Collapsed, Direction, Driver, Error, Jumps, Point, Potential, Stop};
use collapsar_core::rows::{BLOCK, Element, Layout, Order, Stored};

const COLUMNS: usize = 3;

/// Three clusters that overlap, row by row, in numbers that have four bytes.
fn values(rows: usize) -> Vec<f64> {
    let number = |i: usize| f64::from(((i as f64 * 0.77).sin() * (i as f64 * 0.013).cos()) as f32);
    let place = |i: usize| [0.0, 1.5, -2.0][(i / COLUMNS) % 3] * (1.0 + (i % COLUMNS) as f64);
    (0..rows * COLUMNS)
        .map(|i| f64::from((number(i) + place(i) + 100.0) as f32))
        .collect()
}

fn weights(rows: usize) -> Vec<f64> {
    (0..rows).map(|n| [1.0, 0.0, 2.5, 0.25][n % 4]).collect()
}

/// Writes rows with their weights after them, and something before.
fn store(
    path: &Path,
    (values, weights): (&[f64], Option<&[f64]>),
    (order, element): (Order, Element),
) -> Stored {
    let rows = values.len() / COLUMNS;
    let width = COLUMNS + usize::from(weights.is_some());
    let number = |row: usize, column: usize| match weights {
        Some(weights) if column == COLUMNS => weights[row],
        _ => values[row * COLUMNS + column],
    };
    let mut numbers = vec![];
    match order {
        Order::Rows => {
            for row in 0..rows {
                numbers.extend((0..width).map(|column| number(row, column)));
            }
        }
        Order::Columns => {
            for column in 0..width {
                numbers.extend((0..rows).map(|row| number(row, column)));
            }
        }
        Order::Blocks => {
            for first in (0..rows).step_by(BLOCK) {
                for column in 0..width {
                    let block = first..rows.min(first + BLOCK);
                    numbers.extend(block.map(|row| number(row, column)));
                }
            }
        }
    }
    let mut bytes = b"before".to_vec();
    for x in numbers {
        match element {
            Element::F32 => bytes.extend((x as f32).to_le_bytes()),
            Element::F64 => bytes.extend(x.to_le_bytes()),
        }
    }
    fs::write(path, bytes).expect("a file");
    let layout = Layout {
        offset: 6,
        order,
        element,
        rows,
        width,
        columns: (0..COLUMNS).collect(),
        weights: weights.map(|_| COLUMNS),
    };
    // Segments and room so small that there are many of all.
    Stored::open(path, layout, 20_000, 1).expect("a table")
}

fn settings(components: usize, covariance: Covariance, weights: Weights) -> Settings {
    Settings {
        covariance,
        weights,
        ..Settings::new(components)
    }
}

/// Everything that a model says, as bits.
fn said(model: &Mixture) -> Vec<u64> {
    let mut all = vec![];
    for start in [Start::Random, Start::KMeans] {
        for seed in 0..2 {
            let (messages, passes) = model.start(&start, seed).expect("a start");
            all.push(passes as f64);
            let local = model.local();
            let mut gradient = vec![0.0; local.dim()];
            all.push(
                local
                    .value_and_gradient(&messages, &mut gradient)
                    .expect("a value"),
            );
            all.push(local.value(&messages).expect("a value"));
            let mut product = vec![0.0; local.dim()];
            local
                .hessian_product(&messages, &gradient, &mut product)
                .expect("a product");
            all.extend(&gradient);
            all.extend(&product);
            all.extend(messages);
        }
    }
    let (start, _) = model.start(&Start::KMeans, 3).expect("a start");
    let fit = Driver::new(model, Direction::Auto)
        .search(model)
        .stop(Stop::Gain(1e-6) | Stop::Iterations(60))
        .run(start)
        .expect("a fit");
    all.extend([fit.point.bound, fit.passes as f64, fit.jumps_tried as f64]);
    all.extend(&fit.point.messages);
    let jumps = model.jumps(&fit.point).expect("jumps");
    all.extend(jumps.into_iter().flat_map(|jump| jump.messages));
    model
        .responsibilities(&fit.point.messages, |n, row| {
            all.push(n as f64);
            all.extend(row);
        })
        .expect("responsibilities");
    all.extend(response(model, &fit.point));
    all.into_iter().map(f64::to_bits).collect()
}

fn response(model: &Mixture, point: &Point) -> Vec<f64> {
    let overlaps = model.overlaps(point).expect("overlaps");
    let response = model.linear_response(point, &overlaps);
    response.map_or(vec![], |response| {
        let mut all = vec![response.missing_information, overlaps.cost.unwrap_or(0.0)];
        all.extend(response.weights);
        all.extend(response.means.into_iter().flatten());
        all
    })
}

#[test]
fn files_give_the_bits_of_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rows");
    let kinds = [
        (Order::Blocks, Element::F64),
        (Order::Rows, Element::F32),
        (Order::Columns, Element::F64),
        (Order::Rows, Element::F64),
    ];
    for (case, covariance) in Covariance::ALL.into_iter().enumerate() {
        for rows in [300, 2 * 1024 + 77, 5000] {
            for weighted in [false, true] {
                let (values, weights) = (values(rows), weights(rows));
                let weights = weighted.then_some(&weights[..]);
                let prior = [Weights::Dirichlet, Weights::DirichletProcess][rows % 2];
                let settings = settings(4, covariance, prior);
                let memory = Mixtures::weighted(&values, COLUMNS, weights, &settings);
                let memory = memory.expect("mixtures");
                let kind = kinds[(case + rows) % kinds.len()];
                let stored = Arc::new(store(&path, (&values, weights), kind));
                let file = Mixtures::stored(Arc::clone(&stored), &settings).expect("mixtures");
                for components in [1, 4] {
                    let [memory, file] =
                        [&memory, &file].map(|all| all.with(components).expect("a model"));
                    assert_eq!(memory.fingerprint(), file.fingerprint());
                    assert_eq!(memory.prior(), file.prior());
                    assert_eq!(memory.constant().to_bits(), file.constant().to_bits());
                    assert!(
                        said(&memory) == said(&file),
                        "{covariance:?} {rows} {weighted} {kind:?}"
                    );
                }
                let reading = stored.reading();
                assert!(reading.bytes > 20 * stored.pass_bytes());
                assert!(reading.waited <= reading.spent);
            }
        }
    }
}

#[test]
fn refusals_are_those_of_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rows");
    let kind = (Order::Blocks, Element::F64);
    let settings = settings(3, Covariance::Full, Weights::Dirichlet);
    let check = |values: &[f64], weights: Option<&[f64]>| {
        let memory = Mixtures::weighted(values, COLUMNS, weights, &settings);
        let stored = Arc::new(store(&path, (values, weights), kind));
        let file = Mixtures::stored(stored, &settings);
        let (Err(memory), Err(file)) = (memory, file) else {
            panic!("a refusal");
        };
        assert_eq!(memory, file);
    };
    let mut large = values(500);
    large[700] = 1e200;
    check(&large, None);
    check(&values(2), None);
    let mut constant = values(500);
    for row in constant.chunks_exact_mut(COLUMNS) {
        row[1] = 0.1;
    }
    check(&constant, None);
    for bad in [-1.0, f64::NAN] {
        let mut weights = weights(500);
        weights[300] = bad;
        let stored = Arc::new(store(&path, (&values(500), Some(&weights)), kind));
        let refused = Mixtures::stored(stored, &settings).expect_err("a refusal");
        assert!(
            refused.to_string().starts_with("row 301: a weight of "),
            "{refused}"
        );
    }
    check(&values(500), Some(&[0.0; 500]));
}

#[test]
fn files_that_change_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rows");
    let settings = settings(3, Covariance::Full, Weights::Dirichlet);
    let whole = || {
        let stored = store(&path, (&values(3000), None), (Order::Rows, Element::F64));
        let stored = Arc::new(stored);
        let mixtures = Mixtures::stored(Arc::clone(&stored), &settings).expect("mixtures");
        (stored, mixtures.with(3).expect("a model"))
    };
    let refused = |model: &Mixture| {
        let refused = model.start(&Start::KMeans, 0).expect_err("a refusal");
        assert!(matches!(refused, Error::File { .. }) && !refused.is_recoverable());
        let text = refused.to_string();
        assert!(text.contains("rows: it was changed or cut short"), "{text}");
    };
    // Cut short, in the midst of a run.
    let (_, model) = whole();
    let file = fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .expect("a file");
    file.set_len(30_000).expect("a shorter file");
    refused(&model);
    // Other numbers, as many of them.
    let (_, model) = whole();
    std::thread::sleep(std::time::Duration::from_millis(30));
    let mut bytes = fs::read(&path).expect("a file");
    bytes[1000] ^= 1;
    fs::write(&path, bytes).expect("a file");
    refused(&model);
    // Too short from the beginning.
    let layout = Layout {
        offset: 6,
        order: Order::Rows,
        element: Element::F64,
        rows: 3001,
        width: COLUMNS,
        columns: vec![0, 1, 2],
        weights: None,
    };
    let refused = Stored::open(&path, layout, 1000, 1).expect_err("a refusal");
    let expected = "rows: it ends after 72006 bytes, expected 72030";
    assert!(refused.to_string().ends_with(expected), "{refused}");
}
