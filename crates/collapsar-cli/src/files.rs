//! Files as every subcommand treats them: named in refusals, recorded with digests, tried before a long run.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::bail;
use collapsar_formats::{Input, prepare_folder, write_atomically};

/// A file's name, as in refusals.
pub(crate) fn name_of(file: &Path) -> String {
    match file {
        file if file == Path::new("-") => "stdin".into(),
        file => file.display().to_string(),
    }
}

/// The files that a run read, with their digests.
pub(crate) fn inputs(files: &[PathBuf]) -> anyhow::Result<Vec<Input>> {
    let inputs = files.iter().map(|file| {
        // A pipe is empty by now, and may block whoever opens it again.
        if file.is_file() || file.is_dir() {
            return Ok(Input::of(file)?);
        }
        Ok(Input {
            name: name_of(file),
            bytes: 0,
            digest: "unknown: read from a pipe".into(),
        })
    });
    inputs.collect()
}

/// Makes sure that a file, `what` it is, can be written before there is anything to lose.
pub(crate) fn check_target(file: &Path, what: &str) -> anyhow::Result<()> {
    if file.is_dir() {
        bail!(
            "{}: a folder of that name, expected a file for {what}",
            file.display()
        );
    }
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    Ok(prepare_folder(folder.unwrap_or(Path::new(".")))?)
}

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
