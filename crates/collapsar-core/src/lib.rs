//! Collapsed variational inference in conjugate-exponential models: the engine under every model of
//! [collapsar](https://docs.rs/collapsar).

mod advice;
mod blocks;
mod collapsed;
mod digest;
mod direction;
mod driver;
mod error;
pub mod family;
pub mod kernel;
#[cfg(feature = "laws")]
pub mod laws;
pub mod number;
pub mod parallel;
mod point;
pub mod rows;
pub mod special;
pub mod vector;

pub use advice::{Advice, Bases, InnerProblems};
pub use blocks::{Blocks, IndexMap, Link};
pub use collapsed::{Collapsed, Potential};
pub use digest::digest;
pub use direction::Direction;
pub use driver::{
    Checkpoint, Driver, Fit, Jump, Jumps, Observer, Outcome, Restarts, Spread, Step, Stop, Watcher,
};
pub use error::{Change, Error, Factor, Hint, Mismatch, Place, Plain, Result, Terms};
pub use point::Point;
