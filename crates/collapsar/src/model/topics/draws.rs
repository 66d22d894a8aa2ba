//! Exact draws: Markov chains from where a climb ended, and what their sweeps say on average.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::chain::{Chain, Priors, whole_counts};
use super::fit::TopicsFit;
use super::kept::{self, Kept};
use super::mean::Sums;
use super::{Alpha, Beta, Topics};
use crate::ChainWatch;
use collapsar_core::elementary::Elementary;
use collapsar_core::{Error, Point, Potential, Result};

/// Sweeps between steps of learned priors.
const LEARN: usize = 5;

/// How many chains there are, and how long they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopicsChains {
    /// Chains.
    pub chains: usize,
    /// Sweeps of each before its first draw. Learned priors move during the first half of them, and are the
    /// same in all chains from then on.
    pub warmup: usize,
    /// Draws of each, one a sweep.
    pub draws: usize,
    /// The seed of all of them.
    pub seed: u64,
    /// Whether every draw of every document's proportions is kept.
    pub documents: bool,
}

/// What chains drew.
#[derive(Debug, Clone, PartialEq)]
pub struct TopicsDraws {
    /// The mean over all draws: counts of words and documents in topics.
    pub fit: TopicsFit,
    /// Some draws, spread evenly over all of them, without documents: [`completion`](super::completion) takes the mean of what
    /// they foresee, which is better than what `fit` does. None where topics times words are too many to keep two.
    pub thinned: Vec<TopicsFit>,
    /// Fractions of the tokens: by chain, then by topic.
    pub shares: Vec<Vec<Vec<f64>>>,
    /// Proportions of documents: by chain, then by document and topic. Nothing unless they are kept.
    pub proportions: Vec<Vec<Vec<f64>>>,
    /// Standard deviations of the documents' proportions: a row for each document.
    pub proportion_sds: Vec<f64>,
}

/// Is shown how many sweeps a chain has made, and fits that are made where they are asked for: states of the chain, spread
/// evenly over the later three quarters of the sweeps so far.
pub type AtSweep<'a> = dyn Fn(usize, &dyn Fn() -> Vec<TopicsFit>) + Sync + 'a;

/// A chain that somebody may look at.
struct Followed<'a> {
    chain: Chain<'a>,
    shown: Option<(Kept, &'a AtSweep<'a>)>,
}

/// What a chain leaves behind.
struct Record {
    sums: Sums,
    kept: Kept,
    shares: Vec<Vec<f64>>,
    proportions: Vec<Vec<f64>>,
}

impl Topics {
    /// Runs Markov chains from `point`, in parallel; what they draw does not depend on the number of threads.
    ///
    /// `at_sweep` sees the first chain. `None` where `watch` stopped them before the end.
    ///
    /// # Errors
    /// [`Error::Setting`] where there are no chains or no draws, [`Error::Data`] where counts are not whole.
    pub fn draws(
        &self,
        point: &Point,
        options: TopicsChains,
        watch: &dyn ChainWatch,
        at_sweep: Option<&AtSweep<'_>>,
    ) -> Result<Option<TopicsDraws>> {
        for (name, number) in [("chains", options.chains), ("draws", options.draws)] {
            if number == 0 {
                return Err(Error::setting(name, "0", "at least 1"));
            }
        }
        let counts = whole_counts(self.corpus(), self.topics())?;
        let learned = self.settings.alpha == Alpha::Learned || self.settings.beta == Beta::Learned;
        let moving = if learned { options.warmup / 2 } else { 0 };
        let of_all = |sweeps: usize| (options.chains * sweeps) as u64;
        watch.begin(of_all(options.warmup), of_all(options.draws));
        let begun = |index: usize| -> Result<Option<Followed<'_>>> {
            let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
            rng.set_stream(1 + index as u64);
            let chain = Chain::new(self, point, &counts, rng);
            let mut followed = Followed {
                shown: (at_sweep.filter(|_| index == 0)).map(|at_sweep| {
                    // Who looks is shown something, however large it is.
                    let most = kept::share(1, self.posterior.dim()).max(2);
                    (Kept::new(most), at_sweep)
                }),
                chain,
            };
            for sweep in 0..moving {
                if !watch.goes_on() {
                    return Ok(None);
                }
                followed.sweep();
                watch.draw(false);
                if sweep % LEARN == LEARN - 1 {
                    followed.chain.learn()?;
                }
            }
            Ok(Some(followed))
        };
        let begun: Vec<_> = (0..options.chains).into_par_iter().map(begun).collect();
        let Some(mut chains) = begun.into_iter().collect::<Result<Option<Vec<_>>>>()? else {
            return Ok(None);
        };
        let priors = common_priors(chains.iter().map(|of| &of.chain.priors));
        for of in &mut chains {
            of.chain.priors.clone_from(&priors);
        }
        let rest = options.warmup - moving;
        let run = |chain: Followed<'_>| self.run(chain, rest, options, watch);
        let records: Option<Vec<Record>> = chains.into_par_iter().map(run).collect();
        Ok(records.map(|records| gathered(records, &priors)))
    }

    /// The rest of a chain, whose priors no longer move: so many sweeps of warm-up, and the draws.
    fn run(
        &self,
        mut of: Followed<'_>,
        warmup: usize,
        options: TopicsChains,
        watch: &dyn ChainWatch,
    ) -> Option<Record> {
        let topics = self.topics();
        let mut sums = Sums::default();
        let mut kept = Kept::new(kept::share(options.chains, self.posterior.dim()));
        let mut shares = vec![Vec::with_capacity(options.draws); topics];
        let numbers = if options.documents {
            self.corpus().documents() * topics
        } else {
            0
        };
        let mut proportions = vec![Vec::with_capacity(options.draws); numbers];
        for sweep in 0..warmup + options.draws {
            if !watch.goes_on() {
                return None;
            }
            of.sweep();
            watch.draw(sweep >= warmup);
            if sweep < warmup {
                continue;
            }
            sums.add(&of.chain);
            kept.add(&of.chain);
            for (share, total) in shares.iter_mut().zip(&of.chain.totals) {
                share.push(total / self.corpus().tokens());
            }
            if options.documents {
                of.chain
                    .proportions(|place, share| proportions[place].push(share));
            }
        }
        Some(Record {
            sums,
            kept,
            shares,
            proportions,
        })
    }
}

/// What all chains together say.
fn gathered(records: Vec<Record>, priors: &Priors) -> TopicsDraws {
    let mut records = records.into_iter();
    let first = records.next().expect("at least one chain");
    let (mut sums, mut shares) = (first.sums, vec![first.shares]);
    let mut proportions = vec![first.proportions];
    let mut thinned = first.kept.fits(0, priors);
    for record in records {
        sums.join(&record.sums);
        thinned.extend(record.kept.fits(0, priors));
        shares.push(record.shares);
        proportions.push(record.proportions);
    }
    TopicsDraws {
        fit: sums.fit(priors),
        thinned,
        proportion_sds: sums.proportion_sds(priors),
        shares,
        proportions,
    }
}

/// Geometric means: all chains begin at the same topics.
fn common_priors<'a>(all: impl ExactSizeIterator<Item = &'a Priors>) -> Priors {
    let count = all.len() as f64;
    let all: Vec<&Priors> = all.collect();
    // One chain's priors stay as they are, to the last bit; so do priors that are given.
    if all.windows(2).all(|pair| pair[0] == pair[1]) {
        return all[0].clone();
    }
    let mean = |number: &dyn Fn(&Priors) -> f64| {
        let sum: f64 = all.iter().map(|priors| number(priors).ln_()).sum();
        (sum / count).exp_()
    };
    Priors {
        alpha: (0..all[0].alpha.len())
            .map(|k| mean(&|priors| priors.alpha[k]))
            .collect(),
        beta: mean(&|priors| priors.beta),
    }
}

impl Followed<'_> {
    fn sweep(&mut self) {
        self.chain.sweep();
        if let Some((kept, at_sweep)) = &mut self.shown {
            kept.add(&self.chain);
            let sweeps = kept.sweeps();
            at_sweep(sweeps, &|| kept.fits(sweeps / 4, &self.chain.priors));
        }
    }
}
