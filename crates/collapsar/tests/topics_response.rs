//! Linear response of topics against refits of a tilted model, by a plain implementation of mean field.

use std::sync::Arc;

use collapsar::special::digamma;
use collapsar::topics::{Alpha, Beta, Corpus, Settings, Start, Topics, TopicsResponse};
use collapsar::{Direction, Driver, Point, Stop};

const TOPICS: usize = 2;
const WORDS: usize = 4;
const ALPHA: [f64; TOPICS] = [0.7, 1.1];
const BETA: f64 = 0.8;
/// Counts of each word in each document.
const DOCUMENTS: [[f64; WORDS]; 3] = [
    [6.0, 3.0, 0.0, 1.0],
    [0.0, 2.0, 7.0, 2.0],
    [3.0, 0.0, 2.0, 4.0],
];

type Table = [[f64; TOPICS]; 3];

fn model() -> Topics {
    let (mut starts, mut words, mut counts) = (vec![0], vec![], vec![]);
    for row in DOCUMENTS {
        for (word, &count) in row.iter().enumerate().filter(|(_, count)| **count > 0.0) {
            words.push(word as u32);
            counts.push(count as f32);
        }
        starts.push(words.len());
    }
    let settings = Settings {
        alpha: Alpha::Given(ALPHA.to_vec()),
        beta: Beta::Given(BETA),
        // Documents are settled at every step, so that the fit is the optimum to the last digits.
        sweeps: 200,
        ..Settings::new(TOPICS)
    };
    let corpus = Corpus::new(starts, words, counts, WORDS).unwrap();
    Topics::new(Arc::new(corpus), &settings).unwrap()
}

fn optimum(model: &Topics) -> Point {
    let (start, _) = model.start(Start::Annealed, 2).unwrap();
    let stop = Stop::Gain(1e-15) | Stop::Iterations(5000);
    Driver::new(model, Direction::Vbem)
        .stop(stop)
        .run(start)
        .unwrap()
        .point
}

/// Expected counts of documents in topics where the log joint has been tilted by Σ tilt[d][k] n_dk; by VBEM from
/// the words' counts of a fit.
fn refit(word_counts: &[f64], tilt: &Table) -> Table {
    let mut words = [[0.0; TOPICS]; WORDS];
    for (row, counts) in words.iter_mut().zip(word_counts.chunks(TOPICS)) {
        row.copy_from_slice(counts);
    }
    let mut documents = DOCUMENTS.map(|row| [row.iter().sum::<f64>() / TOPICS as f64; TOPICS]);
    for _ in 0..20_000 {
        let mut next = ([[0.0; TOPICS]; 3], [[0.0; TOPICS]; WORDS]);
        for (d, row) in DOCUMENTS.iter().enumerate() {
            for (w, &n) in row.iter().enumerate() {
                let mut r = [0.0; TOPICS];
                for k in 0..TOPICS {
                    let total: f64 = words.iter().map(|row| row[k]).sum();
                    let topic = digamma(BETA + words[w][k]) - digamma(BETA * WORDS as f64 + total);
                    r[k] = (digamma(ALPHA[k] + documents[d][k]) + topic + tilt[d][k]).exp();
                }
                let total: f64 = r.iter().sum();
                for k in 0..TOPICS {
                    next.0[d][k] += n * r[k] / total;
                    next.1[w][k] += n * r[k] / total;
                }
            }
        }
        (documents, words) = next;
    }
    documents
}

/// How `number` of the expected counts answers to a tilt along `direction`, by central differences.
fn answer(word_counts: &[f64], direction: &Table, number: impl Fn(&Table) -> f64) -> f64 {
    let step = 1e-4;
    let at = |sign: f64| {
        number(&refit(
            word_counts,
            &direction.map(|row| row.map(|x| sign * step * x)),
        ))
    };
    (at(1.0) - at(-1.0)) / (2.0 * step)
}

#[test]
fn variances_are_answers_to_tilts() {
    let model = model();
    let point = optimum(&model);
    let found = model.variances(&point, TopicsResponse::Documents).unwrap();
    assert!(found.whole && found.missing_information.unwrap() < 1.0);
    let tokens: f64 = DOCUMENTS.iter().flatten().sum();
    // Central differences are off by a third derivative times the step squared, 1e-8.
    for k in 0..TOPICS {
        let mut tilt = [[0.0; TOPICS]; 3];
        for row in &mut tilt {
            row[k] = 1.0;
        }
        let variance = answer(&point.statistics, &tilt, |of| {
            of.iter().map(|row| row[k]).sum()
        });
        let expected = variance / (tokens * tokens);
        assert!(
            (found.shares[k] / expected - 1.0).abs() < 1e-5,
            "{} {expected}",
            found.shares[k]
        );
    }
    for d in 0..3 {
        let length: f64 = DOCUMENTS[d].iter().sum();
        let total = ALPHA.iter().sum::<f64>() + length;
        let counts = refit(&point.statistics, &[[0.0; TOPICS]; 3])[d];
        for k in 0..TOPICS {
            let mut tilt = [[0.0; TOPICS]; 3];
            tilt[d][k] = 1.0;
            let variance = answer(&point.statistics, &tilt, |of| of[d][k]);
            let mean = (ALPHA[k] + counts[k]) / total;
            let expected = mean * (1.0 - mean) / (total + 1.0) + variance / (total * total);
            let proportion = found.proportions[d * TOPICS + k];
            assert!(
                (proportion / expected - 1.0).abs() < 1e-5,
                "{proportion} {expected}"
            );
        }
    }
}

#[test]
fn what_is_left_out_makes_variances_smaller() {
    let model = model();
    let point = optimum(&model);
    let whole = model.variances(&point, TopicsResponse::Whole).unwrap();
    let plain = model.variances(&point, TopicsResponse::MeanField).unwrap();
    assert!(plain.missing_information.is_none() && !plain.whole);
    let smaller = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| a < b);
    assert!(smaller(&plain.shares, &whole.shares));
    assert!(smaller(&plain.proportions, &whole.proportions));
    // Mean field's are those of the documents' Dirichlets and of independent tokens.
    let shape: Vec<f64> = (0..TOPICS).map(|k| ALPHA[k] + point.warm[k]).collect();
    let total: f64 = shape.iter().sum();
    let mean = shape[0] / total;
    let expected = mean * (1.0 - mean) / (total + 1.0);
    assert!((plain.proportions[0] - expected).abs() < 1e-12);
}
