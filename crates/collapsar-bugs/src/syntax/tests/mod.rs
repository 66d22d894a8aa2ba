//! Decides whether texts are read as they should be.
//!
//! - `errors`: what is said of bad texts.
//! - `models`: the classic examples.
//! - `precedence`: what binds tighter than what.
//! - `printer`: trees as text, and trees without their places.
//! - `random`: laws that hold for any text and any tree.
//! - `tokens`: where tokens begin and end.

mod errors;
mod models;
mod precedence;
mod printer;
mod random;
mod tokens;
