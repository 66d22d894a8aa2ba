//! Hand-written fast models.
//!
//! - `mixture`: mixtures of Gaussians
//! - `quant`: transcript quantification
//! - `topics`: latent Dirichlet allocation

pub mod mixture;
pub mod quant;
pub mod topics;
