//! Decides how numbers are drawn from q: only what is asked for, and what that depends on.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

use collapsar::graph::VariationalPosterior;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::diagnostic::Diagnostic;
use crate::elaborate::{Definer, Latent, Mode, Read, Reads, Resolved, Scope};
use crate::lower::Lowered;
use crate::posterior::PosteriorError;
use crate::predict::Fixed;
use crate::quantity::{Element, Origin, Quantity};
use crate::syntax::ast::{Expr, Span};
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
    pub(crate) fn of(lowered: &Lowered, quantities: &[Quantity]) -> Self {
        let mut search = Search {
            lowered,
            reads: Reads::new(&lowered.model),
            seen: HashSet::new(),
            any: vec![false; lowered.model.arrays.len()],
            found: Self::default(),
        };
        let mut first = vec![];
        for quantity in quantities {
            let (array, element) = quantity.place;
            search
                .reads
                .element(array, element, &mut |read| first.push(read));
        }
        search.follow(first);
        let mut found = search.found;
        found.numbers.sort_unstable();
        found.numbers.dedup();
        found
    }

    /// How many numbers one draw is.
    pub(crate) fn count(&self) -> usize {
        self.numbers.len() + self.predicted.len()
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
    found: Dependencies,
}

impl Search<'_> {
    /// Notes all that these depend on, without recursion: chains may be long.
    fn follow(&mut self, first: Vec<Read>) {
        let mut stack = vec![(None, first)];
        while let Some((node, mut reads)) = stack.pop() {
            let Some(read) = reads.pop() else {
                let barren = &self.lowered.variables.barren;
                let predicted = node.filter(|&(line, instance)| barren.contains(line, instance));
                self.found.predicted.extend(predicted);
                continue;
            };
            match read {
                Read::Any(array) => {
                    if !std::mem::replace(&mut self.any[array], true) {
                        for element in 0..self.lowered.model.arrays[array].len() {
                            let mut push = |read| reads.push(read);
                            self.reads.element(array, element, &mut push);
                        }
                    }
                    stack.push((node, reads));
                }
                Read::One(definer) => {
                    stack.push((node, reads));
                    stack.extend(self.visit(definer));
                }
            }
        }
    }

    /// Notes a number of q, or gives what a computed or predicted line reads.
    fn visit(&mut self, definer: Definer) -> Option<Visited> {
        let (line, instance) = (definer.line as usize, definer.instance as usize);
        match self.lowered.origin(definer) {
            Origin::Variable(variable, number) => {
                self.found.numbers.push((variable, number));
                return None;
            }
            Origin::Label(variable, _) => {
                self.found.numbers.push((variable, 0));
                return None;
            }
            Origin::Zero => return None,
            Origin::Predicted | Origin::Computed => {}
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
    needed: &'a Dependencies,
    seed: ChaCha8Rng,
    blocks: Vec<Block>,
    /// Random numbers of what is predicted, in the order of `needed`.
    predicted: Vec<Option<ChaCha8Rng>>,
    /// One draw of all numbers.
    buffer: Vec<f64>,
}

/// A block of the graph, or all labels that are kept as rows.
struct Block {
    number: Option<usize>,
    /// Columns with places among all numbers.
    columns: Vec<(usize, usize)>,
    rng: Option<ChaCha8Rng>,
}

impl<'a> Sampler<'a> {
    pub(crate) fn new(
        lowered: &'a Lowered,
        answer: &'a VariationalPosterior<'a>,
        needed: &'a Dependencies,
        seed: u64,
    ) -> Self {
        let numbers = &needed.numbers;
        let mut left = vec![true; numbers.len()];
        let mut blocks = vec![];
        for block in 0..answer.blocks() {
            let mut columns = vec![];
            for &variable in answer.block_variables(block) {
                let first = numbers.partition_point(|number| number.0 < variable);
                let of = numbers[first..].iter().zip(first..);
                for (number, column) in of.take_while(|(number, _)| number.0 == variable) {
                    left[column] = false;
                    columns.push((column, answer.place(variable) + number.1 as usize));
                }
            }
            blocks.push((Some(block), columns));
        }
        let rows = (0..left.len()).filter(|&column| left[column]);
        let rows = rows.map(|column| (column, answer.place(numbers[column].0)));
        blocks.push((None, rows.collect()));
        blocks.retain(|(_, columns)| !columns.is_empty());
        let block = |(number, columns)| Block {
            number,
            columns,
            rng: None,
        };
        Self {
            lowered,
            answer,
            needed,
            seed: ChaCha8Rng::seed_from_u64(seed),
            blocks: blocks.into_iter().map(block).collect(),
            predicted: vec![None; needed.predicted.len()],
            buffer: vec![0.0; answer.len()],
        }
    }

    /// The draws of a range, which begins where the last ended or where a stream does.
    pub(crate) fn draws(&mut self, which: Range<usize>) -> Result<Drawn<'a>, PosteriorError> {
        let empty = Vec::with_capacity(which.len());
        let mut columns = vec![empty; self.needed.numbers.len()];
        for block in &mut self.blocks {
            let stream = block.number.map_or(ROWS, |number| number as u64 + 1) << 20;
            for draw in which.clone() {
                let rng = stream_at(&mut block.rng, &self.seed, stream, draw);
                match block.number {
                    Some(number) => self.answer.draw_block(number, rng, &mut self.buffer)?,
                    None => self.answer.draw_labels(rng, &mut self.buffer)?,
                }
                for &(column, place) in &block.columns {
                    columns[column].push(self.buffer[place]);
                }
            }
        }
        let numbers = self.needed.numbers.iter().copied();
        let mut drawn = Drawn {
            lowered: self.lowered,
            columns: numbers.zip(columns.into_iter().map(Rc::new)).collect(),
            predicted: HashMap::new(),
            draws: which.len(),
        };
        for (&(line, instance), rng) in self.needed.predicted.iter().zip(&mut self.predicted) {
            let values = drawn.predict(line, instance, &self.seed, rng, which.clone())?;
            let place = (line as u32, instance as u32);
            drawn.predicted.insert(place, values);
        }
        Ok(drawn)
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
    lowered: &'a Lowered,
    columns: HashMap<(u32, u32), Column>,
    /// By line and repetition, a column for each element.
    predicted: HashMap<(u32, u32), Vec<Column>>,
    draws: usize,
}

impl Drawn<'_> {
    /// The values of quantities.
    pub(crate) fn values(&self, quantities: &[Quantity]) -> Result<Vec<Vec<f64>>, Diagnostic> {
        // One for all, since a line of several elements is evaluated once.
        let all = Scope::new(&self.lowered.model, Mode::Latent(self));
        let one = OneDraw::new(self);
        let single = Scope::new(&self.lowered.model, Mode::Latent(&one));
        let of = |quantity: &Quantity| {
            let (array, element) = quantity.place;
            match all.element(array, element, Span::default()) {
                Ok(Scalar::Draws(values)) => Ok(Rc::unwrap_or_clone(values)),
                Ok(Scalar::Known(value)) => Ok(vec![value; self.draws]),
                // Some functions need one draw at a time.
                _ => (0..self.draws)
                    .map(|draw| {
                        one.draw.set(draw);
                        single.renew();
                        let value = single.element(array, element, Span::default());
                        let value = value?;
                        Ok(value.known().unwrap_or(f64::NAN))
                    })
                    .collect(),
            }
        };
        quantities.iter().map(of).collect()
    }

    /// Draws of an element, and what is to be added to them.
    fn column(&self, definer: Definer) -> Option<(&Column, u32)> {
        match self.lowered.origin(definer) {
            Origin::Variable(variable, number) => Some((self.columns.get(&(variable, number))?, 0)),
            Origin::Label(variable, lowest) => Some((self.columns.get(&(variable, 0))?, lowest)),
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
    ) -> Result<Vec<Column>, PosteriorError> {
        let (model, own) = (&self.lowered.model, &self.lowered.model.lines[line]);
        let Some(of) = own.sampling() else {
            return Ok(vec![]);
        };
        let source = PREDICTED + (((line as u64) << 32 | instance as u64) << 12);
        let all = Scope::within(model, Mode::Latent(self), line, instance);
        let values = all.evaluate_all(of.arguments).ok();
        let numbers = |values: &[Value], place: usize| -> Option<Vec<Vec<f64>>> {
            let values = values.iter();
            values.map(|value| value.of_draw(place).numbers()).collect()
        };
        let mut out = vec![Vec::with_capacity(which.len()); own.size];
        let mut x = vec![0.0; own.size];
        let mut fixed: Option<(Vec<Vec<f64>>, Fixed)> = None;
        for (place, draw) in which.enumerate() {
            let now = values.as_deref().and_then(|values| numbers(values, place));
            let now = match now {
                Some(now) => now,
                None => self.arguments(line, instance, of.arguments, place)?,
            };
            if fixed.as_ref().is_none_or(|(last, _)| *last != now) {
                let made = Fixed::new(of.distribution, &now, own.size);
                let array = Element::scalar(&model.arrays[own.array].name);
                let made = made.map_err(|bad| bad.diagnostic(of, &array))?;
                fixed = made.map(|made| (now, made));
            }
            let rng = stream_at(rng, seed, source, draw);
            match &fixed {
                Some((_, fixed)) => fixed.draw(rng, &mut x),
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
        let one = OneDraw::new(self);
        one.draw.set(draw);
        let scope = Scope::within(&self.lowered.model, Mode::Latent(&one), line, instance);
        let values = scope.evaluate_all(arguments)?;
        let number = |element: &Scalar| element.known().unwrap_or(f64::NAN);
        let numbers = |value: &Value| value.elements.iter().map(number).collect();
        Ok(values.iter().map(numbers).collect())
    }
}

impl Latent for Drawn<'_> {
    fn latent(&self, definer: Definer) -> Resolved<Scalar> {
        Ok(match self.column(definer) {
            Some((column, 0)) => Scalar::Draws(column.clone()),
            Some((column, lowest)) => {
                let values = column.iter().map(|value| value + f64::from(lowest));
                Scalar::Draws(Rc::new(values.collect()))
            }
            None => Scalar::Known(0.0),
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
    fn new(of: &'a Drawn<'a>) -> Self {
        let draw = Cell::new(0);
        Self { of, draw }
    }
}

impl Latent for OneDraw<'_> {
    fn latent(&self, definer: Definer) -> Resolved<Scalar> {
        let value = |(column, lowest): (&Column, u32)| column[self.draw.get()] + f64::from(lowest);
        Ok(Scalar::Known(self.of.column(definer).map_or(0.0, value)))
    }
}
