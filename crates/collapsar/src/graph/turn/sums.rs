//! The few sums of moments that decide a change of basis, and what a change does to the bound.

use nalgebra::DMatrix;

use super::forms::{Entry, Forms, Linear, Plain, Quadratic, Side, Source, Target};
use super::{Member, Moments, Space};

use collapsar_core::elementary::Elementary;

/// The bound as a function of the basis alone (maths §9.7).
pub(super) struct Problem<'a> {
    pub(super) size: usize,
    /// How many vectors and covectors there are.
    pub(super) members: f64,
    /// Vectors less covectors: what $\ln|\det R|$ counts.
    pub(super) volume: f64,
    pub(super) forms: &'a Forms,
    /// Sums of second moments, one for each list of entries.
    pub(super) seconds: Vec<DMatrix<f64>>,
    /// Sums of coefficients times means, by the element that they multiply.
    pub(super) means: Vec<DMatrix<f64>>,
    pub(super) matrices: Vec<RandomMatrix>,
    /// Shape and rate of each scale.
    pub(super) gammas: Vec<(f64, f64)>,
    /// The sum of each scale's forms as things stand.
    pub(super) present: Vec<f64>,
}

/// A matrix of independent rows.
pub(super) struct RandomMatrix {
    pub(super) mean: DMatrix<f64>,
    pub(super) covariances: Vec<DMatrix<f64>>,
}

impl Member {
    /// Adds $x x^\top$ to a sum.
    fn add_second(&self, means: &[f64], sum: &mut DMatrix<f64>) {
        let size = self.means.len();
        for (at, &place) in self.seconds.iter().enumerate() {
            let (i, j) = (at / size, at % size);
            let factor = if i == j { 2.0 } else { 1.0 };
            sum[(i, j)] -= factor * means[place as usize];
        }
    }

    fn mean(&self, means: &[f64]) -> DMatrix<f64> {
        DMatrix::from_fn(self.means.len(), 1, |i, _| means[self.means[i] as usize])
    }
}

impl Space {
    /// What decides the basis at these moments.
    pub(super) fn sums(&self, moments: &Moments<'_>) -> Problem<'_> {
        let matrices: Vec<RandomMatrix> = (self.matrices.iter())
            .map(|rows| {
                let mut mean = DMatrix::zeros(self.size, self.size);
                let covariances = (rows.iter().enumerate())
                    .map(|(i, row)| {
                        let own = row.mean(moments.shared);
                        mean.row_mut(i).copy_from(&own.transpose());
                        let mut covariance = -(&own * own.transpose());
                        row.add_second(moments.shared, &mut covariance);
                        covariance
                    })
                    .collect();
                RandomMatrix { mean, covariances }
            })
            .collect();
        let seconds = (self.forms.quadratics.iter())
            .map(|quadratic| self.second_sum(quadratic, &matrices, moments))
            .collect();
        let means = (self.forms.linears.iter())
            .map(|linear| self.mean_sum(linear, moments))
            .collect();
        let (vectors, covectors) = (self.vectors.len() as f64, self.covectors.len() as f64);
        let mut problem = Problem {
            size: self.size,
            members: vectors + covectors,
            volume: vectors - covectors,
            forms: &self.forms,
            seconds,
            means,
            matrices,
            gammas: self.forms.gammas(moments),
            present: vec![],
        };
        let identity = DMatrix::identity(self.size, self.size);
        problem.present = problem.values(&identity, &identity).1;
        problem
    }

    fn mean_sum(&self, linear: &Linear, moments: &Moments<'_>) -> DMatrix<f64> {
        let (members, means) = self.side(linear.side, moments);
        let mut sum = DMatrix::zeros(self.size, self.size);
        for &(plain, element, coefficient) in &linear.elements {
            let (places, sign) = match plain {
                Plain::Mean(member) => (&members[member as usize].means, 1.0),
                Plain::Mixed(mixed) => (&self.mixed[mixed as usize].1, -1.0),
            };
            for (c, &place) in places.iter().enumerate() {
                sum[(element, c)] += coefficient * sign * means[place as usize];
            }
        }
        sum
    }

    fn side<'a>(&'a self, side: Side, moments: &'a Moments<'_>) -> (&'a [Member], &'a [f64]) {
        side.of(
            (&self.vectors, &*moments.collapsed),
            (&self.covectors, moments.shared),
        )
    }

    fn second_sum(
        &self,
        quadratic: &Quadratic,
        matrices: &[RandomMatrix],
        moments: &Moments<'_>,
    ) -> DMatrix<f64> {
        let size = self.size;
        let mut sum = DMatrix::zeros(size, size);
        // What a matrix carries is summed before it is carried.
        let mut carried: Vec<Option<DMatrix<f64>>> = vec![None; matrices.len()];
        let mut both = carried.clone();
        let empty = || DMatrix::zeros(size, size);
        let (members, means) = self.side(quadratic.side, moments);
        let add_cross = |sum: &mut DMatrix<f64>, cross: u32, transposed: bool| {
            for (at, &place) in self.crosses[cross as usize].iter().enumerate() {
                let (i, j) = (at / size, at % size);
                let target = if transposed { (j, i) } else { (i, j) };
                sum[target] -= means[place as usize];
            }
        };
        for source in &quadratic.sources {
            match *source {
                Source::Second(member) => members[member as usize].add_second(means, &mut sum),
                Source::Cross(cross) => add_cross(&mut sum, cross, false),
                Source::Carried {
                    transposed,
                    cross,
                    matrix,
                } => {
                    let sum = carried[matrix as usize].get_or_insert_with(empty);
                    add_cross(sum, cross, transposed);
                }
                Source::Both(member, matrix) => {
                    let sum = both[matrix as usize].get_or_insert_with(empty);
                    members[member as usize].add_second(means, sum);
                }
            }
        }
        for ((carried, both), matrix) in carried.iter().zip(&both).zip(matrices) {
            if let Some(carried) = carried {
                sum += carried * matrix.mean.transpose();
            }
            if let Some(both) = both {
                sum += &matrix.mean * both * matrix.mean.transpose();
                for (i, covariance) in matrix.covariances.iter().enumerate() {
                    sum[(i, i)] += covariance.dot(both);
                }
            }
        }
        sum
    }

    /// Changes the moments of all vectors as the basis changes; those of shared blocks follow from
    /// the messages.
    pub(super) fn turn(&self, basis: &DMatrix<f64>, moments: &mut Moments<'_>) {
        let size = self.size;
        let means = &mut *moments.collapsed;
        let mut turning = Turning::new(basis);
        for vector in &self.vectors {
            turning.vector(&vector.means, means);
            // Off the diagonal as they stand, on it doubled.
            for i in 0..size {
                means[vector.seconds[i * size + i] as usize] *= 2.0;
            }
            turning.matrix(&vector.seconds, true, means);
            for i in 0..size {
                means[vector.seconds[i * size + i] as usize] *= 0.5;
            }
        }
        for cross in &self.crosses {
            turning.matrix(cross, false, means);
        }
        for (side, places) in &self.mixed {
            if *side == Side::Vector {
                turning.vector(places, means);
            }
        }
    }
}

/// A basis with room to work in: matrices are small, and there are many of them.
struct Turning {
    size: usize,
    /// Row after row.
    basis: Vec<f64>,
    before: Vec<f64>,
    half: Vec<f64>,
}

impl Turning {
    fn new(basis: &DMatrix<f64>) -> Self {
        let size = basis.nrows();
        Self {
            size,
            basis: basis.transpose().as_slice().to_vec(),
            before: vec![0.0; size * size],
            half: vec![0.0; size * size],
        }
    }

    /// Replaces $x$ by $R x$.
    fn vector(&mut self, places: &[u32], means: &mut [f64]) {
        for (before, &place) in self.before.iter_mut().zip(places) {
            *before = means[place as usize];
        }
        for (row, &place) in self.basis.chunks_exact(self.size).zip(places) {
            let terms = row.iter().zip(&self.before);
            means[place as usize] = terms.map(|(r, x)| r * x).sum();
        }
    }

    /// Replaces $M$ by $R M R^\top$; of a symmetric one half is enough.
    fn matrix(&mut self, places: &[u32], symmetric: bool, means: &mut [f64]) {
        let size = self.size;
        for (before, &place) in self.before.iter_mut().zip(places) {
            *before = means[place as usize];
        }
        self.half.fill(0.0);
        for (row, half) in (self.basis.chunks_exact(size)).zip(self.half.chunks_exact_mut(size)) {
            for (r, before) in row.iter().zip(self.before.chunks_exact(size)) {
                for (half, before) in half.iter_mut().zip(before) {
                    *half += r * before;
                }
            }
        }
        let halves = self.half.chunks_exact(size).zip(places.chunks_exact(size));
        for (i, (half, places)) in halves.enumerate() {
            let wanted = if symmetric { i + 1 } else { size };
            for (row, &place) in self.basis.chunks_exact(size).zip(&places[..wanted]) {
                means[place as usize] = row.iter().zip(half).map(|(r, h)| r * h).sum();
            }
        }
    }
}

impl Problem<'_> {
    /// The sum of constant forms, and of each scale's, with the basis and its inverse's transpose.
    pub(super) fn values(&self, basis: &DMatrix<f64>, dual: &DMatrix<f64>) -> (f64, Vec<f64>) {
        let mut constant = 0.0;
        let mut scaled = vec![0.0; self.gammas.len()];
        let mut add = |target: Target, form: f64| match target {
            None => constant += form,
            Some(scale) => scaled[scale as usize] += form,
        };
        for (quadratic, moment) in self.forms.quadratics.iter().zip(&self.seconds) {
            let by = quadratic.side.of(basis, dual);
            let half = by * moment;
            for entry in &quadratic.entries {
                let (i, j) = entry.at;
                let form = half.row(i).dot(&by.row(j));
                add(entry.target, entry.coefficient * form);
            }
        }
        for (linear, sum) in self.forms.linears.iter().zip(&self.means) {
            add(linear.target, linear.side.of(basis, dual).dot(sum));
        }
        for ((squares, plain), matrix) in self.forms.matrices.iter().zip(&self.matrices) {
            let mean = basis * &matrix.mean * dual.transpose();
            let spread = matrix.spread(dual);
            for entry in squares {
                let (i, j) = entry.at;
                let variance: f64 = (0..self.size)
                    .map(|c| basis[(i, c)].powi(2) * spread[(c, j)])
                    .sum();
                let square = mean[(i, j)].powi(2) + variance;
                add(entry.target, entry.coefficient * square);
            }
            for entry in plain {
                add(entry.target, entry.coefficient * mean[entry.at]);
            }
        }
        (constant, scaled)
    }

    /// The bound but for a constant, its gradient in $E$ at $(I + E) R$, and the rates of the gammas.
    ///
    /// Nothing where the basis is singular or a rate is not positive.
    pub(super) fn evaluate(&self, basis: &DMatrix<f64>) -> Option<(f64, DMatrix<f64>, Vec<f64>)> {
        let lu = basis.clone().lu();
        let determinant = lu.determinant().abs();
        let dual = lu.try_inverse()?.transpose();
        let (constant, scaled) = self.values(basis, &dual);
        let mut value = constant + self.volume * determinant.ln_();
        let mut rates = Vec::with_capacity(scaled.len());
        let mut weights = Vec::with_capacity(scaled.len());
        for ((&(shape, rate), now), then) in self.gammas.iter().zip(scaled).zip(&self.present) {
            let rate = rate - (now - then);
            if rate <= 0.0 || rate.is_nan() {
                return None;
            }
            value -= shape * rate.ln_();
            rates.push(rate);
            weights.push(shape / rate);
        }
        if !value.is_finite() {
            return None;
        }
        let (by_basis, by_dual) = self.gradients(basis, &dual, &weights);
        // R moves by E R and its dual by −Eᵀ dual.
        let mut gradient = by_basis * basis.transpose() - &dual * by_dual.transpose();
        for i in 0..self.size {
            gradient[(i, i)] += self.volume;
        }
        Some((value, gradient, rates))
    }

    /// The derivatives of all forms by the basis and by its dual, scales at their means.
    fn gradients(
        &self,
        basis: &DMatrix<f64>,
        dual: &DMatrix<f64>,
        weights: &[f64],
    ) -> (DMatrix<f64>, DMatrix<f64>) {
        let scale = |target: Target| target.map_or(1.0, |scale| weights[scale as usize]);
        let weight = |entry: &Entry| entry.coefficient * scale(entry.target);
        let size = self.size;
        let mut by_basis = DMatrix::zeros(size, size);
        let mut by_dual = DMatrix::zeros(size, size);
        for (quadratic, moment) in self.forms.quadratics.iter().zip(&self.seconds) {
            let by = quadratic.side.of(basis, dual);
            let slope = quadratic.side.of(&mut by_basis, &mut by_dual);
            let (right, left) = (by * moment, by * moment.transpose());
            for entry in &quadratic.entries {
                let ((i, j), weight) = (entry.at, weight(entry));
                for c in 0..size {
                    slope[(i, c)] += weight * left[(j, c)];
                    slope[(j, c)] += weight * right[(i, c)];
                }
            }
        }
        for (linear, sum) in self.forms.linears.iter().zip(&self.means) {
            let slope = linear.side.of(&mut by_basis, &mut by_dual);
            *slope += sum * scale(linear.target);
        }
        for ((squares, plain), matrix) in self.forms.matrices.iter().zip(&self.matrices) {
            let carried = &matrix.mean * dual.transpose();
            let turned = basis * &matrix.mean;
            let mean = basis * &carried;
            let spread = matrix.spread(dual);
            // By (R A R⁻¹)ᵢⱼ, and by the variances of its rows.
            let mut by_mean = DMatrix::zeros(size, size);
            let mut by_variance: DMatrix<f64> = DMatrix::zeros(size, size);
            for entry in squares {
                by_mean[entry.at] += 2.0 * weight(entry) * mean[entry.at];
                by_variance[entry.at] += weight(entry);
            }
            for entry in plain {
                by_mean[entry.at] += weight(entry);
            }
            by_basis += &by_mean * carried.transpose();
            by_dual += by_mean.transpose() * &turned;
            // Σ_c R_ic² s_cj, with s_cj the variance of row c along dual j.
            let by_square: DMatrix<f64> = &by_variance * spread.transpose();
            by_basis += by_square.component_mul(basis) * 2.0;
            let by_spread = basis.component_mul(basis).transpose() * &by_variance;
            for (c, covariance) in matrix.covariances.iter().enumerate() {
                let along = dual * covariance;
                for j in 0..size {
                    for k in 0..size {
                        by_dual[(j, k)] += 2.0 * by_spread[(c, j)] * along[(j, k)];
                    }
                }
            }
        }
        (by_basis, by_dual)
    }
}

impl RandomMatrix {
    /// The variance of row $c$ of $A$ along row $j$ of the dual basis.
    fn spread(&self, dual: &DMatrix<f64>) -> DMatrix<f64> {
        let mut out = DMatrix::zeros(self.covariances.len(), dual.nrows());
        for (c, covariance) in self.covariances.iter().enumerate() {
            let along = dual * covariance;
            for j in 0..dual.nrows() {
                out[(c, j)] = along.row(j).dot(&dual.row(j));
            }
        }
        out
    }
}
