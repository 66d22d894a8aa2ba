//! The best change of basis: limited-memory BFGS on the group of invertible matrices.

use nalgebra::DMatrix;

use super::sums::Problem;

/// Steps that are remembered.
const MEMORY: usize = 8;
/// Most steps.
const STEPS: usize = 60;
/// Gains below this fraction of all so far, or below so many nats, are not worth another step. Principal
/// components take 30 passes to within 0.01 nats of the end; with a fraction of 0.01 they take 60 to 110.
const WORTH: f64 = 1e-6;
const LEAST: f64 = 1e-9;
/// Halvings of a step that leads down.
const HALVINGS: usize = 12;

/// A step and the fall of the gradient along it.
struct Pair {
    step: DMatrix<f64>,
    fall: DMatrix<f64>,
    curvature: f64,
}

impl Problem<'_> {
    /// The change of basis that raises the bound most, the rates of the gammas in it and by how much the bound
    /// rises; nothing where no step from $I$ raises it.
    ///
    /// Steps multiply: $R \leftarrow (I + E) R$, with gradients $\nabla F R^\top$ of $E$, in which the problem looks
    /// much the same wherever $R$ is.
    pub(super) fn climb(&self) -> Option<(DMatrix<f64>, Vec<f64>, f64)> {
        let identity = DMatrix::identity(self.size, self.size);
        let mut basis = identity.clone();
        let (mut value, mut gradient, mut rates) = self.evaluate(&basis)?;
        let first = value;
        let mut pairs: Vec<Pair> = vec![];
        for _ in 0..STEPS {
            let step = self.direction(&pairs, &gradient);
            let slope = step.dot(&gradient);
            if slope <= 0.0 || slope.is_nan() {
                break;
            }
            let mut length = 1.0;
            let found = (0..HALVINGS).find_map(|_| {
                let next = (&identity + &step * length) * &basis;
                let found = self
                    .evaluate(&next)
                    .filter(|(there, ..)| *there > value + 1e-4 * length * slope);
                if found.is_none() {
                    length *= 0.5;
                }
                found.map(|found| (next, found))
            });
            let Some((next, (there, gradient_there, rates_there))) = found else {
                break;
            };
            let step = step * length;
            let fall = &gradient - &gradient_there;
            let curvature = step.dot(&fall);
            if curvature > 1e-12 * step.norm() * fall.norm() {
                if pairs.len() == MEMORY {
                    pairs.remove(0);
                }
                pairs.push(Pair {
                    step,
                    fall,
                    curvature,
                });
            }
            let gain = there - value;
            (basis, value, gradient, rates) = (next, there, gradient_there, rates_there);
            if gain < WORTH * (value - first) || gain < LEAST {
                break;
            }
        }
        let gain = value - first;
        (gain > 0.0).then_some((basis, rates, gain))
    }

    /// The two loops of NocedalWright06 (7.4).
    fn direction(&self, pairs: &[Pair], gradient: &DMatrix<f64>) -> DMatrix<f64> {
        let mut direction = gradient.clone();
        let mut coefficients = Vec::with_capacity(pairs.len());
        for pair in pairs.iter().rev() {
            let coefficient = pair.step.dot(&direction) / pair.curvature;
            direction -= &pair.fall * coefficient;
            coefficients.push(coefficient);
        }
        // Before anything is known: the curvature of so many vectors of unit variance.
        direction *= match pairs.last() {
            Some(pair) => pair.curvature / pair.fall.norm_squared(),
            None => 1.0 / self.members.max(1.0),
        };
        for (pair, coefficient) in pairs.iter().zip(coefficients.iter().rev()) {
            let correction = pair.fall.dot(&direction) / pair.curvature;
            direction += &pair.step * (coefficient - correction);
        }
        direction
    }
}
