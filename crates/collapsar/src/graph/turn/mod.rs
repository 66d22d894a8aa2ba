//! Decides how the basis of a space of factors is turned while a climb goes on.
//!
//! Where a mean is an inner product of unknown vectors, as in principal components, factor analysis and
//! linear state spaces, the likelihood knows the two sides only up to a common change of basis, and a climb is
//! slow along all such changes: each side waits for the other. The best change of basis is a small
//! problem in a few sums over the vectors, solved between steps (maths §9.7).
//!
//! - `find`: which variables form the vectors of such a space
//! - `space`: what a space is made of once its columns are known
//! - `forms`: what of the log joint a change of basis changes
//! - `sums`: the few sums of moments that decide it
//! - `basis`: the best change of basis

mod basis;
mod find;
mod forms;
mod space;
mod sums;

use super::Graph;
use super::blocks::Blocks;
use super::choice::Choice;
use super::layout;
use forms::{Forms, Side};

/// The spaces of a model.
#[derive(Debug, Default)]
pub(super) struct Turn {
    spaces: Vec<Space>,
}

/// Vectors $x$, covectors $w$ and matrices $A$ that a change of basis $R$ makes $R x$,
/// $R^{-\top} w$ and $R A R^{-1}$.
#[derive(Debug)]
struct Space {
    size: usize,
    /// In collapsed blocks.
    vectors: Vec<Member>,
    /// In shared blocks.
    covectors: Vec<Member>,
    /// Rows, in shared blocks.
    matrices: Vec<Vec<Member>>,
    /// Pairs of vectors whose products are among a block's statistics.
    crosses: Vec<Cross>,
    /// Products of a vector with a variable that does not turn, likewise.
    mixed: Vec<Mixed>,
    forms: Forms,
}

/// Where the moments of a vector stand among the means of statistics.
#[derive(Debug)]
struct Member {
    means: Vec<u32>,
    /// Of $x_i x_j$, row after row; see [`second`].
    seconds: Vec<u32>,
}

/// Where the mean of $a_i b_j$ stands, row after row.
#[derive(Debug)]
struct Cross {
    places: Vec<u32>,
}

/// Where the mean of $n x_i$ stands for a variable $n$ that does not turn.
#[derive(Debug)]
struct Mixed {
    side: Side,
    places: Vec<u32>,
}

/// What turning is to change: means of collapsed statistics, in place, with their natural parameters,
/// the means of shared blocks' statistics, and the natural parameters that own blocks go to.
pub(super) struct Moments<'a> {
    pub(super) shared: &'a [f64],
    pub(super) naturals: &'a [f64],
    pub(super) collapsed: &'a mut [f64],
    pub(super) own: &'a mut [f64],
}

impl Turn {
    /// The spaces of a graph; none where there is nothing to turn or it cannot be told what
    /// turning would change. Also pairs of Gaussians that would have to be linked for more.
    pub(super) fn new(graph: &Graph, blocks: &Blocks, choice: &Choice) -> (Self, Vec<(u32, u32)>) {
        let firsts = layout::firsts(blocks, choice);
        let (spaces, missing) = find::spaces(graph, blocks, choice, &firsts);
        (Self { spaces }, missing)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.spaces.is_empty()
    }

    /// Turns every space to its best basis; returns by how much that raises the bound.
    pub(super) fn apply(&self, mut moments: Moments<'_>) -> f64 {
        let mut gain = 0.0;
        for space in &self.spaces {
            let problem = space.sums(&moments);
            if let Some(best) = problem.climb() {
                space.turn(&best.basis, &mut moments);
                space.forms.set_rates(&best.rates, &mut moments);
                gain += best.gain;
            }
        }
        gain
    }
}

/// The mean of $x_i x_j$, given that of the statistic: $-\tfrac12 x_i^2$ or $-x_i x_j$.
fn second(i: usize, j: usize, statistic: f64) -> f64 {
    if i == j { -2.0 * statistic } else { -statistic }
}

#[cfg(test)]
mod tests;
