//! Hand-written fast models.
//!
//! - `mixture`: mixtures of Gaussians

pub mod mixture;
