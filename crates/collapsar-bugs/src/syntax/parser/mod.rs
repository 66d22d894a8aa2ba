//! Decides which texts are models.
//!
//! - `program`: what may stand at the top level.
//! - `statements`: loops and relations.
//! - `expressions`: what binds tighter than what.
//! - `complaints`: what is said when a closing bracket does not come.
//!
//! Newlines mean nothing to the grammar, as in JAGS. They are only used to guess what a mistake was.

mod complaints;
mod expressions;
mod program;
mod statements;

use super::ast::{Name, Program, Span};
use super::lexer::TokenKind::{self, Symbol};
use super::lexer::{Token, lex};
use crate::diagnostic::{Checked, Diagnostic};

/// How deeply loops, brackets and operators may stand inside one another, so that no text exhausts the stack.
const NESTING: usize = 256;

/// How tall the tree of one expression may be; `a + b + c` is as tall as it has operators.
const HEIGHT: usize = 1000;

/// Reads the text of a model; of several errors the first is given.
pub fn parse(source: &str) -> Result<Program, Diagnostic> {
    Parser::read(source, Parser::program)
}

/// An expression alone, for tests of precedence and of spans.
#[cfg(test)]
pub(super) fn parse_expression(source: &str) -> Checked<super::ast::Expr> {
    Parser::read(source, |parser| {
        let expression = parser.expression()?;
        match parser.kind() {
            TokenKind::End => Ok(expression),
            _ => Err(parser.unexpected("the end")),
        }
    })
}

/// The tokens and the place reached among them.
struct Parser<'a> {
    source: &'a str,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    /// How tall the tree of the expression is that was read last.
    height: usize,
    /// The first pair of braces whose lines are indented differently: the suspects when one is missing.
    suspects: Option<(Span, Span)>,
}

impl<'a> Parser<'a> {
    fn read<T>(source: &'a str, what: impl FnOnce(&mut Self) -> Checked<T>) -> Checked<T> {
        let (tokens, broken) = lex(source);
        let mut parser = Self {
            source,
            tokens,
            at: 0,
            depth: 0,
            height: 0,
            suspects: None,
        };
        let outcome = what(&mut parser);
        // A parser that failed at the last token was stopped by whatever stopped the lexer.
        match broken {
            Some(complaint) if outcome.is_ok() || parser.at + 1 == parser.tokens.len() => {
                Err(complaint)
            }
            _ => outcome,
        }
    }

    fn token(&self) -> Token {
        self.tokens[self.at]
    }

    fn kind(&self) -> TokenKind {
        self.token().kind
    }

    /// The kind of the token after this one.
    fn next_kind(&self) -> TokenKind {
        self.tokens[(self.at + 1).min(self.tokens.len() - 1)].kind
    }

    /// Where the token before this one stands.
    fn last_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    /// Takes a token; the last one is never passed.
    fn advance(&mut self) -> Token {
        let token = self.token();
        if token.kind != TokenKind::End {
            self.at += 1;
        }
        token
    }

    fn take(&mut self, symbol: &str) -> bool {
        let found = matches!(self.kind(), Symbol(here) if here == symbol);
        if found {
            self.advance();
        }
        found
    }

    fn text(&self, span: Span) -> &'a str {
        &self.source[span.start as usize..span.end as usize]
    }

    /// The word that stands here, if one does.
    fn word(&self) -> Option<&'a str> {
        (self.kind() == TokenKind::Name).then(|| self.text(self.token().span))
    }

    /// The word that stands here and is followed by an opening parenthesis.
    fn word_before_paren(&self) -> Option<&'a str> {
        self.word().filter(|_| self.next_kind() == Symbol("("))
    }

    fn span_from(&self, start: Span) -> Span {
        Span {
            start: start.start,
            end: self.last_span().end,
        }
    }

    fn found(&self) -> String {
        match self.kind() {
            TokenKind::End => "the end of the text".into(),
            _ => format!("`{}`", self.text(self.token().span)),
        }
    }

    /// A complaint about the token that stands here.
    fn complaint(&self, message: impl Into<String>, label: impl Into<String>) -> Diagnostic {
        Diagnostic::new(self.token().span, message, label)
    }

    fn unexpected(&self, expected: &str) -> Diagnostic {
        let message = format!("expected {expected}, found {}", self.found());
        self.complaint(message, format!("expected {expected}"))
    }

    fn expect(&mut self, symbol: &'static str, expected: &str) -> Checked<Token> {
        if self.kind() == Symbol(symbol) {
            Ok(self.advance())
        } else {
            Err(self.unexpected(expected))
        }
    }

    /// Items with commas between them, up to the bracket that closes `open`; as tall as the tallest.
    fn list<T>(
        &mut self,
        open: Token,
        mut item: impl FnMut(&mut Self) -> Checked<T>,
    ) -> Checked<Vec<T>> {
        let mut items = vec![];
        let mut height = 0;
        loop {
            items.push(item(self)?);
            height = self.height.max(height);
            if !self.take(",") {
                self.close(open, true)?;
                self.height = height;
                return Ok(items);
            }
        }
    }

    /// A name that is not a reserved word.
    fn name(&mut self, expected: &str) -> Checked<Name> {
        match self.word() {
            Some(word @ ("for" | "in")) => {
                let message = format!("expected {expected}, found the reserved word `{word}`");
                Err(self.complaint(message, format!("expected {expected}")))
            }
            Some(word) => Ok(Name {
                text: word.into(),
                span: self.advance().span,
            }),
            None => Err(self.unexpected(expected)),
        }
    }

    /// Reads something that may hold more of its kind, unless it lies too deep.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Checked<T>) -> Checked<T> {
        if self.depth == NESTING {
            let message =
                format!("more than {NESTING} loops, brackets and operators inside one another");
            let complaint = self.complaint(message, "the innermost begins here");
            return Err(complaint.help("give a part of it a name of its own"));
        }
        self.depth += 1;
        let outcome = inner(self);
        self.depth -= 1;
        outcome
    }
}
