//! Durbin and others' dishonest casino (Biological Sequence Analysis, 1998, section 3.2): a die that is now and
//! then replaced by a loaded one, which shows a six half of the time. From 300 throws they learn 0.19 for the
//! fair die's six and 0.52 for the loaded one's.
//!
//! Out of the ordinary: the explicit variable is a whole chain of states. Its log-partition function is a forward
//! pass, its gradient a backward one, and what follows of the Hessian comes from dual numbers.

#![allow(clippy::print_stdout, reason = "an example shows its result")]

use collapsar_core::family::Dirichlet;
use collapsar_core::number::Real;
use collapsar_core::{
    Blocks, Collapsed, Differentiated, Direction, Driver, IndexMap, Result, Smooth, Stop,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const DICE: usize = 2;
const FACES: usize = 6;
/// Messages of changes from one die to the next, then those of the faces of each die.
const DIM: usize = DICE * DICE + DICE * FACES;

fn change(from: usize, to: usize) -> usize {
    from * DICE + to
}

fn face(die: usize, face: usize) -> usize {
    DICE * DICE + die * FACES + face
}

/// Throws of a casino that changes the fair die with probability 0.05 and the loaded one with 0.1.
fn throws(number: usize) -> Vec<usize> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut loaded = false;
    let mut throw = || {
        loaded ^= rng.random_bool(if loaded { 0.1 } else { 0.05 });
        let six = loaded && rng.random_bool(0.4);
        if six { 5 } else { rng.random_range(0..FACES) }
    };
    (0..number).map(|_| throw()).collect()
}

/// $\ln \sum_z \exp(\ldots)$ over all paths of dice, by the forward recursion; each die as likely to be first.
struct Chain(Vec<usize>);

impl Smooth for Chain {
    fn dim(&self) -> usize {
        DIM
    }

    fn value_and_gradient<T: Real>(&self, at: &[T], gradient: &mut [T]) -> Result<T> {
        let Self(throws) = self;
        let zero = T::from(0.0);
        let weight: Vec<T> = at.iter().map(|message| message.exp()).collect();
        let mut value = T::from(0.0);
        let mut forward: Vec<[T; DICE]> = Vec::with_capacity(throws.len());
        for (t, &seen) in throws.iter().enumerate() {
            let mut now = [zero; DICE];
            for (die, now) in now.iter_mut().enumerate() {
                let reached = match t.checked_sub(1) {
                    None => T::from(1.0 / DICE as f64),
                    Some(before) => (0..DICE).fold(zero, |sum, from| {
                        sum + forward[before][from] * weight[change(from, die)]
                    }),
                };
                *now = reached * weight[face(die, seen)];
            }
            let total = now.iter().fold(zero, |sum, x| sum + *x);
            value += total.ln();
            forward.push(now.map(|x| x / total));
        }
        // Backwards: the posterior of each die, and of each change.
        gradient.fill(zero);
        let mut later = forward[throws.len() - 1];
        for t in (0..throws.len()).rev() {
            for die in 0..DICE {
                gradient[face(die, throws[t])] += later[die];
            }
            let Some(before) = t.checked_sub(1) else {
                break;
            };
            let mut earlier = [zero; DICE];
            for to in 0..DICE {
                let paths = [0, 1].map(|from| forward[before][from] * weight[change(from, to)]);
                let total = paths[0] + paths[1];
                for from in 0..DICE {
                    let both = later[to] * paths[from] / total;
                    gradient[change(from, to)] += both;
                    earlier[from] += both;
                }
            }
            later = earlier;
        }
        Ok(value)
    }
}

struct Casino {
    local: Differentiated<Chain>,
    posterior: Blocks,
}

impl Casino {
    fn new(throws: Vec<usize>) -> Result<Self> {
        let mut posterior = Blocks::new(DIM);
        for die in 0..DICE {
            let stay: Vec<f64> = (0..DICE)
                .map(|to| if to == die { 9.0 } else { 1.0 })
                .collect();
            let changes = IndexMap::range(change(die, 0), DICE);
            posterior = posterior.join("changes", Dirichlet::new(DICE), stay, changes)?;
        }
        for die in 0..DICE {
            let faces = IndexMap::range(face(die, 0), FACES);
            posterior = posterior.join("faces", Dirichlet::new(FACES), vec![1.0; FACES], faces)?;
        }
        Ok(Self {
            local: Differentiated(Chain(throws)),
            posterior,
        })
    }

    /// The probability of a six with each die.
    fn sixes(&self) -> Result<[f64; DICE]> {
        let fit = Driver::new(self, Direction::Auto)
            .stop(Stop::Gain(1e-8) | Stop::Iterations(10_000))
            .run(start())?;
        Ok([0, 1].map(|die| {
            let natural = self.posterior.natural(DICE + die, &fit.point.statistics);
            natural[FACES - 1] / natural.iter().sum::<f64>()
        }))
    }
}

impl Collapsed for Casino {
    type Local = Differentiated<Chain>;
    type Posterior = Blocks;

    fn local(&self) -> &Self::Local {
        &self.local
    }

    fn posterior(&self) -> &Blocks {
        &self.posterior
    }

    fn constant(&self) -> f64 {
        0.0
    }

    fn fingerprint(&self) -> String {
        format!("{} throws in a casino", self.local.0.0.len())
    }
}

/// Dice that stay, the second of which likes sixes a little.
fn start() -> Vec<f64> {
    let mut messages = vec![(1.0 / 6.0_f64).ln(); DIM];
    for from in 0..DICE {
        for to in 0..DICE {
            messages[change(from, to)] = if from == to { 0.9_f64 } else { 0.1 }.ln();
        }
    }
    messages[face(1, FACES - 1)] += 0.5;
    messages
}

fn main() -> Result<()> {
    let [fair, loaded] = Casino::new(throws(3000))?.sixes()?;
    println!("a six: {fair:.2} with the fair die, {loaded:.2} with the loaded one");
    Ok(())
}

#[test]
fn laws_hold_and_the_loaded_die_is_found() {
    use collapsar_core::laws::model::{conforms, rules_agree_on_stationarity};
    let short = Casino::new(throws(60)).unwrap();
    conforms(&short, &start(), 1).unwrap();
    rules_agree_on_stationarity(&short, &start()).unwrap();
    let [fair, loaded] = Casino::new(throws(3000)).unwrap().sixes().unwrap();
    // Sixes of the loaded die: 0.4 + 0.6 / 6.
    assert!((fair - 1.0 / 6.0).abs() < 0.04 && (loaded - 0.5).abs() < 0.06);
}
