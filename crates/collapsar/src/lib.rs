//! Collapsed variational inference in conjugate-exponential models.

mod collapsed;
mod error;
pub mod family;
#[cfg(feature = "laws")]
pub mod laws;
pub mod special;

pub use collapsed::{Collapsed, Potential};
pub use error::{Error, Result};
