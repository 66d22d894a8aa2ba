//! The tree that a text is read into.

/// Bytes of the source, from the first to one past the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// One past the last.
    pub end: u32,
}

/// A whole file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Program {
    /// Declarations of `var`.
    pub vars: Vec<Variable>,
    /// The relations of `data { }`, all of them deterministic.
    pub data: Vec<Statement>,
    /// The relations of `model { }`.
    pub model: Vec<Statement>,
}

/// A name where it stands.
#[derive(Debug, Clone)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

/// A declaration of `var`: a name with its lengths, none for a scalar.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// The name.
    pub name: Name,
    /// The lengths.
    pub dims: Vec<Expr>,
}

/// A loop or a relation.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    /// `for (index in range) { body }`
    For {
        /// The counter.
        index: Name,
        /// What it runs over: a range, or a vector.
        range: Expr,
        /// What is repeated.
        body: Vec<Statement>,
    },
    /// A line that defines something.
    Relation(Relation),
}

/// Loops around a statement, the outermost first: counters, and what they run over.
pub(crate) type Loops<'a> = Vec<(&'a Name, &'a Expr)>;

impl Statement {
    /// All statements in the order of the text, those in loops after their loop.
    pub(crate) fn all(statements: &[Self]) -> Vec<(Loops<'_>, &Self)> {
        let mut found = vec![];
        for statement in statements {
            found.push((vec![], statement));
            if let Self::For { index, range, body } = statement {
                for (mut loops, inner) in Self::all(body) {
                    loops.insert(0, (index, range));
                    found.push((loops, inner));
                }
            }
        }
        found
    }
}

/// A line that defines something.
#[derive(Debug, Clone)]
pub struct Relation {
    /// What is defined.
    pub target: Reference,
    /// How.
    pub kind: Kind,
    /// The whole line.
    pub span: Span,
}

impl Relation {
    /// The parameters of a distribution, or the value that is assigned.
    pub(crate) fn arguments(&self) -> &[Expr] {
        match &self.kind {
            Kind::Stochastic { arguments, .. } => arguments,
            Kind::Deterministic { value, .. } => std::slice::from_ref(value),
        }
    }

    /// All expressions on the right: arguments, and bounds.
    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Expr> {
        let truncation = match &self.kind {
            Kind::Stochastic { truncation, .. } => truncation.as_ref(),
            Kind::Deterministic { .. } => None,
        };
        let bounds = truncation.into_iter();
        let bounds = bounds.flat_map(|truncation| truncation.lower.iter().chain(&truncation.upper));
        self.arguments().iter().chain(bounds)
    }
}

/// How something is defined.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// `target ~ distribution`
    Stochastic {
        /// The distribution's name.
        distribution: Name,
        /// Its parameters.
        arguments: Vec<Expr>,
        /// `T(lower, upper)` or `I(lower, upper)`.
        truncation: Option<Truncation>,
    },
    /// `target <- value` or `target = value`
    Deterministic {
        /// A function around the target: `log(mu) <- ...`.
        link: Option<Link>,
        /// The value.
        value: Expr,
    },
}

/// A function that may stand around a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// `log`
    Log,
    /// `logit`
    Logit,
    /// `cloglog`
    Cloglog,
    /// `probit`
    Probit,
}

impl Link {
    /// All of them, with their names.
    pub const ALL: [(&'static str, Self); 4] = [
        ("log", Self::Log),
        ("logit", Self::Logit),
        ("cloglog", Self::Cloglog),
        ("probit", Self::Probit),
    ];

    /// The link of a name.
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, link)| *link)
    }
}

/// Bounds of a distribution; one that is left out is infinite.
#[derive(Debug, Clone)]
pub struct Truncation {
    /// Lower bound.
    pub lower: Option<Expr>,
    /// Upper bound.
    pub upper: Option<Expr>,
    /// Whether the density is that within the bounds, as `T` says; `I` only bounds.
    pub normalised: bool,
    /// Where it stands.
    pub span: Span,
}

/// A variable with indices: `x`, `x[]`, `x[i, 1:3, ]`.
#[derive(Debug, Clone)]
pub struct Reference {
    /// The variable.
    pub name: Name,
    /// `None` where there are no brackets; `x[]` has one index, [`Index::All`].
    pub indices: Option<Vec<Index>>,
    /// All of it, brackets included.
    pub span: Span,
}

impl Reference {
    /// The expressions among its indices.
    pub(crate) fn indices(&self) -> impl Iterator<Item = &Expr> {
        let indices = self.indices.iter().flatten();
        indices.filter_map(|index| match index {
            Index::All => None,
            Index::At(expr) => Some(expr),
        })
    }
}

/// One index.
#[derive(Debug, Clone, PartialEq)]
pub enum Index {
    /// Nothing: all of them.
    All,
    /// A number, a range or a vector.
    At(Expr),
}

/// An expression where it stands.
#[derive(Debug, Clone)]
pub struct Expr {
    /// What it is.
    pub node: Node,
    /// Where it stands.
    pub span: Span,
}

impl Expr {
    /// The expressions that it is made of, indices included.
    pub(crate) fn parts(&self) -> Vec<&Expr> {
        match &self.node {
            Node::Number(_) => vec![],
            Node::Reference(reference) => reference.indices().collect(),
            Node::Call { arguments, .. } => arguments.iter().collect(),
            Node::Negative(operand) | Node::Not(operand) => vec![operand],
            Node::Binary { left, right, .. } => vec![left, right],
        }
    }

    /// All references, those in indices as well, in the order of the text.
    pub(crate) fn references(&self) -> Vec<&Reference> {
        let own = match &self.node {
            Node::Reference(reference) => Some(reference),
            _ => None,
        };
        let inner = self.parts().into_iter().flat_map(Self::references);
        own.into_iter().chain(inner).collect()
    }

    /// The ends of a range.
    pub(crate) fn range(&self) -> Option<(&Expr, &Expr)> {
        match &self.node {
            Node::Binary {
                operator: Operator::Range,
                left,
                right,
            } => Some((left, right)),
            _ => None,
        }
    }
}

/// What an expression is.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// A number.
    Number(f64),
    /// A variable or a part of it.
    Reference(Reference),
    /// A function of arguments.
    Call {
        /// The function.
        function: Name,
        /// Its arguments.
        arguments: Vec<Expr>,
    },
    /// `-x`
    Negative(Box<Expr>),
    /// `!x`
    Not(Box<Expr>),
    /// Two operands.
    Binary {
        /// The operator.
        operator: Operator,
        /// On its left.
        left: Box<Expr>,
        /// On its right.
        right: Box<Expr>,
    },
}

/// An operator between two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `^` or `**`
    Power,
    /// `:`
    Range,
    /// `%*%`
    Product,
    /// `*`
    Times,
    /// `/`
    Over,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `==`
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
    /// `&&`
    And,
    /// `||`
    Or,
}

/// What is written alike is equal, wherever it stands.
macro_rules! equal_by {
    ($type:ident: $($field:ident),*) => {
        impl PartialEq for $type {
            fn eq(&self, other: &Self) -> bool {
                $(self.$field == other.$field)&&*
            }
        }
    };
}

equal_by!(Name: text);
equal_by!(Relation: target, kind);
equal_by!(Truncation: lower, upper, normalised);
equal_by!(Reference: name, indices);
equal_by!(Expr: node);
