//! Decides where a token of the text begins and ends.

use super::ast::Span;
use crate::Diagnostic;

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
    Arrow,
    Assign,
    Tilde,
    Plus,
    Minus,
    Star,
    Slash,
    Power,
    Product,
    Colon,
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
    And,
    Or,
    Not,
    Comma,
    Semicolon,
    OpenParen,
    CloseParen,
    OpenBracket,
    CloseBracket,
    OpenBrace,
    CloseBrace,
    End,
}

/// Longer ones come before those that begin them.
const SYMBOLS: [(&str, TokenKind); 28] = [
    ("%*%", TokenKind::Product),
    ("<-", TokenKind::Arrow),
    ("<=", TokenKind::AtMost),
    (">=", TokenKind::AtLeast),
    ("==", TokenKind::Equal),
    ("!=", TokenKind::Unequal),
    ("&&", TokenKind::And),
    ("||", TokenKind::Or),
    ("**", TokenKind::Power),
    ("^", TokenKind::Power),
    ("<", TokenKind::Less),
    (">", TokenKind::Greater),
    ("=", TokenKind::Assign),
    ("!", TokenKind::Not),
    ("~", TokenKind::Tilde),
    ("+", TokenKind::Plus),
    ("-", TokenKind::Minus),
    ("*", TokenKind::Star),
    ("/", TokenKind::Slash),
    (":", TokenKind::Colon),
    (",", TokenKind::Comma),
    (";", TokenKind::Semicolon),
    ("(", TokenKind::OpenParen),
    (")", TokenKind::CloseParen),
    ("[", TokenKind::OpenBracket),
    ("]", TokenKind::CloseBracket),
    ("{", TokenKind::OpenBrace),
    ("}", TokenKind::CloseBrace),
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
    fn run(&mut self, tokens: &mut Vec<Token>) -> Result<(), Diagnostic> {
        if u32::try_from(self.source.len()).is_err() {
            return Err(Diagnostic::new(
                Span::default(),
                "the text of a model must be shorter than 4 GiB",
                "begins here",
            ));
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

    fn digit_at(&self, at: usize) -> bool {
        self.source
            .as_bytes()
            .get(at)
            .is_some_and(u8::is_ascii_digit)
    }

    /// The end of the characters from `at` that satisfy the condition.
    fn while_true(&self, at: usize, condition: impl Fn(char) -> bool) -> usize {
        self.source[at..]
            .find(|c| !condition(c))
            .map_or(self.source.len(), |length| at + length)
    }

    /// Moves past spaces and comments; says whether a line ended among them.
    fn skip_blanks(&mut self) -> Result<bool, Diagnostic> {
        let start = self.at;
        loop {
            self.at = self.while_true(self.at, char::is_whitespace);
            if self.rest().starts_with('#') {
                self.at = self.while_true(self.at, |c| c != '\n');
            } else if let Some(comment) = self.rest().strip_prefix("/*") {
                let Some(length) = comment.find("*/") else {
                    return Err(Diagnostic::new(
                        self.span(self.at, self.at + 2),
                        "a comment is not closed",
                        "begins here",
                    )
                    .help("end it with `*/`"));
                };
                self.at += length + 4;
            } else {
                return Ok(self.source[start..self.at].contains('\n'));
            }
        }
    }

    fn number(&mut self) -> Result<TokenKind, Diagnostic> {
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
            return Err(self.bad_number(start, digits, last));
        }
        let text = &self.source[start..digits];
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => {
                self.at = end;
                Ok(TokenKind::Number(value))
            }
            _ => Err(Diagnostic::new(
                self.span(start, end),
                format!("the number `{text}` is too large"),
                "larger than a floating-point number can be",
            )),
        }
    }

    /// What is wrong with a number that ends at `digits` but has letters or dots up to `last`.
    fn bad_number(&self, start: usize, digits: usize, last: usize) -> Diagnostic {
        let (number, tail) = (&self.source[start..digits], &self.source[digits..last]);
        let text = &self.source[start..last];
        let complaint = Diagnostic::new(
            self.span(start, last),
            format!("`{text}` is not a number"),
            "expected a number such as `2`, `0.5` or `1.0E-3`",
        );
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

    fn name(&mut self) -> Result<TokenKind, Diagnostic> {
        let end = self.while_true(self.at, is_name_part);
        let text = &self.source[self.at..end];
        if !text.is_ascii() {
            let complaint = Diagnostic::new(
                self.span(self.at, end),
                format!("the name `{text}` has characters outside ASCII"),
                "names are made of the letters a-z and A-Z, digits, dots and underscores",
            );
            let spelt: String = text.chars().map(spell).collect();
            return Err(if spelt.is_ascii() {
                complaint.help(format!("write `{spelt}`"))
            } else {
                complaint
            });
        }
        if !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Err(Diagnostic::new(
                self.span(self.at, end),
                format!("the name `{text}` does not begin with a letter"),
                "expected a name or a number",
            ));
        }
        self.at = end;
        Ok(TokenKind::Name)
    }

    fn symbol(&mut self, first: char) -> Result<TokenKind, Diagnostic> {
        let rest = self.rest();
        if let Some((text, kind)) = SYMBOLS.iter().find(|(text, _)| rest.starts_with(text)) {
            self.at += text.len();
            return Ok(*kind);
        }
        if let Some(tail) = rest.strip_prefix('%')
            && let Some(length) = tail.find(|c: char| c == '%' || c.is_whitespace())
            && tail[length..].starts_with('%')
        {
            let text = &rest[..length + 2];
            let complaint = Diagnostic::new(
                self.span(self.at, self.at + text.len()),
                format!("there is no operator `{text}`"),
                "the only operator of this form is `%*%`, the product of matrices",
            );
            return Err(match text {
                "%%" => complaint.help("the rest of `x / y` is `x - y * trunc(x / y)`"),
                _ => complaint,
            });
        }
        Err(self.bad_character(first))
    }

    fn bad_character(&self, first: char) -> Diagnostic {
        let complaint = Diagnostic::new(
            self.span(self.at, self.at + first.len_utf8()),
            format!(
                "the character `{}` has no meaning here",
                first.escape_debug()
            ),
            "not expected",
        );
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
