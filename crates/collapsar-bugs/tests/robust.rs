//! No text and no data make anything panic; what cannot be done is said in so many words.

mod common;
mod models;

use collapsar::graph::Demands;
use collapsar::{Direction, Driver, Stop};
use collapsar_bugs::{Data, Model, Posterior};
use common::{data, put};
use models::MODELS;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// What words of a program are replaced by: distributions, functions, operators, names, numbers.
const WORDS: &[&str] = &[
    "dnorm", "dgamma", "dcat", "ddirch", "dmnorm", "dwish", "dbern", "dbin", "dbeta", "dmulti",
    "dpois", "dexp", "dunif", "dweib", "dnegbin", "dchisqr", "dt", "inprod", "sum", "mean", "exp",
    "log", "max", "step", "equals", "pow", "sqrt", "inverse", "t", "length", "c", "logit", "rep",
    "+", "-", "*", "/", "^", "%*%", "(", ")", "[", "]", ",", "{", "}", "~", "<-", ":", ";", "==",
    "&&", "!", "y", "x", "z", "w", "mu", "tau", "a", "b", "i", "k", "n", "model", "data", "for",
    "in", "T", "I", "0", "1", "2", "3", "-1", "0.5", "1e308", "1e-308", "NA", "100", "2.5", "[,]",
    "[]", "var",
];
/// What numbers of the data are replaced by.
const NUMBERS: &[f64] = &[
    f64::NAN,
    0.0,
    1.0,
    -1.0,
    2.0,
    3.0,
    0.5,
    1e-300,
    1e300,
    -1e300,
    1e4,
    f64::INFINITY,
    1e-9,
    7.0,
];

/// One change of a program or of its data.
type Edit = (u8, u16, u16);

/// Words, numbers, spaces and marks.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = vec![];
    let class = |c: char| match c {
        c if c.is_alphanumeric() || c == '.' => 0,
        c if c.is_whitespace() => 1,
        _ => 2,
    };
    let mut last = 3;
    for c in text.chars() {
        let kind = class(c);
        match tokens.last_mut() {
            Some(token) if kind == last && kind < 2 => token.push(c),
            _ => tokens.push(c.to_string()),
        }
        last = kind;
    }
    tokens
}

fn edited(text: &str, mut data: Data, edits: &[Edit]) -> (String, Data) {
    let mut tokens = tokens(text);
    for &(kind, place, other) in edits {
        let at = place as usize % tokens.len();
        let names: Vec<String> = data.arrays.keys().cloned().collect();
        let name = (!names.is_empty()).then(|| names[place as usize % names.len()].clone());
        match kind % 9 {
            0 => drop(tokens.remove(at)),
            1 => tokens.insert(at, tokens[at].clone()),
            2 => {
                let other = other as usize % tokens.len();
                tokens.swap(at, other);
            }
            3 => tokens[at] = WORDS[other as usize % WORDS.len()].into(),
            4 => {
                // Another name or number of the same program.
                let words: Vec<usize> = (0..tokens.len())
                    .filter(|&i| tokens[i].starts_with(|c: char| c.is_alphanumeric()))
                    .collect();
                if !words.is_empty() {
                    let (to, from) = (place as usize % words.len(), other as usize % words.len());
                    let word = tokens[words[from]].clone();
                    tokens[words[to]] = word;
                }
            }
            5 => {
                if let Some(array) = name.and_then(|name| data.arrays.get_mut(&name)) {
                    let count = array.values.len().max(1);
                    if let Some(value) = array.values.get_mut(other as usize % count) {
                        *value = NUMBERS[(other as usize / count) % NUMBERS.len()];
                    }
                }
            }
            6 => drop(name.and_then(|name| data.arrays.remove(&name))),
            7 => {
                if let Some(array) = name.and_then(|name| data.arrays.get_mut(&name)) {
                    let length = other as usize % 4;
                    array.values.truncate(length);
                    array.dims = vec![array.values.len()];
                }
            }
            _ => {
                if let Some(array) = name.and_then(|name| data.arrays.get_mut(&name)) {
                    array.dims.reverse();
                }
            }
        }
        if tokens.is_empty() {
            tokens.push(" ".into());
        }
    }
    (tokens.concat(), data)
}

/// Does all that can be done with a model; every error is fine.
fn use_model(text: &str, data: Data, demanded: &[String], seed: u64) -> Option<()> {
    let complain = |d: collapsar_bugs::Diagnostic| {
        assert!(!d.message.is_empty());
        let _ = (d.render("m.bug", text), d.brief("m.bug", text));
    };
    let model = Model::parse(text).map_err(complain).ok()?;
    let prepared = model.with(data).map_err(complain).ok()?;
    let quantities = prepared.quantities().map_err(complain).ok()?;
    let own = Demands {
        collapse: demanded.to_vec(),
        explicit: vec![],
    };
    for way in [Demands::default(), own] {
        let Ok(compiled) = prepared.compile(&way) else {
            continue;
        };
        for direction in [Direction::Auto, Direction::Vbem, Direction::Newton] {
            let Ok(start) = compiled.start(seed) else {
                continue;
            };
            let run = Driver::new(&compiled, direction)
                .stop(Stop::Iterations(4) | Stop::Passes(40))
                .run(start);
            let Ok(fit) = run else { continue };
            let variational = compiled.variational_posterior(&fit.point);
            let Ok(marginals) = prepared.marginals(&variational) else {
                continue;
            };
            for quantity in &quantities {
                let _ = prepared.marginal(quantity, &marginals);
            }
            let posterior = Posterior {
                prepared: &prepared,
                variational: &variational,
                response: None,
                weighted: None,
                share: 1.0,
                seed,
            };
            let _ = posterior.draws(&quantities, 0..2);
        }
    }
    Some(())
}

/// Takes numbers off a list one by one, then zeros.
struct Choices<'a>(std::slice::Iter<'a, u16>);

impl Choices<'_> {
    fn below(&mut self, n: usize) -> usize {
        self.0.next().map_or(0, |&choice| choice as usize) % n
    }

    fn of<'b>(&mut self, words: &[&'b str]) -> &'b str {
        words[self.below(words.len())]
    }

    /// A program of a few lines about the names a to f, in loops or not.
    fn program(&mut self) -> String {
        let mut lines = vec![];
        for _ in 0..=self.below(7) {
            let line = self.line();
            lines.push(match self.below(5) {
                0 | 1 => line,
                2 => format!("for (i in 1:3) {{ {line}; {} }}", self.line()),
                3 => format!(
                    "for (i in {}:3) {{ {line} }}",
                    self.of(&["1", "2", "a", "0", "4"])
                ),
                _ => format!("for (i in 1:2) {{ for (j in 1:i) {{ {line} }} }}"),
            });
        }
        format!("model {{\n  {}\n}}", lines.join("\n  "))
    }

    fn name(&mut self) -> &'static str {
        self.of(&["a", "b", "c", "d", "e", "f"])
    }

    fn line(&mut self) -> String {
        const ONE: [&str; 8] = [
            "dgamma", "dnorm", "dbeta", "dbin", "dnegbin", "dweib", "dunif", "dmnorm",
        ];
        let name = self.name();
        let index = self.of(&[
            "",
            "[i]",
            "[1:3]",
            "[i]",
            "[i,1:3]",
            "[i+1]",
            "[1:2,1:2]",
            "[j]",
        ]);
        let target = format!("{name}{index}");
        match self.below(8) {
            0 => format!("{target} <- {}", self.expression(2)),
            1 => format!("{target} ~ ddirch({})", self.expression(1)),
            2 => format!("{target} ~ dcat({})", self.expression(1)),
            3 => format!(
                "{target} ~ {}({})",
                self.of(&["dbern", "dpois", "dexp"]),
                self.expression(1)
            ),
            4 => format!(
                "{target} ~ dwish({}, {})",
                self.expression(1),
                self.expression(0)
            ),
            5 => format!(
                "{target} ~ dmulti({}, {})",
                self.expression(1),
                self.expression(0)
            ),
            _ => {
                let distribution = self.of(&ONE);
                format!(
                    "{target} ~ {distribution}({}, {})",
                    self.expression(2),
                    self.expression(1)
                )
            }
        }
    }

    fn expression(&mut self, depth: usize) -> String {
        if depth == 0 {
            let number = self.of(&["1", "0.5", "3", "2", "0", "-1"]);
            return if self.below(3) == 0 {
                self.name().into()
            } else {
                number.into()
            };
        }
        let name = self.name();
        let other = self.expression(depth - 1);
        match self.below(12) {
            0 => format!("{name}[i]"),
            1 => format!("{name}[]"),
            2 => format!("{name}[i,]"),
            3 => format!("{name}[{other}]"),
            4 => format!("{name}[{other},]"),
            5 => format!("{name}[i] * {other}"),
            6 => format!("{name} + {other}"),
            7 => format!("inprod({name}[1:3], {other})"),
            8 => format!("max({name}[i], {other})"),
            9 => format!("{name}[,] %*% {other}"),
            10 => format!(
                "{}({other})",
                self.of(&["sum", "log", "mean", "t", "inverse", "c", "1 - "])
            ),
            _ => other,
        }
    }

    fn data(&mut self) -> Data {
        let mut data = Data::default();
        for _ in 0..self.below(5) {
            let dims: &[usize] = [&[1][..], &[3], &[2, 2], &[3, 3], &[2, 3]][self.below(5)];
            let count = dims.iter().product();
            let numbers = [1.0, 2.0, 0.5, 3.0, 0.0, f64::NAN, 1.0, 2.0, -1.0, 0.2];
            let values: Vec<f64> = (0..count).map(|_| numbers[self.below(10)]).collect();
            put(&mut data, self.name(), dims, &values);
        }
        data
    }
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases(1500))]

    /// Good programs with a few words and numbers changed.
    #[test]
    fn spoilt_programs_do_not_panic(
        model in 0..MODELS.len(),
        edits in prop::collection::vec(any::<Edit>(), 1..5),
        seed in 0..100_u64,
    ) {
        let (_, text, numbers) = MODELS[model];
        let (text, given) = edited(text, data(numbers), &edits);
        use_model(&text, given, &["z".into()], seed);
    }

    /// Programs out of thin air.
    #[test]
    fn random_programs_do_not_panic(
        list in prop::collection::vec(any::<u16>(), 10..90),
        seed in 0..100_u64,
    ) {
        let mut choices = Choices(list.iter());
        let given = choices.data();
        use_model(&choices.program(), given, &["a".into()], seed);
    }
}

#[test]
fn good_programs_run() {
    for (name, text, numbers) in MODELS {
        assert!(use_model(text, data(numbers), &[], 1).is_some(), "{name}");
    }
}

#[test]
fn a_target_without_elements_is_refused() {
    use_model("model { p[2:1] ~ ddirch(b[]) }", data("b=1 2"), &[], 1);
}

#[test]
fn a_normal_target_without_elements_is_refused() {
    use_model("model { y[2:1] ~ dnorm(0, 1) }", data(""), &[], 1);
}

#[test]
fn a_label_without_states_is_refused() {
    let mut given = data("");
    put(&mut given, "p", &[0], &[]);
    use_model("model { s ~ dcat(p[]) }", given, &[], 1);
}

#[test]
fn an_index_that_depends_on_itself_is_a_cycle() {
    let text = "model {
        for (i in 1:3) {
          a[i] ~ dcat(p[])
          s[i] <- 1 + equals(a[i], a[i]) + step(a[s] - 2)
          x[i] ~ dnorm(mu[s[i]], 2)
        }
    }";
    use_model(text, data("p=0.5 0.5; mu=1 2 3"), &[], 1);
}

#[test]
fn part_of_the_shares_is_refused() {
    for text in [
        "model { y ~ dcat(p[1:2]); p[1:3] ~ ddirch(a[]) }",
        "model { n[1:2] ~ dmulti(p[1:2], 3); p[1:3] ~ ddirch(a[]) }",
    ] {
        let model = Model::parse(text).expect("a program");
        let refused = model.with(data("y=1; n=1 2; a=1 1 1")).is_err();
        assert!(refused, "{text}");
    }
}

#[test]
fn loops_that_no_memory_holds_are_refused() {
    let text = "model { for (i in 1:1) { for (j in i:n) { y[j] ~ dpois(l) } } l ~ dgamma(1, 1) }";
    use_model(text, data("n=1000000000"), &[], 1);
}

/// What is wrong, program and data.
const BAD: &[(&str, &str, &str)] = &[
    ("text", "model { x ~ dnorm(0, 1 }", ""),
    ("cycle", "model {\n  a ~ dnorm(b, 1)\n  b <- a + 1\n}", ""),
    (
        "cycle in a chain",
        "model { for (t in 1:3) { x[t] ~ dnorm(x[4 - t], 1) } }",
        "",
    ),
    (
        "defined twice",
        "model {\n  for (i in 1:3) { x[i] ~ dnorm(0, 1) }\n  x[2] <- 5\n}",
        "",
    ),
    (
        "index out of range",
        "model { for (i in 1:4) { y[i] ~ dnorm(m[i], 1) } }",
        "m=1 2 3; y=1 2 3 4",
    ),
    (
        "index that is no number",
        "model { y ~ dnorm(m[1.5], 1) }",
        "m=1 2; y=1",
    ),
    (
        "too many indices",
        "model { y ~ dnorm(m[1,1], 1) }",
        "m=1 2; y=1",
    ),
    (
        "dimension mismatch",
        "model { y ~ dnorm(inprod(a[], b[]), 1) }",
        "a=1 2; b=1 2 3; y=1",
    ),
    (
        "dimension mismatch of a target",
        "model { y[1:3] ~ dmnorm(m[], P[,]) }",
        "m=1 2; P[2,2]=1 0 0 1; y=1 2 3",
    ),
    (
        "missing datum",
        "model { for (i in 1:N) { y[i] ~ dnorm(0, 1) } }",
        "y=1 2",
    ),
    (
        "missing element",
        "model { y ~ dnorm(x[2], 1) }",
        "x=1 NA; y=1",
    ),
    (
        "data for a derived node",
        "model {\n  m <- 2 * a\n  a ~ dnorm(0, 1)\n}",
        "m=3",
    ),
    (
        "unsupported distribution",
        "model { y ~ dhyper(5, 5, 4, 1) }",
        "y=1",
    ),
    ("number of parameters", "model { y ~ dnorm(0) }", "y=1"),
    ("unknown function", "model { y ~ dnorm(foo(1), 1) }", "y=1"),
    (
        "edge of a logarithm",
        "model {\n  y ~ dnorm(log(sum(x[])), 1)\n  for (i in 1:4) { x[i] ~ dgamma(1, 1) }\n}",
        "y=1",
    ),
    (
        "edge of a shape",
        "model {\n  y ~ dgamma(sum(a[]), 1)\n  for (i in 1:4) { a[i] ~ dgamma(1, 1) }\n}",
        "y=1",
    ),
    (
        "edge of a kind",
        "model {\n  y ~ dnorm(0, sum(p[]))\n  for (i in 1:4) { p[i] ~ dbeta(1, 1) }\n}",
        "y=1",
    ),
    (
        "edge of a logit",
        "model {\n  y ~ dbern(p)\n  cloglog(p) <- a\n  a ~ dnorm(0, 1)\n}",
        "y=1",
    ),
    (
        "improper prior",
        "model {\n  y ~ dnorm(m, 1)\n  m ~ dnorm(0, 0)\n}",
        "y=1",
    ),
    (
        "negative shape",
        "model {\n  y ~ dpois(l)\n  l ~ dgamma(-1, 1)\n}",
        "y=1",
    ),
    (
        "degrees of freedom",
        "model {\n  y[1:2] ~ dmnorm(m[], L[,])\n  L[1:2,1:2] ~ dwish(R[,], 1)\n}",
        "y=1 2; m=0 0; R[2,2]=1 0 0 1",
    ),
    (
        "scale that is not definite",
        "model {\n  y[1:2] ~ dmnorm(m[], L[,])\n  L[1:2,1:2] ~ dwish(R[,], 2)\n}",
        "y=1 2; m=0 0; R[2,2]=1 2 2 1",
    ),
    (
        "count outside the support",
        "model {\n  for (i in 1:2) { y[i] ~ dpois(l) }\n  l ~ dgamma(1, 1)\n}",
        "y=1 -2",
    ),
    (
        "count beyond the trials",
        "model {\n  y ~ dbin(p, 3)\n  p ~ dbeta(1, 1)\n}",
        "y=4",
    ),
    (
        "state outside the support",
        "model {\n  y ~ dcat(p[])\n  p[1:2] ~ ddirch(a[])\n}",
        "y=3; a=1 1",
    ),
    (
        "share outside the support",
        "model { y ~ dbeta(1, 1) }",
        "y=1.5",
    ),
    (
        "counts that do not add up",
        "model { y[1:2] ~ dmulti(p[], 5) }",
        "y=2 2; p=0.5 0.5",
    ),
    (
        "impossible by a zero",
        "model { y ~ dcat(p[]) }",
        "y=2; p=1 0",
    ),
    (
        "partly observed",
        "model { y[1:2] ~ dmulti(p[], 4) }",
        "y=2 NA; p=0.5 0.5",
    ),
    ("unobserved count", "model { y ~ dpois(2) }", ""),
    (
        "degree",
        "model {\n  y ~ dnorm(a*a, 1)\n  a ~ dnorm(0, 1)\n}",
        "y=1",
    ),
    ("truncation", "model { y ~ dnorm(0, 1) T(0, ) }", ""),
    (
        "too many states of labels",
        "model {\n  for (i in 1:25) { x[i] ~ dbern(0.5) }\n  y ~ dnorm(sum(x[]), 1)\n}",
        "y=12",
    ),
    (
        "too many indices of a vector",
        "model { y ~ dnorm(m[1,1,1], 1) }",
        "m=1 2; y=1",
    ),
    (
        "a row of zeros",
        "model {\n  for (n in 1:2) { z[n] ~ dcat(p[]); one[n] ~ dbern(L[n,z[n]]) }\n  p[1:2] ~ ddirch(a[])\n}",
        "one=1 1; L[2,2]=0.5 0.5 0 0; a=1 1",
    ),
    (
        "no state that is possible",
        "model {\n  for (n in 1:2) { z[n] ~ dcat(p[]); y[n] ~ dbern(equals(z[n], 3)) }\n  p[1:2] ~ ddirch(a[])\n}",
        "y=0 1; a=1 1",
    ),
    (
        "a loop over something unknown",
        "model {\n  K ~ dpois(3)\n  M <- K + 1\n  for (i in 1:M) { y[i] ~ dnorm(0, 1) }\n}",
        "y=1 2",
    ),
    (
        "improper prediction",
        "model {\n  y ~ dnorm(m, 1)\n  m ~ dnorm(0, 1)\n  z ~ dnorm(0, -1)\n}",
        "y=1",
    ),
];

#[test]
fn complaints_say_where_and_what() {
    let mut all = String::new();
    for (what, text, numbers) in BAD {
        let complaint = Model::parse(*text).and_then(|model| {
            let prepared = model.with(data(numbers))?;
            let Err(error) = prepared.compile(&Demands::default()) else {
                return Ok("accepted".to_owned());
            };
            prepared
                .diagnostic(&error)
                .map_or_else(|| Ok(error.to_string()), Err)
        });
        let complaint = complaint.unwrap_or_else(|diagnostic| diagnostic.render("m.bug", text));
        all.extend([what, "\n", &complaint, "\n\n"]);
    }
    insta::assert_snapshot!(all);
}
