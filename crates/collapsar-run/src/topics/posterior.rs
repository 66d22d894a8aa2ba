//! Which posterior the results of topics are of: shares of topics and proportions of documents, and how far they may be
//! trusted.

use collapsar::diagnostics::ChainSummary;
use collapsar::family::Marginal;
use collapsar::topics::{
    AtSweep, Topics, TopicsChains, TopicsFit, TopicsResponse, TopicsVariances,
};
use collapsar::{ChainWatch, Fit, Point};
use collapsar_bugs::{ChainDraws, Summary};
use serde_json::{Value, json};

use super::TopicsRun;
use crate::error::Result;
use crate::fit::CHAIN_DRAWS;
use crate::verdict::{PosteriorKind, Signs};

/// Products of numbers that linear response may take by default, whatever the fit took: about a second.
const AFFORDABLE: f64 = 1e9;

/// What is known of shares of topics, and of proportions of documents.
#[derive(Debug)]
pub struct TopicsPosterior {
    /// Which posterior it is.
    pub kind: PosteriorKind,
    /// Means, deviations and quantiles: of each topic's share of the tokens, and, where they are asked for, of
    /// each document's proportions.
    pub rows: Vec<Summary>,
    /// Standard deviations of the documents' proportions: a row for each document that was fitted.
    pub proportion_sds: Vec<f64>,
    /// Draws of chains by the order of the rows, and what they say of themselves.
    pub chains: Option<(ChainDraws, Vec<Option<ChainSummary>>)>,
    /// Some draws of topics, whose mean prediction is that of the posterior.
    pub thinned: Vec<TopicsFit>,
    /// Whether linear response knows that topics are uncertain by way of all documents.
    pub whole: bool,
    /// Cheap signs of how far the fit may be trusted.
    pub signs: Signs,
}

impl TopicsPosterior {
    /// Whether chains have mixed; others always have.
    pub fn mixed(&self) -> bool {
        self.signs.mixed != Some(false)
    }

    /// What a row says of its draws, in the order of [`crate::fit::DIAGNOSTICS`].
    pub(super) fn diagnostics(&self, row: usize) -> Option<[Option<f64>; 5]> {
        let (_, diagnostics) = self.chains.as_ref()?;
        Some(diagnostics[row].map_or([None; 5], |of| {
            [of.mcse_mean, of.mcse_sd, of.ess_bulk, of.ess_tail, of.r_hat]
        }))
    }

    /// What `run.json` says of it.
    pub(super) fn record(&self, converged: bool) -> Value {
        json!({
            "posterior": self.kind,
            "signs": self.signs,
            "verdict": self.signs.verdict(self.kind, converged),
        })
    }
}

impl TopicsRun<'_> {
    /// The names of the rows: shares, and proportions by document and topic, all counted from 0.
    pub(super) fn names(&self, topics: usize, rows: usize) -> Vec<String> {
        let name = |row: usize| match row.checked_sub(topics) {
            None => format!("share[{row}]"),
            Some(at) => {
                let document = self.held.place(at / topics);
                format!("proportions[{document},{}]", at % topics)
            }
        };
        (0..rows).map(name).collect()
    }

    /// The posterior at the end of a climb, and the fit that it makes of it: the mean of exact draws, or the same.
    ///
    /// Where draws are interrupted, the fit stays what the climb has found.
    pub(super) fn posterior(
        &self,
        model: &Topics,
        (best, seed): (&Fit, u64),
        watch: &dyn ChainWatch,
        at_sweep: Option<&AtSweep<'_>>,
    ) -> Result<(TopicsFit, TopicsPosterior)> {
        let asked = self.request.posterior.posterior;
        if asked == Some(PosteriorKind::Exact) {
            let drawn = self.sampled(model, (&best.point, seed), watch, at_sweep)?;
            if let Some(drawn) = drawn {
                return Ok(drawn);
            }
        }
        let fit = model.fit(&best.point);
        let cost = (
            model.pass_cost() * best.passes as f64,
            model.response_cost(),
        );
        let response = self.response(cost, watch);
        let (kind, variances) = match model.variances(&best.point, response) {
            Ok(variances) if response != TopicsResponse::MeanField => {
                (PosteriorKind::LinearResponse, variances)
            }
            Ok(variances) => (PosteriorKind::MeanField, variances),
            Err(refusal) if asked == Some(PosteriorKind::LinearResponse) => {
                return Err(refusal.into());
            }
            // A fit that ended at a saddle has no response; that is for the verdict to say.
            Err(_) => {
                let variances = model.variances(&best.point, TopicsResponse::MeanField)?;
                (PosteriorKind::MeanField, variances)
            }
        };
        let posterior = self.of_variances(&fit, kind, &variances);
        Ok((fit, posterior))
    }

    /// Which variances are asked for, or worth what they cost beside a climb.
    pub(super) fn response(
        &self,
        (climb, response): (f64, f64),
        watch: &dyn ChainWatch,
    ) -> TopicsResponse {
        // By default where it costs no more than the climb or a second.
        let affordable = climb.max(AFFORDABLE);
        match self.request.posterior.posterior {
            Some(PosteriorKind::LinearResponse) => TopicsResponse::Whole,
            // Nobody waits for it who has interrupted the climb.
            None if response <= affordable && watch.goes_on() => TopicsResponse::Documents,
            _ => TopicsResponse::MeanField,
        }
    }

    /// The posterior by means and variances.
    pub(super) fn of_variances(
        &self,
        fit: &TopicsFit,
        kind: PosteriorKind,
        variances: &TopicsVariances,
    ) -> TopicsPosterior {
        TopicsPosterior {
            kind,
            rows: self.rows(fit, variances),
            proportion_sds: variances.proportions.iter().map(|v| v.sqrt()).collect(),
            chains: None,
            thinned: Vec::new(),
            whole: variances.whole,
            signs: Signs {
                missing_information: variances.missing_information,
                ..Signs::default()
            },
        }
    }

    /// Rows from means and variances: all these numbers are fractions, so quantiles are a beta distribution's.
    fn rows(&self, fit: &TopicsFit, variances: &TopicsVariances) -> Vec<Summary> {
        let counts = fit.topic_counts();
        let tokens: f64 = counts.iter().sum();
        let shares = counts.iter().map(|count| count / tokens);
        let mut rows: Vec<Summary> = (shares.zip(&variances.shares))
            .map(|(mean, variance)| fraction(mean, variance.sqrt()))
            .collect();
        if self.request.documents {
            let means = (0..fit.documents()).flat_map(|document| fit.proportions(document));
            let each = means.zip(&variances.proportions);
            rows.extend(each.map(|(mean, variance)| fraction(mean, variance.sqrt())));
        }
        rows
    }

    /// The chains that follow a climb with this seed.
    fn chains(&self, seed: u64) -> TopicsChains {
        let options = &self.request.posterior;
        let draws = options.draws.unwrap_or(CHAIN_DRAWS);
        TopicsChains {
            chains: options.chains,
            warmup: options.warmup.unwrap_or(draws / 4),
            draws,
            seed,
            documents: self.request.documents,
        }
    }

    /// Sweeps of all chains that follow a climb.
    pub(super) fn sweeps(&self) -> u64 {
        let exact = self.request.posterior.posterior == Some(PosteriorKind::Exact);
        let of = self.chains(0);
        if exact {
            (of.chains * (of.warmup + of.draws)) as u64
        } else {
            0
        }
    }

    fn sampled(
        &self,
        model: &Topics,
        (point, seed): (&Point, u64),
        watch: &dyn ChainWatch,
        at_sweep: Option<&AtSweep<'_>>,
    ) -> Result<Option<(TopicsFit, TopicsPosterior)>> {
        let chains = self.chains(seed);
        let Some(drawn) = model.draws(point, chains, watch, at_sweep)? else {
            return Ok(None);
        };
        let all = drawn.shares.into_iter().zip(drawn.proportions);
        let all = ChainDraws {
            chains: all
                .map(|(mut shares, proportions)| {
                    shares.extend(proportions);
                    shares
                })
                .collect(),
            relabelled: None,
            complete: true,
        };
        let estimates = all.estimates();
        let diagnostics: Vec<_> = estimates.iter().map(|one| one.diagnostics).collect();
        let deviations = estimates.iter().map(|one| one.summary.sd);
        let of: Vec<_> = deviations.zip(diagnostics.iter().copied()).collect();
        let signs = Signs::of_chains(&of);
        let posterior = TopicsPosterior {
            kind: PosteriorKind::Exact,
            rows: estimates.iter().map(|one| one.summary).collect(),
            proportion_sds: drawn.proportion_sds,
            chains: Some((all, diagnostics)),
            thinned: drawn.thinned,
            whole: true,
            signs,
        };
        Ok(Some((drawn.fit, posterior)))
    }
}

/// A fraction with these moments.
fn fraction(mean: f64, sd: f64) -> Summary {
    let least = mean * (1.0 - mean);
    // A variance that no distribution on the unit interval has is one of two points; this is near enough to them.
    let total = if sd > 0.0 {
        (least / (sd * sd) - 1.0).max(1e-3)
    } else {
        0.0
    };
    if total == 0.0 || least <= 0.0 {
        return Summary {
            mean,
            sd: 0.0,
            quantiles: [mean; 3],
        };
    }
    let marginal = Marginal::Beta {
        a: mean * total,
        b: (1.0 - mean) * total,
    };
    Summary {
        mean,
        sd,
        quantiles: [0.025, 0.5, 0.975].map(|p| marginal.quantile(p)),
    }
}
