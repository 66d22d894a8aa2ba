//! Decides how numbers are drawn from q: only what is asked for, and what that depends on.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

use collapsar::graph::Centring;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::diagnostic::{Checked, Diagnostic};
use crate::elaborate::{Definer, Latent, Mode, Read, Reads, Resolved, Scope, inverse_logit};
use crate::lower::Prepared;
use crate::posterior::{Posterior, PosteriorError};
use crate::predict::Fixed;
use crate::quantity::{Element, Origin, Quantity};
use crate::syntax::ast::Span;
use crate::value::{Scalar, Value};

/// Draws that one stream of random numbers serves. Each block has streams of its own, so that draws
/// are the same whatever else is asked for.
pub(crate) const OF_STREAM: usize = 500;
/// Marks the streams of labels that are kept as rows, and of what is predicted.
const ROWS: u64 = 1 << 40;
const PREDICTED: u64 = 1 << 63;

/// What quantities depend on.
#[derive(Debug, Default)]
pub(crate) struct Dependencies {
    /// Variables with their numbers, sorted.
    numbers: Vec<(u32, u32)>,
    /// What is predicted, parents first: lines and repetitions.
    predicted: Vec<(usize, usize)>,
}

impl Dependencies {
    pub(crate) fn of(prepared: &Prepared, quantities: &[Quantity]) -> Self {
        let mut search = Search {
            prepared,
            reads: Reads::new(&prepared.model),
            seen: HashSet::new(),
            any: vec![false; prepared.model.arrays.len()],
            found: Self::default(),
        };
        let places = quantities.iter().map(|quantity| quantity.place);
        let first = places.filter_map(|place| search.reads.element(place));
        search.follow(first.collect());
        let mut found = search.found;
        found.numbers.sort_unstable();
        found.numbers.dedup();
        found
    }

    /// The numbers that are drawn, each with a place among all that `place` gives a variable's first.
    pub(crate) fn places(&self, place: impl Fn(u32) -> usize) -> Vec<usize> {
        let numbers = self.numbers.iter();
        numbers
            .map(|&(variable, number)| place(variable) + number as usize)
            .collect()
    }

    /// The variables that are drawn.
    pub(crate) fn variables(&self) -> impl Iterator<Item = u32> {
        self.numbers.iter().map(|&(variable, _)| variable)
    }

    /// How many things are predicted.
    pub(crate) fn predictions(&self) -> usize {
        self.predicted.len()
    }

    /// How many numbers one draw is.
    pub(crate) fn count(&self) -> usize {
        self.numbers.len() + self.predicted.len()
    }
}

struct Search<'a> {
    prepared: &'a Prepared,
    reads: Reads<'a>,
    seen: HashSet<(u32, u32)>,
    /// Arrays all of which are needed.
    any: Vec<bool>,
    found: Dependencies,
}

impl Search<'_> {
    /// Notes all that these depend on, without recursion: chains may be long. The stack holds a line's
    /// repetition, where it is one, and what of what it reads is still to be followed.
    fn follow(&mut self, first: Vec<Read>) {
        let mut stack = vec![(None, first)];
        while let Some((node, mut reads)) = stack.pop() {
            let Some(read) = reads.pop() else {
                let barren = &self.prepared.variables.barren;
                let predicted = node.filter(|&(line, instance)| barren.contains(line, instance));
                self.found.predicted.extend(predicted);
                continue;
            };
            match read {
                Read::Any(array) => {
                    if !std::mem::replace(&mut self.any[array], true) {
                        let elements = 0..self.prepared.model.arrays[array].len();
                        let read = |element: usize| self.reads.element((array, element));
                        reads.extend(elements.filter_map(read));
                    }
                    stack.push((node, reads));
                }
                Read::One(definer) => {
                    stack.push((node, reads));
                    let place = (definer.line as usize, definer.instance as usize);
                    stack.extend(self.visit(definer).map(|reads| (Some(place), reads)));
                }
            }
        }
    }

    /// Notes a number of q, or gives what a computed or predicted line reads.
    fn visit(&mut self, definer: Definer) -> Option<Vec<Read>> {
        let (line, instance) = (definer.line as usize, definer.instance as usize);
        match self.prepared.origin(definer) {
            Origin::Variable(variable, number) => {
                self.found.numbers.push((variable, number));
                let moved = self.prepared.variables.centring.of(variable, number);
                let follows = moved.into_iter().flat_map(|moved| &moved.follows);
                let follows = follows.map(|&(other, _)| (other, 0));
                self.found.numbers.extend(follows);
            }
            Origin::Label(variable, _) | Origin::Grid(variable) => {
                self.found.numbers.push((variable, 0));
            }
            Origin::Zero => {}
            Origin::Predicted | Origin::Computed => {
                let new = self.seen.insert((definer.line, definer.instance));
                return new.then(|| self.reads.of(line, instance));
            }
        }
        None
    }
}

/// Draws of all that is needed, in order.
pub(crate) struct Sampler<'a> {
    of: &'a Posterior<'a>,
    needed: &'a Dependencies,
    seed: ChaCha8Rng,
    blocks: Vec<Block>,
    /// Random numbers of what is predicted, in the order of `needed`.
    predicted: Vec<Option<ChaCha8Rng>>,
    /// One draw of all numbers.
    buffer: Vec<f64>,
}

/// A block of the graph, or all labels that are kept as rows: its number, columns with places
/// among all numbers, and its random numbers.
type Block = (Option<usize>, Vec<(usize, usize)>, Option<ChaCha8Rng>);

impl<'a> Sampler<'a> {
    pub(crate) fn new(of: &'a Posterior<'a>, needed: &'a Dependencies) -> Self {
        let (variational, numbers) = (of.variational, &needed.numbers);
        let mut left = vec![true; numbers.len()];
        let mut blocks = vec![];
        for block in 0..variational.blocks() {
            let mut columns = vec![];
            for &variable in variational.block_variables(block) {
                let first = numbers.partition_point(|number| number.0 < variable);
                let of = numbers[first..].iter().zip(first..);
                for (number, column) in of.take_while(|(number, _)| number.0 == variable) {
                    left[column] = false;
                    columns.push((column, variational.place(variable) + number.1 as usize));
                }
            }
            blocks.push((Some(block), columns, None));
        }
        let rows = (0..left.len()).filter(|&column| left[column]);
        let rows = rows.map(|column| (column, variational.place(numbers[column].0)));
        blocks.push((None, rows.collect(), None));
        blocks.retain(|(_, columns, _): &Block| !columns.is_empty());
        Self {
            of,
            needed,
            seed: ChaCha8Rng::seed_from_u64(of.seed),
            blocks,
            predicted: vec![None; needed.predicted.len()],
            buffer: vec![0.0; variational.len()],
        }
    }

    /// The draws of a range, which begins where the last ended or where a stream does.
    pub(crate) fn draws(&mut self, which: Range<usize>) -> Result<Drawn<'a>, PosteriorError> {
        let empty = Vec::with_capacity(which.len());
        let mut columns = vec![empty; self.needed.numbers.len()];
        let variational = self.of.variational;
        for (number, places, rng) in &mut self.blocks {
            let stream = number.map_or(ROWS, |number| number as u64 + 1) << 20;
            for draw in which.clone() {
                let rng = stream_at(rng, &self.seed, stream, draw);
                match *number {
                    Some(number) => variational.draw_block(number, rng, &mut self.buffer)?,
                    None => variational.draw_labels(rng, &mut self.buffer)?,
                }
                for &(column, place) in &*places {
                    columns[column].push(self.buffer[place]);
                }
            }
        }
        let random = (&self.seed, self.predicted.as_mut_slice());
        let (prepared, needed) = (self.of.prepared, self.needed);
        Ok(Drawn::new(prepared, needed, columns, random, which))
    }
}

/// Random numbers of a source at a draw, which may begin a stream.
fn stream_at<'a>(
    rng: &'a mut Option<ChaCha8Rng>,
    seed: &ChaCha8Rng,
    source: u64,
    draw: usize,
) -> &'a mut ChaCha8Rng {
    if draw.is_multiple_of(OF_STREAM) {
        *rng = None;
    }
    rng.get_or_insert_with(|| {
        let mut rng = seed.clone();
        rng.set_stream(source + (draw / OF_STREAM) as u64);
        rng
    })
}

/// A column of numbers, one for each draw.
type Column = Rc<Vec<f64>>;

/// What was drawn.
pub(crate) struct Drawn<'a> {
    prepared: &'a Prepared,
    columns: HashMap<(u32, u32), Column>,
    /// By line and repetition, a column for each element.
    predicted: HashMap<(u32, u32), Vec<Column>>,
    draws: usize,
    /// The one draw that is looked at, where that is not all of them.
    one: Cell<Option<usize>>,
    /// Why the first number that no draw has could not be computed.
    failed: RefCell<Option<Diagnostic>>,
}

impl<'a> Drawn<'a> {
    /// Takes the draws of a range, a column for each number that is needed, and predicts what depends on them.
    pub(crate) fn new(
        prepared: &'a Prepared,
        needed: &Dependencies,
        columns: Vec<Vec<f64>>,
        (seed, rngs): (&ChaCha8Rng, &mut [Option<ChaCha8Rng>]),
        which: Range<usize>,
    ) -> Self {
        let mut columns = restored(&prepared.variables.centring, &needed.numbers, columns);
        for (column, &(variable, _)) in columns.iter_mut().zip(&needed.numbers) {
            // Draws of what is on a grid are nodes.
            if let Some(values) = prepared.nodes(variable) {
                let node = |state: &mut f64| *state = values[*state as usize];
                column.iter_mut().for_each(node);
            }
        }
        let numbers = needed.numbers.iter().copied();
        let mut drawn = Self {
            prepared,
            columns: numbers.zip(columns.into_iter().map(Rc::new)).collect(),
            predicted: HashMap::new(),
            draws: which.len(),
            one: Cell::default(),
            failed: RefCell::default(),
        };
        for (&(line, instance), rng) in needed.predicted.iter().zip(rngs) {
            let values = drawn.predict(line, instance, seed, rng, which.clone());
            let place = (line as u32, instance as u32);
            drawn.predicted.insert(place, values);
        }
        drawn
    }

    /// What is wrong with a number that could not be computed from any draw.
    pub(crate) fn failed(&self) -> Checked {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Keeps why a number could not be computed, where this is so of all draws.
    fn note(&self, failures: usize, first: Option<Diagnostic>) {
        if let Some(first) = first.filter(|_| failures == self.draws) {
            self.failed.borrow_mut().get_or_insert(first);
        }
    }

    /// The values of quantities; NaN where one cannot be computed from a draw, such as an index out of range.
    pub(crate) fn values(&self, quantities: &[Quantity]) -> Vec<Vec<f64>> {
        // One for all, since a line of several elements is evaluated once.
        let all = Scope::new(&self.prepared.model, Mode::Latent(self));
        let single = Scope::new(&self.prepared.model, Mode::Latent(self));
        let of = |quantity: &Quantity| {
            let (array, element) = quantity.place;
            match all.element(array, element, Span::default()) {
                Ok(Scalar::Draws(values)) => Rc::unwrap_or_clone(values),
                Ok(Scalar::Known(value)) => vec![value; self.draws],
                // Some functions need one draw at a time.
                _ => {
                    let (mut failures, mut first) = (0, None);
                    let value = |draw: usize| {
                        single.renew();
                        let found =
                            self.at(draw, || single.element(array, element, Span::default()));
                        found.map_or_else(
                            |failure| {
                                failures += 1;
                                first.get_or_insert(failure);
                                f64::NAN
                            },
                            |found| number(&found),
                        )
                    };
                    let values = (0..self.draws).map(value).collect();
                    self.note(failures, first);
                    values
                }
            }
        };
        quantities.iter().map(of).collect()
    }

    /// Draws of an element, and what is to be added to them.
    fn column(&self, definer: Definer) -> Option<(&Column, u32)> {
        match self.prepared.origin(definer) {
            Origin::Variable(variable, number) => Some((self.columns.get(&(variable, number))?, 0)),
            Origin::Label(variable, lowest) => Some((self.columns.get(&(variable, 0))?, lowest)),
            Origin::Grid(variable) => Some((self.columns.get(&(variable, 0))?, 0)),
            Origin::Predicted => {
                let found = self.predicted.get(&(definer.line, definer.instance))?;
                Some((found.get(definer.offset as usize)?, 0))
            }
            Origin::Zero | Origin::Computed => None,
        }
    }

    /// Draws of what was left out of the fit, given those of its parents.
    fn predict(
        &self,
        line: usize,
        instance: usize,
        seed: &ChaCha8Rng,
        rng: &mut Option<ChaCha8Rng>,
        which: Range<usize>,
    ) -> Vec<Column> {
        let (model, own) = (&self.prepared.model, &self.prepared.model.lines[line]);
        let Some(of) = own.sampling() else {
            return vec![];
        };
        let source = PREDICTED + (((line as u64) << 32 | instance as u64) << 12);
        let all = Scope::within(model, Mode::Latent(self), line, instance);
        let mut parameters = Parameters::of(all.evaluate_all(of.arguments).ok());
        let above = self.prepared.variables.censored.above(line, instance);
        let share = self.prepared.variables.shares.of(line, instance);
        let mut out = vec![Vec::with_capacity(which.len()); own.size];
        let mut x = vec![0.0; own.size];
        let mut fixed: Option<Fixed> = None;
        let (mut failures, mut first) = (0, None);
        for (place, draw) in which.enumerate() {
            let changed = parameters.look(place, || {
                all.renew();
                self.at(place, || all.evaluate_all(of.arguments))
            });
            let rng = stream_at(rng, seed, source, draw);
            let changed = match changed {
                Ok(changed) => changed,
                Err(failure) => {
                    failures += 1;
                    first.get_or_insert(failure);
                    for out in &mut out {
                        out.push(f64::NAN);
                    }
                    continue;
                }
            };
            if changed || fixed.is_none() {
                let made = Fixed::new(of.distribution, &parameters.now, own.size);
                let array = || Element::scalar(&model.arrays[own.array].name);
                fixed = made.unwrap_or_else(|bad| {
                    failures += 1;
                    first.get_or_insert_with(|| bad.diagnostic(of, &array()));
                    None
                });
            }
            match &fixed {
                Some(fixed) => match share {
                    Some(share) => fixed.draw_share(share, rng, &mut x),
                    None => fixed.draw_above(above, rng, &mut x),
                },
                None => x.fill(f64::NAN),
            }
            out.iter_mut().zip(&x).for_each(|(out, x)| out.push(*x));
        }
        self.note(failures, first);
        out.into_iter().map(Rc::new).collect()
    }

    /// Looks at one draw: some functions need one at a time.
    fn at<T>(&self, draw: usize, look: impl FnOnce() -> Resolved<T>) -> Checked<T> {
        self.one.set(Some(draw));
        let found = look();
        self.one.set(None);
        Ok(found?)
    }
}

/// The parameters of a line, one draw after another.
struct Parameters {
    /// Of all draws at once, where that is how they are known.
    all: Option<Vec<Value>>,
    /// Those of the draw that was looked at last, each element a number.
    now: Vec<Vec<f64>>,
}

impl Parameters {
    fn of(all: Option<Vec<Value>>) -> Self {
        let known = |value: &Value| value.elements.iter().all(|of| of.in_draw(0).is_some());
        let all = all.filter(|values| values.iter().all(known));
        let now = all.iter().flatten();
        Self {
            now: now.map(|of| vec![f64::NAN; of.elements.len()]).collect(),
            all,
        }
    }

    /// Goes to a draw, of which `one` tells where all at once cannot be told; whether anything is another number than before.
    fn look(&mut self, draw: usize, one: impl FnOnce() -> Checked<Vec<Value>>) -> Checked<bool> {
        let Some(all) = &self.all else {
            let numbers = |value: &Value| value.elements.iter().map(number).collect();
            let now: Vec<Vec<f64>> = one()?.iter().map(numbers).collect();
            let changed = self.now != now;
            self.now = now;
            return Ok(changed);
        };
        let mut changed = false;
        for (now, value) in self.now.iter_mut().zip(all) {
            for (now, element) in now.iter_mut().zip(&value.elements) {
                let next = element.in_draw(draw).unwrap_or(f64::NAN);
                // What is not a number is another one each time.
                changed |= next != *now;
                *now = next;
            }
        }
        Ok(changed)
    }
}

/// Draws of numbers as the model's text counts them, from those of the graph: a column for each of `numbers`, sorted.
fn restored(
    centring: &Centring,
    numbers: &[(u32, u32)],
    mut columns: Vec<Vec<f64>>,
) -> Vec<Vec<f64>> {
    if centring.is_empty() {
        return columns;
    }
    let drawn = columns.clone();
    for (&(variable, number), column) in numbers.iter().zip(&mut columns) {
        for (draw, value) in column.iter_mut().enumerate() {
            *value = centring.restored(variable, number, *value, |other| {
                let place = numbers.binary_search(&(other, 0));
                place.map_or(0.0, |place| drawn[place][draw])
            });
        }
    }
    columns
}

fn number(element: &Scalar) -> f64 {
    element.known().unwrap_or(f64::NAN)
}

impl Latent for Drawn<'_> {
    fn latent(&self, definer: Definer) -> Resolved<Scalar> {
        let Some((column, lowest)) = self.column(definer) else {
            return Ok(Scalar::Known(0.0));
        };
        if matches!(self.prepared.origin(definer), Origin::Variable(..))
            && self.prepared.variables.in_odds(definer)
        {
            return Ok(match self.one.get() {
                Some(draw) => Scalar::Known(inverse_logit(column[draw])),
                None => Scalar::Draws(column.clone()).map(inverse_logit),
            });
        }
        Ok(match (self.one.get(), lowest) {
            (Some(draw), lowest) => Scalar::Known(column[draw] + f64::from(lowest)),
            (None, 0) => Scalar::Draws(column.clone()),
            (None, lowest) => {
                let values = column.iter().map(|value| value + f64::from(lowest));
                Scalar::Draws(Rc::new(values.collect()))
            }
        })
    }

    fn draws(&self) -> Option<usize> {
        Some(self.draws).filter(|_| self.one.get().is_none())
    }
}
