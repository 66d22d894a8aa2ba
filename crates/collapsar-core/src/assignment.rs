//! Decides who goes with whom: the permutation of the least cost.

/// The column of each row of a square matrix of costs, each once, with the least sum: shortest augmenting paths with
/// prices of rows and columns (the Hungarian method). The identity where a cost is not finite.
pub fn assignment(costs: &[f64], size: usize) -> Vec<usize> {
    if costs.iter().any(|cost| !cost.is_finite()) {
        return (0..size).collect();
    }
    let none = size;
    // The row of each column; the last column stands for the row that has none yet.
    let mut row_of = vec![none; size + 1];
    let (mut row_price, mut column_price) = (vec![0.0; size], vec![0.0; size + 1]);
    for row in 0..size {
        row_of[none] = row;
        let mut at = none;
        let mut least = vec![f64::INFINITY; size];
        let mut from = vec![none; size];
        let mut used = vec![false; size + 1];
        while row_of[at] != none {
            used[at] = true;
            let row = row_of[at];
            let (mut step, mut next) = (f64::INFINITY, none);
            for column in (0..size).filter(|&column| !used[column]) {
                let cost = costs[row * size + column] - row_price[row] - column_price[column];
                if cost < least[column] {
                    least[column] = cost;
                    from[column] = at;
                }
                if least[column] < step || next == none {
                    step = least[column];
                    next = column;
                }
            }
            for column in (0..=size).filter(|&column| used[column]) {
                row_price[row_of[column]] += step;
                column_price[column] -= step;
            }
            for column in (0..size).filter(|&column| !used[column]) {
                least[column] -= step;
            }
            at = next;
        }
        while at != none {
            row_of[at] = row_of[from[at]];
            at = from[at];
        }
        row_of[none] = none;
    }
    let mut out = vec![0; size];
    for (column, &row) in row_of[..size].iter().enumerate() {
        out[row] = column;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn permutations(count: usize) -> Vec<Vec<usize>> {
        if count == 0 {
            return vec![vec![]];
        }
        let shorter = permutations(count - 1);
        let longer = shorter.iter().flat_map(|of| {
            (0..count).map(|place| {
                let mut of = of.clone();
                of.insert(place, count - 1);
                of
            })
        });
        longer.collect()
    }

    #[test]
    fn no_permutation_costs_less() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for count in 0..=6 {
            for _ in 0..20 {
                let costs: Vec<f64> = (0..count * count)
                    .map(|_| rng.random_range(-5.0..5.0))
                    .collect();
                let total = |of: &[usize]| -> f64 {
                    let pairs = of.iter().enumerate();
                    pairs.map(|(row, column)| costs[row * count + column]).sum()
                };
                let found = assignment(&costs, count);
                let mut sorted = found.clone();
                sorted.sort_unstable();
                assert!(sorted.into_iter().eq(0..count));
                for other in permutations(count) {
                    // Sums of six numbers below five.
                    assert!(total(&found) <= total(&other) + 1e-13);
                }
            }
        }
    }

    #[test]
    fn what_is_no_number_moves_nothing() {
        assert_eq!(assignment(&[0.0, f64::NAN, 1.0, 2.0], 2), [0, 1]);
    }
}
