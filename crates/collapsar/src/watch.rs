//! Who waits for Markov chains: sees them move, and may stop them.

use std::sync::atomic::{AtomicBool, Ordering};

/// Sees Markov chains move, and may stop them.
///
/// A flag is one that only stops them.
pub trait ChainWatch: Sync {
    /// Set where chains are to stop after their present sweep.
    fn interrupt(&self) -> &AtomicBool;

    /// All chains together will make so many draws, after so many that are not kept.
    fn begin(&self, _warmup: u64, _draws: u64) {}

    /// A chain made a draw, which is kept or not.
    fn draw(&self, _kept: bool) {}

    /// Whether nobody has stopped them.
    fn goes_on(&self) -> bool {
        !self.interrupt().load(Ordering::Relaxed)
    }
}

impl ChainWatch for AtomicBool {
    fn interrupt(&self) -> &AtomicBool {
        self
    }
}
