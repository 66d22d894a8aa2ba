//! Decides whether tokens begin and end where they should.

use super::super::lexer::{TokenKind, lex};

/// Tokens by their texts.
fn texts(source: &str) -> Vec<&str> {
    let (tokens, error) = lex(source);
    assert_eq!(error, None);
    assert_eq!(tokens.last().map(|token| token.kind), Some(TokenKind::End));
    tokens[..tokens.len() - 1]
        .iter()
        .map(|token| &source[token.span.start as usize..token.span.end as usize])
        .collect()
}

fn number(source: &str) -> f64 {
    match lex(source) {
        (tokens, None) if tokens.len() == 2 => match tokens[0].kind {
            TokenKind::Number(value) => value,
            other => panic!("{source} is {other:?}"),
        },
        other => panic!("{source} gives {other:?}"),
    }
}

#[test]
fn numbers_have_their_values() {
    let cases = [
        ("1", 1.0),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1.", 1.0),
        ("1e-3", 0.001),
        ("1.0E+4", 10_000.0),
        ("1.E2", 100.0),
        ("5L", 5.0),
        ("007", 7.0),
    ];
    for (text, value) in cases {
        assert_eq!(number(text), value, "{text}");
    }
}

#[test]
fn bad_numbers_are_blamed_whole() {
    for text in [
        "1.2.3", "1e", "1e+", "2x", "1..5", "0x10", "5LL", "1e999", "1_000", "3.x",
    ] {
        let source = format!("x <- {text}");
        let error = lex(&source).1.unwrap_or_else(|| panic!("{text} was read"));
        let span = error.labels[0].0;
        let blamed = &source[span.start as usize..span.end as usize];
        assert_eq!(blamed, text.trim_end_matches('+'));
    }
}

#[test]
fn names_and_symbols_need_no_blanks() {
    assert_eq!(
        texts("x.bar<-a_1**2^tau.c%*%B[i,]#z\n!y"),
        [
            "x.bar", "<-", "a_1", "**", "2", "^", "tau.c", "%*%", "B", "[", "i", ",", "]", "!", "y"
        ]
    );
    assert_eq!(
        texts("a<=b<-c< -d!=e==f"),
        [
            "a", "<=", "b", "<-", "c", "<", "-", "d", "!=", "e", "==", "f"
        ]
    );
    assert_eq!(texts("1:N;T(,)"), ["1", ":", "N", ";", "T", "(", ",", ")"]);
}

#[test]
fn comments_and_blanks_say_nothing() {
    assert_eq!(
        texts("\u{feff}a /* b\n * c **/ d # e\r\n\u{a0}f\t/**/"),
        ["a", "d", "f"]
    );
    let (tokens, _) = lex("a b\n c /*\n*/ d");
    let starts: Vec<bool> = tokens.iter().map(|token| token.starts_line).collect();
    assert_eq!(starts, [true, false, true, true, true]);
}

#[test]
fn what_is_no_token_is_blamed() {
    let cases = [
        ("a /* b", "/*"),
        ("a %in% b", "%in%"),
        ("a %% b", "%%"),
        ("a % b", "%"),
        ("a & b", "&"),
        ("a μ2 b", "μ2"),
        ("a _x b", "_x"),
        ("a .x b", ".x"),
        ("a \"b\"", "\""),
        ("a ∼ b", "∼"),
        ("a \u{1F600}", "\u{1F600}"),
    ];
    for (source, blamed) in cases {
        let (tokens, error) = lex(source);
        let span = error.unwrap_or_else(|| panic!("{source} was read")).labels[0].0;
        assert_eq!(&source[span.start as usize..span.end as usize], blamed);
        // What stands before remains.
        assert_eq!(tokens.len(), 2, "{source}");
    }
}
