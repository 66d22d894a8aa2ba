//! Decides whether the classic examples are read, relation by relation.

use super::super::ast::{Kind, Program, Statement};
use super::super::parse;

const MODELS: [(&str, usize, usize, &str); 15] = [
    (
        "bitseq",
        2,
        4,
        "# known read likelihoods
        data {
           for (n in 1:N) { one[n] <- 1 }
        }
        model {
           for (n in 1:N) {
              z[n] ~ dcat(theta[])
              one[n] ~ dbern(L[n,z[n]])
           }
           theta[1:M] ~ ddirch(alpha[])
        }",
    ),
    (
        "gmm",
        2,
        5,
        "model {
           for (n in 1:N) {
              z[n] ~ dcat(pi[])
              y[n,1:D] ~ dmnorm(mu[z[n],], Lambda[z[n],,])
           }
           pi[1:K] ~ ddirch(alpha[])
           for (k in 1:K) {
              mu[k,1:D] ~ dmnorm(m0[], kappa0*Lambda[k,,])
              Lambda[k,1:D,1:D] ~ dwish(R0[,], nu0)
           }
        }",
    ),
    (
        "lda",
        3,
        4,
        "model {
           for (n in 1:NT) {
              z[n] ~ dcat(theta[doc[n],])
              w[n] ~ dcat(phi[z[n],])
           }
           for (d in 1:D) { theta[d,1:K] ~ ddirch(alpha[]) }
           for (k in 1:K) { phi[k,1:V] ~ ddirch(eta[]) }
        }",
    ),
    (
        "rats_hier",
        2,
        11,
        "model {
           for (i in 1:N) {
              for (j in 1:T) { Y[i,j] ~ dnorm(alpha[i] + beta[i]*(x[j] - x.bar), tau.c) }
              alpha[i] ~ dnorm(alpha.c, tau.alpha)
              beta[i]  ~ dnorm(beta.c, tau.beta)
           }
           x.bar     <- mean(x[])
           alpha.c    ~ dnorm(0, 1.0E-4)
           beta.c     ~ dnorm(0, 1.0E-4)
           tau.c      ~ dgamma(1.0E-3, 1.0E-3)
           tau.alpha  ~ dgamma(1.0E-3, 1.0E-3)
           tau.beta   ~ dgamma(1.0E-3, 1.0E-3)
           sigma     <- 1/sqrt(tau.c)
           alpha0    <- alpha.c - beta.c*x.bar
        }",
    ),
    (
        "line",
        1,
        6,
        "model { for (i in 1:N) { Y[i] ~ dnorm(mu[i], tau); mu[i] <- alpha + beta * (x[i] - mean(x[])) }
           alpha ~ dnorm(0, .001) beta ~ dnorm(0, .001)
           tau ~ dgamma(1.0E-3, 1.0E-3); sigma <- pow(tau, -1/2); }",
    ),
    (
        "rats",
        2,
        12,
        "var x[T], mu[N,T], Y[N,T], alpha[N], beta[N], alpha.c, tau.alpha,
            beta.c, tau.beta, tau.c, sigma, x.bar;
        model {
           for (i in 1:N) {
              for (j in 1:T) {
                 mu[i,j] <- alpha[i] + beta[i]*(x[j] - x.bar);
                 Y[i,j]   ~ dnorm(mu[i,j],tau.c)
              }
              alpha[i] ~ dnorm(alpha.c,tau.alpha);
              beta[i]  ~ dnorm(beta.c,tau.beta);
           }
           alpha.c   ~ dnorm(0,1.0E-4);
           beta.c    ~ dnorm(0,1.0E-4);
           tau.c     ~ dgamma(1.0E-3,1.0E-3);
           tau.alpha ~ dgamma(1.0E-3,1.0E-3);
           tau.beta  ~ dgamma(1.0E-3,1.0E-3);
           sigma    <- 1.0/sqrt(tau.c);
           x.bar    <- mean(x[]);
           alpha0   <- alpha.c - beta.c*x.bar;
        }",
    ),
    (
        "birats",
        2,
        9,
        "model {
           for (i in 1:N) {
              beta[i,1:2] ~ dmnorm(mu.beta[1:2], R[1:2,1:2])
              for (j in 1:T) {
                 Y[i,j] ~ dnorm(mu[i,j], tauC)
                 mu[i,j] <- beta[i,1] + beta[i,2] * x[j]
              }
           }
           mu.beta[1:2] ~ dmnorm(mean[1:2], prec[1:2,1:2])
           R[1:2,1:2] ~ dwish(Omega[1:2,1:2], 2)
           tauC ~ dgamma(0.001, 0.001)
           sigma <- 1 / sqrt(tauC)
           Sigma.beta[1:2, 1:2] <- inverse(R[,])
           rho <- Sigma.beta[1,2] / sqrt(Sigma.beta[1,1] * Sigma.beta[2,2])
        }",
    ),
    (
        "jaw",
        5,
        8,
        "model {
           beta0 ~ dnorm(0.0, 0.001)
           beta1 ~ dnorm(0.0, 0.001)
           for (i in 1:N) { Y[i, 1:M] ~ dmnorm(mu[], Omega[,]) }
           for (j in 1:M) { mu[j] <- beta0 + beta1 * age[j] }
           Omega[1:M, 1:M] ~ dwish(R[,], 4)
           Sigma[1:M, 1:M] <- inverse(Omega[,])
           for (i in 1:N) {
              for (j in 1:M) { resid[i, j] <- Y[i, j] - mu[j] }
           }
           for (j in 1:M) { RSS[j] <- sum(resid[,j]^2) }
        }",
    ),
    (
        "asia",
        0,
        8,
        "model {
           smoking ~ dcat(p.smoking[1:2])
           tuberculosis ~ dcat(p.tuberculosis[asia, 1:2])
           lung.cancer ~ dcat(p.lung.cancer[smoking, 1:2])
           bronchitis ~ dcat(p.bronchitis[smoking, 1:2])
           either <- max(tuberculosis, lung.cancer)
           xray ~ dcat(p.xray[either, 1:2])
           dyspnoea ~ dcat(p.dyspnoea[either, bronchitis, 1:2])
           asia ~ dcat(p.asia[])
        }",
    ),
    (
        "biops",
        1,
        14,
        "model {
           for (i in 1:ns) {
              nbiops[i] <- sum(biopsies[i, ])
              true[i] ~ dcat(p[])
              biopsies[i, 1:4] ~ dmulti(error[true[i], ], nbiops[i])
           }
           error[2, 1:2] ~ ddirch(prior[1:2])
           error[3, 1:3] ~ ddirch(prior[1:3])
           error[4, 1:4] ~ ddirch(prior[1:4])
           p[1:4] ~ ddirch(prior[])
           error[1, 1] <- 1
           error[1, 2] <- 0; error[1, 3] <- 0; error[1, 4] <- 0
           error[2, 3] <- 0; error[2, 4] <- 0
           error[3, 4] <- 0
        }",
    ),
    (
        "eyes",
        1,
        10,
        "model {
           for (i in 1:N) {
              y[i] ~ dnorm(mu[i], tau)
              mu[i] <- lambda[T[i]]
              T[i] ~ dcat(P[])
           }
           P[1:2] ~ ddirch(alpha[])
           theta ~ dnorm(0.0, 1.0E-6) I(0.0, )
           lambda[2] <- lambda[1] + theta
           lambda[1] ~ dnorm(0.0, 1.0E-6)
           tau ~ dgamma(0.001, 0.001)
           sigma <- 1 / sqrt(tau)
           sorted <- step(lambda[2] - lambda[1])
        }",
    ),
    (
        "equiv",
        3,
        15,
        "model {
           for (k in 1:P) {
              for (i in 1:N) {
                 Y[i,k] ~ dnorm(m[i,k], tau1)
                 m[i,k] <- mu + sign[T[i,k]] * phi / 2 + sign[k] * pi / 2 + delta[i]
                 T[i,k] <- group[i] * (k - 1.5) + 1.5
              }
           }
           for (i in 1:N) { delta[i] ~ dnorm(0.0, tau2) }
           tau1 ~ dgamma(0.001, 0.001) sigma1 <- 1 / sqrt(tau1)
           tau2 ~ dgamma(0.001, 0.001) sigma2 <- 1 / sqrt(tau2)
           mu ~ dnorm(0.0, 1.0E-6)
           phi ~ dnorm(0.0, 1.0E-6)
           pi ~ dnorm(0.0, 1.0E-6)
           theta <- exp(phi)
           equiv <- step(theta - 0.8) - step(theta - 1.2)
           sign[1] <- 1
           sign[2] <- -1
        }",
    ),
    (
        "dyes",
        2,
        9,
        "model {
           for (i in 1:BATCHES) {
              mu[i] ~ dnorm(theta, tau.btw)
              for (j in 1:SAMPLES) { y[i,j] ~ dnorm(mu[i], tau.with) }
           }
           theta ~ dnorm(0.0, 1.0E-10)
           tau.with ~ dgamma(0.001, 0.001)
           sigma2.with <- 1 / tau.with
           tau.btw ~ dgamma(0.001, 0.001)
           sigma2.btw <- 1 / tau.btw
           sigma2.tot <- sigma2.with + sigma2.btw;
           f.btw <- sigma2.btw / (sigma2.with + sigma2.btw);;
        }",
    ),
    (
        "surgical",
        1,
        7,
        "model {
           for (i in 1:N) {
              b[i] ~ dnorm(mu, tau)
              r[i] ~ dbin(p[i], n[i])
              logit(p[i]) <- b[i]
           }
           pop.mean <- exp(mu) / (1 + exp(mu))
           mu ~ dnorm(0.0, 1.0E-6)
           sigma = 1 / sqrt(tau)
           tau ~ dgamma(0.001, 0.001)
        }",
    ),
    (
        "pump",
        1,
        5,
        "model
        {
           for (i in 1 : N) {
              theta[i] ~ dgamma(alpha, beta)
              lambda[i] <- theta[i] * t[i]
              x[i] ~ dpois(lambda[i])
           }
           alpha ~ dexp(1)
           beta ~ dgamma(0.1, 1.0)
        }",
    ),
];

/// Loops and relations.
fn count(statements: &[Statement]) -> (usize, usize) {
    statements
        .iter()
        .map(|statement| match statement {
            Statement::For { body, .. } => {
                let (loops, relations) = count(body);
                (loops + 1, relations)
            }
            Statement::Relation(_) => (0, 1),
        })
        .fold((0, 0), |sum, each| (sum.0 + each.0, sum.1 + each.1))
}

fn read(source: &str) -> Program {
    parse(source).unwrap_or_else(|error| panic!("{}", error.render("model.bug", source)))
}

#[test]
fn classic_models_are_read() {
    for (name, loops, relations, source) in MODELS {
        let program = read(source);
        let (data, model) = (count(&program.data), count(&program.model));
        assert_eq!(
            (data.0 + model.0, data.1 + model.1),
            (loops, relations),
            "{name}"
        );
    }
}

#[test]
fn declarations_hold_lengths() {
    let program = read("var x[N, 2*T], y\nvar z;; model { }");
    let dims: Vec<(&str, usize)> = program
        .vars
        .iter()
        .map(|variable| (variable.name.text.as_str(), variable.dims.len()))
        .collect();
    assert_eq!(dims, [("x", 2), ("y", 0), ("z", 0)]);
    assert_eq!(program.model, []);
}

#[test]
fn a_line_break_means_nothing() {
    let lines = "model { x\n~\ndnorm(\nmu\n,tau\n)\nT\n(\n0\n,\n)\ny <- a\n+ b\nlog(z)\n<- 1 }";
    let program = read(lines);
    let line = read(&lines.replace('\n', " "));
    // One byte was put for another, so that even the places agree.
    assert_eq!(program, line);
    assert_eq!(count(&program.model), (0, 3));
}

#[test]
fn names_that_are_words_elsewhere_are_variables() {
    let program = read(
        "model {
            T ~ dnorm(0, 1) I[1] <- 2 T[1] ~ dnorm(0, 1)
            data <- 1 model[1] <- data var = 2 C ~ dcat(p[]) if <- 1 function[2] <- 2
            x <- T
            t ~ dnorm(I, T) I(T, I)
            list <- const
        }",
    );
    assert_eq!(count(&program.model), (0, 12));
}

#[test]
fn bounds_may_be_left_out() {
    let source = "model { a ~ d(1) T(0, 1) b ~ d(1) I(, 1) c ~ d(1)T(0,) d ~ d(1) T (,) e ~ d(1) }";
    let bounds: Vec<Option<(bool, bool)>> = read(source)
        .model
        .into_iter()
        .map(|statement| match statement {
            Statement::Relation(relation) => match relation.kind {
                Kind::Stochastic { truncation, .. } => {
                    truncation.map(|bounds| (bounds.lower.is_some(), bounds.upper.is_some()))
                }
                Kind::Deterministic { .. } => panic!("deterministic"),
            },
            Statement::For { .. } => panic!("a loop"),
        })
        .collect();
    let (yes, no) = (true, false);
    assert_eq!(
        bounds,
        [
            Some((yes, yes)),
            Some((no, yes)),
            Some((yes, no)),
            Some((no, no)),
            None
        ]
    );
}

#[test]
fn places_of_relations_and_bounds_are_exact() {
    let source = "model { log(mu[i]) <- (a);\n x[1, ] ~ dnorm( 0, 1 ) T( 0, ) }";
    let text = |span: super::super::ast::Span| &source[span.start as usize..span.end as usize];
    let mut seen = Vec::new();
    for statement in read(source).model {
        let Statement::Relation(relation) = statement else {
            panic!("a loop");
        };
        seen.push(text(relation.span));
        seen.push(text(relation.target.span));
        if let Kind::Stochastic {
            truncation: Some(bounds),
            ..
        } = relation.kind
        {
            seen.push(text(bounds.span));
        }
    }
    assert_eq!(
        seen,
        [
            "log(mu[i]) <- (a)",
            "mu[i]",
            "x[1, ] ~ dnorm( 0, 1 ) T( 0, )",
            "x[1, ]",
            "T( 0, )"
        ]
    );
}
