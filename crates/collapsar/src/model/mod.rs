//! Hand-written fast models.
//!
//! - `mixture`: mixtures of Gaussians
//! - `topics`: latent Dirichlet allocation

pub mod mixture;
pub mod topics;
