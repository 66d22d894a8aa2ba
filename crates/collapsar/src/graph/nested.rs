//! Decides how a proposal follows uncertain precisions: given each of several values of these, normal variables have
//! about the normal distribution of Laplace's method (maths §10.10).

use std::collections::{BTreeMap, BTreeSet};

use nalgebra::{Cholesky, DMatrix, DVector};

use super::block::{Block, BlockFamily, Placed, evaluate_all, range_of};
use super::choice::Role;
use super::kept::Kept;
use super::proposal::Proposal;
use super::student::{NARROW, Student};
use collapsar_core::Result;
use collapsar_core::elementary::Elementary;

/// Precisions of one declaration that parts differ by, at most: where there are more, as weights of data that have one each, they are summed
/// out or stay apart like everything else.
const FEW: usize = 6;
/// Normal blocks at most: many of them, as rows of loadings, have no joint mode that is quickly found.
const FIELDS: usize = 3;
/// Places of a chain that have a part each.
const PARTS: usize = 32;
/// By what factor the precisions of parts are further from their mean than those of the chain, in coordinates without bounds: tails
/// of the posterior are between parts then, and not beyond all of them.
const FURTHER: f64 = 1.4;
/// Steps towards the mode that hold the parameters of what is summed out at their means; Newton's step ends them.
const STEPS: usize = 12;
const CLOSE: f64 = 1e-3;
/// The part of a deviation by which slopes are differenced.
const DIFFERENCE: f64 = 1e-3;

/// All statistics at a place, with normal variables that move, precisions that stay, and all else following.
struct Site<'a> {
    kept: &'a Kept<'a>,
    /// Slots, then those of own blocks.
    explicit: Vec<f64>,
    shared: Vec<f64>,
    collapsed: Vec<f64>,
    /// The normal blocks that are kept, with their roles and first coordinates.
    fields: Vec<(Role, &'a Placed, usize)>,
    scales: &'a Scales,
}

/// Which blocks are precisions that parts differ by: their declarations.
#[derive(Debug)]
struct Scales(BTreeSet<Vec<u32>>);

impl Scales {
    fn of(blocks: &[&[Placed]]) -> Self {
        let mut counts: BTreeMap<&[u32], usize> = BTreeMap::new();
        let positive = |block: &Block| {
            matches!(
                block.family,
                BlockFamily::Gamma(_) | BlockFamily::Positive(..)
            )
        };
        let all = blocks
            .iter()
            .copied()
            .flatten()
            .filter(|(block, _)| positive(block));
        for (block, _) in all {
            *counts.entry(block.declarations.as_slice()).or_default() += 1;
        }
        let few = counts.into_iter().filter(|(_, count)| *count <= FEW);
        Self(few.map(|(declarations, _)| declarations.to_vec()).collect())
    }

    fn holds(&self, block: &Block) -> bool {
        self.0.contains(&block.declarations)
    }
}

impl Kept<'_> {
    /// A mixture with a part for each of several places of a chain, given as all numbers of all variables: normal variables
    /// given the precisions there, by Laplace's method, and what else is kept near where it is there. None without normal
    /// variables or precisions.
    pub(super) fn nested(&self, places: &[Vec<f64>]) -> Option<Proposal> {
        let (shared, own) = self.model.local.blocks();
        let all = [own, shared, self.model.posterior.blocks()];
        let scales = Scales::of(&all);
        let fields = self.blocks().filter(|(block, _)| is_field(block)).count();
        if scales.0.is_empty() || !(1..=FIELDS).contains(&fields) || places.is_empty() {
            return None;
        }
        let mut further = places.to_vec();
        for (block, _) in all
            .iter()
            .copied()
            .flatten()
            .filter(|(block, _)| scales.holds(block))
        {
            let own = self.places_of(block);
            spread_out(block, &own, &mut further);
        }
        let coordinates = further.iter().map(|at| self.coordinates(at));
        let coordinates: Vec<Vec<f64>> = coordinates.collect();
        let spread = self.spread_of_rest(&coordinates);
        let every = places.len().div_ceil(PARTS);
        let chosen = further.iter().zip(&coordinates).step_by(every);
        let parts = chosen.filter_map(|(numbers, at)| self.part(numbers, at, &spread, &scales));
        Proposal::of_parts(parts.collect())
    }

    /// The variances of coordinates that are no normal variables', narrowed as those of the parts of a density of so many.
    fn spread_of_rest(&self, coordinates: &[Vec<f64>]) -> Vec<f64> {
        let count = coordinates.len() as f64;
        let rest: usize = (self.blocks().filter(|(block, _)| !is_field(block)))
            .map(|(block, _)| block.coordinates().unwrap_or(0))
            .sum();
        // Silverman's rule for the width of a kernel.
        let narrower = (PARTS as f64).powf_(-2.0 / (rest as f64 + 4.0));
        let variance = |place: usize| {
            let mean = coordinates.iter().map(|at| at[place]).sum::<f64>() / count;
            let squares = coordinates.iter().map(|at| (at[place] - mean).powi(2));
            (squares.sum::<f64>() / count).max(f64::MIN_POSITIVE) * narrower
        };
        (0..self.len()).map(variance).collect()
    }

    /// The part at one place.
    fn part(
        &self,
        numbers: &[f64],
        at: &[f64],
        spread: &[f64],
        scales: &Scales,
    ) -> Option<Student> {
        let mut site = self.site(numbers, scales);
        let mut centre = at.to_vec();
        let covariance = site.settle(&mut centre).ok().flatten()?;
        let places: Vec<usize> = site.places().collect();
        let mut whole = DMatrix::from_diagonal(&DVector::from_column_slice(spread));
        for (i, &row) in places.iter().enumerate() {
            for (j, &column) in places.iter().enumerate() {
                whole[(row, column)] = covariance[(i, j)];
            }
        }
        Student::with_degrees(centre, whole, NARROW)
    }

    /// All statistics at numbers of all variables.
    fn site<'s>(&'s self, numbers: &[f64], scales: &'s Scales) -> Site<'s> {
        let (local, posterior) = (&self.model.local, &self.model.posterior);
        let first = local.own_first();
        let (shared, own) = local.blocks();
        let mut site = Site {
            kept: self,
            explicit: vec![0.0; first + local.own_base.len()],
            shared: vec![0.0; local.shared_base().len()],
            collapsed: vec![0.0; posterior.statistics()],
            fields: vec![],
            scales,
        };
        let at = |placed: &Placed, out: &mut [f64]| {
            if scales.holds(&placed.0) || self.holds_block(placed) {
                let places = self.places_of(&placed.0);
                let own: Vec<f64> = places.iter().map(|&place| numbers[place]).collect();
                placed.0.statistics_at(&own, &mut out[range_of(placed)]);
            }
        };
        for placed in own {
            at(placed, &mut site.explicit[first..]);
        }
        for placed in shared {
            at(placed, &mut site.shared);
        }
        for placed in posterior.blocks() {
            at(placed, &mut site.collapsed);
        }
        let own = self.own.iter().map(|placed| (Role::Own, placed));
        let others = self.others.iter().map(|placed| (self.role, placed));
        let mut place = 0;
        for (role, placed) in own.chain(others) {
            if is_field(&placed.0) {
                site.fields.push((role, placed, place));
            }
            place += placed.0.coordinates().unwrap_or(0);
        }
        site
    }

    fn holds_block(&self, placed: &Placed) -> bool {
        self.blocks().any(|kept| std::ptr::eq(kept, placed))
    }
}

impl Site<'_> {
    /// The coordinates of normal variables.
    fn places(&self) -> impl Iterator<Item = usize> {
        (self.fields.iter())
            .flat_map(|(_, placed, first)| *first..first + placed.0.coordinates().unwrap_or(0))
    }

    /// Moves normal variables to their mode, and gives the inverse of the curvature there.
    fn settle(&mut self, at: &mut [f64]) -> Result<Option<DMatrix<f64>>> {
        for _ in 0..STEPS {
            let mut furthest = 0.0_f64;
            // One block after another, as those that are apart may meet.
            for index in 0..self.fields.len() {
                let (_, placed, first) = self.fields[index];
                let natural = self.naturals(at)?.swap_remove(index);
                let BlockFamily::Gaussian(family) = &placed.0.family else {
                    continue;
                };
                let (means, variances) = family.marginals(&natural)?;
                for ((at, mean), variance) in at[first..].iter_mut().zip(means).zip(variances) {
                    furthest = furthest.max((*at - mean).abs() / variance.sqrt());
                    *at = mean;
                }
            }
            if furthest < CLOSE {
                break;
            }
        }
        let Some((slope, curvature)) = self.curvature(at)? else {
            return Ok(None);
        };
        let Some(root) = Cholesky::new(curvature) else {
            return Ok(None);
        };
        let step = root.solve(&slope);
        let places: Vec<usize> = self.places().collect();
        for (&place, step) in places.iter().zip(&step) {
            at[place] += step;
        }
        Ok(Some(root.inverse()))
    }

    /// Natural parameters of all normal blocks that are kept, where these are at coordinates, precisions stay, and the statistics of
    /// what is summed out are at their means given both.
    fn naturals(&mut self, at: &[f64]) -> Result<Vec<Vec<f64>>> {
        let (local, posterior) = (&self.kept.model.local, &self.kept.model.posterior);
        let first = local.own_first();
        for (role, placed, place) in &self.fields {
            let numbers = &at[*place..place + placed.0.coordinates().unwrap_or(0)];
            let out = match role {
                Role::Own => &mut self.explicit[first..],
                Role::Shared => &mut self.shared[..],
                Role::Collapsed => &mut self.collapsed[..],
            };
            placed.0.statistics_at(numbers, &mut out[range_of(placed)]);
        }
        let mut messages = vec![0.0; self.explicit.len()];
        if self.kept.role == Role::Collapsed {
            posterior.backward(&self.explicit, &self.collapsed, &mut messages);
            let (naturals, _) = local.naturals(&messages);
            follow((local.blocks().0, self.scales), &naturals, &mut self.shared)?;
        }
        self.explicit[..first].fill(0.0);
        local.gather(0, &self.shared, &mut self.explicit[..first]);
        for rows in &local.rows {
            rows.value_and_gradient(&messages[..first], &mut self.explicit[..first])?;
        }
        let (given, _) = posterior.naturals(&self.explicit);
        if self.kept.role != Role::Collapsed {
            follow(
                (posterior.blocks(), self.scales),
                &given,
                &mut self.collapsed,
            )?;
        }
        posterior.backward(&self.explicit, &self.collapsed, &mut messages);
        let (shared, own) = local.naturals(&messages);
        let natural = |(role, placed, _): &(Role, &Placed, usize)| {
            let all = match role {
                Role::Own => &own,
                Role::Shared => &shared,
                Role::Collapsed => &given,
            };
            all[range_of(placed)].to_vec()
        };
        Ok(self.fields.iter().map(natural).collect())
    }

    /// The slope of the log density of normal variables, one block after another.
    fn slope(&mut self, at: &[f64]) -> Result<DVector<f64>> {
        let naturals = self.naturals(at)?;
        Ok(self.slope_by(&naturals, at))
    }

    /// The same by their natural parameters there.
    fn slope_by(&self, naturals: &[Vec<f64>], at: &[f64]) -> DVector<f64> {
        let mut out = vec![];
        for ((_, placed, first), natural) in self.fields.iter().zip(naturals) {
            let BlockFamily::Gaussian(family) = &placed.0.family else {
                continue;
            };
            let n = family.scalars();
            let x = &at[*first..first + n];
            // h − Λx, with statistics x, −x²/2 and −xᵢxⱼ.
            let begin = out.len();
            out.extend((0..n).map(|i| natural[i] - natural[n + i] * x[i]));
            for (&(i, j), coupling) in family.pairs().iter().zip(&natural[2 * n..]) {
                let (i, j) = (i as usize, j as usize);
                out[begin + i] -= coupling * x[j];
                out[begin + j] -= coupling * x[i];
            }
        }
        DVector::from_vec(out)
    }

    /// The slope, and the curvature with all that is summed out moving along, by differences; none where these are not finite.
    fn curvature(&mut self, at: &[f64]) -> Result<Option<(DVector<f64>, DMatrix<f64>)>> {
        let naturals = self.naturals(at)?;
        let slope = self.slope_by(&naturals, at);
        let mut deviations = Vec::with_capacity(slope.len());
        for (natural, (_, placed, _)) in naturals.iter().zip(&self.fields) {
            if let BlockFamily::Gaussian(family) = &placed.0.family {
                deviations.extend(family.marginals(natural)?.1.iter().map(|v| v.sqrt()));
            }
        }
        let places: Vec<usize> = self.places().collect();
        let mut moved = at.to_vec();
        let mut curvature = DMatrix::zeros(places.len(), places.len());
        for (column, (&place, deviation)) in places.iter().zip(&deviations).enumerate() {
            // To one side: a thousandth part is near enough for a proposal.
            moved[place] = at[place] + DIFFERENCE * deviation;
            let changed = &slope - self.slope(&moved)?;
            curvature.set_column(column, &(changed / (moved[place] - at[place])));
            moved[place] = at[place];
        }
        let curvature = 0.5 * (&curvature + curvature.transpose());
        let finite = curvature
            .iter()
            .chain(&slope)
            .all(|value| value.is_finite());
        Ok(finite.then_some((slope, curvature)))
    }
}

/// Moves a precision further from its mean over places, each all numbers of all variables, of which its own are some.
fn spread_out(block: &Block, own: &[usize], places: &mut [Vec<f64>]) {
    let numbers = |at: &[f64]| own.iter().map(|&place| at[place]).collect::<Vec<f64>>();
    let coordinate = |at: &Vec<f64>| block.to_coordinates(&numbers(at))[0];
    let mean = places.iter().map(coordinate).sum::<f64>() / places.len() as f64;
    let mut statistics = vec![0.0; block.len()];
    for at in places {
        let moved = mean + FURTHER * (coordinate(at) - mean);
        let (found, _) = block.at_coordinates(&[moved], &mut statistics);
        for (&place, number) in own.iter().zip(found) {
            if number.is_finite() {
                at[place] = number;
            }
        }
    }
}

/// Writes the means of blocks but for precisions, which stay.
fn follow(
    (blocks, scales): (&[Placed], &Scales),
    naturals: &[f64],
    statistics: &mut [f64],
) -> Result<()> {
    let mut means = vec![0.0; naturals.len()];
    evaluate_all(blocks, naturals, &mut means)?;
    for placed in blocks.iter().filter(|(block, _)| !scales.holds(block)) {
        statistics[range_of(placed)].copy_from_slice(&means[range_of(placed)]);
    }
    Ok(())
}

fn is_field(block: &Block) -> bool {
    matches!(block.family, BlockFamily::Gaussian(_))
}
