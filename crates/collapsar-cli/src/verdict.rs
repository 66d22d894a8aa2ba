//! How far results may be trusted, in words: the last lines that a fit prints.

use collapsar_run::{COARSE, PosteriorKind, Signs, UNCERTAIN, Verdict};

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
    let (verdict, next) = match signs.verdict(kind, converged) {
        Verdict::Trust => ("trust means and sds", String::new()),
        Verdict::TrustMeans => ("trust means but not sds", format!("; try {next}")),
        Verdict::Doubt => ("do not trust this", format!("; try {}", after_doubt(signs))),
    };
    let reasons = match signs.reasons(converged).join(", ") {
        reasons if reasons.is_empty() => String::new(),
        reasons => format!(" ({reasons})"),
    };
    let widened = match signs.widened {
        0 => String::new(),
        1 => ", one of them as far as a Markov chain goes".to_owned(),
        many => format!(", {many} of them as far as a Markov chain goes"),
    };
    let moved = match signs.moved {
        0 => String::new(),
        1 => "; one mean is that of weighted draws".to_owned(),
        many => format!("; {many} means are those of weighted draws"),
    };
    let taken = match signs.taken {
        0 => String::new(),
        1 => "; one number is that of exact draws".to_owned(),
        many => format!("; {many} numbers are those of exact draws"),
    };
    format!("{name}{widened}{moved}{taken}{added}\nverdict: {verdict}{reasons}{next}")
}

/// The same where there are no exact draws to be had.
pub(crate) fn without_exact(lines: &str) -> String {
    lines.replace(&format!("; try {EXACT}"), "")
}

/// What to run where nothing is to be trusted.
fn after_doubt(signs: &Signs) -> &'static str {
    match signs.starts {
        Some((starts, 1)) if starts > 2 => "more --restarts",
        _ if signs.grid.is_some_and(|error| error > COARSE) => "a narrower prior of that number",
        _ => EXACT,
    }
}

/// An estimate of the log evidence in words, where there is one: a line.
pub(crate) fn evidence(signs: &Signs, bound: f64) -> Option<String> {
    let (estimate, error) = signs.ln_evidence?;
    if signs.exact {
        return Some("the bound is ln p(data)\n".to_owned());
    }
    let counted = match signs.orders {
        Some(orders) => format!(", with the {orders:.0} orders of states that are alike"),
        None => String::new(),
    };
    let places = if error < 0.005 { 3 } else { 2 };
    let above = estimate - bound;
    Some(format!(
        "ln p(data) is {estimate:.places$} ± {error:.places$} by draws{counted}: {above:.2} above the bound\n"
    ))
}

/// What so many draws of so many chains say of themselves; `constant` where no number varies.
pub(crate) fn of_chains(signs: &Signs, draws: usize, chains: usize, constant: bool) -> String {
    let uncertain = signs.sd_error.filter(|error| *error > UNCERTAIN);
    let verdict = match (signs.mixed, uncertain) {
        (Some(true), None) => "trust means and sds".to_owned(),
        (Some(true), Some(error)) => {
            let percent = 100.0 * error;
            format!(
                "trust means but not sds (one is known to {percent:.0}% only); try more --draws"
            )
        }
        _ => "do not trust this yet; try more --draws".to_owned(),
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
