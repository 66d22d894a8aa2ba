//! Transcript quantification: fractions collapsed, the origin of each read explicit.
//!
//! - `settings`: what a user may set, and the defaults
//! - `fragment`: p(read | transcript) from alignments
//! - `reads`: what of a read matters
//! - `components`: transcripts that share reads
//! - `local`: the sum over reads
//! - `posterior`: the fractions
//! - `search`: absent transcripts
//! - `start`: random starts, for comparisons
//! - `solve`: all components, each by its own means, and the prior, learned
//! - `sample`: draws from the exact posterior
//! - `abundances`: estimates and intervals of transcripts and genes
//! - `compare`: changes of expression between conditions

mod abundances;
pub mod compare;
mod components;
pub mod fragment;
mod local;
mod posterior;
mod reads;
mod sample;
mod search;
mod settings;
mod solve;
mod start;

use collapsar_core::special::ln_gamma;
use collapsar_core::{Advice, Collapsed, Point, Result};

pub use abundances::{Abundances, Estimates, Origins, Summary};
pub use components::Component;
pub use local::Local;
pub use posterior::Posterior;
pub use reads::{Compression, Reads, ReadsBuilder};
pub use sample::{Chains, Draws};
pub use settings::{Prior, Settings};
pub use solve::{Quantified, Solver};

/// Steps that are VBEM's own before momentum sets in. None: where the prior is below one, which
/// makes optima many, runs after 5, 10, 20 or 50 of them take longer and end no higher.
const FIRST: u64 = 0;

/// The model of one component, or of all transcripts at once.
///
/// Messages and statistics have a number for each transcript, in the order of [`Reads::order`].
#[derive(Debug)]
pub struct Quant<'a> {
    local: Local<'a>,
    posterior: Posterior,
    constant: f64,
    name: &'static str,
    /// VBEM's own steps to begin with.
    plain_steps: u64,
}

impl<'a> Quant<'a> {
    /// All transcripts of `reads` at once, each with the prior `alpha`.
    pub fn whole(reads: &'a Reads, alpha: f64) -> Self {
        let all = Component {
            places: 0..reads.transcripts(),
            rows: 0..reads.counts.len(),
        };
        let constant = constant(reads, alpha) + reads.constants.iter().sum::<f64>();
        Self::new(reads, alpha, &all, constant, "all transcripts")
    }

    /// The component `index` alone; its bound leaves out what is the same for all of them.
    pub fn component(reads: &'a Reads, alpha: f64, index: usize) -> Self {
        let (component, constant) = (&reads.components[index], reads.constants[index]);
        Self::new(reads, alpha, component, constant, "one component")
    }

    fn new(
        reads: &'a Reads,
        alpha: f64,
        component: &Component,
        constant: f64,
        name: &'static str,
    ) -> Self {
        Self {
            local: Local::new(reads, component),
            posterior: Posterior {
                alpha,
                transcripts: component.places.len(),
            },
            constant,
            name,
            plain_steps: FIRST,
        }
    }
}

/// What the bound has beside its components: the Dirichlet's normaliser and unique reads.
fn constant(reads: &Reads, alpha: f64) -> f64 {
    let total = alpha * reads.transcripts() as f64;
    reads.unique_constant + ln_gamma(total) - ln_gamma(total + reads.reads())
}

impl<'a> Collapsed for Quant<'a> {
    type Local = Local<'a>;
    type Posterior = Posterior;

    fn local(&self) -> &Local<'a> {
        &self.local
    }

    fn posterior(&self) -> &Posterior {
        &self.posterior
    }

    fn constant(&self) -> f64 {
        self.constant
    }

    fn fingerprint(&self) -> String {
        format!(
            "quantification of {} (data {:016x}, prior {})",
            self.name,
            self.local.reads.digest(),
            self.posterior.alpha
        )
    }

    fn metric(&self, point: &Point, out: &mut [f64]) -> Result<u64> {
        out.fill(0.0);
        self.local.add_metric(&point.messages, out);
        Ok(1)
    }

    fn covariance(&self, point: &Point, out: &mut [f64]) -> Result<()> {
        let dim = point.messages.len();
        out.fill(0.0);
        let mut variances = vec![0.0; dim];
        (self.posterior).variances(&point.statistics, &mut variances)?;
        for (i, variance) in variances.into_iter().enumerate() {
            out[i * dim + i] = variance;
        }
        Ok(())
    }

    fn advice(&self) -> Advice<'_> {
        // Every component has its own slow direction.
        Advice {
            momentum: true,
            plain_steps: self.plain_steps,
            // A prior below one prefers one of two transcripts to half of each.
            saddles: self.posterior.alpha < 1.0,
            ..Advice::default()
        }
    }
}
