//! Decides how long arrays are, what of them is data and what defines the rest.

use std::cell::RefCell;
use std::sync::Arc;

use collapsar::limits::ELEMENTS;

use super::Elaborated;
use super::evaluate::{Mode, Scope};
use crate::data::{Data, Sparse};
use crate::diagnostic::{Checked, Diagnostic};
use crate::quantity::Element;
use crate::syntax::ast::{Index, Name, Variable};

/// The line, and the repetition of it, that defines an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Definer {
    pub(crate) line: u32,
    pub(crate) instance: u32,
    /// Which of the elements that the repetition defines.
    pub(crate) offset: u32,
}

const NOBODY: Definer = Definer {
    line: u32::MAX,
    instance: 0,
    offset: 0,
};

/// Who defines each element.
#[derive(Debug, Default)]
pub(crate) enum Definers {
    #[default]
    Nobody,
    /// A line's repetitions one after another from the first element on, `size` elements each.
    InOrder { line: u32, size: u32, count: usize },
    /// Anyone, element by element.
    Each(Vec<Definer>),
}

/// What is known of an array from data.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) enum Known {
    #[default]
    Nothing,
    /// NaN where nothing is known.
    Values(Arc<Vec<f64>>),
    Sparse(Sparse),
}

/// An array of the model.
#[derive(Debug, Default)]
pub(crate) struct Array {
    pub(crate) name: String,
    pub(crate) dims: Vec<usize>,
    pub(crate) known: Known,
    /// What lines define which elements.
    pub(crate) definers: Definers,
    /// Values that were computed and depend on data alone; NaN before.
    pub(super) computed: RefCell<Vec<f64>>,
    /// Whether lengths come from data or `var`.
    fixed: bool,
    /// Whether no datum is missing.
    complete: bool,
}

impl Array {
    pub(crate) fn len(&self) -> usize {
        self.dims.iter().product()
    }

    /// The datum of an element, NaN where there is none.
    pub(crate) fn number(&self, element: usize) -> f64 {
        self.value(element).unwrap_or(f64::NAN)
    }

    /// The datum of an element.
    pub(crate) fn value(&self, element: usize) -> Option<f64> {
        match &self.known {
            Known::Nothing => None,
            Known::Values(values) => Some(values[element]).filter(|value| !value.is_nan()),
            Known::Sparse(sparse) => {
                let (row, column) = (element / sparse.dims[1], element % sparse.dims[1]);
                let range = sparse.starts[row]..sparse.starts[row + 1];
                let columns = &sparse.columns[range.clone()];
                Some(match columns.binary_search(&(column as u32)) {
                    Ok(place) => sparse.values[range.start + place],
                    Err(_) => 0.0,
                })
            }
        }
    }

    pub(crate) fn definer(&self, element: usize) -> Option<Definer> {
        match &self.definers {
            Definers::Nobody => None,
            Definers::InOrder { line, size, count } => (element < *count).then(|| Definer {
                line: *line,
                instance: element as u32 / size,
                offset: element as u32 % size,
            }),
            Definers::Each(each) => each.get(element).copied().filter(|d| *d != NOBODY),
        }
    }

    /// Whether all of it is known from data, whoever defines it.
    pub(crate) fn is_data(&self) -> bool {
        self.complete
    }

    /// Whether a line defines all elements, one repetition after another.
    pub(crate) fn in_order(&self, line: usize) -> bool {
        let length = self.len();
        matches!(self.definers, Definers::InOrder { line: own, count, .. }
            if own as usize == line && count == length)
    }

    /// Visits the data of one row of a matrix; of a sparse one only what is not zero.
    pub(crate) fn each_in_row(&self, row: usize, mut visit: impl FnMut(usize, f64)) {
        let columns = self.dims[1];
        match &self.known {
            Known::Nothing => {}
            Known::Values(values) => {
                let row = &values[row * columns..(row + 1) * columns];
                row.iter()
                    .enumerate()
                    .for_each(|(column, &value)| visit(column, value));
            }
            Known::Sparse(sparse) => {
                for entry in sparse.starts[row]..sparse.starts[row + 1] {
                    visit(sparse.columns[entry] as usize, sparse.values[entry]);
                }
            }
        }
    }

    /// Whether a line defines any element.
    pub(crate) fn defined(&self) -> bool {
        !matches!(self.definers, Definers::Nobody)
    }

    /// Notes who defines an element; `size` is how many the repetition defines together.
    pub(super) fn set_definer(&mut self, element: usize, definer: Definer, size: usize) {
        let next = definer.instance as usize * size + definer.offset as usize;
        match &mut self.definers {
            Definers::Nobody if element == 0 && next == 0 => {
                self.definers = Definers::InOrder {
                    line: definer.line,
                    size: size as u32,
                    count: 1,
                };
            }
            Definers::InOrder { line, count, .. }
                if *line == definer.line && *count == element && next == element =>
            {
                *count += 1;
            }
            Definers::Each(each) => each[element] = definer,
            _ => {
                let before = (0..self.len()).map(|at| self.definer(at).unwrap_or(NOBODY));
                let mut each: Vec<Definer> = before.collect();
                each[element] = definer;
                self.definers = Definers::Each(each);
            }
        }
    }

    /// Makes it data, which no line defines.
    pub(super) fn become_data(&mut self, known: Known) {
        self.complete = match &known {
            Known::Nothing => false,
            Known::Values(values) => values.iter().all(|value| !value.is_nan()),
            Known::Sparse(_) => true,
        };
        self.known = known;
        self.definers = Definers::Nobody;
        self.fixed = true;
    }

    /// What an element is called.
    pub(crate) fn element(&self, element: usize) -> Element {
        let mut rest = element;
        let mut indices = vec![];
        if self.dims != [1] {
            for &length in self.dims.iter().rev() {
                indices.push(rest % length + 1);
                rest /= length;
            }
        }
        indices.reverse();
        let array = self.name.clone();
        Element { array, indices }
    }
}

impl Elaborated {
    pub(super) fn take_data(&mut self, data: Data) {
        let dense = data.arrays.into_iter().map(|(name, array)| {
            let known = Known::Values(Arc::new(array.values));
            (name, array.dims, known)
        });
        let sparse = data.sparse.into_iter().map(|(name, sparse)| {
            let dims = sparse.dims.to_vec();
            (name, dims, Known::Sparse(sparse))
        });
        for (name, dims, known) in dense.chain(sparse) {
            let place = self.push_array(name);
            self.arrays[place].dims = dims;
            self.arrays[place].become_data(known);
        }
    }

    /// Takes the lengths of `var` declarations.
    pub(super) fn declare(&mut self, vars: &[Variable]) -> Checked {
        for variable in vars {
            let mut dims = vec![];
            for length in &variable.dims {
                let length = Scope::new(self, Mode::Shape).index(length)?;
                dims.push(length.max(0) as usize);
            }
            check_size(&variable.name, &dims)?;
            if dims.is_empty() {
                dims.push(1);
            }
            let array = self.array_for(&variable.name);
            let array = &mut self.arrays[array];
            if array.fixed && array.dims != dims {
                let (Name { text, span }, given) = (&variable.name, &array.dims);
                let message = format!(
                    "{text} is declared with lengths {dims:?} and has data of lengths {given:?}"
                );
                return Err(Diagnostic::new(*span, message, "declared here"));
            }
            array.dims = dims;
            array.fixed = true;
        }
        Ok(())
    }

    /// The array of a name, made where there is none.
    pub(super) fn array_for(&mut self, name: &Name) -> usize {
        let known = self.find(&name.text);
        known.unwrap_or_else(|| self.push_array(name.text.clone()))
    }

    /// Keeps what was computed of an array before the lines are placed.
    pub(super) fn foreseen(&mut self, name: &str, numbers: Vec<f64>, dims: Vec<usize>) {
        let place = self.push_array(name.to_owned());
        self.arrays[place].dims = dims;
        self.arrays[place].computed = RefCell::new(numbers);
    }

    fn push_array(&mut self, name: String) -> usize {
        self.places.insert(name.clone(), self.arrays.len());
        self.arrays.push(Array {
            name,
            ..Array::default()
        });
        self.arrays.len() - 1
    }

    /// Makes an array long enough for what a line defines, where data or `var` do not say.
    pub(super) fn stretch(&mut self, line: usize) -> Checked {
        let array = self.lines[line].array;
        let Array { fixed, dims, .. } = &mut self.arrays[array];
        if *fixed {
            return Ok(());
        }
        let target = self.lines[line].relation.target.clone();
        let name = &target.name.text;
        // A bare name is as long as what defines it.
        let Some(indices) = &target.indices else {
            return Ok(());
        };
        let refuse = |message: String, label: &str| Diagnostic::new(target.span, message, label);
        if !dims.is_empty() && dims.len() != indices.len() {
            let (here, elsewhere) = (many(indices.len(), "index"), dims.len());
            let message = format!("{name} has {here} here and {elsewhere} elsewhere");
            return Err(refuse(message, "other indices"));
        }
        let mut most = dims.clone();
        most.resize(indices.len(), 0);
        for instance in 0..self.lines[line].instances {
            let scope = Scope::within(self, Mode::Shape, line, instance);
            for (most, index) in most.iter_mut().zip(indices) {
                let Index::At(index) = index else {
                    let label = "an empty index of something that is neither data nor declared";
                    let help =
                        format!("write the range, as in {name}[1:K], or declare it: var {name}[K]");
                    let message = format!("the length of {name} is not known");
                    return Err(refuse(message, label).help(help));
                };
                for value in scope.fixed(|scope| scope.counters(index))? {
                    if value < 1 {
                        let message = format!("an index of {value}, expected 1 or more");
                        return Err(Diagnostic::new(index.span, message, "this index"));
                    }
                    *most = (*most).max(value as usize);
                }
            }
        }
        check_size(&target.name, &most)?;
        self.arrays[array].dims = most;
        Ok(())
    }
}

/// Refuses an array that is longer than any model needs, before there is memory for it.
fn check_size(name: &Name, dims: &[usize]) -> Checked {
    let size = (dims.iter()).try_fold(1_usize, |size, length| size.checked_mul(*length));
    if size.is_some_and(|size| size <= ELEMENTS) {
        return Ok(());
    }
    let lengths: Vec<String> = dims.iter().map(usize::to_string).collect();
    let message = format!(
        "{} has {} elements, expected {ELEMENTS} at most",
        name.text,
        lengths.join(" by ")
    );
    Err(Diagnostic::new(name.span, message, "too long"))
}

impl Elaborated {
    /// Gives bare names on the left the lengths of what is on the right, as soon as those are known.
    pub(super) fn stretch_bare(&mut self) {
        let bare = |line: &usize| {
            let line = &self.lines[*line];
            let array = &self.arrays[line.array];
            line.relation.target.indices.is_none() && !array.fixed && array.dims.is_empty()
        };
        let mut pending: Vec<usize> = (0..self.lines.len()).filter(bare).collect();
        loop {
            let before = pending.len();
            pending.retain(|&line| match self.lengths_of_right(line) {
                Some(dims) => {
                    let array = self.lines[line].array;
                    self.arrays[array].dims = dims;
                    false
                }
                None => true,
            });
            if pending.len() == before {
                break;
            }
        }
        // What has no lengths depends on itself or on what is not there, which is told later.
        for line in pending {
            let array = self.lines[line].array;
            self.arrays[array].dims = vec![1];
        }
    }

    /// The lengths of what a line gives, where they can be told.
    fn lengths_of_right(&self, line: usize) -> Option<Vec<usize>> {
        let of = &self.lines[line];
        let multivariate = of
            .sampling()
            .is_none_or(|of| of.distribution.is_multivariate());
        if !multivariate || of.instances == 0 {
            return Some(vec![1]);
        }
        let scope = Scope::within(self, Mode::Shape, line, 0);
        let value = scope.evaluate(of.relation.arguments().first()?).ok()?;
        match value.dims.len() {
            0 => Some(vec![1]),
            _ => Some(value.dims),
        }
    }
}

/// `3 indices`, `1 index`.
pub(super) fn many(count: usize, noun: &str) -> String {
    match (count, noun) {
        (1, _) => format!("1 {noun}"),
        (_, "index") => format!("{count} indices"),
        _ => format!("{count} {noun}s"),
    }
}
