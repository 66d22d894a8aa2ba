//! Decides whether operators bind as in JAGS.

use super::super::parser::parse_expression;
use super::printer::bracketed;

fn read(source: &str) -> String {
    bracketed(&parse_expression(source).unwrap_or_else(|error| panic!("{source}: {error:?}")))
}

#[test]
fn operators_bind_as_in_jags() {
    let cases = [
        ("-2^2", "(-(2 ^ 2))"),
        ("2^-1", "(2 ^ (-1))"),
        ("2^-1^2", "(2 ^ (-(1 ^ 2)))"),
        ("2^3^4", "(2 ^ (3 ^ 4))"),
        ("2**3", "(2 ^ 3)"),
        ("-a:b", "((-a) : b)"),
        ("1:n-1", "((1 : n) - 1)"),
        ("1:2*n", "((1 : 2) * n)"),
        ("a*1:n", "(a * (1 : n))"),
        ("a^2:n", "((a ^ 2) : n)"),
        ("1:(n-1)", "(1 : (n - 1))"),
        ("a %*% b * c", "((a %*% b) * c)"),
        ("a * b %*% c", "(a * (b %*% c))"),
        ("a %*% b %*% c", "((a %*% b) %*% c)"),
        ("a %*% -b", "(a %*% (-b))"),
        ("-a %*% b", "((-a) %*% b)"),
        ("-a * b", "((-a) * b)"),
        ("a - b - c", "((a - b) - c)"),
        ("a / b * c / d", "(((a / b) * c) / d)"),
        ("a + b * c - d", "((a + (b * c)) - d)"),
        ("a - -b", "(a - (-b))"),
        ("--a", "(-(-a))"),
        ("+a - +b", "(a - b)"),
        ("-+a", "(-a)"),
        ("a + b < c * d", "((a + b) < (c * d))"),
        ("!a == b", "(!(a == b))"),
        ("!a && b", "((!a) && b)"),
        ("a && b || c && d", "((a && b) || (c && d))"),
        ("a || b || c", "((a || b) || c)"),
        ("a >= 1 && a <= 2", "((a >= 1) && (a <= 2))"),
        ("a != (b > c)", "(a != (b > c))"),
        ("f(a + 1, g())^2", "(f((a + 1), g()) ^ 2)"),
        ("x[i + 1, , 1:n]", "x[(i + 1), , (1 : n)]"),
        ("x[]", "x[]"),
        ("x[,1]", "x[, 1]"),
        ("Lambda[k,,]", "Lambda[k, , ]"),
        (
            "T[i] + I + t(x) + data * model - var",
            "((((T[i] + I) + t(x)) + (data * model)) - var)",
        ),
    ];
    for (source, expected) in cases {
        assert_eq!(read(source), expected, "{source}");
    }
}

#[test]
fn indices_left_out_are_counted() {
    let count = |source: &str| match parse_expression(source).map(|expr| expr.node) {
        Ok(super::super::ast::Node::Reference(reference)) => reference.indices.map(|all| all.len()),
        other => panic!("{other:?}"),
    };
    assert_eq!(count("x"), None);
    assert_eq!(count("x[]"), Some(1));
    assert_eq!(count("x[,]"), Some(2));
    assert_eq!(count("Lambda[k,,]"), Some(3));
}

#[test]
fn spans_hold_brackets() {
    let source = " ( a + x[ 1 ] ) * 2 ";
    let expr = parse_expression(source).unwrap();
    let super::super::ast::Node::Binary { left, right, .. } = &expr.node else {
        panic!("{expr:?}");
    };
    let text = |span: super::super::ast::Span| &source[span.start as usize..span.end as usize];
    assert_eq!(text(expr.span), "( a + x[ 1 ] ) * 2");
    assert_eq!(text(left.span), "( a + x[ 1 ] )");
    assert_eq!(text(right.span), "2");
}
