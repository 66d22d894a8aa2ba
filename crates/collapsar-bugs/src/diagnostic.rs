//! Decides how a complaint about a model's text is kept: where, what, and what would do.

use crate::syntax::ast::Span;

/// A complaint that points into the source.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// Places, the one to blame first, each with a few words.
    pub labels: Vec<(Span, String)>,
    /// What would be accepted, or what to try.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A complaint about one place.
    pub fn new(span: Span, message: impl Into<String>, label: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            labels: vec![(span, label.into())],
            help: None,
        }
    }

    /// Adds another place.
    #[must_use]
    pub fn and(mut self, span: Span, label: impl Into<String>) -> Self {
        self.labels.push((span, label.into()));
        self
    }

    /// Says what would be accepted.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
