//! Decides what a loop is and what a relation is.

use super::super::ast::{Expr, Kind, Link, Reference, Relation, Span, Statement, Truncation};
use super::{Diagnostic, Parser, Token, TokenKind};

/// Where statements stand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Block {
    Data,
    Model,
}

impl Parser<'_> {
    /// `{ statements }`
    pub(super) fn block(&mut self, block: Block) -> Result<Vec<Statement>, Diagnostic> {
        let open = self.expect(TokenKind::OpenBrace, "`{`")?;
        let mut statements = Vec::new();
        while !matches!(self.kind(), TokenKind::CloseBrace | TokenKind::End) {
            if !self.take(TokenKind::Semicolon) {
                statements.push(self.statement(block, open)?);
            }
        }
        self.close_block(open)?;
        Ok(statements)
    }

    fn statement(&mut self, block: Block, open: Token) -> Result<Statement, Diagnostic> {
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
            TokenKind::CloseParen | TokenKind::CloseBracket => Diagnostic::new(
                self.token().span,
                format!("this {found} closes nothing"),
                "nothing is open that it could close",
            ),
            TokenKind::Arrow if follows => {
                complaint.help("`<-` assigns; with a space, `x < -y` compares")
            }
            TokenKind::Assign if follows => complaint.help("`==` compares"),
            TokenKind::Number(_) | TokenKind::OpenParen if follows => {
                complaint.help(format!("an operator may be missing before {found}"))
            }
            TokenKind::OpenBrace => complaint.help("braces stand only after `for (...)`"),
            _ => complaint,
        }
    }

    /// Statements of other languages; a variable may have any of these names.
    pub(super) fn refuse_foreign(&self, word: &str) -> Result<(), Diagnostic> {
        let help = match (word, self.next_kind()) {
            ("if", TokenKind::OpenParen) | ("else", TokenKind::Name | TokenKind::OpenBrace) => {
                "a value that depends on a condition is `ifelse(condition, yes, no)`"
            }
            ("while", TokenKind::OpenParen) | ("repeat", TokenKind::OpenBrace) => {
                "a model has no steps in time; relations are repeated by `for (i in 1:N) { }`"
            }
            ("function", TokenKind::OpenParen) => "functions cannot be defined in a model",
            _ => return Ok(()),
        };
        Err(Diagnostic::new(
            self.token().span,
            format!("there is no `{word}` in this language"),
            "not expected here",
        )
        .help(help))
    }

    /// `for (index in range) { body }`
    fn repeat(&mut self, block: Block) -> Result<Statement, Diagnostic> {
        const FORM: &str = "a loop is written `for (i in 1:N) { ... }`";
        self.advance();
        let open = self
            .expect(TokenKind::OpenParen, "`(` after `for`")
            .map_err(|complaint| complaint.help(FORM))?;
        let index = self
            .name("the name of the loop's counter")
            .map_err(|complaint| complaint.help(FORM))?;
        if self.word() != Some("in") {
            return Err(self.unexpected("`in` after the loop's counter").help(FORM));
        }
        self.advance();
        let range = self.expression()?;
        self.close(open, false)?;
        if self.kind() != TokenKind::OpenBrace {
            return Err(self
                .unexpected("`{` after `for (...)`")
                .help("the body of a loop stands in braces, even if it is one relation"));
        }
        let body = self.block(block)?;
        Ok(Statement::For { index, range, body })
    }

    fn relation(&mut self, block: Block) -> Result<Relation, Diagnostic> {
        let first = self.token();
        let follows = !first.starts_line
            && !matches!(
                self.tokens[self.at.saturating_sub(1)].kind,
                TokenKind::OpenBrace | TokenKind::CloseBrace | TokenKind::Semicolon
            );
        let (link, target) = self.target()?;
        let kind = match self.kind() {
            TokenKind::Tilde => self.stochastic(block, link)?,
            TokenKind::Arrow | TokenKind::Assign => {
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
    fn target(&mut self) -> Result<(Option<(Link, Span)>, Reference), Diagnostic> {
        let name = self.name("a relation")?;
        if self.kind() != TokenKind::OpenParen {
            return Ok((None, self.reference_of(name)?.0));
        }
        if matches!(name.text.as_str(), "T" | "I" | "C") {
            self.at -= 1;
            return Err(self.misplaced_truncation(&name.text));
        }
        let Some(link) = Link::named(&name.text) else {
            return Err(Diagnostic::new(
                name.span,
                format!(
                    "`{}(...)` cannot stand on the left of a relation",
                    name.text
                ),
                "expected a variable",
            )
            .help("the functions that can are `log`, `logit`, `cloglog` and `probit`"));
        };
        let open = self.advance();
        let inner = self.name("a variable")?;
        let (target, _) = self.reference_of(inner)?;
        if self.kind() == TokenKind::CloseParen {
            self.advance();
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
            TokenKind::Less if self.next_kind() == TokenKind::Minus => {
                complaint.help("`<-` is written without a space")
            }
            TokenKind::Equal => complaint.help("`==` compares; `<-` defines a variable"),
            TokenKind::OpenBracket => {
                complaint.help("all indices stand in one pair of brackets: `x[i, j]`")
            }
            _ if follows => complaint.help(format!(
                "an operator or a `;` may be missing before `{text}`"
            )),
            _ => complaint,
        }
    }

    /// `~ distribution(arguments) T(lower, upper)`
    fn stochastic(&mut self, block: Block, link: Option<(Link, Span)>) -> Result<Kind, Diagnostic> {
        let tilde = self.token();
        if let Some((_, link)) = link {
            return Err(Diagnostic::new(
                tilde.span,
                "a function of a variable cannot be given a distribution",
                "expected `<-` or `=`",
            )
            .and(link, "this is a function")
            .help("give the distribution to the variable itself"));
        }
        if block == Block::Data {
            return Err(Diagnostic::new(
                tilde.span,
                "a distribution stands in the `data` block",
                "expected `<-` or `=`",
            )
            .help("move the relation to the `model` block; the `data` block computes from data"));
        }
        self.advance();
        let distribution = self.name("a distribution such as `dnorm(0, 1)`")?;
        if self.kind() != TokenKind::OpenParen {
            return Err(self
                .unexpected("`(`")
                .and(distribution.span, "after this distribution")
                .help("a distribution has parentheses even if it has no parameters"));
        }
        let (arguments, _) = self.arguments()?;
        let truncation = match self.word_before_paren() {
            Some("T" | "I") => Some(self.truncation()?),
            Some("C") => {
                return Err(Diagnostic::new(
                    self.token().span,
                    "`C(,)` is not read",
                    "censoring as OpenBUGS writes it",
                )
                .help("a truncated distribution is `T(lower, upper)`"));
            }
            _ => None,
        };
        if self.at_operator() {
            return Err(Diagnostic::new(
                self.token().span,
                "a distribution cannot be part of an expression",
                "an operator after a distribution",
            )
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
    fn truncation(&mut self) -> Result<Truncation, Diagnostic> {
        let word = self.advance();
        let open = self.advance();
        let lower = self.bound()?;
        if self.kind() == TokenKind::CloseParen {
            let text = self.text(word.span);
            return Err(self
                .unexpected("a comma and the upper bound")
                .and(word.span, "this truncation has two bounds")
                .help(format!(
                    "a bound may be left out, not the comma: `{text}(lower, )` or `{text}(, upper)`"
                )));
        }
        if !self.take(TokenKind::Comma) {
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

    fn bound(&mut self) -> Result<Option<Expr>, Diagnostic> {
        if matches!(self.kind(), TokenKind::Comma | TokenKind::CloseParen) {
            Ok(None)
        } else {
            self.expression().map(Some)
        }
    }

    /// Bounds after something that is not a distribution.
    pub(super) fn misplaced_truncation(&self, word: &str) -> Diagnostic {
        Diagnostic::new(
            self.token().span,
            format!("`{word}(,)` does not follow a distribution"),
            "only a distribution has bounds",
        )
        .help("bounds stand after a distribution: `x ~ dnorm(0, 1) T(0, )`")
    }
}
