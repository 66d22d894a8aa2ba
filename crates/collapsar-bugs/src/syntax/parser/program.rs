//! Decides what may stand at the top level of a text, and in which order.

use super::super::ast::{Link, Program, Span, Variable};
use super::statements::Block;
use super::{Diagnostic, Parser, TokenKind};

const WRAP: &str = "put the relations between `model {` and `}`";

impl Parser<'_> {
    /// `var` declarations, a `data` block, a `model` block.
    pub(super) fn program(&mut self) -> Result<Program, Diagnostic> {
        let mut program = Program::default();
        let mut data: Option<Span> = None;
        while self.kind() != TokenKind::End {
            match (self.word(), self.next_kind()) {
                (Some("var"), TokenKind::Name) => self.variables(&mut program.vars)?,
                (Some("data"), TokenKind::OpenBrace) => {
                    let word = self.advance().span;
                    if let Some(first) = data.replace(word) {
                        return Err(second(word, first, "data"));
                    }
                    program.data = self.block(Block::Data)?;
                }
                (Some("model"), TokenKind::OpenBrace) => {
                    let word = self.advance().span;
                    program.model = self.block(Block::Model)?;
                    self.nothing_more(word)?;
                    return Ok(program);
                }
                _ => return Err(self.no_block()),
            }
        }
        let complaint = Diagnostic::new(
            self.token().span,
            "there is no `model { }` block",
            "the text ends here",
        );
        Err(match data {
            Some(word) => complaint.and(word, "there is a `data` block"),
            None => complaint.help(WRAP),
        })
    }

    /// `var x[N, M], y;`
    fn variables(&mut self, variables: &mut Vec<Variable>) -> Result<(), Diagnostic> {
        self.advance();
        loop {
            let name = self.name("the name of a variable")?;
            let mut dims = Vec::new();
            if self.kind() == TokenKind::OpenBracket {
                let open = self.advance();
                loop {
                    if matches!(self.kind(), TokenKind::Comma | TokenKind::CloseBracket) {
                        return Err(self
                            .unexpected("a length")
                            .and(name.span, "declared here")
                            .help("a declaration gives the length of every dimension: `x[N, 3]`"));
                    }
                    dims.push(self.expression()?);
                    if !self.take(TokenKind::Comma) {
                        self.close(open, true)?;
                        break;
                    }
                }
            }
            variables.push(Variable { name, dims });
            if !self.take(TokenKind::Comma) {
                break;
            }
        }
        while self.take(TokenKind::Semicolon) {}
        Ok(())
    }

    /// What is wrong with something that begins no block.
    fn no_block(&mut self) -> Diagnostic {
        let complaint = self.unexpected("`model {`, `data {` or `var`");
        let Some(word) = self.word() else {
            return match self.kind() {
                TokenKind::OpenBrace => complaint.help("write `model` before the `{`"),
                TokenKind::CloseBrace => complaint.help("this `}` closes nothing"),
                _ => complaint,
            };
        };
        let relation = Diagnostic::new(
            self.token().span,
            "a relation stands outside a `model { }` block",
            "expected `model {`",
        )
        .help(WRAP);
        match (word, self.next_kind()) {
            (
                _,
                TokenKind::Tilde
                | TokenKind::Arrow
                | TokenKind::Assign
                | TokenKind::OpenBracket
                | TokenKind::Less
                | TokenKind::Equal,
            )
            | ("for", _) => relation,
            (_, TokenKind::OpenParen) if Link::named(word).is_some() => relation,
            ("const", _) => Diagnostic::new(
                self.token().span,
                "`const` is not read",
                "constants as old versions of BUGS declare them",
            )
            .help("give constants in the data, or define them in a `data { }` block"),
            ("list", TokenKind::OpenParen) => self.foreign_list(),
            ("var", _) => complaint.help("`var` is followed by names: `var x[N], y;`"),
            ("model" | "data", _) => self.no_brace(word),
            _ => match word.to_ascii_lowercase().as_str() {
                lower @ ("model" | "data" | "var") => {
                    complaint.help(format!("write `{lower}` in small letters"))
                }
                _ => complaint,
            },
        }
    }

    /// What is wrong with `model` or `data` that no brace follows.
    fn no_brace(&mut self, word: &str) -> Diagnostic {
        let span = self.advance().span;
        self.unexpected("`{`")
            .and(span, format!("after this `{word}`"))
    }

    fn foreign_list(&self) -> Diagnostic {
        Diagnostic::new(
            self.token().span,
            "a `list(...)` stands in the text of the model",
            "data or initial values as WinBUGS keeps them",
        )
        .help("put the list in a file of its own")
    }

    /// After the model there must be nothing.
    fn nothing_more(&mut self, model: Span) -> Result<(), Diagnostic> {
        while self.take(TokenKind::Semicolon) {}
        let closing = self.last_span();
        let here = self.token().span;
        Err(match (self.word(), self.next_kind()) {
            (None, _) if self.kind() == TokenKind::End => return Ok(()),
            (Some("model"), TokenKind::OpenBrace) => second(here, model, "model"),
            (Some("data"), TokenKind::OpenBrace) => Diagnostic::new(
                here,
                "the `data` block stands after the `model` block",
                "must come first",
            )
            .and(model, "the `model` block"),
            (Some("list"), TokenKind::OpenParen) => self.foreign_list(),
            (Some("var"), TokenKind::Name) => Diagnostic::new(
                here,
                "a `var` declaration stands after the `model` block",
                "must come first",
            )
            .and(model, "the `model` block"),
            _ => self
                .unexpected("the end of the text")
                .and(closing, "the `model` block ends here")
                .help("there may be a `}` too many in the block"),
        })
    }
}

fn second(here: Span, first: Span, word: &str) -> Diagnostic {
    Diagnostic::new(here, format!("there are two `{word}` blocks"), "the second")
        .and(first, "the first")
        .help(format!("put all relations in one `{word}` block"))
}
