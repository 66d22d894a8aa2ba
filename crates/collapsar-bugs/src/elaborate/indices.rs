//! Decides which elements a reference means, and what a counter runs over.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::rc::Rc;

use super::arrays::many;
use super::evaluate::{Evaluated, Mode, Scope};
use crate::diagnostic::Diagnostic;
use crate::syntax::ast::{Expr, Index, Reference, Span};
use crate::value::Item;

impl Scope<'_> {
    /// Whole numbers: what a counter runs over, or an index.
    pub(crate) fn counters(&self, expr: &Expr) -> Evaluated<Vec<i32>> {
        if let Some((left, right)) = expr.range() {
            let (first, last) = (self.index(left)?, self.index(right)?);
            // An empty range is no loop.
            return Ok((first..=last).collect());
        }
        let value = self.evaluate(expr)?;
        value
            .items
            .iter()
            .map(|item| self.whole(item, expr.span))
            .collect()
    }

    /// The same of what must be data: ranges of loops and indices of what is defined.
    pub(crate) fn fixed(&self, expr: &Expr) -> Evaluated<Vec<i32>> {
        self.strict.set(true);
        let result = self.counters(expr);
        self.strict.set(false);
        result
    }

    /// One end of a range that must be data.
    pub(crate) fn end(&self, expr: &Expr) -> Evaluated<i32> {
        self.strict.set(true);
        let result = self.index(expr);
        self.strict.set(false);
        result
    }

    /// One whole number.
    pub(crate) fn index(&self, expr: &Expr) -> Evaluated<i32> {
        let value = self.evaluate(expr)?;
        match value.single() {
            Some(item) => self.whole(item, expr.span),
            None => Err(Diagnostic::new(
                expr.span,
                format!("{} numbers where one is expected", value.items.len()),
                "not a single number",
            )
            .into()),
        }
    }

    fn whole(&self, item: &Item, span: Span) -> Evaluated<i32> {
        match item {
            Item::Known(value) if value.fract() == 0.0 && value.abs() < f64::from(i32::MAX) => {
                Ok(*value as i32)
            }
            Item::Known(value) => Err(Diagnostic::new(
                span,
                format!("{value} where a whole number is expected"),
                "an index or the end of a range",
            )
            .into()),
            _ if self.strict.get() => Err(Diagnostic::new(
                span,
                "a range or an index of a target that is not data",
                "not known before the fit",
            )
            .help("compute it in a data block, or give it as data")
            .into()),
            _ if matches!(self.mode, Mode::Shape) => Ok(1),
            _ => Err(Diagnostic::new(
                span,
                "an index that is neither data nor a discrete variable",
                "not a whole number",
            )
            .into()),
        }
    }

    /// The elements that a reference means, and their lengths: single indices have none.
    pub(crate) fn places(&self, reference: &Reference) -> Evaluated<(Vec<usize>, Vec<usize>)> {
        let name = &reference.name;
        let Some(array) = self.model.find(&name.text) else {
            return Err(Diagnostic::new(
                name.span,
                format!("{} is neither data nor defined by the model", name.text),
                "not known",
            )
            .help("define it in the model, or give it as data")
            .into());
        };
        let lengths = &self.model.arrays[array].dims;
        if lengths.is_empty() {
            return Err(Diagnostic::new(
                name.span,
                format!("the lengths of {} are not known yet", name.text),
                "used here",
            )
            .help("only data and what is computed from data may stand in ranges and lengths")
            .into());
        }
        let Some(indices) = &reference.indices else {
            let count = lengths.iter().product();
            let dims = if count == 1 && lengths.len() == 1 {
                vec![]
            } else {
                lengths.clone()
            };
            return Ok((dims, (0..count).collect()));
        };
        if indices.len() == 1 && indices[0] == Index::All && lengths.len() > 1 {
            return Ok((lengths.clone(), (0..lengths.iter().product()).collect()));
        }
        if indices.len() != lengths.len() {
            return Err(Diagnostic::new(
                reference.span,
                format!(
                    "{} has {}, and {} given",
                    name.text,
                    many(lengths.len(), "dimension"),
                    match indices.len() {
                        1 => "1 is".to_owned(),
                        count => format!("{count} are"),
                    }
                ),
                "dimension mismatch",
            )
            .into());
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
                    for &value in &values {
                        if value < 1 || value as usize > length {
                            return Err(Diagnostic::new(
                                expr.span,
                                format!(
                                    "index {value} of {} is out of range, expected 1 to {length}",
                                    name.text
                                ),
                                format!("is {value} here"),
                            )
                            .into());
                        }
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

    /// One element of a vector that a reference means, without looking at the others: the item
    /// at `place`, counted from 1, if one index alone is open.
    pub(crate) fn pick(&self, reference: &Reference, place: usize) -> Evaluated<Option<Item>> {
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

    /// One element in each draw, where drawn states are among the indices and all are single.
    pub(super) fn gathered(&self, reference: &Reference, draws: usize) -> Evaluated<Option<Item>> {
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
        let mut elements = vec![0; draws];
        for (index, &length) in indices.iter().zip(lengths) {
            let Index::At(expr) = index else {
                return Ok(None);
            };
            let value = self.evaluate(expr)?;
            let Some(item) = value.single() else {
                return Ok(None);
            };
            for (draw, element) in elements.iter_mut().enumerate() {
                let place = match item {
                    Item::Known(place) => *place,
                    Item::Drawn(places) => places[draw],
                    _ => return Ok(None),
                };
                if place.fract() != 0.0 || place < 1.0 || place > length as f64 {
                    // Told of where one draw is looked at.
                    return Ok(None);
                }
                *element = *element * length + place as usize - 1;
            }
        }
        let mut items: BTreeMap<usize, Item> = BTreeMap::new();
        let mut values = Vec::with_capacity(draws);
        for (draw, &element) in elements.iter().enumerate() {
            let item = match items.entry(element) {
                Entry::Occupied(found) => found.into_mut(),
                Entry::Vacant(place) => {
                    place.insert(self.element(array, element, reference.span)?)
                }
            };
            values.push(match item {
                Item::Known(value) => *value,
                Item::Drawn(all) => all[draw],
                _ => return Ok(None),
            });
        }
        Ok(Some(Item::Drawn(Rc::new(values))))
    }
}
