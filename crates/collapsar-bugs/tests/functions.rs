//! Functions and operators are worth what they are worth: read off the log density of a number.

mod common;

use common::{best_bound, compiled, data};

/// The value of an expression, by y ~ dnorm(expression, 1) with y = 100.
fn value(before: &str, expression: &str) -> f64 {
    let text = format!("model {{ {before} y ~ dnorm({expression}, 1) }}");
    let numbers = "y=100; a=1 2 3; M[2,3]=1 2 3 4 5 6; S[2,2]=2 1 1 3";
    let density = best_bound(&compiled(&text, data(numbers)));
    let square = -2.0 * density - std::f64::consts::TAU.ln();
    100.0 - square.max(0.0).sqrt()
}

#[test]
fn expressions_have_their_values() {
    let ln_2 = std::f64::consts::LN_2;
    for (expression, expected) in [
        ("-2^2", -4.0),
        ("2^2^3 / 8", 32.0),
        ("-2*3 + 4/2", -4.0),
        ("2 - 3 - 4", -5.0),
        ("(3 - a[3])*log(1 - a[3]/3)", 0.0),
        ("7 / 2 / 2", 1.75),
        ("1.0E1 + .5 - 1e-1", 10.4),
        ("sum(a[])", 6.0),
        ("mean(M[,])", 3.5),
        ("sd(a[]) + var(a[])", 2.0),
        ("inprod(a[], M[1,])", 14.0),
        ("inprod(a[1:2], M[,2])", 12.0),
        ("sum(M[2,])", 15.0),
        ("length(M[,])", 6.0),
        ("max(a[]) + min(a[1], -4)", -1.0),
        ("equals(a[1], 1) + step(0) + step(-1)", 2.0),
        ("pow(a[2], 3)", 8.0),
        ("exp(log(5)) + sqrt(16) + abs(-3)", 12.0),
        ("round(3.5) + trunc(-2.7)", 2.0),
        ("logit(0.5) + ilogit(0) + phi(0)", 1.0),
        ("cloglog(0.5)", ln_2.ln()),
        ("icloglog(0)", 1.0 - (-1.0_f64).exp()),
        ("loggam(5) - logfact(4)", 0.0),
        ("logdet(S[,])", 5.0_f64.ln()),
        ("prod(a[])", 6.0),
        ("sum(a[] * 2 + 1)", 15.0),
        ("sum(M[,] %*% a[])", 46.0),
        ("a[] %*% a[]", 14.0),
        ("sum(t(M[,]) %*% S[,])", 78.0),
        ("sum(inverse(S[,]))", 0.6),
        ("sum(a[c(1, 3)]) + sum(a[2:3]) + sum(1:4)", 19.0),
        ("ifelse(a[1] > 2, 5, 6)", 6.0),
        ("(1 == 1 && 0 == 1) + 2 * (1 == 1 || 0 == 1) + !1", 2.0),
        ("sum(rep(2, 3)) + sum(sort(a[]) * a[])", 20.0),
    ] {
        // A density of some thousands is known to 1e-12, its root to 1e-10.
        let found = value("", expression);
        assert!((found - expected).abs() < 1e-9, "{expression}: {found}");
    }
}

#[test]
fn computed_lines_have_their_values() {
    for (before, expression, expected) in [
        ("for (i in 1:3) { b[4 - i] <- 2 * i }", "b[3]", 2.0),
        ("log(b) <- 0.5", "b", 0.5_f64.exp()),
        ("logit(b) <- 0", "b", 0.5),
        (
            "for (i in 1:2) { for (j in 1:3) { b[i,j] <- M[i,j] * a[j] } }",
            "sum(b[1,])",
            14.0,
        ),
        ("b[1:2,1:2] <- inverse(S[,])", "sum(b[2,1:2])", 0.2),
        ("b[1:2] <- M[,] %*% a[]", "b[1] - b[2]", -18.0),
        ("c1 <- c2 + 1; c2 <- c3 * 2; c3 <- a[3]", "c1", 7.0),
    ] {
        let found = value(&format!("{before};"), expression);
        assert!((found - expected).abs() < 1e-9, "{before}: {found}");
    }
}
