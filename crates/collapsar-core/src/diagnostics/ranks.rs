//! Draws in order, their quantiles and normal scores.

use std::cell::RefCell;

use crate::family::Marginal;

/// A draw and its place.
pub(super) type Ordered = (f64, usize);

/// Sorts finite draws. What is sorted in runs already takes one pass to merge.
pub(super) fn sort(draws: &mut [Ordered]) {
    draws.sort_by(|a, b| a.0.total_cmp(&b.0));
}

/// The quantile of sorted draws that R calls type 7: straight between neighbours.
pub(super) fn quantile(sorted: &[Ordered], probability: f64) -> f64 {
    let at = probability * (sorted.len() - 1) as f64;
    let below = sorted[at as usize].0;
    let above = sorted[(at as usize + 1).min(sorted.len() - 1)].0;
    let fraction = at.fract();
    let gap = above - below;
    if gap.is_finite() {
        // Rounding must not lead past the draw above.
        (below + fraction * gap).min(above)
    } else {
        (1.0 - fraction) * below + fraction * above
    }
}

/// The median of sorted draws.
pub(super) fn median(sorted: &[Ordered]) -> f64 {
    let size = sorted.len();
    sorted[(size - 1) / 2].0.midpoint(sorted[size / 2].0)
}

/// The normal scores of sorted draws, each in its place: Φ⁻¹((r - 3/8) / (S + 1/4)), where equal draws share the mean of
/// their ranks r.
pub(super) fn normal_scores(sorted: &[Ordered]) -> Vec<f64> {
    let mut scores = vec![0.0; sorted.len()];
    with_table(sorted.len(), |table| {
        let mut first = 0;
        for equal in sorted.chunk_by(|a, b| a.0 == b.0) {
            // Ranks first + 1 to first + length: twice their mean, less the 2 where the table begins.
            let score = table[2 * first + equal.len() - 1];
            for &(_, place) in equal {
                scores[place] = score;
            }
            first += equal.len();
        }
    });
    scores
}

thread_local! {
    /// The table of the size last asked for: thousands of quantities have the same number of draws, and the
    /// quantiles would take longer than all else.
    static TABLE: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
}

/// Hands over the scores of all ranks and midranks 1, 1½, 2, … of so many draws.
fn with_table(size: usize, read: impl FnOnce(&[f64])) {
    TABLE.with_borrow_mut(|table| {
        if table.len() + 1 != 2 * size {
            *table = scores_of_midranks(size);
        }
        read(table);
    });
}

fn scores_of_midranks(size: usize) -> Vec<f64> {
    let standard = Marginal::Normal { mean: 0.0, sd: 1.0 };
    let mut table = vec![0.0; 2 * size - 1];
    // The score of the middle rank is zero, the others are each other's negatives.
    for i in 0..size - 1 {
        let rank = 1.0 + 0.5 * i as f64;
        let score = standard.quantile((rank - 0.375) / (size as f64 + 0.25));
        table[i] = score;
        table[2 * (size - 1) - i] = -score;
    }
    table
}
