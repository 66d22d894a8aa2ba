//! Quantifications obey the laws of collapsed models, and every direction obeys its laws on them.

#[allow(dead_code)] // the other tests of quantification use the rest of it
#[path = "plain/quant.rs"]
mod plain;

use collapsar::laws::model::{
    conforms, never_falls, rules_agree_on_stationarity, squared_norm, threads_do_not_matter,
    vbem_step_cannot_fall,
};
use collapsar::quant::{Quant, Reads};
use collapsar::{Direction, Driver, Stop};
use plain::{ALL, Read, build, families, look};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const PRIORS: [f64; 5] = [2.0, 1.0, 0.1, 0.01, 1e-4];

/// Small problems: families, with weights from 1e-12 to 1; one transcript; one read; all reads
/// unique; many reads of one kind.
fn problems() -> Vec<(&'static str, Reads)> {
    let near = families(3, 40, 2.0, 1);
    let wide = families(2, 60, 12.0 * std::f64::consts::LN_10, 2);
    let unique: Vec<Read> = [(0, 3.0), (2, 1.0), (3, 100.0)]
        .map(|(id, count)| (vec![(id, -5.0)], count))
        .to_vec();
    let one_kind = vec![(vec![(0, -1.0), (1, -1.5), (2, -14.0)], 500.0)];
    let of = |(transcripts, reads): (usize, Vec<Read>)| build(transcripts, &reads, ALL);
    vec![
        ("near", of(near)),
        ("wide", of(wide)),
        ("one transcript", of((1, vec![(vec![(0, -3.0)], 7.0)]))),
        ("one read", of((4, vec![(vec![(1, -3.0), (3, -4.0)], 1.0)]))),
        ("unique", of((5, unique))),
        ("one kind", of((3, one_kind))),
    ]
}

/// The whole of every problem and each of its components, with every prior.
fn on_every_model(law: impl Fn(&Quant<'_>, usize, f64) -> Result<(), String>) {
    for (name, reads) in problems() {
        for alpha in PRIORS {
            let whole = Quant::whole(&reads, alpha);
            let broken = |which: &str, e: String| panic!("{name}, prior {alpha}, {which}: {e}");
            law(&whole, reads.transcripts(), alpha).unwrap_or_else(|e| broken("whole", e));
            for (index, component) in reads.components().iter().enumerate() {
                let model = Quant::component(&reads, alpha, index);
                law(&model, component.places.len(), alpha)
                    .unwrap_or_else(|e| broken(&format!("component {index}"), e));
            }
        }
    }
}

fn random(dim: usize, size: f64, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..dim).map(|_| rng.random_range(-size..size)).collect()
}

/// Where `steps` VBEM steps lead.
fn climbed(model: &Quant<'_>, mut messages: Vec<f64>, steps: usize) -> Vec<f64> {
    for _ in 0..steps {
        let (_, _, gradient) = look(model, &messages);
        for (message, g) in messages.iter_mut().zip(gradient) {
            *message += g;
        }
    }
    messages
}

#[test]
fn points_conform() {
    on_every_model(|model, dim, _| {
        (0..3).try_for_each(|seed| conforms(model, &random(dim, 2.0, seed), seed))
    });
}

/// On the way up, where messages are those of posteriors. Priors below 0.1 are left out: their
/// messages of -1e4 leave the transcripts that no read goes to without curvature.
#[test]
fn points_of_a_climb_conform() {
    on_every_model(|model, dim, alpha| {
        if alpha < 0.1 {
            return Ok(());
        }
        (1..4).try_for_each(|steps| {
            let messages = climbed(model, random(dim, 1.0, 9), steps);
            conforms(model, &messages, steps as u64)
        })
    });
}

#[test]
fn vbem_steps_do_not_fall() {
    on_every_model(|model, dim, _| {
        for seed in 0..3 {
            let mut messages = random(dim, 3.0, seed);
            for _ in 0..20 {
                vbem_step_cannot_fall(model, &messages)?;
                messages = climbed(model, messages, 1);
            }
        }
        Ok(())
    });
}

#[test]
fn climbs_never_fall() {
    on_every_model(|model, dim, _| {
        for direction in Direction::ALL {
            never_falls(model, direction, &random(dim, 1.0, 5))?;
            never_falls(model, direction, &vec![0.0; dim])?;
        }
        Ok(())
    });
}

/// Smaller priors are for the directions that solve quantifications: lbfgs may rest early where
/// a read is settled but for a millionth.
#[test]
fn directions_end_at_stationary_points() {
    on_every_model(|model, dim, alpha| {
        let start = random(dim, 1.0, 6);
        if alpha >= 0.1 {
            return rules_agree_on_stationarity(model, &start);
        }
        for direction in [Direction::Vbem, Direction::Fr, Direction::Auto] {
            let fit = Driver::new(model, direction)
                .stop(Stop::Gain(1e-12) | Stop::Passes(100_000))
                .run(start.clone())
                .map_err(|e| e.to_string())?;
            let norm = squared_norm(model, &fit.point.messages).map_err(|e| e.to_string())?;
            let allowed = 1e-10 * fit.point.bound.abs().max(1.0);
            if !(fit.outcome.converged() && norm <= allowed) {
                return Err(format!("{direction}: {}, {norm:e}", fit.outcome));
            }
        }
        Ok(())
    });
}

/// Enough rows for several chunks.
#[test]
fn threads_do_not_change_a_point() {
    let (transcripts, reads) = families(40, 6000, 8.0, 3);
    let reads = build(transcripts, &reads, ALL);
    assert!(reads.rows() > 3 * 1024, "{}", reads.rows());
    let whole = Quant::whole(&reads, 0.1);
    threads_do_not_matter(&whole, &random(transcripts, 2.0, 1)).expect("the same bits");
}

/// A chain: each read fits a transcript and the next one, with these counts.
fn chain(transcripts: usize, weighed: bool, count: impl Fn(&mut ChaCha8Rng) -> u32) -> Reads {
    let mut rng = ChaCha8Rng::seed_from_u64(17);
    let mut read = |id: usize| {
        let share: f64 = if weighed {
            rng.random_range(0.05..0.95)
        } else {
            0.5
        };
        let alignments = [(id, share), (id + 1, 1.0 - share)];
        let alignments = alignments.map(|(id, share)| (id as u32, share.ln()));
        (alignments.to_vec(), f64::from(count(&mut rng)))
    };
    let reads: Vec<Read> = (0..transcripts - 1).map(&mut read).collect();
    build(transcripts, &reads, ALL)
}

/// Long chains are hard: news travels by one transcript a step. Under a prior that is not small all directions end at one bound,
/// near which nothing is higher; under a smaller one they end at different ones.
#[test]
fn directions_end_at_optima_of_chains() {
    let several = |rng: &mut ChaCha8Rng| rng.random_range(1..5);
    let many = |rng: &mut ChaCha8Rng| rng.random_range(1..1000);
    let chains = [
        ("one", chain(500, false, |_| 1)),
        ("weighed", chain(500, true, |_| 1)),
        ("several", chain(500, false, several)),
        ("several weighed", chain(500, true, several)),
        ("many weighed", chain(500, true, many)),
    ];
    for (name, reads) in &chains {
        for alpha in [1.0, 0.5] {
            let model = Quant::whole(reads, alpha);
            let climb = |direction, start, gain| {
                let stop = Stop::Gain(gain) | Stop::Passes(100_000);
                let driver = Driver::new(&model, direction).stop(stop);
                driver.run(start).expect("a climb")
            };
            let mut bounds = vec![];
            for direction in Direction::ALL {
                let fit = climb(direction, vec![0.0; reads.transcripts()], 1e-8);
                let what = format!("{name}, prior {alpha}, {direction}");
                assert!(fit.outcome.converged(), "{what}: {}", fit.outcome);
                // Off by a little, and up again.
                let off = random(reads.transcripts(), 0.01, 3);
                let moved = fit.point.messages.iter().zip(off).map(|(m, o)| m + o);
                let again = climb(Direction::Vbem, moved.collect(), 1e-10);
                let rise = again.point.bound - fit.point.bound;
                assert!(rise < 1e-3, "{what}: {rise:e} higher nearby");
                bounds.push((fit.point.bound, what));
            }
            let best = bounds.iter().map(|b| b.0).fold(f64::MIN, f64::max);
            for (bound, what) in bounds {
                assert!(best - bound < 1e-3, "{what}: {:e} below", best - bound);
            }
        }
    }
}
