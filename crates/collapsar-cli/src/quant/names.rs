//! Transcripts of two files, matched by name: as the formats do it.

pub(crate) use collapsar_formats::{Named, Naming, matched};
