//! JAGS's own rules: what a name on the left, a counter and a spelling mean.

mod common;

use collapsar::special::ln_gamma;
use collapsar_bugs::Model;
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
    same(&shares("p", "c(1, 1, 1)"), &shares("p[1:3]", "alpha[]"), numbers);
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
    for (name, mean) in [("p[1,1]", 1.0), ("p[1,2]", 0.0), ("p[2,1]", 3.0 / 7.0), ("p[3,3]", 4.0 / 11.0)] {
        assert!((found[name] - mean).abs() < 1e-12, "{name}: {}", found[name]);
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
        format!("model {{ for (i in 1:4) {{ {y}[i] ~ {of}(mu, tau) }} mu ~ dnorm(0, 0.1) tau ~ dgamma(1, 1) }}")
    };
    let y = [0.3_f64, 2.0, 5.5, 1.1];
    let mut numbers = data("");
    put(&mut numbers, "y", &[4], &y);
    put(&mut numbers, "x", &[4], &y.map(f64::ln));
    let jacobian: f64 = y.iter().map(|y| y.ln()).sum();
    let [a, b] = [text("y", "dlnorm"), text("x", "dnorm")].map(|t| {
        let mut given = numbers.clone();
        given.arrays.retain(|name, _| t.contains(&format!("{name}[i]")));
        best_bound(&compiled(&t, given))
    });
    assert!((a + jacobian - b).abs() < 1e-9, "{a} {b}");
}

#[test]
fn a_flat_prior_is_the_limit_of_wide_ones_but_for_a_constant() {
    let text = |prior: &str| {
        format!("model {{ for (i in 1:4) {{ y[i] ~ dnorm(mu, 2) }} mu ~ {prior} }}")
    };
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
    // Nothing says where it is: no proper posterior.
    let alone = Model::parse("model { mu ~ dflat() y ~ dnorm(0, 1) }").unwrap();
    let refused = alone.with(data("y=1")).err().map(|d| d.message);
    assert!(refused.is_some_and(|m| m.contains("dflat")));
}
