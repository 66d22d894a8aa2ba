//! Which measurement to make: data, fits, bounds and the matrix products alone, each a subcommand.
//!
//! - `npy`: arrays of float64 in and out
//! - `generate`: the data and where fits start
//! - `fit`: one fit, timed
//! - `bound`: the bound of somebody else's responsibilities
//! - `limit`: a pass beside its matrix products alone
//! - `graph`: passes of models in the BUGS language beside those of the hand-written models
//! - `scaling`: a pass of a topic model, and its memory, as corpora grow

mod bound;
mod fit;
mod generate;
mod graph;
mod limit;
mod npy;
mod scaling;
// The library's own kernel, compiled from its source: it is no part of the library's interface.
#[path = "../../crates/collapsar-core/src/kernel/product.rs"]
mod product;

use std::process::ExitCode;
use std::str::FromStr;

const USAGE: &str = "bench-runner generate DATA.npy LABELS.csv [--rows N] [--columns D] [--components K] [--spread S] [--seed I] [--start-seed I]
bench-runner fit DATA.npy LABELS.csv [--components K] [--threads P] [--method auto|vbem|...] [--jumps on|off]
             [--tolerance T] [--max-iterations I] [--target B]... [--within W] [--trace FILE.csv]
bench-runner bound DATA.npy RESPONSIBILITIES.npy|LABELS.csv [--components K]
bench-runner limit DATA.npy [--components K] [--threads P] [--repeats R]
bench-runner scaling [--entries N] [--vocabulary V] [--topics K] [--threads P] [--iterations I] [--seed I]
bench-runner graph DATA-FOLDER [--repeats R]
Each prints one JSON object.";

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The words after the subcommand: places first, options anywhere.
struct Words {
    places: Vec<String>,
    options: Vec<(String, String)>,
}

impl Words {
    fn new(words: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let (mut places, mut options) = (vec![], vec![]);
        let mut words = words;
        while let Some(word) = words.next() {
            match word.strip_prefix("--") {
                Some(name) => {
                    let value = words.next().ok_or(format!("--{name} needs a value"))?;
                    options.push((name.to_owned(), value));
                }
                None => places.push(word),
            }
        }
        Ok(Self { places, options })
    }

    fn place(&self, index: usize, what: &str) -> Result<&str, Failure> {
        let place = self.places.get(index).map(String::as_str);
        place.ok_or_else(|| format!("no {what} given\n{USAGE}").into())
    }

    /// Every value of an option, in the order given.
    fn all<T: FromStr<Err: std::fmt::Display>>(&self, name: &str) -> Result<Vec<T>, Failure> {
        let values = self.options.iter().filter(|(option, _)| option == name);
        values
            .map(|(_, value)| {
                let parsed = value.parse();
                parsed.map_err(|error| format!("--{name} {value}: {error}").into())
            })
            .collect()
    }

    fn get<T: FromStr<Err: std::fmt::Display>>(&self, name: &str, or: T) -> Result<T, Failure> {
        Ok(self.all(name)?.pop().unwrap_or(or))
    }

    fn known(&self, names: &[&str]) -> Result<(), Failure> {
        let unknown = self
            .options
            .iter()
            .find(|(name, _)| !names.contains(&name.as_str()));
        match unknown {
            Some((name, _)) => Err(format!("unknown option --{name}\n{USAGE}").into()),
            None => Ok(()),
        }
    }
}

fn run() -> Result<serde_json::Value, Failure> {
    let mut words = std::env::args().skip(1);
    let command = words.next().unwrap_or_default();
    let words = Words::new(words)?;
    match command.as_str() {
        "generate" => generate::run(&words),
        "fit" => fit::run(&words),
        "bound" => bound::run(&words),
        "limit" => limit::run(&words),
        "scaling" => scaling::run(&words),
        "graph" => graph::run(&words),
        _ => Err(USAGE.into()),
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// A pool of so many threads; results do not depend on how many.
fn pool(threads: usize) -> Result<rayon::ThreadPool, Failure> {
    Ok(rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()?)
}
