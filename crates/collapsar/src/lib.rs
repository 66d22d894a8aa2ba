//! Collapsed variational inference in conjugate-exponential models.

mod collapsed;
mod direction;
mod driver;
mod error;
pub mod family;
mod kernel;
#[cfg(feature = "laws")]
pub mod laws;
pub mod model;
mod parallel;
mod product;
pub mod special;

pub use collapsed::{Collapsed, Potential};
pub use direction::Direction;
pub use driver::{
    Checkpoint, Driver, Fit, Jump, Jumps, Observer, Outcome, Point, Restarts, Spread, Step, Stop,
};
pub use error::{Error, Result};
pub use model::mixture;
