//! One row at a time is what all rows at once are made of.

use std::sync::Arc;

use super::*;
use crate::graph::Atom;

use collapsar_core::elementary::Elementary;

/// Labels of two states whose logits hold one product for each state and place.
fn kernel(features: bool) -> (RowKernel, usize) {
    let mut rows = Rows::new(0, 4, 2);
    let mut sums = Sums::default();
    let places = 6;
    for place in 0..places {
        let atom = Atom {
            variable: 10 + place,
            part: 0,
        };
        let coefficient = 0.5 + f64::from(place);
        rows.sum(
            &mut sums,
            0.1 * f64::from(place),
            [(coefficient, &[atom][..])],
            0,
        );
    }
    rows.part(if features {
        RowPart::Features {
            columns: 1,
            values: Arc::new(vec![0.3, -1.0, 2.0, 0.7]),
            sums,
        }
    } else {
        RowPart::Lookup {
            // The second and the last row are the same.
            uses: vec![vec![0, 1, 2, 1], vec![2, 1, 0, 1]],
            sums,
        }
    });
    let mut slots = Terms::default();
    let kernel = RowKernel::new(rows, &mut slots).expect("rows");
    (kernel, slots.len())
}

#[test]
fn rows_one_by_one_are_all_rows() {
    for features in [true, false] {
        let (kernel, slots) = kernel(features);
        let messages: Vec<f64> = (0..slots).map(|slot| 0.2 * slot as f64 - 0.4).collect();
        let tables = kernel.tables(&messages);
        let mut logits = vec![0.0; 2];
        kernel
            .responsibilities(&messages, |row, responsibilities| {
                kernel.logits_of(row, &tables, &mut logits);
                let first = 1.0 / (1.0 + (logits[1] - logits[0]).exp_());
                // A few roundings of numbers near one.
                assert!((responsibilities[0] - first).abs() < 1e-14, "row {row}");
            })
            .expect("inside the domain");
        let states = [1, 0, 1, 1];
        let mut left = states.iter();
        let mut whole = vec![0.0; slots];
        kernel.statistics_of(0.0, |_| left.next().copied(), &mut whole);
        let mut sum = vec![0.0; slots];
        for (row, &state) in states.iter().enumerate() {
            kernel.add_row(row, state, 1.0, &mut sum);
        }
        for (whole, sum) in whole.iter().zip(&sum) {
            assert!((whole - sum).abs() < 1e-12, "{whole} {sum}");
        }
        assert!(kernel.readings() > 1.0);
    }
}
