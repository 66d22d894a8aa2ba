//! Decides on starts that look at the data: each state of a label begins with data that the states before it
//! foresee badly.
//!
//! This is k-means++ for any exponential family (maths §9.9): it needs the two log-partition functions and
//! nothing else. Where labels are tied to one another, a label may bring its neighbours along, so that
//! a state begins with a histogram and not with a single symbol.

use std::collections::BTreeMap;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::block::{Block, BlockFamily};
use super::compiled::Compiled;
use super::start::{guess, plain};
use super::terms::Starts;
use collapsar_core::{Potential, Result};

/// The share of each state's first data that is all data alike: states begin as wide as the data are,
/// whatever their priors say of widths.
const COMMON: f64 = 0.3;
/// Numbers of labels that are looked at together, of which starts take turns where labels are tied.
const WINDOWS: [usize; 3] = [8, 1, 32];
/// Units among which data to begin with are found, of one label each; longer ones are fewer.
const UNITS: usize = 500;
const FEWEST_UNITS: usize = 50;
/// Units tried for each state, of which that is kept which leaves the others foreseen best.
const TRIES: usize = 4;
/// A parameter is picked by so many labels at least: else there is nothing that labels share.
const READINGS: f64 = 4.0;
/// Passes that choosing data may cost.
const PASSES: usize = 3;
/// Rounds in which own blocks follow what they are told.
const ROUNDS: usize = 3;
/// What a state that cannot be foresees.
const NEVER: f64 = -1e9;

/// Where a label is.
#[derive(Debug, Clone, Copy)]
enum Seat {
    Row {
        kernel: usize,
        row: usize,
    },
    /// In a shared block, with the place of its first state among natural parameters.
    Shared {
        block: usize,
        label: u32,
        place: usize,
    },
}

/// Labels of one declaration.
struct LabelClass {
    declaration: usize,
    states: usize,
    seats: Vec<Seat>,
}

/// The tables with several labels that each label of a network is in, and the place of its first state.
struct Ties {
    starts: Starts,
    tables: Vec<u32>,
    alone: Vec<usize>,
}

/// Labels that are given one state together.
enum Unit {
    Row {
        kernel: usize,
        row: usize,
    },
    /// Places of the first state among the natural parameters of shared blocks, and how far apart states
    /// are: those of labels, then those of tables all of whose labels are among them.
    Shared {
        labels: Vec<usize>,
        tables: Vec<(usize, usize)>,
    },
}

impl Compiled {
    /// Messages to begin from that look at the data where labels pick parameters of observed lines, else as
    /// [`Compiled::start`], and the passes over the data that finding them took. Seeds in a row take turns with
    /// what is looked at.
    ///
    /// # Errors
    /// Where the start lies outside the domain.
    pub fn start_from_data(&self, seed: u64) -> Result<(Vec<f64>, u64)> {
        // Sweeps look at terms that are products alone.
        let parted = self.choice().classes.iter().any(|class| class.parted);
        if parted && self.posterior.exponents().is_empty() {
            return match self.swept(seed) {
                Err(error) if error.is_recoverable() => Ok((self.start(seed)?, 1)),
                swept => swept,
            };
        }
        let classes = self.label_classes();
        let turn = (seed % (WINDOWS.len() as u64 + 1)) as usize;
        let seeded = match WINDOWS.get(turn) {
            Some(&window) if !classes.is_empty() => self.seeded(&classes, window, seed),
            _ => return Ok((self.start(seed)?, 1)),
        };
        match seeded {
            Err(error) if error.is_recoverable() => Ok((self.start(seed)?, 1)),
            started => Ok((started?, 2)),
        }
    }

    /// Classes of labels that data can be chosen for, where choosing is cheap.
    fn label_classes(&self) -> Vec<LabelClass> {
        let mut found: BTreeMap<(usize, usize), Vec<Seat>> = BTreeMap::new();
        for (kernel, rows) in self.local.rows.iter().enumerate() {
            if rows.are_labels() && rows.readings() >= READINGS {
                let seats = (0..rows.count).map(|row| Seat::Row { kernel, row });
                let of = found.entry((self.named(rows.first), rows.states));
                of.or_default().extend(seats);
            }
        }
        for (index, (block, first)) in self.local.blocks().0.iter().enumerate() {
            for (label, place, states) in block.label_places() {
                let of = self.named(block.variables[label as usize]);
                let place = first + place;
                let block = index;
                let seat = Seat::Shared {
                    block,
                    label,
                    place,
                };
                found.entry((of, states)).or_default().push(seat);
            }
        }
        let pass = self.size();
        let affordable = |states: usize| states * self.posterior.size() <= PASSES * pass;
        (found.into_iter())
            .map(|((declaration, states), seats)| LabelClass {
                declaration,
                states,
                seats,
            })
            .filter(|class| class.states > 1 && class.seats.len() > class.states)
            .filter(|class| affordable(class.states) && self.is_shared(class))
            .collect()
    }

    /// The first declaration of a variable's name.
    fn named(&self, variable: u32) -> usize {
        let declared = self.declared();
        let own = declared.partition_point(|of| of.variables().end <= variable);
        let same = (declared[..own].iter()).position(|of| of.names == declared[own].names);
        same.unwrap_or(own)
    }

    /// Whether what the labels of a class pick is picked by several of them.
    fn is_shared(&self, class: &LabelClass) -> bool {
        let mut seen = vec![false; self.local.own_first()];
        let (mut readings, mut distinct) = (0.0, 0.0);
        for seat in &class.seats {
            let Seat::Shared { place, .. } = *seat else {
                return true;
            };
            for slot in (place..place + class.states).flat_map(|place| self.local.slots_at(place)) {
                readings += 1.0;
                distinct += f64::from(u8::from(!seen[slot as usize]));
                seen[slot as usize] = true;
            }
        }
        distinct > 0.0 && readings >= READINGS * distinct
    }

    fn seeded(&self, classes: &[LabelClass], window: usize, seed: u64) -> Result<Vec<f64>> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut statistics = self.local.statistics_of(
            |block, mean| common(block, &mut rng, mean),
            COMMON,
            |_| None,
        );
        self.begin_predictors(&mut statistics, &mut rng);
        let ties: Vec<Option<Ties>> = (self.local.blocks().0.iter())
            .map(|(block, _)| Ties::new(block).filter(|_| window > 1))
            .collect();
        for class in classes {
            self.choose_data(class, &ties, window, &mut rng, &mut statistics)?;
        }
        let mut messages = self.told(&mut statistics)?;
        self.local.settle(&mut messages, |block, inside, natural| {
            if !inside {
                plain(block, &mut rng, natural);
            }
        });
        Ok(messages)
    }

    /// Adds the statistics of data for each state of a class, chosen one state after the other.
    fn choose_data(
        &self,
        class: &LabelClass,
        ties: &[Option<Ties>],
        window: usize,
        rng: &mut impl Rng,
        statistics: &mut Vec<f64>,
    ) -> Result<()> {
        let labels = class.seats.len();
        let count = (UNITS / window).max(FEWEST_UNITS).min(labels);
        let units: Vec<Unit> = (0..count)
            .map(|_| self.unit(class, rng.random_range(0..labels), ties, window))
            .collect();
        let mass = (1.0 - COMMON) * labels as f64 / class.states as f64;
        let mut best = vec![f64::NEG_INFINITY; count];
        for state in 0..class.states {
            let mut kept: Option<(f64, Vec<f64>, Vec<f64>)> = None;
            for _ in 0..if state == 0 { 1 } else { TRIES } {
                let unit = if state == 0 {
                    rng.random_range(0..count)
                } else {
                    worst(&best, rng)
                };
                let mut with = statistics.clone();
                self.add_unit(&units[unit], state, mass, &mut with);
                let messages = self.told(&mut with)?;
                let mut foreseen = self.foreseen(class, &units, state, &messages);
                for (foreseen, best) in foreseen.iter_mut().zip(&best) {
                    *foreseen = foreseen.max(*best);
                }
                let total = foreseen.iter().sum();
                if kept.as_ref().is_none_or(|kept| total > kept.0) {
                    kept = Some((total, with, foreseen));
                }
            }
            if let Some((_, with, foreseen)) = kept {
                (*statistics, best) = (with, foreseen);
            }
        }
        Ok(())
    }

    /// What all are told by statistics, once own blocks have followed.
    fn told(&self, statistics: &mut [f64]) -> Result<Vec<f64>> {
        let mut messages = vec![0.0; statistics.len()];
        let own = !self.local.blocks().1.is_empty();
        for _ in 0..if own { ROUNDS } else { 0 } {
            self.posterior
                .value_and_gradient(statistics, &mut messages)?;
            self.local.follow(&messages, statistics);
        }
        self.posterior
            .value_and_gradient(statistics, &mut messages)?;
        Ok(messages)
    }

    /// A label of a class with those around it.
    fn unit(&self, class: &LabelClass, at: usize, ties: &[Option<Ties>], window: usize) -> Unit {
        let (block, label, place) = match class.seats[at] {
            Seat::Row { kernel, row } => return Unit::Row { kernel, row },
            Seat::Shared {
                block,
                label,
                place,
            } => (block, label, place),
        };
        let (holder, first) = &self.local.blocks().0[block];
        let (BlockFamily::Network(family, _), Some(ties)) = (&holder.family, &ties[block]) else {
            let labels = vec![place];
            let tables = vec![];
            return Unit::Shared { labels, tables };
        };
        let alike = |other: u32| {
            family.states()[other as usize] == class.states
                && self.named(holder.variables[other as usize]) == class.declaration
        };
        let mut members = vec![label];
        let mut next = 0;
        while next < members.len() && members.len() < window {
            for &table in ties.of(members[next]) {
                for &other in &family.tables()[table as usize].scope {
                    if members.len() < window && !members.contains(&other) && alike(other) {
                        members.push(other);
                    }
                }
            }
            next += 1;
        }
        members.sort_unstable();
        let mut tables = vec![];
        for &label in &members {
            for &table in ties.of(label) {
                let scope = &family.tables()[table as usize].scope;
                let inside = (scope.iter()).all(|other| members.binary_search(other).is_ok());
                // Once, with the last of its labels.
                if inside && scope.iter().max() == Some(&label) {
                    let step = (scope.iter()).fold(0, |step, _| step * class.states + 1);
                    tables.push((first + family.parameters(table as usize).start, step));
                }
            }
        }
        let labels = members
            .iter()
            .map(|&label| first + ties.alone[label as usize]);
        Unit::Shared {
            labels: labels.collect(),
            tables,
        }
    }

    /// Adds the statistics of a unit in this state, as though it had so many labels.
    fn add_unit(&self, unit: &Unit, state: usize, mass: f64, out: &mut [f64]) {
        match unit {
            Unit::Row { kernel, row } => {
                self.local.rows[*kernel].add_row(*row, state, mass, out);
            }
            Unit::Shared { labels, tables } => {
                for place in labels {
                    let weight = mass / labels.len() as f64;
                    self.local.gather(place + state, &[weight], out);
                }
                for (place, step) in tables {
                    let weight = mass / tables.len() as f64;
                    self.local.gather(place + state * step, &[weight], out);
                }
            }
        }
    }

    /// How well a state foresees a label of each unit.
    fn foreseen(&self, class: &LabelClass, units: &[Unit], state: usize, at: &[f64]) -> Vec<f64> {
        let mut tables: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        let mut logits = vec![0.0; class.states];
        let each = units.iter().map(|unit| {
            let foreseen = match unit {
                Unit::Row { kernel, row } => {
                    let rows = &self.local.rows[*kernel];
                    let tables = tables.entry(*kernel).or_insert_with(|| rows.tables(at));
                    rows.logits_of(*row, tables, &mut logits);
                    logits[state]
                }
                Unit::Shared { labels, .. } => {
                    let mut sum = 0.0;
                    for place in labels {
                        let mut logit = [0.0];
                        self.local.natural_at(place + state, at, &mut logit);
                        sum += logit[0];
                    }
                    sum / labels.len() as f64
                }
            };
            foreseen.max(NEVER)
        });
        each.collect()
    }
}

impl Ties {
    /// Those of a network's labels.
    fn new(block: &Block) -> Option<Self> {
        let BlockFamily::Network(family, _) = &block.family else {
            return None;
        };
        let mut lengths = vec![0; family.states().len()];
        let mut alone = vec![0; family.states().len()];
        for (index, table) in family.tables().iter().enumerate() {
            match &table.scope[..] {
                [label] => alone[*label as usize] = family.parameters(index).start,
                scope => scope.iter().for_each(|&label| lengths[label as usize] += 1),
            }
        }
        let starts = Starts::of_lengths(&lengths);
        let mut tables = vec![0; lengths.iter().sum::<u32>() as usize];
        for (index, table) in family.tables().iter().enumerate().rev() {
            for &label in table.scope.iter().filter(|_| table.scope.len() > 1) {
                // A label's list fills up from its end.
                let left = &mut lengths[label as usize];
                *left -= 1;
                tables[starts.range(label as usize).start + *left as usize] = index as u32;
            }
        }
        Some(Self {
            starts,
            tables,
            alone,
        })
    }

    fn of(&self, label: u32) -> &[u32] {
        &self.tables[self.starts.range(label as usize)]
    }
}

impl Block {
    /// Labels by number, each with the place of its first state among natural parameters and its states.
    fn label_places(&self) -> Vec<(u32, usize, usize)> {
        match &self.family {
            BlockFamily::Label(family) => vec![(0, 0, family.components)],
            BlockFamily::Network(family, _) => (family.tables().iter().enumerate())
                .filter_map(|(index, table)| match table.scope[..] {
                    [label] => {
                        let place = family.parameters(index).start;
                        Some((label, place, family.states()[label as usize]))
                    }
                    _ => None,
                })
                .collect(),
            _ => vec![],
        }
    }
}

/// What a block begins with before data are chosen: labels in all states alike.
fn common(block: &Block, rng: &mut impl Rng, mean: &mut [f64]) {
    match &block.family {
        BlockFamily::Label(family) => mean.fill(COMMON / family.components as f64),
        BlockFamily::Network(family, _) => {
            for index in 0..family.tables().len() {
                let range = family.parameters(index);
                let alike = COMMON / range.len() as f64;
                mean[range].fill(alike);
            }
        }
        _ => guess(block, 0.0, rng, mean),
    }
}

/// A unit, in proportion to how much worse it is foreseen than the best.
fn worst(foreseen: &[f64], rng: &mut impl Rng) -> usize {
    let top = foreseen.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = foreseen.iter().map(|one| top - one).sum();
    let mut left = rng.random::<f64>() * total;
    for (unit, one) in foreseen.iter().enumerate() {
        left -= top - one;
        if left < 0.0 {
            return unit;
        }
    }
    rng.random_range(0..foreseen.len())
}
