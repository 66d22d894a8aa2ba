//! JAGS's own rules: what a name on the left, a counter and a spelling mean.

mod common;

use collapsar::special::ln_gamma;
use collapsar_bugs::{Diagnostic, Model};
use common::{best_bound, climb, compiled, data, means, prepared, put};

/// Two texts are one model: their bounds are the same number.
fn same(first: &str, second: &str, numbers: &str) {
    let [a, b] = [first, second].map(|text| best_bound(&compiled(text, data(numbers))));
    let close = (a - b).abs() <= 1e-9 * b.abs().max(1.0);
    assert!(close, "{first}: {a}\n{second}: {b}");
}

#[test]
fn a_bare_name_is_as_long_as_what_defines_it() {
    let shares = |left: &str, right: &str| {
        format!(
            "model {{ for (i in 1:6) {{ z[i] ~ dcat(p[]) y[i] ~ dnorm(m[z[i]], 1) }}
               {left} ~ ddirch({right}) for (k in 1:3) {{ m[k] ~ dnorm(k, 1) }} }}"
        )
    };
    let numbers = "y=0.1 2.4 3.3 1.2 0.2 2.9; alpha=1 1 1";
    same(
        &shares("p", "c(1, 1, 1)"),
        &shares("p[1:3]", "alpha[]"),
        numbers,
    );
    same(&shares("p", "alpha"), &shares("p[1:3]", "alpha[]"), numbers);
    let regression = |mean: &str| {
        format!(
            "model {{ {mean} for (i in 1:4) {{ y[i] ~ dnorm(mu[i], tau) }} b ~ dmnorm(o[], P[,]) tau ~ dgamma(1, 1) }}"
        )
    };
    let numbers = "y=0.1 1.4 2.3 2.9; X[4,2]=1 0 1 1 1 2 1 3; o=0 0; P[2,2]=0.1 0 0 0.1";
    same(
        &regression("mu <- X %*% b"),
        &regression("for (i in 1:4) { mu[i] <- inprod(X[i,], b[]) }"),
        numbers,
    );
    // Lengths follow through names that are bare themselves, in any order of lines.
    same(
        &regression("mu <- nu + 0 nu <- X %*% b"),
        &regression("mu[1:4] <- X %*% b"),
        numbers,
    );
    let matrix = |left: &str| {
        format!(
            "model {{ for (i in 1:3) {{ y[i,1:2] ~ dmnorm(o[], Omega[,]) }} {left} ~ dwish(R, 3) Sigma <- inverse(Omega) }}"
        )
    };
    let numbers = "y[3,2]=0.1 1.4 -2.3 0.9 1 1; o=0 0; R[2,2]=1 0 0 1";
    same(&matrix("Omega"), &matrix("Omega[1:2,1:2]"), numbers);
    let names: Vec<String> = prepared(&matrix("Omega"), data(numbers))
        .quantities()
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(names.contains(&"Sigma[2,1]".to_owned()), "{names:?}");
}

#[test]
fn a_counter_lives_in_its_loop_only() {
    let text = |counter: &str| {
        format!(
            "model {{ for ({counter} in 1:2) {{ m[{counter}] ~ dnorm({counter}, 0.5) }}
               for (i in 1:5) {{ y[i] ~ dnorm(m[sp[i]], 1) }} }}"
        )
    };
    let numbers = "y=0.3 1.2 2.2 1.9 0.4; sp=1 2 2 1 2";
    same(&text("sp"), &text("k"), numbers);
    // Of rows of labels too, where terms are shared between repetitions that read alike.
    let rows = |i: &str| {
        format!(
            "model {{ for ({i} in 1:5) {{ z[{i}] ~ dcat(p[]) y[{i}] ~ dnorm(m[z[{i}]] + 0.1 * {i}, 1) }}
               for (k in 1:2) {{ m[k] ~ dnorm(0, 0.1) }} p ~ ddirch(c(1, 2)) a <- x }}"
        )
    };
    same(&rows("x"), &rows("i"), "y=0.3 1.2 2.2 1.9 0.4; x=7");
}

#[test]
fn zeros_of_a_dirichlet_prior_may_differ_between_repetitions() {
    let numbers = "a[3,3]=1 0 0 2 1 0 1 2 3; y[3,3]=4 0 0 1 3 0 2 2 1; n=4 4 5";
    let text = "model { for (j in 1:3) { y[j,] ~ dmulti(p[j,], n[j]) p[j,1:3] ~ ddirch(a[j,]) } }";
    let apart = "model { y[1,] ~ dmulti(c(1, 0, 0), n[1]) y[2,] ~ dmulti(c(q[], 0), n[2]) y[3,] ~ dmulti(r[], n[3])
                 q[1:2] ~ ddirch(a[2,1:2]) r[1:3] ~ ddirch(a[3,]) }";
    same(text, apart, numbers);
    let model = prepared(text, data(numbers));
    let compiled = compiled(text, data(numbers));
    let found = means(&model, &compiled, &climb(&compiled, 1, 1e-12));
    for (name, mean) in [
        ("p[1,1]", 1.0),
        ("p[1,2]", 0.0),
        ("p[2,1]", 3.0 / 7.0),
        ("p[3,3]", 4.0 / 11.0),
    ] {
        assert!(
            (found[name] - mean).abs() < 1e-12,
            "{name}: {}",
            found[name]
        );
    }
}

#[test]
fn a_known_matrix_times_a_precision_is_as_independent_numbers_are() {
    let together = "model { y[1:3] ~ dmnorm(m[], tau * Q[,]) tau ~ dgamma(2, 1) b ~ dnorm(0, 1)
                    for (i in 1:3) { m[i] <- b } }";
    let apart = "model { for (i in 1:3) { y[i] ~ dnorm(b, tau * q[i]) } tau ~ dgamma(2, 1) b ~ dnorm(0, 1) }";
    let numbers = "y=0.3 1.2 2.1; Q[3,3]=1 0 0 0 2 0 0 0 4; q=1 2 4";
    same(together, apart, numbers);
    // Entries off the diagonal, against the integral: a multivariate t.
    let text = "model { y[1:2] ~ dmnorm(o[], tau * Q[,]) tau ~ dgamma(a, b) }";
    let (a, b) = (2.5_f64, 1.5_f64);
    let numbers = "y=0.7 -1.1; o=0 0; Q[2,2]=2 0.5 0.5 1; a=2.5; b=1.5";
    let quadratic = 2.0 * 0.49 - 2.0 * 0.5 * 0.77 + 1.21;
    let evidence = -(2.0 * std::f64::consts::PI).ln() + 0.5 * 1.75_f64.ln() + a * b.ln()
        - ln_gamma(a)
        + ln_gamma(a + 1.0)
        - (a + 1.0) * (b + 0.5 * quadratic).ln();
    let bound = best_bound(&compiled(text, data(numbers)));
    assert!((bound - evidence).abs() < 1e-12, "{bound} {evidence}");
}

#[test]
fn a_lognormal_number_is_its_logarithm_and_a_jacobian() {
    let text = |y: &str, of: &str| {
        format!(
            "model {{ for (i in 1:4) {{ {y}[i] ~ {of}(mu, tau) }} mu ~ dnorm(0, 0.1) tau ~ dgamma(1, 1) }}"
        )
    };
    let y = [0.3_f64, 2.0, 5.5, 1.1];
    let mut numbers = data("");
    put(&mut numbers, "y", &[4], &y);
    put(&mut numbers, "x", &[4], &y.map(f64::ln));
    let jacobian: f64 = y.iter().map(|y| y.ln()).sum();
    let [a, b] = [text("y", "dlnorm"), text("x", "dnorm")].map(|t| {
        let mut given = numbers.clone();
        given
            .arrays
            .retain(|name, _| t.contains(&format!("{name}[i]")));
        best_bound(&compiled(&t, given))
    });
    assert!((a + jacobian - b).abs() < 1e-9, "{a} {b}");
}

#[test]
fn a_flat_prior_is_the_limit_of_wide_ones_but_for_a_constant() {
    let text =
        |prior: &str| format!("model {{ for (i in 1:4) {{ y[i] ~ dnorm(mu, 2) }} mu ~ {prior} }}");
    let numbers = "y=0.3 1.2 2.2 1.9";
    let flat = text("dflat()");
    let model = compiled(&flat, data(numbers));
    let fit = climb(&model, 1, 1e-12);
    let found = means(&prepared(&flat, data(numbers)), &model, &fit);
    assert!((found["mu"] - 1.4).abs() < 1e-12, "{}", found["mu"]);
    let width = 1e-10_f64;
    let wide = best_bound(&compiled(&text("dnorm(0, 1.0E-10)"), data(numbers)));
    let constant = 0.5 * (width / (2.0 * std::f64::consts::PI)).ln();
    assert!((fit.point.bound + constant - wide).abs() < 1e-6);
}

#[test]
fn a_reciprocal_of_a_reciprocal_is_the_precision() {
    let text = |lines: &str, precision: &str| {
        format!(
            "model {{ for (i in 1:4) {{ y[i] ~ dnorm(mu, {precision}) }} mu ~ dnorm(0, 0.1) tau ~ dgamma(1, 1) {lines} }}"
        )
    };
    let numbers = "y=0.3 1.2 2.2 1.9";
    let plain = text("", "tau");
    same(&text("s2 <- 1/tau", "1/s2"), &plain, numbers);
    same(&text("s2 <- 2/tau", "2*pow(s2, -1)"), &plain, numbers);
}

/// The bound of counts under sticks, where nothing is approximated.
#[test]
fn pieces_of_a_stick_are_products() {
    let sticks = |pieces: &str| {
        format!(
            "model {{ y[1:4] ~ dmulti(p[], 10) for (k in 1:3) {{ v[k] ~ dbeta(1, 2) }} v[4] <- 1 p[1] <- v[1] {pieces} }}"
        )
    };
    // Of v[k] there are y[k] trials that stop and all later ones that go on.
    let y = [3.0, 2.0, 4.0, 1.0];
    let ln_beta = |a: f64, b: f64| ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b);
    let mut evidence = ln_gamma(11.0) - y.iter().map(|y| ln_gamma(y + 1.0)).sum::<f64>();
    for k in 0..3 {
        let later: f64 = y[k + 1..].iter().sum();
        evidence += ln_beta(1.0 + y[k], 2.0 + later) - ln_beta(1.0, 2.0);
    }
    for pieces in [
        "for (k in 2:4) { p[k] <- v[k] * prod(1 - v[1:(k-1)]) }",
        "for (k in 2:4) { p[k] <- v[k] * (1 - v[k-1]) * p[k-1] / v[k-1] }",
        "rest[1] <- 1 - v[1] for (k in 2:4) { p[k] <- v[k] * rest[k-1] rest[k] <- rest[k-1] * (1 - v[k]) }",
        "for (k in 2:3) { p[k] <- v[k] * (1 - sum(p[1:(k-1)])) } p[4] <- 1 - sum(p[1:3])",
    ] {
        let model = compiled(&sticks(pieces), data("y=3 2 4 1"));
        let bound = best_bound(&model);
        assert!(
            (bound - evidence).abs() < 1e-10,
            "{pieces}: {bound} {evidence}"
        );
    }
    // Twenty pieces, which multiplied out would be half a million products.
    let long = "model { for (i in 1:9) { z[i] ~ dcat(p[]) y[i] ~ dnorm(mu[z[i]], 1) }
        p[1] <- v[1] for (k in 2:20) { p[k] <- v[k] * prod(1 - v[1:(k-1)]) mu[k] ~ dnorm(0, 0.1) } mu[1] ~ dnorm(0, 0.1)
        for (k in 1:19) { v[k] ~ dbeta(1, 1) } v[20] <- 1 }";
    let bound = best_bound(&compiled(long, data("y=0.1 2.2 5.1 0.3 2.1 4.9 0 2 5")));
    assert!(bound.is_finite());
    // More pieces than are put on grids.
    let refused = refusal(
        "model {
           y[1:5] ~ dmulti(p[], 10) for (k in 1:4) { v[k] ~ dbeta(1, 2) } v[5] <- 1 p[1] <- v[1]
           for (k in 2:5) { p[k] <- v[k] * v[k-1] }
         }",
        "y=3 2 3 1 1",
    );
    assert!(
        refused.message.contains("must add up to one"),
        "{}",
        refused.message
    );
}

/// What a text with data is refused for.
fn refusal(text: &str, numbers: &str) -> Diagnostic {
    let model = match Model::parse(text) {
        Ok(model) => model,
        Err(refused) => return refused,
    };
    let refused = model.with(data(numbers)).err();
    refused.unwrap_or_else(|| panic!("not refused: {text}"))
}

/// ln of the integral of a function of two numbers from 0 to 1, by midpoints.
fn ln_integral(function: impl Fn(f64, f64) -> f64) -> f64 {
    let n = 1500;
    let at = |k: usize| (k as f64 + 0.5) / n as f64;
    let cells = (0..n).flat_map(|i| (0..n).map(move |j| (at(i), at(j))));
    let sum: f64 = cells.map(|(s, f)| function(s, f)).sum();
    (sum / (n * n) as f64).ln()
}

#[test]
fn products_of_probabilities_are_exact_and_sums_have_labels() {
    let priors = "s ~ dbeta(2, 1) f ~ dbeta(1, 1)";
    // Cells of a survival model: exact, as nothing is a sum.
    let text = format!(
        "model {{ y[1:3] ~ dmulti(p[], 9) p[1] <- s*f p[2] <- s*(1-f) p[3] <- 1 - s {priors} }}"
    );
    let ways = ln_gamma(10.0) - ln_gamma(5.0) - ln_gamma(4.0) - ln_gamma(3.0);
    let evidence = ways
        + ln_integral(|s, f| {
            2.0 * s * (s * f).powi(4) * (s * (1.0 - f)).powi(3) * (1.0 - s).powi(2)
        });
    let bound = best_bound(&compiled(&text, data("y=4 3 2")));
    assert!((bound - evidence).abs() < 1e-5, "{bound} {evidence}");
    // A sum: 1 - sf = (1 - s) + s (1 - f). Two trials have labels, which the best q has even: 4 times the integral of
    // 2 s^5 (1 - s) f^3 (1 - f), which is 1/105; the evidence is 1/70.
    let text = format!("model {{ for (i in 1:5) {{ y[i] ~ dbern(s*f) }} {priors} }}");
    let evidence = ln_integral(|s, f| 2.0 * s * (s * f).powi(3) * (1.0 - s * f).powi(2));
    assert!((evidence + 70_f64.ln()).abs() < 1e-5);
    let bound = best_bound(&compiled(&text, data("y=1 0 1 1 0")));
    assert!((bound + 105_f64.ln()).abs() < 1e-8, "{bound}");
    let together = format!("model {{ y ~ dbin(s*f, 5) {priors} }}");
    let again = best_bound(&compiled(&together, data("y=3")));
    assert!(
        (again - bound - 10_f64.ln()).abs() < 1e-8,
        "{again} {bound}"
    );
    // Hardy and Weinberg: squares of a probability.
    let text = "model { y[1:3] ~ dmulti(p[], 9) p[1] <- q^2 p[2] <- 2*q*(1-q) p[3] <- (1-q)*(1-q) q ~ dbeta(1, 1) }";
    let ln_beta = |a: f64, b: f64| ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b);
    let evidence = ways + 3.0 * 2_f64.ln() + ln_beta(12.0, 8.0);
    let bound = best_bound(&compiled(text, data("y=4 3 2")));
    assert!((bound - evidence).abs() < 1e-10, "{bound} {evidence}");
}

#[test]
fn all_that_is_wrong_with_a_text_is_told_by_its_root() {
    let text = "model {
  for (i in 1:N) { y[i] ~ dnorm(mu[i], tau)  mu[i] <- exp(a) * x[i] + foo(b) }
  a ~ dfoo(0, 1)
  b ~ dnorm(0, 1, 2)
}";
    let refused = Model::parse(text).unwrap().check().unwrap_err();
    let all: Vec<&str> = std::iter::once(&refused)
        .chain(&refused.others)
        .map(|d| d.message.as_str())
        .collect();
    assert_eq!(all.len(), 3, "{all:?}");
    assert!(
        all[0].contains("foo is not a function")
            && all[1].contains("dfoo")
            && all[2].contains("dnorm takes 2")
    );
    assert!(refused.render("m.bug", text).contains("also: "));
    assert!(refused.brief("m.bug", text).contains("; 2 more, at 3:"));
    // Names that are nowhere, each once.
    let text = "model { for (i in 1:N) { y[i] ~ dnorm(a + b * x[i] + i0, 1) } z <- i + a  a ~ dnorm(0, 1) }";
    let refused = refusal(text, "N=2; y=1 2");
    let names: Vec<&str> = std::iter::once(&refused)
        .chain(&refused.others)
        .map(|d| d.message.split(' ').next().unwrap_or_default())
        .collect();
    assert_eq!(names, ["b", "x", "i0", "i"]);
    // The function and the unknown in it are named, not the line where they matter.
    let text = "model {
  for (i in 1:2) { y[i] ~ dnorm(mu[i], 1)  w[i] ~ dgamma(sum(s[]), 1) }
  mu[1] <- m  mu[2] <- m + 1
  m <- sqrt(sum(b[]))
  for (k in 1:4) { b[k] ~ dnorm(0, 1) }
  for (k in 1:4) { s[k] ~ dgamma(1, 1) }
}";
    let refused = refusal(text, "y=1 2; w=1 2");
    assert!(
        refused.message.starts_with("edge s[] -> w[i] "),
        "{refused:?}"
    );
    let [other] = refused.others.as_slice() else {
        panic!("{refused:?}");
    };
    assert!(other.message.starts_with("edge b[] -> y[i] "), "{other:?}");
    assert_eq!(other.position(text).map(|at| at.line), Some(4));
    assert!(refused.help.is_some() && other.help.is_some());
}
