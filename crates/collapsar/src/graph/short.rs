//! Where a short Markov chain goes that begins at the fit: whether it stays where q is (maths §10.10).

use rand::Rng;

use super::compiled::Compiled;
use super::kept::Kept;
use collapsar_core::{Point, Result};

/// What a short chain saw.
#[derive(Debug, Clone, PartialEq)]
pub struct ShortChain {
    /// The mean of all numbers over the second half of the sweeps, laid out as those of [`super::Chain::numbers`].
    pub means: Vec<f64>,
    /// Coordinates of what is kept, without those of the first fifth of the sweeps.
    pub visited: Vec<Vec<f64>>,
    /// All numbers at each sweep of the second half; none where these are too many to keep.
    pub draws: Vec<Vec<f64>>,
}

/// Numbers of all draws that are kept at most.
const KEPT: usize = 4_000_000;

impl Compiled {
    /// So many sweeps of a chain that begins at a draw of q; places are noted where something is kept.
    ///
    /// # Errors
    /// Where the chain leaves the domain.
    pub fn short_chain<R: Rng + ?Sized>(
        &self,
        point: &Point,
        sweeps: usize,
        kept: Option<&Kept<'_>>,
        rng: &mut R,
    ) -> Result<ShortChain> {
        let mut chain = self.chain(point, rng)?;
        let mut means = vec![0.0; chain.numbers().len()];
        let (mut visited, mut draws) = (vec![], vec![]);
        let half = sweeps / 2;
        for sweep in 0..2 * half {
            chain.sweep(rng)?;
            if let Some(kept) = kept.filter(|_| sweep >= sweeps / 5) {
                visited.push(kept.coordinates(chain.numbers()));
            }
            if sweep >= half {
                for (mean, number) in means.iter_mut().zip(chain.numbers()) {
                    *mean += number / half as f64;
                }
                if means.len().saturating_mul(half) <= KEPT {
                    draws.push(chain.numbers().to_vec());
                }
            }
        }
        visited.retain(|place| place.iter().all(|x| x.is_finite()));
        Ok(ShortChain {
            means,
            visited,
            draws,
        })
    }
}
