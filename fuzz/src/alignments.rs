//! Alignments: SAM, BAM and CRAM, told apart by their bytes.

use std::sync::Arc;

use collapsar_formats::{Alignments, Fragment};

use crate::files::{file, told};

/// Bases that are made up to compare with: more would be our allocation and not the reader's.
const BASES: u64 = 1 << 16;

/// The sequence of a target of this length.
pub fn bases(length: u32) -> Vec<u8> {
    let letters = b"ACGGTTAACN".iter().copied();
    letters.cycle().take(length as usize).collect()
}

/// Reads all reads, first without sequences of targets, then with some.
pub(crate) fn read(bytes: &[u8]) {
    let path = file("alignments", bytes);
    for compare in [false, true] {
        let Some(mut alignments) = told(Alignments::open(&path, 0)) else {
            return;
        };
        if compare {
            let lengths = || alignments.targets().iter().map(|target| target.length);
            if lengths().map(u64::from).sum::<u64>() > BASES {
                return;
            }
            let sequences: Vec<Vec<u8>> = lengths().map(bases).collect();
            told(alignments.compare_with(Arc::new(sequences)));
        }
        let mut fragment = Fragment::default();
        while told(alignments.next(&mut fragment)) == Some(true) {}
    }
}
