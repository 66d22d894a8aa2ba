//! Decides whether laws hold for any text and any tree.

use proptest::prelude::*;

use super::super::ast::{
    Expr, Index, Kind, Link, Name, Node, Operator, Program, Reference, Relation, Span, Statement,
    Truncation, Variable,
};
use super::super::parse;
use super::super::parser::parse_expression;
use super::printer::{bracketed, program, sparse};

const PIECES: [&str; 70] = [
    "model", "data", "var", "for", "in", "x", "y.1", "T", "I", "C", "log", "dnorm", "if", "else",
    "list", "const", "(", ")", "[", "]", "{", "}", ",", ";", ":", "~", "<-", "=", "==", "!=", "<",
    "<=", ">", ">=", "&&", "||", "!", "+", "-", "*", "/", "^", "**", "%*%", "%in%", "%", "&", "|",
    "1", "2.5", "1e-3", "1e", "1.2.3", "5L", ".5", "..", "_", "#", "/*", "*/", "\n", "\r\n", " ",
    "\t", "μ", "é", "\u{a0}", "🙂", "\"", "\u{feff}",
];

/// Openings after which random pieces get further than the first token.
const OPENINGS: [&str; 6] = [
    "",
    "model {",
    "model { x ~ dnorm(0, 1) ",
    "model { for (i in 1:N) { x[i] <- ",
    "data { x <- f(",
    "var x[3], y; model { y[",
];

fn texts() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(prop::sample::select(PIECES.as_slice()), 0..40);
    (
        prop::sample::select(OPENINGS.as_slice()),
        pieces,
        any::<bool>(),
    )
        .prop_map(|(opening, pieces, blanks)| {
            opening.to_string() + &pieces.join(if blanks { " " } else { "" })
        })
}

fn name(texts: &'static [&'static str]) -> impl Strategy<Value = Name> {
    prop::sample::select(texts).prop_map(|text| Name {
        text: text.into(),
        span: Span::default(),
    })
}

fn names() -> impl Strategy<Value = Name> {
    name(&["x", "tau.c", "a_1", "T", "I", "data", "model", "var", "e1"])
}

fn plain(node: Node) -> Expr {
    Expr {
        node,
        span: Span::default(),
    }
}

fn references(inner: impl Strategy<Value = Expr> + 'static) -> impl Strategy<Value = Reference> {
    let index = prop_oneof![Just(Index::All), inner.prop_map(Index::At)];
    let indices = prop::option::of(prop::collection::vec(index, 1..4));
    (names(), indices).prop_map(|(name, indices)| Reference {
        name,
        indices,
        span: Span::default(),
    })
}

fn expressions() -> impl Strategy<Value = Expr> {
    const OPERATORS: [Operator; 15] = [
        Operator::Power,
        Operator::Range,
        Operator::Product,
        Operator::Times,
        Operator::Over,
        Operator::Plus,
        Operator::Minus,
        Operator::Equal,
        Operator::Unequal,
        Operator::Less,
        Operator::AtMost,
        Operator::Greater,
        Operator::AtLeast,
        Operator::And,
        Operator::Or,
    ];
    let number = prop_oneof![
        (0_u32..100).prop_map(f64::from),
        (0.0..1e9_f64),
        Just(1e-300),
        Just(1e300)
    ];
    let leaf = prop_oneof![
        number.prop_map(|value| plain(Node::Number(value))),
        names().prop_map(|name| plain(Node::Reference(Reference {
            name,
            indices: None,
            span: Span::default()
        })))
    ];
    leaf.prop_recursive(6, 40, 3, |inner| {
        let arguments = prop::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            4 => (prop::sample::select(OPERATORS.as_slice()), inner.clone(), inner.clone())
                .prop_map(|(operator, left, right)| plain(Node::Binary {
                    operator,
                    left: Box::new(left),
                    right: Box::new(right)
                })),
            1 => inner.clone().prop_map(|expr| plain(Node::Negative(Box::new(expr)))),
            1 => inner.clone().prop_map(|expr| plain(Node::Not(Box::new(expr)))),
            1 => references(inner).prop_map(|reference| plain(Node::Reference(reference))),
            1 => (name(&["f", "inprod", "log", "t"]), arguments)
                .prop_map(|(function, arguments)| plain(Node::Call { function, arguments })),
        ]
    })
}

fn relations(stochastic: bool) -> impl Strategy<Value = Statement> {
    let link = prop::sample::select(Link::ALL.as_slice()).prop_map(|(_, link)| link);
    let link = prop::option::of(link);
    let deterministic =
        (link, expressions()).prop_map(|(link, value)| Kind::Deterministic { link, value });
    let truncation = (
        prop::option::of(expressions()),
        prop::option::of(expressions()),
        any::<bool>(),
    )
        .prop_map(|(lower, upper, normalised)| Truncation {
            lower,
            upper,
            normalised,
            span: Span::default(),
        });
    let random = (
        name(&["dnorm", "dcat", "dflat"]),
        prop::collection::vec(expressions(), 0..3),
        prop::option::of(truncation),
    )
        .prop_map(|(distribution, arguments, truncation)| Kind::Stochastic {
            distribution,
            arguments,
            truncation,
        });
    let kind = prop_oneof![
        1 => deterministic,
        u32::from(stochastic) => random,
    ];
    (references(expressions()), kind).prop_map(|(target, kind)| {
        Statement::Relation(Relation {
            target,
            kind,
            span: Span::default(),
        })
    })
}

fn blocks(stochastic: bool) -> impl Strategy<Value = Vec<Statement>> {
    let statement = relations(stochastic).prop_recursive(3, 8, 3, |inner| {
        (names(), expressions(), prop::collection::vec(inner, 0..3))
            .prop_map(|(index, range, body)| Statement::For { index, range, body })
    });
    prop::collection::vec(statement, 0..4)
}

fn programs() -> impl Strategy<Value = Program> {
    let variable = (names(), prop::collection::vec(expressions(), 0..3))
        .prop_map(|(name, dims)| Variable { name, dims });
    (
        prop::collection::vec(variable, 0..3),
        blocks(false),
        blocks(true),
    )
        .prop_map(|(vars, data, model)| Program { vars, data, model })
}

/// Every part of an expression, read alone from where it stands, is that part.
fn check_spans(expr: &Expr, source: &str) -> Result<(), TestCaseError> {
    let text = &source[expr.span.start as usize..expr.span.end as usize];
    let alone = parse_expression(text).map_err(|error| TestCaseError::fail(error.message))?;
    prop_assert_eq!(&alone, expr, "{}", text);
    let mut parts = expr.parts().into_iter();
    parts.try_for_each(|part| check_spans(part, source))
}

/// Every relation, read alone from where it stands, is that relation.
fn check_relations(statements: &[Statement], source: &str) -> Result<(), TestCaseError> {
    for statement in statements {
        match statement {
            Statement::For { body, .. } => check_relations(body, source)?,
            Statement::Relation(relation) => {
                let text = &source[relation.span.start as usize..relation.span.end as usize];
                prop_assert_eq!(text.trim(), text);
                let alone = parse(&format!("model {{{text}}}"))
                    .map_err(|error| TestCaseError::fail(error.message))?
                    .model;
                prop_assert_eq!(alone.as_slice(), std::slice::from_ref(statement));
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_blamed_inside(source in texts()) {
        if let Err(error) = parse(&source) {
            prop_assert!(!error.labels.is_empty());
            for (span, _) in &error.labels {
                prop_assert!(span.start <= span.end, "{error:?}");
                prop_assert!(source.get(span.start as usize..span.end as usize).is_some(), "{error:?}");
            }
            prop_assert!(!error.render("m.bug", &source).is_empty());
            prop_assert!(error.brief("m.bug", &source).contains("m.bug:"));
        }
    }

    #[test]
    fn any_bytes_are_read_or_blamed_inside(source in any::<String>()) {
        if let Err(error) = parse(&source) {
            for (span, _) in &error.labels {
                prop_assert!(source.get(span.start as usize..span.end as usize).is_some(), "{error:?}");
            }
            error.render("m.bug", &source);
        }
    }

    #[test]
    fn printed_expressions_are_read_back(expr in expressions(), all in any::<bool>()) {
        let source = if all { bracketed(&expr) } else { sparse(&expr) };
        let read = parse_expression(&source)
            .map_err(|error| TestCaseError::fail(error.render("", &source)))?;
        check_spans(&read, &source)?;
        prop_assert_eq!(read, expr, "{}", source);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn printed_programs_are_read_back(tree in programs()) {
        let source = program(&tree);
        let read = parse(&source)
            .map_err(|error| TestCaseError::fail(error.render("", &source)))?;
        check_relations(&read.model, &source)?;
        prop_assert_eq!(read, tree, "{}", source);
    }
}
