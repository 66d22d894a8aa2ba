//! The data of the first experiment: five unit Gaussians, one in the middle and four around it.

use collapsar_core::random::StandardNormal;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The centres at R = 1.
const CENTRES: [[f64; 2]; 5] = [
    [0.0, 0.0],
    [1.0, 1.0],
    [1.0, -1.0],
    [-1.0, 1.0],
    [-1.0, -1.0],
];

/// Rows of x and y, one Gaussian after the other in turn, with centres at (0, 0) and (±R, ±R).
///
/// The noise does not depend on R, so that between data sets of one seed only the overlap differs.
pub(crate) fn ring(rows: usize, radius: f64, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..rows)
        .flat_map(|row| CENTRES[row % CENTRES.len()])
        .map(|centre| radius * centre + rng.sample::<f64, _>(StandardNormal))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_five_unit_gaussians() {
        let (rows, radius) = (50_000, 3.0);
        let values = ring(rows, radius, 1);
        assert_eq!(values.len(), 2 * rows);
        for (component, centre) in CENTRES.iter().enumerate() {
            for axis in 0..2 {
                let own = values.chunks_exact(2).skip(component).step_by(5);
                let of: Vec<f64> = own.map(|row| row[axis] - radius * centre[axis]).collect();
                let n = of.len() as f64;
                let mean = of.iter().sum::<f64>() / n;
                let variance = of.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
                // Five standard errors of 10,000 draws: 1 / sqrt(n) and sqrt(2 / n).
                assert!(mean.abs() < 0.05, "mean {mean}");
                assert!((variance - 1.0).abs() < 0.071, "variance {variance}");
            }
        }
    }

    #[test]
    fn a_seed_is_a_data_set_and_a_radius_moves_its_centres() {
        assert_eq!(ring(20, 2.0, 7), ring(20, 2.0, 7));
        assert_ne!(ring(20, 2.0, 7), ring(20, 2.0, 8));
        let (near, far) = (ring(20, 1.0, 7), ring(20, 4.0, 7));
        assert_eq!(near[..2], far[..2]);
        assert!((far[2] - near[2] - 3.0).abs() < 1e-12); // rounding of sums of size 10
    }
}
