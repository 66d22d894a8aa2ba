//! Weights of the places on a transcript.
