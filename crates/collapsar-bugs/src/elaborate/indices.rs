//! Decides which elements a reference means, and what a counter runs over.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::rc::Rc;

use super::arrays::many;
use super::evaluate::{Mode, Resolved, Scope};
use crate::diagnostic::Diagnostic;
use crate::syntax::ast::{Expr, Index, Name, Node, Reference, Span};
use crate::value::{Scalar, Value};

/// Numbers of all draws that references with open indices are gathered as, at most; beyond that one draw is looked at at a time.
const AT_ONCE: usize = 4_000_000;

impl Scope<'_> {
    /// Whole numbers: what a counter runs over, or an index.
    pub(crate) fn counters(&self, expr: &Expr) -> Resolved<Vec<i32>> {
        if let Some((left, right)) = expr.range() {
            let (first, last) = (self.index(left)?, self.index(right)?);
            // An empty range is no loop.
            return Ok((first..=last).collect());
        }
        let value = self.evaluate(expr)?;
        let whole = |element: &Scalar| self.whole(element, expr.span);
        value.elements.iter().map(whole).collect()
    }

    /// What must be data: ranges of loops and indices of what is defined.
    pub(crate) fn fixed<T>(&self, work: impl FnOnce(&Self) -> T) -> T {
        self.strict.set(true);
        let result = work(self);
        self.strict.set(false);
        result
    }

    /// One whole number.
    pub(crate) fn index(&self, expr: &Expr) -> Resolved<i32> {
        let value = self.evaluate(expr)?;
        let Some(element) = value.single() else {
            let message = format!("{} numbers where one is expected", value.elements.len());
            return Err(Diagnostic::new(expr.span, message, "not a single number").into());
        };
        self.whole(element, expr.span)
    }

    fn whole(&self, number: &Scalar, span: Span) -> Resolved<i32> {
        Err(match number {
            Scalar::Known(value) if value.fract() == 0.0 && value.abs() < f64::from(i32::MAX) => {
                return Ok(*value as i32);
            }
            Scalar::Known(value) => {
                let message = format!("{value} where a whole number is expected");
                Diagnostic::new(span, message, "an index or the end of a range")
            }
            _ if self.strict.get() => {
                let message = "a range or an index of a target that is not data";
                Diagnostic::new(span, message, "not known before the fit")
                    .help("compute it in a data block, or give it as data")
            }
            _ if matches!(self.mode, Mode::Shape) => return Ok(1),
            _ => {
                let message = "an index that is neither data nor a discrete variable";
                Diagnostic::new(span, message, "not a whole number")
            }
        }
        .into())
    }

    /// The lengths of an array, which must be known.
    fn lengths(&self, name: &Name) -> Resolved<&[usize]> {
        let Some(array) = self.model.find(&name.text) else {
            let message = format!("{} is neither data nor defined by the model", name.text);
            return Err(Diagnostic::new(name.span, message, "not known")
                .help("define it in the model, or give it as data")
                .into());
        };
        let lengths = &self.model.arrays[array].dims;
        if lengths.is_empty() {
            let message = format!("the lengths of {} are not known yet", name.text);
            return Err(Diagnostic::new(name.span, message, "used here")
                .help("only data and what is computed from data may stand in ranges and lengths")
                .into());
        }
        Ok(lengths)
    }

    /// The array and the element that a reference means where all its indices are single numbers, as most are: no lists are made.
    /// None where [`Scope::places`] is to say what it means, or what is wrong with it.
    pub(super) fn single(&self, reference: &Reference) -> Resolved<Option<(usize, usize)>> {
        let Some(array) = self.model.find(&reference.name.text) else {
            return Ok(None);
        };
        let lengths = &self.model.arrays[array].dims;
        let indices = reference.indices.as_deref().unwrap_or_default();
        if indices.is_empty() || indices.len() != lengths.len() {
            return Ok(None);
        }
        let mut element = 0;
        for (index, &length) in indices.iter().zip(lengths) {
            let Index::At(expr) = index else {
                return Ok(None);
            };
            let Some(place) = self.single_index(expr)? else {
                return Ok(None);
            };
            if place < 1.0 || place > length as f64 || place.fract() != 0.0 {
                return Ok(None);
            }
            element = element * length + place as usize - 1;
        }
        Ok(Some((array, element)))
    }

    /// The number that an index is, where it is one that is known.
    fn single_index(&self, expr: &Expr) -> Resolved<Option<f64>> {
        match &expr.node {
            Node::Number(value) => return Ok(Some(*value)),
            Node::Reference(reference) if reference.indices.is_none() => {
                if let Some(value) = self.counter(&reference.name.text) {
                    return Ok(Some(f64::from(value)));
                }
            }
            _ if expr.range().is_some() => return Ok(None),
            _ => {}
        }
        let value = self.unwatched(|| self.evaluate(expr))?;
        Ok(value.single().and_then(Scalar::known))
    }

    /// The elements that a reference means, and their lengths: single indices have none.
    pub(crate) fn places(&self, reference: &Reference) -> Resolved<(Vec<usize>, Vec<usize>)> {
        let name = &reference.name;
        let lengths = self.lengths(name)?;
        let indices = reference.indices.as_deref().unwrap_or_default();
        if matches!(indices, [] | [Index::All]) && (indices.is_empty() || lengths.len() > 1) {
            let scalar = indices.is_empty() && *lengths == [1];
            let dims = if scalar { vec![] } else { lengths.to_vec() };
            return Ok((dims, (0..lengths.iter().product()).collect()));
        }
        if indices.len() != lengths.len() {
            let given = match indices.len() {
                1 => "1 is".to_owned(),
                count => format!("{count} are"),
            };
            let dimensions = many(lengths.len(), "dimension");
            let message = format!("{} has {dimensions}, and {given} given", name.text);
            return Err(Diagnostic::new(reference.span, message, "dimension mismatch").into());
        }
        let mut dims = vec![];
        let mut elements = vec![0];
        for (index, &length) in indices.iter().zip(lengths) {
            let chosen: Vec<usize> = match index {
                Index::All => {
                    dims.push(length);
                    (0..length).collect()
                }
                Index::At(expr) => {
                    let values = self.unwatched(|| self.counters(expr))?;
                    if expr.range().is_some() || values.len() != 1 {
                        dims.push(values.len());
                    }
                    let outside = |value: &&i32| **value < 1 || **value as usize > length;
                    if let Some(value) = values.iter().find(outside) {
                        let name = &name.text;
                        let message = format!(
                            "index {value} of {name} is out of range, expected 1 to {length}"
                        );
                        let label = format!("is {value} here");
                        return Err(Diagnostic::new(expr.span, message, label).into());
                    }
                    values.into_iter().map(|value| value as usize - 1).collect()
                }
            };
            elements = (elements.iter())
                .flat_map(|before| chosen.iter().map(move |index| before * length + index))
                .collect();
        }
        Ok((dims, elements))
    }

    /// The elements that a repetition of a line defines; goes there.
    pub(crate) fn targets(&self, line: usize, instance: usize) -> Resolved<Vec<usize>> {
        self.enter(line, instance);
        let (_, elements) = self.places(&self.model.lines[line].relation.target)?;
        Ok(elements)
    }

    /// One element of a vector that a reference means, without looking at the others: the item
    /// at `place`, counted from 1, if one index alone is open.
    pub(crate) fn pick(&self, reference: &Reference, place: usize) -> Resolved<Option<Scalar>> {
        let Some(array) = self.model.find(&reference.name.text) else {
            return Ok(None);
        };
        let lengths = &self.model.arrays[array].dims;
        let whole = [Index::All];
        let indices = reference.indices.as_deref().unwrap_or(&whole);
        let open = indices.iter().filter(|index| **index == Index::All).count();
        if open != 1 || indices.len() != lengths.len() {
            return Ok(None);
        }
        let mut element = 0;
        for (index, &length) in indices.iter().zip(lengths) {
            let value = match index {
                Index::All => place,
                Index::At(expr) => {
                    let value = self.unwatched(|| self.index(expr))?;
                    usize::try_from(value).unwrap_or(0)
                }
            };
            if value < 1 || value > length {
                return Ok(None);
            }
            element = element * length + value - 1;
        }
        self.element(array, element, reference.span).map(Some)
    }

    /// What a reference means in each draw, where drawn states are among the indices, all of which are single or open.
    pub(super) fn gathered(&self, reference: &Reference, draws: usize) -> Resolved<Option<Value>> {
        let Some(array) = self.model.find(&reference.name.text) else {
            return Ok(None);
        };
        let lengths = &self.model.arrays[array].dims;
        let indices = reference.indices.as_deref().unwrap_or_default();
        let known = |index: &Index| match index {
            Index::All => true,
            Index::At(expr) => self.is_data(expr),
        };
        if indices.len() != lengths.len() || indices.iter().all(known) {
            return Ok(None);
        }
        // Where the open ones are 1, the element of each draw; and how far the others are from it.
        let (mut firsts, mut others, mut dims) = (vec![0; draws], vec![0], vec![]);
        for (index, &length) in indices.iter().zip(lengths) {
            let Index::At(expr) = index else {
                dims.push(length);
                for first in &mut firsts {
                    *first *= length;
                }
                let more = |other: usize| (0..length).map(move |at| other * length + at);
                others = others.into_iter().flat_map(more).collect();
                if others.len() * draws > AT_ONCE {
                    return Ok(None);
                }
                continue;
            };
            let value = self.evaluate(expr)?;
            let Some(number) = value.single() else {
                return Ok(None);
            };
            for other in &mut others {
                *other *= length;
            }
            for (draw, first) in firsts.iter_mut().enumerate() {
                let Some(place) = number.in_draw(draw) else {
                    return Ok(None);
                };
                if place.fract() != 0.0 || place < 1.0 || place > length as f64 {
                    // Told of where one draw is looked at.
                    return Ok(None);
                }
                *first = *first * length + place as usize - 1;
            }
        }
        let mut found: BTreeMap<usize, Scalar> = BTreeMap::new();
        let mut elements = Vec::with_capacity(others.len());
        for other in others {
            let mut values = Vec::with_capacity(draws);
            for (draw, &first) in firsts.iter().enumerate() {
                let number = match found.entry(first + other) {
                    Entry::Occupied(found) => found.into_mut(),
                    Entry::Vacant(place) => {
                        place.insert(self.element(array, first + other, reference.span)?)
                    }
                };
                let Some(value) = number.in_draw(draw) else {
                    return Ok(None);
                };
                values.push(value);
            }
            elements.push(Scalar::Draws(Rc::new(values)));
        }
        Ok(Some(Value { dims, elements }))
    }
}
