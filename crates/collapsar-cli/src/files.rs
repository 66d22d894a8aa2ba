//! Where a result goes: to a file, whole or not at all, or to standard output.

use std::io::{self, Write};
use std::path::Path;

use collapsar_formats::write_atomically;
pub(crate) use collapsar_run::{check_target, inputs, name_of};

/// Writes a result to a file, whole or not at all, or to standard output where there is none.
pub(crate) fn emit(
    file: Option<&Path>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    if let Some(file) = file {
        return Ok(write_atomically(file, write)?);
    }
    let mut out = io::BufWriter::new(io::stdout().lock());
    write(&mut out)?;
    Ok(out.flush()?)
}
