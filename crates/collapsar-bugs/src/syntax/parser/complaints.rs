//! Decides what is said when a closing bracket does not come.

use super::{Diagnostic, Parser, Token, TokenKind};

impl Parser<'_> {
    /// Takes the bracket that closes `open`; `list` says whether a comma would do as well.
    pub(super) fn close(&mut self, open: Token, list: bool) -> Result<(), Diagnostic> {
        let (close, opening, closing) = brackets(open.kind);
        if self.take(close) {
            return Ok(());
        }
        let expected = if list {
            format!("`,` or `{closing}`")
        } else {
            format!("`{closing}`")
        };
        let complaint = self
            .unexpected(&expected)
            .and(open.span, format!("this `{opening}` is open"));
        Err(match self.closing_help(list, closing) {
            Some(help) => complaint.help(help),
            None => complaint,
        })
    }

    /// The likely mistake where a closing bracket was due.
    fn closing_help(&self, list: bool, closing: &str) -> Option<String> {
        let token = self.token();
        let found = self.found();
        match token.kind {
            TokenKind::Arrow => Some("`<-` assigns; with a space, `x < -y` compares".into()),
            TokenKind::Assign if list && closing == ")" => {
                Some("arguments have no names, they go by their order; `==` compares".into())
            }
            TokenKind::Assign => Some("`==` compares".into()),
            // The rest of a relation was taken for a part of the brackets.
            _ if token.starts_line => Some(format!("a `{closing}` may be missing before {found}")),
            TokenKind::Name | TokenKind::Number(_) if list => {
                Some(format!("a comma may be missing before {found}"))
            }
            TokenKind::Name | TokenKind::Number(_) | TokenKind::OpenParen => {
                Some(format!("an operator may be missing before {found}"))
            }
            TokenKind::CloseParen | TokenKind::CloseBracket | TokenKind::CloseBrace => {
                Some(format!("a `{closing}` may be missing before {found}"))
            }
            _ => None,
        }
    }

    /// Takes the brace that closes the block `open`, which holds nothing more that could be read.
    pub(super) fn close_block(&mut self, open: Token) -> Result<(), Diagnostic> {
        if self.kind() == TokenKind::CloseBrace {
            let close = self.advance();
            if close.starts_line
                && self.suspects.is_none()
                && self.indentation(open) != self.indentation(close)
            {
                self.suspects = Some((open.span, close.span));
            }
            return Ok(());
        }
        let complaint = Diagnostic::new(
            self.token().span,
            "expected `}`, found the end of the text",
            "expected `}`",
        )
        .and(open.span, "this `{` is not closed");
        Err(match self.suspects {
            Some((open, close)) => complaint.and(open, "perhaps because this `{` ...").and(
                close,
                "... is closed by this `}`, which is indented differently",
            ),
            None => complaint,
        })
    }

    /// The blanks that begin the line of a token.
    fn indentation(&self, token: Token) -> &str {
        let before = &self.source[..token.span.start as usize];
        let line = &self.source[before.rfind('\n').map_or(0, |at| at + 1)..];
        let length = line.len() - line.trim_start_matches([' ', '\t']).len();
        &line[..length]
    }
}

/// What closes, and the texts of the two.
fn brackets(open: TokenKind) -> (TokenKind, &'static str, &'static str) {
    match open {
        TokenKind::OpenBracket => (TokenKind::CloseBracket, "[", "]"),
        _ => (TokenKind::CloseParen, "(", ")"),
    }
}
