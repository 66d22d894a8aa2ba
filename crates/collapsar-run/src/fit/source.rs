//! The text of a model, read; and how complaints about it are kept.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use collapsar::graph::{Class, Compiled, Demands, Graph, Role};
use collapsar_bugs::{Data, Diagnostic, Model, PosteriorError, Prepared, Span};

use crate::error::{Error, Result};
use crate::record::name_of;

/// The text of a model that was read.
#[derive(Debug, Clone)]
pub struct ModelSource {
    /// Its file, as in refusals.
    pub name: String,
    /// The model.
    pub model: Model,
}

impl ModelSource {
    /// Reads a file, or standard input where it is `-`.
    pub fn read(file: &Path) -> Result<Self> {
        let expected = "a model in the BUGS language";
        let name = name_of(file);
        let bytes = if file == Path::new("-") {
            let mut bytes = vec![];
            io::stdin().read_to_end(&mut bytes).map(|_| bytes)
        } else {
            fs::read(file)
        };
        let bytes = bytes.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::input(&name, "no such file", expected),
            _ => collapsar_formats::Error::file(&name, &error).into(),
        })?;
        if bytes.contains(&0) {
            return Err(Error::input(&name, "not a text", expected));
        }
        // What is not UTF-8 is taken for Latin-1, in which many comments are written.
        let text = String::from_utf8(bytes)
            .unwrap_or_else(|error| error.as_bytes().iter().copied().map(char::from).collect());
        Self::new(name, text)
    }

    /// Takes a text.
    pub fn new(name: String, text: String) -> Result<Self> {
        match Model::parse(text.clone()) {
            Ok(model) => Ok(Self { name, model }),
            Err(diagnostic) => Err(Error::Model {
                diagnostic: Box::new(diagnostic),
                file: name,
                source: text,
            }),
        }
    }

    /// Refuses words that mean nothing, whatever the data are.
    pub fn check(&self) -> Result<()> {
        self.model.check().map_err(|error| self.refusal(error))
    }

    /// Puts data in.
    pub fn with(&self, data: Data) -> Result<Prepared> {
        self.model.with(data).map_err(|error| self.refusal(error))
    }

    /// Decides what is collapsed, heeding demands.
    pub fn compile(&self, prepared: &Prepared, demands: &Demands) -> Result<Compiled> {
        self.compile_graph(prepared, prepared.graph().clone(), demands)
    }

    /// The same of another graph of the same lines.
    pub(super) fn compile_graph(
        &self,
        prepared: &Prepared,
        graph: Graph,
        demands: &Demands,
    ) -> Result<Compiled> {
        Compiled::new(graph, demands).map_err(|error| {
            let line = match &error {
                collapsar::Error::Setting { .. } => None,
                collapsar::Error::Collapse { factor, .. } => {
                    Some((one_line(&factor.name), self.place(prepared.factor(factor))))
                }
                error => {
                    let diagnostic = prepared.diagnostic(error);
                    let refused = diagnostic.map(|diagnostic| self.refusal(diagnostic));
                    return refused.unwrap_or_else(|| error.clone().into());
                }
            };
            Error::Collapse {
                error: Box::new(error),
                line,
            }
        })
    }

    /// Why a fit does not answer.
    pub(crate) fn no_answer(&self, refusal: PosteriorError) -> Error {
        match refusal {
            PosteriorError::Model(diagnostic) => self.refusal(*diagnostic),
            PosteriorError::Fit(error) => error.into(),
        }
    }

    /// A complaint about the model.
    pub(crate) fn refusal(&self, diagnostic: Diagnostic) -> Error {
        Error::Model {
            diagnostic: Box::new(diagnostic),
            file: self.name.clone(),
            source: self.model.source().to_owned(),
        }
    }

    /// Where a part of the model begins, as `file:line:column`.
    pub fn place(&self, part: Span) -> String {
        format!("{}:{}", self.name, part.position(self.model.source()))
    }
}

/// Classes that are collapsed, or those that are not.
pub fn class_names(compiled: &Compiled, collapsed: bool) -> Vec<String> {
    let classes = compiled.choice().classes.iter();
    classes
        .filter(|class| (class.role == Role::Collapsed) == collapsed)
        .map(class_name)
        .collect()
}

/// What is said of labels that are approximated one by one, where there are any.
pub fn parted(compiled: &Compiled) -> Option<String> {
    let classes = compiled.choice().classes.iter();
    let names: Vec<String> = classes
        .filter(|class| class.parted)
        .map(class_name)
        .collect();
    (!names.is_empty()).then(|| {
        let names = names.join(", ");
        format!("labels {names} are approximated one by one: their network is too dense to be summed exactly")
    })
}

/// A class as people name it: what is joint is in brackets, as in `(mu, Lambda)`.
pub fn class_name(class: &Class) -> String {
    match class.names.as_slice() {
        [name] => name.clone(),
        names => format!("({})", names.join(", ")),
    }
}

/// A line of the model without its breaks.
pub fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}
