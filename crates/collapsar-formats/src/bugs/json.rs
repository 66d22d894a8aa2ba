//! Decides how numbers, lists and objects of JSON become arrays, number by number as they are read.

use std::cell::RefCell;
use std::fmt;

use collapsar_bugs::Array;
use serde::de::{DeserializeSeed, Deserializer as _, MapAccess, SeqAccess, Visitor};

use super::sparse::{Parts, Refusal};
use super::{Item, Items, indexed};
use crate::error::{Error, Result, json_cause, quoted, shortened};
use crate::open::{Opened, text_error};

const NUMBERS: &str = "numbers, null for missing ones, and lists of them";

pub(super) fn read(input: Opened) -> Result<Items> {
    let path = &input.name;
    let refusals = Refusals::default();
    let mut deserializer = serde_json::Deserializer::from_reader(input.reader);
    let items = deserializer.deserialize_map(Whole(&refusals));
    let items = items.and_then(|items| deserializer.end().map(|()| items));
    let error = match items {
        Ok(items) => return Ok(items),
        Err(error) => error,
    };
    if error.is_io() {
        return Err(text_error(path, &error.into()));
    }
    let line = error.line() as u64;
    if let Some((found, expected)) = refusals.0.take() {
        return Err(Error::line(path, line, found, expected));
    }
    let found = format!("JSON that cannot be read ({})", json_cause(&error));
    let expected = "one object with null for missing numbers";
    Err(Error::line(path, line, found, expected))
}

/// What was refused and what was expected, kept beside serde's own error, which only knows the place.
#[derive(Debug, Default)]
pub(super) struct Refusals(RefCell<Option<(String, String)>>);

impl Refusals {
    pub(super) fn note<E: serde::de::Error>(
        &self,
        found: String,
        expected: impl Into<String>,
    ) -> E {
        *self.0.borrow_mut() = Some((found, expected.into()));
        E::custom("refused")
    }

    /// Of something in the value of a name.
    fn note_in<E: serde::de::Error>(&self, name: &str, (found, expected): Refusal) -> E {
        self.note(format!("{found} in {}", quoted(name)), expected)
    }
}

/// The object that is the file.
struct Whole<'a>(&'a Refusals);

impl<'de> Visitor<'de> for Whole<'_> {
    type Value = Items;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Items, A::Error> {
        let mut items = Items::new();
        while let Some(name) = map.next_key::<String>()? {
            let mut builder = Builder::new(&name, self.0);
            let item = match map.next_value_seed(Element(&mut builder))? {
                None => Item::Array(builder.finish()),
                Some(parts) => {
                    let matrix = parts.matrix();
                    Item::Sparse(matrix.map_err(|refusal| self.0.note_in(&name, refusal))?)
                }
            };
            if items.contains_key(&name) {
                let found = format!("{name:?} for the second time");
                return Err(self.0.note(found, "each name once"));
            }
            items.insert(name, item);
        }
        Ok(items)
    }
}

/// Collects the numbers of nested lists in one vector.
pub(super) struct Builder<'a> {
    name: &'a str,
    refusals: &'a Refusals,
    values: Vec<f64>,
    /// The lengths of lists at each depth, as the first of each depth had it.
    dims: Vec<usize>,
    /// How deep the first number lies.
    leaves: Option<usize>,
    /// The lists that are open: the place in each.
    place: Vec<usize>,
    /// The deepest list so far.
    deepest: usize,
}

impl<'a> Builder<'a> {
    pub(super) fn new(name: &'a str, refusals: &'a Refusals) -> Self {
        Builder {
            name,
            refusals,
            values: Vec::new(),
            dims: Vec::new(),
            leaves: None,
            place: Vec::new(),
            deepest: 0,
        }
    }

    fn here(&self) -> String {
        indexed(&shortened(self.name, 40), &self.place)
    }

    fn number<E: serde::de::Error>(&mut self, number: f64) -> std::result::Result<(), E> {
        let depth = self.place.len();
        if depth < self.deepest || self.leaves.is_some_and(|leaves| leaves != depth) {
            let found = format!("a number at {}", self.here());
            return Err(self.refusals.note(found, "a list as before"));
        }
        self.leaves = Some(depth);
        self.values.push(number);
        Ok(())
    }

    /// Notes the length of a list that ends.
    fn close<E: serde::de::Error>(&mut self, length: usize) -> std::result::Result<(), E> {
        let depth = self.place.len();
        // Lists inside end before their own does, so places between are filled in later.
        if self.dims.len() <= depth {
            self.dims.resize(depth + 1, usize::MAX);
        }
        if self.dims[depth] == usize::MAX {
            self.dims[depth] = length;
        }
        if self.dims[depth] == length {
            return Ok(());
        }
        let found = format!("a list of {length} at {}", self.here());
        let expected = format!("{} as in the lists before", self.dims[depth]);
        Err(self.refusals.note(found, expected))
    }

    pub(super) fn finish(mut self) -> Array {
        if self.dims.is_empty() {
            self.dims.push(1);
        }
        self.values.shrink_to_fit();
        Array {
            dims: self.dims,
            values: self.values,
        }
    }
}

/// One number or list, at the builder's place; an object is given back in its parts.
pub(super) struct Element<'a, 'b>(pub(super) &'b mut Builder<'a>);

type Found<E> = std::result::Result<Option<Parts>, E>;

impl<'de> DeserializeSeed<'de> for Element<'_, '_> {
    type Value = Option<Parts>;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Found<D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Element<'_, '_> {
    type Value = Option<Parts>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NUMBERS)
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Found<E> {
        self.0.number(number).map(|()| None)
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Found<E> {
        self.visit_f64(number as f64)
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Found<E> {
        self.visit_f64(number as f64)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Found<E> {
        self.visit_f64(f64::from(value))
    }

    fn visit_unit<E: serde::de::Error>(self) -> Found<E> {
        self.visit_f64(f64::NAN)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Found<E> {
        let found = format!("the text {} at {}", quoted(text), self.0.here());
        Err(self.0.refusals.note(found, NUMBERS))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Found<A::Error> {
        let builder = self.0;
        let depth = builder.place.len();
        if builder.leaves.is_some_and(|leaves| leaves <= depth) {
            let found = format!("a list at {}", builder.here());
            return Err(builder.refusals.note(found, "a number as before"));
        }
        builder.deepest = builder.deepest.max(depth + 1);
        builder.place.push(0);
        while list.next_element_seed(Element(builder))?.is_some() {
            builder.place[depth] += 1;
        }
        let length = builder.place.pop().unwrap_or(0);
        builder.close(length)?;
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Found<A::Error> {
        let builder = self.0;
        if !builder.place.is_empty() {
            let found = format!("an object at {}", builder.here());
            return Err(builder.refusals.note(found, NUMBERS));
        }
        let mut parts = Parts::default();
        while let Some(key) = map.next_key::<String>()? {
            if key == "sparse" {
                let layout = map.next_value::<String>().map_err(|_| {
                    let found = format!("\"sparse\" of {} without text", builder.here());
                    builder
                        .refusals
                        .note::<A::Error>(found, "\"csr\" or \"coo\"")
                })?;
                parts.layout = Some(layout);
                continue;
            }
            let name = format!("{}.{}", shortened(builder.name, 40), shortened(&key, 40));
            let mut inner = Builder::new(&name, builder.refusals);
            if map.next_value_seed(Element(&mut inner))?.is_some() {
                let found = format!("an object at {name}");
                return Err(builder.refusals.note(found, NUMBERS));
            }
            let given = parts.give(&key, inner.finish());
            given.map_err(|refusal| builder.refusals.note_in(builder.name, refusal))?;
        }
        Ok(Some(parts))
    }
}
