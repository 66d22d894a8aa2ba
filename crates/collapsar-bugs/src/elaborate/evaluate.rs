//! Decides what an expression is worth in one repetition of a line.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Mutex, PoisonError};

use super::functions::{Function, without_link};
use super::operators::{binary, truth};
use super::{Definer, Elaborated};
use crate::diagnostic::Diagnostic;
use crate::lower::Grid;
use crate::syntax::ast::{Expr, Kind, Node, Reference, Span};
use crate::value::{Scalar, Value};

/// What stochastic elements that are not data are worth.
pub(crate) trait Latent {
    /// The item of the element that this repetition of a line defines.
    fn latent(&self, definer: Definer) -> Resolved<Scalar>;

    /// How many draws all items are of, if they are.
    fn draws(&self) -> Option<usize> {
        None
    }
}

/// How unknown elements are treated.
#[derive(Clone, Copy)]
pub(crate) enum Mode<'a> {
    /// Only shapes count: they are opaque, and 1 where they are an index.
    Shape,
    /// As someone says.
    Latent(&'a dyn Latent),
}

/// Why there is no value, or why there are no terms.
#[derive(Debug)]
pub(crate) enum Unresolved {
    /// The state of this label is needed.
    State(u32),
    /// The mean of this line, taken to be joint with its precision matrix, is used in another way.
    Joint(u32),
    /// There are some once these lines are on grids.
    Grid(Vec<(u32, Grid)>),
    /// There cannot be any.
    Invalid(Box<Diagnostic>),
}

impl From<Unresolved> for Diagnostic {
    fn from(unresolved: Unresolved) -> Self {
        match unresolved {
            Unresolved::Invalid(diagnostic) => *diagnostic,
            Unresolved::State(_) | Unresolved::Joint(_) | Unresolved::Grid(_) => Self {
                message: "a state that is not known is needed where only data may stand".into(),
                labels: vec![],
                help: None,
                others: vec![],
            },
        }
    }
}

impl From<Diagnostic> for Unresolved {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Invalid(Box::new(diagnostic))
    }
}

/// What is written down while an expression is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Watch {
    Nothing,
    /// Data become unknowns, numbered from this variable on.
    Symbols(u32),
    /// What is unknown counts as 1.
    Reads,
}

/// Where expressions are evaluated.
pub(crate) struct Scope<'a> {
    pub(crate) model: &'a Elaborated,
    pub(super) mode: Mode<'a>,
    /// The line and its repetition.
    place: Cell<Option<(usize, usize)>>,
    /// How often something unknown was looked at: what looked at nothing unknown is kept.
    pub(crate) looked: Cell<u64>,
    /// How many expressions were evaluated, those within others counted.
    pub(crate) steps: Cell<u64>,
    depth: Cell<u32>,
    /// The last line of several elements that was evaluated.
    #[expect(clippy::type_complexity, reason = "a memory of one")]
    last: RefCell<Option<((usize, usize), u64, Value, bool)>>,
    /// Changes when labels do.
    round: Cell<u64>,
    /// Whether numbers that are not known must not stand for 1.
    pub(super) strict: Cell<bool>,
    watch: Cell<Watch>,
    /// Data that were read, the largest expressions of data alone as one number each.
    pub(crate) leaves: RefCell<Vec<f64>>,
    /// What was read that is not known.
    pub(crate) seen: RefCell<Vec<Definer>>,
    /// Which expressions are of data alone, by where they stand.
    data_only: RefCell<HashMap<Span, bool>>,
    /// What expressions are worth in the repetition that was entered last, where they are of data alone: a line that reads
    /// labels is derived for each of their states, and only what depends on these is another number then.
    known: RefCell<Known>,
    keeps: Cell<Option<(usize, usize)>>,
}

/// Values by the address of an expression, a line and its repetition; none for what is not of data alone.
type Known = HashMap<(usize, usize, usize), Option<Value>, BuildHasherDefault<Places>>;

/// Hashes places of expressions and of lines, which are spread well enough by a product.
#[derive(Default)]
struct Places(u64);

impl Hasher for Places {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(usize::from(byte));
        }
    }

    fn write_usize(&mut self, number: usize) {
        let mixed = (self.0.rotate_left(23) ^ number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 29);
    }
}

/// Lines that are computed from one another, one inside the other: as many as the 2 MB of a
/// thread hold.
const DEEPEST: u32 = 200;
/// How many times wider the stack of [`on_wide_stack`] is.
const WIDER: u32 = 128;

thread_local! {
    static WIDE: Cell<bool> = const { Cell::new(false) };
}

/// Does work in which long chains of computed lines may be followed; where the system has no room for a wide stack, on
/// the present one, on which long chains are refused.
pub(crate) fn on_wide_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    on_stack_of(WIDER as usize * (2 << 20), work)
}

fn on_stack_of<T: Send>(bytes: usize, work: impl FnOnce() -> T + Send) -> T {
    // Whoever takes it does it: the thread, or else this one.
    let work = Mutex::new(Some(work));
    let take = || work.lock().unwrap_or_else(PoisonError::into_inner).take();
    let wide = || {
        WIDE.set(true);
        take().map(|work| work())
    };
    let done = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(bytes);
        let thread = thread.spawn_scoped(scope, wide).ok()?;
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    match done {
        Some(done) => done,
        None => take().expect("work that no thread has taken")(),
    }
}

/// What is found, if it can be.
pub(crate) type Resolved<T = ()> = Result<T, Unresolved>;

impl<'a> Scope<'a> {
    pub(crate) fn new(model: &'a Elaborated, mode: Mode<'a>) -> Self {
        Self {
            model,
            mode,
            place: Cell::new(None),
            looked: Cell::new(0),
            steps: Cell::new(0),
            depth: Cell::new(0),
            last: RefCell::new(None),
            round: Cell::new(0),
            strict: Cell::new(false),
            watch: Cell::new(Watch::Nothing),
            leaves: RefCell::default(),
            seen: RefCell::default(),
            data_only: RefCell::default(),
            known: RefCell::default(),
            keeps: Cell::new(None),
        }
    }

    pub(crate) fn within(
        model: &'a Elaborated,
        mode: Mode<'a>,
        line: usize,
        instance: usize,
    ) -> Self {
        let scope = Self::new(model, mode);
        scope.enter(line, instance);
        scope
    }

    /// Goes to a repetition of a line.
    pub(crate) fn enter(&self, line: usize, instance: usize) {
        if self
            .keeps
            .get()
            .is_some_and(|kept| kept != (line, instance))
        {
            self.keeps.set(None);
        }
        self.place.set(Some((line, instance)));
        self.renew();
    }

    /// Goes to a repetition that is evaluated again and again: what it has of data alone is kept.
    pub(crate) fn enter_again(&self, line: usize, instance: usize) {
        if self.keeps.replace(Some((line, instance))) != Some((line, instance)) {
            self.known.borrow_mut().clear();
        }
        self.place.set(Some((line, instance)));
        self.renew();
    }

    /// Forgets what was evaluated: what is unknown has other values now.
    pub(crate) fn renew(&self) {
        self.round.set(self.round.get() + 1);
    }

    pub(super) fn counter(&self, name: &str) -> Option<i32> {
        let (line, instance) = self.place.get()?;
        self.model.lines[line].counter(instance, name)
    }

    /// Watches from now on, with nothing read so far.
    pub(crate) fn watch(&self, watch: Watch) {
        self.watch.set(watch);
        if watch != Watch::Nothing {
            self.leaves.borrow_mut().clear();
            self.seen.borrow_mut().clear();
        }
    }

    /// Without watching.
    pub(super) fn unwatched<T>(&self, work: impl FnOnce() -> T) -> T {
        let watch = self.watch.replace(Watch::Nothing);
        let result = work();
        self.watch.set(watch);
        result
    }

    /// A datum as the watch wants it.
    pub(crate) fn leaf(&self, value: f64) -> Scalar {
        let mut leaves = self.leaves.borrow_mut();
        leaves.push(value);
        match self.watch.get() {
            Watch::Symbols(first) => Scalar::unknown(first + leaves.len() as u32 - 1, 0),
            Watch::Nothing | Watch::Reads => Scalar::Known(value),
        }
    }

    /// Whether an expression is of data and counters alone.
    pub(crate) fn is_data(&self, expr: &Expr) -> bool {
        if let Some(&known) = self.data_only.borrow().get(&expr.span) {
            return known;
        }
        let mut references = expr.references().into_iter();
        let is_data = |array: usize| self.model.data_alone.get(array) == Some(&true);
        let data = references.all(|name| self.model.find(&name.name.text).is_none_or(is_data));
        self.data_only.borrow_mut().insert(expr.span, data);
        data
    }

    pub(crate) fn evaluate(&self, expr: &Expr) -> Resolved<Value> {
        self.steps.set(self.steps.get() + 1);
        if self.watch.get() != Watch::Nothing
            && !matches!(expr.node, Node::Number(_))
            && self.is_data(expr)
        {
            let value = self.unwatched(|| self.evaluate(expr))?;
            return Ok(value.map(|element| match element {
                Scalar::Known(value) => self.leaf(*value),
                element => element.clone(),
            }));
        }
        if self.keeps.get().is_none()
            || self.watch.get() != Watch::Nothing
            || matches!(expr.node, Node::Number(_))
        {
            return self.evaluate_anew(expr);
        }
        let (line, instance) = self.place.get().unwrap_or((usize::MAX, 0));
        let key = (std::ptr::from_ref(expr) as usize, line, instance);
        // Not while it is borrowed: what is within is looked up and kept as well.
        let known = self.known.borrow().get(&key).cloned();
        match known {
            Some(Some(value)) => return Ok(value),
            Some(None) => return self.evaluate_anew(expr),
            None => {}
        }
        let data = self.is_data(expr);
        let value = self.evaluate_anew(expr)?;
        let known = data.then(|| value.clone());
        self.known.borrow_mut().insert(key, known);
        Ok(value)
    }

    fn evaluate_anew(&self, expr: &Expr) -> Resolved<Value> {
        match &expr.node {
            Node::Number(value) => Ok(Value::number(*value)),
            Node::Reference(reference) => self.reference(reference),
            Node::Call {
                function,
                arguments,
            } => {
                let called = Function::of(function, arguments.len(), expr.span)?;
                // Lengths are known without looking at the elements.
                if let (Function::Lengths(lengths), [argument]) = (called, arguments.as_slice())
                    && let Node::Reference(reference) = &argument.node
                    && self.counter(&reference.name.text).is_none()
                {
                    return Ok(lengths(&self.places(reference)?.0));
                }
                Ok(called.call(&self.evaluate_all(arguments)?, expr.span)?)
            }
            Node::Negative(operand) => {
                let negative = |element: &Scalar| element.times(&Scalar::Known(-1.0));
                Ok(self.evaluate(operand)?.map(negative))
            }
            Node::Not(operand) => {
                let not = |element: &Scalar| element.map(|value| truth(value == 0.0));
                Ok(self.evaluate(operand)?.map(not))
            }
            Node::Binary { .. } if expr.range().is_some() => {
                let counters = self.counters(expr)?.into_iter();
                let counters = counters.map(|value| Scalar::Known(f64::from(value)));
                Ok(Value::vector(counters.collect()))
            }
            Node::Binary {
                operator,
                left,
                right,
            } => {
                let (a, b) = (self.evaluate(left)?, self.evaluate(right)?);
                Ok(binary(*operator, &a, &b, expr.span)?)
            }
        }
    }

    pub(crate) fn evaluate_all(&self, exprs: &[Expr]) -> Resolved<Vec<Value>> {
        exprs.iter().map(|expr| self.evaluate(expr)).collect()
    }

    fn reference(&self, reference: &Reference) -> Resolved<Value> {
        if reference.indices.is_none()
            && let Some(value) = self.counter(&reference.name.text)
        {
            return Ok(Value::number(f64::from(value)));
        }
        if let Mode::Latent(latent) = self.mode
            && let Some(draws) = latent.draws()
            && let Some(value) = self.gathered(reference, draws)?
        {
            return Ok(value);
        }
        if let Some((array, element)) = self.single(reference)? {
            return (self.element(array, element, reference.span)).map(Value::one);
        }
        let (dims, elements) = self.places(reference)?;
        let array = self.model.find(&reference.name.text).unwrap_or_default();
        let elements = elements.into_iter();
        let elements = elements.map(|element| self.element(array, element, reference.span));
        let elements = elements.collect::<Resolved<_>>()?;
        Ok(Value { dims, elements })
    }

    /// One element of an array.
    pub(crate) fn element(&self, array: usize, element: usize, span: Span) -> Resolved<Scalar> {
        let found = &self.model.arrays[array];
        if let Some(value) = found.value(element) {
            return Ok(Scalar::Known(value));
        }
        let computed = found.computed.borrow().get(element).copied();
        if let Some(value) = computed.filter(|value| !value.is_nan()) {
            return Ok(match self.watch.get() {
                Watch::Nothing => Scalar::Known(value),
                Watch::Symbols(_) | Watch::Reads => self.leaf(value),
            });
        }
        let Some(definer) = found.definer(element) else {
            if matches!(self.mode, Mode::Shape) && !found.defined() {
                // Lines are not placed yet.
                return Ok(Scalar::Opaque);
            }
            let name = found.element(element);
            let message = format!("{name} is neither data nor defined by the model");
            let complaint = Diagnostic::new(span, message, "needed here");
            return Err(complaint.help("give it in the data, or define it").into());
        };
        let line = &self.model.lines[definer.line as usize];
        if line.stochastic() {
            return self.stochastic(definer);
        }
        let looked = self.looked.get();
        let value = self.computed(definer)?;
        let count = value.elements.len();
        if count != line.size {
            let message = format!("{} elements are defined by a value of {count}", line.size);
            return Err(Diagnostic::new(line.relation.span, message, "dimension mismatch").into());
        }
        let value = value.elements[definer.offset as usize].clone();
        if looked == self.looked.get()
            && let Scalar::Known(value) = value
        {
            let mut computed = found.computed.borrow_mut();
            if computed.is_empty() {
                computed.resize(found.len(), f64::NAN);
            }
            computed[element] = value;
        }
        Ok(value)
    }

    /// What a stochastic line defines.
    fn stochastic(&self, definer: Definer) -> Resolved<Scalar> {
        self.looked.set(self.looked.get() + 1);
        if self.watch.get() != Watch::Nothing {
            self.seen.borrow_mut().push(definer);
        }
        match self.mode {
            _ if self.watch.get() == Watch::Reads => Ok(Scalar::Known(1.0)),
            Mode::Shape => Ok(Scalar::Opaque),
            Mode::Latent(latent) => latent.latent(definer),
        }
    }

    /// The value of a deterministic line in one of its repetitions.
    fn computed(&self, definer: Definer) -> Resolved<Value> {
        let line = &self.model.lines[definer.line as usize];
        let Kind::Deterministic { link, value } = &line.relation.kind else {
            return Ok(Value::one(Scalar::Opaque));
        };
        let place = (definer.line as usize, definer.instance as usize);
        if let Some((last, round, value, unknown)) = &*self.last.borrow()
            && (*last, *round) == (place, self.round.get())
            && self.watch.get() == Watch::Nothing
        {
            self.looked.set(self.looked.get() + u64::from(*unknown));
            return Ok(value.clone());
        }
        let deepest = if WIDE.get() { DEEPEST * WIDER } else { DEEPEST };
        if self.depth.get() > deepest {
            let message =
                format!("more than {deepest} computed lines depend on one another in a row");
            return Err(Diagnostic::new(line.relation.span, message, "the last of them").into());
        }
        let looked = self.looked.get();
        let before = self.place.replace(Some(place));
        self.depth.set(self.depth.get() + 1);
        let result = self.evaluate(value);
        self.depth.set(self.depth.get() - 1);
        self.place.set(before);
        let result = match link {
            None => result?,
            Some(link) => result?.map(|element| without_link(*link, element)),
        };
        if line.size > 1 {
            let unknown = looked != self.looked.get();
            let last = (place, self.round.get(), result.clone(), unknown);
            *self.last.borrow_mut() = Some(last);
        }
        Ok(result)
    }
}
