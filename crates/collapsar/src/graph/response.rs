//! Decides how the posterior answers to small changes of the model: variances that mean field leaves out (maths §10.2).

use std::collections::HashMap;

use super::block::{Block, Placed, range_of};
use super::choice::Role;
use super::compiled::Compiled;
use super::variational::Numbers;
use collapsar_core::vector::dot;
use collapsar_core::{Point, Response, Result};

/// The linear response of a model at the end of a fit.
#[derive(Debug)]
pub struct LinearResponse<'a> {
    pub(super) model: &'a Compiled,
    pub(super) point: &'a Point,
    pub(super) response: Response<'a, Compiled>,
    blocks: Vec<Answering<'a>>,
    /// The block of each variable, and the place of its first number among the block's.
    holding: HashMap<u32, (usize, usize)>,
}

/// A block with its natural parameters and the place of the first among those of its role.
#[derive(Debug)]
struct Answering<'a> {
    block: &'a Block,
    natural: Vec<f64>,
    role: Role,
    first: usize,
}

/// What a number tells the explicit variables: directly, and through what is collapsed.
#[derive(Debug, Default)]
struct Tilt {
    /// In the place of messages.
    messages: Vec<f64>,
    /// In the place of statistics; empty where the number is collapsed.
    statistics: Vec<f64>,
}

impl Compiled {
    /// The linear response at an optimum.
    ///
    /// # Errors
    /// Where the point is no maximum of the bound.
    pub fn linear_response<'a>(&'a self, point: &'a Point) -> Result<LinearResponse<'a>> {
        let response = Response::new(self, point)?;
        let (shared, own) = self.local.naturals(&point.messages);
        let (collapsed, _) = self.posterior.naturals(&point.statistics);
        let (shared_blocks, own_blocks) = self.local.blocks();
        let mut blocks = vec![];
        let mut add = |placed: &'a [Placed], naturals: &[f64], role| {
            blocks.extend(placed.iter().map(|placed| Answering {
                block: &placed.0,
                natural: naturals[range_of(placed)].to_vec(),
                role,
                first: placed.1,
            }));
        };
        add(shared_blocks, &shared, Role::Shared);
        add(own_blocks, &own, Role::Own);
        add(self.posterior.blocks(), &collapsed, Role::Collapsed);
        let numbers = Numbers::new(self.declared());
        let mut holding = HashMap::new();
        for (index, answering) in blocks.iter().enumerate() {
            let mut first = 0;
            for &variable in &answering.block.variables {
                holding.insert(variable, (index, first));
                first += numbers.places(variable).len();
            }
        }
        Ok(LinearResponse {
            model: self,
            point,
            response,
            blocks,
            holding,
        })
    }
}

impl LinearResponse<'_> {
    /// The largest eigenvalue of $FJ$: the fraction of the information that is missing.
    ///
    /// # Errors
    /// Where the point is outside the domain.
    pub fn missing_information(&self) -> Result<f64> {
        self.response.missing_information()
    }

    /// The variance of a sum of numbers of variables that mean field leaves out, each with a coefficient;
    /// none where one of them is a label.
    ///
    /// # Errors
    /// Where the point is no maximum of the bound.
    pub fn extra_variance(&self, terms: &[(u32, usize, f64)]) -> Result<Option<f64>> {
        let mut changes: HashMap<usize, Vec<f64>> = HashMap::new();
        for &(variable, number, coefficient) in terms {
            let Some(&(index, first)) = self.holding.get(&variable) else {
                return Ok(None);
            };
            let Answering { block, natural, .. } = &self.blocks[index];
            let mut sensitivity = vec![0.0; natural.len()];
            if !block.sensitivity(natural, first + number, &mut sensitivity)? {
                return Ok(None);
            }
            let sum = (changes.entry(index)).or_insert_with(|| vec![0.0; natural.len()]);
            collapsar_core::vector::add(sum, coefficient, &sensitivity);
        }
        let tilt = self.tilt(&changes)?;
        let indirect = dot(&tilt.messages, &self.response.product(&tilt.messages)?);
        let direct = match tilt.statistics.as_slice() {
            [] => 0.0,
            statistics => self.direct(&changes, statistics)?,
        };
        Ok(Some(direct + indirect))
    }

    /// What tilts of blocks do to the messages.
    fn tilt(&self, changes: &HashMap<usize, Vec<f64>>) -> Result<Tilt> {
        let (statistics, dim) = (&self.point.statistics, self.point.messages.len());
        let mut tilt = Tilt {
            messages: vec![0.0; dim],
            statistics: vec![],
        };
        let mut collapsed = vec![];
        for (&index, changes) in changes {
            let Answering { role, first, .. } = self.blocks[index];
            match role {
                Role::Collapsed => {
                    let end = first + changes.len();
                    collapsed.resize(collapsed.len().max(end), 0.0);
                    collapsed[first..end].copy_from_slice(changes);
                }
                Role::Shared => {
                    tilt.statistics.resize(dim, 0.0);
                    self.model
                        .local
                        .gather(first, changes, &mut tilt.statistics);
                }
                Role::Own => {
                    tilt.statistics.resize(dim, 0.0);
                    let first = self.model.local.own_first() + first;
                    tilt.statistics[first..first + changes.len()].copy_from_slice(changes);
                }
            }
        }
        if !tilt.statistics.is_empty() {
            tilt.messages = self.response.covariance_product(&tilt.statistics)?;
        }
        if !collapsed.is_empty() {
            collapsed.resize(self.model.posterior.statistics(), 0.0);
            let posterior = &self.model.posterior;
            posterior.backward_changes(statistics, &collapsed, &mut tilt.messages);
        }
        Ok(tilt)
    }

    /// $c'Fc$ of the explicit part, and twice its product with the collapsed one.
    fn direct(&self, changes: &HashMap<usize, Vec<f64>>, statistics: &[f64]) -> Result<f64> {
        let through = self.response.covariance_product(statistics)?;
        let collapsed: HashMap<usize, Vec<f64>> = (changes.iter())
            .filter(|(index, _)| self.blocks[**index].role == Role::Collapsed)
            .map(|(index, changes)| (*index, changes.clone()))
            .collect();
        let across = match collapsed.is_empty() {
            true => 0.0,
            false => dot(statistics, &self.tilt(&collapsed)?.messages),
        };
        Ok(dot(statistics, &through) + 2.0 * across)
    }
}
