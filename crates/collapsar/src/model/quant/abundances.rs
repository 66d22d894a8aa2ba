//! Estimates, deviations and credible intervals of counts and TPM, by transcript or by gene.

use collapsar_core::random::{Distribution, Gamma};
use rand::Rng;
use rayon::prelude::*;

use super::Quantified;
use super::reads::Reads;
use super::sample::{Draws, ln_gamma_variate, stream};
use collapsar_core::elementary::Elementary;
use collapsar_core::vector::add;
use collapsar_core::{Error, Place, Result};

/// The posterior of one number, summarised.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Summary {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
    /// Where 2.5% lie below.
    pub lower: f64,
    /// Where 97.5% lie below.
    pub upper: f64,
}

impl Summary {
    /// Of equally likely values, which are sorted on the way.
    fn of(values: &mut [f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        values.sort_unstable_by(f64::total_cmp);
        // S draws leave S + 1 gaps, into each of which one more would fall as often.
        let quantile = |probability: f64| {
            let place = (probability * (count + 1.0) - 1.0).clamp(0.0, count - 1.0);
            let [low, high] = [place.floor(), place.ceil()].map(|place| values[place as usize]);
            low + place.fract() * (high - low)
        };
        Self {
            mean,
            sd: (squares / (count - 1.0).max(1.0)).sqrt(),
            lower: quantile(0.025),
            upper: quantile(0.975),
        }
    }
}

/// What is known of where the reads came from.
#[derive(Debug, Clone, Copy)]
pub enum Origins<'a> {
    /// Expected counts alone: the collapsed posterior is a Dirichlet distribution, and too narrow
    /// where reads are shared (maths §8.7).
    Collapsed(&'a Quantified),
    /// Draws from the exact posterior.
    Exact(&'a Draws),
}

/// Best guesses, in the order of the input.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimates {
    /// Numbers of reads, which add up to all of them.
    pub counts: Vec<f64>,
    /// Transcripts per million.
    pub tpm: Vec<f64>,
}

/// The posterior of counts and TPM, by transcript or by gene.
#[derive(Debug)]
pub struct Abundances<'a> {
    reads: &'a Reads,
    origins: Origins<'a>,
    /// Effective lengths in the order of the input.
    lengths: &'a [f64],
    /// The same and what the prior adds, which draws of TPM divide by (maths §8.9).
    exposures: Vec<f64>,
    places: Vec<u32>,
    alpha: f64,
    draws: usize,
    seed: u64,
    /// The sum over transcripts of what [`Self::fractions`] draws.
    sums: Vec<f64>,
    /// The same sum with each by its exposure.
    rates: Vec<f64>,
}

/// A transcript that has a read in a smaller fraction of draws is taken to be absent.
const LIKELY: f64 = 0.5;
/// Transcripts that one thread sums up at a time.
const CHUNK: usize = 256;

impl<'a> Abundances<'a> {
    /// Abundances of transcripts of these effective lengths, in the order of the input; one that
    /// is not a transcript, such as noise, is infinitely long and has no TPM.
    ///
    /// Collapsed origins are drawn `draws` times from `seed`; exact ones as often as they were.
    ///
    /// # Errors
    /// [`Error::Data`] where lengths do not fit, [`Error::Setting`] where nothing is to be drawn.
    pub fn new(
        reads: &'a Reads,
        origins: Origins<'a>,
        lengths: &'a [f64],
        (draws, seed): (usize, u64),
    ) -> Result<Self> {
        let positive = |length: &f64| *length > 0.0;
        if let Some(wrong) = lengths.iter().position(|length| !positive(length)) {
            let found = format!("an effective length of {}", lengths[wrong]);
            let place = Place::item("transcript", wrong);
            return Err(Error::data(place, found, "a positive number"));
        }
        if lengths.len() != reads.transcripts() {
            let expected = format!("one for each of {} transcripts", reads.transcripts());
            let place = Place::Whole("effective lengths");
            return Err(Error::data(place, lengths.len().to_string(), expected));
        }
        if draws == 0 {
            return Err(Error::setting("draws", "0", "at least 1"));
        }
        let (alpha, draws, seed) = match origins {
            Origins::Collapsed(quantified) => (quantified.alpha, draws, seed),
            Origins::Exact(exact) => (exact.alpha, exact.len, exact.seed),
        };
        let all: f64 = lengths.iter().filter(|length| length.is_finite()).sum();
        let added = alpha * all / reads.reads();
        let places: Vec<u32> = (0..lengths.len() as u32).collect();
        let mut abundances = Self {
            reads,
            origins,
            lengths,
            exposures: lengths.iter().map(|length| length + added).collect(),
            places: reads.by_transcript(&places),
            alpha,
            draws,
            seed,
            sums: vec![],
            rates: vec![],
        };
        (abundances.sums, abundances.rates) = abundances.sum_fractions();
        Ok(abundances)
    }

    /// How often everything was drawn.
    pub fn draws(&self) -> usize {
        self.draws
    }

    /// Best guesses.
    ///
    /// From exact draws they are the mean counts of transcripts that are more likely there than
    /// not; the others' reads are distributed within the component (maths §8.9).
    pub fn estimates(&self) -> Estimates {
        let counts = match self.origins {
            Origins::Collapsed(quantified) => quantified.counts.clone(),
            Origins::Exact(draws) => likely(self.reads, draws),
        };
        let counts = self.reads.by_transcript(&counts);
        let rates = counts.iter().zip(self.lengths);
        let rates: Vec<f64> = rates.map(|(count, length)| count / length).collect();
        let total: f64 = rates.iter().sum();
        let scale = if total > 0.0 { 1e6 / total } else { 0.0 };
        let tpm = rates.iter().map(|rate| scale * rate).collect();
        Estimates { counts, tpm }
    }

    /// Counts and TPM of each transcript.
    pub fn transcripts(&self) -> Vec<(Summary, Summary)> {
        (0..self.lengths.len() as u32)
            .into_par_iter()
            .with_min_len(CHUNK)
            .map(|transcript| self.summarise(&[transcript]))
            .collect()
    }

    /// Counts and TPM of each group of transcripts, such as the transcripts of a gene.
    pub fn groups(&self, groups: &[Vec<u32>]) -> Vec<(Summary, Summary)> {
        (groups.par_iter())
            .map(|group| self.summarise(group))
            .collect()
    }

    /// The numbers of reads in these of the draws, each in the order of the input.
    pub fn count_draws(&self, chosen: impl IntoIterator<Item = usize>) -> Vec<Vec<f64>> {
        let chosen: Vec<usize> = chosen.into_iter().collect();
        let mut draws = vec![vec![0.0; self.lengths.len()]; chosen.len()];
        if chosen.is_empty() {
            return draws;
        }
        let mut drawn = vec![0.0; self.draws];
        // By transcript, each of which has a stream of random numbers of its own.
        for (place, &transcript) in self.reads.order.iter().enumerate() {
            if matches!(self.origins, Origins::Collapsed(_)) {
                self.fractions(place, &mut drawn);
            }
            self.turn_into_counts(place, &mut drawn);
            for (draw, &index) in draws.iter_mut().zip(&chosen) {
                draw[transcript as usize] = drawn[index];
            }
        }
        draws
    }

    fn summarise(&self, transcripts: &[u32]) -> (Summary, Summary) {
        let mut counts = vec![0.0; self.draws];
        let mut tpm = vec![0.0; self.draws];
        let mut drawn = vec![0.0; self.draws];
        for &transcript in transcripts {
            let place = self.places[transcript as usize] as usize;
            self.fractions(place, &mut drawn);
            let scale = 1e6 / self.exposures[transcript as usize];
            for ((tpm, fraction), total) in tpm.iter_mut().zip(&drawn).zip(&self.rates) {
                *tpm += scale * fraction / total;
            }
            self.turn_into_counts(place, &mut drawn);
            add(&mut counts, 1.0, &drawn);
        }
        (Summary::of(&mut counts), Summary::of(&mut tpm))
    }

    /// Turns every draw of the fraction of the transcript at `place` into that of its reads.
    fn turn_into_counts(&self, place: usize, out: &mut [f64]) {
        match self.origins {
            Origins::Exact(draws) => draws.at(self.reads, place, out),
            Origins::Collapsed(_) => {
                for (count, sum) in out.iter_mut().zip(&self.sums) {
                    *count *= self.reads.reads() / sum;
                }
            }
        }
    }

    /// Every draw of the fraction of the transcript at `place`, up to a factor.
    fn fractions(&self, place: usize, out: &mut [f64]) {
        // Chains have the streams of the seed itself.
        let mut rng = stream(!self.seed, self.reads.order[place]);
        match self.origins {
            Origins::Exact(draws) => draws.at(self.reads, place, out),
            Origins::Collapsed(quantified) => out.fill(quantified.counts[place]),
        }
        for fraction in out {
            *fraction = gamma_variate(*fraction + self.alpha, &mut rng);
        }
    }

    fn sum_fractions(&self) -> (Vec<f64>, Vec<f64>) {
        let places: Vec<usize> = (0..self.lengths.len()).collect();
        let partials: Vec<[Vec<f64>; 2]> = (places.par_chunks(CHUNK))
            .map(|places| {
                let [mut sums, mut rates, mut drawn] = [(); 3].map(|()| vec![0.0; self.draws]);
                for &place in places {
                    self.fractions(place, &mut drawn);
                    add(&mut sums, 1.0, &drawn);
                    let exposure = self.exposures[self.reads.order[place] as usize];
                    add(&mut rates, exposure.recip(), &drawn);
                }
                [sums, rates]
            })
            .collect();
        let none = vec![f64::MIN_POSITIVE; self.draws];
        let (mut sums, mut rates) = (none.clone(), none);
        // In the order of the chunks, whichever thread was first.
        for [part, part_rates] in &partials {
            add(&mut sums, 1.0, part);
            add(&mut rates, 1.0, part_rates);
        }
        (sums, rates)
    }
}

/// A gamma variate of this shape, without a detour by its logarithm where it is not too small.
fn gamma_variate(shape: f64, rng: &mut impl Rng) -> f64 {
    if shape < 1.0 {
        return ln_gamma_variate(shape, rng).exp_();
    }
    Gamma::new(shape, 1.0).map_or(f64::NAN, |gamma| gamma.sample(rng))
}

/// Mean counts, by place, of the transcripts that are more likely there than not, or of the
/// likeliest where none is; they take over the others' reads within their component.
fn likely(reads: &Reads, draws: &Draws) -> Vec<f64> {
    let mut counts = draws.means.clone();
    for component in &reads.components {
        let places = component.places.clone();
        let (counts, present) = (&mut counts[places.clone()], &draws.present[places]);
        let least = present.iter().copied().fold(0.0, f64::max).min(LIKELY);
        let all: f64 = counts.iter().sum();
        for (count, &present) in counts.iter_mut().zip(present) {
            if present < least {
                *count = 0.0;
            }
        }
        let kept: f64 = counts.iter().sum();
        for count in counts {
            *count *= all / kept;
        }
    }
    counts
}
