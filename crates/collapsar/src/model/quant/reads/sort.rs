//! Puts rows into the order of their components, in the memory that they have.

use super::range;

/// Entries between two whose rows are noted.
const STRIDE: usize = 16;

/// Puts the numbers of rows into the order of `rows`.
pub(super) fn sort_rows<T: Copy>(rows: &[u32], values: &mut Vec<T>) {
    *values = rows.iter().map(|&row| values[row as usize]).collect();
}

/// Puts the entries of rows into the order of `rows`, where they are: a second copy of the weights
/// would be the most memory that a run ever holds.
pub(super) fn sort_entries(rows: &[u32], starts: &[u32], ids: &mut [u32], weights: &mut [f64]) {
    let mut targets = vec![0; rows.len()];
    for (&row, start) in rows.iter().zip(sorted_starts(rows, starts)) {
        targets[row as usize] = start;
    }
    // The row of one entry in sixteen, from which the others' are few steps away: a list of all
    // places would be half as much memory as the weights.
    let mut marks = Vec::with_capacity(ids.len().div_ceil(STRIDE));
    for row in 0..rows.len() {
        while marks.len() * STRIDE < starts[row + 1] as usize {
            marks.push(row as u32);
        }
    }
    let place = |entry: usize| {
        let mut row = marks[entry / STRIDE] as usize;
        while starts[row + 1] as usize <= entry {
            row += 1;
        }
        targets[row] as usize + (entry - starts[row] as usize)
    };
    // A bit for each entry.
    let mut moved = vec![0_u64; ids.len().div_ceil(64)];
    for entry in 0..ids.len() {
        if moved[entry / 64] >> (entry % 64) & 1 == 1 {
            continue;
        }
        // Round a cycle of places, each entry taking that of the next.
        let mut held = (ids[entry], weights[entry]);
        let mut to = place(entry);
        while to != entry {
            std::mem::swap(&mut held.0, &mut ids[to]);
            std::mem::swap(&mut held.1, &mut weights[to]);
            moved[to / 64] |= 1 << (to % 64);
            to = place(to);
        }
        (ids[entry], weights[entry]) = held;
    }
}

/// Where rows begin, in the order of `rows`.
pub(super) fn sorted_starts(rows: &[u32], starts: &[u32]) -> Vec<u32> {
    let mut next = 0;
    let ends = rows.iter().map(|&row| {
        next += range(starts, row as usize).len() as u32;
        next
    });
    std::iter::once(0).chain(ends).collect()
}
