//! Decides what binds tighter than what, and what an operand is.

use super::super::ast::{Expr, Index, Name, Node, Operator, Reference, Span};
use super::{Diagnostic, HEIGHT, Parser, Token, TokenKind};

/// How tightly prefixes bind, on the scale of [`operator`].
const NOT: u8 = 3;
const SIGN: u8 = 9;

/// An expression and the height of its tree.
struct Tall {
    expr: Expr,
    height: usize,
}

/// An operator and how tightly it binds.
fn operator(kind: TokenKind) -> Option<(Operator, u8)> {
    Some(match kind {
        TokenKind::Or => (Operator::Or, 1),
        TokenKind::And => (Operator::And, 2),
        TokenKind::Equal => (Operator::Equal, 4),
        TokenKind::Unequal => (Operator::Unequal, 4),
        TokenKind::Less => (Operator::Less, 4),
        TokenKind::AtMost => (Operator::AtMost, 4),
        TokenKind::Greater => (Operator::Greater, 4),
        TokenKind::AtLeast => (Operator::AtLeast, 4),
        TokenKind::Plus => (Operator::Plus, 5),
        TokenKind::Minus => (Operator::Minus, 5),
        TokenKind::Star => (Operator::Times, 6),
        TokenKind::Slash => (Operator::Over, 6),
        TokenKind::Product => (Operator::Product, 7),
        TokenKind::Colon => (Operator::Range, 8),
        TokenKind::Power => (Operator::Power, 10),
        _ => return None,
    })
}

/// Whether operators of this strength may not follow one another without parentheses.
fn stands_alone(strength: u8) -> bool {
    strength == 4 || strength == 8
}

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Result<Expr, Diagnostic> {
        self.tight(0).map(|tall| tall.expr)
    }

    /// Whether an operator between two operands stands here.
    pub(super) fn at_operator(&self) -> bool {
        operator(self.kind()).is_some()
    }

    /// An expression whose operators bind at least as tightly as `least`.
    fn tight(&mut self, least: u8) -> Result<Tall, Diagnostic> {
        self.nested(|parser| {
            let mut left = parser.operand()?;
            while let Some((operator, strength)) =
                operator(parser.kind()).filter(|&(_, strength)| strength >= least)
            {
                let sign = parser.advance();
                let right = match operator {
                    Operator::Power => parser.tight(strength)?,
                    _ => parser.tight(strength + 1)?,
                };
                left = parser.binary(operator, sign, left, right)?;
                if stands_alone(strength) {
                    parser.refuse_chain(sign, strength)?;
                }
            }
            Ok(left)
        })
    }

    fn binary(
        &self,
        operator: Operator,
        sign: Token,
        left: Tall,
        right: Tall,
    ) -> Result<Tall, Diagnostic> {
        let height = left.height.max(right.height) + 1;
        if height > HEIGHT {
            return Err(Diagnostic::new(
                sign.span,
                format!("an expression has more than {HEIGHT} operators in a row"),
                "one too many",
            )
            .help("give a part of it a name of its own, or use `sum` or `inprod`"));
        }
        Ok(Tall {
            height,
            expr: Expr {
                span: self.span_from(left.expr.span),
                node: Node::Binary {
                    operator,
                    left: Box::new(left.expr),
                    right: Box::new(right.expr),
                },
            },
        })
    }

    fn refuse_chain(&self, first: Token, strength: u8) -> Result<(), Diagnostic> {
        if operator(self.kind()).is_none_or(|(_, next)| next != strength) {
            return Ok(());
        }
        let (found, before) = (self.found(), self.text(first.span));
        let help = if before == ":" {
            "a range has two ends; put parentheses around one of the two"
        } else {
            "join two comparisons by `&&`, or put parentheses around one of them"
        };
        Err(Diagnostic::new(
            self.token().span,
            format!("{found} cannot follow `{before}` without parentheses"),
            "the second",
        )
        .and(first.span, "the first")
        .help(help))
    }

    fn operand(&mut self) -> Result<Tall, Diagnostic> {
        let token = self.token();
        let (node, height) = match token.kind {
            TokenKind::Number(value) => {
                self.advance();
                (Node::Number(value), 0)
            }
            TokenKind::Minus => {
                self.advance();
                let inner = self.tight(SIGN)?;
                (Node::Negative(Box::new(inner.expr)), inner.height + 1)
            }
            TokenKind::Plus => {
                self.advance();
                let inner = self.tight(SIGN)?;
                (inner.expr.node, inner.height)
            }
            TokenKind::Not => {
                self.advance();
                let inner = self.tight(NOT)?;
                (Node::Not(Box::new(inner.expr)), inner.height + 1)
            }
            TokenKind::OpenParen => {
                self.advance();
                let inner = self.tight(0)?;
                self.close(token, false)?;
                (inner.expr.node, inner.height)
            }
            TokenKind::Name if self.next_kind() == TokenKind::OpenParen => self.call()?,
            TokenKind::Name => {
                let name = self.name("an expression")?;
                let (reference, height) = self.reference_of(name)?;
                (Node::Reference(reference), height)
            }
            TokenKind::OpenBracket if self.last_span().end == token.span.start => {
                return Err(self.unexpected("an index").help(
                    "indices stand in one pair of brackets, with commas between them: `x[i, j]`",
                ));
            }
            _ => {
                return Err(self
                    .unexpected("an expression")
                    .and(self.last_span(), "after this"));
            }
        };
        let expr = Expr {
            node,
            span: self.span_from(token.span),
        };
        self.refuse_suffix(&expr)?;
        Ok(Tall { expr, height })
    }

    /// Brackets after something that takes none.
    fn refuse_suffix(&self, operand: &Expr) -> Result<(), Diagnostic> {
        let indexed =
            matches!(&operand.node, Node::Reference(reference) if reference.indices.is_some());
        let text = self.text(operand.span);
        let (message, help) = match self.kind() {
            TokenKind::OpenBracket if indexed => (
                format!("`{text}` already has its indices"),
                "all indices stand in one pair of brackets: `x[i, j]`".into(),
            ),
            TokenKind::OpenBracket => (
                "only a variable has indices".into(),
                "give the value a name of its own and index that".into(),
            ),
            TokenKind::OpenParen if !self.token().starts_line => (
                "only the name of a function takes arguments".into(),
                format!("a product is written `{text} * (...)`"),
            ),
            _ => return Ok(()),
        };
        Err(
            Diagnostic::new(self.token().span, message, "not expected here")
                .and(operand.span, "after this")
                .help(help),
        )
    }

    fn call(&mut self) -> Result<(Node, usize), Diagnostic> {
        if let Some(word) = self.word() {
            self.refuse_foreign(word)?;
        }
        if let Some(word @ ("T" | "I")) = self.word() {
            return Err(self.misplaced_truncation(word));
        }
        let function = self.name("an expression")?;
        let (arguments, height) = self.arguments()?;
        let node = Node::Call {
            function,
            arguments,
        };
        Ok((node, height + 1))
    }

    /// `(a, b)`, none of them left out.
    pub(super) fn arguments(&mut self) -> Result<(Vec<Expr>, usize), Diagnostic> {
        let open = self.expect(TokenKind::OpenParen, "`(`")?;
        let mut arguments = Vec::new();
        let mut height = 0;
        if self.take(TokenKind::CloseParen) {
            return Ok((arguments, height));
        }
        loop {
            if matches!(self.kind(), TokenKind::Comma | TokenKind::CloseParen) {
                return Err(self
                    .unexpected("an argument")
                    .and(open.span, "in these arguments")
                    .help("arguments cannot be left out"));
            }
            let argument = self.tight(0)?;
            height = height.max(argument.height);
            arguments.push(argument.expr);
            if !self.take(TokenKind::Comma) {
                self.close(open, true)?;
                return Ok((arguments, height));
            }
        }
    }

    /// The variable `name` with the indices that follow.
    pub(super) fn reference_of(&mut self, name: Name) -> Result<(Reference, usize), Diagnostic> {
        let start = name.span;
        let mut height = 0;
        let mut indices = None;
        if self.kind() == TokenKind::OpenBracket {
            let open = self.advance();
            let list = indices.insert(Vec::new());
            loop {
                if matches!(self.kind(), TokenKind::Comma | TokenKind::CloseBracket) {
                    list.push(Index::All);
                } else {
                    let index = self.tight(0)?;
                    height = height.max(index.height + 1);
                    list.push(Index::At(index.expr));
                }
                if !self.take(TokenKind::Comma) {
                    self.close(open, true)?;
                    break;
                }
            }
        }
        let span: Span = self.span_from(start);
        let reference = Reference {
            name,
            indices,
            span,
        };
        Ok((reference, height))
    }
}
