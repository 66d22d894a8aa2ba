//! A point of a climb: messages, and what one pass over the data tells about them.

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
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warm: Vec<f64>,
}
