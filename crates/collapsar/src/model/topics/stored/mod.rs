//! Documents that are not in memory.
//!
//! - `record`: a document as bytes
//! - `layout`: where a file of documents has what
//! - `writer`: documents one after another into a file
//! - `file`: documents from a file, read for every pass
//! - `pieces`: documents of a block by word as well, for threads
//! - `counts`: their expected tokens in each topic, in files too
//! - `documents`: the sum over them
//! - `results`: what a fit says of them

mod counts;
mod documents;
mod file;
mod layout;
mod pieces;
mod record;
mod results;
mod writer;

pub use documents::StoredDocuments;
pub use file::{DocumentBlock, StoredCorpus};
pub use writer::CorpusWriter;
