//! What `run.json` says of every run: what was asked, what was read, how it ended.

use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::corpus::{files, relative};
use crate::error::{Error, Result};
use crate::write::write_atomically;

/// The record of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The version of the program.
    pub version: String,
    /// The command line as typed.
    pub command: Vec<String>,
    /// The settings as used, defaults filled in.
    pub config: Value,
    /// The files that were read.
    pub inputs: Vec<Input>,
    /// How the run ended.
    pub outcome: Outcome,
    /// The bound reached.
    pub bound: f64,
    /// Accepted steps.
    pub iterations: u64,
    /// Sweeps over the data.
    pub passes: u64,
    /// Time taken.
    pub seconds: f64,
    /// The seed of every random number.
    pub seed: u64,
    /// What a subcommand adds.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A file, or a folder of texts, that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// The path as given.
    pub name: String,
    /// Its length in bytes.
    #[serde(rename = "size")]
    pub bytes: u64,
    /// Of its content: `sha256:` and 64 hexadecimal digits.
    pub digest: String,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Whether the stopping rule that fired means convergence.
    pub converged: bool,
    /// The stopping rule that fired, in words.
    pub reason: String,
}

impl Input {
    /// Reads a file once, from beginning to end, for its length and digest.
    ///
    /// A folder of texts is read as its files one after the other, each after its name below the folder
    /// and its length.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn of(path: &Path) -> Result<Self> {
        let mut hasher = Sha256::new();
        let mut bytes = 0;
        if path.is_dir() {
            for file in files(path)? {
                let refused = |error: std::io::Error| Error::file(&file, &error);
                let length = file.metadata().map_err(refused)?.len();
                hasher.update(format!("{}\0{length}\0", relative(&file, path)));
                bytes += hash(&file, &mut hasher)?;
            }
        } else {
            bytes = hash(path, &mut hasher)?;
        }
        let mut digest = "sha256:".to_owned();
        for byte in hasher.finalize() {
            write!(digest, "{byte:02x}").expect("strings take all text");
        }
        Ok(Input {
            name: path.display().to_string(),
            bytes,
            digest,
        })
    }
}

/// Takes in a file, and returns its length.
fn hash(path: &Path, hasher: &mut Sha256) -> Result<u64> {
    let refused = |error: std::io::Error| Error::file(path, &error);
    let mut file = File::open(path).map_err(refused)?;
    let mut buffer = Vec::new();
    let mut bytes = 0;
    loop {
        buffer.clear();
        let read = file.by_ref().take(1 << 16).read_to_end(&mut buffer);
        match read.map_err(refused)? {
            0 => return Ok(bytes),
            read => bytes += read as u64,
        }
        hasher.update(&buffer);
    }
}

impl Run {
    /// Writes `run.json` into a folder.
    ///
    /// # Errors
    ///
    /// If a number is not finite, `extra` repeats a field or the system refuses.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join("run.json");
        let refused = |field: &str, found: &str, expected: &str| {
            let found = format!("field {field:?} is {found}");
            Error::content(path.display().to_string(), found, expected)
        };
        // serde_json would write null without a word. `config` and `extra` cannot hold such numbers.
        for (field, value) in [("bound", self.bound), ("seconds", self.seconds)] {
            if !value.is_finite() {
                return Err(refused(field, &value.to_string(), "a finite number"));
            }
        }
        let fields = serde_json::json!(Run {
            extra: Map::new(),
            ..self.clone()
        });
        if let Some(field) = self.extra.keys().find(|&field| fields.get(field).is_some()) {
            let expected = "a name that run.json does not have yet";
            return Err(refused(field, "given twice", expected));
        }
        write_atomically(&path, |mut writer| {
            serde_json::to_writer_pretty(&mut writer, self)?;
            writer.write_all(b"\n")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run() -> Run {
        Run {
            version: "0.1.0".into(),
            command: ["collapsar", "mixture", "faithful.csv"]
                .map(String::from)
                .to_vec(),
            config: json!({"components": 10, "method": "auto"}),
            inputs: vec![Input {
                name: "faithful.csv".into(),
                bytes: 3,
                digest: "sha256:ab".into(),
            }],
            outcome: Outcome {
                converged: true,
                reason: "gain below 1e-6".into(),
            },
            bound: -416.75,
            iterations: 12,
            passes: 15,
            seconds: 0.25,
            seed: u64::MAX,
            extra: Map::new(),
        }
    }

    #[test]
    fn layout() {
        let folder = tempfile::tempdir().unwrap();
        let mut run = run();
        run.extra.insert("components".into(), json!(2));
        run.write(folder.path()).unwrap();
        let text = std::fs::read_to_string(folder.path().join("run.json")).unwrap();
        insta::assert_snapshot!(text);
        assert_eq!(serde_json::from_str::<Run>(&text).unwrap(), run);
    }

    #[test]
    fn refusals() {
        let folder = tempfile::tempdir().unwrap();
        let mut repeated = run();
        repeated.extra.insert("bound".into(), json!(1));
        let runs = [
            Run {
                bound: f64::NAN,
                ..run()
            },
            Run {
                seconds: f64::INFINITY,
                ..run()
            },
            repeated,
        ];
        let place = format!("{}/", folder.path().display());
        let texts: Vec<String> = runs
            .map(|run| run.write(folder.path()).unwrap_err().to_string())
            .map(|text| text.replace(&place, ""))
            .to_vec();
        insta::assert_snapshot!(texts.join("\n"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn digest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("abc");
        std::fs::write(&path, "abc").unwrap();
        let input = Input::of(&path).unwrap();
        // The example of FIPS 180-2, B.1.
        assert_eq!(
            input.digest,
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(input.bytes, 3);
        let absent = Input::of(Path::new("absent.csv")).unwrap_err();
        assert_eq!(absent.to_string(), "absent.csv: no such file or folder");
    }

    #[test]
    fn digest_of_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let of = |files: [(&str, &str); 2]| {
            for (name, text) in files {
                std::fs::write(folder.path().join(name), text).unwrap();
            }
            Input::of(folder.path()).unwrap()
        };
        let input = of([("a", "abc"), ("b", "de")]);
        assert_eq!(input.bytes, 5);
        assert_eq!(input, of([("a", "abc"), (".hidden", "x")]));
        // The same bytes, cut elsewhere.
        assert_ne!(input.digest, of([("a", "ab"), ("b", "cde")]).digest);
    }
}
