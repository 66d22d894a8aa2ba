//! Decides where grids are refined: to where the posterior is, until every other node could be left out (maths §9.13).

use collapsar::graph::{Compiled, Demands, Graph, PosteriorMarginal};
use collapsar::special::log_sum_exp;
use collapsar::{Collapsed, Direction, Driver, Fit, Potential, Stop};

use super::Variables;
use super::nodes::{Coordinate, Grid, MOST_COUNTS, MOST_NODES, moments};

/// Joint states of grids that the model is fitted for one by one, at most.
const MOST_STATES: usize = 1024;
/// Numbers that passes of the model, one for each of these, go through at most.
const AFFORDABLE: usize = 50_000_000;
/// Climbs end where a step gains less.
const GAIN: f64 = 1e-7;
const PASSES: u64 = 1000;
/// What nodes may weigh together that are left out at one end of a grid, and counts at one end of their range.
const TAIL: f64 = 1e-6;
const TAIL_OF_COUNTS: f64 = 1e-10;
/// Deviations by which results may change where every other node is left out.
const TOLERANCE: f64 = 1e-4;

/// The probabilities of the nodes, for each element of each line that has a grid.
pub(super) type Masses = Vec<(u32, Vec<Vec<f64>>)>;

/// Grids that serve better, where any does, and the error of those that are here.
pub(super) fn refined(grid: &mut Grid, elements: &[Vec<f64>]) -> Option<Grid> {
    let nodes = grid.values.len();
    let tail = if grid.counts() { TAIL_OF_COUNTS } else { TAIL };
    let end = |p: &mut dyn Iterator<Item = &f64>| {
        let mut sum = 0.0;
        p.take_while(|p| {
            sum += **p;
            sum <= tail
        })
        .count()
    };
    let (mut first, mut last) = (nodes, 0);
    for p in elements {
        first = first.min(end(&mut p.iter()));
        last = last.max(nodes - 1 - end(&mut p.iter().rev()).min(nodes - 1));
    }
    if first > last {
        return None;
    }
    grid.error = if grid.counts() {
        0.0
    } else {
        (elements.iter().map(|p| halved(grid, p))).fold(0.0, f64::max)
    };
    let (mut low, mut high) = (
        grid.place(first.saturating_sub(1)),
        grid.place((last + 1).min(nodes - 1)),
    );
    let mut wider = false;
    let span = high - low;
    if first == 0 && grid.first > grid.limits.0 {
        (low, wider) = ((low - span).max(grid.limits.0), true);
    }
    if last + 1 == nodes && grid.place(nodes - 1) < grid.limits.1 {
        (high, wider) = ((high + span).min(grid.limits.1), true);
    }
    let used = last + 1 - first;
    if grid.coordinate == Coordinate::Whole {
        high = high.min(MOST_COUNTS);
        let other = wider && high > grid.place(nodes - 1) || 4 * used < 3 * nodes;
        return other.then(|| Grid::new(grid.coordinate, (low, high), grid.limits, 0));
    }
    let narrow = 2 * used < nodes;
    let coarse = grid.error > TOLERANCE && nodes < MOST_NODES;
    let more = if coarse && !narrow && !wider {
        2 * nodes
    } else {
        nodes
    };
    (narrow || wider || coarse).then(|| Grid::new(grid.coordinate, (low, high), grid.limits, more))
}

/// Deviations by which mean and deviation change where every other node is left out.
fn halved(grid: &Grid, p: &[f64]) -> f64 {
    let all = || grid.values.iter().copied().zip(p.iter().copied());
    let (mean, sd) = moments(all());
    let half = |skip: usize| {
        let (m, s) = moments(all().skip(skip).step_by(2));
        ((m - mean).abs() / sd).max((s - sd).abs() / sd)
    };
    let found = half(0).max(half(1));
    if found.is_nan() { f64::INFINITY } else { found }
}

/// The probabilities of all nodes under a fit; nothing where there is none.
pub(super) fn masses(graph: &Graph, variables: &Variables) -> Option<Masses> {
    let lines = variables.lines.iter().enumerate();
    let mut found: Masses = lines
        .filter_map(|(line, of)| {
            let of = of.as_ref()?;
            let grid = of.grid.as_ref()?;
            let count = variables.count(line);
            Some((line as u32, vec![vec![0.0; grid.values.len()]; count]))
        })
        .collect();
    let whole = Compiled::new(graph.clone(), &Demands::default()).ok()?;
    let enumerated = enumerated(graph, variables, whole.size());
    if enumerated.is_empty() {
        let fit = climbed(&whole, None)?;
        add(&mut found, variables, (&whole, &fit), 1.0, &[])?;
        return Some(found);
    }
    let mut fits: Vec<(Vec<(u32, u32)>, Compiled, Fit)> = vec![];
    for known in joint_states(&enumerated, variables) {
        let Some(given) = graph.given(&known) else {
            continue;
        };
        let compiled = Compiled::new(given, &Demands::default()).ok()?;
        let warm = fits.last().map(|(.., fit)| fit.point.messages.as_slice());
        let fit = climbed(&compiled, warm);
        fits.extend(fit.map(|fit| (known, compiled, fit)));
    }
    let bounds: Vec<f64> = fits.iter().map(|(.., fit)| fit.point.bound).collect();
    let total = log_sum_exp(&bounds); // maths §10.6
    for (known, compiled, fit) in &fits {
        let weight = (fit.point.bound - total).exp();
        add(&mut found, variables, (compiled, fit), weight, known)?;
    }
    total.is_finite().then_some(found)
}

/// The labels of grids that the model is fitted for one by one: those that most of it meets, as in `run`.
fn enumerated(graph: &Graph, variables: &Variables, size: usize) -> Vec<u32> {
    let mut states = 1;
    let mut arrays = graph.lone_labels(MOST_STATES);
    arrays.retain(|array| {
        let gridded = array
            .variables
            .iter()
            .all(|&label| variables.grid(label).is_some());
        let more = states * array.states;
        let taken = gridded && more <= MOST_STATES && more.saturating_mul(size) <= AFFORDABLE;
        if taken {
            states = more;
        }
        taken
    });
    arrays
        .into_iter()
        .flat_map(|array| array.variables)
        .collect()
}

/// All joint states, each next to the one before it.
fn joint_states(labels: &[u32], variables: &Variables) -> Vec<Vec<(u32, u32)>> {
    let mut all = vec![vec![]];
    for &label in labels {
        let mut longer = vec![];
        for (place, known) in all.into_iter().enumerate() {
            let with = |state: u32| [known.as_slice(), &[(label, state)]].concat();
            let states = 0..variables.states(label);
            if place % 2 == 0 {
                longer.extend(states.map(with));
            } else {
                longer.extend(states.rev().map(with));
            }
        }
        all = longer;
    }
    all
}

/// Where a climb ends, from where a neighbour's did if that is better.
fn climbed(model: &Compiled, warm: Option<&[f64]>) -> Option<Fit> {
    let run = |start: Vec<f64>| {
        let driver = Driver::new(model, Direction::Auto);
        driver
            .stop(Stop::Gain(GAIN) | Stop::Passes(PASSES))
            .run(start)
            .ok()
    };
    let warm = warm.filter(|warm| warm.len() == model.local().dim());
    let fit = warm.and_then(|warm| run(warm.to_vec()));
    let fit = fit.or_else(|| run(model.start(1).ok()?));
    fit.filter(|fit| fit.point.bound.is_finite())
}

/// Adds the probabilities of a fit, each times a weight.
fn add(
    masses: &mut Masses,
    variables: &Variables,
    (compiled, fit): (&Compiled, &Fit),
    weight: f64,
    known: &[(u32, u32)],
) -> Option<()> {
    let mut put = |label: u32, states: &[f64]| {
        let line = variables.line(label) as u32;
        let Some((_, elements)) = masses.iter_mut().find(|(of, _)| *of == line) else {
            return;
        };
        let element = (label - variables.first(line as usize)) as usize;
        for (sum, p) in elements[element].iter_mut().zip(states) {
            *sum += weight * p;
        }
    };
    for &(label, state) in known {
        let mut states = vec![0.0; variables.states(label) as usize];
        states[state as usize] = 1.0;
        put(label, &states);
    }
    let variational = compiled.variational_posterior(&fit.point);
    let marginals = variational.marginals().ok()?;
    for label in variables.gridded() {
        if let Some(PosteriorMarginal::States(states)) = marginals.of(label, 0)
            && known.iter().all(|(of, _)| *of != label)
        {
            put(label, states);
        }
    }
    variational.each_label(&mut put).ok()
}
