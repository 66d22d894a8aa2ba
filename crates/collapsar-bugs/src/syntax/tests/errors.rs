//! Decides whether bad texts are blamed where and as they should be.

use super::super::parse;

/// Bad texts, each with the mistake in it.
const BAD: [(&str, &str); 69] = [
    ("nothing", ""),
    ("only a comment", "# a model\n"),
    ("no model block", "x ~ dnorm(0, 1)\ny <- x\n"),
    (
        "no model block around a loop",
        "for (i in 1:N) { x[i] ~ dnorm(0, 1) }",
    ),
    ("data without model", "data { x <- 1 }\n"),
    ("no brace after model", "model\n  x ~ dnorm(0, 1)\n"),
    ("brace without model", "{\n  x ~ dnorm(0, 1)\n}\n"),
    ("capital model", "Model {\n  x ~ dnorm(0, 1)\n}\n"),
    ("two models", "model { x <- 1 }\nmodel { y <- 1 }\n"),
    ("data after model", "model { x <- 1 }\ndata { y <- 1 }\n"),
    ("var after model", "model { x <- 1 }\nvar x;\n"),
    ("const", "const N = 30;\nmodel { x <- 1 }\n"),
    ("list after model", "model { x <- N }\nlist(N = 3)\n"),
    ("var without a length", "var x[], y;\nmodel { x <- 1 }\n"),
    (
        "distribution in data",
        "data {\n  x ~ dnorm(0, 1)\n}\nmodel { y <- 1 }\n",
    ),
    (
        "brace missing at the end",
        "model {\n  for (i in 1:N) {\n    x[i] ~ dnorm(0, 1)\n  }\n\n",
    ),
    (
        "inner brace missing",
        "model {\n  for (i in 1:N) {\n    for (j in 1:M) {\n      x[i, j] ~ dnorm(0, 1)\n  }\n  y <- 1\n}\n",
    ),
    (
        "brace too many",
        "model {\n  for (i in 1:N) {\n    x[i] ~ dnorm(0, 1)\n  }\n  }\n  y <- 1\n}\n",
    ),
    (
        "loop without parentheses",
        "model {\n  for i in 1:N {\n    x[i] <- 1\n  }\n}\n",
    ),
    (
        "loop with equals",
        "model {\n  for (i = 1:N) { x[i] <- 1 }\n}\n",
    ),
    (
        "loop without braces",
        "model {\n  for (i in 1:N)\n    x[i] <- 1\n}\n",
    ),
    (
        "loop over a reserved word",
        "model { for (in in 1:3) { x <- 1 } }\n",
    ),
    ("loop not closed", "model { for (i in 1:N { x[i] <- 1 } }\n"),
    ("arrow with a space", "model {\n  x < - 3\n}\n"),
    ("equality for an arrow", "model {\n  x == 3\n}\n"),
    ("arrow for a comparison", "model {\n  y <- step(x <-3)\n}\n"),
    ("two arrows", "model {\n  y <- x <- 3\n}\n"),
    ("no value", "model {\n  y <-\n}\n"),
    ("operator without operand", "model {\n  y <- 2 * / 3\n}\n"),
    ("operator missing before a name", "model {\n  y <- 2 x\n}\n"),
    (
        "operator missing before a number",
        "model {\n  y <- x 2\n}\n",
    ),
    ("product without a sign", "model {\n  y <- 2(x + 1)\n}\n"),
    ("target alone", "model {\n  y\n}\n"),
    ("expression as target", "model {\n  x + y <- 3\n}\n"),
    (
        "parenthesis missing before a line",
        "model {\n  x ~ dnorm(0, 1\n  y ~ dnorm(x, 1)\n}\n",
    ),
    ("comma missing", "model {\n  x ~ dnorm(mu tau)\n}\n"),
    (
        "comma missing in indices",
        "model {\n  x[i j] ~ dnorm(mu, tau)\n}\n",
    ),
    ("wrong bracket", "model {\n  x[i) ~ dnorm(mu, tau)\n}\n"),
    ("parenthesis too many", "model {\n  x <- (a + b))\n}\n"),
    ("argument left out", "model {\n  x ~ dnorm(, 1)\n}\n"),
    (
        "argument after the last comma",
        "model {\n  x ~ dnorm(0, 1, )\n}\n",
    ),
    (
        "named argument",
        "model {\n  x ~ dnorm(mean = 0, tau = 1)\n}\n",
    ),
    ("no distribution", "model {\n  x ~ 3\n}\n"),
    (
        "distribution without arguments",
        "model {\n  x ~ dflat\n}\n",
    ),
    (
        "arithmetic on a distribution",
        "model {\n  x ~ dnorm(0, 1) + 3\n}\n",
    ),
    (
        "function of a target with a distribution",
        "model {\n  log(x) ~ dnorm(0, 1)\n}\n",
    ),
    ("function that is no link", "model {\n  sqrt(x) <- 3\n}\n"),
    ("link of an expression", "model {\n  log(x + 1) <- 3\n}\n"),
    ("bounds of a value", "model {\n  x <- y T(0, )\n}\n"),
    ("bounds as a function", "model {\n  x <- T(0, 1)\n}\n"),
    (
        "bounds with one value",
        "model {\n  x ~ dnorm(0, 1) T(0)\n}\n",
    ),
    ("censoring", "model {\n  x ~ dnorm(0, 1)C(0, )\n}\n"),
    ("if", "model {\n  if (x > 0) {\n    y <- 1\n  }\n}\n"),
    ("if as a value", "model {\n  y <- if (x > 0) 1 else 2\n}\n"),
    ("while", "model {\n  while (x > 0) { y <- 1 }\n}\n"),
    ("function", "model {\n  f <- function(x) { x }\n}\n"),
    ("indices in two pairs", "model {\n  y <- x[1][2]\n}\n"),
    (
        "indices of a target in two pairs",
        "model {\n  x[1][2] <- y\n}\n",
    ),
    ("double brackets", "model {\n  y <- x[[1]]\n}\n"),
    ("index of a call", "model {\n  y <- f(x)[1]\n}\n"),
    ("chained comparison", "model {\n  y <- 1 < x < 2\n}\n"),
    ("chained range", "model {\n  y <- x[1:2:3]\n}\n"),
    ("bad number", "model {\n  y <- 1.2.3\n}\n"),
    (
        "dots for a range",
        "model {\n  for (i in 1..5) { x[i] <- 1 }\n}\n",
    ),
    ("number before a name", "model {\n  y <- 2x\n}\n"),
    ("greek letters", "model {\n  x ~ dnorm(μ, τ)\n}\n"),
    ("tilde of a typesetter", "model {\n  x ∼ dnorm(0, 1)\n}\n"),
    ("another operator", "model {\n  y <- x %in% z\n}\n"),
    ("comment not closed", "model {\n  x <- 1 /* one\n}\n"),
];

#[test]
fn bad_texts_are_blamed() {
    let texts: Vec<String> = BAD
        .iter()
        .map(|(what, source)| match parse(source) {
            Ok(_) => panic!("{what}: was read"),
            Err(error) => format!("-- {what}\n{}\n", error.render("model.bug", source)),
        })
        .collect();
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn an_earlier_mistake_comes_before_a_later_one() {
    let source = "model {\n  x < - 3\n y <- 1.2.3\n}";
    let error = parse(source).unwrap_err();
    assert_eq!(
        error.brief("m.bug", source),
        "expected `~`, `<-` or `=`, found `<` (m.bug:2:5)"
    );
    let swapped = "model {\n  y <- 1.2.3\n x < - 3\n}";
    let error = parse(swapped).unwrap_err();
    assert_eq!(
        error.brief("m.bug", swapped),
        "`1.2.3` is not a number (m.bug:2:8)"
    );
}

#[test]
fn columns_are_characters() {
    let source = "model { /* αβγ */ x }";
    assert_eq!(
        parse(source).unwrap_err().brief("m.bug", source),
        "expected `~`, `<-` or `=`, found `}` (m.bug:1:21)"
    );
}

#[test]
fn nesting_is_limited() {
    let around = |open: &str, core: &str, close: &str, times: usize| {
        format!("{}{core}{}", open.repeat(times), close.repeat(times))
    };
    let value = |text: String| format!("model {{ x <- {text} }}");
    let deep = |times: usize| {
        [
            value(around("(", "1", ")", times)),
            value(around("f(", "1", ")", times)),
            value(around("x[", "1", "]", times)),
            value(around("-", "1", "", times)),
            value(around("!", "1", "", times)),
            value(around("2^", "1", "", times)),
            value(around("+", "1", "", times)),
            format!(
                "model {{ {} }}",
                around("for (i in 1:2) {", "x <- 1", "}", times)
            ),
        ]
    };
    for source in deep(200) {
        assert!(parse(&source).is_ok(), "{source}");
    }
    for times in [300, 100_000] {
        for source in deep(times) {
            let error = parse(&source).unwrap_err();
            assert!(error.message.contains("more than 256"), "{error:?}");
        }
    }
}

#[test]
fn long_sums_are_limited() {
    let sum = |terms: usize| format!("model {{ x <- {} }}", vec!["a * b"; terms].join(" + "));
    assert!(parse(&sum(900)).is_ok());
    let error = parse(&sum(100_000)).unwrap_err();
    assert!(error.message.contains("more than 1000"), "{error:?}");
    // Short sums inside one another add up.
    let mut nested = String::from("1");
    for _ in 0..100 {
        nested = format!("({nested}{})", " + 1".repeat(20));
    }
    let error = parse(&format!("model {{ x <- {nested} }}")).unwrap_err();
    assert!(error.message.contains("more than 1000"), "{error:?}");
}
