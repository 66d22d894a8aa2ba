//! Decides from what draws are proposed: a mixture of t distributions of coordinates without bounds (maths §10.10).

use nalgebra::DMatrix;
use rand::{Rng, RngExt};

use super::block::{Block, BlockFamily};
use super::kept::Kept;
use super::response::LinearResponse;
use super::student::{LANES, Lanes, Student, in_lanes};
use collapsar_core::Result;
use collapsar_core::elementary::Elementary;
use collapsar_core::special::{digamma, log_sum_exp, trigamma};
use collapsar_core::vector::dot;

/// Draws that a mended part is worth more than, for each coordinate.
const WORTH: f64 = 4.0;
/// The share that parts keep, two of them or all others together: a part that the first draws saw little of may be where the
/// posterior is.
const LEAST: f64 = 0.2;

/// By what factor the deviations of a wide part are larger.
const WIDE: f64 = 3.0;

/// A mixture of t distributions, one or a few.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// Each with its share; these sum to one.
    parts: Vec<(f64, Student)>,
}

impl Proposal {
    /// One with this centre and covariance; none where that is not positive definite.
    pub fn new(centre: Vec<f64>, covariance: DMatrix<f64>) -> Option<Self> {
        Student::new(centre, covariance).map(Self::of)
    }

    fn of(part: Student) -> Self {
        Self {
            parts: vec![(1.0, part)],
        }
    }

    /// One with these parts, alike in share; none without any.
    pub(super) fn of_parts(parts: Vec<Student>) -> Option<Self> {
        let share = 1.0 / parts.len() as f64;
        let parts: Vec<_> = parts.into_iter().map(|part| (share, part)).collect();
        (!parts.is_empty()).then_some(Self { parts })
    }

    /// One with the mean and the covariance of draws that have weights, which sum to one.
    pub fn of_draws(draws: &[Vec<f64>], weights: &[f64]) -> Option<Self> {
        Student::of_draws(draws, weights).map(Self::of)
    }

    /// One with the mean of places that a chain went to, and their covariance as if there were one more for each coordinate with
    /// that of this one: few places have a covariance without extent somewhere. None without places.
    pub fn fitted(&self, visited: &[Vec<f64>]) -> Option<Self> {
        let shares = vec![1.0 / visited.len() as f64; visited.len()];
        let (_, first) = self.parts.first()?;
        let prior = first.dim() as f64 / visited.len() as f64;
        first.moved(visited, &shares, prior).map(Self::of)
    }

    /// With a part that is three times as wide beside it: of few coordinates it costs few draws, and tails that are far longer on
    /// one side than a t distribution has them, as those of a precision under a vague prior, are seen.
    #[must_use]
    pub fn with_wide(&self) -> Self {
        let wide = (self.parts.first()).and_then(|(_, part)| part.scaled(WIDE));
        let mut parts = self.parts.clone();
        if let Some(wide) = wide {
            parts.push((0.25, wide));
            for (share, _) in &mut parts {
                *share /= 1.25;
            }
        }
        Self { parts }
    }

    /// The mixture of two, half and half.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let both = self.parts.iter().chain(&other.parts);
        Self {
            parts: both
                .map(|(share, part)| (0.5 * share, part.clone()))
                .collect(),
        }
    }

    /// One draw.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> Vec<f64> {
        let last = self.parts.len() - 1;
        let mut part = 0;
        if last > 0 {
            let mut place = rng.random::<f64>();
            while part < last && place >= self.parts[part].0 {
                place -= self.parts[part].0;
                part += 1;
            }
        }
        self.parts[part].1.draw(rng)
    }

    /// The log density.
    pub fn ln_density(&self, at: &[f64]) -> f64 {
        self.ln_added(at, f64::NEG_INFINITY)
    }

    /// The logarithm of a sum with the density added to it: parts that would not change it are not computed to the end.
    pub(super) fn ln_added(&self, at: &[f64], ln_sum: f64) -> f64 {
        self.parts.iter().fold(ln_sum, |ln_sum, (share, part)| {
            let ln_share = share.ln_();
            let added = part.ln_density_above(at, ln_sum + f64::EPSILON.ln_() - ln_share);
            added.map_or(ln_sum, |added| log_sum_exp(&[ln_sum, ln_share + added]))
        })
    }

    /// The same at several places: adds the densities to the sums, of which there are the logarithms. `away` is room.
    pub(super) fn add_in_lanes(&self, at: &[Lanes], ln_sums: &mut Lanes, away: &mut Vec<Lanes>) {
        for (share, part) in &self.parts {
            let ln_share = share.ln_();
            let floors = ln_sums.map(|ln_sum| ln_sum + f64::EPSILON.ln_() - ln_share);
            let added = part.ln_densities_above(at, &floors, away);
            for (ln_sum, added) in ln_sums.iter_mut().zip(added) {
                if let Some(added) = added {
                    *ln_sum = log_sum_exp(&[*ln_sum, ln_share + added]);
                }
            }
        }
    }

    /// The log densities of all parts with their shares, for each of several places.
    fn ln_parts(&self, places: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let mut out = Vec::with_capacity(places.len());
        let (mut at, mut away) = (vec![], vec![]);
        for some in places.chunks(LANES) {
            in_lanes(some, &mut at);
            let mut found = vec![Vec::with_capacity(self.parts.len()); some.len()];
            for (share, part) in &self.parts {
                let all = part.ln_densities_above(&at, &[f64::NEG_INFINITY; LANES], &mut away);
                for (found, ln_density) in found.iter_mut().zip(all) {
                    found.push(share.ln_() + ln_density.unwrap_or(f64::NEG_INFINITY));
                }
            }
            out.append(&mut found);
        }
        out
    }

    /// One whose parts have the shares and the moments of draws with weights of a sum of one, each draw counted for each part by
    /// its responsibility (Cappe08). A part that draws tell too little of stays as it is: moments of few draws of large weight
    /// are narrower than what they are of, and the next draws worse. So it does where its many numbers would be found from so few
    /// draws that their errors cost more than there is to gain (maths §10.10).
    #[must_use]
    pub fn mended(&self, draws: &[Vec<f64>], weights: &[f64]) -> Self {
        let squares: f64 = weights.iter().map(|weight| weight * weight).sum();
        let lost = (squares * draws.len() as f64).ln_();
        let mut shares = vec![Vec::with_capacity(draws.len()); self.parts.len()];
        for (ln_parts, weight) in self.ln_parts(draws).iter().zip(weights) {
            let total = log_sum_exp(ln_parts);
            for (shares, ln_part) in shares.iter_mut().zip(ln_parts) {
                shares.push(weight * (ln_part - total).exp_());
            }
        }
        let mut parts = Vec::with_capacity(self.parts.len());
        for (mut shares, (_, part)) in shares.into_iter().zip(&self.parts) {
            let sum: f64 = shares.iter().sum();
            for share in &mut shares {
                *share /= sum;
            }
            let worth = 1.0 / shares.iter().map(|share| share * share).sum::<f64>();
            let dim = part.dim() as f64;
            // Half a nat for each draw's worth of numbers: a centre and a covariance.
            let errors = 0.5 * (0.5 * dim * (dim + 3.0)) / worth;
            let better = (worth > WORTH * dim && errors < lost)
                .then(|| Student::of_draws(draws, &shares))
                .flatten();
            parts.push((
                sum.max(LEAST / self.parts.len() as f64),
                better.unwrap_or_else(|| part.clone()),
            ));
        }
        let total: f64 = parts.iter().map(|(share, _)| share).sum();
        for (share, _) in &mut parts {
            *share /= total;
        }
        Self { parts }
    }
}

impl LinearResponse<'_> {
    /// A proposal for what is kept, with the covariance of linear response; none where there is no such.
    ///
    /// # Errors
    /// Where the point is outside the domain.
    pub fn proposal(&self, kept: &Kept<'_>) -> Result<Option<Proposal>> {
        let mut coordinates = vec![];
        let mut centre = vec![];
        for (block, _) in kept.blocks() {
            let Some((index, natural)) = self.block_of(block) else {
                return Ok(None);
            };
            let mut linearised = block.linearised(natural)?;
            // The logarithm of the precision is the last coordinate.
            let gamma = matches!(
                block.family,
                BlockFamily::Gamma(_) | BlockFamily::GaussianGamma(_)
            );
            let first = coordinates.len();
            for parts in &linearised.parts {
                let mut along = vec![0.0; natural.len()];
                for &(place, part) in parts {
                    along[place] += part;
                }
                let mut changes = vec![0.0; natural.len()];
                (block.potential()).hessian_product(natural, &along, &mut changes)?;
                coordinates.push(Coordinate {
                    index,
                    along,
                    changes,
                    scale: 1.0,
                });
            }
            if gamma {
                let place = linearised.centre.len() - 1;
                let (scale, shift) = self.wider_gamma(block, natural, index)?;
                coordinates[first + place].scale = scale;
                linearised.centre[place] += shift;
            }
            centre.append(&mut linearised.centre);
        }
        let covariance = self.covariance_of(&coordinates)?;
        Ok(Proposal::new(centre, covariance))
    }

    /// By what factor the deviation of the logarithm of a precision is larger than linear response of that logarithm says,
    /// and how far its mean is off, where the gamma distribution is that with the corrected mean and variance of the precision
    /// itself: exact where the precision is that of a normal sample (maths §10.2).
    fn wider_gamma(&self, block: &Block, natural: &[f64], index: usize) -> Result<(f64, f64)> {
        let mut mean = vec![0.0; natural.len()];
        block.evaluate(natural, &mut mean)?;
        let of = |statistic: usize| -> Result<(f64, f64)> {
            let mut along = vec![0.0; natural.len()];
            along[statistic] = 1.0;
            let mut changes = vec![0.0; natural.len()];
            (block.potential()).hessian_product(natural, &along, &mut changes)?;
            let before = changes[statistic];
            let one = Coordinate {
                index,
                along,
                changes,
                scale: 1.0,
            };
            Ok((before, self.covariance_of(&[one])?[(0, 0)]))
        };
        let ((_, of_log), (before, after)) = (of(0)?, of(1)?);
        let square = mean[1] * mean[1];
        let (shape, corrected) = (square / before, square / after);
        let scale = (trigamma(corrected) / of_log).sqrt().max(1.0);
        let shift = (digamma(corrected) - corrected.ln_()) - (digamma(shape) - shape.ln_());
        let sane = scale.is_finite() && shift.is_finite();
        Ok(if sane { (scale, shift) } else { (1.0, 0.0) })
    }

    /// Covariances of coordinates by linear response (maths (10.1) and (10.2)).
    fn covariance_of(&self, coordinates: &[Coordinate]) -> Result<DMatrix<f64>> {
        let mut answers = Vec::with_capacity(coordinates.len());
        for coordinate in coordinates {
            let changes = [(coordinate.index, coordinate.changes.clone())].into();
            answers.push(self.answer(&changes)?);
        }
        let entry = |i: usize, j: usize| {
            let (a, b) = (&coordinates[i], &coordinates[j]);
            let own = if a.index == b.index {
                dot(&a.along, &b.changes)
            } else {
                0.0
            };
            (own + answers[i].with(&answers[j])) * a.scale * b.scale
        };
        let size = coordinates.len();
        let mut out = DMatrix::zeros(size, size);
        for i in 0..size {
            for j in 0..=i {
                let value = 0.5 * (entry(i, j) + entry(j, i));
                out[(i, j)] = value;
                out[(j, i)] = value;
            }
        }
        Ok(out)
    }
}

/// A coordinate of a block: its sum of statistics, and its covariance with them.
struct Coordinate {
    index: usize,
    along: Vec<f64>,
    changes: Vec<f64>,
    /// By which its deviation is multiplied.
    scale: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use std::f64::consts::TAU;

    /// Two normal modes with deviations of one and a half, the second with three fourths of the mass.
    fn target(x: f64) -> f64 {
        let mode = |at: f64, sd: f64| (-0.5 * ((x - at) / sd).powi(2)).exp_() / (sd * TAU.sqrt());
        0.25 * mode(-4.0, 1.0) + 0.75 * mode(4.0, 0.5)
    }

    /// Draws with their weights, which sum to one, and the mean of the weights before.
    fn weighed(proposal: &Proposal, count: usize, seed: u64) -> (Vec<Vec<f64>>, Vec<f64>, f64) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let draws: Vec<Vec<f64>> = (0..count).map(|_| proposal.draw(&mut rng)).collect();
        let weigh = |draw: &Vec<f64>| target(draw[0]) / proposal.ln_density(draw).exp_();
        let mut weights: Vec<f64> = draws.iter().map(weigh).collect();
        let sum: f64 = weights.iter().sum();
        for weight in &mut weights {
            *weight /= sum;
        }
        (draws, weights, sum / count as f64)
    }

    #[test]
    fn sums_leave_out_what_is_below_their_rounding() {
        let covariance = DMatrix::from_row_slice(2, 2, &[1.0, 0.3, 0.3, 2.0]);
        let one = Proposal::new(vec![0.0, 1.0], covariance).expect("a t");
        for at in [[0.5, 0.2], [1e3, -2e3], [1e9, 3.0]] {
            let alone = one.ln_density(&at);
            let sums = [-50.0, -1.0, 0.0, 10.0, 30.0, 40.0].map(|more| alone + more);
            for ln_sum in sums.into_iter().chain([f64::NEG_INFINITY]) {
                let expected = log_sum_exp(&[ln_sum, alone]);
                let off = one.ln_added(&at, ln_sum) - expected;
                assert!(off.abs() <= 1e-14 * expected.abs().max(1.0), "{off:e}");
            }
        }
    }

    #[test]
    fn a_part_for_what_a_chain_saw() {
        let one = Proposal::new(vec![-4.0], DMatrix::from_element(1, 1, 1.0)).expect("a t");
        // It hardly ever comes to the other mode.
        let (_, _, seen) = weighed(&one, 400, 1);
        assert!(seen < 0.5, "{seen}");
        let visited: Vec<Vec<f64>> = (0..50).map(|i| vec![3.0 + 0.04 * f64::from(i)]).collect();
        let both = one.with(&one.fitted(&visited).expect("places"));
        let (draws, weights, seen) = weighed(&both, 4000, 2);
        // Four errors of the mean of weights that are at most four.
        assert!((seen - 1.0).abs() < 0.1, "{seen}");
        let better = both.mended(&draws, &weights);
        let worth = |of: &Proposal| {
            let (_, weights, _) = weighed(of, 4000, 3);
            1.0 / weights.iter().map(|weight| weight * weight).sum::<f64>()
        };
        let (before, after) = (worth(&both), worth(&better));
        assert!(after > 1.2 * before && after > 3000.0, "{before} {after}");
    }
}
