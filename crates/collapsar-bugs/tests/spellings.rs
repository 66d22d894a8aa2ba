//! Every spelling of a scale gives the same model, uniform locations are exact, and refusals name the root.

mod common;

use common::{best_bound, compiled, data};

const Y: [f64; 6] = [1.3, -0.4, 2.2, 0.7, -1.9, 0.8];

fn numbers() -> String {
    let y: Vec<String> = Y.iter().map(f64::to_string).collect();
    format!("y={}", y.join(" "))
}

/// Every way to write a precision gives the same bound.
#[test]
fn spellings_agree() {
    let spellings = [
        "pow(sigma, -2)",
        "1/(sigma*sigma)",
        "1/sigma^2",
        "sigma^-2",
        "1/pow(sigma,2)",
        "1/sigma/sigma",
        "pow(1/sigma, 2)",
        "1/s2",
        "pow(sqrt(s2), -2)",
        "exp(-2*log.sigma)",
        "sqrt(1/sigma^4)",
        "1/exp(2*log.sigma)",
    ];
    let mut bounds = vec![];
    for spelling in spellings {
        let lines = if spelling.contains("log.sigma") {
            "log.sigma ~ dnorm(0.2, 1.5)"
        } else {
            "sigma ~ dlnorm(0.2, 1.5); s2 <- sigma*sigma"
        };
        let text = format!(
            "model {{ for (i in 1:6) {{ y[i] ~ dnorm(mu, {spelling}) }}\n mu ~ dnorm(0, 0.1); {lines} }}"
        );
        bounds.push(best_bound(&compiled(&text, data(&numbers()))));
    }
    for (bound, spelling) in bounds.iter().zip(spellings) {
        assert!(
            (bound - bounds[0]).abs() < 1e-10,
            "{spelling}: {bound} {}",
            bounds[0]
        );
    }
}

/// Locations that are uniform, and standard deviations that multiply standard normals.
#[test]
fn locations_and_factors_of_means() {
    let text = "model { for (i in 1:6) { y[i] ~ dnorm(mu, 2) }\n mu ~ dunif(-0.5, 0.7) }";
    let model = compiled(text, data(&numbers()));
    let (count, low, high) = (100_000, -0.5, 0.7);
    let step = (high - low) / f64::from(count);
    let sum: f64 = (0..count)
        .map(|k| {
            let mu = low + (f64::from(k) + 0.5) * step;
            let squares: f64 = Y.iter().map(|y| (y - mu).powi(2)).sum();
            (3.0 * (1.0 / std::f64::consts::PI).ln() - squares).exp() * step / (high - low)
        })
        .sum();
    let bound = best_bound(&model);
    assert!((bound - sum.ln()).abs() < 1e-8, "{bound} {}", sum.ln());
    for prior in [
        "dunif(0, 10)",
        "dt(0, 0.25, 1) T(0,)",
        "dnorm(0, 0.1) T(0,)",
        "dexp(0.4)",
    ] {
        let text = format!(
            "model {{ for (i in 1:6) {{ y[i] ~ dnorm(mu + sigma*z[i], 4); z[i] ~ dnorm(0, 1) }}
             mu ~ dunif(-100, 100); sigma ~ {prior} }}"
        );
        let bound = best_bound(&compiled(&text, data(&numbers())));
        assert!(bound.is_finite(), "{prior}");
    }
}

/// What cannot be is refused where its prior stands.
#[test]
fn refusals_name_the_root() {
    let refuse = |lines: &str| {
        let text = format!("model {{ for (i in 1:6) {{ y[i] ~ dnorm(mu[i], tau) }}\n {lines} }}");
        let model = collapsar_bugs::Model::parse(&text).expect("a text");
        model.with(data(&numbers())).expect_err(lines).message
    };
    let both = "for (i in 1:6) { mu[i] <- sigma*z[i]; z[i] ~ dnorm(0, 1) }\n sigma ~ dunif(0, 9); tau <- pow(sigma, -2)";
    assert_eq!(
        refuse(both),
        "sigma is in a mean and in a precision, expected one of them"
    );
    let powers =
        "for (i in 1:6) { mu[i] ~ dnorm(0, 1/sigma) }\n sigma ~ dunif(0, 9); tau <- pow(sigma, -2)";
    assert_eq!(
        refuse(powers),
        "sigma stands in precisions as sigma^-2 and sigma^-1"
    );
}

/// What a label picks may be a line that is computed from others, and these from others again.
#[test]
fn labels_pick_computed_lines() {
    let model = |mean: &str| {
        format!(
            "model {{ for (i in 1:6) {{ z[i] ~ dcat(p[]); {mean} }}
             p[1:2] ~ ddirch(c(1, 1)); lambda[1] ~ dnorm(0, 0.01); lambda[2] <- lambda[1] + theta
             theta ~ dnorm(0, 0.01) T(0,); tau ~ dgamma(1, 1) }}"
        )
    };
    let of = |mean: &str| best_bound(&compiled(&model(mean), data(&numbers())));
    let direct = of("y[i] ~ dnorm(lambda[z[i]], tau)");
    let computed = of("mu[i] <- lambda[z[i]] + 0*i; y[i] ~ dnorm(mu[i], tau)");
    assert!((direct - computed).abs() < 1e-9, "{direct} {computed}");
}
