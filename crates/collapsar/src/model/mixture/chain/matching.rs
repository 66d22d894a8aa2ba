//! Which component of a draw is which of the fit: the permutation of the highest score.

/// For each column of a square matrix of scores, row by row, the row that it takes, so that their sum is the highest
/// that any permutation has; the identity where a score is not a number.
///
/// The Hungarian algorithm with potentials: rows join one after the other, each along the shortest path of
/// exchanges, in a third power of operations.
pub(super) fn matching(scores: &[f64], count: usize) -> Vec<usize> {
    if scores.iter().any(|score| !score.is_finite()) {
        return (0..count).collect();
    }
    // A place before the first row and column stands for what has no partner yet.
    let (mut rows, mut columns) = (vec![0.0; count + 1], vec![0.0; count + 1]);
    let mut taken = vec![0; count + 1];
    for row in 1..=count {
        taken[0] = row;
        let mut from = vec![0; count + 1];
        let mut least = vec![f64::INFINITY; count + 1];
        let mut seen = vec![false; count + 1];
        let mut at = 0;
        while taken[at] != 0 {
            seen[at] = true;
            let here = taken[at];
            let (mut nearest, mut distance) = (0, f64::INFINITY);
            for column in (1..=count).filter(|&column| !seen[column]) {
                let cost = -scores[(here - 1) * count + column - 1];
                let reduced = cost - rows[here] - columns[column];
                if reduced < least[column] {
                    (least[column], from[column]) = (reduced, at);
                }
                if least[column] < distance {
                    (distance, nearest) = (least[column], column);
                }
            }
            for column in 0..=count {
                if seen[column] {
                    rows[taken[column]] += distance;
                    columns[column] -= distance;
                } else {
                    least[column] -= distance;
                }
            }
            at = nearest;
        }
        while at != 0 {
            taken[at] = taken[from[at]];
            at = from[at];
        }
    }
    taken[1..].iter().map(|row| row - 1).collect()
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
    fn no_permutation_scores_higher() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for count in 0..=6 {
            for _ in 0..20 {
                let scores: Vec<f64> = (0..count * count)
                    .map(|_| rng.random_range(-5.0..5.0))
                    .collect();
                let total = |of: &[usize]| -> f64 {
                    let pairs = of.iter().enumerate();
                    pairs
                        .map(|(column, row)| scores[row * count + column])
                        .sum()
                };
                let found = matching(&scores, count);
                let mut sorted = found.clone();
                sorted.sort_unstable();
                assert!(sorted.into_iter().eq(0..count));
                for other in permutations(count) {
                    // Sums of six numbers below five.
                    assert!(total(&found) >= total(&other) - 1e-13);
                }
            }
        }
    }

    #[test]
    fn what_is_no_number_moves_nothing() {
        assert_eq!(matching(&[0.0, f64::NAN, 1.0, 2.0], 2), [0, 1]);
    }
}
