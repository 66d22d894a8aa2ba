//! A model's file and its data, read; and how complaints about the text are told.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use clap::Args;
use collapsar::graph::{Class, Compiled, Demands, Role};
use collapsar::{Error, Terms};
use collapsar_bugs::{Data, Diagnostic, Model, PosteriorError, Prepared, Span};

use crate::common::{Common, Usage};
use crate::files::name_of;
use crate::terms::Flags;

/// A model and its data, as typed.
#[derive(Debug, Args)]
pub(crate) struct SourceArgs {
    /// Model in the BUGS language; - reads it from standard input
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Data: JSON, R dumps, CSV or TSV (a vector a column), NPY (named as its file); several add up
    #[arg(long, short, value_name = "FILE", num_args = 1..)]
    pub(crate) data: Vec<PathBuf>,
    /// Collapse these arrays, integrating them out
    #[arg(
        long,
        value_name = "A,B",
        value_delimiter = ',',
        help_heading = "Model"
    )]
    pub(crate) collapse: Vec<String>,
    /// Do not collapse these arrays
    #[arg(
        long,
        value_name = "A,B",
        value_delimiter = ',',
        help_heading = "Model"
    )]
    pub(crate) explicit: Vec<String>,
}

impl SourceArgs {
    /// Refuses what clap cannot know of.
    pub(crate) fn check(&self) -> Result<(), Usage> {
        let stdin = |file: &&PathBuf| file.as_path() == Path::new("-");
        let times = std::iter::once(&self.model)
            .chain(&self.data)
            .filter(stdin)
            .count();
        if times > 1 {
            return Err(Usage(format!(
                "- is given {times} times, expected once: there is one standard input"
            )));
        }
        Ok(())
    }
}

/// A model that was read.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) model: Model,
    /// Complaints in one line.
    brief: bool,
}

impl Source {
    pub(crate) fn read(file: &Path, common: &Common) -> anyhow::Result<Self> {
        let name = name_of(file);
        let bytes = if file == Path::new("-") {
            let mut bytes = vec![];
            io::stdin().read_to_end(&mut bytes).map(|_| bytes)
        } else {
            fs::read(file)
        };
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                bail!("{name}: no such file, expected a model in the BUGS language")
            }
            Err(error) => return Err(anyhow!(error).context(name)),
        };
        let Ok(text) = String::from_utf8(bytes) else {
            bail!("{name}: not text in UTF-8, expected a model in the BUGS language")
        };
        let brief = common.quiet;
        match Model::parse(text.clone()) {
            Ok(model) => Ok(Self { name, model, brief }),
            Err(diagnostic) => Err(refusal(&diagnostic, &name, &text, brief)),
        }
    }

    /// Puts data in, and warns of those that the model never mentions.
    pub(crate) fn with(&self, data: Data, common: &Common) -> anyhow::Result<Prepared> {
        let unused = self.model.unused(&data);
        let prepared = self.model.with(data);
        // Before a refusal only what may explain it.
        let told = prepared.is_ok() || unused.iter().any(|(_, like)| like.is_some());
        if told && !unused.is_empty() {
            let one = |(name, like): &(String, Option<String>)| match like {
                Some(like) => format!("{name} (is {like} meant?)"),
                None => name.clone(),
            };
            let names: Vec<String> = unused.iter().map(one).collect();
            let names = names.join(", ");
            common.warn(&format!("{}: nothing reads {names} of the data", self.name));
        }
        prepared.map_err(|diagnostic| self.refusal(&diagnostic))
    }

    /// Decides what is collapsed, heeding the flags.
    pub(crate) fn compile(
        &self,
        prepared: &Prepared,
        args: &SourceArgs,
    ) -> anyhow::Result<Compiled> {
        let demands = Demands {
            collapse: args.collapse.clone(),
            explicit: args.explicit.clone(),
        };
        prepared.compile(&demands).map_err(|error| match error {
            Error::Setting {
                name,
                found,
                expected,
            } => anyhow!("{}: expected {expected}", Flags.setting(name, &found)),
            Error::Collapse { factor, found } => anyhow!(
                "--collapse: {found} cannot be collapsed, since they meet in {} ({})",
                one_line(&factor.name),
                self.place(prepared.factor(&factor))
            ),
            error => match prepared.diagnostic(&error) {
                Some(diagnostic) => self.refusal(&diagnostic),
                None => error.into(),
            },
        })
    }

    /// Why a fit does not answer, as an error to print.
    pub(crate) fn no_answer(&self, refusal: PosteriorError) -> anyhow::Error {
        match refusal {
            PosteriorError::Model(diagnostic) => self.refusal(&diagnostic),
            PosteriorError::Fit(error) => error.into(),
        }
    }

    /// A complaint about the model.
    pub(crate) fn refusal(&self, diagnostic: &Diagnostic) -> anyhow::Error {
        refusal(diagnostic, &self.name, self.model.source(), self.brief)
    }

    /// Where a part of the model begins, as `file:line:column`.
    pub(crate) fn place(&self, part: Span) -> String {
        format!("{}:{}", self.name, part.position(self.model.source()))
    }
}

/// A complaint as the program's errors are: after `error: `, in one line where asked to be quiet.
fn refusal(diagnostic: &Diagnostic, name: &str, text: &str, brief: bool) -> anyhow::Error {
    if brief {
        return anyhow!(diagnostic.brief(name, text));
    }
    anyhow!(diagnostic.render(name, text))
}

/// Classes of a role or another, as `tau, (mu, Lambda)`: what is joint is in brackets.
pub(crate) fn names(compiled: &Compiled, which: impl Fn(Role) -> bool) -> Vec<String> {
    let classes = compiled.choice().classes.iter();
    classes
        .filter(|class| which(class.role))
        .map(class_name)
        .collect()
}

/// A class as people name it.
pub(crate) fn class_name(class: &Class) -> String {
    let names = class.names.join(", ");
    if class.names.len() > 1 {
        format!("({names})")
    } else {
        names
    }
}

/// A line of the model without its breaks.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}
