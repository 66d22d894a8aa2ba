//! The BUGS language: from the text of a model and its data to a graph that can be fitted.

mod data;
mod diagnostic;
mod distribution;
mod drawing;
mod draws;
mod elaborate;
mod exact;
mod lower;
mod model;
pub mod outline;
mod posterior;
mod predict;
pub mod syntax;
mod unused;
mod value;

pub use data::{Array, Data, Sparse};
pub use diagnostic::{Diagnostic, Position};
pub use drawing::Drawing;
pub use model::{Model, Origin, Prepared, Quantity, Unknowns};
pub use outline::Outline;
pub use posterior::{Posterior, Refusal, Row};
pub use syntax::ast::Span;
pub use syntax::parse;
