//! Mixtures of rows that workers hold: in threads, in other processes, on other machines.
//!
//! - `task`: what a worker may be asked, as bytes
//! - `worker`: who holds chunks of rows, and answers
//! - `survey`: what is known of rows before a model is: moments, prior, units
//! - `start`: where a run begins
//!
//! Whoever asks holds no row. It sees sums over chunks that are cut by the data ([`Cuts`]), added in one fixed tree: a fit is the
//! same to the bit for any number of workers.

mod start;
mod survey;
mod task;
mod worker;

use super::{Mixture, Shape};
use collapsar_core::exchange::Far;
use collapsar_core::{Potential, Result};

pub use collapsar_core::exchange::{Asker, CHUNK_ROWS, Cuts, Exchange, Piece, merged};
pub use start::FarStart;
pub use survey::FarMixtures;
pub use worker::Worker;

/// A mixture of rows that workers hold.
pub type FarMixture<'a> = Mixture<FarSum<'a>>;

/// The sum over rows that workers hold.
#[derive(Debug)]
pub struct FarSum<'a> {
    far: Far<'a>,
    columns: usize,
    components: usize,
    features: usize,
    rows: f64,
    /// The upper triangle of the sum of squares, where covariances are tied.
    scatter: Vec<f64>,
}

impl Potential for FarSum<'_> {
    fn dim(&self) -> usize {
        self.far.dim()
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        self.far.value_and_gradient(at, gradient)
    }

    fn value(&self, at: &[f64]) -> Result<f64> {
        self.far.value(at)
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        self.far.hessian_product(at, along, out)
    }
}

impl Shape for FarSum<'_> {
    fn columns(&self) -> usize {
        self.columns
    }

    fn components(&self) -> usize {
        self.components
    }

    fn features(&self) -> usize {
        self.features
    }

    fn has_gaps(&self) -> bool {
        false
    }

    fn scatter(&self) -> Result<(f64, Vec<f64>)> {
        Ok((self.rows, self.scatter.clone()))
    }
}
