//! Comparisons of conditions are calibrated: on simulated samples without changes and with known ones.
//!
//! Counts are negative binomial with a dispersion that falls with expression and differs between
//! transcripts. Half of the transcripts are in pairs that share nine reads in ten, or 97 in a
//! hundred, and have draws from the posterior of the pair.

use collapsar::quant::compare::{Change, Comparison, Design, Levels, Sample, Scale, compare};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Beta, Binomial, ChiSquared, Distribution, Gamma, LogNormal, Poisson};

const TRANSCRIPTS: usize = 6000;
const DRAWS: usize = 20;
/// The prior of the fractions within a pair.
const PRIOR: f64 = 0.1;

struct Simulation {
    conditions: Vec<usize>,
    depths: Vec<f64>,
    /// The share of transcripts that change, half of them twofold, half of them fourfold.
    changed: f64,
    /// The share of a paired transcript's reads that are its own.
    own: f64,
    seed: u64,
}

impl Simulation {
    fn new(replicates: usize, seed: u64) -> Self {
        Self {
            conditions: (0..2 * replicates).map(|k| k / replicates).collect(),
            depths: vec![1.0; 2 * replicates],
            changed: 0.0,
            own: 0.1,
            seed,
        }
    }

    fn run(&self) -> Data {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let samples = self.conditions.len();
        let expression = LogNormal::new(6.0 * 2_f64.ln(), 2.2 * 2_f64.ln()).unwrap();
        let scatter = ChiSquared::new(20.0).unwrap();
        let mut truth = vec![0.0; TRANSCRIPTS];
        let mut draws = vec![vec![vec![0.0; TRANSCRIPTS]; DRAWS]; samples];
        let every = (1.0 / self.changed.max(1e-9)) as usize;
        let mut last = vec![0; samples];
        for t in 0..TRANSCRIPTS {
            let mean: f64 = expression.sample(&mut rng);
            let dispersion = (0.04 + 1.5 * mean.powf(-0.7)) * 20.0 / scatter.sample(&mut rng);
            if t % every == every / 2 {
                truth[t] = [1.0, -1.0, 2.0, -2.0][t / every % 4];
            }
            let gamma = Gamma::new(1.0 / dispersion, dispersion).unwrap();
            for sample in 0..samples {
                let change = 2_f64.powf(truth[t] * (self.conditions[sample] as f64 - 0.5));
                let rate = mean * self.depths[sample] * change * gamma.sample(&mut rng);
                let count = Poisson::new(rate.max(1e-12)).unwrap().sample(&mut rng) as u64;
                if t >= TRANSCRIPTS / 2 {
                    for draw in &mut draws[sample] {
                        draw[t] = count as f64;
                    }
                } else if t % 2 == 0 {
                    last[sample] = count;
                } else {
                    let pair = [last[sample], count];
                    let unique = pair.map(|n| Binomial::new(n, self.own).unwrap().sample(&mut rng));
                    let shared = pair[0] + pair[1] - unique[0] - unique[1];
                    let [a, b] = unique.map(|n| n as f64 + PRIOR);
                    let share = Beta::new(a, b).unwrap();
                    for draw in &mut draws[sample] {
                        let p = share.sample(&mut rng).clamp(0.0, 1.0);
                        let first = Binomial::new(shared, p).unwrap().sample(&mut rng);
                        draw[t - 1] = (unique[0] + first) as f64;
                        draw[t] = (unique[1] + shared - first) as f64;
                    }
                }
            }
        }
        let counts = (draws.iter())
            .map(|draws| {
                let mean = |t| draws.iter().map(|draw| draw[t]).sum::<f64>() / DRAWS as f64;
                (0..TRANSCRIPTS).map(mean).collect()
            })
            .collect();
        Data {
            conditions: self.conditions.clone(),
            counts,
            draws,
            truth,
        }
    }
}

struct Data {
    conditions: Vec<usize>,
    counts: Vec<Vec<f64>>,
    draws: Vec<Vec<Vec<f64>>>,
    truth: Vec<f64>,
}

impl Data {
    fn scale(&self) -> Scale {
        let effective = vec![1000.0; self.counts[0].len()];
        let samples: Vec<Sample> = (self.counts.iter())
            .map(|counts| Sample {
                name: "sample",
                counts,
                effective: &effective,
            })
            .collect();
        Scale::new(&samples).unwrap()
    }

    fn levels(&self, scale: &Scale) -> Vec<Levels> {
        let draws = self.draws.iter().enumerate();
        draws
            .map(|(sample, draws)| scale.levels(sample, draws).unwrap())
            .collect()
    }

    fn compare(&self) -> Comparison {
        let design = Design::new(self.conditions.clone(), (0, 1)).unwrap();
        let scale = self.scale();
        compare(&scale, &self.levels(&scale), &design).unwrap()
    }
}

/// How far probabilities of transcripts without change are from uniform.
struct Calibration {
    count: usize,
    /// The Kolmogorov-Smirnov distance.
    distance: f64,
    /// Shares of two-sided p-values below 0.001, 0.01 and 0.05.
    below: [f64; 3],
}

impl Calibration {
    fn of(changes: &[Change]) -> Self {
        let mut values: Vec<f64> = changes.iter().map(|change| change.positive).collect();
        values.sort_by(f64::total_cmp);
        let count = values.len() as f64;
        let gap = |(k, p): (usize, &f64)| (p - k as f64 / count).max((k + 1) as f64 / count - p);
        let share = |level: f64| {
            let below = changes
                .iter()
                .filter(|change| 2.0 * change.false_sign < level);
            below.count() as f64 / count
        };
        Self {
            count: values.len(),
            distance: values.iter().enumerate().map(gap).fold(0.0, f64::max),
            below: [0.001, 0.01, 0.05].map(share),
        }
    }

    /// Refuses shares above their levels by more than four standard deviations of chance and a
    /// quarter of the level, and distances above `distance`.
    fn check(&self, what: &str, distance: f64) {
        eprintln!(
            "{what}: {} transcripts, distance {:.3}, below 0.001 {:.4}, 0.01 {:.4}, 0.05 {:.4}",
            self.count, self.distance, self.below[0], self.below[1], self.below[2]
        );
        assert!(self.count >= 300, "{what}: {}", self.count);
        assert!(self.distance < distance, "{what}: {}", self.distance);
        for (share, level) in self.below.iter().zip([0.001_f64, 0.01, 0.05]) {
            let most = 1.25 * level + 4.0 * (level / self.count as f64).sqrt();
            assert!(
                *share < most,
                "{what}: {share} below {level}, at most {most}"
            );
        }
    }
}

/// Transcripts without change, those with inferential variances below and above the biological
/// ones apart.
fn calibrate(what: &str, data: &Data, distances: [f64; 2]) -> Comparison {
    let comparison = data.compare();
    eprintln!(
        "{what}: prior degrees of freedom {:.1}",
        comparison.prior_degrees
    );
    let mut parts = [vec![], vec![]];
    for (row, truth) in comparison.rows.iter().zip(&data.truth) {
        if let (Some(change), true) = (row.change, *truth == 0.0) {
            // 0.3 is about the biological standard deviation of a well expressed transcript.
            parts[usize::from(row.inferential > 0.3)].push(change);
        }
    }
    let names = ["small inferential variance", "large inferential variance"];
    for ((part, name), distance) in parts.iter().zip(names).zip(distances) {
        Calibration::of(part).check(&format!("{what}, {name}"), distance);
    }
    comparison
}

#[test]
fn probabilities_are_uniform_without_change() {
    for (replicates, seed) in [(3, 1), (2, 2), (5, 3)] {
        let what = format!("{replicates} against {replicates}");
        calibrate(
            &what,
            &Simulation::new(replicates, seed).run(),
            [0.03, 0.07],
        );
        let simulation = Simulation {
            own: 0.03,
            ..Simulation::new(replicates, seed + 10)
        };
        calibrate(
            &format!("{what}, 97% shared"),
            &simulation.run(),
            [0.03, 0.07],
        );
    }
}

#[test]
fn depths_do_not_matter() {
    let mixed = Simulation {
        depths: vec![1.0, 4.0, 1.0, 4.0, 1.0, 4.0],
        ..Simulation::new(3, 20)
    };
    let comparison = calibrate("mixed depths", &mixed.run(), [0.03, 0.07]);
    assert!(comparison.rows.iter().all(|row| row.expression.is_finite()));
    // The hardest: all samples of one condition four times as deep. Reads that shallow samples
    // cannot tell apart deep ones can, so that estimates of pairs differ in kind; the tails hold.
    let apart = Simulation {
        depths: vec![4.0, 4.0, 4.0, 1.0, 1.0, 1.0],
        ..Simulation::new(3, 21)
    };
    calibrate("depths by condition", &apart.run(), [0.04, 0.12]);
}

#[test]
fn lists_have_their_false_discovery_rates() {
    for (replicates, seed, power) in [(3, 30, 0.25), (2, 31, 0.15), (5, 32, 0.4)] {
        let simulation = Simulation {
            changed: 0.1,
            ..Simulation::new(replicates, seed)
        };
        let data = simulation.run();
        let what = format!("{replicates} against {replicates}, 10% changed");
        let comparison = calibrate(&what, &data, [0.04, 0.1]);
        let pairs = comparison.rows.iter().zip(&data.truth);
        let tested: Vec<(Change, f64)> = pairs
            .filter_map(|(row, truth)| row.change.map(|change| (change, *truth)))
            .collect();
        for level in [0.05, 0.1] {
            let list: Vec<&(Change, f64)> = (tested.iter())
                .filter(|(change, _)| change.qvalue < level)
                .collect();
            let wrong = list.iter().filter(|(_, truth)| *truth == 0.0).count() as f64;
            let signs = list
                .iter()
                .filter(|(c, truth)| c.mean * truth < 0.0)
                .count();
            let found = list.len() as f64 - wrong;
            let all = tested.iter().filter(|(_, truth)| *truth != 0.0).count() as f64;
            let (rate, share) = (wrong / list.len() as f64, found / all);
            eprintln!(
                "{what}: q < {level}: false discoveries {rate:.3}, power {share:.2}, {signs} wrong signs"
            );
            let noise = 2.0 * (level / list.len() as f64).sqrt();
            assert!(rate < level + noise, "{what}: {rate} at {level}");
            assert!(share > power, "{what}: power {share} at {level}");
            assert!(signs <= 2, "{what}: {signs} wrong signs at {level}");
        }
        let covers = |(c, truth): &&(Change, f64)| c.lower <= *truth && *truth <= c.upper;
        let share = tested.iter().filter(covers).count() as f64 / tested.len() as f64;
        eprintln!("{what}: intervals cover {share:.3}");
        assert!(
            (0.93..0.97).contains(&share),
            "{what}: intervals cover {share}"
        );
    }
}

#[test]
fn shared_reads_need_more_evidence() {
    let mut data = Simulation::new(3, 40).run();
    let transcript = TRANSCRIPTS - 1;
    let change = |data: &Data| {
        data.compare().rows[transcript]
            .change
            .expect("it has reads")
    };
    let certain = change(&data);
    // The same mean in every sample, but draws that differ.
    for draws in &mut data.draws {
        for (k, draw) in draws.iter_mut().enumerate() {
            draw[transcript] *= [0.2, 1.8][k % 2];
        }
    }
    let shared = change(&data);
    assert!((shared.mean - certain.mean).abs() < 1e-9);
    assert!(shared.sd > 2.0 * certain.sd, "{} {}", shared.sd, certain.sd);
}

#[test]
fn order_and_direction() {
    let data = Simulation {
        changed: 0.1,
        ..Simulation::new(3, 50)
    }
    .run();
    let scale = data.scale();
    let levels = data.levels(&scale);
    let of = |conditions: &[usize], contrast| {
        let design = Design::new(conditions.to_vec(), contrast).unwrap();
        compare(&scale, &levels, &design).unwrap()
    };
    let forward = of(&data.conditions, (0, 1));
    let backward = of(&data.conditions, (1, 0));
    let renamed = of(&[1, 1, 1, 0, 0, 0], (0, 1));
    for ((row, other), renamed) in forward.rows.iter().zip(&backward.rows).zip(&renamed.rows) {
        let (Some(change), Some(back)) = (row.change, other.change) else {
            assert_eq!(row.change, other.change);
            continue;
        };
        assert_eq!((change.mean, change.sd), (-back.mean, back.sd));
        assert_eq!((change.lower, change.qvalue), (-back.upper, back.qvalue));
        assert!((change.positive - (1.0 - back.positive)).abs() < 1e-15);
        assert_eq!(other.change, renamed.change);
    }
    let turned = Data {
        conditions: [1, 0, 0, 1, 1, 0].to_vec(),
        counts: [3, 0, 1, 4, 5, 2]
            .map(|s: usize| data.counts[s].clone())
            .to_vec(),
        draws: [3, 0, 1, 4, 5, 2]
            .map(|s: usize| data.draws[s].clone())
            .to_vec(),
        truth: data.truth.clone(),
    }
    .compare();
    for (row, other) in forward.rows.iter().zip(&turned.rows) {
        if let (Some(change), Some(other)) = (row.change, other.change) {
            assert!((change.mean - other.mean).abs() < 1e-9);
            assert!((change.positive - other.positive).abs() < 1e-9);
        }
    }
}

#[test]
fn a_third_condition_helps_and_does_not_change_the_contrast() {
    let mut data = Simulation::new(3, 60).run();
    data.conditions = vec![0, 0, 1, 1, 2, 2];
    let scale = data.scale();
    let levels = data.levels(&scale);
    let design = Design::new(data.conditions.clone(), (2, 0)).unwrap();
    assert_eq!(design.degrees(), 3.0);
    let comparison = compare(&scale, &levels, &design).unwrap();
    let row = &comparison.rows[TRANSCRIPTS - 1];
    let change = row.change.expect("it has reads");
    assert!((change.mean - (row.conditions[0] - row.conditions[2])).abs() < 1e-12);
    let changes: Vec<Change> = comparison
        .rows
        .iter()
        .filter_map(|row| row.change)
        .collect();
    Calibration::of(&changes).check("two of three conditions", 0.03);
}

#[test]
fn transcripts_with_few_reads_are_not_tested() {
    let counts = [
        vec![1.0, 50.0, 0.0],
        vec![3.0, 60.0, 0.0],
        vec![0.5, 55.0, 0.0],
    ];
    let data = Data {
        conditions: vec![0, 0, 1],
        draws: vec![vec![]; 3],
        counts: counts.to_vec(),
        truth: vec![0.0; 3],
    };
    let tested: Vec<bool> = data
        .compare()
        .rows
        .iter()
        .map(|row| row.change.is_some())
        .collect();
    assert_eq!(tested, [false, true, false]);
}

#[test]
fn refusals() {
    let of = |conditions: &[usize], contrast| {
        Design::new(conditions.to_vec(), contrast)
            .unwrap_err()
            .to_string()
    };
    let texts = [
        of(&[0, 0, 0], (0, 1)),
        of(&[0, 1], (0, 1)),
        of(&[0, 2, 2], (0, 1)),
        of(&[0, 0, 1], (1, 1)),
        of(&[], (0, 1)),
    ];
    let expected = [
        "conditions: 1 for 3 samples, expected two or more to compare",
        "conditions: one sample for each of 2, expected replicates, two samples or more, of at least one of them",
        "conditions: no sample of number 1, expected one or more of each",
        "conditions: numbers 1 and 1 to compare, expected two different ones",
        "conditions: 0 for 0 samples, expected two or more to compare",
    ];
    assert_eq!(texts, expected);
    let data = Simulation::new(2, 70).run();
    let scale = data.scale();
    let design = Design::new(vec![0, 0, 1], (0, 1)).unwrap();
    let refused = compare(&scale, &data.levels(&scale), &design).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "conditions: 3, expected one for each of 4 samples"
    );
}
