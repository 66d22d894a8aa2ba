//! Newton's system of a mixture as blocks of components, in coordinates where complete data say the identity.

use nalgebra::{Cholesky, DMatrix};
use rayon::prelude::*;

use super::cholesky::{BlockFactor, BlockMatrix};
use super::no_maximum;
use crate::mixture::{Covariance, Mixture};
use collapsar_core::rows::ComponentBlocks;
use collapsar_core::{Error, Point, Result};

/// $I-L'JL$ with $F=LL'$, factored. Counts come last, where the prior of the weights joins them, so that $L$ has a
/// block for each component, or one where covariances are tied, and a last one for counts (maths §10.8).
#[derive(Debug)]
pub(super) struct System {
    groups: Vec<Group>,
    /// The statistic of each component's count.
    counts: Vec<usize>,
    /// $L$ of the counts given all else.
    last: DMatrix<f64>,
    factor: BlockFactor,
    pub(super) missing_information: f64,
}

/// Statistics that one block of parameters takes.
#[derive(Debug)]
struct Group {
    /// All but counts.
    others: Vec<usize>,
    /// Components whose counts it takes.
    components: Vec<usize>,
    /// $L$ of the others, and the rows of $L$ that counts have there.
    own: DMatrix<f64>,
    to_counts: DMatrix<f64>,
}

impl System {
    pub(super) fn new(model: &Mixture, point: &Point, metric: &ComponentBlocks) -> Result<Self> {
        let (components, features) = (model.components(), model.local.features());
        let counts: Vec<usize> = (0..components).map(|k| k * features).collect();
        let members: Vec<Vec<usize>> = match model.covariance {
            Covariance::Tied => vec![(0..components).collect()],
            _ => (0..components).map(|k| vec![k]).collect(),
        };
        let weights = (model.blocks).hessian_within(0, &point.statistics, &counts)?;
        let mut left = DMatrix::from_vec(components, components, weights);
        let groups = members.into_par_iter().enumerate();
        let groups: Vec<_> = groups
            .map(|(index, members)| Group::new(model, point, 1 + index, members))
            .collect();
        let mut kept = Vec::with_capacity(groups.len());
        for group in groups {
            let (group, schur) = group?;
            for (a, &row) in group.components.iter().enumerate() {
                for (b, &column) in group.components.iter().enumerate() {
                    left[(row, column)] += schur[(a, b)];
                }
            }
            kept.push(group);
        }
        let last = Cholesky::new(left).ok_or_else(no_maximum)?.unpack();
        let mut system = newton(&kept, &counts, &last, metric);
        let missing_information = system.largest_eigenvalue();
        for (index, row) in system.rows.iter_mut().enumerate() {
            for block in row.iter_mut().flatten() {
                block.neg_mut();
            }
            let size = system.sizes[index];
            let own = row[index].get_or_insert_with(|| DMatrix::zeros(size, size));
            for i in 0..size {
                own[(i, i)] += 1.0;
            }
        }
        Ok(Self {
            groups: kept,
            counts,
            last,
            factor: system.factor().ok_or_else(no_maximum)?,
            missing_information,
        })
    }

    /// $a'Sa$ between tilts, each $a$ a vector over all statistics that is zero but for counts and the statistics of
    /// the block of `component`.
    pub(super) fn between(
        &self,
        component: Option<usize>,
        tilts: &[Vec<f64>],
    ) -> Result<DMatrix<f64>> {
        let gathered = |places: &[usize]| {
            DMatrix::from_fn(places.len(), tilts.len(), |i, j| tilts[j][places[i]])
        };
        let mut counts = gathered(&self.counts);
        let group = component.map(|k| k.min(self.groups.len() - 1));
        let own = group.map(|index| {
            let group = &self.groups[index];
            let own = group.own.solve_lower_triangular(&gathered(&group.others));
            own.ok_or_else(no_maximum)
        });
        let own = own.transpose()?;
        if let (Some(index), Some(own)) = (group, &own) {
            let group = &self.groups[index];
            let sent = &group.to_counts * own;
            for (row, &k) in sent.row_iter().zip(&group.components) {
                let mut changed = counts.row_mut(k);
                changed -= row;
            }
        }
        let counts = (self.last.solve_lower_triangular(&counts)).ok_or_else(no_maximum)?;
        let mut given = vec![(self.groups.len(), &counts)];
        let mut without = counts.transpose() * &counts;
        if let (Some(index), Some(own)) = (group, &own) {
            given.push((index, own));
            without += own.transpose() * own;
        }
        // maths §10.8: a'Sa = b'((I - M)⁻¹ - I)b with a = Lb
        Ok(self.factor.inverse_between(&given) - without)
    }
}

impl Group {
    /// The group of `members`, whose parameters are in block `block`, and what is left for counts.
    fn new(
        model: &Mixture,
        point: &Point,
        block: usize,
        members: Vec<usize>,
    ) -> Result<(Self, DMatrix<f64>)> {
        let features = model.local.features();
        let others: Vec<usize> = (members.iter())
            .flat_map(|k| k * features + 1..(k + 1) * features)
            .collect();
        let mut all = others.clone();
        all.extend(members.iter().map(|k| k * features));
        let whole = (model.blocks).hessian_within(block, &point.statistics, &all)?;
        let whole = DMatrix::from_vec(all.len(), all.len(), whole);
        let (few, many) = (members.len(), others.len());
        let own = whole.view((0, 0), (many, many)).into_owned();
        let across = whole.view((0, many), (many, few)).into_owned();
        let mut left = whole.view((many, many), (few, few)).into_owned();
        let own = Cholesky::new(own).ok_or_else(unresolved)?.unpack();
        let to_counts = own.solve_lower_triangular(&across).ok_or_else(unresolved)?;
        let to_counts = to_counts.transpose();
        left -= &to_counts * to_counts.transpose();
        let group = Self {
            others,
            components: members,
            own,
            to_counts,
        };
        Ok((group, left))
    }

    /// The columns of $L$ that belong to the group's others, and which statistics their rows are.
    fn columns(&self, counts: &[usize]) -> (Vec<usize>, DMatrix<f64>) {
        let (many, few) = (self.others.len(), self.components.len());
        let mut rows = self.others.clone();
        rows.extend(self.components.iter().map(|&k| counts[k]));
        let mut columns = DMatrix::zeros(many + few, many);
        columns.rows_mut(0, many).copy_from(&self.own);
        columns.rows_mut(many, few).copy_from(&self.to_counts);
        (rows, columns)
    }
}

/// $M=L'JL$.
fn newton(
    groups: &[Group],
    counts: &[usize],
    last: &DMatrix<f64>,
    metric: &ComponentBlocks,
) -> BlockMatrix {
    let between = |rows: &[usize], columns: &[usize]| {
        DMatrix::from_fn(rows.len(), columns.len(), |i, j| {
            metric.entry(rows[i], columns[j])
        })
    };
    let columns: Vec<_> = groups.iter().map(|group| group.columns(counts)).collect();
    let all = (0..groups.len()).flat_map(|i| (0..=i).map(move |j| (i, j)));
    let all: Vec<(usize, usize)> = all.collect();
    let block = |&(i, j): &(usize, usize)| {
        let (rows, left) = &columns[i];
        let (others, right) = &columns[j];
        let met = groups.len() == 1 || metric.get(i, j).is_some();
        met.then(|| left.transpose() * (between(rows, others) * right))
    };
    let mut found: std::collections::VecDeque<_> = all.par_iter().map(block).collect();
    let mut rows: Vec<Vec<_>> = (0..groups.len())
        .map(|i| found.drain(..=i).collect())
        .collect();
    let mut bottom: Vec<_> = columns
        .par_iter()
        .map(|(rows, right)| Some(last.transpose() * (between(counts, rows) * right)))
        .collect();
    bottom.push(Some(last.transpose() * between(counts, counts) * last));
    rows.push(bottom);
    let mut sizes: Vec<usize> = groups.iter().map(|group| group.others.len()).collect();
    sizes.push(counts.len());
    BlockMatrix { sizes, rows }
}

/// A component so narrow, seen from the middle of the data, that its statistics cannot be told apart.
fn unresolved() -> Error {
    Error::domain(
        "linear response",
        "a component too narrow for the digits of its statistics",
        "components wider than a millionth of the data's spread",
    )
}
