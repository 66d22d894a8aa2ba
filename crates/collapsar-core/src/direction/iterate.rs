//! What a rule sees of a point: also where VBEM's step leads after a change of basis.

use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::point::Point;

/// An iterate of a climb.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Iterate {
    pub(crate) point: Point,
    /// As [`Point::gradient`], to where VBEM's step leads after a change of basis (maths §9.7); empty where
    /// none raises the bound, and absent where the climb does not ask for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) turned: Option<Vec<f64>>,
}

impl Iterate {
    /// Where VBEM's step leads, after a change of basis where there is one.
    pub(crate) fn ascent(&self) -> &[f64] {
        let turned = self.turned.as_ref().filter(|turned| !turned.is_empty());
        turned.unwrap_or(&self.gradient)
    }

    /// Whether [`Iterate::ascent`] is not the gradient.
    pub(crate) fn is_turned(&self) -> bool {
        self.turned
            .as_ref()
            .is_some_and(|turned| !turned.is_empty())
    }
}

impl Deref for Iterate {
    type Target = Point;

    fn deref(&self) -> &Point {
        &self.point
    }
}
