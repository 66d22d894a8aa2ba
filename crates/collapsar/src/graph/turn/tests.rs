use nalgebra::DMatrix;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::forms::{Entry, Forms, Linear, Plain, Quadratic, Scale, Side, Source};
use super::sums::{Problem, RandomMatrix};
use crate::graph::turn::Moments;
use crate::graph::{Atom, Compiled, Demands, Graph, Kind};
use crate::{Direction, Driver, Stop};
use collapsar_core::{Bases, Collapsed, Point, Potential};

fn atom(variable: u32) -> Atom {
    Atom { variable, part: 0 }
}

/// A factor model in the making.
struct Sketch {
    graph: Graph,
    rng: ChaCha8Rng,
}

impl Sketch {
    fn new(seed: u64) -> Self {
        Self {
            graph: Graph::default(),
            rng: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    fn declare(&mut self, name: &str, kind: Kind, count: usize) -> u32 {
        self.graph.declare(name, kind, count).unwrap()
    }

    fn number(&mut self) -> f64 {
        self.rng.random_range(-2.0..2.0)
    }

    /// A number that is normal around 0: a sum of products, with a constant precision or an unknown one.
    fn normal(&mut self, sum: &[(f64, Vec<u32>)], constant: f64, precision: Option<u32>) {
        let factor = self.graph.factor("normal");
        let tau = precision.map(|variable| Atom { variable, part: 1 });
        if let Some(variable) = precision {
            let ln = Atom { variable, part: 0 };
            self.graph.add(0.5, &[ln], factor);
        }
        for (i, (a, left)) in sum.iter().enumerate() {
            for (j, (b, right)) in sum.iter().enumerate() {
                if j <= i {
                    let twice = if i == j { 1.0 } else { 2.0 };
                    let mut atoms: Vec<Atom> =
                        left.iter().chain(right).copied().map(atom).collect();
                    atoms.extend(tau);
                    self.graph
                        .add(-0.5 * twice * a * b * constant, &atoms, factor);
                }
            }
        }
    }

    fn gamma(&mut self, variable: u32) {
        let factor = self.graph.factor("gamma");
        self.graph.add(-0.1, &[Atom { variable, part: 0 }], factor);
        self.graph.add(-0.5, &[Atom { variable, part: 1 }], factor);
    }

    fn compiled(self) -> Compiled {
        Compiled::new(self.graph, &Demands::default()).unwrap()
    }
}

/// Numbers that inner products of `size` factors explain, some of them missing; with means of rows.
fn factors(size: u32, means: bool) -> Compiled {
    let mut sketch = Sketch::new(7);
    let (rows, columns) = (5, 12);
    let x = sketch.declare("x", Kind::Gaussian, (columns * size) as usize);
    let w = sketch.declare("w", Kind::Gaussian, (rows * size) as usize);
    let mu = sketch.declare("mu", Kind::Gaussian, rows as usize);
    let alpha = sketch.declare("alpha", Kind::Gamma, size as usize);
    let tau = sketch.declare("tau", Kind::Gamma, 1);
    for k in 0..size {
        sketch.gamma(alpha + k);
        for n in 0..columns {
            let prior = if k == 0 { -0.3 } else { 0.0 };
            sketch.normal(&[(1.0, vec![x + n * size + k]), (prior, vec![])], 1.0, None);
        }
        for m in 0..rows {
            sketch.normal(&[(1.0, vec![w + m * size + k])], 1.0, Some(alpha + k));
        }
    }
    sketch.gamma(tau);
    for m in 0..rows {
        sketch.normal(&[(1.0, vec![mu + m])], 0.1, None);
        for n in 0..columns {
            if (m + 2 * n) % 5 == 0 {
                continue;
            }
            let y = sketch.number();
            let mut sum = vec![(1.0, vec![]), (0.0, vec![])];
            sum[0].0 = y;
            sum.extend((0..size).map(|k| (-1.0, vec![w + m * size + k, x + n * size + k])));
            if means {
                sum.push((-1.0, vec![mu + m]));
            }
            sketch.normal(&sum, 1.0, Some(tau));
        }
    }
    sketch.compiled()
}

/// A linear state space; nothing is seen at some times, the last among them.
fn states(size: u32) -> Compiled {
    let mut sketch = Sketch::new(8);
    let (rows, times) = (4, 15);
    let x = sketch.declare("x", Kind::Gaussian, (times * size) as usize);
    let w = sketch.declare("w", Kind::Gaussian, (rows * size) as usize);
    let a = sketch.declare("a", Kind::Gaussian, (size * size) as usize);
    let alpha = sketch.declare("alpha", Kind::Gamma, size as usize);
    let gamma = sketch.declare("gamma", Kind::Gamma, size as usize);
    let tau = sketch.declare("tau", Kind::Gamma, 1);
    for k in 0..size {
        sketch.gamma(alpha + k);
        sketch.gamma(gamma + k);
        for m in 0..rows {
            sketch.normal(&[(1.0, vec![w + m * size + k])], 1.0, Some(gamma + k));
        }
        for j in 0..size {
            let sum = [(1.0, vec![a + k * size + j])];
            sketch.normal(&sum, 1.0, Some(alpha + j));
        }
        sketch.normal(&[(1.0, vec![x + k])], 0.1, None);
        for t in 1..times {
            let mut sum = vec![(1.0, vec![x + t * size + k])];
            sum.extend((0..size).map(|j| (-1.0, vec![a + k * size + j, x + (t - 1) * size + j])));
            sketch.normal(&sum, 1.0, None);
        }
    }
    sketch.gamma(tau);
    for t in (0..times - 1).filter(|t| t % 4 != 2) {
        for m in 0..rows {
            let y = sketch.number();
            let mut sum = vec![(y, vec![])];
            sum.extend((0..size).map(|k| (-1.0, vec![w + m * size + k, x + t * size + k])));
            sketch.normal(&sum, 1.0, Some(tau));
        }
    }
    sketch.compiled()
}

fn models() -> Vec<(&'static str, Compiled)> {
    vec![
        ("one factor", factors(1, false)),
        ("factors", factors(3, false)),
        ("factors and means", factors(3, true)),
        ("one state", states(1)),
        ("states", states(3)),
    ]
}

#[test]
fn spaces_are_found() {
    let sizes = |model: &Compiled| -> Vec<[usize; 4]> {
        (model.turn.spaces.iter())
            .map(|s| [s.size, s.vectors.len(), s.covectors.len(), s.matrices.len()])
            .collect()
    };
    let found: Vec<_> = models().iter().map(|(_, model)| sizes(model)).collect();
    assert_eq!(
        found,
        [
            vec![[1, 12, 5, 0]],
            vec![[3, 12, 5, 0]],
            vec![[3, 12, 5, 0]],
            vec![[1, 15, 4, 1]],
            vec![[3, 15, 4, 1]],
        ]
    );
}

/// After a turn VBEM's step leads at least as much higher as the turn promised: what it says of the bound is
/// true, and the step from there cannot lower it.
#[test]
fn turns_keep_their_promise() {
    for (name, model) in models() {
        for seed in 0..5 {
            let mut messages = model.start(seed).unwrap();
            let mut turned = vec![];
            let mut looked = look(&model, &messages, &mut turned);
            for step in 0..12 {
                let (point, bound) = looked;
                let promise = promised(&model, &point);
                messages = if turned.is_empty() {
                    point.gradient
                } else {
                    turned.clone()
                };
                looked = look(&model, &messages, &mut turned);
                let gain = looked.1 - bound;
                let rounding = 1e-9 * bound.abs();
                assert!(
                    gain > promise - rounding,
                    "{name}, seed {seed}, step {step}: {gain} for {promise}"
                );
            }
        }
    }
}

/// A point, with the targets of VBEM's step and of the turned one, and its bound.
fn look(model: &Compiled, messages: &[f64], turned: &mut Vec<f64>) -> (Point, f64) {
    let mut point = Point {
        messages: messages.to_vec(),
        statistics: vec![0.0; messages.len()],
        gradient: vec![0.0; messages.len()],
        ..Point::default()
    };
    let (local, posterior) = model.evaluate_turned(&mut point, turned).unwrap();
    let products = messages.iter().zip(&point.statistics).map(|(m, t)| m * t);
    let bound = local - products.sum::<f64>() + posterior + model.constant();
    (point, bound)
}

/// What the turn at a point is said to bring.
fn promised(model: &Compiled, point: &Point) -> f64 {
    let mut statistics = vec![0.0; point.statistics.len()];
    let mut shared = vec![];
    model
        .local
        .value_and_means(&point.messages, &mut statistics, |means| {
            shared.extend_from_slice(means);
        })
        .unwrap();
    let mut target = vec![0.0; statistics.len()];
    model
        .posterior
        .value_and_gradient(&statistics, &mut target)
        .unwrap();
    let base = &model.local.own_base;
    let own = target[target.len() - base.len()..].iter().zip(base);
    let mut own: Vec<f64> = own.map(|(target, base)| target + base).collect();
    let mut gain = 0.0;
    model
        .posterior
        .value_and_means(&statistics, |naturals, collapsed| {
            gain = model.turn.apply(Moments {
                shared: &shared,
                naturals,
                collapsed,
                own: &mut own,
            });
        })
        .unwrap();
    gain
}

#[test]
fn turned_climbs_end_where_plain_ones_do() {
    for (name, model) in models() {
        let run = |direction| {
            Driver::new(&model, direction)
                .stop(Stop::Gain(1e-9) | Stop::Iterations(20_000))
                .run(model.start(1).unwrap())
                .unwrap()
        };
        let (plain, turned) = (run(Direction::Vbem), run(Direction::Auto));
        assert!(plain.outcome.converged() && turned.outcome.converged());
        // They may end at different optima, a higher one included.
        assert!(
            turned.point.bound > plain.point.bound - 1e-3,
            "{name}: {} below {}",
            turned.point.bound,
            plain.point.bound
        );
        assert!(turned.passes < plain.passes, "{name}");
    }
}

fn random(rng: &mut ChaCha8Rng, rows: usize, columns: usize) -> DMatrix<f64> {
    DMatrix::from_fn(rows, columns, |_, _| rng.random_range(-1.0..1.0))
}

/// A problem with every kind of form.
fn problem<'a>(forms: &'a Forms, rng: &mut ChaCha8Rng) -> Problem<'a> {
    let size = 3;
    let square = |rng: &mut ChaCha8Rng| {
        let root = random(rng, size, size);
        &root * root.transpose()
    };
    let mut problem = Problem {
        size,
        members: 5.0,
        volume: 2.0,
        forms,
        seconds: forms
            .quadratics
            .iter()
            .map(|_| random(rng, size, size))
            .collect(),
        means: forms
            .linears
            .iter()
            .map(|_| random(rng, size, size))
            .collect(),
        matrices: vec![RandomMatrix {
            mean: random(rng, size, size),
            covariances: (0..size).map(|_| square(rng)).collect(),
        }],
        gammas: vec![(3.0, 9.0), (2.0, 11.0)],
        present: vec![],
    };
    let identity = DMatrix::identity(size, size);
    problem.present = problem.values(&identity, &identity).1;
    problem
}

#[test]
fn gradients_are_differences() {
    let entry = |i, j, coefficient, target| Entry {
        at: (i, j),
        coefficient,
        target,
    };
    let (constant, first, second) = (None, Some(0), Some(1));
    let entries = vec![
        entry(0, 0, -0.5, constant),
        entry(1, 2, 0.3, first),
        entry(2, 1, -0.2, second),
    ];
    let quadratic = |side| Quadratic {
        side,
        entries: entries.clone(),
        sources: vec![Source::Second(0)],
    };
    let linear = |side, target| Linear {
        side,
        target,
        elements: vec![(Plain::Mean(0), 0, 1.0)],
    };
    let scale = |place| Scale {
        collapsed: true,
        place,
    };
    let forms = Forms {
        quadratics: vec![quadratic(Side::Vector), quadratic(Side::Covector)],
        linears: vec![
            linear(Side::Vector, first),
            linear(Side::Covector, constant),
        ],
        matrices: vec![(
            vec![entry(0, 1, -0.5, first), entry(2, 2, -0.4, constant)],
            vec![entry(1, 0, 0.7, second)],
        )],
        scales: vec![scale(0), scale(2)],
    };
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for _ in 0..10 {
        let problem = problem(&forms, &mut rng);
        let identity: DMatrix<f64> = DMatrix::identity(3, 3);
        let basis = &identity + random(&mut rng, 3, 3) * 0.2;
        let along = random(&mut rng, 3, 3);
        let (_, gradient, _) = problem.evaluate(&basis).unwrap();
        let at = |step: f64| {
            problem
                .evaluate(&((&identity + &along * step) * &basis))
                .unwrap()
                .0
        };
        let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
        let found = gradient.dot(&along);
        assert!(
            (slope - found).abs() < 1e-6 * (1.0 + found.abs()),
            "{slope} and {found}"
        );
    }
}

#[test]
fn regressions_have_no_space() {
    let mut sketch = Sketch::new(1);
    let b = sketch.declare("b", Kind::Gaussian, 3);
    let tau = sketch.declare("tau", Kind::Gamma, 1);
    sketch.gamma(tau);
    for k in 0..3 {
        sketch.normal(&[(1.0, vec![b + k])], 0.01, None);
    }
    for _ in 0..10 {
        let sum: Vec<_> = (0..3).map(|k| (sketch.number(), vec![b + k])).collect();
        let mut sum = sum;
        sum.push((sketch.number(), vec![]));
        sketch.normal(&sum, 1.0, Some(tau));
    }
    let model = sketch.compiled();
    assert!(model.turn.is_empty());
    assert!(model.constant().is_finite());
}
