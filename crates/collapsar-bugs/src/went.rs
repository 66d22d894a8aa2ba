//! Decides what a short Markov chain that began at the fit says of each number: whether its mean stays, and how far from it the
//! posterior goes.

use collapsar::elementary::Elementary;
use collapsar::graph::{Kind, ShortChain, WeightedDraws};

use crate::draws::Dependencies;
use crate::posterior::{LARGE, Posterior, PosteriorError, SIGNIFICANT, Summary};
use crate::quantity::{Origin, Quantity};

/// Draws that tell how far a chain goes, at least.
const FEWEST: usize = 40;
/// Parts of a chain whose means are next to independent.
const BATCHES: usize = 10;

/// Which numbers a chain is asked about.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked<'a> {
    /// Where states may be exchanged: only what these hold, which is told in one order of the states.
    pub held: Option<&'a WeightedDraws<'a>>,
    /// Where factors may turn: not normal variables, whose deviations are those of one basis.
    pub turning: bool,
}

impl Posterior<'_> {
    /// By how many deviations at most a Markov chain that began at the fit has moved away on the average of the second half of
    /// its sweeps: a few for a mean that is right, many for one that is not.
    pub fn drift(&self, went: &ShortChain, known: (&[Quantity], &[Summary])) -> f64 {
        let moved = known.0.iter().zip(known.1).filter_map(|(quantity, row)| {
            let Origin::Variable(variable, number) = quantity.origin else {
                return None;
            };
            let at = |variable, number| went.means[self.variational.place(variable) + number];
            let mut mean = at(variable, number as usize);
            // As the text counts it.
            if let Some(moved) = self.prepared.variables.centring.of(variable, number) {
                let others = moved.follows.iter();
                let others: f64 = others.map(|&(other, t)| t * at(other, 0)).sum();
                mean += moved.constant + others;
            }
            (row.sd > 0.0).then(|| (mean - row.mean).abs() / row.sd)
        });
        moved.fold(0.0, f64::max)
    }

    /// Takes for a deviation how far a chain goes from the mean that is told, in the root mean square, where that is more than the
    /// deviation by more than its error; quantiles then reach as far as the chain's (maths §10.10). Returns for how many.
    ///
    /// # Errors
    /// Where a line cannot be computed.
    pub fn widen(
        &self,
        went: &ShortChain,
        asked: Asked<'_>,
        quantities: &[Quantity],
        summaries: &mut [Summary],
    ) -> Result<usize, PosteriorError> {
        let count = went.draws.len();
        if count < FEWEST {
            return Ok(0);
        }
        let told = |place: &usize| match quantities[*place].origin {
            Origin::Variable(variable, _) => {
                let kind = self.prepared.variables.kind(variable);
                let left_out = match kind {
                    Kind::Label(_) => true,
                    Kind::Gaussian => asked.turning,
                    _ => false,
                };
                !left_out && asked.held.is_none_or(|held| held.holds(variable))
            }
            Origin::Grid(variable) => asked.held.is_none_or(|held| held.holds(variable)),
            Origin::Computed => asked.held.is_none(),
            Origin::Label(..) | Origin::Predicted | Origin::Zero => false,
        };
        let places: Vec<usize> = (0..quantities.len()).filter(told).collect();
        let some: Vec<Quantity> = places.iter().map(|&p| quantities[p].clone()).collect();
        let needed = Dependencies::of(self.prepared, &some);
        let mut draws = self.jointly(&some, &needed, 0..count, |index, _| {
            Ok(went.draws[index].clone())
        })?;
        let mut widened = 0;
        for (&place, values) in places.iter().zip(&mut draws) {
            let known = &mut summaries[place];
            let (distance, error) = distance(values, known.mean);
            let more = (distance / known.sd).ln_();
            if more.is_finite() && more > LARGE.max(SIGNIFICANT * error) {
                let [low, _, high] = Summary::of_draws(values).quantiles;
                known.sd = distance;
                known.quantiles[0] = known.quantiles[0].min(low);
                known.quantiles[2] = known.quantiles[2].max(high);
                widened += 1;
            }
        }
        Ok(widened)
    }
}

/// The root of the mean squared distance of a chain's draws from a number, and the standard error of its logarithm by the means
/// of batches.
fn distance(values: &[f64], from: f64) -> (f64, f64) {
    let square = |value: &f64| (value - from).powi(2);
    let mean = |values: &[f64]| values.iter().map(square).sum::<f64>() / values.len() as f64;
    let all = mean(values);
    let batches = values.chunks_exact((values.len() / BATCHES).max(1));
    let off = |batch: &[f64]| (mean(batch) / all - 1.0).powi(2);
    let count = batches.len().max(2) as f64;
    let relative = (batches.map(off).sum::<f64>() / (count * (count - 1.0))).sqrt();
    (all.sqrt(), 0.5 * relative)
}

#[cfg(test)]
mod tests {
    use super::*;
    use collapsar::random::{Distribution, StandardNormal};
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn distances_with_their_errors() {
        // An autoregression of coefficient 0.5 with a variance of one about 3, from 2: the mean square is 1 + 1.
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut draw = || -> f64 { StandardNormal.sample(&mut rng) };
        let (mut off, mut inside) = (0.0_f64, 0);
        for _ in 0..400 {
            let mut x = draw();
            let values: Vec<f64> = (0..200)
                .map(|_| {
                    x = 0.5 * x + 0.75_f64.sqrt() * draw();
                    3.0 + x
                })
                .collect();
            let (found, error) = distance(&values, 2.0);
            let away = found.ln_() - 0.5 * 2.0_f64.ln_();
            off += away / 400.0;
            inside += usize::from(away.abs() < 2.0 * error);
        }
        assert!(off.abs() < 0.02, "{off}");
        // 95% for a normal, a little less for the t distribution of ten batches that are not quite independent.
        assert!((340..=390).contains(&inside), "{inside}");
    }
}
