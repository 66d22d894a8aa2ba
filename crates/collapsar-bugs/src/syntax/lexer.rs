//! Decides where a token of the text begins and ends.

use super::ast::Span;
use crate::diagnostic::{Checked, Diagnostic};

/// A token where it stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) span: Span,
    /// Whether it is the first of its line.
    pub(super) starts_line: bool,
}

/// What a token is; the text of a name is in the source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum TokenKind {
    Number(f64),
    Name,
    /// One of [`SYMBOLS`].
    Symbol(&'static str),
    End,
}

/// Longer ones come before those that begin them.
const SYMBOLS: [&str; 28] = [
    "%*%", "<-", "<=", ">=", "==", "!=", "&&", "||", "**", "^", "<", ">", "=", "!", "~", "+", "-",
    "*", "/", ":", ",", ";", "(", ")", "[", "]", "{", "}",
];

/// The tokens of a text up to its end, or to the first place that is no token, with what is wrong there.
///
/// The last token is always [`TokenKind::End`]. An error does not hide the tokens before it, so that the parser
/// can complain of an earlier mistake first.
pub(super) fn lex(source: &str) -> (Vec<Token>, Option<Diagnostic>) {
    let mut lexer = Lexer { source, at: 0 };
    let mut tokens = Vec::new();
    let error = lexer.run(&mut tokens).err();
    // The end is blamed just after what was last read, not after blank lines that follow.
    let end = match &error {
        Some(_) => lexer.at,
        None => tokens.last().map_or(0, |token| token.span.end as usize),
    };
    tokens.push(Token {
        kind: TokenKind::End,
        span: lexer.span(end, end),
        starts_line: true,
    });
    (tokens, error)
}

struct Lexer<'a> {
    source: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn run(&mut self, tokens: &mut Vec<Token>) -> Checked {
        if u32::try_from(self.source.len()).is_err() {
            let message = "the text of a model must be shorter than 4 GiB";
            return Err(Diagnostic::new(Span::default(), message, "begins here"));
        }
        // Some editors write a byte order mark first; it says nothing.
        if self.source.starts_with('\u{feff}') {
            self.at = '\u{feff}'.len_utf8();
        }
        let mut starts_line = true;
        loop {
            starts_line |= self.skip_blanks()?;
            let start = self.at;
            let Some(first) = self.rest().chars().next() else {
                return Ok(());
            };
            let kind = if first.is_ascii_digit() || (first == '.' && self.digit_at(start + 1)) {
                self.number()?
            } else if first.is_alphabetic() || first == '_' || first == '.' {
                self.name()?
            } else {
                self.symbol(first)?
            };
            tokens.push(Token {
                kind,
                span: self.span(start, self.at),
                starts_line,
            });
            starts_line = false;
        }
    }

    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn span(&self, start: usize, end: usize) -> Span {
        debug_assert!(start <= end && end <= self.source.len());
        Span {
            start: start as u32,
            end: end as u32,
        }
    }

    /// A complaint about what stands from here to `end`.
    fn complaint(&self, end: usize, message: impl Into<String>, label: &str) -> Diagnostic {
        Diagnostic::new(self.span(self.at, end), message, label)
    }

    fn digit_at(&self, at: usize) -> bool {
        self.source[at..].starts_with(|c: char| c.is_ascii_digit())
    }

    /// The end of the characters from `at` that satisfy the condition.
    fn while_true(&self, at: usize, condition: impl Fn(char) -> bool) -> usize {
        self.source[at..]
            .find(|c| !condition(c))
            .map_or(self.source.len(), |length| at + length)
    }

    /// Moves past spaces and comments; says whether a line ended among them.
    fn skip_blanks(&mut self) -> Checked<bool> {
        let start = self.at;
        loop {
            self.at = self.while_true(self.at, char::is_whitespace);
            if self.rest().starts_with('#') {
                self.at = self.while_true(self.at, |c| c != '\n');
            } else if let Some(comment) = self.rest().strip_prefix("/*") {
                let Some(length) = comment.find("*/") else {
                    return Err(self
                        .complaint(self.at + 2, "a comment is not closed", "begins here")
                        .help("end it with `*/`"));
                };
                self.at += length + 4;
            } else {
                return Ok(self.source[start..self.at].contains('\n'));
            }
        }
    }

    fn number(&mut self) -> Checked<TokenKind> {
        let start = self.at;
        let mut end = self.while_true(start, |c| c.is_ascii_digit());
        if self.source[end..].starts_with('.') {
            end = self.while_true(end + 1, |c| c.is_ascii_digit());
        }
        if self.source[end..].starts_with(['e', 'E']) {
            let sign = usize::from(self.source[end + 1..].starts_with(['+', '-']));
            if self.digit_at(end + 1 + sign) {
                end = self.while_true(end + 1 + sign, |c| c.is_ascii_digit());
            }
        }
        let digits = end;
        // R marks whole numbers so.
        if self.source[end..].starts_with('L') {
            end += 1;
        }
        let last = self.while_true(end, is_name_part);
        if last > end {
            return Err(self.bad_number(digits, last));
        }
        let text = &self.source[start..digits];
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => {
                self.at = end;
                Ok(TokenKind::Number(value))
            }
            _ => {
                let message = format!("the number `{text}` is too large");
                Err(self.complaint(end, message, "larger than a floating-point number can be"))
            }
        }
    }

    /// What is wrong with a number that ends at `digits` but has letters or dots up to `last`.
    fn bad_number(&self, digits: usize, last: usize) -> Diagnostic {
        let (number, tail) = (&self.source[self.at..digits], &self.source[digits..last]);
        let message = format!("`{number}{tail}` is not a number");
        let label = "expected a number such as `2`, `0.5` or `1.0E-3`";
        let complaint = self.complaint(last, message, label);
        if number.ends_with('.') && tail.starts_with('.') {
            let low = number.trim_end_matches('.');
            let high = tail.trim_start_matches('.');
            complaint.help(format!("a range is written `{low}:{high}`"))
        } else if matches!(tail, "e" | "E") {
            complaint.help("digits must follow the `e` of an exponent")
        } else if tail.starts_with(char::is_alphabetic) && !tail.contains('.') {
            complaint.help(format!(
                "a name begins with a letter; a product is written `{number} * {tail}`"
            ))
        } else {
            complaint
        }
    }

    fn name(&mut self) -> Checked<TokenKind> {
        let end = self.while_true(self.at, is_name_part);
        let text = &self.source[self.at..end];
        if !text.is_ascii() {
            let message = format!("the name `{text}` has characters outside ASCII");
            let label = "names are made of the letters a-z and A-Z, digits, dots and underscores";
            let mut complaint = self.complaint(end, message, label);
            let spelt: String = text.chars().map(spell).collect();
            complaint.help = spelt.is_ascii().then(|| format!("write `{spelt}`"));
            return Err(complaint);
        }
        if !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let message = format!("the name `{text}` does not begin with a letter");
            return Err(self.complaint(end, message, "expected a name or a number"));
        }
        self.at = end;
        Ok(TokenKind::Name)
    }

    fn symbol(&mut self, first: char) -> Checked<TokenKind> {
        let rest = self.rest();
        if let Some(text) = SYMBOLS.into_iter().find(|text| rest.starts_with(text)) {
            self.at += text.len();
            return Ok(TokenKind::Symbol(text));
        }
        if let Some(tail) = rest.strip_prefix('%')
            && let Some(length) = tail.find(|c: char| c == '%' || c.is_whitespace())
            && tail[length..].starts_with('%')
        {
            let text = &rest[..length + 2];
            let message = format!("there is no operator `{text}`");
            let label = "the only operator of this form is `%*%`, the product of matrices";
            let complaint = self.complaint(self.at + text.len(), message, label);
            return Err(match text {
                "%%" => complaint.help("the rest of `x / y` is `x - y * trunc(x / y)`"),
                _ => complaint,
            });
        }
        Err(self.bad_character(first))
    }

    fn bad_character(&self, first: char) -> Diagnostic {
        let escaped = first.escape_debug();
        let message = format!("the character `{escaped}` has no meaning here");
        let complaint = self.complaint(self.at + first.len_utf8(), message, "not expected");
        let meant = match first {
            '&' => "&&",
            '|' => "||",
            '−' | '–' | '—' => "-",
            '×' | '·' | '∗' => "*",
            '÷' | '∕' => "/",
            '≤' => "<=",
            '≥' => ">=",
            '≠' => "!=",
            '←' => "<-",
            '∼' | '˜' | '～' => "~",
            '"' | '\'' | '“' | '”' | '‘' | '’' => {
                return complaint.help("there are no strings in this language");
            }
            '$' | '@' => {
                return complaint
                    .help("there are no lists in this language; parts of a variable are `x[i]`");
            }
            '\\' => return complaint.help("a relation may go on in the next line without a mark"),
            _ => return complaint,
        };
        complaint.help(format!("write `{meant}`"))
    }
}

fn is_name_part(c: char) -> bool {
    c.is_alphanumeric() || c == '.' || c == '_'
}

/// A Greek letter by its name, which is what is written for it in this language.
fn spell(letter: char) -> String {
    const NAMES: [&str; 25] = [
        "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa",
        "lambda", "mu", "nu", "xi", "omicron", "pi", "rho", "sigma", "sigma", "tau", "upsilon",
        "phi", "chi", "psi", "omega",
    ];
    let (first, capital) = match letter {
        'α'..='ω' => ('α', false),
        'Α'..='Ω' => ('Α', true),
        // The micro sign, which keyboards give for mu.
        'µ' => return "mu".into(),
        _ => return letter.to_string(),
    };
    let name = NAMES[(letter as usize) - (first as usize)];
    if capital {
        name[..1].to_ascii_uppercase() + &name[1..]
    } else {
        name.into()
    }
}
