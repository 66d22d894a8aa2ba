//! The KL-corrected and the mean-field bound along a line of messages, with their slopes and curvatures.

use collapsar::mixture::Mixture;
use collapsar::{Collapsed, Point};
use collapsar_core::vector::{dot, dot_difference};

use crate::svg::Curve;

/// A line through a point of the messages, and q(X) there.
pub(crate) struct Line<'a> {
    model: &'a Mixture,
    along: Vec<f64>,
    /// m₀ and τ₀ of the common point, with the target μ₀ = ∇C(τ₀) in place of the gradient.
    common: Point,
    /// C(τ₀).
    posterior: f64,
}

/// Values and slopes of the two bounds at one place on the line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) values: Both,
    pub(crate) slopes: Both,
}

/// Of the collapsed bound and of the mean-field bound.
pub(crate) type Both = [f64; 2];

impl<'a> Line<'a> {
    pub(crate) fn new(
        model: &'a Mixture,
        messages: Vec<f64>,
        along: Vec<f64>,
    ) -> collapsar::Result<Self> {
        let (common, (_, posterior)) = evaluated(model, messages)?;
        Ok(Self {
            model,
            along,
            common,
            posterior,
        })
    }

    /// Both bounds at `t` times the direction from the common point.
    ///
    /// The mean-field bound of q(Z) at m and of q(X) = q*(X) at m₀ is the expected log joint
    /// <τ, μ₀>, plus the entropy of q(Z), A(m) − <m, τ>, less KL(q(X) || p(X)) = <τ₀, μ₀> − C(τ₀):
    ///
    ///   L_MF = A(m) − <m, τ> + <μ₀, τ − τ₀> + C(τ₀) + constant        (maths §1.8)
    ///
    /// The collapsed bound has C(τ) in place of its tangent at τ₀. C is convex, so it lies above,
    /// and the two touch at τ₀.
    pub(crate) fn at(&self, t: f64) -> collapsar::Result<Bounds> {
        let common = &self.common;
        let messages = common.messages.iter().zip(&self.along);
        let messages = messages.map(|(m, d)| m + t * d).collect();
        let (here, (local, posterior)) = evaluated(self.model, messages)?;
        let entropy = local - dot(&here.messages, &here.statistics) + self.model.constant();
        let tangent = dot_difference(&common.gradient, &here.statistics, &common.statistics);
        // The slope of A − <m, τ> + <μ, τ> along d is <J d, μ − m>, with μ at m or μ₀ in its place.
        let mut turned = vec![0.0; self.along.len()];
        self.model.metric_product(&here, &self.along, &mut turned)?;
        let slope = |target: &[f64]| dot_difference(&turned, target, &here.messages);
        Ok(Bounds {
            values: [entropy + posterior, entropy + tangent + self.posterior],
            slopes: [slope(&here.gradient), slope(&common.gradient)],
        })
    }

    /// Second derivatives at the common point, from slopes on both sides.
    pub(crate) fn curvatures(&self) -> collapsar::Result<Both> {
        // The slopes are exact to some 1e-12, so this step leaves errors of about 1e-8 either way.
        let h = 1e-4;
        let (ahead, behind) = (self.at(h)?.slopes, self.at(-h)?.slopes);
        Ok([0, 1].map(|bound| (ahead[bound] - behind[bound]) / (2.0 * h)))
    }

    /// The first peak of the collapsed bound ahead, or `most` where there is none before.
    pub(crate) fn peak(&self, most: f64) -> collapsar::Result<f64> {
        let rises = |t: f64| Ok::<_, collapsar::Error>(self.at(t)?.slopes[0] > 0.0);
        let (mut low, mut high) = (0.0, 0.5);
        while rises(high)? {
            (low, high) = (high, high + 0.5);
            if high > most {
                return Ok(most);
            }
        }
        while high - low > 1e-6 {
            let middle = f64::midpoint(low, high);
            if rises(middle)? {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// Both curves relative to the common point, which is where the reader compares them.
    pub(crate) fn curves(&self, (from, to): (f64, f64)) -> collapsar::Result<[Curve; 2]> {
        const POINTS: usize = 160;
        let zero = self.at(0.0)?.values[0];
        let mut curves = [Vec::new(), Vec::new()];
        for n in 0..=POINTS {
            let t = from + (to - from) * n as f64 / POINTS as f64;
            for (curve, value) in curves.iter_mut().zip(self.at(t)?.values) {
                curve.push((t, value - zero));
            }
        }
        Ok(curves)
    }
}

/// A point with its target in place of its gradient, A(m) and C(τ).
fn evaluated(model: &Mixture, messages: Vec<f64>) -> collapsar::Result<(Point, (f64, f64))> {
    let mut point = Point {
        statistics: vec![0.0; messages.len()],
        gradient: vec![0.0; messages.len()],
        messages,
        ..Point::default()
    };
    let values = model.evaluate(&mut point)?;
    Ok((point, values))
}

/// The direction of unit length in which VBEM is slowest at a stationary point, and its rate λ
/// there: the first eigenvector of F J, by power iteration.
pub(crate) fn slowest(model: &Mixture, point: &Point) -> collapsar::Result<(Vec<f64>, f64)> {
    // What is left of the gradient is already mostly that direction.
    let mut image = point.gradient.clone();
    let (mut along, mut turned) = (vec![0.0; image.len()], vec![0.0; image.len()]);
    let mut rate = 0.0;
    for _ in 0..1000 {
        std::mem::swap(&mut along, &mut image);
        model.metric_product(point, &along, &mut turned)?;
        let length = dot(&along, &turned).sqrt();
        for x in along.iter_mut().chain(&mut turned) {
            *x /= length;
        }
        model.covariance_product(point, &turned, &mut image)?;
        let before = std::mem::replace(&mut rate, dot(&turned, &image));
        if (rate - before).abs() < 1e-13 {
            break;
        }
    }
    Ok((along, rate))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curvature::{lines, model};

    /// After two VBEM steps, along the gradient.
    fn early(model: &Mixture) -> Line<'_> {
        lines(model, 0).unwrap().0
    }

    /// At the optimum, along the slowest direction.
    fn late(model: &Mixture) -> (Line<'_>, f64) {
        let (_, line, rate) = lines(model, 0).unwrap();
        (line, rate)
    }

    #[test]
    fn the_collapsed_bound_lies_above_and_touches() {
        for seed in 0..4 {
            let model = model(seed).unwrap();
            for line in [early(&model), late(&model).0] {
                let here = line.at(0.0).unwrap();
                // Sums of some hundred terms of size 100 in double precision.
                assert!((here.values[0] - here.values[1]).abs() < 1e-10);
                assert!((here.slopes[0] - here.slopes[1]).abs() < 1e-10);
                for n in -20..=40 {
                    let [collapsed, mean_field] = line.at(0.2 * f64::from(n)).unwrap().values;
                    assert!(collapsed >= mean_field - 1e-10);
                }
            }
        }
    }

    #[test]
    fn slopes_are_those_of_the_values() {
        let model = model(0).unwrap();
        let line = early(&model);
        let (t, h) = (0.7, 1e-4);
        let (ahead, behind) = (line.at(t + h).unwrap(), line.at(t - h).unwrap());
        let here = line.at(t).unwrap();
        // Central differences: h² times the third derivative, and rounding of 1e-13 over h.
        for bound in [0, 1] {
            let slope = (ahead.values[bound] - behind.values[bound]) / (2.0 * h);
            assert!((slope - here.slopes[bound]).abs() < 1e-7);
        }
    }

    #[test]
    fn curvatures_differ_by_the_covariance_term() {
        let model = model(1).unwrap();
        let (end, rate) = late(&model);
        for line in [&early(&model), &end] {
            let (mut turned, mut image) = (line.along.clone(), line.along.clone());
            let point = &line.common;
            model
                .metric_product(point, &line.along, &mut turned)
                .unwrap();
            model
                .covariance_product(point, &turned, &mut image)
                .unwrap();
            let [collapsed, mean_field] = line.curvatures().unwrap();
            let covariance = dot(&turned, &image);
            assert!(covariance > 0.0);
            // The error of `curvatures`: h² times fourth derivatives.
            assert!((collapsed - mean_field - covariance).abs() < 1e-5);
        }
        // In Fisher lengths the mean-field bound curves by -1, the collapsed one by λ - 1.
        let [collapsed, mean_field] = end.curvatures().unwrap();
        assert!((mean_field + 1.0).abs() < 1e-5);
        assert!((collapsed - (rate - 1.0)).abs() < 1e-5);
    }

    #[test]
    fn the_mean_field_bound_peaks_at_the_vbem_step() {
        let model = model(2).unwrap();
        let line = early(&model);
        let [collapsed, mean_field] = line.at(1.0).unwrap().slopes;
        assert!(mean_field.abs() < 1e-10);
        assert!(collapsed > 0.0);
        assert!(line.peak(20.0).unwrap() > 1.0);
    }
}
