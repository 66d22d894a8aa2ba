//! Decides what is said when a closing bracket does not come.

use super::TokenKind::{self, Symbol};
use super::{Checked, Parser, Token};

/// What `<-` may have been meant for.
pub(super) const ASSIGNS: &str = "`<-` assigns; with a space, `x < -y` compares";

impl Parser<'_> {
    /// Takes the bracket that closes `open`; `list` says whether a comma would do as well.
    pub(super) fn close(&mut self, open: Token, list: bool) -> Checked {
        let (opening, closing) = match open.kind {
            Symbol("[") => ("[", "]"),
            _ => ("(", ")"),
        };
        if self.take(closing) {
            return Ok(());
        }
        let comma = if list { "`,` or " } else { "" };
        let complaint = self.unexpected(&format!("{comma}`{closing}`"));
        let mut complaint = complaint.and(open.span, format!("this `{opening}` is open"));
        complaint.help = self.closing_help(list, closing);
        Err(complaint)
    }

    /// The likely mistake where a closing bracket was due.
    fn closing_help(&self, list: bool, closing: &str) -> Option<String> {
        let token = self.token();
        let found = self.found();
        match token.kind {
            Symbol("<-") => Some(ASSIGNS.into()),
            Symbol("=") if list && closing == ")" => {
                Some("arguments have no names, they go by their order; `==` compares".into())
            }
            Symbol("=") => Some("`==` compares".into()),
            kind => {
                let missing = match kind {
                    // The rest of a relation was taken for a part of the brackets.
                    _ if token.starts_line => &format!("a `{closing}`"),
                    TokenKind::Name | TokenKind::Number(_) if list => "a comma",
                    TokenKind::Name | TokenKind::Number(_) | Symbol("(") => "an operator",
                    Symbol(")" | "]" | "}") => &format!("a `{closing}`"),
                    _ => return None,
                };
                Some(format!("{missing} may be missing before {found}"))
            }
        }
    }

    /// Takes the brace that closes the block `open`, which holds nothing more that could be read.
    pub(super) fn close_block(&mut self, open: Token) -> Checked {
        if self.kind() == Symbol("}") {
            let close = self.advance();
            if close.starts_line
                && self.suspects.is_none()
                && self.indentation(open) != self.indentation(close)
            {
                self.suspects = Some((open.span, close.span));
            }
            return Ok(());
        }
        let complaint = self.unexpected("`}`");
        let complaint = complaint.and(open.span, "this `{` is not closed");
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
