//! Collapsed variational inference in conjugate-exponential models.
//!
//! A collapsed model is two log-partition functions ([`Collapsed`]): a sum over the data, which
//! is a function of the messages $m$ that the explicit variables receive, and one of prior plus
//! statistics. From the two follow the bound, its natural gradient and its curvature, and a
//! [`Driver`] climbs them along a [`Direction`]:
//!
//! $$\mathcal L(m) = A(m) - \langle m, \tau \rangle + C(\tau), \qquad \tau = \nabla A(m), \qquad
//! g = \nabla C(\tau) - m.$$
//!
//! ```
//! use collapsar::mixture::{Mixture, Settings, Start};
//! use collapsar::{Direction, Driver, Stop};
//!
//! let rows = [1.0, 1.2, 0.9, 1.1, 5.0, 5.2, 4.9, 5.1]; // one column
//! let model = Mixture::new(&rows, 1, &Settings::new(3))?;
//! let (start, passes) = model.start(&Start::KMeans, 0)?;
//! let fit = Driver::new(&model, Direction::Auto)
//!     .spent(passes)
//!     .search(&model)
//!     .stop(Stop::Gain(1e-6) | Stop::Passes(1000))
//!     .run(start)?;
//! assert!(fit.outcome.converged());
//!
//! let answer = model.fit(&fit.point)?;
//! let total: f64 = answer.components.iter().map(|component| component.weight).sum();
//! assert!((total - 1.0).abs() < 1e-12);
//! # Ok::<(), collapsar::Error>(())
//! ```

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

#[cfg(feature = "graph")]
pub mod graph;
pub mod model;
mod watch;

#[cfg(feature = "laws")]
pub use collapsar_core::laws;
pub use collapsar_core::{
    Advice, Bases, Change, Checkpoint, Collapsed, Direction, Driver, Elsewhere, Error, Factor, Fit,
    Hint, InnerProblems, Jump, Jumps, Mismatch, Outcome, Place, Plain, Point, Potential, Response,
    Restarts, Result, Step, Stop, Terms, Warm, diagnostics, elementary, family, files, limits,
    number, random, special,
};
#[cfg(feature = "mixture")]
pub use model::mixture;
#[cfg(feature = "quant")]
pub use model::quant;
#[cfg(feature = "topics")]
pub use model::topics;
pub use watch::ChainWatch;
