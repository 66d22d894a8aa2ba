//! Small models with data, one for each distribution and combinator of the language.

/// Name, text, data.
pub(crate) const MODELS: &[(&str, &str, &str)] = &[
    (
        "normal, mean known",
        "model { for (i in 1:4) { y[i] ~ dnorm(1.5, tau) } tau ~ dgamma(2, 3) }",
        "y=1 2 4 0.5",
    ),
    (
        "normal, mean unknown",
        "model { for (i in 1:4) { y[i] ~ dnorm(mu, tau) } mu ~ dnorm(0, 0.1); tau ~ dgamma(2, 3) }",
        "y=1 2 4 0.5",
    ),
    (
        "regression with inprod",
        "model {
           for (i in 1:5) { y[i] ~ dnorm(b0 + inprod(b[], x[i,]), tau) }
           b0 ~ dnorm(0, 0.01)
           for (j in 1:2) { b[j] ~ dnorm(0, t[j]); t[j] ~ dgamma(1, 1) }
           tau ~ dgamma(1, 1)
         }",
        "x[5,2]=1 2 -1 3 2 1 0 1 1.5 -2; y=2.1 -0.4 3 0.7 1.1",
    ),
    (
        "regression with a matrix product",
        "model {
           mu[1:5] <- x[,] %*% b[1:2]
           for (i in 1:5) { y[i] ~ dnorm(mu[i], tau) }
           b[1:2] ~ dmnorm(m[], P[,])
           tau ~ dgamma(1, 1)
         }",
        "x[5,2]=1 2 -1 3 2 1 0 1 1.5 -2; y=2.1 -0.4 3 0.7 1.1; m=0 1; P[2,2]=2 0.5 0.5 1",
    ),
    (
        "hierarchical normal",
        "model {
           for (i in 1:3) {
             for (j in 1:4) { y[i,j] ~ dnorm(a[i], tau) }
             a[i] ~ dnorm(m, t)
           }
           m ~ dnorm(0, 0.01); tau ~ dgamma(1, 1); t ~ dgamma(1, 1)
         }",
        "y[3,4]=1 2 1.5 1.2 3 2.5 3.5 2.8 0 0.3 -0.5 0.4",
    ),
    (
        "gamma-Poisson with exposures",
        "model {
           for (i in 1:4) { lambda[i] <- theta[i] * t[i]; y[i] ~ dpois(lambda[i]); theta[i] ~ dgamma(2, beta) }
           beta ~ dgamma(0.1, 1)
         }",
        "t=94.3 15.7 62.9 126; y=5 1 5 14",
    ),
    (
        "products of gammas as rates",
        "model {
           for (i in 1:3) { for (j in 1:2) { y[i,j] ~ dpois(2 * a[i] * b[j]) } }
           for (i in 1:3) { a[i] ~ dgamma(2, 1) }
           for (j in 1:2) { b[j] ~ dgamma(3, c) }
           c ~ dgamma(1, 1)
         }",
        "y[3,2]=1 4 0 2 7 3",
    ),
    (
        "exponential",
        "model { for (i in 1:4) { y[i] ~ dexp(r * s) } r ~ dgamma(2, 2); s ~ dexp(1.5) }",
        "y=1 2 0.2 0.5",
    ),
    (
        "chi-squared precision",
        "model { for (i in 1:4) { y[i] ~ dnorm(mu, tau) } mu ~ dnorm(0, 2); tau ~ dchisqr(3) }",
        "y=1 2 0.2 0.5",
    ),
    (
        "Weibull",
        "model { for (i in 1:4) { y[i] ~ dweib(1.7, r * s) } r ~ dgamma(2, 2); s ~ dgamma(3, 3) }",
        "y=1 2 0.2 0.5",
    ),
    (
        "negative binomial with labels",
        "model {
           for (i in 1:4) { z[i] ~ dcat(w[]); y[i] ~ dnegbin(p[z[i]], 3) }
           w[1:2] ~ ddirch(one[])
           for (k in 1:2) { p[k] ~ dbeta(2, 1) }
         }",
        "y=1 5 0 12; one=1 1",
    ),
    (
        "binomial with labels",
        "model {
           for (i in 1:4) { z[i] ~ dbern(w); y[i] ~ dbin(p[z[i] + 1], 8) }
           w ~ dunif(0, 1)
           for (k in 1:2) { p[k] ~ dbeta(2, 1) }
         }",
        "y=1 5 0 7",
    ),
    (
        "multinomial with labels",
        "model {
           for (i in 1:3) { z[i] ~ dcat(w[]); y[i,1:3] ~ dmulti(p[z[i],], n[i]) }
           w[1:2] ~ ddirch(a[1:2])
           for (k in 1:2) { p[k,1:3] ~ ddirch(a[]) }
         }",
        "y[3,3]=1 2 3 4 0 1 0 0 5; n=6 5 5; a=0.5 1.5 2",
    ),
    (
        "Dirichlet with a zero",
        "model {
           for (i in 1:4) { z[i] ~ dcat(w[]); y[i] ~ dcat(p[z[i],]) }
           w[1:3] ~ ddirch(a[])
           for (k in 1:3) { p[k,1:2] ~ ddirch(b[]) }
         }",
        "y=1 2 2 1; a=1 0 2; b=1 2",
    ),
    (
        "mixture, means and precisions apart",
        "model {
           for (i in 1:6) { z[i] ~ dcat(w[]); y[i] ~ dnorm(mu[z[i]], tau[z[i]]) }
           w[1:2] ~ ddirch(a[])
           for (k in 1:2) { mu[k] ~ dnorm(0, 0.1); tau[k] ~ dgamma(2, 1) }
         }",
        "y=1 1.3 0.8 3 3.3 2.6; a=1 2",
    ),
    (
        "mixture with one precision",
        "model {
           for (i in 1:6) { z[i] ~ dcat(w[]); y[i] ~ dnorm(mu[z[i]], tau) }
           w[1:2] ~ ddirch(a[])
           for (k in 1:2) { mu[k] ~ dnorm(0, 0.1) }
           tau ~ dgamma(2, 1)
         }",
        "y=1 1.3 0.8 3 3.3 2.6; a=1 2",
    ),
    (
        "mixture of regressions",
        "model {
           for (i in 1:6) { z[i] ~ dcat(w[]); y[i] ~ dnorm(b[z[i]] + c[z[i]] * x[i] + d * x[i], tau[z[i]]) }
           w[1:2] ~ ddirch(a[])
           d ~ dnorm(0, 1)
           for (k in 1:2) { b[k] ~ dnorm(0, 0.1); c[k] ~ dnorm(0, 0.1); tau[k] ~ dgamma(2, 1) }
         }",
        "y=1 1.3 0.8 3 3.3 2.6; x=0.5 1 0.3 2 2.5 0.1; a=1 2",
    ),
    (
        "mixture of factors",
        "model {
           for (n in 1:5) {
             z[n] ~ dcat(p[])
             for (k in 1:2) { x[n,k] ~ dnorm(0, 1) }
             for (m in 1:2) { y[n,m] ~ dnorm(inprod(w[m,], x[n,]) + mu[z[n],m], tau) }
           }
           for (m in 1:2) {
             for (k in 1:2) { w[m,k] ~ dnorm(0, 1); mu[k,m] ~ dnorm(0, 0.1) }
           }
           p[1:2] ~ ddirch(a[])
           tau ~ dgamma(2, 1)
         }",
        "y[5,2]=1 1.3 0.8 3 3.3 2.6 0.2 0.9 3 2.2; a=1 2",
    ),
    (
        "normal-gamma mixture",
        "model {
           for (i in 1:6) { z[i] ~ dcat(w[]); y[i] ~ dnorm(mu[z[i]], tau[z[i]]) }
           w[1:2] ~ ddirch(a[])
           for (k in 1:2) { mu[k] ~ dnorm(1, 0.5 * tau[k]); tau[k] ~ dgamma(2, 1) }
         }",
        "y=1 1.3 0.8 3 3.3 2.6; a=1 2",
    ),
    (
        "normal-Wishart mixture",
        "model {
           for (n in 1:6) { z[n] ~ dcat(pi[]); y[n,1:2] ~ dmnorm(mu[z[n],], Lambda[z[n],,]) }
           pi[1:2] ~ ddirch(a[])
           for (k in 1:2) {
             mu[k,1:2] ~ dmnorm(m[], 0.3 * Lambda[k,,])
             Lambda[k,1:2,1:2] ~ dwish(R[,], 3)
           }
         }",
        "y[6,2]=1 2 1.3 2.2 0.8 1.7 3 1 3.3 0.2 2.6 0.8; a=1 2; m=1 1; R[2,2]=2 0.3 0.3 1",
    ),
    (
        "multivariate normal, mean apart",
        "model {
           for (n in 1:5) { y[n,1:2] ~ dmnorm(mu[], Lambda[,]) }
           mu[1:2] ~ dmnorm(m[], P[,])
           Lambda[1:2,1:2] ~ dwish(R[,], 3)
         }",
        "y[5,2]=1 2 1.3 2.2 0.8 1.7 3 1 3.3 0.2; m=1 1; R[2,2]=2 0.3 0.3 1; P[2,2]=1 0.2 0.2 0.5",
    ),
    (
        "multivariate random effects",
        "model {
           for (i in 1:3) {
             for (j in 1:3) { y[i,j] ~ dnorm(b[i,1] + b[i,2] * x[j], tau) }
             b[i,1:2] ~ dmnorm(m[], Omega[,])
           }
           m[1:2] ~ dmnorm(o[], P[,])
           Omega[1:2,1:2] ~ dwish(R[,], 3)
           tau ~ dgamma(1, 1)
         }",
        "y[3,3]=1 2 3.1 0 1.5 2.5 0.5 2 4; x=-1 0 1; o=0 0; P[2,2]=0.1 0 0 0.1; R[2,2]=1 0 0 1",
    ),
    (
        "factor analysis",
        "model {
           for (n in 1:4) {
             for (q in 1:2) { x[n,q] ~ dnorm(0, 1) }
             for (d in 1:3) { y[n,d] ~ dnorm(m[d] + inprod(w[d,], x[n,]), tau) }
           }
           for (d in 1:3) {
             m[d] ~ dnorm(0, 0.1)
             for (q in 1:2) { w[d,q] ~ dnorm(0, alpha[q]) }
           }
           for (q in 1:2) { alpha[q] ~ dgamma(1, 1) }
           tau ~ dgamma(1, 1)
         }",
        "y[4,3]=1 2 0.5 -1 0.3 2 0.8 -0.4 1.2 0.1 0.9 -1.5",
    ),
    (
        "matrix factorisation with gaps",
        "model {
           for (r in 1:5) { y[r] ~ dnorm(u[row[r],1] * v[col[r],1] + u[row[r],2] * v[col[r],2], tau) }
           for (i in 1:3) { for (q in 1:2) { u[i,q] ~ dnorm(0, 1) } }
           for (j in 1:2) { for (q in 1:2) { v[j,q] ~ dnorm(0, 1) } }
           tau ~ dgamma(2, 1)
         }",
        "y=1 2 0.5 -1 0.3; row=1 1 2 3 3; col=1 2 2 1 2",
    ),
    (
        "hidden Markov model",
        "model {
           s[1] ~ dcat(p0[])
           for (t in 2:5) { s[t] ~ dcat(P[s[t-1],]) }
           for (t in 1:5) { y[t] ~ dcat(E[s[t],]) }
           p0[1:2] ~ ddirch(one[1:2])
           for (k in 1:2) { P[k,1:2] ~ ddirch(one[1:2]); E[k,1:3] ~ ddirch(one[]) }
         }",
        "y=1 3 2 2 1; one=1 1 1",
    ),
    (
        "hidden Markov model with normal emissions",
        "model {
           s[1] ~ dcat(p0[])
           for (t in 2:5) { s[t] ~ dcat(P[s[t-1],]) }
           for (t in 1:5) { y[t] ~ dnorm(mu[s[t]], tau[s[t]]) }
           for (k in 1:2) { P[k,1:2] ~ ddirch(one[]); mu[k] ~ dnorm(0, 0.1 * tau[k]); tau[k] ~ dgamma(2, 2) }
         }",
        "y=1 3 2.5 2 1; one=1 1; p0=0.5 0.5",
    ),
    (
        "linear state space chain",
        "model {
           x[1] ~ dnorm(0, 1)
           for (t in 2:5) { x[t] ~ dnorm(0.9 * x[t-1], q) }
           for (t in 1:5) { y[t] ~ dnorm(x[t], r) }
           q ~ dgamma(2, 1); r ~ dgamma(2, 1)
         }",
        "y=1 3 2.5 2 1",
    ),
    (
        "autoregression with a coefficient",
        "model {
           x[1] ~ dnorm(0, 1)
           for (t in 2:5) { x[t] ~ dnorm(a * x[t-1], q) }
           for (t in 1:5) { y[t] ~ dnorm(x[t], 4) }
           a ~ dnorm(0, 1); q ~ dgamma(2, 1)
         }",
        "y=1 3 2.5 2 1",
    ),
    (
        "discrete network with zeros",
        "model {
           for (i in 1:3) {
             a[i] ~ dcat(p[])
             b[i] ~ dcat(q[a[i],])
             c[i] ~ dcat(r[a[i],b[i],])
           }
           p[1:2] ~ ddirch(one[])
         }",
        "c=1 NA 2; one=1 1; q[2,3]=0.5 0.5 0 0 0.3 0.7; r[2,3,2]=1 0 0.5 0.5 0.1 0.9 0.2 0.8 0 1 0.4 0.6",
    ),
    (
        "max, step and equals of labels",
        "model {
           for (i in 1:3) {
             a[i] ~ dcat(p[]); b[i] ~ dcat(p[])
             either[i] <- max(a[i], b[i])
             same[i] <- 1 + equals(a[i], b[i]) + step(a[i] - 2)
             y[i] ~ dcat(E[either[i],])
             x[i] ~ dnorm(mu[same[i]], 2)
           }
           p[1:3] ~ ddirch(one[])
           for (k in 1:3) { E[k,1:2] ~ ddirch(one[1:2]); mu[k] ~ dnorm(0, 0.5) }
         }",
        "y=1 2 2; x=0.4 1.2 -0.7; one=1 1 1",
    ),
    (
        "missing numbers and labels",
        "model {
           for (i in 1:6) { z[i] ~ dcat(w[]); y[i] ~ dnorm(mu[z[i]], tau) }
           w[1:2] ~ ddirch(a[])
           for (k in 1:2) { mu[k] ~ dnorm(0, 0.1) }
           tau ~ dgamma(2, 1)
         }",
        "y=1 1.3 NA 3 NA 2.6; z=1 NA NA 2 1 NA; a=1 2",
    ),
    (
        "missing responses of a regression",
        "model {
           for (i in 1:5) { y[i] ~ dnorm(a + b * x[i], tau) }
           a ~ dnorm(0, 0.1); b ~ dnorm(0, 0.1); tau ~ dgamma(1, 1)
         }",
        "x=1 2 3 4 5; y=1 NA 3.2 NA 4.5",
    ),
    (
        "ragged loops",
        "model {
           for (i in 1:3) { for (j in start[i]:(start[i + 1] - 1)) { y[j] ~ dpois(l[i]) } l[i] ~ dgamma(a, b) }
           b ~ dgamma(1, 1)
         }",
        "start=1 3 4 8; y=1 2 0 4 3 5 6; a=2",
    ),
    (
        "mixture of Poissons",
        "model {
           for (i in 1:5) { z[i] ~ dcat(w[]); y[i] ~ dpois(l[z[i]]) }
           w[1:2] ~ ddirch(a[])
           for (k in 1:2) { l[k] ~ dgamma(2, 1) }
         }",
        "y=1 2 0 7 9; a=1 1",
    ),
    (
        "latent classes of several items",
        "model {
           for (i in 1:4) {
             c[i] ~ dcat(w[])
             for (j in 1:3) { y[i,j] ~ dbern(p[c[i],j]) }
           }
           w[1:2] ~ ddirch(a[])
           for (k in 1:2) { for (j in 1:3) { p[k,j] ~ dbeta(1, 2) } }
         }",
        "y[4,3]=1 0 1 1 1 1 0 0 0 0 NA 1; a=1 1",
    ),
    (
        "topics",
        "model {
           for (d in 1:2) { theta[d,1:2] ~ ddirch(alpha[]) }
           for (k in 1:2) { phi[k,1:3] ~ ddirch(beta[]) }
           for (i in 1:7) { z[i] ~ dcat(theta[doc[i],]); w[i] ~ dcat(phi[z[i],]) }
         }",
        "doc=1 1 1 1 2 2 2; w=1 2 1 2 3 3 2; alpha=0.5 0.5; beta=0.4 0.4 0.4",
    ),
    (
        "quantification",
        "model {
           for (i in 1:4) { z[i] ~ dcat(theta[]); one[i] ~ dbern(P[i,z[i]]) }
           theta[1:3] ~ ddirch(alpha[])
         }",
        "one=1 1 1 1; alpha=1 1 1; P[4,3]=0.5 0.1 0 0.2 0.2 0.2 0 0.9 0.3 0.4 0 0",
    ),
    (
        "crossed random effects",
        "model {
           for (i in 1:3) { for (j in 1:2) { y[i,j] ~ dnorm(m + a[i] + b[j], tau) } }
           for (i in 1:3) { a[i] ~ dnorm(0, ta) }
           for (j in 1:2) { b[j] ~ dnorm(0, tb) }
           m ~ dnorm(0, 0.01); tau ~ dgamma(1, 1); ta ~ dgamma(1, 1); tb ~ dgamma(1, 1)
         }",
        "y[3,2]=1 2 0.5 2.5 1.7 3",
    ),
    (
        "scaled mixture of normals",
        "model {
           for (i in 1:5) { y[i] ~ dnorm(mu, tau * u[i]); u[i] ~ dgamma(2, 2) }
           mu ~ dnorm(0, 0.1); tau ~ dgamma(2, 1)
         }",
        "y=1 1.2 0.7 8 1.1",
    ),
    (
        "logistic regression",
        "model {
           for (i in 1:6) { y[i] ~ dbern(p[i]); logit(p[i]) <- a + b * x[i] }
           a ~ dnorm(0, 0.5); b ~ dnorm(0.3, 0.4)
         }",
        "y=1 0 1 1 0 1; x=0.5 -1 2 0.3 -0.2 -0.4",
    ),
    (
        "counts with random effects on log odds",
        "model {
           for (i in 1:4) { y[i] ~ dbin(p[i], n[i]); p[i] <- ilogit(a + u[i]); u[i] ~ dnorm(0, tau) }
           a ~ dnorm(0, 0.5); tau ~ dgamma(2, 1)
         }",
        "y=3 0 7 2; n=5 2 7 9",
    ),
    (
        "occupancy",
        "model {
           for (i in 1:4) {
             z[i] ~ dbern(psi[i]); logit(psi[i]) <- a + b * x[i]
             for (j in 1:2) { y[i,j] ~ dbern(z[i] * p[i,j]); logit(p[i,j]) <- c }
           }
           a ~ dnorm(0, 0.5); b ~ dnorm(0, 0.5); c ~ dnorm(0, 0.5)
         }",
        "y[4,2]=1 0 0 0 1 1 0 0; x=0.5 -1 1.5 0.2",
    ),
    (
        "mixture of logistic regressions",
        "model {
           for (i in 1:6) { z[i] ~ dcat(w[]); y[i] ~ dbin(p[i], 3); logit(p[i]) <- a[z[i]] + b * x[i] }
           w[1:2] ~ ddirch(one[]); a[1] ~ dnorm(-1, 1); a[2] ~ dnorm(1, 1); b ~ dnorm(0, 1)
         }",
        "y=1 0 3 2 0 3; x=0.5 -1 2 0.3 -0.2 -0.4; one=2 2",
    ),
    (
        "a probability whose log odds are read",
        "model {
           mean.p ~ dbeta(2, 3); a <- logit(mean.p)
           for (i in 1:4) { y[i] ~ dbern(p[i]); logit(p[i]) <- a + b * x[i] }
           b ~ dnorm(0, 0.5)
         }",
        "y=1 0 1 1; x=0.5 -1 2 0.3",
    ),
    (
        "answers with a probit",
        "model {
           for (i in 1:5) { y[i] ~ dbern(p[i]); probit(p[i]) <- a + b * x[i] }
           k ~ dbin(phi(a), 2); a ~ dnorm(0, 0.5); b ~ dnorm(0.3, 0.4)
         }",
        "y=1 0 1 1 0; x=0.5 -1 2 0.3 -0.2; k=1",
    ),
    (
        "t errors",
        "model {
           for (i in 1:6) { y[i] ~ dt(a + b * x[i], tau, 4) }
           a ~ dnorm(0, 0.1); b ~ dnorm(0, 0.1); tau ~ dgamma(2, 1)
         }",
        "x=-1 0 0.5 1 1.5 2; y=0.1 1 1.2 1.7 9 2.8",
    ),
    (
        "effects with a t distribution",
        "model {
           for (i in 1:4) {
             for (j in 1:2) { y[i,j] ~ dnorm(m + e[i], tau) }
             e[i] ~ dt(0, t, 3)
           }
           m ~ dnorm(0, 0.1); tau ~ dgamma(2, 1); t ~ dgamma(2, 1)
         }",
        "y[4,2]=0.1 0.4 1 0.7 -0.3 0.2 4.6 5.1",
    ),
    (
        "double exponential errors of an unknown rate",
        "model { for (i in 1:5) { y[i] ~ ddexp(mu, r) } mu ~ dnorm(0, 0.1); r ~ dgamma(2, 1) }",
        "y=1 1.2 0.7 6 1.1",
    ),
    (
        "double exponential coefficients",
        "model {
           for (i in 1:5) { y[i] ~ dnorm(b[1] * x[i,1] + b[2] * x[i,2], tau) }
           for (j in 1:2) { b[j] ~ ddexp(0, r) }
           r ~ dgamma(2, 1); tau ~ dgamma(2, 1)
         }",
        "x[5,2]=1 2 -1 3 2 1 0 1 1.5 -2; y=2.1 -0.4 3 0.7 1.1",
    ),
    (
        "logistic errors",
        "model { for (i in 1:5) { y[i] ~ dlogis(mu, 2.5) } mu ~ dnorm(0, 0.1) }",
        "y=1 1.2 0.7 4 1.1",
    ),
    (
        "log-normal",
        "model { for (i in 1:9) { y[i] ~ dlnorm(a + b * x[i], tau) } a ~ dnorm(0, 0.1); b ~ dnorm(0, 1); tau ~ dgamma(2, 1) }",
        "x=1 2 3 4 5 6 7 8 9; y=1 1.2 0.7 4 1.1 2 3.5 2.5 6",
    ),
    (
        "mixture of t distributions",
        "model {
           for (i in 1:5) { z[i] ~ dcat(w[]); y[i] ~ dt(mu[z[i]], tau, k[z[i]]) }
           w[1:2] ~ ddirch(one[])
           for (j in 1:2) { mu[j] ~ dnorm(m[j], 0.5) }
           tau ~ dgamma(2, 1)
         }",
        "y=-1.1 -0.8 2.1 2.6 9; one=1 1; m=-1 2; k=3 6",
    ),
    (
        "Pareto",
        "model { for (i in 1:4) { y[i] ~ dpar(a, 0.5) } a ~ dgamma(2, 1) }",
        "y=1 2 0.7 0.5",
    ),
    (
        "standard deviations with priors of their own",
        "model {
           for (j in 1:4) {
             for (i in 1:4) { y[i,j] ~ dnorm(theta[j], pow(sigma, -2)) }
             theta[j] ~ dnorm(mu, 1 / (omega * omega))
           }
           mu ~ dnorm(0, 0.01)
           sigma ~ dt(0, 0.04, 3) T(0, )
           omega ~ dnorm(0, 0.25) T(0, )
         }",
        "y[4,4]=1 2.2 -1 3.1 0.4 2.9 -0.2 4 1.7 2 0.3 3.3 0.9 1.4 -0.7 3.9",
    ),
    (
        "a uniform standard deviation, and precisions that are log-normal",
        "model {
           for (i in 1:12) { y[i] ~ dnorm(a + b * x[i], tau[g[i]] / (sigma * sigma)) }
           for (j in 1:2) { tau[j] ~ dlnorm(0, 2) }
           a ~ dnorm(0, 0.01); b ~ dnorm(0, 0.01); sigma ~ dunif(0, 100)
         }",
        "x=1 2 3 4 5 6 7 8 9 10 11 12; g=1 1 1 1 1 1 2 2 2 2 2 2;
         y=2.1 2.4 3.9 4.2 4.4 6.3 7.9 7.1 10.2 9.6 11.9 13.1",
    ),
    (
        "quantile regression",
        "model {
           for (i in 1:5) {
             w[i] ~ dexp(tau)
             me[i] <- (1 - 2 * p) / (p * (1 - p)) * w[i] + a + b * x[i]
             pe[i] <- (p * (1 - p) * tau) / (2 * w[i])
             y[i] ~ dnorm(me[i], pe[i])
           }
           a ~ dnorm(0, 0.1); b ~ dnorm(0, 0.1); tau ~ dgamma(2, 1)
         }",
        "x=-1 0 0.5 1 2; y=0.1 1 2.2 1.7 2.8; p=0.25",
    ),
    (
        "a lasso with variances",
        "model {
           for (i in 1:5) { y[i] ~ dnorm(b[1] * x[i,1] + b[2] * x[i,2], tau) }
           for (j in 1:2) { b[j] ~ dnorm(0, tau / v[j]); v[j] ~ dexp(l2 / 2) }
           l2 ~ dgamma(2, 1); tau ~ dgamma(2, 1)
         }",
        "x[5,2]=1 2 -1 3 2 1 0 1 1.5 -2; y=2.1 -0.4 3 0.7 1.1",
    ),
    (
        "a horseshoe",
        "model {
           for (i in 1:5) { y[i] ~ dnorm(b[1] * x[i,1] + b[2] * x[i,2], tau) }
           for (j in 1:2) { b[j] ~ dnorm(0, 1 / (lambda[j]^2 * s^2)); lambda[j] ~ dt(0, 1, 1) T(0,) }
           s ~ dt(0, 1, 1) T(0,); tau ~ dgamma(2, 1)
         }",
        "x[5,2]=1 2 -1 3 2 1 0 1 1.5 -2; y=2.1 -0.4 3 0.7 1.1",
    ),
    (
        "log-linear counts with effects of groups and of units",
        "model {
           for (i in 1:6) {
             y[i] ~ dpois(mu[i])
             log(mu[i]) <- log(n[i]) + a + b * x[i] + g[1 + step(i - 3.5)] + e[i]
             e[i] ~ dnorm(0, tau)
           }
           for (j in 1:2) { g[j] ~ dnorm(0, tg) }
           a ~ dnorm(0, 0.1); b ~ dnorm(0, 0.5); tau ~ dgamma(3, 1); tg ~ dgamma(3, 1)
         }",
        "y=0 2 3 1 5 4; x=-1 -0.4 0.2 0.1 0.9 1.1; n=1 2 2 1 3 1",
    ),
    (
        "a log-linear hazard times increments of a baseline",
        "model {
           for (i in 1:4) { for (j in 1:3) { dN[i,j] ~ dpois(Y[i,j] * exp(b * x[i]) * h[j]) } }
           for (j in 1:3) { h[j] ~ dgamma(1.5, 2) }
           b ~ dnorm(0, 0.5)
         }",
        "dN[4,3]=1 0 0 0 1 0 0 0 1 0 0 0; Y[4,3]=1 0 0 1 1 0 1 1 1 1 1 1; x=0.5 -0.5 0.5 -0.5",
    ),
    (
        "zero inflation with log-linear rates",
        "model {
           for (i in 1:6) { y[i] ~ dpois(mu[i]); mu[i] <- z[i] * exp(a + b * x[i]); z[i] ~ dbern(p) }
           p ~ dbeta(2, 2); a ~ dnorm(0, 0.5); b ~ dnorm(0, 0.5)
         }",
        "y=0 2 0 1 5 0; x=-1 -0.4 0.2 0.1 0.9 1.1",
    ),
    (
        "zero-inflated negative binomial counts with log-linear means",
        "model {
           for (i in 1:6) {
             y[i] ~ dnegbin(p[i], 2); p[i] <- 2 / (2 + mu[i]); mu[i] <- z[i] * exp(a + b * x[i]); z[i] ~ dbern(w)
           }
           w ~ dbeta(2, 2); a ~ dnorm(0, 0.5); b ~ dnorm(0, 0.5)
         }",
        "y=0 2 0 1 5 0; x=-1 -0.4 0.2 0.1 0.9 1.1",
    ),
    (
        "log-linear counts with a standard deviation of its own",
        "model {
           for (i in 1:6) { y[i] ~ dpois(mu[i]); log(mu[i]) <- a + b * x[i] + e[i]; e[i] ~ dnorm(0, pow(s, -2)) }
           a ~ dnorm(0, 0.1); b ~ dnorm(0, 0.5); s ~ dnorm(0, 1) T(0,)
         }",
        "y=0 2 3 1 5 4; x=-1 -0.4 0.2 0.1 0.9 1.1",
    ),
    (
        "waiting times with log-linear rates",
        "model {
           for (i in 1:4) {
             t[i] ~ dexp(exp(a + b * x[i])); u[i] ~ dweib(1.5, mu[i]); log(mu[i]) <- a - b * x[i]
             w[i] ~ dgamma(2, r[i]); log(r[i]) <- c + x[i] * b
           }
           a ~ dnorm(0, 0.2); b ~ dnorm(0, 0.5); c ~ dnorm(0, 0.2)
         }",
        "t=0.3 1.2 2 0.7; u=1 0.4 0.8 2; w=3 1.1 0.9 2.2; x=-1 -0.2 0.3 1.4",
    ),
    (
        "choices and counts among three with exponentials over their sum",
        "model {
           for (i in 1:5) {
             y[i] ~ dcat(p[i,1:3])
             for (k in 1:3) { p[i,k] <- phi[i,k] / sum(phi[i,1:3]); log(phi[i,k]) <- a[k] + b[k] * x[i] }
           }
           n[1:3] ~ dmulti(q[1:3], 9)
           for (k in 1:3) { q[k] <- exp(a[k] + e) / sum(exp(a[1:3] + e)) }
           a[1] <- 0; b[1] <- 0; e ~ dnorm(0, 2)
           for (k in 2:3) { a[k] ~ dnorm(0, 0.3); b[k] ~ dnorm(0, tau) }
           tau ~ dgamma(3, 2)
         }",
        "y=1 2 3 2 3; x=-1 -0.4 0.9 0.3 1.2; n=2 3 4",
    ),
];
