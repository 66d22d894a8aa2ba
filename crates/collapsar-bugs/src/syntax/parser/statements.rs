//! Decides what a loop is and what a relation is.

use super::super::ast::{Expr, Kind, Link, Reference, Relation, Span, Statement, Truncation};
use super::TokenKind::{self, Symbol};
use super::complaints::ASSIGNS;
use super::{Checked, Diagnostic, Parser, Token};

/// Where statements stand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Block {
    Data,
    Model,
}

impl Parser<'_> {
    /// `{ statements }`
    pub(super) fn block(&mut self, block: Block) -> Checked<Vec<Statement>> {
        let open = self.expect("{", "`{`")?;
        let mut statements = Vec::new();
        while !matches!(self.kind(), Symbol("}") | TokenKind::End) {
            if !self.take(";") {
                statements.push(self.statement(block, open)?);
            }
        }
        self.close_block(open)?;
        Ok(statements)
    }

    fn statement(&mut self, block: Block, open: Token) -> Checked<Statement> {
        match self.word() {
            Some("for") => self.nested(|parser| parser.repeat(block)),
            Some(word) => {
                self.refuse_foreign(word)?;
                self.relation(block).map(Statement::Relation)
            }
            None => Err(self.no_statement(open)),
        }
    }

    /// What is wrong with a token that begins no statement.
    fn no_statement(&self, open: Token) -> Diagnostic {
        let complaint = self.unexpected("a relation, `for` or `}`");
        let found = self.found();
        let follows = !self.token().starts_line && self.last_span() != open.span;
        match self.kind() {
            Symbol(")" | "]") => {
                let label = "nothing is open that it could close";
                self.complaint(format!("this {found} closes nothing"), label)
            }
            Symbol("<-") if follows => complaint.help(ASSIGNS),
            Symbol("=") if follows => complaint.help("`==` compares"),
            TokenKind::Number(_) | Symbol("(") if follows => {
                complaint.help(format!("an operator may be missing before {found}"))
            }
            Symbol("{") => complaint.help("braces stand only after `for (...)`"),
            _ => complaint,
        }
    }

    /// Statements of other languages; a variable may have any of these names.
    pub(super) fn refuse_foreign(&self, word: &str) -> Checked {
        let help = match (word, self.next_kind()) {
            ("if", Symbol("(")) | ("else", TokenKind::Name | Symbol("{")) => {
                "a value that depends on a condition is `ifelse(condition, yes, no)`"
            }
            ("while", Symbol("(")) | ("repeat", Symbol("{")) => {
                "a model has no steps in time; relations are repeated by `for (i in 1:N) { }`"
            }
            ("function", Symbol("(")) => "functions cannot be defined in a model",
            _ => return Ok(()),
        };
        let message = format!("there is no `{word}` in this language");
        Err(self.complaint(message, "not expected here").help(help))
    }

    /// `for (index in range) { body }`
    fn repeat(&mut self, block: Block) -> Checked<Statement> {
        let form =
            |complaint: Diagnostic| complaint.help("a loop is written `for (i in 1:N) { ... }`");
        self.advance();
        let open = self.expect("(", "`(` after `for`").map_err(form)?;
        let index = self.name("the name of the loop's counter");
        let index = index.map_err(form)?;
        if self.word() != Some("in") {
            return Err(form(self.unexpected("`in` after the loop's counter")));
        }
        self.advance();
        let range = self.expression()?;
        self.close(open, false)?;
        if self.kind() != Symbol("{") {
            return Err(self
                .unexpected("`{` after `for (...)`")
                .help("the body of a loop stands in braces, even if it is one relation"));
        }
        let body = self.block(block)?;
        Ok(Statement::For { index, range, body })
    }

    fn relation(&mut self, block: Block) -> Checked<Relation> {
        let first = self.token();
        let follows = !first.starts_line && !matches!(self.text(self.last_span()), "{" | "}" | ";");
        let (link, target) = self.target()?;
        let kind = match self.kind() {
            Symbol("~") => self.stochastic(block, link)?,
            Symbol("<-" | "=") => {
                self.advance();
                let value = self.expression()?;
                if let Some(word @ ("T" | "I" | "C")) = self.word_before_paren() {
                    return Err(self.misplaced_truncation(word));
                }
                let link = link.map(|(link, _)| link);
                Kind::Deterministic { link, value }
            }
            _ => return Err(self.no_relation(&target, follows)),
        };
        let span = self.span_from(first.span);
        Ok(Relation { target, kind, span })
    }

    /// `x[i]` or `log(x[i])`, and where the function stands.
    fn target(&mut self) -> Checked<(Option<(Link, Span)>, Reference)> {
        let name = self.name("a relation")?;
        if self.kind() != Symbol("(") {
            return Ok((None, self.reference_of(name)?));
        }
        if matches!(name.text.as_str(), "T" | "I" | "C") {
            self.at -= 1;
            return Err(self.misplaced_truncation(&name.text));
        }
        let Some(link) = Link::named(&name.text) else {
            let message = format!(
                "`{}(...)` cannot stand on the left of a relation",
                name.text
            );
            let complaint = Diagnostic::new(name.span, message, "expected a variable");
            let help = "the functions that can are `log`, `logit`, `cloglog` and `probit`";
            return Err(complaint.help(help));
        };
        let open = self.advance();
        let inner = self.name("a variable")?;
        let target = self.reference_of(inner)?;
        if self.take(")") {
            return Ok((Some((link, name.span)), target));
        }
        Err(self
            .unexpected("`)`")
            .and(open.span, "this `(` is open")
            .help("on the left of a relation a function is of one variable, not of an expression"))
    }

    /// What is wrong with a target that no sign of a relation follows.
    fn no_relation(&self, target: &Reference, follows: bool) -> Diagnostic {
        let text = self.text(target.span);
        let complaint = self
            .unexpected("`~`, `<-` or `=`")
            .and(target.span, "after this");
        match self.kind() {
            Symbol("<") if self.next_kind() == Symbol("-") => {
                complaint.help("`<-` is written without a space")
            }
            Symbol("==") => complaint.help("`==` compares; `<-` defines a variable"),
            Symbol("[") => complaint.help("all indices stand in one pair of brackets: `x[i, j]`"),
            _ if follows => complaint.help(format!(
                "an operator or a `;` may be missing before `{text}`"
            )),
            _ => complaint,
        }
    }

    /// `~ distribution(arguments) T(lower, upper)`
    fn stochastic(&mut self, block: Block, link: Option<(Link, Span)>) -> Checked<Kind> {
        let refused = |message: &str| self.complaint(message, "expected `<-` or `=`");
        if let Some((_, link)) = link {
            return Err(
                refused("a function of a variable cannot be given a distribution")
                    .and(link, "this is a function")
                    .help("give the distribution to the variable itself"),
            );
        }
        if block == Block::Data {
            let help =
                "move the relation to the `model` block; the `data` block computes from data";
            return Err(refused("a distribution stands in the `data` block").help(help));
        }
        self.advance();
        let distribution = self.name("a distribution such as `dnorm(0, 1)`")?;
        if self.kind() != Symbol("(") {
            return Err(self
                .unexpected("`(`")
                .and(distribution.span, "after this distribution")
                .help("a distribution has parentheses even if it has no parameters"));
        }
        let arguments = self.arguments()?;
        let truncation = match self.word_before_paren() {
            Some("T" | "I") => Some(self.truncation()?),
            Some("C") => {
                let label = "censoring as OpenBUGS writes it";
                let complaint = self.complaint("`C(,)` is not read", label);
                return Err(complaint.help("a truncated distribution is `T(lower, upper)`"));
            }
            _ => None,
        };
        if self.at_operator() {
            let message = "a distribution cannot be part of an expression";
            return Err(self
                .complaint(message, "an operator after a distribution")
                .and(distribution.span, "the distribution")
                .help("give the distribution to a variable and use that in the expression"));
        }
        Ok(Kind::Stochastic {
            distribution,
            arguments,
            truncation,
        })
    }

    /// `T(lower, upper)`, either of them left out.
    fn truncation(&mut self) -> Checked<Truncation> {
        let word = self.advance();
        let open = self.advance();
        let lower = self.bound()?;
        if self.kind() == Symbol(")") {
            let text = self.text(word.span);
            return Err(self
                .unexpected("a comma and the upper bound")
                .and(word.span, "this truncation has two bounds")
                .help(format!(
                    "a bound may be left out, not the comma: `{text}(lower, )` or `{text}(, upper)`"
                )));
        }
        if !self.take(",") {
            self.close(open, true)?;
        }
        let upper = self.bound()?;
        self.close(open, false)?;
        Ok(Truncation {
            lower,
            upper,
            normalised: self.text(word.span) == "T",
            span: self.span_from(word.span),
        })
    }

    fn bound(&mut self) -> Checked<Option<Expr>> {
        match self.kind() {
            Symbol("," | ")") => Ok(None),
            _ => self.expression().map(Some),
        }
    }

    /// Bounds after something that is not a distribution.
    pub(super) fn misplaced_truncation(&self, word: &str) -> Diagnostic {
        let message = format!("`{word}(,)` does not follow a distribution");
        self.complaint(message, "only a distribution has bounds")
            .help("bounds stand after a distribution: `x ~ dnorm(0, 1) T(0, )`")
    }
}
