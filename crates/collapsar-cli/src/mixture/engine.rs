//! `--engine`: has workers hold the rows, by the Python package, which this program calls.

use std::process::{Command, ExitCode};

use anyhow::bail;
use collapsar::mixture::Defaults;
use collapsar_run::mixture::StartOption;

use super::args::FitArgs;
use crate::common::{Common, Usage};

/// The variable that names another Python than `python3`.
const PYTHON: &str = "COLLAPSAR_PYTHON";

/// Calls the package with the same flags, and ends as it ends.
pub(super) fn run(args: &FitArgs, engine: &str, common: &Common) -> anyhow::Result<ExitCode> {
    check(args)?;
    let python = std::env::var(PYTHON).unwrap_or_else(|_| "python3".into());
    let modules = match engine {
        "ray" => "import pycollapsar.distributed, ray",
        _ => "import pycollapsar.distributed",
    };
    let tried = Command::new(&python).args(["-c", modules]).output();
    let found = match tried {
        Ok(tried) if tried.status.success() => None,
        Ok(tried) => {
            let told = String::from_utf8_lossy(&tried.stderr);
            let last = told.lines().rfind(|line| !line.trim().is_empty());
            Some(last.unwrap_or("it failed without a word").trim().to_owned())
        }
        Err(error) => Some(error.to_string()),
    };
    if let Some(found) = found {
        let packages = match engine {
            "ray" => "pycollapsar 'ray[data]'",
            _ => "pycollapsar",
        };
        bail!(
            "--engine {engine}: {python} cannot run the Python package ({found}), expected one that can; try {python} -m pip install {packages}, or name another by {PYTHON}"
        );
    }
    let mut command = Command::new(&python);
    command.args(["-m", "pycollapsar.distributed", "mixture"]);
    command.arg(args.data());
    command.args(words(args, engine));
    if common.quiet {
        command.stdout(std::process::Stdio::null());
    }
    let code = command.status()?.code();
    Ok(ExitCode::from(
        code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1),
    ))
}

/// Refuses what workers cannot do.
fn check(args: &FitArgs) -> anyhow::Result<()> {
    let flags = [
        ("--row-weights", args.row_weights.is_some()),
        ("--categorical", !args.categorical.is_empty()),
        ("--level-concentration", args.level_concentration.is_some()),
        ("--samples", args.samples.is_some()),
        ("--prior", args.prior != Defaults::default()),
        ("--location", args.location.is_some()),
        ("--mean-precision", args.mean_precision.is_some()),
        ("--degrees-of-freedom", args.degrees_of_freedom.is_some()),
        ("--scale", args.scale.is_some()),
        (
            "--posterior",
            args.posterior.of_chains()?.posterior.is_some(),
        ),
        (
            "a --start of labels",
            matches!(args.start, StartOption::Labels(_)),
        ),
    ];
    match flags.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((flag, _)) => bail!(Usage(format!(
            "{flag} and --engine do not go together, expected a fit without one of them"
        ))),
    }
}

/// The flags as the package takes them.
fn words(args: &FitArgs, engine: &str) -> Vec<String> {
    let climb = &args.climb;
    let numbers: Vec<String> = args.components.0.iter().map(ToString::to_string).collect();
    let jumps = match args.jumps {
        None => "auto",
        Some(true) => "on",
        Some(false) => "off",
    };
    let path = |path: &std::path::PathBuf| path.display().to_string();
    let flags = [
        ("--engine", Some(engine.to_owned())),
        ("--workers", args.workers.map(|number| number.to_string())),
        ("--out", args.out.as_ref().map(path)),
        (
            "--columns",
            args.columns.as_ref().map(|names| names.join(",")),
        ),
        ("--components", Some(numbers.join(","))),
        ("--covariance", Some(args.covariance.name().to_owned())),
        ("--weights", Some(args.weights.name().to_owned())),
        (
            "--concentration",
            args.concentration.map(|number| number.to_string()),
        ),
        ("--start", Some(args.start.to_string())),
        ("--method", Some(climb.method.name().to_owned())),
        ("--jumps", Some(jumps.to_owned())),
        ("--seed", Some(climb.seed.to_string())),
        (
            "--restarts",
            climb.restarts.map(|number| number.to_string()),
        ),
        ("--tolerance", Some(args.tolerance.to_string())),
        ("--max-iterations", Some(climb.max_iterations.to_string())),
        (
            "--max-passes",
            climb.max_passes.map(|number| number.to_string()),
        ),
        ("--time", climb.time.map(|seconds| seconds.to_string())),
        ("--checkpoint", climb.checkpoint.as_ref().map(path)),
        (
            "--checkpoint-every",
            Some(climb.checkpoint_every.to_string()),
        ),
        ("--resume", climb.resume.as_ref().map(path)),
    ];
    let given = flags
        .into_iter()
        .filter_map(|(flag, value)| Some(format!("{flag}={}", value?)));
    let convergence = climb
        .require_convergence
        .then(|| "--require-convergence".to_owned());
    given.chain(convergence).collect()
}
