//! Decides which scalars are put on a grid: the fewest that make a line conjugate once they are known (maths §9.13).

use std::cell::{Cell, RefCell};

use super::Stochastic;
use super::emit::Sink;
use super::nodes::{Coordinate, Grid, MOST_COUNTS};
use crate::diagnostic::Diagnostic;
use crate::distribution::{Distribution, Support};
use crate::elaborate::{Definer, Resolved, Unresolved};
use crate::quantity::Origin;
use crate::value::Scalar;

use collapsar::elementary::Elementary;

/// Scalars of one line that are put on grids together, at most.
const MOST_TOGETHER: usize = 3;
/// Elements of one line that are put on grids, at most.
const MOST_ELEMENTS: usize = 10_000;
/// Nodes of a grid that is alone, of one of two, and of one of three.
const NODES: [usize; MOST_TOGETHER] = [32, 24, 16];
/// Nats by which a prior density may be below its highest where a grid ends.
const DEPTH: f64 = 25.0;
/// How far the coordinate of a number whose prior has unknown parameters may be from zero.
const FAR: f64 = 25.0;
/// Counts that are looked at first, beside twice the largest datum.
const COUNTS: f64 = 100.0;

/// Numbers that are taken to be known, to see what follows, and what was read.
#[derive(Debug, Default)]
pub(crate) struct Trial {
    known: RefCell<Vec<((u32, u32), f64)>>,
    seen: RefCell<Option<Vec<Definer>>>,
    /// Why the last node was refused that a line cannot have.
    pub(super) refused: RefCell<Option<Box<Diagnostic>>>,
}

impl Trial {
    /// The number that an element is taken to be, if any.
    pub(super) fn known(&self, definer: Definer) -> Option<f64> {
        if let Some(seen) = &mut *self.seen.borrow_mut()
            && !seen.contains(&definer)
        {
            seen.push(definer);
        }
        let known = self.known.borrow();
        let place = (definer.line, definer.instance);
        let found = known.iter().find(|(of, _)| *of == place);
        found.map(|(_, value)| *value)
    }
}

/// A scalar that may be put on a grid: its line and repetition, and the grid.
struct Candidate {
    place: (u32, u32),
    grid: Grid,
}

impl Stochastic<'_> {
    /// The lines that have to be on grids for this repetition to have terms, with the grids; none where no few of them help.
    pub(super) fn grids(&self, instance: usize) -> Option<Vec<(u32, Grid)>> {
        let mut candidates: Vec<Candidate> = (self.scalars(instance).into_iter())
            .filter_map(|definer| self.candidate(definer))
            .collect();
        // Of scalars that serve alike, the one that stands alone.
        let repetitions = |of: &Candidate| self.scope.model.lines[of.place.0 as usize].instances;
        candidates.sort_by_key(repetitions);
        for together in 1..=MOST_TOGETHER.min(candidates.len()) {
            for chosen in subsets(candidates.len(), together) {
                let chosen: Vec<&Candidate> =
                    chosen.iter().map(|&index| &candidates[index]).collect();
                if self.serves(instance, &chosen) {
                    let nodes = NODES[together - 1];
                    let mut found: Vec<(u32, Grid)> = vec![];
                    for of in chosen {
                        let (line, grid) = (of.place.0, &of.grid);
                        let ends = (grid.first, grid.place(grid.values.len() - 1));
                        let grid = Grid::new(grid.coordinate, ends, grid.limits, nodes);
                        found.push((line, grid));
                    }
                    return Some(found);
                }
            }
        }
        None
    }

    /// The unknown scalars that a repetition reads, its own first.
    fn scalars(&self, instance: usize) -> Vec<Definer> {
        *self.trial.seen.borrow_mut() = Some(vec![]);
        self.scope.enter(self.line, instance);
        // What cannot be evaluated has been read as far as that.
        let _ = self.target(instance);
        for argument in self.of.arguments {
            let _ = self.scope.evaluate(argument);
        }
        self.trial.seen.take().unwrap_or_default()
    }

    /// The grid of a scalar, if it can have one.
    fn candidate(&self, definer: Definer) -> Option<Candidate> {
        let line = &self.scope.model.lines[definer.line as usize];
        let of = line.sampling()?;
        if line.size != 1
            || line.instances > MOST_ELEMENTS
            || matches!(
                self.variables.origin(definer),
                Origin::Label(..) | Origin::Grid(_)
            )
        {
            return None;
        }
        let prior = Stochastic {
            line: definer.line as usize,
            of,
            target: line.relation.target.span,
            simplexes: RefCell::default(),
            looks: Cell::new(0),
            ..*self
        };
        let grid = prior.first_grid(definer.instance as usize)?;
        let place = (definer.line, definer.instance);
        Some(Candidate { place, grid })
    }

    /// Nodes over all that the prior of a repetition allows.
    fn first_grid(&self, instance: usize) -> Option<Grid> {
        let infinite = (f64::NEG_INFINITY, f64::INFINITY);
        let support = self.of.distribution.support();
        let (mut lower, mut upper) = match (self.of.distribution, support) {
            (Distribution::Uniform, _) => self.ends(instance)?,
            (_, Support::Reals) => infinite,
            (_, Support::Positive) => (0.0, infinite.1),
            (_, Support::Bounded) => (0.0, 1.0),
            (_, Support::Counts) => return Some(self.first_counts()),
            _ => return None,
        };
        self.scope.enter(self.line, instance);
        if let Some((low, high, _)) = self.bounds().ok()? {
            (lower, upper) = (lower.max(low), upper.min(high));
        }
        let coordinate = Coordinate::between(lower, upper);
        let ends = self.bulk(instance, coordinate)?;
        Some(Grid::new(coordinate, ends, ends, NODES[0]))
    }

    /// The ends of a uniform prior, where they are known.
    fn ends(&self, instance: usize) -> Option<(f64, f64)> {
        self.scope.enter(self.line, instance);
        let ends = self.scope.evaluate_all(self.of.arguments).ok()?;
        let end = |place: usize| ends[place].single().and_then(Scalar::known);
        Some((end(0)?, end(1)?)).filter(|(low, high)| low < high)
    }

    /// The counts that are looked at first: up to twice the largest that was observed, and a hundred more.
    fn first_counts(&self) -> Grid {
        let model = self.scope.model;
        let counted = model.lines.iter().filter(|line| {
            let of = line.sampling().map(|of| of.distribution.support());
            matches!(of, Some(Support::Counts | Support::States(_)))
        });
        let observed = counted.flat_map(|line| {
            let array = &model.arrays[line.array];
            (0..array.len()).filter_map(|element| array.value(element))
        });
        let last = 2.0 * observed.fold(0.0, f64::max) + COUNTS;
        let ends = (0.0, last.min(MOST_COUNTS));
        Grid::new(Coordinate::Whole, ends, (0.0, f64::INFINITY), 0)
    }

    /// Where the prior density in a coordinate is not negligible.
    fn bulk(&self, instance: usize, coordinate: Coordinate) -> Option<(f64, f64)> {
        // Reals are looked for by orders of magnitude.
        let real = coordinate == Coordinate::Real;
        let at = |u: f64| if real { u.sinh_() } else { u };
        let step = 0.05;
        let places: Vec<f64> = (-1200..=1200).map(|k| f64::from(k) * step).collect();
        let mut density = vec![];
        for &place in &places {
            let u = at(place);
            match self.ln_density(instance, coordinate.value(u)) {
                Density::Known(ln) => density.push(ln + coordinate.ln_slope(u)),
                Density::None => density.push(f64::NEG_INFINITY),
                Density::Unknown if real => return None,
                Density::Unknown => return Some((-FAR, FAR)),
            }
        }
        let highest = density.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if highest == f64::NEG_INFINITY {
            // Parameters must be known for there to be a density.
            return (!real).then_some((-FAR, FAR));
        }
        let inside = |ln: &f64| *ln > highest - DEPTH;
        let first = density.iter().position(inside)?;
        let last = density.iter().rposition(inside)?;
        let (first, last) = (first.saturating_sub(1), (last + 1).min(places.len() - 1));
        Some((at(places[first]), at(places[last])))
    }

    /// The logarithm of the prior density of a repetition at a number.
    fn ln_density(&self, instance: usize, value: f64) -> Density {
        let place = (self.line as u32, instance as u32);
        let given = self.states.borrow().len();
        self.trial.known.borrow_mut().push((place, value));
        let mut sink = Sink::default();
        let done = self.any_state(instance, &mut sink);
        self.trial.known.borrow_mut().pop();
        let states = self.states.borrow().len();
        self.states.borrow_mut().truncate(given);
        match done {
            Ok(()) if sink.terms().all(|(_, atoms)| atoms.len() <= states) => {
                let sum = sink
                    .terms()
                    .map(|(coefficient, _)| coefficient)
                    .sum::<f64>();
                if sum.is_finite() {
                    Density::Known(sum)
                } else {
                    Density::None
                }
            }
            Ok(()) => Density::Unknown,
            Err(_) => Density::None,
        }
    }

    /// The terms of a repetition, with labels that it asks for in some state.
    pub(super) fn any_state(&self, instance: usize, sink: &mut Sink) -> Resolved {
        loop {
            self.scope.enter(self.line, instance);
            sink.clear();
            match self.terms(instance, None, sink) {
                Err(Unresolved::State(label)) if label != u32::MAX => {
                    let middle = self.variables.states(label) / 2;
                    self.states.borrow_mut().push((label, middle));
                }
                done => return done,
            }
        }
    }

    /// Whether a repetition has terms where these scalars are known.
    fn serves(&self, instance: usize, chosen: &[&Candidate]) -> bool {
        let given = self.states.borrow().len();
        // A single number may be one that a parameter cannot have.
        [0.5, 0.3, 0.7, 0.05, 0.95].into_iter().any(|share| {
            let known = chosen.iter().map(|of| {
                let last = (of.grid.values.len() - 1) as f64;
                (of.place, of.grid.values[(share * last) as usize])
            });
            *self.trial.known.borrow_mut() = known.collect();
            let done = self.any_state(instance, &mut Sink::default());
            self.trial.known.borrow_mut().clear();
            self.states.borrow_mut().truncate(given);
            done.is_ok()
        })
    }
}

/// A density at a number.
enum Density {
    Known(f64),
    /// Not a number that there can be.
    None,
    /// One that depends on what is not known.
    Unknown,
}

/// The subsets of so many of the first numbers.
fn subsets(of: usize, size: usize) -> Vec<Vec<usize>> {
    if size == 0 {
        return vec![vec![]];
    }
    (0..of)
        .flat_map(|last| {
            let smaller = subsets(last, size - 1).into_iter();
            smaller.map(move |mut subset| {
                subset.push(last);
                subset
            })
        })
        .collect()
}
