//! Decides how numbers of a model are named, and which of them a user means.

use std::fmt;
use std::ops::RangeInclusive;

/// An element of an array, shown as in `mu[2,1]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Element {
    /// The array's name.
    pub array: String,
    /// Counted from 1; a scalar has none.
    pub indices: Vec<usize>,
}

impl Element {
    pub(crate) fn scalar(name: &str) -> Self {
        Self {
            array: name.to_owned(),
            indices: vec![],
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indices: Vec<String> = self.indices.iter().map(usize::to_string).collect();
        match indices.as_slice() {
            [] => f.write_str(&self.array),
            _ => write!(f, "{}[{}]", self.array, indices.join(",")),
        }
    }
}

/// One number of a model that is not data.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantity {
    /// What it is called.
    pub element: Element,
    /// Where it comes from.
    pub origin: Origin,
    /// The array among those of the model, and the element among those of the array.
    pub(crate) place: (usize, usize),
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.element.fmt(f)
    }
}

/// What a quantity is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A number of a variable of the graph; the place among a
    /// [`collapsar::graph::VariationalPosterior`]'s numbers.
    Variable(u32, u32),
    /// A label, and the value of its first state.
    Label(u32, u32),
    /// A label whose states are nodes that stand for a number.
    Grid(u32),
    /// Known to be zero.
    Zero,
    /// Computed from others.
    Computed,
    /// Left out of the fit, since no datum depends on it, and predicted from its parents.
    Predicted,
}

/// Elements that a user asks for: `mu`, `mu[2,1]`, `mu[1:3]` or `mu[2,]`, where an index that is left out is any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// The array's name.
    pub array: String,
    /// What each index may be, if it is said; all elements where there are no brackets.
    pub indices: Option<Vec<Option<RangeInclusive<usize>>>>,
}

impl Selection {
    /// Selections between commas, of which those in brackets do not count.
    pub fn list(text: &str) -> Vec<Self> {
        let mut depth = 0;
        let parts = text.split(|letter| {
            match letter {
                '[' => depth += 1,
                ']' => depth -= 1,
                _ => {}
            }
            letter == ',' && depth <= 0
        });
        let parts = parts.filter(|part| !part.trim().is_empty());
        parts.map(Self::from).collect()
    }

    /// Whether an element is among those that are meant.
    pub fn contains(&self, element: &Element) -> bool {
        let Some(asked) = &self.indices else {
            return self.array == element.array;
        };
        self.array == element.array
            && asked.len() == element.indices.len()
            && (asked.iter().zip(&element.indices))
                .all(|(asked, index)| asked.as_ref().is_none_or(|asked| asked.contains(index)))
    }
}

impl From<&str> for Selection {
    /// Text that is no selection is taken for the name of an array, which no model has.
    fn from(text: &str) -> Self {
        let text: String = text.split_whitespace().collect();
        let range = |text: &str| {
            let (first, last) = text.split_once(':').unwrap_or((text, text));
            Some(first.parse().ok()?..=last.parse().ok()?)
        };
        // Nothing where an index is neither empty nor a range.
        let index = |text: &str| match text {
            "" => Some(None),
            _ => range(text).map(Some),
        };
        let selection = || {
            let (array, indices) = text.strip_suffix(']')?.split_once('[')?;
            let indices = indices.split(',').map(index).collect::<Option<_>>()?;
            Some((array.to_owned(), Some(indices)))
        };
        let (array, indices) = selection().unwrap_or_else(|| (text.clone(), None));
        Self { array, indices }
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.array)?;
        let Some(indices) = &self.indices else {
            return Ok(());
        };
        let index = |index: &Option<RangeInclusive<usize>>| match index {
            None => String::new(),
            Some(range) if range.start() == range.end() => range.start().to_string(),
            Some(range) => format!("{}:{}", range.start(), range.end()),
        };
        let indices: Vec<String> = indices.iter().map(index).collect();
        write!(f, "[{}]", indices.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_brackets_do_not_part_selections() {
        let found = Selection::list("mu[2, 1],tau , x[1:3,],y[],");
        let texts: Vec<String> = found.iter().map(Selection::to_string).collect();
        assert_eq!(texts, ["mu[2,1]", "tau", "x[1:3,]", "y[]"]);
    }

    #[test]
    fn ranges_and_empty_indices() {
        for (text, array, indices, meant) in [
            ("mu[1:3]", "mu", &[3][..], true),
            ("mu[1:3]", "mu", &[4], false),
            ("mu[2,]", "mu", &[2, 7], true),
            ("mu[2,]", "mu", &[1, 7], false),
            ("mu[,2:3]", "mu", &[9, 2], true),
            ("mu[]", "mu", &[5], true),
            ("mu[]", "mu", &[5, 1], false),
            ("mu[1:3]", "nu", &[1], false),
            ("mu[a:3]", "mu", &[1], false),
            ("mu[x]", "mu", &[1], false),
            ("mu", "mu", &[1, 2], true),
            ("tau", "tau", &[], true),
            ("tau[1]", "tau", &[], false),
        ] {
            let element = Element {
                array: array.into(),
                indices: indices.to_vec(),
            };
            let selection = Selection::from(text);
            assert_eq!(selection.contains(&element), meant, "{text} {element}");
            assert_eq!(selection.to_string(), text);
        }
    }
}
