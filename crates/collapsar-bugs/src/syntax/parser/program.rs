//! Decides what may stand at the top level of a text, and in which order.

use super::super::ast::{Link, Program, Span, Variable};
use super::TokenKind::{self, Symbol};
use super::statements::Block;
use super::{Checked, Diagnostic, Parser};

const WRAP: &str = "put the relations between `model {` and `}`";

impl Parser<'_> {
    /// `var` declarations, a `data` block, a `model` block.
    pub(super) fn program(&mut self) -> Checked<Program> {
        let mut program = Program::default();
        let mut data: Option<Span> = None;
        while self.kind() != TokenKind::End {
            match (self.word(), self.next_kind()) {
                (Some("var"), TokenKind::Name) => self.variables(&mut program.vars)?,
                (Some("data"), Symbol("{")) => {
                    let word = self.advance().span;
                    if let Some(first) = data.replace(word) {
                        return Err(second(word, first, "data"));
                    }
                    program.data = self.block(Block::Data)?;
                }
                (Some("model"), Symbol("{")) => {
                    let word = self.advance().span;
                    program.model = self.block(Block::Model)?;
                    self.nothing_more(word)?;
                    return Ok(program);
                }
                _ => return Err(self.no_block()),
            }
        }
        let complaint = self.complaint("there is no `model { }` block", "the text ends here");
        Err(match data {
            Some(word) => complaint.and(word, "there is a `data` block"),
            None => complaint.help(WRAP),
        })
    }

    /// `var x[N, M], y;`
    fn variables(&mut self, variables: &mut Vec<Variable>) -> Checked {
        self.advance();
        loop {
            let name = self.name("the name of a variable")?;
            let mut dims = vec![];
            if self.kind() == Symbol("[") {
                let open = self.advance();
                dims = self.list(open, |parser| match parser.kind() {
                    Symbol("," | "]") => Err(parser
                        .unexpected("a length")
                        .and(name.span, "declared here")
                        .help("a declaration gives the length of every dimension: `x[N, 3]`")),
                    _ => parser.expression(),
                })?;
            }
            variables.push(Variable { name, dims });
            if !self.take(",") {
                break;
            }
        }
        while self.take(";") {}
        Ok(())
    }

    /// What is wrong with something that begins no block.
    fn no_block(&mut self) -> Diagnostic {
        let complaint = self.unexpected("`model {`, `data {` or `var`");
        let Some(word) = self.word() else {
            return match self.kind() {
                Symbol("{") => complaint.help("write `model` before the `{`"),
                Symbol("}") => complaint.help("this `}` closes nothing"),
                _ => complaint,
            };
        };
        let message = "a relation stands outside a `model { }` block";
        let relation = self.complaint(message, "expected `model {`").help(WRAP);
        match (word, self.next_kind()) {
            (_, Symbol("~" | "<-" | "=" | "[" | "<" | "==")) | ("for", _) => relation,
            (_, Symbol("(")) if Link::named(word).is_some() => relation,
            ("const", _) => {
                let label = "constants as old versions of BUGS declare them";
                self.complaint("`const` is not read", label)
                    .help("give constants in the data, or define them in a `data { }` block")
            }
            ("list", Symbol("(")) => self.foreign_list(),
            ("var", _) => complaint.help("`var` is followed by names: `var x[N], y;`"),
            ("model" | "data", _) => {
                let span = self.advance().span;
                self.unexpected("`{`")
                    .and(span, format!("after this `{word}`"))
            }
            _ => match word.to_ascii_lowercase().as_str() {
                lower @ ("model" | "data" | "var") => {
                    complaint.help(format!("write `{lower}` in small letters"))
                }
                _ => complaint,
            },
        }
    }

    fn foreign_list(&self) -> Diagnostic {
        let message = "a `list(...)` stands in the text of the model";
        self.complaint(message, "data or initial values as WinBUGS keeps them")
            .help("put it in a file of its own: of data, or of initial values")
    }

    /// After the model there must be nothing.
    fn nothing_more(&mut self, model: Span) -> Checked {
        while self.take(";") {}
        let closing = self.last_span();
        let late = |what: &str| {
            let message = format!("{what} stands after the `model` block");
            let complaint = self.complaint(message, "must come first");
            complaint.and(model, "the `model` block")
        };
        Err(match (self.word(), self.next_kind()) {
            (None, _) if self.kind() == TokenKind::End => return Ok(()),
            (Some("model"), Symbol("{")) => second(self.token().span, model, "model"),
            (Some("data"), Symbol("{")) => late("the `data` block"),
            (Some("list"), Symbol("(")) => self.foreign_list(),
            (Some("var"), TokenKind::Name) => late("a `var` declaration"),
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
