//! Rows sorted where they are and rows forgotten, against plain twins.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::quant::{Abundances, Origins, Settings, Solver};

#[test]
fn entries_sorted_in_place_are_those_copied_row_by_row() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    for rows in [0, 1, 2, 7, 100, 1000] {
        let mut starts = vec![0];
        for _ in 0..rows {
            starts.push(starts[starts.len() - 1] + rng.random_range(2..60));
        }
        let count = starts[rows];
        let mut ids: Vec<u32> = (0..count).collect();
        let mut weights: Vec<f64> = ids.iter().map(|&id| f64::from(id) + 0.5).collect();
        let mut order: Vec<u32> = (0..rows as u32).collect();
        for last in (1..rows).rev() {
            order.swap(last, rng.random_range(0..=last));
        }
        let copied: Vec<u32> = (order.iter())
            .flat_map(|&row| ids[range(&starts, row as usize)].to_vec())
            .collect();
        sort_entries(&order, &starts, &mut ids, &mut weights);
        assert_eq!(ids, copied);
        assert!((weights.iter().zip(&ids)).all(|(&w, &id)| w == f64::from(id) + 0.5));
        let sorted = sorted_starts(&order, &starts);
        assert_eq!(sorted.len(), rows + 1);
        for (place, &row) in order.iter().enumerate() {
            let length = range(&starts, row as usize).len();
            assert_eq!(range(&sorted, place).len(), length);
        }
    }
}

fn builder() -> ReadsBuilder {
    ReadsBuilder::new(5, Compression::default()).unwrap()
}

fn filled(mut builder: ReadsBuilder) -> Reads {
    for (row, count) in [
        (&[(3, -1.0), (4, -2.0)][..], 6.0),
        (&[(0, -1.0), (2, -1.5)], 10.0),
        (&[(2, -3.0)], 4.0),
        (&[(4, -2.5), (3, -2.0), (1, -9.0)], 5.0),
    ] {
        builder.push(row, count).unwrap();
    }
    builder.finish().unwrap()
}

#[test]
fn room_made_changes_nothing() {
    for reads in [0, 3, u64::MAX] {
        let mut roomy = builder();
        roomy.reserve(reads);
        assert_eq!(filled(roomy), filled(builder()));
    }
}

#[test]
fn answers_need_no_rows() {
    let mut reads = filled(builder());
    let quantified = Solver::new(&reads, &Settings::default()).unwrap();
    let quantified = quantified.run().unwrap();
    let lengths = [100.0, 200.0, 300.0, 400.0, 500.0];
    let said = |reads: &Reads| {
        let origins = Origins::Collapsed(&quantified);
        let abundances = Abundances::new(reads, origins, &lengths, (50, 1)).unwrap();
        (abundances.estimates(), abundances.transcripts())
    };
    let before = (said(&reads), reads.rows(), reads.entries());
    assert_eq!((before.1, before.2), (3, 7));
    reads.forget_rows();
    assert_eq!((said(&reads), reads.rows(), reads.entries()), before);
    assert_eq!(reads.unique_reads(), 4.0);
    // What is left is a model still, of the reads that are.
    let left = Solver::new(&reads, &Settings::default()).unwrap();
    let left = left.run().unwrap();
    assert_eq!(left.counts(&reads), [0.0, 0.0, 4.0, 0.0, 0.0]);
}
