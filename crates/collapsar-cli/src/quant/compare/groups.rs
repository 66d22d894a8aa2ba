//! Which folder is of which condition.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::text::count;

/// First cells of a line that names the columns.
const HEADS: [&str; 8] = [
    "folder",
    "sample",
    "samples",
    "path",
    "directory",
    "dir",
    "name",
    "files",
];

/// The samples of a comparison, in the order of the file.
#[derive(Debug)]
pub(super) struct Groups {
    pub(super) samples: Vec<Group>,
    /// The conditions, in order of appearance.
    pub(super) names: Vec<String>,
}

/// One sample.
#[derive(Debug)]
pub(super) struct Group {
    /// The folder as the file has it.
    pub(super) name: String,
    pub(super) folder: PathBuf,
    /// The number of its condition.
    pub(super) condition: usize,
}

impl Groups {
    /// Reads a file with a folder and a condition a line; folders are relative to the file.
    pub(super) fn read(file: &Path) -> anyhow::Result<Self> {
        let name = file.display();
        let bytes = fs::read(file).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => anyhow::anyhow!("{name}: no such file"),
            _ => anyhow::anyhow!("{name}: {error}"),
        })?;
        let text = String::from_utf8(bytes)
            .ok()
            .with_context(|| format!("{name}: bytes that are not UTF-8, expected text"))?;
        let beside = file.parent().unwrap_or(Path::new(""));
        let mut groups = Self {
            samples: vec![],
            names: vec![],
        };
        let mut known: HashMap<PathBuf, usize> = HashMap::new();
        let mut first = true;
        for (line, text) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let cells = cells(text);
            let [folder, condition] = cells[..] else {
                bail!(
                    "{name}: line {line}: {}, expected two: a folder and a condition",
                    count(cells.len(), "column")
                );
            };
            let path = beside.join(folder);
            let head = first && HEADS.contains(&folder.to_lowercase().as_str());
            first = false;
            if head && !path.exists() {
                continue;
            }
            if folder.is_empty() || condition.is_empty() {
                bail!("{name}: line {line}: an empty column, expected a folder and a condition");
            }
            if !path.is_dir() {
                bail!(
                    "{name}: line {line}: {}: no such folder, expected one that collapsar quant or salmon wrote",
                    path.display()
                );
            }
            if !["quant.sf", "quant.sf.gz"]
                .iter()
                .any(|sf| path.join(sf).exists())
            {
                bail!(
                    "{name}: line {line}: {}: no quant.sf in it, expected a folder that collapsar quant or salmon wrote",
                    path.display()
                );
            }
            let real = path.canonicalize().unwrap_or_else(|_| path.clone());
            if let Some(before) = known.insert(real, line) {
                bail!(
                    "{name}: line {line}: folder {folder:?} once more, expected it once, as in line {before}"
                );
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
        match &groups.names[..] {
            [] => bail!("{name}: no samples, expected a folder and a condition a line"),
            [only] => bail!("{name}: one condition, {only:?}, expected two or more to compare"),
            conditions if conditions.len() == groups.samples.len() => bail!(
                "{name}: one sample for each of {} conditions, expected replicates, two samples or more, of at least one of them",
                conditions.len()
            ),
            _ => Ok(groups),
        }
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

    fn of(text: &str) -> Result<String, String> {
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
