//! Decides how a chain leaps: what is kept goes to a draw of a distribution that the chain has learned, or to the other side
//! of it, with all else summed out (maths §10.7).
//!
//! - `place`: where what is kept is, and the joint density there
//! - `reference`: where leaps go
//! - `rest`: how what is summed out is drawn

mod place;
mod reference;
mod rest;

use rand::{Rng, RngExt};

use super::Chain;
use crate::graph::choice::Role;
use crate::graph::kept::Kept;
use collapsar_core::Result;
use collapsar_core::diagnostics::ess_bulk;
use collapsar_core::elementary::Elementary;
use collapsar_core::special::log_sum_exp;
use place::Place;
use reference::Reference;
use rest::Rest;

/// Sweeps of which one draws every block in turn, as chains without leaps do: where the reference has too thin a tail, leaps
/// alone would stay for long.
const EVERY: usize = 10;
/// The same where states of labels are alike: in another order of them than that of the reference no leap is taken.
const EVERY_ALIKE: usize = 2;
/// How even the density must be by that of the reference: one that leaps are proposed from must not leave places out.
const EVEN: f64 = 0.25;
/// Coordinates that are kept, at most.
const MOST: usize = 40;

/// A chain that sweeps, learns from where it and others went before the first draw, and leaps from then on.
#[derive(Debug, Clone)]
pub struct LeapingChain<'a> {
    chain: Chain<'a>,
    seen: Vec<bool>,
    /// Leaps for each sweep.
    every: usize,
    kept: Option<Kept<'a>>,
    leaps: Option<Box<Leaps<'a>>>,
    /// Where it went, by stages.
    visited: Vec<Vec<Vec<f64>>>,
}

/// What chains do before their first draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// They sweep, and their places give a first reference.
    Sweeps,
    /// They leap, and a better reference is made of all places.
    Leaps,
    /// They leap, and either go on with that or return to sweeps, whichever moved what is kept further.
    Trial,
}

impl Stage {
    /// All of them, with how many of so many sweeps each has.
    pub fn all(warmup: usize) -> [(Self, usize); 3] {
        let quarter = warmup / 4;
        [
            (Self::Sweeps, warmup - 2 * quarter),
            (Self::Leaps, quarter),
            (Self::Trial, quarter),
        ]
    }
}

/// Leaps between places.
#[derive(Debug, Clone)]
struct Leaps<'a> {
    kept: Kept<'a>,
    reference: Option<Reference>,
    here: Place,
    there: Place,
    rest: Rest<'a>,
    /// Whether rows of labels are summed out that are asked for.
    rows: bool,
    /// Whether `here` is where the chain is, and how many leaps are left until the next sweep.
    inside: bool,
    left: usize,
    every: usize,
    /// Whether the next leap is to the other side.
    turned: bool,
}

impl<'a> LeapingChain<'a> {
    /// A chain that sweeps until it learns to leap. Only numbers at places that are `seen` are then kept up to date. Where
    /// states of labels are `alike`, it may go from one order of them to another.
    pub fn new(chain: Chain<'a>, seen: &[usize], alike: bool) -> Self {
        let mut of = vec![false; chain.numbers.len()];
        for &place in seen {
            of[place] = true;
        }
        Self {
            kept: chain.model.kept().filter(|kept| kept.len() <= MOST),
            chain,
            seen: of,
            every: if alike { EVERY_ALIKE } else { EVERY },
            leaps: None,
            visited: vec![],
        }
    }

    /// Draws every block once, or what is kept with all else summed out.
    ///
    /// # Errors
    /// Where what the others say of a block is outside its domain.
    pub fn sweep<R: Rng + ?Sized>(&mut self, rng: &mut R) -> Result<()> {
        match &mut self.leaps {
            Some(leaps) => leaps.sweep(&mut self.chain, rng),
            None => self.chain.sweep(rng),
        }
    }

    /// The sweeps of a stage, during which it notes where it goes; `goes_on` is asked before each.
    ///
    /// # Errors
    /// As [`LeapingChain::sweep`].
    pub fn warm_up<R: Rng + ?Sized>(
        &mut self,
        sweeps: usize,
        rng: &mut R,
        goes_on: impl Fn() -> bool,
    ) -> Result<()> {
        let mut visited = Vec::with_capacity(sweeps);
        for _ in 0..sweeps {
            if !goes_on() {
                break;
            }
            self.sweep(rng)?;
            if let Some(kept) = &self.kept {
                visited.push(kept.coordinates(self.chain.numbers()));
            }
        }
        self.visited.push(visited);
        Ok(())
    }

    /// Ends a stage: what all chains have seen decides how all of them go on.
    ///
    /// # Errors
    /// Where a chain that returns to sweeps cannot.
    pub fn learn<R: Rng + ?Sized>(stage: Stage, chains: &mut [(&mut Self, &mut R)]) -> Result<()> {
        if stage != Stage::Trial {
            // The first fifth forgets where the fit was wrong.
            let places = chains.iter().flat_map(|(chain, _)| {
                let visited = chain.visited.iter().enumerate();
                visited.flat_map(|(stage, of)| &of[if stage == 0 { of.len() / 5 } else { 0 }..])
            });
            let reference = Reference::new(&places.map(Vec::as_slice).collect::<Vec<_>>());
            for (chain, rng) in chains.iter_mut() {
                if let Some(leaps) = &mut chain.leaps {
                    leaps.leave(&mut chain.chain, rng)?;
                }
                chain.take(reference.clone());
            }
            return Ok(());
        }
        let stages = |stage: usize| {
            let of = chains.iter().map(|(chain, _)| &chain.visited);
            let of: Option<Vec<_>> = of.map(|of| of.get(stage).map(Vec::as_slice)).collect();
            of
        };
        let pays = match (worth(stages(0)), worth(stages(2))) {
            (Some(sweeps), Some(leaps)) => leaps >= sweeps,
            (sweeps, leaps) => sweeps.is_none() && leaps.is_some(),
        };
        let ratios = chains.iter_mut().flat_map(|(chain, _)| chain.ln_ratios());
        let pays = pays && evenness(&ratios.collect::<Vec<_>>()) >= EVEN;
        for (chain, rng) in chains {
            chain.visited = vec![];
            if let Some(leaps) = &mut chain.leaps
                && !pays
                && leaps.reference.is_some()
            {
                leaps.leave(&mut chain.chain, rng)?;
                chain.leaps = None;
            }
        }
        Ok(())
    }

    /// The logarithms of the density by that of the reference, where sweeps went.
    fn ln_ratios(&mut self) -> Vec<f64> {
        let (Some(leaps), Some(sweeps)) = (&mut self.leaps, self.visited.first()) else {
            return vec![];
        };
        let places = sweeps[sweeps.len() / 5..].iter();
        places.map(|at| leaps.ln_ratio(at)).collect()
    }

    /// Leaps by a reference from now on, or without one where nothing is kept.
    fn take(&mut self, reference: Option<Reference>) {
        let Some(kept) = &self.kept else { return };
        match &mut self.leaps {
            Some(leaps) => leaps.reference = reference.or(leaps.reference.take()),
            None if kept.is_empty() || reference.is_some() => {
                let mut leaps = Leaps::new(kept, reference, &self.chain, &self.seen);
                leaps.every = self.every;
                self.leaps = Some(Box::new(leaps));
            }
            None => {}
        }
    }

    /// Whether it leaps.
    pub fn leaps(&self) -> bool {
        self.leaps.is_some()
    }

    /// All numbers of all variables; those that are not seen may be old.
    pub fn numbers(&self) -> &[f64] {
        self.chain.numbers()
    }

    /// The place of a variable's first number among all.
    pub fn place(&self, variable: u32) -> usize {
        self.chain.place(variable)
    }
}

/// The effective size of the coordinate that has the least, for each place that was visited; none where one does not move.
fn worth(chains: Option<Vec<&[Vec<f64>]>>) -> Option<f64> {
    let chains = chains?;
    let (length, dim) = (chains.first()?.len(), chains.first()?.first()?.len());
    let sizes = (0..dim).map(|i| {
        let columns: Vec<Vec<f64>> = (chains.iter())
            .map(|chain| chain.iter().map(|at| at[i]).collect())
            .collect();
        let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        ess_bulk(&columns)
    });
    let sizes: Option<Vec<f64>> = sizes.collect();
    let least = sizes?.into_iter().min_by(f64::total_cmp)?;
    Some(least / (length * chains.len()) as f64)
}

/// $1/(\mathrm E w\,\mathrm E w^{-1})$ of draws of the posterior: one where the reference is the posterior, and little where a leap
/// away from the largest ratio is hardly ever taken.
fn evenness(ln_ratios: &[f64]) -> f64 {
    let count = ln_ratios.len() as f64;
    let inverse: Vec<f64> = ln_ratios.iter().map(|ln_ratio| -ln_ratio).collect();
    let both = log_sum_exp(ln_ratios) + log_sum_exp(&inverse) - 2.0 * count.ln_();
    if both.is_finite() {
        (-both).exp_()
    } else {
        0.0
    }
}

impl<'a> Leaps<'a> {
    fn new(
        kept: &Kept<'a>,
        reference: Option<Reference>,
        chain: &Chain<'a>,
        seen: &[bool],
    ) -> Self {
        let model = chain.model;
        let (blocks, targets) = match kept.role {
            Role::Collapsed => (model.local.blocks().0, &chain.targets[0]),
            _ => (model.posterior.blocks(), &chain.targets[2]),
        };
        let rows = (kept.role == Role::Collapsed).then_some(&model.local.rows);
        let shown = |first: u32, count: usize| {
            let first = chain.place(first);
            seen[first..first + count].contains(&true)
        };
        Self {
            rows: (rows.into_iter().flatten()).any(|rows| shown(rows.first, rows.count)),
            rest: Rest::new(blocks, targets, seen),
            here: Place::new(kept),
            there: Place::new(kept),
            kept: kept.clone(),
            reference,
            inside: false,
            left: 0,
            every: EVERY,
            turned: false,
        }
    }

    /// Puts the chain where the last leap went.
    fn leave<R: Rng + ?Sized>(&mut self, chain: &mut Chain<'_>, rng: &mut R) -> Result<()> {
        if std::mem::take(&mut self.inside) {
            // A sweep begins with the blocks that are summed out where collapsed ones are kept.
            let rest = self.kept.role != Role::Collapsed;
            self.kept.place(chain, &self.here.coordinates, rest, rng)?;
        }
        Ok(())
    }

    fn sweep<R: Rng + ?Sized>(&mut self, chain: &mut Chain<'_>, rng: &mut R) -> Result<()> {
        if !self.inside || (self.left == 0 && self.reference.is_some()) {
            self.leave(chain, rng)?;
            chain.sweep(rng)?;
            self.enter(chain);
            return Ok(());
        }
        self.left = self.left.saturating_sub(1);
        if let Some(reference) = &self.reference {
            if self.turned {
                let white = self.here.white.iter().map(|v| -v);
                self.there.white.clear();
                self.there.white.extend(white);
            } else {
                Reference::draw(rng, &mut self.there.white);
            }
            let ln_proposed = reference.unbend(&self.there.white, &mut self.there.coordinates);
            self.there.evaluate(&self.kept, &self.rest, ln_proposed);
            let gain = self.there.ln_ratio - self.here.ln_ratio;
            if gain >= 0.0 || rng.random::<f64>() < gain.exp_() {
                std::mem::swap(&mut self.here, &mut self.there);
            }
        }
        self.here.show(&self.kept, chain);
        let known = (self.here.naturals.as_slice(), &mut self.here.fields);
        let targets = match self.kept.role {
            Role::Collapsed => &chain.targets[0],
            _ => &chain.targets[2],
        };
        (self.rest).draw(self.turned, known, rng, targets, &mut chain.numbers)?;
        if self.rows {
            let slots = chain.model.local.own_first();
            chain.work.sent.resize(slots, 0.0);
            for rows in &chain.model.local.rows {
                let first = chain.places.places(rows.first).start;
                let labels = &mut chain.numbers[first..first + rows.count];
                let told = &self.here.messages[..slots];
                let work = &mut chain.work;
                rows.draw(told, rng, &mut work.rows, labels, &mut work.sent)?;
            }
        }
        self.turned = !self.turned;
        Ok(())
    }

    /// The logarithm of the density by that of the reference at coordinates; goes `there`.
    fn ln_ratio(&mut self, at: &[f64]) -> f64 {
        self.there.coordinates.copy_from_slice(at);
        let ln_proposed = match &self.reference {
            None => 0.0,
            Some(reference) => {
                reference.bend(at, &mut self.there.white);
                // The same sums as at the place of a leap.
                let mut again = at.to_vec();
                reference.unbend(&self.there.white, &mut again)
            }
        };
        self.there.evaluate(&self.kept, &self.rest, ln_proposed);
        self.there.ln_ratio
    }

    /// Takes what is kept from the chain.
    fn enter(&mut self, chain: &Chain<'_>) {
        self.ln_ratio(&self.kept.coordinates(&chain.numbers));
        std::mem::swap(&mut self.here, &mut self.there);
        self.inside = self.here.ln_ratio.is_finite();
        self.left = self.every;
        self.turned = false;
    }
}
