//! Where a run begins: responsibilities that workers make of seeds and centres, turned into messages by one VBEM step.

use super::FarMixture;
use super::task::{Race, Task};
use collapsar_core::{Potential, Result};

/// How the first responsibilities are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FarStart {
    /// Logits from a standard normal.
    Random,
    /// Centres by k-means++ and a few rounds of k-means, then each row wholly to the nearest.
    #[default]
    KMeans,
    /// Centres by k-means++ alone.
    PlusPlus,
    /// Centres are rows, any as likely as another.
    Rows,
}

/// Rounds of k-means after seeding: the fit itself does the rest.
const ROUNDS: usize = 5;

impl FarMixture<'_> {
    /// Messages to start from, and the passes over the data spent on them.
    ///
    /// # Errors
    /// Where workers cannot answer.
    pub fn start(&self, start: FarStart, seed: u64) -> Result<(Vec<f64>, u64)> {
        let (statistics, passes) = match start {
            FarStart::Random => (self.ask(&Task::Random { seed })?, 1),
            start => {
                let (centres, passes) = self.seeded(start, seed)?;
                (self.ask(&Task::Nearest(centres))?, passes + 1)
            }
        };
        let mut messages = vec![0.0; statistics.len()];
        self.blocks.value_and_gradient(&statistics, &mut messages)?;
        Ok((messages, passes))
    }

    fn ask(&self, task: &Task) -> Result<Vec<f64>> {
        let far = &self.local.far;
        let asker = far.asker();
        asker.ask(task.kind(), far.preparation(), |out| task.write(out))
    }

    /// Centres in standardised units, and what finding them cost; seeding counts as one pass, as centres are few beside
    /// features.
    fn seeded(&self, start: FarStart, seed: u64) -> Result<(Vec<f64>, u64)> {
        let (columns, components) = (self.columns(), self.components());
        let mut centres = Vec::with_capacity(components * columns);
        for round in 0..components {
            let race = Race {
                seed,
                round: round as u64,
                uniform: start == FarStart::Rows,
                centres: centres.clone(),
            };
            let winner = self.ask(&Task::Race(race))?;
            centres.extend(&winner[1..]);
        }
        if start != FarStart::KMeans {
            return Ok((centres, 1));
        }
        for _ in 0..ROUNDS {
            let sums = self.ask(&Task::Centres(centres.clone()))?;
            let each = sums.chunks_exact(1 + columns);
            for (centre, sums) in centres.chunks_exact_mut(columns).zip(each) {
                let count = if sums[0] > 0.0 { sums[0] } else { 1.0 };
                for (c, sum) in centre.iter_mut().zip(&sums[1..]) {
                    *c = sum / count;
                }
            }
        }
        Ok((centres, 1 + ROUNDS as u64))
    }
}
