//! Decides where grids are refined: to where the posterior is, until every other node could be left out (maths §9.13).

use collapsar::elementary::Elementary;
use collapsar::graph::{Compiled, Declared, Demands, Graph, Kind, PosteriorMarginal};
use collapsar::special::log_sum_exp;
use collapsar::{Collapsed, Direction, Driver, Fit, Potential, Stop};

use super::nodes::{Grid, MOST_COUNTS, MOST_NODES, moments};
use super::{LineVariables, Variables};
use crate::elaborate::{Elaborated, Line};

/// Joint states of grids that the model is fitted for one by one, at most.
const MOST_STATES: usize = 1024;
/// Numbers that passes of the model, one for each of these, go through at most.
const AFFORDABLE: usize = 20_000_000;
/// Numbers that a pass may go through where three grids or more are to have more nodes: twice as many are eight times as
/// many combinations.
const MOST_FINE: usize = 100_000;
/// Climbs end where a step gains less.
const GAIN: f64 = 1e-7;
const PASSES: u64 = 1000;
/// Numbers that all climbs of one look could go through in their time, with passes that each has at least.
const WORK: usize = 200_000_000;
const FEWEST: u64 = 50;
/// The same for all looks of a model without data, what each observed number adds, and for all looks of any model.
const ALL_WORK: usize = 100_000_000;
const FOR_A_NUMBER: usize = 50_000;
const MOST_WORK: usize = 500_000_000;
/// Numbers that a pass could go through for each that a model has, while it is derived for a state; and passes that a climb has at
/// least where it begins at the end of another.
const DERIVED: usize = 20;
const LEAST: usize = 3;
/// The same for a derivation and for a pass of whatever size: in small models they are most of it.
const EACH_STATE: usize = 10_000;
const EACH_PASS: usize = 200;
/// What nodes may weigh together that are left out at one end of a grid, and counts at one end of their range.
const TAIL: f64 = 1e-7;
const TAIL_OF_COUNTS: f64 = 1e-10;
/// Shares of its length by which a grid is longer at both ends where q is too narrow, and how many times larger the largest
/// count may then be.
const APART: f64 = 0.5;
const MOST_TIMES: f64 = 3.0;
/// A mass on fewer nodes than these, one after another, says little of where it would be on a finer grid.
const BLIND: usize = 3;
/// Deviations by which results may change where every other node is left out.
const TOLERANCE: f64 = 1e-4;

/// Labels with the states that they are given.
type Known = Vec<(u32, u32)>;

/// What looks at grids take, in numbers that passes could go through meanwhile.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) spent: usize,
    pub(super) allowed: usize,
}

impl Work {
    /// What a model may take: one with many numbers takes long whatever is done with it.
    pub(super) fn of(model: &Elaborated) -> Self {
        let observed = |line: &Line| {
            let array = &model.arrays[line.array];
            (0..array.len())
                .filter(|&element| array.value(element).is_some())
                .count()
        };
        let lines = model.lines.iter().filter(|line| line.stochastic());
        let numbers: usize = lines.map(observed).sum();
        let more = numbers.saturating_mul(FOR_A_NUMBER);
        Self {
            spent: 0,
            allowed: ALL_WORK.saturating_add(more).min(MOST_WORK),
        }
    }

    pub(super) fn is_left(&self) -> bool {
        self.spent < self.allowed
    }

    fn spend(&mut self, more: usize) {
        self.spent = self.spent.saturating_add(more);
    }
}

/// What a look at all grids found.
pub(super) enum Looked {
    At(Vec<Mass>),
    /// There is no fit.
    Nothing,
    /// It would take more than is left.
    TooMuch,
}

/// What a fit says of a line that has a grid.
pub(super) struct Mass {
    pub(super) line: u32,
    /// The probabilities of the nodes, for each element.
    elements: Vec<Vec<f64>>,
    /// Whether they are those of a factor of q apart from others, which is too narrow.
    apart: bool,
    /// Whether more nodes would be more combinations than are summed over in good time.
    full: bool,
}

/// What is asked of a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// Whether it is where the posterior is.
    Where,
    /// Whether nodes are near enough to one another, all grids being where they should.
    HowFine,
}

/// A grid that serves better, where one does; notes the error of the one that is here.
pub(super) fn refined(grid: &mut Grid, mass: &Mass, look: Look) -> Option<Grid> {
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
    for p in &mass.elements {
        first = first.min(end(&mut p.iter()));
        last = last.max(nodes - 1 - end(&mut p.iter().rev()).min(nodes - 1));
    }
    if first > last {
        return None;
    }
    if grid.counts() {
        if look == Look::HowFine {
            return None;
        }
        return counts(grid, (first, last), mass.apart);
    }
    let errors = mass.elements.iter().map(|p| halved(grid, p));
    grid.error = errors.fold(0.0, f64::max);
    let (begin, stop) = (grid.place(0), grid.place(nodes - 1));
    // Where the posterior is between two nodes or at one, it may be nearer to others where other grids are finer.
    let margin = if last - first < BLIND { BLIND } else { 1 };
    let (mut low, mut high) = (
        grid.place(first.saturating_sub(margin)),
        grid.place((last + margin).min(nodes - 1)),
    );
    let span = high - low;
    let (at_first, at_last) = (first == 0, last + 1 == nodes);
    // A mode at an end may be anywhere beyond it.
    let leap = 2.0 * (stop - begin);
    let mode_at = |node: usize| {
        mass.elements
            .iter()
            .any(|p| p.iter().all(|x| *x <= p[node]))
    };
    let more = |at_end: bool, mode: bool| match (at_end, mass.apart) {
        _ if mode => leap,
        (true, _) => span,
        (false, true) => APART * span,
        (false, false) => 0.0,
    };
    let ends = (at_first && mode_at(0), at_last && mode_at(nodes - 1));
    if ends.0 || ends.1 {
        (low, high) = (begin, stop);
    }
    let low = (low - more(at_first, ends.0)).max(grid.limits.0);
    let high = (high + more(at_last, ends.1)).min(grid.limits.1);
    let beyond = low < begin - 0.1 * span || high > stop + 0.1 * span;
    let narrow = high - low < 0.5 * (stop - begin);
    let coarse = grid.error > TOLERANCE && 2 * nodes <= MOST_NODES && !mass.full;
    let nodes = match look {
        Look::Where if narrow || beyond => nodes,
        Look::HowFine if coarse => 2 * nodes,
        _ => return None,
    };
    Some(Grid::new(grid.coordinate, (low, high), grid.limits, nodes))
}

/// The range of counts that serves better, where one does.
fn counts(grid: &mut Grid, (first, last): (usize, usize), apart: bool) -> Option<Grid> {
    grid.error = 0.0;
    let nodes = grid.values.len();
    let (begin, stop) = (grid.place(0), grid.place(nodes - 1));
    // One more at each end, so that the next look sees where they end.
    let low = (grid.place(first) - 1.0).max(grid.limits.0);
    let (mut low, mut high) = (low, grid.place(last) + 1.0);
    if apart || last + 1 == nodes {
        high = MOST_TIMES * high + 10.0;
    }
    if apart || first == 0 {
        low = (low / MOST_TIMES).floor();
    }
    let high = high.min(MOST_COUNTS);
    let other = high > stop || low < begin || 4.0 * (high - low) < 3.0 * (stop - begin);
    other.then(|| Grid::new(grid.coordinate, (low, high), grid.limits, 0))
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

/// Looks at all grids; `again` says whether it may be refused for what it would take.
pub(super) fn look(graph: &Graph, variables: &Variables, work: &mut Work, again: bool) -> Looked {
    let Ok(whole) = Compiled::new(graph.clone(), &Demands::default()) else {
        return Looked::Nothing;
    };
    let enumerated = enumerated(graph, variables, whole.size());
    let states = enumerated.iter();
    let climbs: usize = states
        .map(|&label| variables.states(label) as usize)
        .product();
    let each = derivation(&whole) + LEAST * pass(&whole);
    let left = work.allowed.saturating_sub(work.spent);
    if again && climbs.saturating_mul(each) > left {
        return Looked::TooMuch;
    }
    let found = masses(graph, (variables, &whole), (&enumerated, climbs), work);
    found.map_or(Looked::Nothing, Looked::At)
}

/// The probabilities of all nodes under a fit, or under one for each joint state of the labels that are enumerated; nothing where there
/// is none. Counts what it takes.
fn masses(
    graph: &Graph,
    (variables, whole): (&Variables, &Compiled),
    (enumerated, climbs): (&[u32], usize),
    work: &mut Work,
) -> Option<Vec<Mass>> {
    let passes = passes(whole, climbs);
    let derived = derivation(whole);
    let labels = |declared: &Declared| matches!(declared.kind, Kind::Label(_));
    let all_labels = graph.declared().iter().all(labels);
    let lines = variables.lines.iter().enumerate();
    let continuous = |of: &LineVariables| of.grid.as_ref().is_some_and(|grid| !grid.counts());
    let grids = variables.lines.iter().flatten().filter(|of| continuous(of));
    let full = grids.count() > 2 && numbers(whole) > MOST_FINE;
    let mut found: Vec<Mass> = lines
        .filter_map(|(line, of)| {
            let of = of.as_ref()?;
            let nodes = of.grid.as_ref()?.values.len();
            Some(Mass {
                line: line as u32,
                elements: vec![vec![0.0; nodes]; variables.count(line)],
                apart: !all_labels && !enumerated.contains(&of.first),
                full,
            })
        })
        .collect();
    if enumerated.is_empty() {
        let fit = climbed(whole, None, passes)?;
        work.spend(derived + pass(whole).saturating_mul(fit.passes as usize));
        add(&mut found, variables, (whole, &fit), 1.0, &[])?;
        return Some(found);
    }
    let mut fits: Vec<(Known, Compiled, Fit)> = vec![];
    // States of the last label follow one another: what the others leave is derived once for all of them.
    let mut outer: Option<(Known, Option<Graph>)> = None;
    for known in joint_states(enumerated, variables) {
        work.spend(derived);
        let (others, last) = known.split_at(known.len() - 1);
        if outer.as_ref().is_none_or(|(of, _)| of != others) {
            outer = Some((others.to_vec(), graph.given(others)));
        }
        let given = outer.as_ref().and_then(|(_, graph)| graph.as_ref());
        let Some(given) = given.and_then(|graph| graph.given(last)) else {
            continue;
        };
        let compiled = Compiled::new(given, &Demands::default()).ok()?;
        let warm = fits.last().map(|(.., fit)| fit.point.messages.as_slice());
        let fit = climbed(&compiled, warm, passes);
        let made = fit.as_ref().map_or(passes, |fit| fit.passes);
        work.spend(pass(&compiled).saturating_mul(made as usize));
        fits.extend(fit.map(|fit| (known, compiled, fit)));
    }
    let bounds: Vec<f64> = fits.iter().map(|(.., fit)| fit.point.bound).collect();
    let total = log_sum_exp(&bounds); // maths §10.6
    for (known, compiled, fit) in &fits {
        let weight = (fit.point.bound - total).exp_();
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
fn joint_states(labels: &[u32], variables: &Variables) -> Vec<Known> {
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

/// Numbers that a pass goes through.
fn numbers(model: &Compiled) -> usize {
    (model.size() + model.entries()).max(1)
}

/// What it takes to derive a model for a state, and what a pass takes, in numbers that passes could go through.
fn derivation(model: &Compiled) -> usize {
    EACH_STATE + DERIVED * numbers(model)
}

fn pass(model: &Compiled) -> usize {
    EACH_PASS + model.pass_cost()
}

/// Passes that each of so many climbs may have.
fn passes(model: &Compiled, climbs: usize) -> u64 {
    ((WORK / pass(model) / climbs.max(1)) as u64).clamp(FEWEST, PASSES)
}

/// Where a climb ends, from where a neighbour's did if that is better.
fn climbed(model: &Compiled, warm: Option<&[f64]>, passes: u64) -> Option<Fit> {
    let run = |start: Vec<f64>| {
        let driver = Driver::new(model, Direction::Auto);
        driver
            .stop(Stop::Gain(GAIN) | Stop::Passes(passes))
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
    masses: &mut [Mass],
    variables: &Variables,
    (compiled, fit): (&Compiled, &Fit),
    weight: f64,
    known: &[(u32, u32)],
) -> Option<()> {
    let mut put = |label: u32, states: &[f64]| {
        let line = variables.line(label) as u32;
        let Some(mass) = masses.iter_mut().find(|mass| mass.line == line) else {
            return;
        };
        let element = (label - variables.first(line as usize)) as usize;
        for (sum, p) in mass.elements[element].iter_mut().zip(states) {
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
