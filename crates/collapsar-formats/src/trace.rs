//! How `trace.jsonl` grows: one JSON record a line, in a temporary file until the run is over.

use std::io::Write;
use std::path::Path;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::write::Temporary;

/// Writes `trace.jsonl`. Dropped without [`finish`](TraceWriter::finish) it leaves nothing behind.
#[derive(Debug)]
pub struct TraceWriter(Temporary);

impl TraceWriter {
    /// Begins a trace in a folder.
    ///
    /// # Errors
    ///
    /// If the folder cannot be written in.
    pub fn create(folder: &Path) -> Result<Self> {
        Temporary::create(&folder.join("trace.jsonl")).map(TraceWriter)
    }

    /// Appends one record as one line. A number that is not finite becomes `null`, as JSON has no other
    /// word for it.
    ///
    /// # Errors
    ///
    /// If the system refuses or the record cannot be written as JSON.
    pub fn write<T: Serialize + ?Sized>(&mut self, record: &T) -> Result<()> {
        serde_json::to_writer(&mut self.0.writer, record)
            .map_err(std::io::Error::from)
            .and_then(|()| self.0.writer.write_all(b"\n"))
            .map_err(|error| Error::file(self.0.target(), &error))
    }

    /// Makes the trace appear as `trace.jsonl`.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn finish(self) -> Result<()> {
        self.0.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_a_record() {
        let folder = tempfile::tempdir().unwrap();
        let mut trace = TraceWriter::create(folder.path()).unwrap();
        trace
            .write(&json!({"iteration": 1, "bound": -2.5}))
            .unwrap();
        trace.write(&("text\nwith a line end", f64::NAN)).unwrap();
        assert!(!folder.path().join("trace.jsonl").exists());
        trace.finish().unwrap();
        let text = std::fs::read_to_string(folder.path().join("trace.jsonl")).unwrap();
        assert_eq!(
            text,
            "{\"bound\":-2.5,\"iteration\":1}\n[\"text\\nwith a line end\",null]\n"
        );
    }

    #[test]
    fn unfinished_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut trace = TraceWriter::create(folder.path()).unwrap();
        trace.write(&1).unwrap();
        drop(trace);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let absent = TraceWriter::create(Path::new("absent")).unwrap_err();
        assert_eq!(
            absent.to_string(),
            "absent/trace.jsonl: no such file or folder"
        );
    }
}
