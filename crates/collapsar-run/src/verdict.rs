//! Which posterior results are of, and how far they may be trusted: one rule for all models.

use collapsar::diagnostics::{ChainSummary, ImportanceWeights, k_hat_threshold};
use collapsar_text::count;
use serde::{Deserialize, Serialize};

/// The largest R-hat and the smallest effective sample size of chains that have mixed (Vehtari21).
const MIXED: (f64, f64) = (1.01, 400.0);

/// Variances of normal variables that uncertain precisions widen by more than this are not to be trusted, where no weights
/// have looked at them: the fits of line, equiv and dyes, whose deviations are too small by up to a half, have 1.2 to 1.7, those
/// of rats, birats and jaw, which are right, at most 1.1.
pub const GROWN: f64 = 1.15;

/// Means that weighted draws put further away than this, in deviations, are not to be trusted. In models of bench/bugs whose
/// means are right it is at most 0.5.
pub const SHIFTED: f64 = 0.8;

/// Means from which a chain drifts further than this, in deviations, are not to be trusted: one draw of hundreds of numbers would
/// be as far off by chance.
pub const DRIFTED: f64 = 4.0;
/// Deviations by which a grid may be off at most, where every other node is left out: far less with all of them.
pub const COARSE: f64 = 0.1;

/// Weights have a variance below this k-hat. The fit of dyes, with a precision whose deviation is far too small, has 0.66; those of
/// bench/bugs with less than this have ratios of 0.74 or more to those of JAGS.
const LIGHT: f64 = 0.5;

/// Weights have no mean from this k-hat on: draws say nothing of the means either. With more than this lsat, item-response, blocker with
/// heavy tails and oxford are off by 0.8 to 3.4 deviations in the mean; so are not all fits that have it.
const HEAVY: f64 = 1.0;

/// The error of a deviation of chains, as a part of it, above which it is not to be trusted: draws with heavy tails have mixed and yet
/// say little of their deviation, as those of precisions under vague priors.
pub const UNCERTAIN: f64 = 0.1;

/// Which posterior results are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PosteriorKind {
    /// The factors of q as they are.
    MeanField,
    /// The means of q with the variances of linear response (maths §10.1).
    LinearResponse,
    /// Draws of Markov chains that begin at the fit (maths §10.4).
    Exact,
}

impl PosteriorKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::MeanField, Self::LinearResponse, Self::Exact];

    /// As a user writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::MeanField => "mean-field",
            Self::LinearResponse => "linear-response",
            Self::Exact => "exact",
        }
    }
}

/// Cheap signs of how far a fit may be trusted; what nobody looked at is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
// Records of earlier versions have fewer.
#[serde(default)]
pub struct Signs {
    /// The largest eigenvalue of FJ: how much of the information is missing (maths §1.7).
    pub missing_information: Option<f64>,
    /// The largest factor by which uncertain precisions widen a normal variable: far from 1, the posterior is
    /// far from what linear response sees of it (maths §10.3).
    pub variance_growth: Option<f64>,
    /// The Pareto shape of the weights of draws (maths §10.5).
    pub k_hat: Option<f64>,
    /// Whether weighted draws could be believed, so that deviations are theirs where they differ (maths §10.10).
    pub weighted: Option<bool>,
    /// Numbers whose deviation is how far a Markov chain goes from the mean, as linear response has less (maths §10.10).
    pub widened: usize,
    /// Numbers that are told as a few exact draws have them, as mean or deviation differ from linear response's by more than their
    /// error (maths §10.10).
    pub taken: usize,
    /// By how many deviations at most the means of weighted draws differ from those of the fit.
    pub shift: Option<f64>,
    /// Numbers whose mean is that of weighted draws, as it differs from the fit's by more than their error.
    pub moved: usize,
    /// By how many deviations at most a short Markov chain moves away from the means of the fit.
    pub drift: Option<f64>,
    /// Starts that climbed to the end, and how many of them ended within a nat of the best.
    pub starts: Option<(usize, usize)>,
    /// Whether nothing had to be approximated.
    pub exact: bool,
    /// Whether the fit ended where the bound has no strict maximum, so that there is no linear response.
    pub saddle: bool,
    /// By how many deviations a mean or a deviation may be off as a number is known on a grid only (maths §9.13).
    pub grid: Option<f64>,
    /// In how many directions the bound is flat, as it is along turns of factors (maths §10.1).
    pub flat: usize,
    /// An estimate of the log evidence from draws, and its standard error.
    pub ln_evidence: Option<(f64, f64)>,
    /// How many orders of states the posterior is the same for: all of them are in the estimate of the evidence.
    pub orders: Option<f64>,
    /// The largest R-hat of chains.
    pub r_hat: Option<f64>,
    /// The smallest effective sample size of chains, bulk or tail.
    pub ess: Option<f64>,
    /// Whether all numbers of chains have mixed.
    pub mixed: Option<bool>,
    /// The largest Monte Carlo error of a deviation of chains, as a part of it.
    pub sd_error: Option<f64>,
}

/// How far results may be trusted, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Means and deviations.
    Trust,
    /// Means, but not deviations.
    TrustMeans,
    /// Nothing.
    Doubt,
}

impl Signs {
    /// What weights of draws say, given as logarithms.
    pub(crate) fn of_weights(ln_weights: &[f64]) -> Self {
        let smoothed = ImportanceWeights::smooth(ln_weights);
        Self {
            k_hat: smoothed.as_ref().and_then(|weights| weights.k_hat),
            ln_evidence: (smoothed.filter(has_mean))
                .map(|weights| (weights.ln_mean, weights.mcse_ln_mean)),
            ..Self::default()
        }
    }

    /// The signs of chains: what each number's draws say of themselves, with its standard deviation.
    pub fn of_chains(numbers: &[(f64, Option<ChainSummary>)]) -> Self {
        // Too few draws to tell are not mixed, unless they are all the same and there is nothing to tell.
        let mixed = numbers.iter().all(|(sd, known)| {
            let mixed = known.and_then(|of| {
                let ess = of.ess_bulk?.min(of.ess_tail?);
                Some(of.r_hat? < MIXED.0 && ess > MIXED.1)
            });
            mixed.unwrap_or(*sd == 0.0)
        });
        let known = || numbers.iter().filter_map(|(_, known)| *known);
        let sizes = known().flat_map(|of| [of.ess_bulk, of.ess_tail]);
        let errors = known().filter(|of| of.sd > 0.0);
        let errors = errors.filter_map(|of| Some(of.mcse_sd? / of.sd));
        Self {
            r_hat: known().filter_map(|of| of.r_hat).max_by(f64::total_cmp),
            ess: sizes.flatten().min_by(f64::total_cmp),
            mixed: Some(mixed),
            sd_error: errors.max_by(f64::total_cmp),
            ..Self::default()
        }
    }

    /// What they say in words, those that matter most first.
    pub fn reasons(&self, converged: bool) -> Vec<String> {
        let mut reasons = vec![];
        if !converged {
            reasons.push("the climb has not converged".to_owned());
        }
        if self.saddle {
            reasons.push("the bound has no strict maximum here".to_owned());
        }
        if self.grid.is_some_and(|error| error > COARSE) {
            reasons.push("a grid does not resolve its number".to_owned());
        }
        if self.flat > 0 {
            let directions = count(self.flat, "direction");
            reasons.push(format!("the bound is flat in {directions}"));
        }
        if let Some((starts, agree)) = self.starts.filter(|(starts, agree)| 2 * agree < *starts) {
            reasons.push(format!("only {agree} of {starts} starts ended here"));
        }
        if let Some(drift) = self.drift.filter(|drift| *drift > DRIFTED) {
            reasons.push(format!("a Markov chain moves {drift:.0} sds away"));
        }
        if let Some(shift) = self.shift.filter(|shift| *shift > SHIFTED) {
            reasons.push(format!(
                "weighted draws put a mean {shift:.1} sds elsewhere"
            ));
        }
        if self.exact {
            reasons.push("nothing is approximated".to_owned());
            return reasons;
        }
        // Below zero, as where exponentials are averaged, unseen variables take nothing away.
        if let Some(missing) = self.missing_information.filter(|missing| *missing >= 0.0) {
            reasons.push(format!(
                "{:.0}% of the information is missing",
                100.0 * missing
            ));
        }
        if let Some(k_hat) = self.k_hat {
            reasons.push(format!("k-hat of weights is {k_hat:.2}"));
        }
        if let Some(growth) = self.variance_growth.filter(|growth| *growth >= GROWN) {
            let percent = 100.0 * (growth - 1.0);
            reasons.push(format!(
                "uncertain precisions widen a normal by {percent:.0}%"
            ));
        }
        reasons
    }

    /// How far results of this kind may be trusted, where the climb has converged or not.
    pub fn verdict(&self, kind: PosteriorKind, converged: bool) -> Verdict {
        let above = |sign: Option<f64>, most: f64| sign.is_some_and(|sign| sign > most);
        if above(self.grid, COARSE) {
            return Verdict::Doubt;
        }
        if let Some(mixed) = self.mixed {
            return match mixed {
                true if above(self.sd_error, UNCERTAIN) => Verdict::TrustMeans,
                true => Verdict::Trust,
                false => Verdict::Doubt,
            };
        }
        let several = self.starts.filter(|(starts, _)| *starts > 2);
        let lonely = several.is_some_and(|(_, agree)| agree == 1);
        let few = several.is_some_and(|(starts, agree)| 2 * agree < starts);
        if !converged || self.saddle || lonely {
            return Verdict::Doubt;
        }
        if self.exact {
            return Verdict::Trust;
        }
        // Means that were off and are told as weighted draws have them are no reason to doubt, but one to be careful.
        let shifted = above(self.shift, SHIFTED);
        if (shifted && self.moved == 0) || above(self.drift, DRIFTED) {
            return Verdict::Doubt;
        }
        // Nothing that looked at means saw anything, unless a few exact draws did. Draws of mixtures have all labels in them, and a large
        // k-hat from their number alone.
        let unseen = self.weighted == Some(false) && self.taken == 0;
        if unseen && above(self.k_hat, HEAVY) {
            return Verdict::Doubt;
        }
        let wide = kind == PosteriorKind::LinearResponse && !shifted;
        // Linear response leaves out what is not linear; where little is missing and weights are not heavy, that is little.
        let light = self.k_hat.is_none_or(|k_hat| k_hat < 0.7);
        let little = self
            .missing_information
            .is_some_and(|missing| missing < 0.5);
        let linear = light && little && !above(self.variance_growth, GROWN);
        // Something was compared with the joint itself: a chain that stays, or draws of q with light weights.
        let looked = self.drift.is_some() || self.k_hat.is_some();
        match self.weighted {
            // Most starts ended somewhere else, or deviations are those of one basis of many.
            _ if few || self.flat > 0 => Verdict::TrustMeans,
            // Deviations are those of weighted draws where these differ; with heavier tails they may still be too small.
            Some(true) if wide && self.k_hat.is_none_or(|k_hat| k_hat < LIGHT) => Verdict::Trust,
            _ if wide && linear && looked => Verdict::Trust,
            // Mean field leaves out what is missing, which is nearly all.
            _ if above(self.missing_information, 0.99) => Verdict::Doubt,
            _ => Verdict::TrustMeans,
        }
    }
}

/// Whether the mean of weights has an error to tell: heavy tails have none.
pub(crate) fn has_mean(weights: &ImportanceWeights) -> bool {
    let threshold = k_hat_threshold(weights.ln_weights.len());
    weights.k_hat.is_none_or(|k_hat| k_hat < threshold)
}

#[cfg(test)]
mod tests {
    use super::*;
    use PosteriorKind::{LinearResponse, MeanField};

    #[test]
    fn what_signs_say() {
        let weighted = Signs {
            missing_information: Some(0.9),
            weighted: Some(true),
            shift: Some(0.3),
            ..Signs::default()
        };
        assert_eq!(weighted.verdict(LinearResponse, true), Verdict::Trust);
        assert_eq!(weighted.verdict(LinearResponse, false), Verdict::Doubt);
        assert_eq!(weighted.verdict(MeanField, true), Verdict::TrustMeans);
        for doubtful in [
            Signs {
                shift: Some(2.0),
                ..weighted
            },
            Signs {
                saddle: true,
                ..weighted
            },
            Signs {
                starts: Some((10, 1)),
                ..weighted
            },
            Signs {
                weighted: None,
                drift: Some(30.0),
                ..weighted
            },
            Signs {
                weighted: Some(false),
                k_hat: Some(1.2),
                ..Signs::default()
            },
        ] {
            assert_eq!(doubtful.verdict(LinearResponse, true), Verdict::Doubt);
        }
        for uncertain in [
            // A few exact draws looked at means.
            Signs {
                weighted: Some(false),
                k_hat: Some(1.2),
                taken: 3,
                ..Signs::default()
            },
            Signs {
                starts: Some((10, 3)),
                ..weighted
            },
            Signs {
                flat: 1,
                ..weighted
            },
            Signs {
                k_hat: Some(0.6),
                ..weighted
            },
            Signs {
                weighted: Some(false),
                k_hat: Some(0.9),
                drift: Some(1.0),
                ..weighted
            },
        ] {
            assert_eq!(uncertain.verdict(LinearResponse, true), Verdict::TrustMeans);
        }
        let drawn = Signs {
            mixed: Some(true),
            sd_error: Some(0.02),
            ..Signs::default()
        };
        let tailed = Signs {
            sd_error: Some(0.3),
            ..drawn
        };
        let exact_verdict = |signs: Signs| signs.verdict(PosteriorKind::Exact, true);
        assert_eq!(exact_verdict(drawn), Verdict::Trust);
        assert_eq!(exact_verdict(tailed), Verdict::TrustMeans);
        let exact = Signs {
            exact: true,
            ..Signs::default()
        };
        assert_eq!(exact.verdict(MeanField, true), Verdict::Trust);
        assert_eq!(
            Signs::default().verdict(MeanField, true),
            Verdict::TrustMeans
        );
    }
}
