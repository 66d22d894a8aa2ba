//! Decides how draws get the covariance of linear response: the statistics that explicit variables send are
//! uncertain, and everything else is drawn given them (maths §10.3).

use nalgebra::{DMatrix, DVector, SymmetricEigen};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use super::block::range_of;
use super::chain::Chain;
use super::response::LinearResponse;
use collapsar_core::{Point, Result};

/// A step that leads outside the domain is halved so often before it is not made.
const HALVINGS: usize = 12;

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
    /// Draws all numbers.
    ///
    /// # Errors
    /// Where the fit ended outside the domain.
    pub fn draw<R: Rng + ?Sized>(&mut self, rng: &mut R) -> Result<&[f64]> {
        let normal = DVector::from_fn(self.root.ncols(), |_, _| StandardNormal.sample(rng));
        let change: DVector<f64> = &self.root * normal;
        let mut length = 1.0;
        for _ in 0..HALVINGS {
            if self.moved(&change, length, rng).is_ok() {
                return Ok(self.chain.numbers());
            }
            length *= 0.5;
        }
        self.moved(&change, 0.0, rng)?;
        Ok(self.chain.numbers())
    }

    /// Draws everything where the statistics are moved by so much.
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
        chain.draw_collapsed(rng)?;
        chain.draw_shared(rng)
    }
}

/// A matrix whose product with its transpose is `matrix` without what is not positive.
fn root(matrix: DMatrix<f64>) -> DMatrix<f64> {
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
