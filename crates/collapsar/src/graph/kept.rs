//! Decides which blocks a joint density is kept of, the rest being summed out exactly (maths §10.5).
//!
//! Given own and collapsed blocks, shared ones and rows of labels do not meet; given own and shared ones, collapsed blocks
//! do not. Either may be summed out, and what is kept is whichever has the fewer numbers.

use super::block::{Block, BlockFamily, Placed, range_of, value_all};
use super::chain::Chain;
use super::choice::Role;
use super::compiled::Compiled;
use super::variational::Numbers;
use collapsar_core::vector::dot;
use collapsar_core::{Collapsed, Result};

/// Places whose messages are kept at a time.
const AT_ONCE: usize = 200;

/// The blocks that are kept, in coordinates without bounds.
#[derive(Debug, Clone)]
pub struct Kept<'a> {
    pub(super) model: &'a Compiled,
    /// Own blocks, then those of `role`.
    pub(super) own: &'a [Placed],
    pub(super) others: &'a [Placed],
    /// Whether the others are the collapsed ones or the shared ones.
    pub(super) role: Role,
    numbers: Numbers<'a>,
    size: usize,
}

/// Statistics at a place of the blocks that are kept.
#[derive(Debug, Clone, Default)]
struct Statistics {
    /// Slots, then those of own blocks.
    explicit: Vec<f64>,
    others: Vec<f64>,
    /// The logarithm of the measures of all families by those of the coordinates.
    ln_slope: f64,
}

impl Compiled {
    /// The part of the log joint that collapsed blocks are in, with statistics of own blocks and shared ones and rows summed
    /// out. Slots are zero in `explicit`, so that terms with shared blocks are left out until then; `messages` is room.
    pub(super) fn ln_joint_of_collapsed(
        &self,
        explicit: &[f64],
        collapsed: &[f64],
        messages: &mut Vec<f64>,
    ) -> Result<f64> {
        let (alone, value) = self.posterior.naturals(explicit);
        messages.resize(explicit.len(), 0.0);
        self.posterior.backward(explicit, collapsed, messages);
        let summed = self.local.shared_value(messages)?;
        Ok(value + product(&alone, collapsed) + summed)
    }

    /// What is kept when as much as possible is summed out; none where that would hold labels or nothing at all.
    pub fn kept(&self) -> Option<Kept<'_>> {
        let (shared, own) = self.local.blocks();
        let size = |blocks: &[Placed]| -> Option<usize> {
            blocks.iter().map(|(block, _)| block.coordinates()).sum()
        };
        let collapsed = self.posterior.blocks();
        let by_collapsed = size(collapsed).map(|size| (size, collapsed, Role::Collapsed));
        let by_shared = (size(shared).filter(|_| self.local.rows.is_empty()))
            .map(|size| (size, shared, Role::Shared));
        let sides = [by_collapsed, by_shared].into_iter().flatten();
        let (others_size, others, role) = sides.min_by_key(|side| side.0)?;
        let size = size(own)? + others_size;
        Some(Kept {
            model: self,
            own,
            others,
            role,
            numbers: Numbers::new(self.declared()),
            size,
        })
    }
}

/// Pólya-Gamma variables, which no text can name.
pub(super) fn unread(family: &BlockFamily) -> bool {
    matches!(family, BlockFamily::PolyaGamma(_))
}

/// ⟨a, x⟩, where infinite parameters of what is not the case do not count.
pub(super) fn product(a: &[f64], x: &[f64]) -> f64 {
    // A zero is added and no branch taken: labels have many of them.
    let term = |(a, x): (&f64, &f64)| if *x == 0.0 { 0.0 } else { a * x };
    a.iter().zip(x).map(term).sum()
}

/// A value, or negative infinity where there is none.
fn or_least(value: Option<f64>) -> f64 {
    value
        .filter(|value| !value.is_nan())
        .unwrap_or(f64::NEG_INFINITY)
}

impl Kept<'_> {
    /// How many coordinates are kept.
    pub fn len(&self) -> usize {
        self.size
    }

    /// Whether everything is summed out.
    pub fn is_empty(&self) -> bool {
        self.size == 0
    }

    /// All blocks that are kept.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &Placed> {
        self.own.iter().chain(self.others)
    }

    /// Visits the blocks with the numbers and the statistics at coordinates; returns the logarithm of the measures.
    fn each(&self, at: &[f64], mut visit: impl FnMut(Role, &Placed, &[f64], &[f64])) -> f64 {
        let (mut first, mut ln_slope) = (0, 0.0);
        let (mut numbers, mut statistics) = (vec![], vec![]);
        let own = self.own.iter().map(|placed| (Role::Own, placed));
        let others = self.others.iter().map(|placed| (self.role, placed));
        for (role, placed) in own.chain(others) {
            let len = placed.0.coordinates().unwrap_or(0);
            numbers.resize(placed.0.numbers(), 0.0);
            statistics.clear();
            statistics.resize(placed.0.len(), 0.0);
            let at = &at[first..first + len];
            ln_slope += (placed.0).write_at(at, &mut numbers, &mut statistics);
            visit(role, placed, &numbers, &statistics);
            first += len;
        }
        ln_slope
    }

    /// The log joint density of the data and of what is kept, by the coordinates: $-\infty$ outside the domain.
    pub fn ln_joint(&self, at: &[f64]) -> f64 {
        let value = self.statistics_at(at).map(|found| self.ln_joint_at(found));
        or_least(value.and_then(Result::ok))
    }

    /// The same at several places: a pass over the data is then for many of them, where it can.
    pub fn ln_joints(&self, at: &[Vec<f64>]) -> Vec<f64> {
        if self.role != Role::Collapsed {
            return at.iter().map(|at| self.ln_joint(at)).collect();
        }
        let (local, posterior) = (&self.model.local, &self.model.posterior);
        let mut out = Vec::with_capacity(at.len());
        let mut found = Statistics::default();
        let mut alone = vec![0.0; posterior.statistics()];
        // Messages are as many as pairs of coefficients: not those of all draws at once.
        for some in at.chunks(AT_ONCE) {
            let mut messages = Vec::with_capacity(some.len());
            let mut told = Vec::with_capacity(some.len());
            for at in some {
                if !self.find_statistics(at, &mut found) {
                    told.push(None);
                    continue;
                }
                let value = posterior.write_naturals(&found.explicit, &mut alone);
                let mut to_local = vec![0.0; found.explicit.len()];
                posterior.backward(&found.explicit, &found.others, &mut to_local);
                messages.push(to_local);
                told.push(Some(
                    value + product(&alone, &found.others) + self.beside(&found),
                ));
            }
            let mut summed = local.shared_values(&messages).into_iter();
            out.extend(
                told.into_iter()
                    .map(|told| or_least(told.and_then(|told| Some(told + summed.next()?.ok()?)))),
            );
        }
        out
    }

    /// Statistics at coordinates, where all are finite.
    fn statistics_at(&self, at: &[f64]) -> Option<Statistics> {
        let mut found = Statistics::default();
        self.find_statistics(at, &mut found).then_some(found)
    }

    /// The same where there is room; whether all are finite.
    fn find_statistics(&self, at: &[f64], found: &mut Statistics) -> bool {
        let local = &self.model.local;
        let first = local.own_first();
        let others = self.others.last().map_or(0, |last| range_of(last).end);
        found.explicit.clear();
        found.explicit.resize(first + local.own_base.len(), 0.0);
        found.others.clear();
        found.others.resize(others, 0.0);
        let ln_slope = self.each(at, |role, placed, _, statistics| {
            let out = match role {
                Role::Own => &mut found.explicit[first..],
                _ => &mut found.others,
            };
            out[range_of(placed)].copy_from_slice(statistics);
        });
        found.ln_slope = ln_slope;
        let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
        finite(&found.explicit) && finite(&found.others)
    }

    /// What the log joint has of own blocks alone, of coordinates and of data.
    fn beside(&self, found: &Statistics) -> f64 {
        let local = &self.model.local;
        let own = dot(&local.own_base, &found.explicit[local.own_first()..]);
        own + found.ln_slope + self.model.constant()
    }

    fn ln_joint_at(&self, mut found: Statistics) -> Result<f64> {
        let (local, posterior) = (&self.model.local, &self.model.posterior);
        let beside = self.beside(&found);
        let ln_joint = if self.role == Role::Collapsed {
            (self.model).ln_joint_of_collapsed(&found.explicit, &found.others, &mut vec![])?
        } else {
            local.gather(0, &found.others, &mut found.explicit[..local.own_first()]);
            let (naturals, value) = posterior.naturals(&found.explicit);
            let summed = value_all(posterior.blocks(), &naturals)?;
            value + summed + dot(local.shared_base(), &found.others)
        };
        Ok(ln_joint + beside)
    }

    /// About how many products of numbers one of several joint densities takes.
    pub fn cost(&self) -> usize {
        match self.role {
            Role::Collapsed => self.model.local.value_cost() + self.model.posterior.size(),
            _ => self.model.size(),
        }
    }

    /// Whether the logarithm of the joint density is concave for certain, so that there is one region and no other: normal variables
    /// alone, and answers whose predictors are linear in them (maths §10.10).
    pub fn is_log_concave(&self) -> bool {
        let normal = |placed: &Placed| matches!(placed.0.family, BlockFamily::Gaussian(_));
        let logistic = |placed: &Placed| matches!(placed.0.family, BlockFamily::PolyaGamma(_));
        let (shared, own) = self.model.local.blocks();
        self.role == Role::Collapsed
            && own.is_empty()
            && self.others.iter().all(normal)
            && shared.iter().all(logistic)
            && self.model.local.rows.iter().all(|rows| !rows.are_labels())
    }

    /// All numbers of all variables at coordinates; those that are summed out are zero.
    pub(super) fn numbers(&self, at: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.numbers.len()];
        self.each(at, |_, placed, numbers, _| {
            (self.numbers).put(&placed.0, numbers.iter().copied(), &mut out);
        });
        out
    }

    /// The places of a block's numbers among all.
    pub(super) fn places_of(&self, block: &Block) -> Vec<usize> {
        let variables = block.variables.iter();
        variables
            .flat_map(|&variable| self.numbers.places(variable))
            .collect()
    }

    /// The coordinates of all numbers of all variables.
    pub fn coordinates(&self, numbers: &[f64]) -> Vec<f64> {
        let mut out = Vec::with_capacity(self.size);
        for (block, _) in self.blocks() {
            let places = self.places_of(block);
            let own: Vec<f64> = places.iter().map(|&place| numbers[place]).collect();
            out.extend(block.to_coordinates(&own));
        }
        out
    }

    /// Puts a chain where coordinates say, and draws what is summed out where it is asked for.
    pub(super) fn place<R: rand::Rng + ?Sized>(
        &self,
        chain: &mut Chain<'_>,
        at: &[f64],
        rest: bool,
        rng: &mut R,
    ) -> Result<()> {
        let local = &self.model.local;
        let first = local.own_first();
        chain.moved();
        chain.statistics[..first].fill(0.0);
        self.each(at, |role, placed, numbers, statistics| {
            (chain.places).put(&placed.0, numbers.iter().copied(), &mut chain.numbers);
            let range = range_of(placed);
            match role {
                Role::Own => chain.statistics[first..][range].copy_from_slice(statistics),
                Role::Collapsed => chain.collapsed[range].copy_from_slice(statistics),
                Role::Shared => {
                    local.gather(range.start, statistics, &mut chain.statistics[..first]);
                }
            }
        });
        match self.role {
            _ if !rest => Ok(()),
            Role::Collapsed => chain.draw_shared_but(unread, rng),
            _ => chain.draw_collapsed_but(unread, rng),
        }
    }

    /// Whether a variable is kept.
    pub fn holds(&self, variable: u32) -> bool {
        self.blocks()
            .any(|(block, _)| block.variables.contains(&variable))
    }
}
