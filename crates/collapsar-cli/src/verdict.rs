//! How far results may be trusted, in words: the last lines that a fit prints.

use collapsar_run::{GROWN, PosteriorKind, Signs, Verdict};

use crate::text::count;

const LINEAR: &str = "--posterior linear-response";
const EXACT: &str = "--posterior exact";

/// Which posterior it is, with what is `added` about it, and how far it may be trusted: a line each.
pub(crate) fn lines(kind: PosteriorKind, signs: &Signs, converged: bool, added: &str) -> String {
    let (name, next) = match kind {
        PosteriorKind::MeanField => ("standard deviations are those of mean field", LINEAR),
        PosteriorKind::LinearResponse => {
            ("standard deviations are those of linear response", EXACT)
        }
        PosteriorKind::Exact => ("draws are exact", "more --draws"),
    };
    let mut reasons = vec![];
    if !converged {
        reasons.push("the climb has not converged".to_owned());
    }
    if let Some(missing) = signs.missing_information {
        reasons.push(format!(
            "{:.0}% of the information is missing",
            100.0 * missing
        ));
    }
    if let Some(k_hat) = signs.k_hat {
        reasons.push(format!("k-hat of weights is {k_hat:.2}"));
    }
    if let Some(growth) = signs.variance_growth.filter(|growth| *growth >= GROWN) {
        let percent = 100.0 * (growth - 1.0);
        reasons.push(format!(
            "uncertain precisions widen a normal by {percent:.0}%"
        ));
    }
    let (verdict, next) = match signs.verdict(kind, converged) {
        Verdict::Trust => ("trust means and sds", String::new()),
        Verdict::TrustMeans => ("trust means but not sds", format!("; try {next}")),
        Verdict::Doubt => ("do not trust this", format!("; try {EXACT}")),
    };
    let reasons = match reasons.as_slice() {
        [] => String::new(),
        reasons => format!(" ({})", reasons.join(", ")),
    };
    format!("{name}{added}\nverdict: {verdict}{reasons}{next}")
}

/// What so many draws of so many chains say of themselves; `constant` where no number varies.
pub(crate) fn of_chains(signs: &Signs, draws: usize, chains: usize, constant: bool) -> String {
    let verdict = if signs.mixed == Some(true) {
        "trust means and sds"
    } else {
        "do not trust this yet; try more --draws"
    };
    let agree = match (signs.r_hat, signs.ess) {
        (Some(r_hat), Some(ess)) => {
            format!(": R-hat at most {r_hat:.3}, effective sample size at least {ess:.0}")
        }
        _ if constant => String::new(),
        _ => ", too few to tell whether they agree".to_owned(),
    };
    let chains = count(chains, "chain");
    format!("from {draws} draws of {chains}{agree}\nverdict: {verdict}")
}
