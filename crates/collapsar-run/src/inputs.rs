//! Files as every run treats them: named in refusals, recorded with digests, tried before a long climb.

use std::path::{Path, PathBuf};

use collapsar_formats::{Input, prepare_folder};

use crate::error::{Error, Result};

/// A file's name, as in refusals.
pub fn name_of(file: &Path) -> String {
    match file {
        file if file == Path::new("-") => "stdin".into(),
        file => file.display().to_string(),
    }
}

/// The files that a run read, with their digests.
pub fn inputs(files: &[PathBuf]) -> Result<Vec<Input>> {
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
pub fn check_target(file: &Path, what: &str) -> Result<()> {
    if file.is_dir() {
        let expected = format!("a file for {what}");
        let name = file.display().to_string();
        return Err(Error::input(name, "a folder of that name", expected));
    }
    let folder = file.parent();
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    Ok(prepare_folder(folder.unwrap_or(Path::new(".")))?)
}
