//! Hand-written fast models.
//!
//! - `mixture`: mixtures of Gaussians
//! - `quant`: transcript expression from reads
//! - `topics`: latent Dirichlet allocation

pub mod mixture;
pub mod quant;
pub mod topics;
