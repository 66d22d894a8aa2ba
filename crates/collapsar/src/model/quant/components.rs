//! Splits transcripts into those that share reads, directly or by others between them.

use std::ops::Range;

use super::reads::range;

/// Transcripts that share reads, and the rows of these reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    /// Where its transcripts stand in [`super::Reads::order`].
    pub places: Range<usize>,
    /// Where its rows stand.
    pub rows: Range<usize>,
}

/// The result of [`split`].
pub(super) struct Split {
    /// The transcript at each place: components one after another, then those without shared reads.
    pub(super) order: Vec<u32>,
    /// The place of each transcript.
    pub(super) places: Vec<u32>,
    /// The row at each place, by component.
    pub(super) rows: Vec<u32>,
    /// Most entries first, so that threads end together.
    pub(super) components: Vec<Component>,
}

/// Finds the connected components of rows `ids[starts[n]..starts[n + 1]]`.
pub(super) fn split(transcripts: usize, starts: &[u32], ids: &[u32]) -> Split {
    let roots = roots(transcripts, starts, ids);
    let rows = starts.len() - 1;
    let root_of_row = |row: usize| roots[ids[starts[row] as usize] as usize] as usize;
    let mut entries = vec![0_usize; transcripts];
    for row in 0..rows {
        entries[root_of_row(row)] += range(starts, row).len();
    }
    // Roots are the smallest transcripts of their components, which settles ties.
    let mut largest: Vec<usize> = (0..transcripts).filter(|&m| entries[m] > 0).collect();
    largest.sort_by_key(|&root| std::cmp::Reverse(entries[root]));
    let mut component_of = vec![largest.len(); transcripts];
    for (index, &root) in largest.iter().enumerate() {
        component_of[root] = index;
    }

    let component_of = |m: usize| component_of[roots[m] as usize];
    let (order, place_bounds) = sorted(transcripts, largest.len() + 1, component_of);
    let row_component = |row: usize| component_of(root_of_row(row));
    let (rows, row_bounds) = sorted(rows, largest.len(), row_component);
    let mut places = vec![0; transcripts];
    for (place, &transcript) in order.iter().enumerate() {
        places[transcript as usize] = place as u32;
    }
    let components = (0..largest.len())
        .map(|index| Component {
            places: place_bounds[index]..place_bounds[index + 1],
            rows: row_bounds[index]..row_bounds[index + 1],
        })
        .collect();
    Split {
        order,
        places,
        rows,
        components,
    }
}

/// The smallest transcript of each one's component.
fn roots(transcripts: usize, starts: &[u32], ids: &[u32]) -> Vec<u32> {
    let mut roots: Vec<u32> = (0..transcripts as u32).collect();
    for row in 0..starts.len() - 1 {
        let row = &ids[range(starts, row)];
        for &other in &row[1..] {
            let (a, b) = (find(&mut roots, row[0]), find(&mut roots, other));
            roots[a.max(b) as usize] = a.min(b);
        }
    }
    // Nothing points upwards, so what lies below is final already.
    for m in 0..transcripts {
        roots[m] = roots[roots[m] as usize];
    }
    roots
}

/// The root of `m`, with the way to it halved.
fn find(roots: &mut [u32], mut m: u32) -> u32 {
    while roots[m as usize] != m {
        let above = roots[roots[m as usize] as usize];
        roots[m as usize] = above;
        m = above;
    }
    m
}

/// `0..count` sorted by `class`, stably, and where each class begins and ends.
fn sorted(count: usize, classes: usize, class: impl Fn(usize) -> usize) -> (Vec<u32>, Vec<usize>) {
    let mut bounds = vec![0; classes + 1];
    for item in 0..count {
        bounds[class(item) + 1] += 1;
    }
    for index in 0..classes {
        bounds[index + 1] += bounds[index];
    }
    let mut next = bounds.clone();
    let mut order = vec![0; count];
    for item in 0..count {
        let place = &mut next[class(item)];
        order[*place] = item as u32;
        *place += 1;
    }
    (order, bounds)
}
