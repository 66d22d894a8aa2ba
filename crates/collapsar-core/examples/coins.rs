//! Do and Batzoglou's two coins (Nature Biotechnology 26, 2008): five sets of ten tosses, each by one of two
//! coins, and nobody wrote down which. Their EM finds biases of 0.80 and 0.52.
//!
//! The sum over the data is one that the crate has: logits that are linear in the numbers of a row.

#![allow(clippy::print_stdout, reason = "an example shows its result")]

use collapsar_core::family::Dirichlet;
use collapsar_core::rows::{Features, Rows, SoftmaxSum};
use collapsar_core::special::ln_gamma;
use collapsar_core::{Blocks, Collapsed, Direction, Driver, IndexMap, Result};

const COINS: usize = 2;
/// Statistics of a coin: its sets, its heads, its tails.
const PARTS: usize = 3;
/// Heads and tails of each set.
const TOSSES: [[f64; 2]; 5] = [[5., 5.], [9., 1.], [8., 2.], [4., 6.], [7., 3.]];

struct Coins {
    local: SoftmaxSum,
    posterior: Blocks,
}

impl Coins {
    fn new() -> Result<Self> {
        let rows = Rows::new(TOSSES.as_flattened(), 2, &[0.0; 2], &[1.0; 2]);
        let counts = (0..COINS).fold(IndexMap::default(), |map, k| map.and(PARTS * k, k, 1.0));
        let mut posterior = Blocks::new(COINS * PARTS).join(
            "coins",
            Dirichlet::new(COINS),
            vec![1.0; COINS],
            counts,
        )?;
        for k in 0..COINS {
            let heads_and_tails = IndexMap::range(PARTS * k + 1, 2);
            posterior = posterior.join("bias", Dirichlet::new(2), vec![1.0; 2], heads_and_tails)?;
        }
        Ok(Self {
            local: SoftmaxSum::new(rows, Features::Linear, COINS),
            posterior,
        })
    }
}

impl Collapsed for Coins {
    type Local = SoftmaxSum;
    type Posterior = Blocks;

    fn local(&self) -> &SoftmaxSum {
        &self.local
    }

    fn posterior(&self) -> &Blocks {
        &self.posterior
    }

    /// The binomial coefficients.
    fn constant(&self) -> f64 {
        let ways = |[h, t]: [f64; 2]| ln_gamma(h + t + 1.0) - ln_gamma(h + 1.0) - ln_gamma(t + 1.0);
        TOSSES.into_iter().map(ways).sum()
    }

    fn fingerprint(&self) -> String {
        "two coins".into()
    }
}

/// The first coin begins as the one that likes heads.
fn start() -> Vec<f64> {
    vec![-0.7, -0.5, -0.9, -0.7, -0.7, -0.7]
}

fn biases() -> Result<[f64; 2]> {
    let model = Coins::new()?;
    let fit = Driver::new(&model, Direction::Auto).run(start())?;
    Ok([1, 2].map(|block| {
        let natural = model.posterior.natural(block, &fit.point.statistics);
        natural[0] / (natural[0] + natural[1])
    }))
}

fn main() -> Result<()> {
    println!("biases {:.2?}", biases()?);
    Ok(())
}

#[test]
fn laws_hold_and_biases_are_theirs() {
    use collapsar_core::laws::model::{conforms, rules_agree_on_stationarity};
    let model = Coins::new().unwrap();
    conforms(&model, &start(), 1).unwrap();
    rules_agree_on_stationarity(&model, &start()).unwrap();
    let [one, other] = biases().unwrap();
    // A prior of two tosses for each coin draws both towards a half.
    assert!((one - 0.80).abs() < 0.05 && (other - 0.52).abs() < 0.05);
}
