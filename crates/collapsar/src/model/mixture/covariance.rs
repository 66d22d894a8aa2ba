//! How the covariances of the components are related and shaped.

use collapsar_core::rows::Features;
use serde::{Deserialize, Serialize};

/// How the covariances of the components are related and shaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Covariance {
    /// Each component its own full matrix.
    #[default]
    Full,
    /// Each component its own diagonal.
    #[serde(rename = "diag")]
    Diagonal,
    /// Each component its own variance, the same in every direction.
    Spherical,
    /// One full matrix for all components.
    Tied,
}

impl Covariance {
    /// Every kind, in the order of the documentation.
    pub const ALL: [Self; 4] = [Self::Full, Self::Diagonal, Self::Spherical, Self::Tied];

    /// The name, as `--covariance` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Diagonal => "diag",
            Self::Spherical => "spherical",
            Self::Tied => "tied",
        }
    }

    /// What a component sees of a row (maths §4.1).
    pub(crate) fn features(self) -> Features {
        match self {
            Self::Full => Features::Full,
            Self::Diagonal => Features::Diagonal,
            Self::Spherical => Features::Spherical,
            Self::Tied => Features::Linear,
        }
    }
}
