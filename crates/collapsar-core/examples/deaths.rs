//! Hasselblad's mixture of two Poisson distributions (JASA 64, 1969): deaths of women over eighty on 1,096 days, by
//! notices in The Times. Maximum likelihood gives rates of 1.26 and 2.66 with weights of 0.36 and 0.64, and EM
//! needs hundreds of iterations: the components overlap so much that a day tells little of its own.
//!
//! The sum over the data is written here, once for numbers of any kind: its Hessian product follows.

#![allow(clippy::print_stdout, reason = "an example shows its result")]

use collapsar_core::family::{Dirichlet, Gamma};
use collapsar_core::number::Real;
use collapsar_core::special::ln_gamma;
use collapsar_core::{
    Blocks, Collapsed, Differentiated, Direction, Driver, Fit, IndexMap, Result, Smooth, Stop,
};

const RATES: usize = 2;
/// Statistics of a rate: its days, their deaths, and its days again as the time that the rate had.
const PARTS: usize = 3;
/// Days with none, one, two, … deaths.
const DAYS: [f64; 10] = [162., 267., 271., 185., 111., 61., 27., 8., 3., 1.];

/// $A(m) = \sum_y n_y \ln \sum_k \exp(m_{k0} + y m_{k1} + m_{k2})$.
struct Days;

impl Smooth for Days {
    fn dim(&self) -> usize {
        RATES * PARTS
    }

    fn value_and_gradient<T: Real>(&self, at: &[T], gradient: &mut [T]) -> Result<T> {
        gradient.fill(0.0.into());
        let mut value = T::from(0.0);
        for (deaths, days) in DAYS.into_iter().enumerate() {
            let (deaths, days) = (T::from(deaths as f64), T::from(days));
            let offers = at
                .chunks(PARTS)
                .map(|m| (m[0] + deaths * m[1] + m[2]).exp());
            let offers: Vec<T> = offers.collect();
            let total = offers.iter().fold(T::from(0.0), |sum, offer| sum + *offer);
            value += days * total.ln();
            for (part, offer) in gradient.chunks_mut(PARTS).zip(offers) {
                let expected = days * offer / total;
                part[0] += expected;
                part[1] += deaths * expected;
                part[2] += expected;
            }
        }
        Ok(value)
    }
}

struct Deaths {
    local: Differentiated<Days>,
    posterior: Blocks,
}

impl Deaths {
    fn new() -> Result<Self> {
        let days = (0..RATES).fold(IndexMap::default(), |map, k| map.and(PARTS * k, k, 1.0));
        let weights = Dirichlet::new(RATES);
        let mut posterior =
            Blocks::new(RATES * PARTS).join("weights", weights, vec![1.0; RATES], days)?;
        for k in 0..RATES {
            let deaths_and_time = IndexMap::range(PARTS * k + 1, 2);
            posterior = posterior.join("rate", Gamma, vec![1.0, 0.5], deaths_and_time)?;
        }
        Ok(Self {
            local: Differentiated(Days),
            posterior,
        })
    }

    fn fit(&self, direction: Direction) -> Result<Fit> {
        Driver::new(self, direction)
            .stop(Stop::Gain(1e-9) | Stop::Iterations(10_000))
            .run(start())
    }

    /// The posterior mean of each rate.
    fn rates(&self, fit: &Fit) -> [f64; RATES] {
        [1, 2].map(|block| {
            let natural = self.posterior.natural(block, &fit.point.statistics);
            natural[0] / natural[1]
        })
    }
}

impl Collapsed for Deaths {
    type Local = Differentiated<Days>;
    type Posterior = Blocks;

    fn local(&self) -> &Self::Local {
        &self.local
    }

    fn posterior(&self) -> &Blocks {
        &self.posterior
    }

    fn constant(&self) -> f64 {
        let days = DAYS.iter().enumerate();
        days.map(|(deaths, days)| -days * ln_gamma(deaths as f64 + 1.0))
            .sum()
    }

    fn fingerprint(&self) -> String {
        "deaths in The Times".into()
    }
}

/// Rates of one and three deaths a day, as common as each other.
fn start() -> Vec<f64> {
    vec![-0.7, 0.0, -1.0, -0.7, 3.0_f64.ln(), -3.0]
}

fn main() -> Result<()> {
    let model = Deaths::new()?;
    for direction in [
        Direction::Vbem,
        Direction::Auto,
        Direction::Newton,
        Direction::Dense,
    ] {
        let fit = model.fit(direction)?;
        let rates = model.rates(&fit);
        println!(
            "{direction:>6}: rates {rates:.3?}, bound {:.4}, {} passes",
            fit.point.bound, fit.passes
        );
    }
    Ok(())
}

#[test]
fn laws_hold_and_newton_is_sooner() {
    use collapsar_core::laws::model::{conforms, rules_agree_on_stationarity};
    let model = Deaths::new().unwrap();
    conforms(&model, &start(), 1).unwrap();
    rules_agree_on_stationarity(&model, &start()).unwrap();
    let (plain, newton) = (Direction::Vbem, Direction::Newton);
    let (plain, newton) = (model.fit(plain).unwrap(), model.fit(newton).unwrap());
    assert!(newton.point.bound > plain.point.bound - 1e-3 && newton.passes < plain.passes);
}
