//! Flags that every subcommand has, what Ctrl-C does, talk on standard error, results elsewhere, and what errors
//! speak of, as flags.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::bail;
use clap::Args;
use collapsar::Terms;
use collapsar_formats::write_atomically;

use crate::signals;

static INTERRUPT: AtomicBool = AtomicBool::new(false);
/// Whether something looks at it, so that what there is can be kept.
static LISTENING: AtomicBool = AtomicBool::new(false);
/// How many threads were asked for; 0 where none were.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// The exit code where a signal stopped a run, as shells have it, whether results were kept or not.
pub(crate) const INTERRUPTED: u8 = 130;

/// Signals so soon after the first are the same request: `timeout` and schedulers send them to the program and to its
/// group.
const SAME: Duration = Duration::from_millis(300);

const EVERYWHERE: &str = "Talk and threads";

/// Flags that every subcommand has.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// Say nothing but warnings and errors; results are still printed
    #[arg(long, short, global = true, help_heading = EVERYWHERE, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say more of what is done
    #[arg(long, short, global = true, help_heading = EVERYWHERE)]
    pub(crate) verbose: bool,
    /// Use P threads (all cores unless given); results are the same, bit for bit, for any number
    #[arg(long, value_name = "P", global = true, help_heading = EVERYWHERE, value_parser = crate::values::threads)]
    pub(crate) threads: Option<NonZeroUsize>,
}

impl Common {
    /// Makes the thread pool and listens to Ctrl-C.
    pub(crate) fn install(&self) -> anyhow::Result<()> {
        let mut pool = rayon::ThreadPoolBuilder::new();
        if let Some(threads) = self.threads {
            THREADS.store(threads.get(), Ordering::Relaxed);
            // One of them is this one: the others' memory is not handed back to it.
            pool = pool.num_threads(threads.get()).use_current_thread();
        }
        // Here and not where it is first asked for, where rayon would panic.
        if let Err(error) = pool.build_global() {
            bail!("threads could not be started: {error}; try --threads 1");
        }
        let quiet = self.quiet;
        let mut first: Option<Instant> = None;
        signals::hear(move || {
            let began = *first.get_or_insert_with(Instant::now);
            // While data are read and a model is prepared there is nothing to keep.
            let listening = LISTENING.load(Ordering::Relaxed);
            let again = INTERRUPT.swap(true, Ordering::Relaxed);
            if again && began.elapsed() < SAME && listening {
                return;
            }
            if again || !listening {
                std::process::exit(i32::from(INTERRUPTED));
            }
            if !quiet {
                let _ = writeln!(
                    io::stderr(),
                    "collapsar: stopping after this step; Ctrl-C again to stop at once"
                );
            }
        });
        Ok(())
    }

    /// Set by Ctrl-C: from the first look on, runs end after their present step.
    #[expect(
        clippy::unused_self,
        reason = "there are signals once they are installed"
    )]
    pub(crate) fn listen(&self) -> &'static AtomicBool {
        LISTENING.store(true, Ordering::Relaxed);
        &INTERRUPT
    }

    /// Tells what a person may want to know.
    pub(crate) fn say(&self, text: &str) {
        if !self.quiet {
            let _ = writeln!(io::stderr(), "collapsar: {text}");
        }
    }

    /// Warns, even where asked to be quiet.
    #[expect(
        clippy::unused_self,
        reason = "stands beside say, and may heed a flag one day"
    )]
    pub(crate) fn warn(&self, text: &str) {
        complain("warning", text);
    }
}

/// Whether a signal asked to stop.
pub(crate) fn is_interrupted() -> bool {
    INTERRUPT.load(Ordering::Relaxed)
}

/// The exit code of what is over: done, or stopped by a signal.
pub(crate) fn exit() -> ExitCode {
    ExitCode::from(if is_interrupted() { INTERRUPTED } else { 0 })
}

/// How many threads there are.
pub(crate) fn threads() -> usize {
    collapsar_run::threads(NonZeroUsize::new(THREADS.load(Ordering::Relaxed)))
}

/// The command line as typed.
pub(crate) fn command() -> Vec<String> {
    std::env::args().collect()
}

/// Writes one line to standard error; that being closed is no reason to fail.
pub(crate) fn complain(kind: &str, text: &str) {
    let _ = writeln!(io::stderr(), "collapsar: {kind}: {text}");
}

/// Flags that do not go together: exit code 2, as clap's own refusals.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// As wide as lines of a summary are where a person sees them.
pub(crate) const COLUMNS: usize = 80;

/// Whether a person sees what is printed.
pub(crate) fn is_seen() -> bool {
    io::stdout().is_terminal()
}

/// Prints a summary, its sentences in lines that fit where a person sees them.
pub(crate) fn print(summary: &str) -> io::Result<()> {
    if !is_seen() {
        return io::stdout().write_all(summary.as_bytes());
    }
    let lines = summary.lines().map(wrapped);
    let text: Vec<String> = lines.collect();
    io::stdout().write_all((text.join("\n") + "\n").as_bytes())
}

/// A sentence in lines of so many columns; rows of tables, whose cells stand apart, are left alone.
fn wrapped(line: &str) -> String {
    let text = line.trim_start();
    let is_row = text.contains("  ");
    if is_row || line.chars().count() <= COLUMNS {
        return line.to_owned();
    }
    let indent = line.len() - text.len();
    let (mut lines, mut now) = (vec![], " ".repeat(indent));
    let mut begins = true;
    for word in text.split(' ') {
        if !begins && now.chars().count() + 1 + word.chars().count() > COLUMNS {
            lines.push(std::mem::replace(&mut now, " ".repeat(indent + 2)));
            begins = true;
        }
        if !begins {
            now.push(' ');
        }
        now.push_str(word);
        begins = false;
    }
    lines.push(now);
    lines.join("\n")
}

/// Writes a result to a file, whole or not at all, or to standard output where there is none.
pub(crate) fn emit(
    file: Option<&Path>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    if let Some(file) = file {
        return Ok(write_atomically(file, write)?);
    }
    let mut out = io::BufWriter::new(io::stdout().lock());
    write(&mut out)?;
    Ok(out.flush()?)
}

/// Options as flags.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flags;

impl Terms for Flags {
    fn option(&self, name: &'static str) -> String {
        format!("--{}", name.replace('_', "-"))
    }

    fn setting(&self, name: &'static str, value: &str) -> String {
        format!("{} {value}", self.option(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_wrapped_and_rows_are_not() {
        let sentence =
            "verdict: trust means but not sds (".to_owned() + &"word ".repeat(20) + "end)";
        let lines = wrapped(&sentence);
        assert!(
            lines.lines().count() == 2 && lines.lines().all(|line| line.chars().count() <= COLUMNS)
        );
        assert_eq!(lines.replace("\n  ", " "), sentence);
        let row = "a  ".repeat(40);
        assert_eq!(wrapped(&row), row);
        let name = "x".repeat(200);
        assert_eq!(wrapped(&name), name);
    }
}
