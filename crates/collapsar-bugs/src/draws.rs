//! Decides how numbers are drawn from q: only what is asked for, and what that depends on.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

use collapsar::graph::VariationalPosterior;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::diagnostic::Diagnostic;
use crate::elaborate::{Definer, Latent, Mode, Read, Reads, Scope, Stop};
use crate::lower::{Form, Lowered, Variables, cannot_draw};
use crate::model::number;
use crate::predict::Drawer;
use crate::quantity::{Element, Quantity};
use crate::syntax::ast::{Expr, Span};
use crate::value::{Item, Value};

/// Draws that one stream of random numbers serves. Each block has streams of its own, so that draws
/// are the same whatever else is asked for.
pub(crate) const OF_STREAM: usize = 500;
/// Marks the streams of labels that are kept as rows, and of what is predicted.
const ROWS: u64 = 1 << 40;
const PREDICTED: u64 = 1 << 63;

/// What quantities depend on.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    /// Variables with their numbers, sorted.
    numbers: Vec<(u32, u32)>,
    /// What is predicted, parents first: lines and repetitions.
    leaves: Vec<(usize, usize)>,
}

impl Needs {
    pub(crate) fn of(lowered: &Lowered, quantities: &[Quantity]) -> Self {
        let reads = Reads::new(&lowered.model);
        let mut search = Search {
            lowered,
            reads,
            seen: HashSet::new(),
            any: vec![false; lowered.model.arrays.len()],
            needs: Self::default(),
        };
        let mut first = vec![];
        for quantity in quantities {
            let (array, element) = quantity.place;
            let mut push = |read| first.push(read);
            search.reads.element(array, element, &mut push);
        }
        search.follow(first);
        let mut needs = search.needs;
        needs.numbers.sort_unstable();
        needs.numbers.dedup();
        needs
    }

    /// How many numbers one draw is.
    pub(crate) fn count(&self) -> usize {
        self.numbers.len() + self.leaves.len()
    }
}

/// A line's repetition, where it is one, and what of what it reads is still to be followed.
type Visited = (Option<(usize, usize)>, Vec<Read>);

struct Search<'a> {
    lowered: &'a Lowered,
    reads: Reads<'a>,
    seen: HashSet<(u32, u32)>,
    /// Arrays all of which are needed.
    any: Vec<bool>,
    needs: Needs,
}

impl Search<'_> {
    /// Notes all that these depend on, without recursion: chains may be long.
    fn follow(&mut self, first: Vec<Read>) {
        let mut stack = vec![(None, first)];
        while let Some((node, mut reads)) = stack.pop() {
            let Some(read) = reads.pop() else {
                if let Some((line, instance)) = node
                    && self.lowered.variables.leaves.contains(line, instance)
                {
                    self.needs.leaves.push((line, instance));
                }
                continue;
            };
            match read {
                Read::Any(array) => {
                    if !std::mem::replace(&mut self.any[array], true) {
                        let length = self.lowered.model.arrays[array].dims.iter().product();
                        for element in 0..length {
                            let mut push = |read| reads.push(read);
                            self.reads.element(array, element, &mut push);
                        }
                    }
                    stack.push((node, reads));
                }
                Read::One(definer) => {
                    stack.push((node, reads));
                    let below = self.visit(definer);
                    stack.extend(below);
                }
            }
        }
    }

    /// Notes a number of q, or gives what a computed or predicted line reads.
    fn visit(&mut self, definer: Definer) -> Option<Visited> {
        let (line, instance) = (definer.line as usize, definer.instance as usize);
        let variables = &self.lowered.variables;
        if self.lowered.model.lines[line].stochastic() {
            match variables.form(definer) {
                Form::Unknown(variable, element) => {
                    let number = number(variables.kind(variable), element);
                    self.needs.numbers.push((variable, number));
                    return None;
                }
                Form::Label(variable, _) => {
                    self.needs.numbers.push((variable, 0));
                    return None;
                }
                Form::Zero => return None,
                Form::Predicted => {}
            }
        }
        if !self.seen.insert((definer.line, definer.instance)) {
            return None;
        }
        let mut reads = vec![];
        self.reads.each(line, instance, |read| reads.push(read));
        Some((Some((line, instance)), reads))
    }
}

/// Draws of all that is needed, in order.
pub(crate) struct Sampler<'a> {
    lowered: &'a Lowered,
    answer: &'a VariationalPosterior<'a>,
    needs: &'a Needs,
    seed: ChaCha8Rng,
    blocks: Vec<Source>,
    /// Random numbers of what is predicted, in the order of `needs`.
    leaves: Vec<Option<ChaCha8Rng>>,
    /// One draw of all numbers.
    buffer: Vec<f64>,
}

/// A block, or all labels that are kept as rows.
struct Source {
    block: Option<usize>,
    /// Columns with places among all numbers.
    wanted: Vec<(usize, usize)>,
    rng: Option<ChaCha8Rng>,
}

impl<'a> Sampler<'a> {
    pub(crate) fn new(
        lowered: &'a Lowered,
        answer: &'a VariationalPosterior<'a>,
        needs: &'a Needs,
        seed: u64,
    ) -> Self {
        let mut left = vec![true; needs.numbers.len()];
        let mut blocks = vec![];
        let wanted = |variable: u32, left: &mut [bool]| -> Vec<(usize, usize)> {
            let first = needs.numbers.partition_point(|number| number.0 < variable);
            let of = needs.numbers[first..].iter();
            let of = of.take_while(|number| number.0 == variable).enumerate();
            of.map(|(place, number)| {
                left[first + place] = false;
                (first + place, answer.place(variable) + number.1 as usize)
            })
            .collect()
        };
        for block in 0..answer.blocks() {
            let variables = answer.block_variables(block).iter();
            let wanted: Vec<(usize, usize)> = variables
                .flat_map(|&variable| wanted(variable, &mut left))
                .collect();
            if !wanted.is_empty() {
                blocks.push(Source {
                    block: Some(block),
                    wanted,
                    rng: None,
                });
            }
        }
        let rows = (0..left.len()).filter(|&column| left[column]);
        let rows: Vec<(usize, usize)> = rows
            .map(|column| (column, answer.place(needs.numbers[column].0)))
            .collect();
        if !rows.is_empty() {
            blocks.push(Source {
                block: None,
                wanted: rows,
                rng: None,
            });
        }
        Self {
            lowered,
            answer,
            needs,
            seed: ChaCha8Rng::seed_from_u64(seed),
            blocks,
            leaves: vec![None; needs.leaves.len()],
            buffer: vec![0.0; answer.len()],
        }
    }

    /// The draws of a range, which begins where the last ended or where a stream does.
    pub(crate) fn draws(&mut self, which: Range<usize>) -> Result<Drawn<'a>, Failure> {
        let empty = Vec::with_capacity(which.len());
        let mut columns = vec![empty; self.needs.numbers.len()];
        for source in &mut self.blocks {
            for draw in which.clone() {
                if draw % OF_STREAM == 0 {
                    source.rng = None;
                }
                let stream = source.block.map_or(ROWS, |block| block as u64 + 1) << 20;
                let rng = &mut source.rng;
                let rng = rng.get_or_insert_with(|| stream_of(&self.seed, stream, draw));
                match source.block {
                    Some(block) => self.answer.draw_block(block, rng, &mut self.buffer)?,
                    None => self.answer.draw_labels(rng, &mut self.buffer)?,
                }
                for &(column, place) in &source.wanted {
                    columns[column].push(self.buffer[place]);
                }
            }
        }
        let numbers = self.needs.numbers.iter().copied();
        let mut drawn = Drawn {
            lowered: self.lowered,
            columns: numbers.zip(columns.into_iter().map(Rc::new)).collect(),
            leaves: HashMap::new(),
            draws: which.len(),
        };
        for (&(line, instance), rng) in self.needs.leaves.iter().zip(&mut self.leaves) {
            let values = drawn.predict(line, instance, &self.seed, rng, which.clone())?;
            drawn.leaves.insert((line as u32, instance as u32), values);
        }
        Ok(drawn)
    }
}

/// Random numbers of a source from a draw on that begins a stream.
fn stream_of(seed: &ChaCha8Rng, source: u64, draw: usize) -> ChaCha8Rng {
    let mut rng = seed.clone();
    rng.set_stream(source + (draw / OF_STREAM) as u64);
    rng
}

/// Why there are no draws.
pub(crate) enum Failure {
    Model(Box<Diagnostic>),
    Fit(collapsar::Error),
}

impl From<collapsar::Error> for Failure {
    fn from(error: collapsar::Error) -> Self {
        Self::Fit(error)
    }
}

impl From<Diagnostic> for Failure {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Model(Box::new(diagnostic))
    }
}

/// A column of numbers, one for each draw.
type Column = Rc<Vec<f64>>;

/// What was drawn.
pub(crate) struct Drawn<'a> {
    lowered: &'a Lowered,
    columns: HashMap<(u32, u32), Column>,
    /// By line and repetition, a column for each element.
    leaves: HashMap<(u32, u32), Vec<Column>>,
    draws: usize,
}

impl Drawn<'_> {
    /// The values of quantities.
    pub(crate) fn values(&self, quantities: &[Quantity]) -> Result<Vec<Vec<f64>>, Diagnostic> {
        // One for all, since a line of several elements is evaluated once.
        let all = Scope::new(&self.lowered.model, Mode::Latent(self));
        let one = OneDraw::of(self);
        let single = Scope::new(&self.lowered.model, Mode::Latent(&one));
        let of = |quantity: &Quantity| {
            let (array, element) = quantity.place;
            match all.element(array, element, Span::default()) {
                Ok(Item::Drawn(values)) => Ok(Rc::unwrap_or_clone(values)),
                Ok(Item::Known(value)) => Ok(vec![value; self.draws]),
                // Some functions need one draw at a time.
                _ => (0..self.draws)
                    .map(|draw| {
                        one.draw.set(draw);
                        single.renew();
                        let item = single.element(array, element, Span::default());
                        let item = item.map_err(Stop::diagnostic)?;
                        Ok(item.known().unwrap_or(f64::NAN))
                    })
                    .collect(),
            }
        };
        quantities.iter().map(of).collect()
    }

    fn column(&self, definer: Definer) -> Option<(Column, u32)> {
        let variables: &Variables = &self.lowered.variables;
        match variables.form(definer) {
            Form::Unknown(variable, element) => {
                let number = number(variables.kind(variable), element);
                Some((self.columns.get(&(variable, number))?.clone(), 0))
            }
            Form::Label(variable, lowest) => {
                Some((self.columns.get(&(variable, 0))?.clone(), lowest))
            }
            Form::Predicted => {
                let leaf = self.leaves.get(&(definer.line, definer.instance))?;
                Some((leaf.get(definer.offset as usize)?.clone(), 0))
            }
            Form::Zero => None,
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
    ) -> Result<Vec<Column>, Failure> {
        let (model, size) = (&self.lowered.model, self.lowered.model.lines[line].size);
        let Some(of) = model.lines[line].sampling() else {
            return Ok(vec![]);
        };
        let source = PREDICTED + (((line as u64) << 32 | instance as u64) << 12);
        let all = Scope::within(model, Mode::Latent(self), line, instance);
        let values = all.evaluate_all(of.arguments).ok();
        let mut out = vec![Vec::with_capacity(which.len()); size];
        let mut x = vec![0.0; size];
        let mut drawer: Option<(Vec<Vec<f64>>, Drawer)> = None;
        for (place, draw) in which.enumerate() {
            let now = match &values {
                Some(values) => (values.iter())
                    .map(|value| value.of_draw(place).numbers())
                    .collect::<Option<Vec<_>>>(),
                None => None,
            };
            let now = match now {
                Some(now) => now,
                None => self.arguments(line, instance, of.arguments, place)?,
            };
            if drawer.as_ref().is_none_or(|(last, _)| *last != now) {
                let made = Drawer::new(of.distribution, &now, size).map_err(|wrong| {
                    let array = &model.arrays[model.lines[line].array];
                    cannot_draw(of, &wrong, &Element::scalar(&array.name))
                })?;
                drawer = made.map(|made| (now, made));
            }
            if draw % OF_STREAM == 0 {
                *rng = None;
            }
            let own = rng.get_or_insert_with(|| stream_of(seed, source, draw));
            match &drawer {
                Some((_, drawer)) => drawer.draw(own, &mut x),
                None => x.fill(f64::NAN),
            }
            out.iter_mut().zip(&x).for_each(|(out, x)| out.push(*x));
        }
        Ok(out.into_iter().map(Rc::new).collect())
    }

    /// The parameters of a repetition in one draw.
    fn arguments(
        &self,
        line: usize,
        instance: usize,
        arguments: &[Expr],
        draw: usize,
    ) -> Result<Vec<Vec<f64>>, Diagnostic> {
        let one = OneDraw::of(self);
        one.draw.set(draw);
        let scope = Scope::within(&self.lowered.model, Mode::Latent(&one), line, instance);
        let values = scope.evaluate_all(arguments).map_err(Stop::diagnostic)?;
        let number = |item: &Item| item.known().unwrap_or(f64::NAN);
        let numbers = |value: &Value| value.items.iter().map(number).collect();
        Ok(values.iter().map(numbers).collect())
    }
}

impl Latent for Drawn<'_> {
    fn latent(&self, definer: Definer) -> Result<Item, Stop> {
        Ok(match self.column(definer) {
            Some((column, 0)) => Item::Drawn(column),
            Some((column, lowest)) => {
                let values = column.iter().map(|value| value + f64::from(lowest));
                Item::Drawn(Rc::new(values.collect()))
            }
            None => Item::Known(0.0),
        })
    }

    fn draws(&self) -> Option<usize> {
        Some(self.draws)
    }
}

/// One draw of many.
struct OneDraw<'a> {
    of: &'a Drawn<'a>,
    draw: Cell<usize>,
}

impl<'a> OneDraw<'a> {
    fn of(of: &'a Drawn<'a>) -> Self {
        let draw = Cell::new(0);
        Self { of, draw }
    }
}

impl Latent for OneDraw<'_> {
    fn latent(&self, definer: Definer) -> Result<Item, Stop> {
        let found = self.of.column(definer);
        Ok(Item::Known(found.map_or(0.0, |(column, lowest)| {
            column[self.draw.get()] + f64::from(lowest)
        })))
    }
}
