//! Decides where labels that are approximated one by one begin: with those that meet others alike, after which each
//! in turn takes the state that raises the log joint most, all that is collapsed integrated out.
//!
//! From random states nodes of a network see communities that all look alike, and whether all change at once or
//! one by one, everyone ends in one of them.

use rand::seq::SliceRandom;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::block::{Block, BlockFamily, range_of};
use super::compiled::Compiled;
use super::start::{guess, plain};
use collapsar_core::{Potential, Result};

/// Most sweeps over all labels; few networks need more than five before no label moves.
const SWEEPS: u64 = 10;
/// Rounds in which groups of labels that meet others alike are made.
const ROUNDS: usize = 10;

/// What a label meets: for each other label and statistic, the coefficient of their term, sorted.
type Profile = Vec<(usize, f64)>;

impl Compiled {
    /// Messages from labels with blocks of their own that have taken turns, and the passes that this is worth.
    pub(super) fn swept(&self, seed: u64) -> Result<(Vec<f64>, u64)> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut row_rng = ChaCha8Rng::seed_from_u64(rng.random());
        let (own, first) = (self.local.blocks().1, self.local.own_first());
        let mut statistics = self.local.statistics_of(
            |block, mean| guess(block, 1.0, &mut rng, mean),
            1.0,
            |states| Some(row_rng.random_range(0..states)),
        );
        let mut labels: Vec<usize> = (own.iter().enumerate())
            .filter(|(_, (block, _))| matches!(block.family, BlockFamily::Label(_)))
            .map(|(index, _)| index)
            .collect();
        let most = labels.iter().map(|&label| own[label].0.len());
        let most = most.max().unwrap_or(0);
        let profiles = self.profiles(&labels);
        let groups = grouped(&profiles, most, &mut rng);
        for (&label, group) in labels.iter().zip(groups) {
            let range = range_of(&own[label]);
            let mean = &mut statistics[first..][range];
            mean.fill(0.0);
            mean[group % mean.len()] = 1.0;
        }
        let terms = self.posterior.terms_of(first, own);
        let (mut naturals, _) = self.posterior.naturals(&statistics);
        let mut sweeps = 0;
        let mut moved = true;
        while moved && sweeps < SWEEPS {
            labels.shuffle(&mut rng);
            moved = false;
            for &label in &labels {
                let range = range_of(&own[label]);
                let base = &self.local.own_base[range.clone()];
                let places = first + range.start..first + range.end;
                let terms = &terms[label];
                let posterior = &self.posterior;
                moved |=
                    posterior.take_best(terms, places, base, &mut statistics, &mut naturals)?;
            }
            sweeps += 1;
        }
        let mut messages = vec![0.0; statistics.len()];
        self.posterior
            .value_and_gradient(&statistics, &mut messages)?;
        self.local
            .settle(&mut messages, |block: &Block, inside, natural| {
                if !inside {
                    plain(block, &mut rng, natural);
                }
            });
        Ok((messages, sweeps * most as u64))
    }

    /// What each of these labels meets, whatever the states: terms of the first states stand for those of all.
    fn profiles(&self, labels: &[usize]) -> Vec<Profile> {
        let (own, first) = (self.local.blocks().1, self.local.own_first());
        let mut number = vec![None; own.len()];
        for (place, &label) in labels.iter().enumerate() {
            number[label] = Some(place);
        }
        // The label whose first state a factor is.
        let label_of = |factor: u32| {
            let place = (factor as usize).checked_sub(first)?;
            let block = own.partition_point(|placed| placed.1 <= place) - 1;
            number[block].filter(|_| own[block].1 == place)
        };
        let mut profiles = vec![Profile::new(); labels.len()];
        for (coefficient, factors, statistic) in self.posterior.meetings() {
            if let [a, b] = *factors
                && let (Some(a), Some(b)) = (label_of(a), label_of(b))
            {
                profiles[a].push((b + statistic * labels.len(), coefficient));
                profiles[b].push((a + statistic * labels.len(), coefficient));
            }
        }
        profiles
    }
}

/// Groups of labels that meet others alike: k-means of profiles, from centres as k-means++ chooses them.
fn grouped(profiles: &[Profile], groups: usize, rng: &mut impl Rng) -> Vec<usize> {
    let keys = profiles.iter().flatten().map(|entry| entry.0 + 1);
    let length = keys.max().unwrap_or(0);
    let dense = |profile: &Profile| {
        let mut centre = vec![0.0; length];
        for &(key, x) in profile {
            centre[key] += x;
        }
        centre
    };
    // The squared distance, but for the profile's own square, which is the same for all centres.
    let far = |profile: &Profile, (centre, square): &(Vec<f64>, f64)| {
        let product: f64 = profile.iter().map(|&(key, x)| x * centre[key]).sum();
        square - 2.0 * product
    };
    let with_square = |centre: Vec<f64>| {
        let square = centre.iter().map(|x| x * x).sum();
        (centre, square)
    };
    let nearest = |profile: &Profile, centres: &[(Vec<f64>, f64)]| {
        let each = centres.iter().map(|centre| far(profile, centre));
        let each = each.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
        each.unwrap_or((0, 0.0))
    };
    if profiles.is_empty() {
        return vec![];
    }
    let mut centres = vec![with_square(dense(
        &profiles[rng.random_range(0..profiles.len())],
    ))];
    while centres.len() < groups {
        let squares = profiles.iter().map(|p| p.iter().map(|e| e.1 * e.1).sum());
        let distances: Vec<f64> = (profiles.iter().zip(squares))
            .map(|(profile, square): (_, f64)| (nearest(profile, &centres).1 + square).max(0.0))
            .collect();
        let mut left = rng.random::<f64>() * distances.iter().sum::<f64>();
        let next = distances.iter().position(|distance| {
            left -= distance;
            left < 0.0
        });
        let next = next.unwrap_or_else(|| rng.random_range(0..profiles.len()));
        centres.push(with_square(dense(&profiles[next])));
    }
    let mut of = vec![0; profiles.len()];
    for _ in 0..ROUNDS {
        for (of, profile) in of.iter_mut().zip(profiles) {
            *of = nearest(profile, &centres).0;
        }
        for (group, centre) in centres.iter_mut().enumerate() {
            let members = of.iter().filter(|&&of| of == group).count();
            let mut mean = vec![0.0; length];
            for (profile, _) in profiles.iter().zip(&of).filter(|(_, of)| **of == group) {
                let share = 1.0 / members as f64;
                for &(key, x) in profile {
                    mean[key] += share * x;
                }
            }
            if members > 0 {
                *centre = with_square(mean);
            }
        }
    }
    of
}
