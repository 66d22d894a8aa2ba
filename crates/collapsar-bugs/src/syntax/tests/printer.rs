//! Decides how trees are printed in tests.

use super::super::ast::{
    Expr, Index, Kind, Link, Node, Operator, Program, Reference, Relation, Statement, Variable,
};

/// How an operator is written, and its line in the table of precedence, tightest last.
pub(super) fn sign(operator: Operator) -> (&'static str, u32) {
    match operator {
        Operator::Or => ("||", 10),
        Operator::And => ("&&", 20),
        // 30 is `!`.
        Operator::Equal => ("==", 40),
        Operator::Unequal => ("!=", 40),
        Operator::Less => ("<", 40),
        Operator::AtMost => ("<=", 40),
        Operator::Greater => (">", 40),
        Operator::AtLeast => (">=", 40),
        Operator::Plus => ("+", 50),
        Operator::Minus => ("-", 50),
        Operator::Times => ("*", 60),
        Operator::Over => ("/", 60),
        Operator::Product => ("%*%", 70),
        Operator::Range => (":", 80),
        // 90 is unary `-`.
        Operator::Power => ("^", 100),
    }
}

/// An expression with parentheses around every operator.
pub(super) fn bracketed(expr: &Expr) -> String {
    match &expr.node {
        Node::Number(value) => value.to_string(),
        Node::Reference(reference) => variable(reference, &bracketed),
        Node::Call {
            function,
            arguments,
        } => format!("{}({})", function.text, list(arguments, &bracketed)),
        Node::Negative(inner) => format!("(-{})", bracketed(inner)),
        Node::Not(inner) => format!("(!{})", bracketed(inner)),
        Node::Binary {
            operator,
            left,
            right,
        } => format!(
            "({} {} {})",
            bracketed(left),
            sign(*operator).0,
            bracketed(right)
        ),
    }
}

/// An expression with as few parentheses as the table of precedence allows.
pub(super) fn sparse(expr: &Expr) -> String {
    let within = |inner: &Expr, least: u32| {
        let text = sparse(inner);
        let strength = match &inner.node {
            Node::Binary { operator, .. } => sign(*operator).1,
            Node::Negative(_) => 90,
            Node::Not(_) => 30,
            _ => u32::MAX,
        };
        if strength < least {
            format!("({text})")
        } else {
            text
        }
    };
    match &expr.node {
        Node::Number(value) => value.to_string(),
        Node::Reference(reference) => variable(reference, &sparse),
        Node::Call {
            function,
            arguments,
        } => format!("{}({})", function.text, list(arguments, &sparse)),
        Node::Negative(inner) => format!("-{}", within(inner, 90)),
        Node::Not(inner) => format!("!{}", within(inner, 30)),
        Node::Binary {
            operator,
            left,
            right,
        } => {
            let (text, strength) = sign(*operator);
            // The side on which an operator of the same strength needs parentheses asks for more.
            let (on_left, on_right) = match strength {
                100 => (1, 0),
                40 | 80 => (1, 1),
                _ => (0, 1),
            };
            format!(
                "{} {text} {}",
                within(left, strength + on_left),
                within(right, strength + on_right)
            )
        }
    }
}

fn list(items: &[Expr], print: &dyn Fn(&Expr) -> String) -> String {
    let texts: Vec<String> = items.iter().map(print).collect();
    texts.join(", ")
}

fn variable(reference: &Reference, print: &dyn Fn(&Expr) -> String) -> String {
    let Some(indices) = &reference.indices else {
        return reference.name.text.clone();
    };
    let texts: Vec<String> = indices
        .iter()
        .map(|index| match index {
            Index::All => String::new(),
            Index::At(expr) => print(expr),
        })
        .collect();
    format!("{}[{}]", reference.name.text, texts.join(", "))
}

pub(super) fn relation(relation: &Relation) -> String {
    let target = variable(&relation.target, &sparse);
    match &relation.kind {
        Kind::Stochastic {
            distribution,
            arguments,
            truncation,
        } => {
            let bound = |bound: &Option<Expr>| bound.as_ref().map_or(String::new(), sparse);
            let bounds = truncation.as_ref().map_or(String::new(), |truncation| {
                format!(
                    " {}({}, {})",
                    if truncation.normalised { "T" } else { "I" },
                    bound(&truncation.lower),
                    bound(&truncation.upper)
                )
            });
            let arguments = list(arguments, &sparse);
            format!("{target} ~ {}({arguments}){bounds}", distribution.text)
        }
        Kind::Deterministic { link: None, value } => format!("{target} <- {}", sparse(value)),
        Kind::Deterministic {
            link: Some(link),
            value,
        } => {
            let name = Link::ALL.iter().find(|(_, known)| known == link);
            let (name, _) = name.expect("a link");
            format!("{name}({target}) = {}", sparse(value))
        }
    }
}

fn block(statements: &[Statement]) -> String {
    let texts: Vec<String> = statements
        .iter()
        .map(|statement| match statement {
            Statement::For { index, range, body } => {
                format!("for ({} in {}) {}", index.text, sparse(range), block(body))
            }
            Statement::Relation(inner) => relation(inner),
        })
        .collect();
    format!("{{ {} }}", texts.join("\n"))
}

pub(super) fn program(program: &Program) -> String {
    let declare = |Variable { name, dims }: &Variable| {
        let dims = match dims.as_slice() {
            [] => String::new(),
            dims => format!("[{}]", list(dims, &sparse)),
        };
        format!("var {}{dims};\n", name.text)
    };
    let vars: String = program.vars.iter().map(declare).collect();
    format!(
        "{vars}data {}\nmodel {}\n",
        block(&program.data),
        block(&program.model)
    )
}
