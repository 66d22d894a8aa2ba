//! How climbs ended, in words and as the program's exit code.

use std::path::Path;
use std::process::ExitCode;

use collapsar::Outcome;
use collapsar_run::Climbed;

use super::ClimbArgs;
use crate::common::Common;
use crate::text::{count, duration};

/// Says that Ctrl-C left nothing.
pub(crate) fn nothing(common: &Common) -> ExitCode {
    common.warn("interrupted before the first step; nothing was written");
    ExitCode::from(130)
}

/// The program's exit code.
pub(crate) fn exit(climbed: &Climbed, args: &ClimbArgs) -> ExitCode {
    let missed = args.require_convergence && !climbed.outcome.converged;
    ExitCode::from(if missed { 3 } else { 0 })
}

/// Warns where the fit has not converged.
pub(crate) fn warn(climbed: &Climbed, common: &Common) {
    if climbed.outcome.converged {
        return;
    }
    let reason = &climbed.outcome.reason;
    common.warn(&match &climbed.best().outcome {
        Outcome::Exhausted(_) => {
            format!("not converged: {reason}; results are of the point reached")
        }
        _ => format!("{reason}; results are of the best point reached"),
    });
}

/// Bound, cost and starts, as a summary has them: a line each.
pub(crate) fn lines(climbed: &Climbed) -> String {
    let state = if climbed.outcome.converged {
        "converged"
    } else {
        "not converged"
    };
    let mut text = vec![format!(
        "bound {:.3} nats, {state}: {}\n{}, {} over the data, {}{}\n",
        climbed.best().point.bound,
        climbed.outcome.reason,
        count(climbed.iterations as usize, "iteration"),
        count(climbed.passes as usize, "pass"),
        duration(climbed.seconds),
        jumps(climbed),
    )];
    let spread = climbed.climbs.spread();
    if spread.starts > 1 {
        text.push(format!(
            "{} starts: bounds {:.3} (best), {:.3} (median), {:.3} (lowest); {} within a nat of the best\n",
            spread.starts, spread.highest, spread.median, spread.lowest, spread.within_a_nat
        ));
    }
    if climbed.skipped > 0 {
        text.push(format!("{} not begun\n", count(climbed.skipped, "start")));
    }
    text.concat()
}

/// Where results are, or how to keep them.
pub(crate) fn kept_in(folder: Option<&Path>) -> String {
    match folder {
        Some(folder) => format!("all results are in {}\n", folder.display()),
        None => "--out DIR keeps all results\n".to_owned(),
    }
}

fn jumps(climbed: &Climbed) -> String {
    let best = climbed.best();
    if best.jumps_tried == 0 {
        return String::new();
    }
    let several = climbed.climbs.spread().starts > 1;
    let whose = if several { " by the best climb" } else { "" };
    format!(
        "; {} tried{whose}, {} taken",
        count(best.jumps_tried as usize, "jump"),
        best.jumps_taken
    )
}
