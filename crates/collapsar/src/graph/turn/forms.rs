//! Decides what of the log joint a change of basis changes: forms in its vectors, covectors and matrices.

use super::Moments;

use collapsar_core::elementary::Elementary;

/// What a form is multiplied by in the log joint: one of the gammas, or nothing.
pub(super) type Target = Option<u32>;

/// A precision that multiplies forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scale {
    /// Whether it is collapsed, or else own.
    pub(super) collapsed: bool,
    /// Its shape among natural parameters; the rate follows.
    pub(super) place: u32,
}

/// A coefficient of $z_i z_j$, or of an entry of a matrix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Entry {
    /// $i$ and $j$.
    pub(super) at: (usize, usize),
    pub(super) coefficient: f64,
    pub(super) target: Target,
}

/// Which way something turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Side {
    /// By $R$.
    Vector,
    /// By $R^{-\top}$.
    Covector,
}

impl Side {
    /// One of two things, by the side that it belongs to.
    pub(super) fn of<T>(self, vector: T, covector: T) -> T {
        match self {
            Self::Vector => vector,
            Self::Covector => covector,
        }
    }
}

/// A product of two vectors whose moments are summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Source {
    /// $x x^\top$.
    Second(u32),
    /// $a b^\top$, of [`super::Space::crosses`].
    Cross(u32),
    /// $a (A b)^\top$ of a cross and a matrix, or $b (A a)^\top$.
    Carried {
        transposed: bool,
        cross: u32,
        matrix: u32,
    },
    /// $A x (A x)^\top$ of a vector and a matrix.
    Both(u32, u32),
}

/// Products with the same entries.
#[derive(Debug)]
pub(super) struct Quadratic {
    pub(super) side: Side,
    pub(super) entries: Vec<Entry>,
    pub(super) sources: Vec<Source>,
}

/// A vector that no other multiplies.
#[derive(Debug, Clone, Copy)]
pub(super) enum Plain {
    /// $x$.
    Mean(u32),
    /// $n x$ with a variable $n$ that does not turn, of [`super::Space::mixed`].
    Mixed(u32),
}

/// Elements of vectors with their coefficients.
#[derive(Debug)]
pub(super) struct Linear {
    pub(super) side: Side,
    pub(super) target: Target,
    pub(super) elements: Vec<(Plain, usize, f64)>,
}

/// All forms of a space.
#[derive(Debug, Default)]
pub(super) struct Forms {
    pub(super) quadratics: Vec<Quadratic>,
    pub(super) linears: Vec<Linear>,
    /// Of each matrix: entries of $(R A R^{-1})_{ij}$, squared and as it is.
    pub(super) matrices: Vec<(Vec<Entry>, Vec<Entry>)>,
    pub(super) scales: Vec<Scale>,
}

impl Forms {
    /// Shape and rate of each scale.
    pub(super) fn gammas(&self, moments: &Moments<'_>) -> Vec<(f64, f64)> {
        let natural = |scale: &Scale| {
            let place = scale.place as usize;
            let list = if scale.collapsed {
                moments.naturals
            } else {
                &*moments.own
            };
            (list[place], list[place + 1])
        };
        self.scales.iter().map(natural).collect()
    }

    /// Gives the scales new rates: the means of collapsed ones, the natural parameters of own ones.
    pub(super) fn set_rates(&self, rates: &[f64], moments: &mut Moments<'_>) {
        for (scale, &rate) in self.scales.iter().zip(rates) {
            let place = scale.place as usize;
            if scale.collapsed {
                // E ln τ = ψ(a) − ln b and E τ = a / b; the statistics are ln τ and −τ.
                let (shape, before) = (moments.naturals[place], moments.naturals[place + 1]);
                moments.collapsed[place] -= (rate / before).ln_();
                moments.collapsed[place + 1] = -shape / rate;
            } else {
                moments.own[place + 1] = rate;
            }
        }
    }
}
