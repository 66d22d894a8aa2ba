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
use place::Place;
use reference::Reference;
use rest::Rest;

/// Sweeps of which one draws every block in turn, as chains without leaps do: where the reference has too thin a tail, leaps
/// alone would stay for long.
const EVERY: usize = 10;
/// The share of leaps to new places that must be taken, so that they are worth more than sweeps.
const TAKEN: f64 = 0.4;
/// Coordinates that are kept, at most, and the places that must have been visited for each.
const MOST: usize = 40;
const VISITS: usize = 8;

/// A chain that sweeps, learns from where it went before its first draw, and leaps from then on.
#[derive(Debug, Clone)]
pub struct LeapingChain<'a> {
    chain: Chain<'a>,
    /// The sweeps that it learns from, and how many there have been.
    warmup: usize,
    sweeps: usize,
    visited: Vec<Vec<f64>>,
    seen: Vec<bool>,
    kept: Option<Kept<'a>>,
    leaps: Option<Box<Leaps<'a>>>,
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
    /// Whether the next leap is to the other side.
    turned: bool,
    tried: usize,
    taken: usize,
}

impl<'a> LeapingChain<'a> {
    /// A chain that leaps after so many sweeps, where that pays. Only numbers at places that are `seen` are kept up to date.
    pub fn new(chain: Chain<'a>, warmup: usize, seen: &[usize]) -> Self {
        let mut of = vec![false; chain.numbers.len()];
        seen.iter().for_each(|&place| of[place] = true);
        let kept = chain.model.kept().filter(|kept| kept.len() <= MOST);
        Self {
            chain,
            warmup,
            sweeps: 0,
            visited: vec![],
            seen: of,
            kept,
            leaps: None,
        }
    }

    /// Draws every block once, or what is kept with all else summed out.
    ///
    /// # Errors
    /// Where what the others say of a block is outside its domain.
    pub fn sweep<R: Rng + ?Sized>(&mut self, rng: &mut R) -> Result<()> {
        self.sweeps += 1;
        if let Some(leaps) = &mut self.leaps {
            leaps.sweep(&mut self.chain, rng)?;
            if self.sweeps == self.warmup && !leaps.pay() {
                leaps.leave(&mut self.chain, rng)?;
                self.leaps = None;
            }
            return Ok(());
        }
        self.chain.sweep(rng)?;
        // A tenth of the sweeps forgets where the fit was wrong, a quarter tells whether leaps are taken.
        if let Some(kept) = self.kept.as_ref().filter(|_| self.sweeps <= self.warmup) {
            if self.sweeps > self.warmup / 10 {
                self.visited.push(kept.coordinates(self.chain.numbers()));
            }
            if self.sweeps == self.warmup - self.warmup / 4 {
                self.leaps = Leaps::learned(kept, &self.visited, &self.chain, &self.seen);
                self.visited = vec![];
            }
        }
        Ok(())
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

impl<'a> Leaps<'a> {
    fn learned(
        kept: &Kept<'a>,
        visited: &[Vec<f64>],
        chain: &Chain<'a>,
        seen: &[bool],
    ) -> Option<Box<Self>> {
        let finite = |at: &Vec<f64>| at.iter().all(|x| x.is_finite());
        let reference = match kept.len() {
            0 => None,
            few if visited.len() >= VISITS * few && visited.iter().all(finite) => {
                Some(Reference::new(visited)?)
            }
            _ => return None,
        };
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
        Some(Box::new(Self {
            rows: (rows.into_iter().flatten()).any(|rows| shown(rows.first, rows.count)),
            rest: Rest::new(blocks, targets, seen),
            here: Place::new(kept),
            there: Place::new(kept),
            kept: kept.clone(),
            reference,
            inside: false,
            left: 0,
            turned: false,
            tried: 0,
            taken: 0,
        }))
    }

    /// Whether enough leaps to new places were taken.
    fn pay(&self) -> bool {
        self.reference.is_none() || self.taken as f64 >= TAKEN * self.tried.max(1) as f64
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
                reference.draw(rng, &mut self.there.white);
            }
            let ln_proposed = reference.unbend(&self.there.white, &mut self.there.coordinates);
            self.there.evaluate(&self.kept, &self.rest, ln_proposed);
            let gain = self.there.ln_ratio - self.here.ln_ratio;
            let taken = gain >= 0.0 || rng.random::<f64>() < gain.exp();
            if taken {
                std::mem::swap(&mut self.here, &mut self.there);
            }
            if !self.turned {
                self.tried += 1;
                self.taken += usize::from(taken);
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

    /// Takes what is kept from the chain.
    fn enter(&mut self, chain: &Chain<'_>) {
        self.here.coordinates = self.kept.coordinates(&chain.numbers);
        let ln_proposed = match &self.reference {
            None => 0.0,
            Some(reference) => {
                reference.bend(&self.here.coordinates, &mut self.here.white);
                // The same sums as at the place of a leap.
                let mut again = self.here.coordinates.clone();
                reference.unbend(&self.here.white, &mut again)
            }
        };
        self.here.evaluate(&self.kept, &self.rest, ln_proposed);
        self.inside = self.here.ln_ratio.is_finite();
        self.left = EVERY;
        self.turned = false;
    }
}
