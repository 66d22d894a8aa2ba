//! Decides which Python exception a failure becomes, in Python's terms: options are arguments.

use collapsar::{Place, Terms};
use collapsar_bugs::Diagnostic;
use pyo3::PyErr;

mod python {
    pyo3::import_exception!(pycollapsar._errors, CollapsarError);
    pyo3::import_exception!(pycollapsar._errors, DataError);
    pyo3::import_exception!(pycollapsar._errors, ModelError);
    pyo3::import_exception!(pycollapsar._errors, SettingError);
}

/// What may end a call, before it is Python's.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A refusal.
    Run(Box<collapsar_run::Error>),
    /// A broken invariant, in the words of the panic.
    Panic(String),
}

/// A result before it is Python's.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl From<collapsar_run::Error> for Failure {
    fn from(error: collapsar_run::Error) -> Self {
        Self::Run(Box::new(error))
    }
}

impl From<collapsar::Error> for Failure {
    fn from(error: collapsar::Error) -> Self {
        Self::from(collapsar_run::Error::from(error))
    }
}

impl From<collapsar_formats::Error> for Failure {
    fn from(error: collapsar_formats::Error) -> Self {
        Self::from(collapsar_run::Error::from(error))
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        use collapsar_run::Error;
        let error = match failure {
            Failure::Run(error) => *error,
            Failure::Panic(message) => {
                let message = format!("internal error: {message}; this is a bug in collapsar");
                return python::CollapsarError::new_err((message,));
            }
        };
        match error {
            Error::Library(error) | Error::File(collapsar_formats::Error::Library(error)) => {
                refusal(error)
            }
            Error::Data { error, .. } | Error::Collapse { error, .. } => refusal(*error),
            Error::Value {
                option,
                value,
                expected,
                ..
            } => refusal(collapsar::Error::setting(option, value, expected)),
            Error::Model {
                diagnostic, source, ..
            } => complaint(&diagnostic, &source),
            Error::File(error) => python::DataError::new_err((error.in_terms(&Arguments),)),
            error => python::SettingError::new_err((error.in_terms(&Arguments),)),
        }
    }
}

/// What the library refuses.
fn refusal(error: collapsar::Error) -> PyErr {
    use collapsar::Error;
    let message = error.in_terms(&Arguments);
    match error {
        Error::Setting {
            name,
            found,
            expected,
        } => {
            let name = Arguments.option(name);
            python::SettingError::new_err((message, name, found, expected))
        }
        Error::Data {
            place,
            found,
            expected,
            ..
        } => data_error(message, &place, found, expected),
        Error::Datum { row, found } => {
            let expected = "a finite log density".into();
            data_error(message, &Place::Row(row), found.to_string(), expected)
        }
        Error::Collapse { factor, found } => {
            python::SettingError::new_err((message, "collapse", found, factor.name))
        }
        _ => python::CollapsarError::new_err((message,)),
    }
}

fn data_error(message: String, place: &Place, found: String, expected: String) -> PyErr {
    let (row, column) = match place {
        Place::Row(row) => (Some(*row), None),
        Place::Column(column) => (None, Some(*column)),
        Place::Cell { row, column } => (Some(*row), Some(*column)),
        _ => (None, None),
    };
    python::DataError::new_err((message, place.to_string(), found, expected, row, column))
}

/// What a complaint calls the text of a model, which has no file.
const FILE: &str = "model";

fn complaint(diagnostic: &Diagnostic, source: &str) -> PyErr {
    let position = diagnostic.position(source);
    python::ModelError::new_err((
        diagnostic.message.clone(),
        position.map(|position| position.line),
        position.map(|position| position.column),
        format!("error: {}", diagnostic.render(FILE, source)),
        diagnostic.help.clone(),
    ))
}

/// Options as arguments of the package's classes and functions.
#[derive(Debug, Clone, Copy)]
struct Arguments;

impl Terms for Arguments {
    fn option(&self, name: &'static str) -> String {
        match name {
            "alpha" => "doc_topic_prior",
            "beta" => "topic_word_prior",
            "columns" => "X without that column",
            "components" | "topics" => "n_components",
            "concentration" => "weight_concentration_prior",
            "covariance" => "covariance_type",
            "degrees_of_freedom" => "degrees_of_freedom_prior",
            "location" => "mean_prior",
            "mean_precision" => "mean_precision_prior",
            "monitor" => "names",
            "restarts" => "n_init",
            "scale" => "covariance_prior",
            "threads" => "n_jobs",
            name => name,
        }
        .to_owned()
    }

    /// Texts are vectorised, and tables read, before they come here.
    fn offers(&self, name: &'static str) -> bool {
        !matches!(
            name,
            "format"
                | "id_column"
                | "invalid_utf8"
                | "keep_numbers"
                | "max_docs_share"
                | "max_vocabulary"
                | "min_docs"
                | "min_length"
                | "stop_words"
                | "text_column"
                | "vocabulary"
        )
    }

    fn setting(&self, name: &'static str, value: &str) -> String {
        format!("{}={value:?}", self.option(name))
    }
}
