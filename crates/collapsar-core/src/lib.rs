//! Collapsed variational inference in conjugate-exponential models: the engine under every model of
//! `collapsar`, for models of your own.
//!
//! # What a model is
//!
//! Explicit variables $Z$ keep a variational distribution $q(Z)$; parameters $X$ are integrated out. A model is
//! then two log-partition functions, each with value, gradient and Hessian product ([`Potential`]):
//!
//! - $A(m)$, a sum over the data: the normaliser of $q(Z)$ when it receives the *messages* $m$ in the place of
//!   the expected statistics of the parameters. Its gradient $\tau = \nabla A(m)$ are the expected *statistics*
//!   that the data send to the parameters: counts, sums, squares.
//! - $C(\tau)$, prior plus statistics: what the parameters' families make of them, zero at zero. Its gradient are
//!   the expected statistics of the parameters, the messages that VBEM would send next.
//!
//! From the two follow the bound on the evidence and its natural gradient, and a [`Driver`] climbs them along a
//! [`Direction`]:
//!
//! $$\mathcal L(m) = A(m) - \langle m, \tau \rangle + C(\tau) + \text{constant}, \qquad
//! g = \nabla C(\tau) - m.$$
//!
//! # Writing one
//!
//! 1. List, for each parameter block, its family ([`family`]) and which statistics it takes: [`Blocks`] joins
//!    them and is $C$.
//! 2. Write $A$. Where rows of numbers pick one of several components, [`rows::SoftmaxSum`] is it. Else
//!    implement [`Smooth`], value and gradient once for numbers of any kind, and [`Differentiated`] adds the
//!    Hessian product; or implement [`Potential`] with all three. [`parallel::sum`] adds up chunks of the data on
//!    all cores, to the same bits for any number of threads.
//! 3. Implement [`Collapsed`], and run the laws on it (`laws::model::conforms`, with the feature `laws`): they
//!    find a wrong gradient, Hessian product or constant.
//!
//! Five sets of ten tosses, each by one of two coins, and nobody wrote down which:
//!
//! ```
//! use collapsar_core::family::Dirichlet;
//! use collapsar_core::rows::{Features, Rows, SoftmaxSum};
//! use collapsar_core::{Blocks, Collapsed, Direction, Driver, IndexMap, Result};
//!
//! struct Coins {
//!     local: SoftmaxSum,
//!     posterior: Blocks,
//! }
//!
//! impl Collapsed for Coins {
//!     type Local = SoftmaxSum;
//!     type Posterior = Blocks;
//!     fn local(&self) -> &SoftmaxSum { &self.local }
//!     fn posterior(&self) -> &Blocks { &self.posterior }
//!     fn constant(&self) -> f64 { 0.0 }
//!     fn fingerprint(&self) -> String { "two coins".into() }
//! }
//!
//! let tosses = [5., 5., 9., 1., 8., 2., 4., 6., 7., 3.]; // heads and tails of each set
//! // A coin k has three statistics, 3 k and on: its sets, its heads, its tails.
//! let sets = IndexMap::default().and(0, 0, 1.0).and(3, 1, 1.0);
//! let model = Coins {
//!     local: SoftmaxSum::new(Rows::new(&tosses, 2, &[0.0; 2], &[1.0; 2]), Features::Linear, 2),
//!     posterior: Blocks::new(6)
//!         .join("coins", Dirichlet::new(2), vec![1.0; 2], sets)?
//!         .join("bias of the first", Dirichlet::new(2), vec![1.0; 2], IndexMap::range(1, 2))?
//!         .join("bias of the second", Dirichlet::new(2), vec![1.0; 2], IndexMap::range(4, 2))?,
//! };
//! let start = vec![-0.7, -0.5, -0.9, -0.7, -0.7, -0.7]; // the first coin likes heads
//! let fit = Driver::new(&model, Direction::Auto).run(start)?;
//! assert!(fit.outcome.converged());
//! let heads_and_tails = model.posterior.natural(1, &fit.point.statistics); // of its Dirichlet posterior
//! assert!((heads_and_tails[0] / heads_and_tails.iter().sum::<f64>() - 0.8).abs() < 0.05);
//! # Ok::<(), collapsar_core::Error>(())
//! ```
//!
//! The examples `coins`, `deaths` (an $A$ of its own) and `casino` (a hidden chain as one explicit variable) are
//! whole programs with their laws.
//!
//! # What else there is
//!
//! - [`Stop`] says when to stop, [`Checkpoint`] how a run is taken up again, [`Restarts`] what several starts found,
//!   [`Jumps`] how to leave a poor optimum, [`Advice`] what a model may tell optimisers about itself.
//! - [`segments`]: files that do not fit in memory, read ahead of whoever works on them.
//! - [`elementary`], [`random`], [`special`], [`kernel`], [`vector`], [`number`]: what sums over data are made of, vectorised
//!   with run-time dispatch, to the same bits on every processor.
//! - [`diagnostics`]: R-hat, effective sample sizes and Monte Carlo standard errors of chains; Pareto-smoothed importance
//!   weights and their k-hat.
//! - [`Error`] is data; a front end words it in its own [`Terms`].

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod advice;
mod assignment;
mod blocks;
mod collapsed;
pub mod diagnostics;
mod digest;
mod direction;
mod driver;
pub mod elementary;
mod error;
pub mod exchange;
pub mod family;
pub mod files;
pub mod kernel;
#[cfg(feature = "laws")]
pub mod laws;
pub mod limits;
pub mod number;
pub mod parallel;
mod point;
pub mod random;
mod response;
pub mod rows;
pub mod segments;
mod smooth;
pub mod special;
pub mod vector;

pub use advice::{Advice, Bases, InnerProblems};
pub use assignment::assignment;
pub use blocks::{Blocks, IndexMap, Link};
pub use collapsed::{Collapsed, Potential};
pub use digest::{digest, digest_on};
pub use direction::Direction;
pub use driver::{Checkpoint, Driver, Fit, Jump, Jumps, Outcome, Restarts, Step, Stop};
pub use error::{Change, Error, Factor, Hint, Mismatch, Place, Plain, Result, Terms};
pub use point::{Elsewhere, Point, Warm};
pub use response::Response;
pub use smooth::{Differentiated, Smooth};
