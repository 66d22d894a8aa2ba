//! How far draws can be trusted: whether chains agree, what draws are worth, which importance weights to believe.
//!
//! - `bridge`: the evidence from draws of a posterior and of a proposal.
//! - `chains`: R-hat, effective sample sizes and Monte Carlo standard errors of draws from chains.
//! - `halves`: chains split in two, with the variances and autocovariances that these are made of.
//! - `ranks`: draws in order, their quantiles and normal scores.
//! - `pareto`: importance weights, smoothed by a generalised Pareto distribution that also tells whether to believe them.
//!
//! # Chains
//!
//! Vehtari21 judge a quantity by $M$ chains of $N$ draws. Each chain is split into its first and its second half (of an odd
//! number of draws the middle one is left out), so that a drift within a chain counts as a difference between chains. Let
//! $\bar x_m$ and $s_m^2$ be mean and variance of half $m$ of $2M$, each with $n$ draws, $W$ the mean of the $s_m^2$ and
//! $B/n$ the variance of the $\bar x_m$:
//!
//! $$\widehat{\mathrm{var}}^+ = \tfrac{n-1}{n} W + \tfrac1n B, \qquad \hat R = \sqrt{\widehat{\mathrm{var}}^+ / W}, \qquad
//! \hat\rho_t = 1 - \frac{W - \frac1{2M} \sum_m \hat c_{t,m}}{\widehat{\mathrm{var}}^+}$$
//!
//! with $\hat c_{t,m} = \frac1n \sum_i (x_i - \bar x_m)(x_{i+t} - \bar x_m)$. Sums of pairs
//! $\hat P_k = \hat\rho_{2k} + \hat\rho_{2k+1}$ are positive and fall with $k$ for a reversible chain; so the sum of
//! autocorrelations ends before the first that is not positive, and none counts for more than the one before it (Geyer's
//! initial monotone sequence; Vehtari21, section 3.2):
//!
//! $$\hat\tau = -1 + 2 \sum_{k < K} \min_{j \le k} \hat P_j + \max(\hat\rho_{2K}, 0), \qquad
//! S_{\mathrm{eff}} = \frac{S}{\max(\hat\tau, 1 / \log_{10} S)}, \qquad S = 2Mn.$$
//!
//! Lags are computed one after another until the sequence ends, which is after a few where chains mix well.
//!
//! R-hat and the bulk effective sample size are those of normal scores
//! $z = \Phi^{-1}\big((r - \tfrac38) / (S + \tfrac14)\big)$ of the ranks $r$, ties sharing the mean of theirs; so they exist for
//! distributions without moments. R-hat is the larger of this one and that of the folded draws
//! $|x - \mathrm{median}|$, which sees chains that differ in spread alone. The tail effective sample size is the smaller of those of
//! the indicators $x \le q_{0.05}$ and $x \le q_{0.95}$.
//!
//! These are the numbers of `summary` in ArviZ 0.23, which tests compare with, but for
//!
//! - draws that are all equal: `None`, where ArviZ has an R-hat of NaN and as many effective draws as draws;
//! - one chain: its halves have an R-hat, where ArviZ wants two chains;
//! - fewer than ten draws a chain: no effective sample sizes, where ArviZ has the most that can be, $S \log_{10} S$;
//! - labels whose 95% quantile is the largest of them: see [`ess_quantile`].
//!
//! # Importance weights
//!
//! See [`ImportanceWeights`]. Yao18 judge a variational posterior by them: draws from it, weighted by the
//! ratio of the joint density to its own, have a $\hat k$ that tells how far it is from the posterior.

mod bridge;
mod chains;
mod halves;
mod pareto;
mod ranks;
#[cfg(test)]
mod tests;

pub use bridge::{Bridge, bridge};
pub use chains::{
    ChainSummary, ess_bulk, ess_mean, ess_quantile, ess_tail, mcse_mean, mcse_quantile, mcse_sd,
    r_hat,
};
pub use pareto::{ImportanceWeights, k_hat_threshold};
