//! Transcript expression from reads: fractions collapsed, assignments explicit.
//!
//! - `fragment`: the likelihood of a fragment, given the transcript it comes from

pub mod fragment;
