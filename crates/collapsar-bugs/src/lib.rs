//! The BUGS language: from the text of a model and its data to a graph that can be fitted.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod chains;
mod data;
mod density;
mod diagnostic;
mod distribution;
mod doubled;
mod drawing;
mod draws;
mod elaborate;
mod exact;
mod inits;
mod lower;
mod mass;
mod mixed;
mod model;
pub mod outline;
mod posterior;
mod predict;
mod product;
mod quantity;
mod share;
pub mod syntax;
mod unused;
mod value;
mod went;

pub use chains::{ChainDraws, ChainEstimate, ChainOptions, ChainStart, ChainStates};
pub use data::{Array, Data, Sparse};
pub use diagnostic::{Diagnostic, Position};
pub use drawing::Drawing;
pub use inits::{Inits, InitsError};
pub use lower::Prepared;
pub use mixed::MixedPosterior;
pub use model::{Marginals, Model, UnknownArray, UsedGrid};
pub use outline::Outline;
pub use posterior::{Posterior, PosteriorError, Shift, Summary};
pub use quantity::{Element, Origin, Quantity, Selection};
pub use syntax::ast::Span;
pub use syntax::parse;
pub use went::Asked;
