//! Decides which Python exception a failure becomes.

use collapsar::{Place, Terms};
use collapsar_bugs::Diagnostic;
use pyo3::PyErr;

use crate::terms::Arguments;

mod python {
    pyo3::import_exception!(pycollapsar._errors, CollapsarError);
    pyo3::import_exception!(pycollapsar._errors, DataError);
    pyo3::import_exception!(pycollapsar._errors, ModelError);
    pyo3::import_exception!(pycollapsar._errors, SettingError);
}

/// What may end a call, before it is Python's.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The library's own.
    Library(collapsar::Error),
    /// A complaint about a model, and the model's text.
    Model(Box<Diagnostic>, String),
    /// A file that cannot be used.
    File(collapsar_formats::Error),
    /// Arguments that do not go together or name what cannot be used, in words.
    Setting(String),
    /// A broken invariant, in the words of the panic.
    Panic(String),
}

/// A result before it is Python's.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl From<collapsar::Error> for Failure {
    fn from(error: collapsar::Error) -> Self {
        Self::Library(error)
    }
}

impl From<collapsar_formats::Error> for Failure {
    fn from(error: collapsar_formats::Error) -> Self {
        match error {
            collapsar_formats::Error::Library(error) => Self::Library(error),
            error => Self::File(error),
        }
    }
}

impl From<collapsar_run::Error> for Failure {
    fn from(error: collapsar_run::Error) -> Self {
        use collapsar_run::Error;
        match error {
            Error::Library(error) => Self::Library(error),
            Error::Data { error, .. } | Error::Collapse { error, .. } => Self::Library(*error),
            Error::File(error) => error.into(),
            Error::Model {
                diagnostic, source, ..
            } => Self::Model(diagnostic, source),
            Error::Value {
                option,
                value,
                expected,
                ..
            } => Self::Library(collapsar::Error::setting(option, value, expected)),
            error => Self::Setting(error.in_terms(&Arguments)),
        }
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        use collapsar::Error;
        match failure {
            Failure::Library(error) => {
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
                    Error::Datum { row, found } => data_error(
                        message,
                        &Place::Row(row),
                        found.to_string(),
                        "a finite log density".into(),
                    ),
                    Error::Collapse { factor, found } => {
                        python::SettingError::new_err((message, "collapse", found, factor.name))
                    }
                    _ => python::CollapsarError::new_err((message,)),
                }
            }
            Failure::Model(diagnostic, source) => complaint(&diagnostic, &source),
            Failure::File(error) => python::DataError::new_err((error.in_terms(&Arguments),)),
            Failure::Setting(message) => python::SettingError::new_err((message,)),
            Failure::Panic(message) => python::CollapsarError::new_err((format!(
                "internal error: {message}; this is a bug in collapsar"
            ),)),
        }
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
