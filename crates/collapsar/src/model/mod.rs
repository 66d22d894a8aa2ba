//! Hand-written fast models.
//!
//! - `mixture`: mixtures of Gaussians
//! - `quant`: transcript quantification
//! - `topics`: latent Dirichlet allocation

#[cfg(feature = "mixture")]
pub mod mixture;
#[cfg(feature = "quant")]
pub mod quant;
#[cfg(feature = "topics")]
pub mod topics;
