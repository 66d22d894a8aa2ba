//! Documents that are not in memory.
//!
//! - `record`: a document as bytes
//! - `layout`: where a file of documents has what
//! - `writer`: documents one after another into a file
//! - `file`: documents from a file, read for every pass

mod file;
mod layout;
mod record;
mod writer;

pub use file::{DocumentBlock, StoredCorpus};
pub use writer::CorpusWriter;
