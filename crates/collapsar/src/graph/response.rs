//! Decides how the posterior answers to small changes of the model: variances that mean field leaves out (maths §10.2).

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use rand::Rng;

use super::block::{Block, Placed, range_of};
use super::choice::Role;
use super::compiled::Compiled;
use super::variational::Numbers;
use collapsar_core::family::GaussianSampler;
use collapsar_core::vector::{add, dot};
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
    growth: OnceLock<Option<HashMap<u32, f64>>>,
}

/// A block with its natural parameters and the place of the first among those of its role.
#[derive(Debug)]
struct Answering<'a> {
    block: &'a Block,
    natural: Vec<f64>,
    role: Role,
    first: usize,
    field: Option<GaussianSampler<'a>>,
}

/// How an optimum answers to a tilt: its parts in (10.1) and (10.2).
#[derive(Debug)]
pub(super) struct Answer {
    /// a of what is collapsed.
    messages: Vec<f64>,
    /// c of what is explicit.
    statistics: Vec<f64>,
    /// Fc.
    through: Vec<f64>,
    /// a + Fc.
    both: Vec<f64>,
    /// S (a + Fc).
    indirect: Vec<f64>,
}

impl Answer {
    /// The covariance that mean field leaves out between what two tilts are along.
    pub(super) fn with(&self, other: &Self) -> f64 {
        // maths (10.2): c'Fc of the explicit parts, and their products with the collapsed ones.
        dot(&self.statistics, &other.through)
            + dot(&self.statistics, &other.messages)
            + dot(&self.messages, &other.statistics)
            + dot(&self.both, &other.indirect)
    }
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
        let mut add = |placed: &'a [Placed], naturals: &[f64], role| -> Result<()> {
            for placed in placed {
                let (block, natural) = (&placed.0, &naturals[range_of(placed)]);
                blocks.push(Answering {
                    block,
                    field: block.field(natural)?,
                    natural: natural.to_vec(),
                    role,
                    first: placed.1,
                });
            }
            Ok(())
        };
        add(shared_blocks, &shared, Role::Shared)?;
        add(own_blocks, &own, Role::Own)?;
        add(self.posterior.blocks(), &collapsed, Role::Collapsed)?;
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
            growth: OnceLock::new(),
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

    /// In how many directions the bound is flat, as it is along turns of factors: deviations of what such a turn changes are
    /// those of one basis.
    pub fn flat(&self) -> usize {
        self.response.flat()
    }

    /// By what factor the variances of normal variables grow, on the average of so many draws of what they depend on
    /// ([`super::CorrectedDraws::variance_growth`]): found by the first call, and kept. None where there are no
    /// such draws.
    ///
    /// # Errors
    /// Where the point is outside the domain.
    pub fn variance_growth<R: Rng + ?Sized>(
        &self,
        draws: usize,
        rng: &mut R,
    ) -> Result<Option<&HashMap<u32, f64>>> {
        if self.growth.get().is_none() {
            let source = self.draws(rng)?;
            let found = source.map(|mut source| source.variance_growth(draws, rng));
            let _ = self.growth.set(found.transpose()?);
        }
        Ok(self.growth.get().and_then(Option::as_ref))
    }

    /// Whether a variable is drawn without drawing what is explicit and shared.
    pub fn is_drawn_first(&self, variable: u32) -> bool {
        let block = self.holding.get(&variable);
        block.is_some_and(|&(index, _)| self.blocks[index].role != Role::Shared)
    }

    /// The variance of a sum of numbers of variables that mean field leaves out, each with a coefficient;
    /// none where one of them is a label.
    ///
    /// # Errors
    /// Where the point is no maximum of the bound.
    pub fn extra_variance(&self, terms: &[(u32, usize, f64)]) -> Result<Option<f64>> {
        let mut changes: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for &(variable, number, coefficient) in terms {
            let Some(&(index, first)) = self.holding.get(&variable) else {
                return Ok(None);
            };
            let Answering {
                block,
                natural,
                field,
                ..
            } = &self.blocks[index];
            let mut sensitivity = vec![0.0; natural.len()];
            if !block.sensitivity(natural, field.as_ref(), first + number, &mut sensitivity)? {
                return Ok(None);
            }
            let sum = (changes.entry(index)).or_insert_with(|| vec![0.0; natural.len()]);
            add(sum, coefficient, &sensitivity);
        }
        let answer = self.answer(&changes)?;
        Ok(Some(answer.with(&answer)))
    }

    /// How the optimum answers to a tilt that changes blocks' natural parameters so.
    pub(super) fn answer(&self, changes: &BTreeMap<usize, Vec<f64>>) -> Result<Answer> {
        let (messages, statistics) = self.tilts(changes);
        let through = self.response.covariance_product(&statistics)?;
        let mut both = messages.clone();
        add(&mut both, 1.0, &through);
        Ok(Answer {
            indirect: self.response.product(&both)?,
            messages,
            statistics,
            through,
            both,
        })
    }

    /// The number of a block and its natural parameters.
    pub(super) fn block_of(&self, block: &Block) -> Option<(usize, &[f64])> {
        let variable = block.variables.first()?;
        let (index, _) = *self.holding.get(variable)?;
        Some((index, &self.blocks[index].natural))
    }

    /// What changes of blocks' natural parameters do to messages, through what is collapsed, and to the
    /// statistics of what is explicit.
    fn tilts(&self, changes: &BTreeMap<usize, Vec<f64>>) -> (Vec<f64>, Vec<f64>) {
        let (local, posterior) = (&self.model.local, &self.model.posterior);
        let dim = self.point.messages.len();
        let (mut messages, mut statistics) = (vec![0.0; dim], vec![0.0; dim]);
        let mut collapsed = vec![0.0; posterior.statistics()];
        for (&index, changes) in changes {
            let Answering { role, first, .. } = self.blocks[index];
            match role {
                Role::Collapsed => {
                    collapsed[first..first + changes.len()].copy_from_slice(changes);
                }
                Role::Shared => local.gather(first, changes, &mut statistics),
                Role::Own => {
                    let first = local.own_first() + first;
                    statistics[first..first + changes.len()].copy_from_slice(changes);
                }
            }
        }
        posterior.backward_changes(&self.point.statistics, &collapsed, &mut messages);
        (messages, statistics)
    }
}
