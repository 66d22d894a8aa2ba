//! Topics on a plane, as LDAvis has them: Jensen-Shannon divergences between their distributions of words, laid out by
//! classical scaling (principal coordinates).

use nalgebra::{DMatrix, SymmetricEigen};
use rayon::prelude::*;

use collapsar::elementary::Elementary;

/// Minus the entropy of a distribution.
fn negentropy(values: impl Iterator<Item = f64>) -> f64 {
    let term = |x: f64| if x > 0.0 { x * x.ln_() } else { 0.0 };
    values.map(term).sum()
}

/// Jensen-Shannon divergences of all pairs of rows, as a square: by entropies, for which each pair needs one logarithm a word.
pub(crate) fn divergences(rows: &[f64], width: usize) -> Vec<f64> {
    let rows: Vec<&[f64]> = rows.chunks_exact(width).collect();
    let count = rows.len();
    let own: Vec<f64> = rows
        .par_iter()
        .map(|row| negentropy(row.iter().copied()))
        .collect();
    let below = |i: usize| -> Vec<f64> {
        let with = |j: usize| {
            let middle = rows[i].iter().zip(rows[j]).map(|(p, q)| 0.5 * (p + q));
            let divergence = 0.5 * (own[i] + own[j]) - negentropy(middle);
            divergence.max(0.0)
        };
        (0..i).map(with).collect()
    };
    let lines: Vec<Vec<f64>> = (0..count).into_par_iter().map(below).collect();
    let mut square = vec![0.0; count * count];
    for (i, line) in lines.iter().enumerate() {
        for (j, &divergence) in line.iter().enumerate() {
            square[i * count + j] = divergence;
            square[j * count + i] = divergence;
        }
    }
    square
}

/// Places on a plane whose distances are near those given, and how much of them the two directions have.
pub(crate) fn coordinates(distances: &[f64], count: usize) -> (Vec<[f64; 2]>, f64) {
    let squares = DMatrix::from_fn(count, count, |i, j| -0.5 * distances[i * count + j].powi(2));
    let means: Vec<f64> = (0..count)
        .map(|i| squares.row(i).sum() / count as f64)
        .collect();
    let mean = means.iter().sum::<f64>() / count as f64;
    let centred = DMatrix::from_fn(count, count, |i, j| {
        squares[(i, j)] - means[i] - means[j] + mean
    });
    let eigen = SymmetricEigen::new(centred);
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| eigen.eigenvalues[b].total_cmp(&eigen.eigenvalues[a]));
    let along = |place: usize, topic: usize| -> f64 {
        let Some(&which) = order.get(place) else {
            return 0.0;
        };
        eigen.eigenvectors[(topic, which)] * eigen.eigenvalues[which].max(0.0).sqrt()
    };
    let positive = |x: f64| x.max(0.0);
    let total: f64 = eigen.eigenvalues.iter().copied().map(positive).sum();
    let kept: f64 = order
        .iter()
        .take(2)
        .map(|&which| positive(eigen.eigenvalues[which]))
        .sum();
    let places = (0..count).map(|topic| [along(0, topic), along(1, topic)]);
    (
        places.collect(),
        if total > 0.0 { kept / total } else { 1.0 },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divergences_of_known_distributions() {
        let apart = divergences(&[1.0, 0.0, 0.0, 1.0, 0.5, 0.5], 2);
        // Of two without a common word it is ln 2; the other by hand.
        assert!((apart[1] - 2_f64.ln_()).abs() < 1e-15);
        let near = 0.5 * (4.0_f64 / 3.0).ln_() + 0.25 * (2.0_f64 / 3.0).ln_() + 0.25 * 2_f64.ln_();
        assert!((apart[2] - near).abs() < 1e-15, "{} {near}", apart[2]);
        assert_eq!(apart[2], apart[6]);
    }

    #[test]
    fn distances_on_a_plane_come_back() {
        let places = [[0.0, 0.0], [3.0, 0.0], [0.0, 4.0], [-1.0, 2.0]];
        let distance = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).hypot_(a[1] - b[1]);
        let given: Vec<f64> = places
            .iter()
            .flat_map(|&a| places.map(|b| distance(a, b)))
            .collect();
        let (found, share) = coordinates(&given, 4);
        let again: Vec<f64> = found
            .iter()
            .flat_map(|&a| found.iter().map(move |&b| distance(a, b)))
            .collect();
        for (given, again) in given.iter().zip(&again) {
            assert!((given - again).abs() < 1e-9, "{given} {again}");
        }
        assert!((share - 1.0).abs() < 1e-9);
    }
}
