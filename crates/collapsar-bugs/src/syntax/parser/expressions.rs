//! Decides what binds tighter than what, and what an operand is.

use super::super::ast::{Expr, Index, Name, Node, Operator, Reference};
use super::TokenKind::{self, Symbol};
use super::{Checked, Diagnostic, HEIGHT, Parser, Token};

/// How tightly prefixes bind, on the scale of [`operator`].
const NOT: u8 = 3;
const SIGN: u8 = 9;

/// An operator and how tightly it binds.
fn operator(kind: TokenKind) -> Option<(Operator, u8)> {
    let Symbol(text) = kind else {
        return None;
    };
    Some(match text {
        "||" => (Operator::Or, 1),
        "&&" => (Operator::And, 2),
        "==" => (Operator::Equal, 4),
        "!=" => (Operator::Unequal, 4),
        "<" => (Operator::Less, 4),
        "<=" => (Operator::AtMost, 4),
        ">" => (Operator::Greater, 4),
        ">=" => (Operator::AtLeast, 4),
        "+" => (Operator::Plus, 5),
        "-" => (Operator::Minus, 5),
        "*" => (Operator::Times, 6),
        "/" => (Operator::Over, 6),
        "%*%" => (Operator::Product, 7),
        ":" => (Operator::Range, 8),
        "^" | "**" => (Operator::Power, 10),
        _ => return None,
    })
}

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Checked<Expr> {
        self.tight(0)
    }

    /// Whether an operator between two operands stands here.
    pub(super) fn at_operator(&self) -> bool {
        operator(self.kind()).is_some()
    }

    /// An expression whose operators bind at least as tightly as `least`.
    fn tight(&mut self, least: u8) -> Checked<Expr> {
        self.nested(|parser| {
            let mut left = parser.operand()?;
            while let Some((operator, strength)) =
                operator(parser.kind()).filter(|&(_, strength)| strength >= least)
            {
                let (sign, height) = (parser.advance(), parser.height);
                let right = match operator {
                    Operator::Power => parser.tight(strength)?,
                    _ => parser.tight(strength + 1)?,
                };
                parser.height = parser.height.max(height) + 1;
                if parser.height > HEIGHT {
                    let message =
                        format!("an expression has more than {HEIGHT} operators in a row");
                    let help = "give a part of it a name of its own, or use `sum` or `inprod`";
                    return Err(Diagnostic::new(sign.span, message, "one too many").help(help));
                }
                left = Expr {
                    span: parser.span_from(left.span),
                    node: Node::Binary {
                        operator,
                        left: Box::new(left),
                        right: Box::new(right),
                    },
                };
                // Comparisons and ranges may not follow one another without parentheses.
                if strength == 4 || strength == 8 {
                    parser.refuse_chain(sign, strength)?;
                }
            }
            Ok(left)
        })
    }

    fn refuse_chain(&self, first: Token, strength: u8) -> Checked {
        if operator(self.kind()).is_none_or(|(_, next)| next != strength) {
            return Ok(());
        }
        let (found, before) = (self.found(), self.text(first.span));
        let help = if before == ":" {
            "a range has two ends; put parentheses around one of the two"
        } else {
            "join two comparisons by `&&`, or put parentheses around one of them"
        };
        let message = format!("{found} cannot follow `{before}` without parentheses");
        let complaint = self.complaint(message, "the second");
        Err(complaint.and(first.span, "the first").help(help))
    }

    fn operand(&mut self) -> Checked<Expr> {
        let token = self.token();
        let node = match token.kind {
            TokenKind::Number(value) => {
                self.advance();
                self.height = 0;
                Node::Number(value)
            }
            Symbol("-") => Node::Negative(self.prefixed(SIGN)?),
            Symbol("!") => Node::Not(self.prefixed(NOT)?),
            Symbol("+") => {
                self.advance();
                self.tight(SIGN)?.node
            }
            Symbol("(") => {
                self.advance();
                let inner = self.tight(0)?;
                self.close(token, false)?;
                inner.node
            }
            TokenKind::Name if self.next_kind() == Symbol("(") => self.call()?,
            TokenKind::Name => {
                let name = self.name("an expression")?;
                Node::Reference(self.reference_of(name)?)
            }
            Symbol("[") if self.last_span().end == token.span.start => {
                return Err(self.unexpected("an index").help(
                    "indices stand in one pair of brackets, with commas between them: `x[i, j]`",
                ));
            }
            _ => {
                let complaint = self.unexpected("an expression");
                return Err(complaint.and(self.last_span(), "after this"));
            }
        };
        let span = self.span_from(token.span);
        let expr = Expr { node, span };
        self.refuse_suffix(&expr)?;
        Ok(expr)
    }

    /// What stands after a prefix.
    fn prefixed(&mut self, strength: u8) -> Checked<Box<Expr>> {
        self.advance();
        let inner = self.tight(strength)?;
        self.height += 1;
        Ok(Box::new(inner))
    }

    /// Brackets after something that takes none.
    fn refuse_suffix(&self, operand: &Expr) -> Checked {
        let indexed =
            matches!(&operand.node, Node::Reference(reference) if reference.indices.is_some());
        let text = self.text(operand.span);
        let (message, help) = match self.kind() {
            Symbol("[") if indexed => (
                format!("`{text}` already has its indices"),
                "all indices stand in one pair of brackets: `x[i, j]`".into(),
            ),
            Symbol("[") => (
                "only a variable has indices".into(),
                "give the value a name of its own and index that".into(),
            ),
            Symbol("(") if !self.token().starts_line => (
                "only the name of a function takes arguments".into(),
                format!("a product is written `{text} * (...)`"),
            ),
            _ => return Ok(()),
        };
        let complaint = self.complaint(message, "not expected here");
        Err(complaint.and(operand.span, "after this").help(help))
    }

    fn call(&mut self) -> Checked<Node> {
        if let Some(word) = self.word() {
            self.refuse_foreign(word)?;
        }
        if let Some(word @ ("T" | "I")) = self.word() {
            return Err(self.misplaced_truncation(word));
        }
        let function = self.name("an expression")?;
        let arguments = self.arguments()?;
        self.height += 1;
        Ok(Node::Call {
            function,
            arguments,
        })
    }

    /// `(a, b)`, none of them left out.
    pub(super) fn arguments(&mut self) -> Checked<Vec<Expr>> {
        let open = self.expect("(", "`(`")?;
        if self.take(")") {
            self.height = 0;
            return Ok(vec![]);
        }
        self.list(open, |parser| match parser.kind() {
            Symbol("," | ")") => Err(parser
                .unexpected("an argument")
                .and(open.span, "in these arguments")
                .help("arguments cannot be left out")),
            _ => parser.tight(0),
        })
    }

    /// The variable `name` with the indices that follow.
    pub(super) fn reference_of(&mut self, name: Name) -> Checked<Reference> {
        self.height = 0;
        let mut indices = None;
        if self.kind() == Symbol("[") {
            let open = self.advance();
            indices = Some(self.list(open, |parser| {
                if let Symbol("," | "]") = parser.kind() {
                    parser.height = 0;
                    return Ok(Index::All);
                }
                let index = parser.tight(0)?;
                parser.height += 1;
                Ok(Index::At(index))
            })?);
        }
        Ok(Reference {
            span: self.span_from(name.span),
            name,
            indices,
        })
    }
}
