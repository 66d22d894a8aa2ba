//! A point of a climb: messages, and what one pass over the data tells about them.

use std::any::Any;
use std::fmt::Debug;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Messages with everything that one pass over the data tells about them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// $m$: the coordinates that are optimised.
    pub messages: Vec<f64>,
    /// $\tau = \nabla A(m)$: the statistics that they imply.
    pub statistics: Vec<f64>,
    /// $g = \nabla C(\tau) - m$: the natural gradient.
    pub gradient: Vec<f64>,
    /// The collapsed bound.
    pub bound: f64,
    /// Where the model's inner problems ended, for those nearby to begin from; empty where it has none.
    #[serde(default, skip_serializing_if = "Warm::is_nothing")]
    pub warm: Warm,
}

/// Where the inner problems of a model ended: numbers, and what is too much to go with every point.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Warm {
    /// What checkpoints keep.
    pub numbers: Vec<f64>,
    /// What the model keeps in files or on other machines, for as long as a point refers to it. It is gone when a run is
    /// resumed, and the model then begins its inner problems anew.
    #[serde(skip)]
    pub elsewhere: Option<Arc<dyn Elsewhere>>,
}

/// What a model keeps elsewhere for its points; to drop it is to say that none refers to it any more.
pub trait Elsewhere: Any + Debug + Send + Sync {}

impl Warm {
    fn is_nothing(&self) -> bool {
        self.numbers.is_empty()
    }
}

impl PartialEq for Warm {
    /// By numbers, and by what is referred to: nobody looks elsewhere to compare points.
    fn eq(&self, other: &Self) -> bool {
        let same = match (&self.elsewhere, &other.elsewhere) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        };
        same && self.numbers == other.numbers
    }
}

impl From<Vec<f64>> for Warm {
    fn from(numbers: Vec<f64>) -> Self {
        let elsewhere = None;
        Self { numbers, elsewhere }
    }
}

impl Deref for Warm {
    type Target = Vec<f64>;

    fn deref(&self) -> &Vec<f64> {
        &self.numbers
    }
}

impl DerefMut for Warm {
    fn deref_mut(&mut self) -> &mut Vec<f64> {
        &mut self.numbers
    }
}
