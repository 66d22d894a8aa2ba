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

use forms::{Forms, Side};

/// The spaces of a model.
#[derive(Debug, Default)]
pub(super) struct Turn {
    spaces: Vec<Space>,
}

/// Vectors $x$, covectors $w$ and matrices $A$ that a change of basis $R$ makes $R x$,
/// $R^{-\top} w$ and $R A R^{-1}$.
#[derive(Debug, Default)]
struct Space {
    size: usize,
    /// In collapsed blocks.
    vectors: Vec<Member>,
    /// In shared blocks.
    covectors: Vec<Member>,
    /// Rows, in shared blocks.
    matrices: Vec<Vec<Member>>,
    /// Of pairs of vectors whose products are among a block's statistics: where the mean of $a_i b_j$ stands, row
    /// after row.
    crosses: Vec<Vec<u32>>,
    /// Likewise of vectors with a variable $n$ that does not turn: where that of $n x_i$ stands.
    mixed: Vec<(Side, Vec<u32>)>,
    forms: Forms,
}

/// Where the moments of a vector stand among the means of statistics.
#[derive(Debug)]
struct Member {
    means: Vec<u32>,
    /// Of $-x_i x_j$ and, on the diagonal, $-\tfrac12 x_i^2$, row after row.
    seconds: Vec<u32>,
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
    pub(super) fn is_empty(&self) -> bool {
        self.spaces.is_empty()
    }

    /// Turns every space to its best basis; returns by how much that raises the bound.
    pub(super) fn apply(&self, mut moments: Moments<'_>) -> f64 {
        let mut gain = 0.0;
        for space in &self.spaces {
            let problem = space.sums(&moments);
            if let Some((basis, rates, more)) = problem.climb() {
                space.turn(&basis, &mut moments);
                space.forms.set_rates(&rates, &mut moments);
                gain += more;
            }
        }
        gain
    }
}

#[cfg(test)]
mod tests;
