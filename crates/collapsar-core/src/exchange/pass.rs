//! A pass: the local half of a model over data that others hold.

use super::Asker;
use super::wire::{Reader, Writer};
use crate::collapsed::Potential;
use crate::error::{Error, Result};

/// What may be asked of the local half of any model.
#[derive(Debug, Clone, PartialEq)]
pub enum Pass {
    /// Its value.
    Value(Vec<f64>),
    /// Its value, and its gradient after it.
    Gradient(Vec<f64>),
    /// Its Hessian at the first vector, times the second.
    Product(Vec<f64>, Vec<f64>),
}

impl Pass {
    /// The kinds of tasks that are passes are below this; a model's own are not.
    pub const KINDS: u8 = 16;

    /// The task as a worker reads it, after its header.
    ///
    /// # Errors
    /// [`Error::Exchange`] where it is none.
    pub fn read(kind: u8, mut body: Reader<'_>) -> Result<Self> {
        let pass = match kind {
            0 => Self::Value(body.numbers()?),
            1 => Self::Gradient(body.numbers()?),
            2 => Self::Product(body.numbers()?, body.numbers()?),
            _ => return Err(Error::exchange(format!("an unknown task, {kind}"))),
        };
        body.end()?;
        Ok(pass)
    }

    /// A chunk's part.
    ///
    /// # Errors
    /// As the potential; [`Error::Exchange`] where vectors have other lengths.
    pub fn of(&self, potential: &impl Potential) -> Result<Vec<f64>> {
        let dim = potential.dim();
        let fits = |vector: &[f64]| {
            let found = vector.len();
            let wrong = || Error::exchange(format!("{found} messages, expected {dim}"));
            if found == dim { Ok(()) } else { Err(wrong()) }
        };
        match self {
            Self::Value(at) => {
                fits(at)?;
                Ok(vec![potential.value(at)?])
            }
            Self::Gradient(at) => {
                fits(at)?;
                let mut out = vec![0.0; 1 + dim];
                out[0] = potential.value_and_gradient(at, &mut out[1..])?;
                Ok(out)
            }
            Self::Product(at, along) => {
                fits(at)?;
                fits(along)?;
                let mut out = vec![0.0; dim];
                potential.hessian_product(at, along, &mut out)?;
                Ok(out)
            }
        }
    }
}

/// A sum over data that others hold, as the driver sees it.
#[derive(Debug, Clone, Copy)]
pub struct Far<'a> {
    asker: &'a Asker<'a>,
    preparation: u64,
    dim: usize,
}

impl<'a> Far<'a> {
    /// A potential of so many messages, of workers that have been prepared so.
    pub fn new(asker: &'a Asker<'a>, preparation: u64, dim: usize) -> Self {
        Self {
            asker,
            preparation,
            dim,
        }
    }

    /// Who is asked.
    pub fn asker(&self) -> &'a Asker<'a> {
        self.asker
    }

    /// The preparation that every task builds on.
    pub fn preparation(&self) -> u64 {
        self.preparation
    }

    fn ask(&self, kind: u8, expected: usize, body: impl FnOnce(&mut Writer)) -> Result<Vec<f64>> {
        let found = self.asker.ask(kind, self.preparation, body)?;
        if found.len() == expected {
            return Ok(found);
        }
        let found = found.len();
        Err(Error::exchange(format!(
            "a vector of {found} numbers, expected {expected}"
        )))
    }
}

impl Potential for Far<'_> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let found = self.ask(1, 1 + self.dim, |out| out.numbers(at))?;
        gradient.copy_from_slice(&found[1..]);
        Ok(found[0])
    }

    fn value(&self, at: &[f64]) -> Result<f64> {
        Ok(self.ask(0, 1, |out| out.numbers(at))?[0])
    }

    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        let found = self.ask(2, self.dim, |task| {
            task.numbers(at);
            task.numbers(along);
        })?;
        out.copy_from_slice(&found);
        Ok(())
    }
}
