//! Hand-written fast models.
//!
//! - `mixture`: mixtures of Gaussians
//! - `quant`: transcript quantification
//! - `schedule`: how much batches count where models learn online
//! - `topics`: latent Dirichlet allocation

#[cfg(feature = "mixture")]
pub mod mixture;
#[cfg(feature = "quant")]
pub mod quant;
#[cfg(any(feature = "mixture", feature = "topics"))]
mod schedule;
#[cfg(feature = "topics")]
pub mod topics;
