//! Decides how draws get the covariance of linear response: the statistics that explicit variables send are
//! uncertain, and everything else is drawn given them (maths §10.3).

use collapsar_core::random::{Distribution, StandardNormal};
use nalgebra::{DMatrix, DVector, SymmetricEigen};
use rand::Rng;

use super::block::{Placed, are_inside, range_of};
use super::chain::Chain;
use super::kept::unread;
use super::response::LinearResponse;
use collapsar_core::elementary::Elementary;
use collapsar_core::{Point, Result};

/// A step that leads outside the domain is halved so often before it is not made.
const HALVINGS: usize = 12;

/// So often a draw is made again where the others cannot be drawn given it: precisions that are too unlike to compute with.
const REDRAWN: usize = 20;

/// Extents that differ by more than this have no eigenvectors in common that are known to half of all digits.
const UNLIKE: f64 = 1e8;

/// A domain that ends at more than this multiple of a change might as well be unbounded.
const FAR: f64 = 16.0;
/// The inverse of the shortest multiple that is looked at, and how well inverses are found, those above one relative to
/// themselves: a draw's move is then right to a sixtieth of itself.
const NEAREST: f64 = 1e6;
const CLOSE: f64 = 1.0 / 32.0;

/// Draws with the covariance of linear response.
#[derive(Debug)]
pub struct CorrectedDraws<'a> {
    pub(super) point: &'a Point,
    pub(super) chain: Chain<'a>,
    /// A root of the covariance of slots and of what moves the means of own blocks.
    root: DMatrix<f64>,
    /// For each own block, from a change of its means to one of its natural parameters.
    inverses: Vec<DMatrix<f64>>,
    own: Vec<f64>,
    /// Natural parameters of what is collapsed where nothing is moved, and the degree that they have in what moves.
    given: Vec<f64>,
    degree: Option<usize>,
}

impl<'a> LinearResponse<'a> {
    /// Draws with the covariance of linear response; none where there are too many messages to keep it, or where it is not finite.
    ///
    /// # Errors
    /// Where the point is outside the domain.
    pub fn draws<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<Option<CorrectedDraws<'a>>> {
        let Some(statistics) = self.response.statistics() else {
            return Ok(None);
        };
        if statistics.iter().any(|of| !of.is_finite()) {
            return Ok(None);
        }
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
            given: model.posterior.naturals(&point.statistics).0,
            degree: model.posterior.degree(),
        }))
    }
}

impl CorrectedDraws<'_> {
    /// Draws all numbers; those of shared blocks and rows only where `explicit` ones are asked for.
    ///
    /// # Errors
    /// Where the fit ended outside the domain.
    pub fn draw<R: Rng + ?Sized>(&mut self, explicit: bool, rng: &mut R) -> Result<&[f64]> {
        let mut again = REDRAWN;
        loop {
            self.draw_collapsed(rng)?;
            if !explicit {
                break;
            }
            // What shared blocks send is not that of their draws here, so that nobody reads what has no name.
            match self.chain.draw_shared_but(unread, rng) {
                Ok(()) => break,
                Err(_) if again > 0 => again -= 1,
                Err(error) => return Err(error),
            }
        }
        Ok(self.chain.numbers())
    }

    /// Draws what is own or collapsed.
    pub(super) fn draw_collapsed<R: Rng + ?Sized>(&mut self, rng: &mut R) -> Result<()> {
        let normal = DVector::from_fn(self.root.ncols(), |_, _| StandardNormal.sample(rng));
        let change: DVector<f64> = &self.root * normal;
        // Where the domain ends at a multiple r of the change, it becomes r (1 − e^{-1/r}) of itself: as
        // if a rate were multiplied by an exponential and not moved by a normal.
        let end = self.end(&change);
        let mut length = end * -(-1.0 / end).exp_m1_();
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
        let mut moved = vec![0.0; change.len()];
        let mut write = |length: f64, naturals: &mut [f64]| {
            let statistics = self.point.statistics.iter().zip(change);
            for (moved, (tau, change)) in moved.iter_mut().zip(statistics) {
                *moved = tau + length * change;
            }
            posterior.write_naturals(&moved, naturals);
        };
        let mut naturals = vec![0.0; self.given.len()];
        write(FAR, &mut naturals);
        if let Some(0 | 1) = self.degree {
            return 1.0 / self.end_of_line(&naturals);
        }
        if are_inside(posterior.blocks(), &naturals) {
            return FAR;
        }
        let parabola = (self.degree == Some(2)).then(|| {
            let mut near = vec![0.0; self.given.len()];
            write(1.0, &mut near);
            Parabola::through(&self.given, &near, &naturals)
        });
        let inside = |inverse: f64| {
            match &parabola {
                Some(parabola) => parabola.write(&self.given, 1.0 / inverse, &mut naturals),
                None => write(1.0 / inverse, &mut naturals),
            }
            are_inside(posterior.blocks(), &naturals)
        };
        1.0 / first_inside(1.0 / FAR, inside)
    }

    /// The inverse of that multiple, where natural parameters are on the line to those far away.
    fn end_of_line(&self, far: &[f64]) -> f64 {
        let (given, mut end, mut others) = (&self.given, 1.0 / FAR, vec![]);
        for placed in self.chain.model.posterior.blocks() {
            match placed.0.positive() {
                Some(range) => {
                    for place in range.map(|place| placed.1 + place) {
                        end = f64::max(end, (given[place] - far[place]) / (FAR * given[place]));
                    }
                }
                None => others.push(placed),
            }
        }
        let mut naturals = far.to_vec();
        let mut inside = |inverse: f64, blocks: &[&Placed]| {
            let part = 1.0 / (inverse * FAR);
            for place in blocks.iter().flat_map(|placed| range_of(placed)) {
                naturals[place] = given[place] + part * (far[place] - given[place]);
            }
            are_inside(blocks.iter().copied(), &naturals)
        };
        // Domains are convex: what is inside there is inside on the way there.
        others.retain(|placed| !inside(end, &[placed]));
        if others.is_empty() {
            return end;
        }
        first_inside(end, |inverse| inside(inverse, &others))
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
            *slot = moved_by(*tau, *change, length);
        }
        for (placed, inverse) in local.blocks().1.iter().zip(&self.inverses) {
            let range = range_of(placed);
            let moved = inverse * change.rows(first + range.start, range.len());
            let natural: Vec<f64> = (self.own[range].iter().zip(&moved))
                .map(|(natural, moved)| moved_by(*natural, *moved, length))
                .collect();
            chain.draw_own(placed, &natural, rng)?;
        }
        chain.draw_collapsed(rng)
    }
}

/// Natural parameters that are quadratic in the length of a change: to look at one more length is to go through them and
/// not through all monomials.
struct Parabola {
    slopes: Vec<f64>,
    curvatures: Vec<f64>,
}

impl Parabola {
    /// From those at lengths of zero, of one and of [`FAR`].
    fn through(given: &[f64], near: &[f64], far: &[f64]) -> Self {
        let changes = || given.iter().zip(near.iter().zip(far));
        let curvature = |(given, (near, far)): (&f64, (&f64, &f64))| {
            ((far - given) - FAR * (near - given)) / (FAR * (FAR - 1.0))
        };
        let curvatures: Vec<f64> = changes().map(curvature).collect();
        let slopes = changes().zip(&curvatures);
        let slopes = slopes.map(|((given, (near, _)), curvature)| near - given - curvature);
        Self {
            slopes: slopes.collect(),
            curvatures,
        }
    }

    fn write(&self, given: &[f64], length: f64, out: &mut [f64]) {
        let both = self.slopes.iter().zip(&self.curvatures);
        for ((out, given), (slope, curvature)) in out.iter_mut().zip(given).zip(both) {
            *out = given + length * (slope + length * curvature);
        }
    }
}

/// A number that is moved; not at all by nothing, however far that would be.
fn moved_by(from: f64, change: f64, length: f64) -> f64 {
    if length == 0.0 {
        from
    } else {
        from + length * change
    }
}

/// The smallest number, above one that is not, that is `inside`, nearly: numbers are inverses of lengths, of which what a
/// draw moves by is nearly a linear function.
fn first_inside(outside: f64, mut inside: impl FnMut(f64) -> bool) -> f64 {
    let (mut beyond, mut within) = (outside, 2.0 * outside);
    while !inside(within) && within < NEAREST {
        (beyond, within) = (within, 2.0 * within);
    }
    while within - beyond > CLOSE * within.max(1.0) {
        let middle = 0.5 * (beyond + within);
        if inside(middle) {
            within = middle;
        } else {
            beyond = middle;
        }
    }
    within
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parabola_is_what_it_goes_through() {
        let of = |length: f64| [3.0 - length, 2.0 + 0.5 * length * length, -7.0];
        let parabola = Parabola::through(&of(0.0), &of(1.0), &of(FAR));
        for length in [1e-6, 0.3, 1.0, 5.0, FAR] {
            let mut found = [0.0; 3];
            parabola.write(&of(0.0), length, &mut found);
            for (found, expected) in found.iter().zip(of(length)) {
                assert!(
                    (found - expected).abs() < 1e-13 * expected.abs(),
                    "{found} {expected}"
                );
            }
        }
    }
}
