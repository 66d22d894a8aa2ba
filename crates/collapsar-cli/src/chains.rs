//! The progress of Markov chains: draws of how many, how fast, and the time left.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use collapsar::ChainWatch;

use crate::common::Common;
use crate::progress::Progress;
use crate::text::{duration, short, thousands};

/// How often at most a whole run of chains is looked at.
const LOOKS: u64 = 1000;

/// What is seen of chains while they move.
pub(crate) struct Chains<'a> {
    common: &'a Common,
    shown: Mutex<Option<(Progress, Length)>>,
    /// Draws that were made by now, and those of them that are kept.
    made: AtomicU64,
    kept: AtomicU64,
    /// Draws between two looks, and all that will be made.
    every: AtomicU64,
    all: AtomicU64,
}

/// How long all chains are together, and when they began.
struct Length {
    warmup: u64,
    draws: u64,
    began: Instant,
}

impl<'a> Chains<'a> {
    pub(crate) fn new(common: &'a Common) -> Self {
        Self {
            common,
            shown: Mutex::new(None),
            made: AtomicU64::new(0),
            kept: AtomicU64::new(0),
            every: AtomicU64::new(1),
            all: AtomicU64::new(0),
        }
    }
}

impl ChainWatch for Chains<'_> {
    fn interrupt(&self) -> &AtomicBool {
        self.common.listen()
    }

    fn begin(&self, warmup: u64, draws: u64) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        self.made.store(0, Ordering::Relaxed);
        self.kept.store(0, Ordering::Relaxed);
        let all = warmup + draws;
        self.all.store(all, Ordering::Relaxed);
        self.every.store((all / LOOKS).max(1), Ordering::Relaxed);
        let length = Length {
            warmup,
            draws,
            began: Instant::now(),
        };
        *shown = Some((Progress::of_words(self.common, all), length));
    }

    fn draw(&self, kept: bool) {
        let kept = self.kept.fetch_add(u64::from(kept), Ordering::Relaxed) + u64::from(kept);
        let made = self.made.fetch_add(1, Ordering::Relaxed) + 1;
        let last = made >= self.all.load(Ordering::Relaxed);
        if !(last || made.is_multiple_of(self.every.load(Ordering::Relaxed))) {
            return;
        }
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((progress, length)) = shown.as_ref() else {
            return;
        };
        progress.reach(made);
        progress.tell(|| length.words(made, kept, length.began.elapsed().as_secs_f64()));
        if last {
            *shown = None;
        }
    }
}

impl Length {
    fn words(&self, made: u64, kept: u64, seconds: f64) -> String {
        let rate = made as f64 / seconds.max(1e-9);
        let left = (self.warmup + self.draws).saturating_sub(made) as f64 / rate;
        let of = |some: u64, all: u64| {
            let (some, all) = (thousands(some as usize), thousands(all as usize));
            format!("{some} of {all} draws")
        };
        let what = if kept == 0 {
            of(made.min(self.warmup), self.warmup) + " before the first"
        } else {
            of(kept, self.draws)
        };
        format!(
            "{what}, {}/s, {} left",
            short(rate),
            duration(left.max(1.0))
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_tell_the_rate_and_the_time_left() {
        let length = Length {
            warmup: 1000,
            draws: 4000,
            began: Instant::now(),
        };
        assert_eq!(
            length.words(500, 0, 5.0),
            "500 of 1,000 draws before the first, 100/s, 45.0 s left"
        );
        assert_eq!(
            length.words(2000, 1200, 10.0),
            "1,200 of 4,000 draws, 200/s, 15.0 s left"
        );
    }
}
