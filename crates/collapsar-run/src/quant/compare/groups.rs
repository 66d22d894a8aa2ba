//! Which folder is of which condition.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use collapsar_text::count;

use crate::error::{Error, Result};

/// First cells of a line that names the columns.
const HEADS: &str = "folder sample samples path directory dir name files";

/// The samples of a comparison, in the order of the file.
#[derive(Debug, Default)]
pub struct Groups {
    /// The samples.
    pub samples: Vec<Group>,
    /// The conditions, in order of appearance.
    pub names: Vec<String>,
}

/// One sample.
#[derive(Debug)]
pub struct Group {
    /// The folder as the file has it.
    pub name: String,
    /// Its path.
    pub folder: PathBuf,
    /// The number of its condition.
    pub condition: usize,
}

impl Groups {
    /// Reads a file with a folder and a condition a line; folders are relative to the file.
    pub(super) fn read(file: &Path) -> Result<Self> {
        let name = file.display().to_string();
        let bytes = fs::read(file).map_err(|error| collapsar_formats::Error::file(file, &error))?;
        let text = String::from_utf8(bytes)
            .map_err(|_| Error::input(&name, "bytes that are not UTF-8", "text"))?;
        let mut groups = Self::default();
        let mut known: HashMap<PathBuf, usize> = HashMap::new();
        let lines = (1..).zip(text.trim_start_matches('\u{feff}').lines());
        let lines = lines.map(|(line, text)| (line, text.trim()));
        let filled = lines.filter(|(_, text)| !text.is_empty() && !text.starts_with('#'));
        for (index, (line, text)) in filled.enumerate() {
            let refuse = |found: String, expected: String| {
                Error::input(format!("{name}: line {line}"), found, expected)
            };
            let cells = cells(text);
            let [folder, condition] = cells[..] else {
                let found = count(cells.len(), "column");
                return Err(refuse(found, "two: a folder and a condition".into()));
            };
            let path = file.parent().unwrap_or(Path::new("")).join(folder);
            let named = HEADS.split(' ').any(|head| head == folder.to_lowercase());
            if index == 0 && named && !path.exists() {
                continue;
            }
            if folder.is_empty() || condition.is_empty() {
                let expected = "a folder and a condition".into();
                return Err(refuse("an empty column".into(), expected));
            }
            let place = path.display();
            if !path.is_dir() {
                let expected = "one that collapsar quant or salmon wrote".into();
                return Err(refuse(format!("{place}: no such folder"), expected));
            }
            let quant_sf = ["quant.sf", "quant.sf.gz"];
            if !quant_sf.iter().any(|file| path.join(file).exists()) {
                let expected = "a folder that collapsar quant or salmon wrote".into();
                return Err(refuse(format!("{place}: no quant.sf in it"), expected));
            }
            let real = path.canonicalize().unwrap_or_else(|_| path.clone());
            if let Some(before) = known.insert(real, line) {
                let found = format!("folder {folder:?} once more");
                return Err(refuse(found, format!("it once, as in line {before}")));
            }
            let place = groups.names.iter().position(|name| name == condition);
            let condition = place.unwrap_or_else(|| {
                groups.names.push(condition.to_owned());
                groups.names.len() - 1
            });
            groups.samples.push(Group {
                name: folder.to_owned(),
                folder: path,
                condition,
            });
        }
        let (found, expected) = match &groups.names[..] {
            [] => ("no samples".into(), "a folder and a condition a line"),
            [only] => (format!("one condition, {only:?}"), "two or more to compare"),
            all if all.len() == groups.samples.len() => (
                format!("one sample for each of {} conditions", all.len()),
                "replicates, two samples or more, of at least one of them",
            ),
            _ => return Ok(groups),
        };
        Err(Error::input(name, found, expected))
    }

    /// The condition of each sample.
    pub(super) fn conditions(&self) -> Vec<usize> {
        self.samples.iter().map(|sample| sample.condition).collect()
    }
}

/// The cells of a line, between tabs, else commas, else white space.
fn cells(text: &str) -> Vec<&str> {
    for separator in ['\t', ','] {
        if text.contains(separator) {
            return text.split(separator).map(str::trim).collect();
        }
    }
    text.split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> std::result::Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c", "d e"] {
            fs::create_dir(folder.path().join(name)).unwrap();
            fs::write(folder.path().join(name).join("quant.sf"), "").unwrap();
        }
        fs::create_dir(folder.path().join("empty")).unwrap();
        let file = folder.path().join("groups");
        fs::write(&file, text).unwrap();
        let place = format!("{}/", folder.path().display());
        let groups = Groups::read(&file).map_err(|e| e.to_string().replace(&place, ""))?;
        let samples = groups
            .samples
            .iter()
            .map(|s| format!("{}:{}", s.name, s.condition));
        Ok(format!(
            "{} {}",
            samples.collect::<Vec<_>>().join(" "),
            groups.names.join(",")
        ))
    }

    #[test]
    fn any_separator() {
        for text in [
            "# who\nfolder condition\na x\nb y\n\nc x\n",
            "a,x\r\nb,y\r\nc,x\r\n",
            "Sample\tCondition\na\tx\nb\ty\nc\tx",
        ] {
            assert_eq!(of(text).unwrap(), "a:0 b:1 c:0 x,y");
        }
        assert_eq!(of("d e\tx y\na\tx y\nb\tz").unwrap(), "d e:0 a:0 b:1 x y,z");
    }

    #[test]
    fn refusals() {
        let texts = [
            "",
            "a x\nb x",
            "a x\nb y",
            "a x\nb",
            "a x\nf y",
            "a x\n./a y",
            "a x\nempty y",
            "a,\nb,x",
        ]
        .map(|text| of(text).unwrap_err());
        let expected = [
            "groups: no samples, expected a folder and a condition a line",
            "groups: one condition, \"x\", expected two or more to compare",
            "groups: one sample for each of 2 conditions, expected replicates, two samples or more, of at least one of them",
            "groups: line 2: 1 column, expected two: a folder and a condition",
            "groups: line 2: f: no such folder, expected one that collapsar quant or salmon wrote",
            "groups: line 2: folder \"./a\" once more, expected it once, as in line 1",
            "groups: line 2: empty: no quant.sf in it, expected a folder that collapsar quant or salmon wrote",
            "groups: line 1: an empty column, expected a folder and a condition",
        ];
        assert_eq!(texts, expected);
    }
}
