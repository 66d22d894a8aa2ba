//! A normal variable between constant bounds, and how its moments are integrated.
//!
//! Closed forms by normal CDFs cancel far out in the tails and between close bounds, and there
//! are none where the precision is negative. One quadrature serves every case: from each top of the
//! density downwards, as far as it is above rounding, by Gauss's rule.

use std::f64::consts::{FRAC_1_SQRT_2, TAU};

use crate::random::{Distribution, Exp1, StandardNormal};
use rand::{Rng, RngExt};

use super::marginal::solve;
use super::{Family, check_length, require};
use crate::collapsed::Potential;
use crate::elementary::Elementary;
use crate::error::Result;

const BLOCK: &str = "truncated normal block";
/// Normal draws that are tried before a quantile is computed.
const TRIES: usize = 8;
/// Standard deviations from the centre beyond which exponentials are better proposals than normals: there a third of the
/// latter would be accepted.
const TAIL: f64 = 0.45;

/// Standard deviations between a bound and the centre up to which the normal CDF loses no digits to the rest of the value.
const NEAR: f64 = 6.0;

/// ln 2π, to the bits of [`Elementary::ln_`].
const LN_TAU: f64 = 1.837_877_066_409_345_3;

/// A normal variable between constant bounds, of which one may be infinite, or both.
///
/// Natural parameters are $(h, \lambda)$, statistics $(x, -\tfrac12 x^2)$.
///
/// $$p(x) \propto e^{hx - \frac12 \lambda x^2}, \quad l \le x \le u, \qquad
/// A = \ln \int_l^u e^{hx - \frac12 \lambda x^2} dx$$
///
/// Between finite bounds $\lambda$ may be any number; otherwise it must be positive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TruncatedNormal {
    lower: f64,
    upper: f64,
}

/// A stretch along which the density falls, from its top on.
#[derive(Clone, Copy)]
struct Piece {
    /// The top, as its distance from the reference point.
    top: f64,
    /// Whether it falls to the right, 1, or to the left, -1.
    side: f64,
    /// How far it goes before it ends or no longer matters.
    length: f64,
    /// The slope of the log density at the top, without sign.
    slope: f64,
    /// The log density at the top, less that at the reference point.
    ln_height: f64,
}

/// The density cut into pieces, and where distances are measured from: its highest top.
struct Pieces {
    reference: f64,
    ln_peak: f64,
    precision: f64,
    parts: [Option<Piece>; 2],
}

/// Mass and central moments.
struct Moments {
    ln_mass: f64,
    mean: f64,
    second: f64,
    third: f64,
    fourth: f64,
}

impl TruncatedNormal {
    /// A variable between these bounds.
    ///
    /// # Errors
    /// Where the lower bound is not below the upper one.
    pub fn new(lower: f64, upper: f64) -> Result<Self> {
        // Of two numbers, the lower is not plus infinity and the upper not minus infinity.
        let expected = "a lower bound below the upper one";
        require(lower < upper, BLOCK, expected, || {
            format!("the bounds are {lower} and {upper}")
        })?;
        Ok(Self { lower, upper })
    }

    /// The bounds.
    pub fn bounds(&self) -> (f64, f64) {
        (self.lower, self.upper)
    }

    /// The bound that is finite, where the other is not.
    fn lone_bound(&self) -> Option<f64> {
        match (self.lower.is_finite(), self.upper.is_finite()) {
            (true, false) => Some(self.lower),
            (false, true) => Some(self.upper),
            _ => None,
        }
    }

    /// The mean and the variance.
    ///
    /// # Errors
    /// Outside the domain.
    pub fn mean_and_variance(&self, natural: &[f64]) -> Result<(f64, f64)> {
        let moments = self.pieces(natural)?.moments();
        Ok((moments.mean, moments.second))
    }

    /// The value that has this probability below it.
    ///
    /// # Errors
    /// Outside the domain.
    pub fn quantile(&self, natural: &[f64], probability: f64) -> Result<f64> {
        let value = self.pieces(natural)?.quantile(probability);
        // The sum of a top and a distance may round to just outside.
        Ok(value.clamp(self.lower, self.upper))
    }

    fn check(&self, h: f64, precision: f64) -> Result<()> {
        let finite = h.is_finite() && precision.is_finite();
        require(finite, BLOCK, "finite numbers", || {
            format!("the parameters are {h} and {precision}")
        })?;
        let bounded = precision > 0.0 || (self.lower.is_finite() && self.upper.is_finite());
        let expected = "a positive number where a bound is infinite";
        require(bounded, BLOCK, expected, || {
            format!("the precision is {precision}")
        })
    }

    fn pieces(&self, natural: &[f64]) -> Result<Pieces> {
        check_length(BLOCK, natural, 2)?;
        let (h, precision) = (natural[0], natural[1]);
        self.check(h, precision)?;
        let ln_density = |x: f64| x * (h - 0.5 * precision * x);
        let centre = h / precision;
        let inside = self.lower < centre && centre < self.upper;
        // Tops with the side on which the density falls, and how far it does.
        let (lower, upper) = (self.lower, self.upper);
        let tops = if inside && precision > 0.0 {
            [Some((centre, -1.0, lower)), Some((centre, 1.0, upper))]
        } else if inside {
            [Some((lower, 1.0, centre)), Some((upper, -1.0, centre))]
        } else {
            // One slope throughout; at an end where it is zero the curvature decides.
            let slope = h - precision * lower;
            let falls = slope < 0.0 || (slope == 0.0 && precision > 0.0);
            let (left, right) = ((lower, 1.0, upper), (upper, -1.0, lower));
            let only = if lower.is_finite() && falls {
                left
            } else {
                right
            };
            [Some(only), None]
        };
        let reference = tops
            .iter()
            .flatten()
            .map(|top| top.0)
            .reduce(|a, b| if ln_density(b) > ln_density(a) { b } else { a })
            .unwrap_or(centre);
        let ln_peak = ln_density(reference);
        let expected = "parameters that are not too large";
        require(ln_peak.is_finite(), BLOCK, expected, || {
            format!("the log density is {ln_peak} at its top")
        })?;
        let piece = |(top, side, end): (f64, f64, f64)| {
            let slope = if inside && precision > 0.0 {
                0.0
            } else {
                (h - precision * top).abs()
            };
            let away = top - reference;
            Piece {
                top: away,
                side,
                length: (end - top).abs().min(reach(slope, precision)),
                slope,
                // The difference of two values of the log density, factored.
                ln_height: away * (h - 0.5 * precision * (top + reference)),
            }
        };
        Ok(Pieces {
            reference,
            ln_peak,
            precision,
            parts: tops.map(|top| top.map(piece)),
        })
    }
}

/// How far from a top the log density has fallen by forty, beyond which nothing is left of the
/// integral in sixteen digits: the root of slope w + ½ precision w² = 40.
fn reach(slope: f64, precision: f64) -> f64 {
    const FALL: f64 = 40.0;
    let square = slope * slope + 2.0 * FALL * precision;
    if square < 0.0 {
        return f64::INFINITY; // it turns before
    }
    2.0 * FALL / (slope + square.sqrt())
}

/// Panels to a piece: along each the log density falls by ten or a little more, which the rule
/// below integrates to rounding.
const PANELS: u32 = 4;

/// Gauss's rule of sixteen points: positive nodes and their weights.
const GAUSS: [(f64, f64); 8] = [
    (0.095_012_509_837_637_44, 0.189_450_610_455_068_5),
    (0.281_603_550_779_258_9, 0.182_603_415_044_923_6),
    (0.458_016_777_657_227_4, 0.169_156_519_395_002_54),
    (0.617_876_244_402_643_7, 0.149_595_988_816_576_73),
    (0.755_404_408_355_003, 0.124_628_971_255_533_87),
    (0.865_631_202_387_831_7, 0.095_158_511_682_492_79),
    (0.944_575_023_073_232_6, 0.062_253_523_938_647_89),
    (0.989_400_934_991_649_9, 0.027_152_459_411_754_095),
];

/// Points of two pieces, which no density has more of.
const POINTS: usize = 2 * PANELS as usize * 2 * GAUSS.len();

/// Visits nodes and weights of the rule on an interval.
pub(super) fn gauss(from: f64, to: f64, mut visit: impl FnMut(f64, f64)) {
    let (middle, half) = (0.5 * (from + to), 0.5 * (to - from));
    for (node, weight) in GAUSS {
        visit(middle - half * node, half * weight);
        visit(middle + half * node, half * weight);
    }
}

impl Piece {
    /// The density at a distance from the top, in units of the peak.
    fn density(&self, precision: f64, away: f64) -> f64 {
        (self.ln_height - away * (self.slope + 0.5 * precision * away)).exp_()
    }

    /// The mass between two distances from the top.
    fn mass(&self, precision: f64, from: f64, to: f64) -> f64 {
        let mut sum = 0.0;
        gauss(from, to, |w, weight| {
            sum += weight * self.density(precision, w);
        });
        sum
    }

    fn panel(&self, k: u32) -> (f64, f64) {
        let edge = |k: u32| self.length * (f64::from(k) / f64::from(PANELS));
        (edge(k), edge(k + 1))
    }
}

impl Pieces {
    /// Visits points, as distances from the reference, and their masses.
    fn visit(&self, mut visit: impl FnMut(f64, f64)) {
        for piece in self.parts.iter().flatten() {
            for k in 0..PANELS {
                let (from, to) = piece.panel(k);
                gauss(from, to, |w, weight| {
                    let mass = weight * piece.density(self.precision, w);
                    visit(piece.top + piece.side * w, mass);
                });
            }
        }
    }

    fn moments(&self) -> Moments {
        // Exponentials are what this costs: each point is visited once and kept for the central moments.
        let (mut points, mut count) = ([(0.0, 0.0); POINTS], 0);
        let (mut mass, mut first) = (0.0, 0.0);
        self.visit(|x, weight| {
            mass += weight;
            first += weight * x;
            points[count] = (x, weight);
            count += 1;
        });
        let mean = first / mass;
        let (mut second, mut third, mut fourth) = (0.0, 0.0, 0.0);
        for &(x, weight) in &points[..count] {
            let away = x - mean;
            let square = weight * away * away;
            second += square;
            third += square * away;
            fourth += square * away * away;
        }
        Moments {
            ln_mass: self.ln_peak + mass.ln_(),
            mean: self.reference + mean,
            second: second / mass,
            third: third / mass,
            fourth: fourth / mass,
        }
    }

    /// Finds the panel that the probability falls in, then solves inside it.
    fn quantile(&self, probability: f64) -> f64 {
        // Panels from left to right; of a piece that falls to the left the last comes first.
        let mut panels = Vec::with_capacity(2 * PANELS as usize);
        for piece in self.parts.iter().flatten() {
            for k in 0..PANELS {
                let (from, to) = piece.panel(if piece.side > 0.0 { k } else { PANELS - 1 - k });
                panels.push((piece, from, to, piece.mass(self.precision, from, to)));
            }
        }
        let total: f64 = panels.iter().map(|panel| panel.3).sum();
        let mut left = probability.clamp(0.0, 1.0) * total;
        let mut place = 0;
        while place + 1 < panels.len() && left > panels[place].3 {
            left -= panels[place].3;
            place += 1;
        }
        // Measured from the top, what is wanted is the mass before the point or after it.
        let (piece, from, to, mass) = panels[place];
        let wanted = if piece.side > 0.0 { left } else { mass - left };
        let small = |_: f64| 1e-13 * piece.length;
        let away = solve(from, to, 0.5 * (from + to), small, |at| {
            let over = piece.mass(self.precision, from, at) - wanted;
            (over, piece.density(self.precision, at))
        });
        self.reference + (piece.top + piece.side * away)
    }
}

impl Potential for TruncatedNormal {
    fn dim(&self) -> usize {
        2
    }

    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let moments = self.pieces(at)?.moments();
        gradient[0] = moments.mean;
        gradient[1] = -0.5 * (moments.mean * moments.mean + moments.second);
        Ok(moments.ln_mass)
    }

    /// By the normal CDF where one bound is infinite and the other near the centre, which is as exact there and needs no sum.
    fn value(&self, at: &[f64]) -> Result<f64> {
        if let (&[h, precision], Some(bound)) = (at, self.lone_bound()) {
            self.check(h, precision)?;
            let (root, centre) = (precision.sqrt(), h / precision);
            let side = if self.upper.is_finite() { 1.0 } else { -1.0 };
            let inside = side * root * (bound - centre);
            if inside.abs() < NEAR {
                let ln_inside = (0.5 * libm::erfc(-inside * FRAC_1_SQRT_2)).ln_();
                // Of unit precision are the variables behind outcomes, many to a chain's step.
                let ln_width = match precision {
                    1.0 => LN_TAU,
                    _ => (TAU / precision).ln_(),
                };
                return Ok(0.5 * (ln_width + h * centre) + ln_inside);
            }
        }
        Ok(self.pieces(at)?.moments().ln_mass)
    }

    /// Covariances of x and -½x², by central moments (maths §3.11).
    fn hessian_product(&self, at: &[f64], along: &[f64], out: &mut [f64]) -> Result<()> {
        let m = self.pieces(at)?.moments();
        let (mean, second, third) = (m.mean, m.second, m.third);
        let mixed = -0.5 * (third + 2.0 * mean * second);
        let squares =
            0.25 * ((m.fourth - second * second) + 4.0 * mean * third + 4.0 * mean * mean * second);
        out[0] = second * along[0] + mixed * along[1];
        out[1] = mixed * along[0] + squares * along[1];
        Ok(())
    }
}

impl Family for TruncatedNormal {
    /// Those of the variable without bounds: where the density would have its top, $h / \lambda$, and the
    /// precision $\lambda$.
    type Ordinary = [f64; 2];
    type Draw = f64;

    fn natural(&self, [centre, precision]: &[f64; 2]) -> Result<Vec<f64>> {
        let shift = precision * centre;
        self.check(shift, *precision)?;
        Ok(vec![shift, *precision])
    }

    /// A density without curvature has no centre and is refused here only.
    fn ordinary(&self, natural: &[f64]) -> Result<[f64; 2]> {
        check_length(BLOCK, natural, 2)?;
        self.check(natural[0], natural[1])?;
        let (centre, precision) = (natural[0] / natural[1], natural[1]);
        let expected = "a precision other than zero";
        require(centre.is_finite(), BLOCK, expected, || {
            format!("the centre is {centre}")
        })?;
        Ok([centre, precision])
    }

    fn sample<R: Rng + ?Sized>(&self, natural: &[f64], rng: &mut R) -> Result<f64> {
        let [shift, precision] = natural else {
            return self.quantile(natural, rng.random());
        };
        // A normal draw that falls between the bounds is one of this distribution, and much cheaper
        // than a quantile; where few do, the quantile is taken.
        if *precision > 0.0 && shift.is_finite() {
            let (centre, sd) = (shift / precision, precision.sqrt().recip());
            // Beyond one bound alone, far from the centre: a tail.
            let tail = match (self.lower.is_finite(), self.upper.is_finite()) {
                (true, false) => Some(((self.lower - centre) / sd, sd)),
                (false, true) => Some(((centre - self.upper) / sd, -sd)),
                _ => None,
            };
            if let Some((bound, sd)) = tail.filter(|(bound, _)| *bound > TAIL && bound.is_finite())
            {
                let from = if sd > 0.0 { self.lower } else { self.upper };
                // Beyond the bound by so much; rounding of the sum must not lead back.
                let draw = from + sd * tail_draw(bound, rng);
                return Ok(draw.clamp(self.lower, self.upper));
            }
            for _ in 0..TRIES {
                let normal: f64 = StandardNormal.sample(rng);
                let draw = centre + sd * normal;
                if draw >= self.lower && draw <= self.upper {
                    return Ok(draw);
                }
            }
        }
        self.quantile(natural, rng.random())
    }

    fn statistics(&self, draw: &f64, out: &mut [f64]) {
        out[0] = *draw;
        out[1] = -0.5 * draw * draw;
    }
}

/// How far beyond `bound` a standard normal variable is that is beyond it: an exponential variable with the rate that makes
/// most proposals good (Robert95).
fn tail_draw<R: Rng + ?Sized>(bound: f64, rng: &mut R) -> f64 {
    let rate = 0.5 * (bound + bound.hypot_(2.0));
    loop {
        let exponential: f64 = Exp1.sample(rng);
        let beyond = exponential / rate;
        let miss = bound + beyond - rate;
        if rng.random::<f64>() <= (-0.5 * miss * miss).exp_() {
            return beyond;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn the_width_of_unit_precision_is_a_constant() {
        assert_eq!(LN_TAU.to_bits(), TAU.ln_().to_bits());
    }

    /// Draws beyond one bound, near and far, have the moments of the quadrature.
    #[test]
    fn draws_of_tails_have_the_moments() {
        let mut rng = ChaCha8Rng::seed_from_u64(9);
        for (lower, upper, mean) in [
            (0.0, INF, -0.6),
            (0.0, INF, -3.0),
            (2.0, INF, -40.0),
            (-INF, 0.0, 1.1),
            (-INF, -1.0, 8.0),
            (0.0, INF, 0.3),
        ] {
            let family = TruncatedNormal::new(lower, upper).expect("bounds in order");
            let natural = [1.7 * mean, 1.7];
            let (mean, variance) = family.mean_and_variance(&natural).expect("inside");
            let count = 40_000;
            let draws: Vec<f64> = (0..count)
                .map(|_| family.sample(&natural, &mut rng).expect("inside"))
                .collect();
            assert!(draws.iter().all(|x| (lower..=upper).contains(x)));
            let size = f64::from(count);
            let found = draws.iter().sum::<f64>() / size;
            let squares: f64 = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / size;
            // Five standard errors of a mean; of a variance too, whose kurtosis is at most that of an exponential, 9.
            assert!(
                (found - mean).abs() < 5.0 * (variance / size).sqrt(),
                "{found} {mean}"
            );
            let error = variance * (8.0 / size).sqrt();
            assert!(
                (squares - variance).abs() < 5.0 * error,
                "{squares} {variance}"
            );
        }
    }

    const INF: f64 = f64::INFINITY;

    // By quad of mpmath 1.3.0 with 40 digits.
    const TABLE: &str = "\
lower upper h precision value mean variance
0 inf 1 2 0.54825691014031436 0.78897818137263137 0.27200252000425088
0 inf -300 2 -5.7038046956439907 0.0033331852016433842 1.1109629903914908e-5
0 inf 50 1 1250.9189385332047 50 1
-inf 1 30 4 24.736071381622208 0.96198071969801027 0.0014292123623855134
-1 2 0.3 0.7 0.92546516034875697 0.46974441622970309 0.60481397983105867
5 6 0 10000 -125010.81978228437 5.0000199998400032 3.9999040031998674e-10
-1 2 0.7 -3 5.5873095934312731 1.8061914343969028 0.070278887795295223
0 1 0 0 0 0.5 0.083333333333333333
0 1 -60 0 -4.0943445622221007 0.016666666666666667 0.00027777777777777778
1 1.001 3 2 -4.9072555707322059 1.000500083249993 8.3333323619423011e-8
-2 3 1 -80 357.51658522879885 2.9958391122763253 1.736128092110773e-5
100 inf 0 1 -5004.6052701610004 100.00999800099926 9.994004994826345e-5";

    #[test]
    fn moments_match_mpmath() {
        for line in TABLE.lines().skip(1) {
            let numbers = line
                .split(' ')
                .map(|field| field.parse().expect("a number"));
            let row: Vec<f64> = numbers.collect();
            let (natural, expected) = ([row[2], row[3]], &row[4..]);
            let family = TruncatedNormal::new(row[0], row[1]).expect("bounds in order");
            let value = family.value_and_gradient(&natural, &mut [0.0; 2]);
            let (mean, variance) = family.mean_and_variance(&natural).expect("inside");
            let found = [value.expect("in the domain"), mean, variance];
            for (f, e) in found.iter().zip(expected) {
                // Bounds such as 1.001 and sums of 128 terms are rounded.
                assert!(
                    (f - e).abs() <= 2e-13 * e.abs().max(0.1),
                    "{natural:?}: {f} {e}"
                );
            }
            let error = (variance - expected[2]).abs() / expected[2];
            assert!(error < 1e-12, "{natural:?}: variance off by {error:e}");
        }
    }

    #[test]
    fn value_is_a_difference_of_normal_cdfs() {
        let cdf = |z: f64| 0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2);
        for (lower, upper) in [(-1.0, 0.5), (0.2, 3.0), (-INF, 0.1), (-INF, INF)] {
            let family = TruncatedNormal::new(lower, upper).expect("bounds in order");
            for (mean, precision) in [(0.0, 1.0), (0.7, 3.0), (-1.0, 0.2)] {
                let root = f64::sqrt(precision);
                let inside = cdf(root * (upper - mean)) - cdf(root * (lower - mean));
                let whole =
                    0.5 * ((std::f64::consts::TAU / precision).ln() + precision * mean * mean);
                let natural = [precision * mean, precision];
                let found = family.value_and_gradient(&natural, &mut [0.0; 2]);
                let alone = family.value(&natural).expect("inside");
                let (found, expected) = (found.expect("inside"), whole + inside.ln());
                assert!(
                    (alone - found).abs() < 1e-13 * found.abs().max(1.0),
                    "{alone} {found}"
                );
                // The difference of CDFs loses two digits at most here.
                assert!((found - expected).abs() < 1e-13, "{found} {expected}");
                // And quantiles have the probability they are asked for.
                for probability in [1e-6, 0.1, 0.5, 0.93] {
                    let x = family.quantile(&natural, probability).expect("inside");
                    let below = cdf(root * (x - mean)) - cdf(root * (lower - mean));
                    assert!((below / inside - probability).abs() < 1e-12, "{x}");
                }
            }
        }
    }

    #[test]
    fn parameters_outside_the_domain_are_errors() {
        assert!(TruncatedNormal::new(1.0, 1.0).is_err());
        assert!(TruncatedNormal::new(f64::NAN, 1.0).is_err());
        assert!(TruncatedNormal::new(INF, INF).is_err());
        let half = TruncatedNormal::new(0.0, INF).expect("bounds in order");
        let whole = TruncatedNormal::new(0.0, 1.0).expect("bounds in order");
        for bad in [&[-1.0, 0.0][..], &[1.0, -1.0], &[f64::NAN, 1.0], &[1.0]] {
            assert!(
                half.value_and_gradient(bad, &mut [0.0; 2]).is_err(),
                "{bad:?}"
            );
        }
        assert!(
            whole
                .value_and_gradient(&[-1.0, 0.0], &mut [0.0; 2])
                .is_ok()
        );
        assert!(
            whole
                .value_and_gradient(&[INF, 1.0], &mut [0.0; 2])
                .is_err()
        );
        assert!(whole.ordinary(&[1.0, 0.0]).is_err());
        assert_eq!(
            half.natural(&[1.0, -2.0])
                .expect_err("unbounded")
                .to_string(),
            "truncated normal block: the precision is -2, \
             expected a positive number where a bound is infinite"
        );
    }
}
