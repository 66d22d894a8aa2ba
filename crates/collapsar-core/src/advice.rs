//! What a model may tell optimisers about itself, in one place. Nothing of it changes which points are
//! optima; it changes how soon and which of them are reached.

use crate::error::Result;
use crate::point::{Point, Warm};

/// A model's advice to optimisers: none by default.
#[derive(Clone, Copy, Default)]
pub struct Advice<'a> {
    /// Whether VBEM is slow in very many directions at once, so that `auto` should quicken all of
    /// them by momentum and not a few of them by leaps (maths §5.9).
    pub momentum: bool,
    /// How many steps from a start are VBEM's own all the same, because they choose between optima.
    pub plain_steps: u64,
    /// Whether climbs come to rest at saddles, so that rules that take long steps should look a little beyond where they would end
    /// (maths §6.3).
    pub saddles: bool,
    /// The model's inner problems, where it has any.
    pub inner: Option<&'a dyn InnerProblems>,
    /// The model's changes of basis, where it has any.
    pub bases: Option<&'a dyn Bases>,
}

/// A model that solves inner problems within a pass and begins them from [`Point::warm`].
pub trait InnerProblems: Sync {
    /// How many numbers an evaluation leaves in [`Point::warm`].
    fn numbers(&self) -> usize;

    /// Whether a point has all that an evaluation leaves: what is kept elsewhere does not come back with a checkpoint.
    fn is_whole(&self, _warm: &Warm) -> bool {
        true
    }

    /// Moves `warm` on by `coefficient` times its change since `before`, as an accelerated step does
    /// with the messages.
    fn extrapolate(&self, warm: &mut Warm, before: &Warm, coefficient: f64);
}

/// A model whose likelihood knows some of its variables only up to a change of basis: a climb is slow
/// along all such changes, and the best one is a small problem of its own (maths §9.7).
pub trait Bases: Sync {
    /// As [`crate::Collapsed::evaluate`]; also writes into `turned` the target after the best change of
    /// basis, or leaves it empty where no change raises the bound.
    ///
    /// # Errors
    /// As there.
    fn evaluate_turned(&self, point: &mut Point, turned: &mut Vec<f64>) -> Result<(f64, f64)>;
}
