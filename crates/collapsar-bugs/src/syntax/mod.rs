//! Decides what the text of a model says.
//!
//! - `ast`: the tree that a text is read into.
//! - `lexer`: where a token begins and ends.
//! - `parser`: which texts are models, and what is said of those that are not.

pub mod ast;
mod lexer;
mod parser;
#[cfg(test)]
mod tests;

pub use parser::parse;
