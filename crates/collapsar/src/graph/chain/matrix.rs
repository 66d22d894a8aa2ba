//! Decides how a precision matrix and the effects that it scales move together: by matrices that change both and leave
//! their prior as it is (maths §10.7).
//!
//! What [`super::scale`] does for one precision. The distances $d_g$ of vectors of effects from their means become
//! $A\,d_g$, and the matrix $A^{-\top}\Omega A^{-1}$. With $A$ a factor for one coordinate the density of its logarithm is
//! drawn from by a slice; with $A$ a multiple of one coordinate that is added to another it is normal.

use std::collections::BTreeMap;

use collapsar_core::random::{Distribution, StandardNormal};
use rand::Rng;

use super::scale::{Effect, NOTHING, dot, effects, slice};
use crate::graph::block::{BlockFamily, Placed, range_of};
use crate::graph::compiled::Compiled;
use collapsar_core::elementary::Elementary;
use collapsar_core::family::Gaussian;

/// A precision matrix with the effects whose prior it is.
#[derive(Debug, Clone)]
pub(super) struct Matrix {
    /// The matrix among collapsed blocks, and the field of the effects among shared ones.
    wishart: usize,
    field: usize,
    dim: usize,
    /// The quadratic forms that entries of the matrix multiply, those of the upper triangle row by row, as natural
    /// parameters of the field have them: those that are not zero, by place.
    forms: Vec<Vec<(u32, f64)>>,
    /// Vectors of effects, one after another; each with the same precision times a number.
    effects: Vec<Effect>,
    /// The places of the products within each vector among the field's natural parameters, those of the upper triangle
    /// without its diagonal, row by row; none where the field does not join them.
    within: Vec<Option<u32>>,
    /// Whether the determinant, too, is told to something.
    determinant: bool,
}

/// What a move needs to know of a vector of effects, one after another, kept between moves.
#[derive(Debug, Clone, Default)]
pub(super) struct MatrixBuffers {
    x: Vec<f64>,
    /// Distances from the means.
    distances: Vec<f64>,
    /// The slope of the field's log density without the form, $h-\Lambda x$, and $\Lambda$ within each vector.
    slopes: Vec<f64>,
    curves: Vec<f64>,
    omega: Vec<f64>,
    before: Vec<f64>,
    prior: Vec<f64>,
}

impl Matrix {
    /// All that a model has.
    pub(super) fn all(model: &Compiled) -> Vec<Self> {
        // With own blocks, forms depend on what was drawn.
        if !model.local.own_base.is_empty() {
            return vec![];
        }
        let blocks = model.posterior.blocks().iter().enumerate();
        blocks
            .filter_map(|(wishart, placed)| match placed.0.family {
                BlockFamily::Wishart(family) => Self::new(model, wishart, family.dimensions()),
                _ => None,
            })
            .collect()
    }

    fn new(model: &Compiled, wishart: usize, dim: usize) -> Option<Self> {
        let (local, posterior) = (&model.local, &model.posterior);
        let slots = local.own_first();
        let told = |statistic: usize, mean: f64| {
            let mut changes = vec![0.0; posterior.statistics()];
            changes[posterior.blocks()[wishart].1 + statistic] = mean;
            let mut messages = vec![0.0; slots];
            posterior.backward_changes(&vec![0.0; slots], &changes, &mut messages);
            messages
        };
        let (mut whole, mut field) = (vec![], None);
        for (place, (k, l)) in pairs(dim).enumerate() {
            // Statistics are -½ of what is on the diagonal, and the negative of what is off it.
            let messages = told(1 + place, if k == l { -0.5 } else { -1.0 });
            let sees = |slot: u32| messages[slot as usize] != 0.0;
            if local.rows.iter().any(|rows| rows.looks_at(sees)) {
                return None;
            }
            let form = local.spread(&messages);
            for (block, placed) in local.blocks().0.iter().enumerate() {
                let used = form[range_of(placed)].iter().any(|entry| *entry != 0.0);
                if used && *field.get_or_insert(block) != block {
                    return None;
                }
            }
            whole.push(form);
        }
        let field = field?;
        let placed: &Placed = &local.blocks().0[field];
        let BlockFamily::Gaussian(family) = &placed.0.family else {
            return None;
        };
        let forms: Vec<&[f64]> = whole.iter().map(|form| &form[range_of(placed)]).collect();
        let effects = vectors(family, &forms, dim)?;
        let matrix = Self {
            wishart,
            field,
            dim,
            within: within(&effects, dim)?,
            effects,
            forms: forms.iter().map(|form| nonzero(form)).collect(),
            determinant: told(0, 1.0).iter().any(|message| *message != 0.0),
        };
        matrix.is_prior(family, &forms).then_some(matrix)
    }

    /// Whether the forms are those of the effects' distances alone: then the matrix is their precision.
    fn is_prior(&self, family: &Gaussian, forms: &[&[f64]]) -> bool {
        (1..4).all(|trial| {
            // No special values of scalars are among these.
            let at = |i: usize| (1.3 * (i * trial) as f64 + 0.7).sin_();
            let x: Vec<f64> = (0..family.scalars()).map(at).collect();
            let mut distances = vec![];
            self.measure(&x, &mut distances);
            let mut gram = vec![];
            self.write_gram(&distances, &mut gram);
            pairs(self.dim).zip(forms).all(|((k, l), form)| {
                let factor = if k == l { 0.5 } else { 1.0 };
                let value = dot(family, form, &x);
                // Against the diagonal's, since what is off it may be small by chance.
                let size = gram[k * self.dim + k] + gram[l * self.dim + l];
                (value + factor * gram[k * self.dim + l]).abs() <= NOTHING * size
            })
        })
    }

    fn measure(&self, x: &[f64], distances: &mut Vec<f64>) {
        distances.clear();
        distances.extend(self.effects.iter().map(|effect| effect.distance(x)));
    }

    /// Writes the sums of products of distances, over vectors.
    fn write_gram(&self, distances: &[f64], gram: &mut Vec<f64>) {
        let dim = self.dim;
        gram.clear();
        gram.resize(dim * dim, 0.0);
        let vectors = distances.chunks_exact(dim).zip(self.effects.chunks(dim));
        for (vector, effects) in vectors {
            for (k, l) in pairs(dim) {
                gram[k * dim + l] += effects[0].square * vector[k] * vector[l];
            }
        }
        for (k, l) in pairs(dim) {
            gram[l * dim + k] = gram[k * dim + l];
        }
    }
}

/// Vectors of effects: the first coordinate's are the effects of its own form, and those of the others are what the forms
/// off the diagonal join them to.
fn vectors(family: &Gaussian, forms: &[&[f64]], dim: usize) -> Option<Vec<Effect>> {
    let n = family.scalars();
    let mut coordinates = vec![];
    for (k, l) in pairs(dim) {
        let form = forms[place(dim, k, l)];
        if k == l {
            coordinates.push(Effect::all(family, form, &effects(family, form)));
        }
    }
    let count = coordinates.first()?.len();
    if count == 0 || coordinates.iter().any(|of| of.len() != count) {
        return None;
    }
    let mut order = vec![vec![usize::MAX; n]; dim];
    for (of, order) in coordinates.iter().zip(&mut order) {
        for (at, effect) in of.iter().enumerate() {
            order[effect.scalar] = at;
        }
    }
    let mut partner = vec![vec![usize::MAX; count]; dim];
    partner[0] = (0..count).collect();
    for l in 1..dim {
        let joined = family.pairs().iter().zip(&forms[place(dim, 0, l)][2 * n..]);
        for (&(i, j), coupling) in joined {
            for (one, other) in [(i, j), (j, i)] {
                let (at, of) = (order[0][one as usize], order[l][other as usize]);
                if *coupling != 0.0 && at != usize::MAX && of != usize::MAX {
                    partner[l][at] = of;
                }
            }
        }
    }
    let all = (0..count).flat_map(|at| {
        partner
            .iter()
            .zip(&coordinates)
            .map(move |(p, of)| of.get(p[at]).cloned())
    });
    all.collect()
}

/// The places of products within each vector; nothing where the field joins effects of two vectors, which then do not move
/// independently.
fn within(effects: &[Effect], dim: usize) -> Option<Vec<Option<u32>>> {
    let vector: BTreeMap<usize, usize> = (effects.iter().enumerate())
        .map(|(at, effect)| (effect.scalar, at / dim))
        .collect();
    let mut places = vec![];
    for (at, effects) in effects.chunks_exact(dim).enumerate() {
        for (k, effect) in effects.iter().enumerate() {
            let others = effect.joined.iter().map(|(other, _)| *other as usize);
            if others
                .filter_map(|other| vector.get(&other))
                .any(|of| *of != at)
            {
                return None;
            }
            places.extend(effects[k + 1..].iter().map(|other| {
                let mut joined = effect.joined.iter();
                let found = joined.find(|(to, _)| *to as usize == other.scalar);
                found.map(|&(_, parameter)| parameter)
            }));
        }
    }
    Some(places)
}

fn nonzero(form: &[f64]) -> Vec<(u32, f64)> {
    let entries = (0..).zip(form.iter().copied());
    entries.filter(|(_, entry)| *entry != 0.0).collect()
}

/// The upper triangle, row by row.
fn pairs(dim: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..dim).flat_map(move |k| (k..dim).map(move |l| (k, l)))
}

/// The place of an entry of the upper triangle.
fn place(dim: usize, k: usize, l: usize) -> usize {
    k * dim - k * (k + 1) / 2 + l
}

impl super::Chain<'_> {
    /// Moves each precision matrix together with its effects.
    pub(super) fn respread<R: Rng + ?Sized>(&mut self, rng: &mut R) {
        if self.matrices.is_empty() {
            return;
        }
        let matrices = std::mem::take(&mut self.matrices);
        for matrix in &matrices {
            // Another matrix may have told its determinant to this one's field.
            self.tell();
            self.respread_one(matrix, rng);
        }
        self.matrices = matrices;
    }

    fn respread_one<R: Rng + ?Sized>(&mut self, matrix: &Matrix, rng: &mut R) {
        let (local, posterior) = (&self.model.local, &self.model.posterior);
        let placed = &local.blocks().0[matrix.field];
        let (first, dim) = (posterior.blocks()[matrix.wishart].1, matrix.dim);
        let natural = &mut self.work.shared[range_of(placed)];
        let buffers = &mut self.work.matrix;
        let targets = &self.targets[0][matrix.field];
        let scalars = targets.iter().map(|&target| self.numbers[target as usize]);
        buffers.x.clear();
        buffers.x.extend(scalars);
        for square in [&mut buffers.omega, &mut buffers.prior] {
            square.clear();
            square.resize(dim * dim, 0.0);
        }
        for (at, (k, l)) in pairs(dim).enumerate() {
            let factor = if k == l { -2.0 } else { -1.0 };
            let entry = factor * self.collapsed[first + 1 + at];
            for place in [k * dim + l, l * dim + k] {
                buffers.omega[place] = entry;
                buffers.prior[place] = posterior.base(first + 1 + at);
            }
        }
        buffers.before.clone_from(&buffers.omega);
        matrix.begin(natural, buffers);
        let power = (matrix.effects.len() / dim) as f64 - self.work.given[first];
        let mut ln_scale = 0.0;
        for k in 0..dim {
            for l in 0..k {
                matrix.shear((k, l), buffers, rng);
            }
            ln_scale += matrix.stretch(k, power, buffers, rng);
        }
        for effect in &matrix.effects {
            self.numbers[targets[effect.scalar] as usize] = buffers.x[effect.scalar];
        }
        matrix.tell_change(natural, buffers);
        // What is told of the determinant is not in these natural parameters alone.
        self.work.told &= !matrix.determinant;
        self.collapsed[first] -= ln_scale;
        for (at, (k, l)) in pairs(dim).enumerate() {
            let factor = if k == l { -0.5 } else { -1.0 };
            self.collapsed[first + 1 + at] = factor * buffers.omega[k * dim + l];
        }
        for (&target, entry) in self.targets[2][matrix.wishart].iter().zip(&buffers.omega) {
            self.numbers[target as usize] = *entry;
        }
    }
}

impl Matrix {
    /// Gathers distances, slopes and curvatures from the field's natural parameters, the form taken out of them.
    fn begin(&self, natural: &[f64], buffers: &mut MatrixBuffers) {
        let dim = self.dim;
        self.measure(&buffers.x, &mut buffers.distances);
        let MatrixBuffers {
            x,
            distances,
            slopes,
            curves,
            omega,
            ..
        } = buffers;
        let n = x.len();
        slopes.clear();
        for effect in &self.effects {
            let i = effect.scalar;
            let joined = effect.joined.iter();
            let joined = joined.map(|&(other, at)| natural[at as usize] * x[other as usize]);
            slopes.push(natural[i] - natural[n + i] * x[i] - joined.sum::<f64>());
        }
        curves.clear();
        curves.resize(self.effects.len() * dim, 0.0);
        let vectors = self
            .effects
            .chunks_exact(dim)
            .zip(distances.chunks_exact(dim));
        let slopes = slopes.chunks_exact_mut(dim);
        let mut within = self.within.iter();
        let curves = curves.chunks_exact_mut(dim * dim);
        for (((effects, distances), slopes), curves) in vectors.zip(slopes).zip(curves) {
            let times = effects[0].square;
            for (k, l) in pairs(dim) {
                let all = if k == l {
                    natural[n + effects[k].scalar]
                } else {
                    let place = within.next().copied().flatten();
                    place.map_or(0.0, |place| natural[place as usize])
                };
                let form = times * omega[k * dim + l];
                curves[k * dim + l] = all - form;
                curves[l * dim + k] = all - form;
                slopes[k] += form * distances[l];
                if k != l {
                    slopes[l] += form * distances[k];
                }
            }
        }
    }

    /// Adds a multiple of the effects' coordinate `l` to `k`.
    fn shear<R: Rng + ?Sized>(
        &self,
        (k, l): (usize, usize),
        buffers: &mut MatrixBuffers,
        rng: &mut R,
    ) {
        let dim = self.dim;
        let (slope, curve) = buffers.along(dim, k, l);
        let MatrixBuffers { omega, prior, .. } = &*buffers;
        let precision = curve + omega[k * dim + k] * prior[l * dim + l];
        let others = (0..dim).map(|m| omega[k * dim + m] * prior[l * dim + m]);
        let noise: f64 = StandardNormal.sample(rng);
        let by = (slope + others.sum::<f64>()) / precision + noise / precision.sqrt();
        if !(precision > 0.0 && by.is_finite()) {
            return;
        }
        self.settle((k, l), by, buffers);
        let MatrixBuffers { omega, .. } = buffers;
        // Ω - t e_l Ω_k' - t Ω_k e_l' + t² Ω_kk e_l e_l': rows, then columns of what rows have become.
        for m in 0..dim {
            omega[l * dim + m] -= by * omega[k * dim + m];
        }
        for m in 0..dim {
            omega[m * dim + l] -= by * omega[m * dim + k];
        }
    }

    /// Multiplies the effects' coordinate `k`; returns the logarithm of the factor.
    fn stretch<R: Rng + ?Sized>(
        &self,
        k: usize,
        power: f64,
        buffers: &mut MatrixBuffers,
        rng: &mut R,
    ) -> f64 {
        let dim = self.dim;
        let (slope, curve) = buffers.along(dim, k, k);
        let MatrixBuffers { omega, prior, .. } = &*buffers;
        let others = (0..dim).filter(|&m| m != k);
        let inverse: f64 = others
            .map(|m| omega[k * dim + m] * prior[k * dim + m])
            .sum();
        let (at_k, linear) = (omega[k * dim + k], slope + curve);
        let inverse_square = 0.5 * at_k * prior[k * dim + k];
        // Volumes grow by s for each effect; the matrix's density and volume fall by s to the degrees of freedom.
        let density = |y: f64| {
            let s = y.exp_();
            power * y + (linear - 0.5 * curve * s) * s - (inverse + inverse_square / s) / s
        };
        let y = slice(density, rng);
        let s = y.exp_();
        if !(s > 0.0 && s.is_finite() && at_k / (s * s) > 0.0) {
            return 0.0;
        }
        self.settle((k, k), s - 1.0, buffers);
        let MatrixBuffers { omega, .. } = buffers;
        for m in 0..dim {
            omega[k * dim + m] /= s;
        }
        for m in 0..dim {
            omega[m * dim + k] /= s;
        }
        y
    }

    /// Moves effects' coordinate `k` by so many distances of `l`.
    fn settle(&self, (k, l): (usize, usize), by: f64, buffers: &mut MatrixBuffers) {
        let dim = self.dim;
        let MatrixBuffers {
            x,
            distances,
            slopes,
            curves,
            ..
        } = buffers;
        let vectors = distances
            .chunks_exact_mut(dim)
            .zip(slopes.chunks_exact_mut(dim));
        let vectors = vectors
            .zip(curves.chunks_exact(dim * dim))
            .zip(self.effects.chunks_exact(dim));
        for (((distances, slopes), curves), effects) in vectors {
            let moved = by * distances[l];
            distances[k] += moved;
            x[effects[k].scalar] += moved;
            for (slope, curve) in slopes.iter_mut().zip(&curves[k * dim..]) {
                *slope -= curve * moved;
            }
        }
    }

    /// Tells the field how the matrix has changed.
    fn tell_change(&self, natural: &mut [f64], buffers: &MatrixBuffers) {
        for ((k, l), form) in pairs(self.dim).zip(&self.forms) {
            let change = buffers.omega[k * self.dim + l] - buffers.before[k * self.dim + l];
            for &(place, entry) in form {
                natural[place as usize] += change * entry;
            }
        }
    }
}

impl MatrixBuffers {
    /// The slope and the negative curvature of the field's log density, without the form, where effects' coordinate `k`
    /// moves by the distances of `l`.
    fn along(&self, dim: usize, k: usize, l: usize) -> (f64, f64) {
        let (mut slope, mut curve) = (0.0, 0.0);
        let slopes = self.slopes.chunks_exact(dim);
        let vectors = self.distances.chunks_exact(dim).zip(slopes);
        for ((distances, slopes), curves) in vectors.zip(self.curves.chunks_exact(dim * dim)) {
            let d = distances[l];
            slope += d * slopes[k];
            curve += d * d * curves[k * dim + k];
        }
        (slope, curve)
    }
}
