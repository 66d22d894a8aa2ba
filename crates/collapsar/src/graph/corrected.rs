//! Decides how draws get the covariance of linear response: the statistics that explicit variables send are
//! uncertain, and everything else is drawn given them (maths §10.3).

use std::collections::HashMap;

use nalgebra::{DMatrix, DVector, SymmetricEigen};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use super::block::{BlockFamily, Placed, evaluate_all, range_of};
use super::chain::Chain;
use super::response::LinearResponse;
use collapsar_core::{Point, Result};

/// A step that leads outside the domain is halved so often before it is not made.
const HALVINGS: usize = 12;

/// Extents that differ by more than this have no eigenvectors in common that are known to half of all digits.
const UNLIKE: f64 = 1e8;

/// A domain that ends at more than this multiple of a change might as well be unbounded.
const FAR: f64 = 16.0;

/// Draws with the covariance of linear response.
#[derive(Debug)]
pub struct CorrectedDraws<'a> {
    point: &'a Point,
    chain: Chain<'a>,
    /// A root of the covariance of slots and of what moves the means of own blocks.
    root: DMatrix<f64>,
    /// For each own block, from a change of its means to one of its natural parameters.
    inverses: Vec<DMatrix<f64>>,
    own: Vec<f64>,
}

impl<'a> LinearResponse<'a> {
    /// Draws with the covariance of linear response; none where there are too many messages to keep it.
    ///
    /// # Errors
    /// Where the point is outside the domain.
    pub fn draws<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<Option<CorrectedDraws<'a>>> {
        let Some(statistics) = self.response.statistics() else {
            return Ok(None);
        };
        let (model, point) = (self.model, self.point);
        let mut covariance = statistics.clone();
        let (first, mut inverses) = (model.local.own_first(), vec![]);
        let (_, own) = model.local.naturals(&point.messages);
        for placed in model.local.blocks().1 {
            let range = range_of(placed);
            let natural = &own[range.clone()];
            let mut hessian = DMatrix::zeros(range.len(), range.len());
            let mut unit = vec![0.0; range.len()];
            for column in 0..range.len() {
                unit[column] = 1.0;
                let mut out = vec![0.0; range.len()];
                (placed.0.potential()).hessian_product(natural, &unit, &mut out)?;
                hessian.set_column(column, &DVector::from_vec(out));
                unit[column] = 0.0;
            }
            let begin = first + range.start;
            let mut own = covariance.view_mut((begin, begin), (range.len(), range.len()));
            own -= &hessian;
            inverses.push(pseudo_inverse(hessian));
        }
        Ok(Some(CorrectedDraws {
            point,
            chain: model.chain(point, rng)?,
            root: root(covariance),
            inverses,
            own,
        }))
    }
}

impl CorrectedDraws<'_> {
    /// Draws all numbers; those of shared blocks and rows only where `explicit` ones are asked for.
    ///
    /// # Errors
    /// Where the fit ended outside the domain.
    pub fn draw<R: Rng + ?Sized>(&mut self, explicit: bool, rng: &mut R) -> Result<&[f64]> {
        self.draw_collapsed(rng)?;
        if explicit {
            self.chain.draw_shared(rng)?;
        }
        Ok(self.chain.numbers())
    }

    /// By what factor the variances of normal variables grow, on the average of so many draws of what they
    /// depend on: what is normal given a precision is not where that is uncertain.
    ///
    /// # Errors
    /// Where the fit ended outside the domain.
    pub fn variance_growth<R: Rng + ?Sized>(
        &mut self,
        draws: usize,
        rng: &mut R,
    ) -> Result<HashMap<u32, f64>> {
        let model = self.chain.model;
        let (shared, collapsed) = (model.local.blocks().0, model.posterior.blocks());
        let mut grown = HashMap::new();
        for _ in 0..draws {
            self.draw_collapsed(rng)?;
            let given = model.posterior.naturals(&self.chain.statistics).0;
            let told = model.local.naturals(&self.chain.told()).0;
            each_normal(collapsed, &given, |variable, variance| {
                *grown.entry(variable).or_default() += variance / draws as f64;
            })?;
            each_normal(shared, &told, |variable, variance| {
                *grown.entry(variable).or_default() += variance / draws as f64;
            })?;
        }
        let mut divide = |variable: u32, variance: f64| {
            grown.entry(variable).and_modify(|grown| *grown /= variance);
        };
        let given = model.posterior.naturals(&self.point.statistics).0;
        let told = model.local.naturals(&self.point.messages).0;
        each_normal(collapsed, &given, &mut divide)?;
        each_normal(shared, &told, &mut divide)?;
        Ok(grown)
    }

    /// Draws what is own or collapsed.
    fn draw_collapsed<R: Rng + ?Sized>(&mut self, rng: &mut R) -> Result<()> {
        let normal = DVector::from_fn(self.root.ncols(), |_, _| StandardNormal.sample(rng));
        let change: DVector<f64> = &self.root * normal;
        // Where the domain ends at a multiple r of the change, it becomes r (1 − e^{-1/r}) of itself: as
        // if a rate were multiplied by an exponential and not moved by a normal.
        let end = self.end(&change);
        let mut length = end * -(-1.0 / end).exp_m1();
        for _ in 0..HALVINGS {
            if self.moved(&change, length, rng).is_ok() {
                return Ok(());
            }
            length *= 0.5;
        }
        self.moved(&change, 0.0, rng)
    }

    /// The multiple of a change at which the domain of what is collapsed ends, so far as it matters.
    fn end(&self, change: &DVector<f64>) -> f64 {
        let posterior = &self.chain.model.posterior;
        let mut buffer = vec![];
        let mut inside = |length: f64| {
            let moved = self.point.statistics.iter().zip(change);
            let moved: Vec<f64> = moved.map(|(tau, change)| tau + length * change).collect();
            let (naturals, _) = posterior.naturals(&moved);
            buffer.resize(naturals.len(), 0.0);
            let value = evaluate_all(posterior.blocks(), &naturals, &mut buffer);
            value.is_ok_and(f64::is_finite)
        };
        let (mut low, mut high) = (0.0, FAR);
        if inside(high) {
            return high;
        }
        while high - low > 0.03 * high {
            let middle = 0.5 * (low + high);
            if inside(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        low.max(0.03 * high)
    }

    /// Draws what is own or collapsed where the statistics are moved by so much.
    fn moved<R: Rng + ?Sized>(
        &mut self,
        change: &DVector<f64>,
        length: f64,
        rng: &mut R,
    ) -> Result<()> {
        let chain = &mut self.chain;
        let local = &chain.model.local;
        let first = local.own_first();
        let statistics = self.point.statistics[..first].iter().zip(change);
        for (slot, (tau, change)) in chain.statistics[..first].iter_mut().zip(statistics) {
            *slot = tau + length * change;
        }
        for (placed, inverse) in local.blocks().1.iter().zip(&self.inverses) {
            let range = range_of(placed);
            let moved = inverse * change.rows(first + range.start, range.len());
            let natural: Vec<f64> = (self.own[range].iter().zip(&moved))
                .map(|(natural, moved)| natural + length * moved)
                .collect();
            chain.draw_own(placed, &natural, rng)?;
        }
        chain.draw_collapsed(rng)
    }
}

/// Visits the variables of normal blocks with their variances.
fn each_normal(blocks: &[Placed], naturals: &[f64], mut visit: impl FnMut(u32, f64)) -> Result<()> {
    for placed in blocks {
        if let BlockFamily::Gaussian(family) = &placed.0.family {
            let (_, variances) = family.marginals(&naturals[range_of(placed)])?;
            (placed.0.variables.iter().zip(variances))
                .for_each(|(&v, variance)| visit(v, variance));
        }
    }
    Ok(())
}

/// A matrix whose product with its transpose is `matrix` without what is not positive.
fn root(matrix: DMatrix<f64>) -> DMatrix<f64> {
    if matrix.is_empty() {
        return matrix;
    }
    // Statistics of data in large or small units, each in its own.
    let extent = matrix.diagonal().map(|variance| variance.max(0.0).sqrt());
    let least = (extent.iter()).fold(
        f64::INFINITY,
        |least, &e| if e > 0.0 { least.min(e) } else { least },
    );
    if extent.amax() > UNLIKE * least {
        let units = extent.map(|extent| if extent > 0.0 { extent } else { 1.0 });
        let scaled = DMatrix::from_fn(matrix.nrows(), matrix.ncols(), |row, column| {
            matrix[(row, column)] / units[row] / units[column]
        });
        return DMatrix::from_diagonal(&units) * plain_root(scaled);
    }
    plain_root(matrix)
}

fn plain_root(matrix: DMatrix<f64>) -> DMatrix<f64> {
    let SymmetricEigen {
        mut eigenvectors,
        eigenvalues,
    } = SymmetricEigen::new(matrix);
    for (mut column, value) in eigenvectors.column_iter_mut().zip(&eigenvalues) {
        column *= value.max(0.0).sqrt();
    }
    eigenvectors
}

/// The inverse of a symmetric matrix that may have directions without extent.
fn pseudo_inverse(matrix: DMatrix<f64>) -> DMatrix<f64> {
    let eigen = SymmetricEigen::new(matrix);
    let most = eigen.eigenvalues.amax();
    let values = (eigen.eigenvalues).map(|value| {
        if value > 1e-14 * most {
            1.0 / value
        } else {
            0.0
        }
    });
    &eigen.eigenvectors * DMatrix::from_diagonal(&values) * eigen.eigenvectors.transpose()
}
