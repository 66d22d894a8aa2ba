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

mod collapsed;
mod digest;
mod direction;
mod driver;
mod error;
pub mod family;
pub mod graph;
mod kernel;
#[cfg(feature = "laws")]
pub mod laws;
pub mod model;
pub mod number;
mod parallel;
mod product;
pub mod special;
mod vector;

pub use collapsed::{Collapsed, Potential};
pub use direction::Direction;
pub use driver::{
    Checkpoint, Driver, Fit, Jump, Jumps, Observer, Outcome, Point, Restarts, Step, Stop, Watcher,
};
pub use error::{Change, Error, Factor, Hint, Mismatch, Place, Plain, Result, Terms};
pub use model::{mixture, quant, topics};

/// The examples of the README, compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The example of the page on topics.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/topics.md")]
struct TopicsPage;

/// The example of the page on transcripts.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/quant.md")]
struct QuantPage;
