//! Shows that work goes on: nothing in the first second, nothing where nobody looks.

use std::ffi::OsStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::common::Common;

/// Work shorter than this needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar where the amount of work is known, else a spinner; gone when dropped.
pub(crate) struct Progress {
    bar: ProgressBar,
    began: Instant,
    shown: AtomicBool,
    paused: AtomicBool,
}

impl Progress {
    /// Work of `length` parts, each called `unit`, or of unknown length.
    pub(crate) fn new(common: &Common, length: Option<u64>, unit: &str) -> Self {
        let template = match length {
            Some(_) => format!("{{bar:30}} {{pos}}/{{len}} {unit}, {{eta}} left  {{wide_msg}}"),
            None => "{spinner} {elapsed}  {wide_msg}".to_owned(),
        };
        Self::with_template(common, length, &template)
    }

    /// Work of `length` parts, of which words tell.
    pub(crate) fn of_words(common: &Common, length: u64) -> Self {
        Self::with_template(common, Some(length), "{bar:24} {wide_msg}")
    }

    fn with_template(common: &Common, length: Option<u64>, template: &str) -> Self {
        let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template(template).expect("a template without mistakes");
        Self {
            bar: bar.with_style(style),
            began: Instant::now(),
            // Asked to be quiet: as though it were shown already.
            shown: AtomicBool::new(common.quiet),
            paused: AtomicBool::new(false),
        }
    }

    /// One part is done.
    pub(crate) fn advance(&self) {
        self.reveal();
        self.bar.inc(1);
    }

    /// So many parts are done in all.
    pub(crate) fn reach(&self, parts: u64) {
        self.reveal();
        self.bar.set_position(parts);
    }

    /// Says how things stand, if anyone can see it.
    pub(crate) fn tell(&self, message: impl FnOnce() -> String) {
        self.reveal();
        if !self.bar.is_hidden() {
            self.bar.set_message(message());
            self.bar.tick();
        }
    }

    /// Writes a line to standard error without tearing the bar.
    pub(crate) fn line(&self, line: &str) {
        use std::io::Write;
        self.bar.suspend(|| {
            let _ = writeln!(std::io::stderr(), "{line}");
        });
    }

    /// Leaves the terminal to another bar, until there is something new to show.
    pub(crate) fn pause(&self) {
        let done = self.bar.position();
        self.bar.finish_and_clear();
        self.bar.set_position(done);
        self.paused.store(true, Ordering::Relaxed);
    }

    fn reveal(&self) {
        if self.paused.swap(false, Ordering::Relaxed) {
            let done = self.bar.position();
            self.bar.reset();
            self.bar.set_position(done);
        }
        if self.began.elapsed() > PATIENCE
            && !self.shown.swap(true, Ordering::Relaxed)
            && moves_cursor(std::env::var_os("TERM").as_deref())
        {
            // Draws nothing where standard error is not a terminal.
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

/// Whether a terminal of this kind takes back what it has drawn: on one that cannot, a bar would be page after page of lines.
fn moves_cursor(kind: Option<&OsStr>) -> bool {
    cfg!(windows) || kind.is_some_and(|kind| !kind.is_empty() && kind != "dumb")
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dumb_terminals_have_no_bars() {
        assert!(moves_cursor(Some(OsStr::new("xterm-256color"))));
        if !cfg!(windows) {
            assert!(!moves_cursor(Some(OsStr::new("dumb"))) && !moves_cursor(None));
        }
    }
}
