//! Decides what an expression may be worth: numbers, or polynomials in what is not known.

use std::rc::Rc;

/// An unknown number: an element of a variable of the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Unknown {
    pub(crate) variable: u32,
    pub(crate) element: u32,
}

/// A product of unknowns with a coefficient; the unknowns are sorted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Product {
    pub(crate) coefficient: f64,
    pub(crate) unknowns: Vec<Unknown>,
}

/// One number of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Item {
    Known(f64),
    /// A sum of products, like ones together, none of them constant but the first perhaps.
    Sum(Rc<Vec<Product>>),
    /// Known numbers, one for each of many draws at once.
    Drawn(Rc<Vec<f64>>),
    /// What no family takes in, such as the logarithm of an unknown.
    Opaque,
}

impl Item {
    pub(crate) fn unknown(variable: u32, element: u32) -> Self {
        Self::Sum(Rc::new(vec![Product {
            coefficient: 1.0,
            unknowns: vec![Unknown { variable, element }],
        }]))
    }

    pub(crate) fn known(&self) -> Option<f64> {
        match self {
            Self::Known(value) => Some(*value),
            _ => None,
        }
    }

    /// Its products; a number is a product of nothing.
    pub(crate) fn products(&self) -> Option<Vec<Product>> {
        match self {
            Self::Known(value) => Some(vec![Product {
                coefficient: *value,
                unknowns: vec![],
            }]),
            Self::Sum(products) => Some(products.as_ref().clone()),
            Self::Drawn(_) | Self::Opaque => None,
        }
    }

    fn of(mut products: Vec<Product>) -> Self {
        products.sort_by(|a, b| a.unknowns.cmp(&b.unknowns));
        products.dedup_by(|next, kept| {
            let same = next.unknowns == kept.unknowns;
            if same {
                kept.coefficient += next.coefficient;
            }
            same
        });
        products.retain(|product| product.coefficient != 0.0);
        match products.as_slice() {
            [] => Self::Known(0.0),
            [one] if one.unknowns.is_empty() => Self::Known(one.coefficient),
            _ => Self::Sum(Rc::new(products)),
        }
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Known(a), Self::Known(b)) => Self::Known(a + b),
            (Self::Drawn(_), _) | (_, Self::Drawn(_)) => self.map_with(other, |a, b| a + b),
            _ => self.combine(other, |mut a, mut b| {
                a.append(&mut b);
                a
            }),
        }
    }

    pub(crate) fn minus(&self, other: &Self) -> Self {
        self.plus(&other.times(&Self::Known(-1.0)))
    }

    pub(crate) fn times(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Known(a), Self::Known(b)) => Self::Known(a * b),
            (Self::Drawn(_), _) | (_, Self::Drawn(_)) => self.map_with(other, |a, b| a * b),
            _ => self.combine(other, |a, b| {
                let pairs = a.iter().flat_map(|a| b.iter().map(move |b| (a, b)));
                pairs
                    .map(|(a, b)| {
                        let mut unknowns = a.unknowns.clone();
                        unknowns.extend_from_slice(&b.unknowns);
                        unknowns.sort_unstable();
                        Product {
                            coefficient: a.coefficient * b.coefficient,
                            unknowns,
                        }
                    })
                    .collect()
            }),
        }
    }

    pub(crate) fn over(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Known(a), Self::Known(b)) => Self::Known(a / b),
            (Self::Drawn(_), _) | (_, Self::Drawn(_)) => self.map_with(other, |a, b| a / b),
            (_, Self::Known(b)) => self.times(&Self::Known(1.0 / b)),
            _ => Self::Opaque,
        }
    }

    /// A function that only numbers can be given to.
    pub(crate) fn map(&self, function: impl Fn(f64) -> f64) -> Self {
        match self {
            Self::Known(value) => Self::Known(function(*value)),
            Self::Drawn(values) => Self::Drawn(Rc::new(
                values.iter().map(|&value| function(value)).collect(),
            )),
            _ => Self::Opaque,
        }
    }

    /// A function that only two numbers can be given to.
    pub(crate) fn map_with(&self, other: &Self, function: impl Fn(f64, f64) -> f64) -> Self {
        match (self, other) {
            (Self::Known(a), Self::Known(b)) => Self::Known(function(*a, *b)),
            (Self::Drawn(a), Self::Known(b)) => {
                Self::Drawn(Rc::new(a.iter().map(|&a| function(a, *b)).collect()))
            }
            (Self::Known(a), Self::Drawn(b)) => {
                Self::Drawn(Rc::new(b.iter().map(|&b| function(*a, b)).collect()))
            }
            (Self::Drawn(a), Self::Drawn(b)) => {
                let both = a.iter().zip(b.iter());
                Self::Drawn(Rc::new(both.map(|(&a, &b)| function(a, b)).collect()))
            }
            _ => Self::Opaque,
        }
    }

    pub(crate) fn power(&self, exponent: &Self) -> Self {
        match (self, exponent) {
            (Self::Known(a), Self::Known(b)) => Self::Known(a.powf(*b)),
            (Self::Drawn(_), Self::Known(2.0)) => self.map(|a| a * a),
            (Self::Drawn(_), _) | (_, Self::Drawn(_)) => self.map_with(exponent, f64::powf),
            (_, Self::Known(1.0)) => self.clone(),
            (_, Self::Known(2.0)) => self.times(self),
            _ => Self::Opaque,
        }
    }

    fn combine(
        &self,
        other: &Self,
        join: impl FnOnce(Vec<Product>, Vec<Product>) -> Vec<Product>,
    ) -> Self {
        match (self.products(), other.products()) {
            (Some(a), Some(b)) => Self::of(join(a, b)),
            _ => Self::Opaque,
        }
    }
}

/// Items in an array, the last index running fastest.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Value {
    /// Empty for a single item.
    pub(crate) dims: Vec<usize>,
    pub(crate) items: Vec<Item>,
}

impl Value {
    pub(crate) fn one(item: Item) -> Self {
        Self {
            dims: vec![],
            items: vec![item],
        }
    }

    pub(crate) fn number(value: f64) -> Self {
        Self::one(Item::Known(value))
    }

    pub(crate) fn vector(items: Vec<Item>) -> Self {
        Self {
            dims: vec![items.len()],
            items,
        }
    }

    /// The only item, where there is one.
    pub(crate) fn single(&self) -> Option<&Item> {
        match self.items.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }

    /// How many draws there are at once, if any.
    pub(crate) fn draws(&self) -> Option<usize> {
        self.items.iter().find_map(|item| match item {
            Item::Drawn(values) => Some(values.len()),
            _ => None,
        })
    }

    /// One draw of many.
    pub(crate) fn of_draw(&self, draw: usize) -> Self {
        self.map(|item| match item {
            Item::Drawn(values) => Item::Known(values[draw]),
            item => item.clone(),
        })
    }

    /// All items as numbers.
    pub(crate) fn numbers(&self) -> Option<Vec<f64>> {
        self.items.iter().map(Item::known).collect()
    }

    /// Rows and columns; a vector is a column.
    pub(crate) fn matrix(&self) -> Option<(usize, usize)> {
        match self.dims.as_slice() {
            [] => Some((1, 1)),
            [rows] => Some((*rows, 1)),
            [rows, columns] => Some((*rows, *columns)),
            _ => None,
        }
    }

    /// Item by item, single items with all of the other; `None` where shapes differ.
    pub(crate) fn zip(
        &self,
        other: &Self,
        function: impl Fn(&Item, &Item) -> Item,
    ) -> Option<Self> {
        let (a, b) = (self.items.len(), other.items.len());
        if a == b {
            let dims = if self.dims.len() >= other.dims.len() {
                &self.dims
            } else {
                &other.dims
            };
            let items = self
                .items
                .iter()
                .zip(&other.items)
                .map(|(a, b)| function(a, b));
            return Some(Self {
                dims: dims.clone(),
                items: items.collect(),
            });
        }
        if b == 1 {
            let items = self.items.iter().map(|a| function(a, &other.items[0]));
            return Some(Self {
                dims: self.dims.clone(),
                items: items.collect(),
            });
        }
        if a == 1 {
            let items = other.items.iter().map(|b| function(&self.items[0], b));
            return Some(Self {
                dims: other.dims.clone(),
                items: items.collect(),
            });
        }
        None
    }

    pub(crate) fn map(&self, function: impl Fn(&Item) -> Item) -> Self {
        Self {
            dims: self.dims.clone(),
            items: self.items.iter().map(function).collect(),
        }
    }
}
