//! Decides what the text of a model says.
//!
//! - `ast`: the tree that a text is read into.

pub mod ast;
