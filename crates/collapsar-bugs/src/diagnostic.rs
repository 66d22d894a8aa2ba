//! Decides how a complaint about a model's text is kept and shown: where, what, and what would do.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

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
    /// What else is wrong with the same text, in its order.
    pub others: Vec<Diagnostic>,
}

/// Most other complaints that are shown.
const MOST: usize = 20;

/// What is found, unless there is a complaint.
pub(crate) type Checked<T = ()> = Result<T, Diagnostic>;

impl Diagnostic {
    /// A complaint about one place.
    pub fn new(span: Span, message: impl Into<String>, label: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            labels: vec![(span, label.into())],
            help: None,
            others: vec![],
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

    /// The complaint with the lines it is about, underlined, in plain text without a newline at its end.
    /// It begins with the message: front ends say that it is an error. What else is wrong follows, up to a number.
    pub fn render(&self, file: &str, source: &str) -> String {
        let mut parts = vec![self.render_one(file, source)];
        let shown = self.others.iter().take(MOST);
        parts.extend(shown.map(|other| format!("also: {}", other.render_one(file, source))));
        if self.others.len() > MOST {
            parts.push(format!("and {} more", self.others.len() - MOST));
        }
        parts.join("\n\n")
    }

    fn render_one(&self, file: &str, source: &str) -> String {
        let kinds = std::iter::once(AnnotationKind::Primary)
            .chain(std::iter::repeat(AnnotationKind::Context));
        let annotations =
            self.labels.iter().zip(kinds).map(|((span, label), kind)| {
                kind.span(inside(*span, source)).label(label.as_str())
            });
        let snippet = Snippet::source(source).path(file).annotations(annotations);
        let mut group = Level::ERROR
            .no_name()
            .primary_title(self.message.as_str())
            .element(snippet);
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        Renderer::plain().render(&[group])
    }

    /// The complaint in one line: `message (file:line:column)`, with characters counted from 1, and how many more there are.
    pub fn brief(&self, file: &str, source: &str) -> String {
        let line = match self.position(source) {
            Some(position) => format!("{} ({file}:{position})", self.message),
            None => format!("{} ({file})", self.message),
        };
        if self.others.is_empty() {
            return line;
        }
        let places = self
            .others
            .iter()
            .filter_map(|other| other.position(source));
        let places: Vec<String> = places.take(MOST).map(|at| at.to_string()).collect();
        let (more, places) = (self.others.len(), places.join(", "));
        format!("{line}; {more} more, at {places}")
    }

    /// Where the place to blame begins.
    pub fn position(&self, source: &str) -> Option<Position> {
        let (span, _) = self.labels.first()?;
        Some(span.position(source))
    }
}

/// Complaints about one text as they are found.
#[derive(Debug, Default)]
pub(crate) struct Complaints(Vec<Diagnostic>);

impl Complaints {
    /// What is found; a complaint is kept.
    pub(crate) fn take<T>(&mut self, found: Checked<T>) -> Option<T> {
        match found {
            Ok(found) => Some(found),
            Err(complaint) => {
                self.0.push(complaint);
                None
            }
        }
    }

    /// All complaints as one, the first in the text leading; those about the same place once.
    pub(crate) fn end(mut self) -> Checked {
        let start = |complaint: &Diagnostic| complaint.labels.first().map(|(span, _)| *span);
        self.0
            .sort_by_key(|complaint| start(complaint).map(|span| (span.start, span.end)));
        self.0
            .dedup_by_key(|complaint| (start(complaint), complaint.message.clone()));
        let mut all = self.0.into_iter();
        let Some(mut first) = all.next() else {
            return Ok(());
        };
        first.others.extend(all);
        Err(first)
    }
}

/// A place in a text, as people count: both from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The character of the line.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

impl Span {
    /// The text of the span in its source.
    pub(crate) fn of(self, source: &str) -> &str {
        &source[inside(self, source)]
    }

    /// Whether a byte is in it.
    pub(crate) fn holds(self, byte: u32) -> bool {
        (self.start..self.end).contains(&byte)
    }

    /// Where the span begins in its source.
    pub fn position(self, source: &str) -> Position {
        let before = &source[..inside(self, source).start];
        let last = before.rsplit('\n').next().unwrap_or_default();
        Position {
            line: before.matches('\n').count() + 1,
            column: last.chars().count() + 1,
        }
    }
}

/// The bytes of a span, moved to where characters of this source begin and end, so that no span can panic.
fn inside(span: Span, source: &str) -> Range<usize> {
    let start = source.floor_char_boundary(span.start as usize);
    let end = source.ceil_char_boundary(span.end as usize);
    start..end.max(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: u32, end: u32) -> Span {
        Span { start, end }
    }

    #[test]
    fn places_are_shown_with_their_lines() {
        let source = "model {\r\n\tx <- é + y\n}\n";
        let start = source.find('y').unwrap() as u32;
        let complaint = Diagnostic::new(span(start, start + 1), "no `y`", "used here")
            .and(span(0, 5), "in this model")
            .help("give `y` in the data");
        insta::assert_snapshot!(complaint.render("dir/m.bug", source), @r"
        no `y`
         --> dir/m.bug:2:11
          |
        1 | model {
          | ----- in this model
        2 |     x <- é + y
          |              ^ used here
          |
          = help: give `y` in the data
        ");
        assert_eq!(
            complaint.brief("dir/m.bug", source),
            "no `y` (dir/m.bug:2:11)"
        );
    }

    #[test]
    fn places_outside_the_text_are_moved_inside() {
        for source in ["", "é", "a\n", "a\r\n\r\n"] {
            for start in 0..6 {
                for end in 0..8 {
                    let complaint = Diagnostic::new(span(start, end), "wrong", "here");
                    assert!(complaint.render("m.bug", source).contains("wrong"));
                    assert!(
                        complaint
                            .brief("m.bug", source)
                            .starts_with("wrong (m.bug:")
                    );
                }
            }
        }
        let nowhere = Diagnostic {
            message: "wrong".into(),
            labels: Vec::new(),
            help: None,
            others: vec![],
        };
        assert_eq!(nowhere.brief("m.bug", "x"), "wrong (m.bug)");
        assert!(nowhere.render("m.bug", "x").contains("wrong"));
    }
}
