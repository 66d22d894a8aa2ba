//! Decides which labels are enumerated: the model is fitted for each of their states, and the fits are combined by their
//! bounds, q(θ | k) q(k) in the place of q(θ) q(k) (maths §10.6).
//!
//! To all else a run of such a model has one point still: those of its states in a row.

use collapsar::elementary::Elementary;
use collapsar::graph::{Compiled, Declared, Demands, Graph, Kind, LoneLabels};
use collapsar::special::log_sum_exp;
use collapsar::{Collapsed, Point, Potential};
use collapsar_bugs::{Origin, Prepared, Quantity};
use serde_json::{Value, json};

use super::{ModelRequest, ModelSource};
use crate::error::{Error, Result};

/// Joint states that are enumerated at most, unless labels are named.
const MOST: usize = 1024;
/// Joint states that are enumerated at most.
const MOST_ASKED: usize = 20_000;
/// Numbers that passes of the whole model, one for each state, go through at most, unless labels are named or have few
/// states. Nine indicators have 17 million, and their 512 fits take 0.13 s of a processor after 2.4 s of reading the
/// model; a change-point among 300 data has one million, and its fits take 0.14 s.
const AFFORDABLE: usize = 50_000_000;
/// So few states are fitted whatever a fit costs.
const FEW: usize = 4;
/// What states that are left out of results weigh together.
pub(super) const NEGLIGIBLE: f64 = 1e-5;
/// Rounding of a bound, as a part of it, beyond which it says nothing.
const LOST: f64 = 1e-6;

/// The labels of a model that are enumerated, and the model for each of their states.
#[derive(Debug)]
pub struct Enumerated {
    /// Arrays of labels that are enumerated; what they meet is counted where nobody has named them.
    pub arrays: Vec<LoneLabels>,
    /// The labels.
    pub labels: Vec<EnumeratedLabel>,
    /// The joint states that are possible, each of which differs from the one before it in one label.
    pub states: Vec<EnumeratedState>,
}

/// A label that is enumerated.
#[derive(Debug, Clone, PartialEq)]
pub struct EnumeratedLabel {
    /// What it is called.
    pub name: String,
    /// The value of its first state, unless states are nodes of a grid.
    pub lowest: u32,
    /// What its states stand for.
    pub values: Vec<f64>,
    /// Whether these are nodes of a grid.
    pub(super) on_grid: bool,
    variable: u32,
    states: usize,
}

impl EnumeratedLabel {
    /// Its number in the graph.
    pub(super) fn variable(&self) -> u32 {
        self.variable
    }
}

/// The model for one joint state.
#[derive(Debug)]
pub struct EnumeratedState {
    /// The state of each label, counted from zero.
    pub states: Vec<u32>,
    /// What is climbed.
    pub compiled: Compiled,
}

/// The fits of all states at the end of a run.
#[derive(Debug)]
pub struct States {
    /// Where the climb of each ended.
    pub points: Vec<Point>,
    /// The probability of each: the exponential of its bound, as a share of the sum.
    pub probabilities: Vec<f64>,
}

/// Which labels of a model are enumerated unless anything is said: those that most of it meets, as long as their states
/// are not too many for a model of this size.
fn lone_labels(graph: &Graph, size: usize, demands: &Demands) -> Vec<LoneLabels> {
    let named = |name: &String| demands.collapse.contains(name) || demands.explicit.contains(name);
    let mut states = 1;
    let mut arrays = graph.lone_labels(MOST);
    arrays.retain(|array| {
        let more = states * array.states;
        let affordable = more <= FEW || more.saturating_mul(size) <= AFFORDABLE;
        let taken = !named(&array.name) && more <= MOST && affordable;
        if taken {
            states = more;
        }
        taken
    });
    arrays
}

impl EnumeratedState {
    /// Whether the other labels can have states at all, given this one: tables with zeros may leave none.
    fn is_possible(&self, seed: u64) -> bool {
        let start = self.compiled.start(seed).map_err(Error::from);
        !self.compiled.has_labels()
            || start.is_ok_and(|start| self.point(start).bound > f64::NEG_INFINITY)
    }
}

impl Enumerated {
    /// What is enumerated of a model, if anything.
    pub(super) fn new(
        request: &ModelRequest,
        source: &ModelSource,
        prepared: &Prepared,
        (demands, whole): (&Demands, &Compiled),
    ) -> Result<Option<Self>> {
        let graph = prepared.graph();
        let followed = request.climb.checkpoint.is_some() || request.climb.resume.is_some();
        let arrays = match &request.enumerate {
            Some(names) if followed && !names.is_empty() => {
                return Err(Error::OneClimb {
                    options: &["checkpoint", "resume"],
                    parts: "states",
                });
            }
            Some(names) => named_labels(graph, names)?,
            None if followed => vec![],
            None => lone_labels(graph, whole.size(), demands),
        };
        if arrays.is_empty() {
            return Ok(None);
        }
        let names: Vec<&str> = arrays.iter().map(|array| array.name.as_str()).collect();
        let quantities = prepared.quantities_of(|name| names.contains(&name));
        let quantities = quantities.map_err(|diagnostic| source.refusal(diagnostic))?;
        let label = |quantity: &Quantity| {
            let (variable, lowest) = match quantity.origin {
                Origin::Label(variable, lowest) => (variable, lowest),
                Origin::Grid(variable) => (variable, 0),
                _ => return None,
            };
            let states = states_of(graph, variable);
            let whole = || (lowest..).take(states).map(f64::from).collect();
            Some(EnumeratedLabel {
                name: quantity.to_string(),
                variable,
                lowest,
                states,
                values: prepared.nodes(variable).map_or_else(whole, <[f64]>::to_vec),
                on_grid: prepared.nodes(variable).is_some(),
            })
        };
        let labels: Vec<EnumeratedLabel> = quantities.iter().filter_map(label).collect();
        let mut states = vec![];
        for joint in joint_states(&labels) {
            let known: Vec<(u32, u32)> = (labels.iter().map(|label| label.variable))
                .zip(joint.iter().copied())
                .collect();
            let Some(graph) = graph.given(&known) else {
                continue;
            };
            match source.compile_graph(prepared, graph, demands) {
                Ok(compiled) => {
                    let state = EnumeratedState {
                        states: joint,
                        compiled,
                    };
                    if state.is_possible(request.climb.seed) {
                        states.push(state);
                    }
                }
                // Nobody has asked for it, and the whole model can be fitted.
                Err(_) if request.enumerate.is_none() => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        let found = Self {
            arrays,
            labels,
            states,
        };
        // A fit that was kept may be one of the whole model, of a run that had a checkpoint.
        let other = |messages: &Vec<f64>| messages.len() != found.messages();
        if found.states.is_empty() || request.messages.as_ref().is_some_and(other) {
            return Ok(None);
        }
        Ok(Some(found))
    }

    /// How many messages all climbs have together.
    pub fn messages(&self) -> usize {
        self.states.iter().map(EnumeratedState::messages).sum()
    }

    /// Whether labels are left once these are known.
    pub fn leaves_labels(&self, graph: &Graph) -> bool {
        let labels = |declared: &Declared| match declared.kind {
            Kind::Label(_) => declared.count as usize,
            _ => 0,
        };
        graph.declared().iter().map(labels).sum::<usize>() > self.labels.len()
    }

    /// The fits of all states at the point of a run.
    pub(super) fn at(&self, point: &Point) -> Result<States> {
        let mut rest = point.messages.as_slice();
        let mut points = vec![];
        for state in &self.states {
            let (messages, others) = rest.split_at(state.messages().min(rest.len()));
            points.push(state.point(messages.to_vec()));
            rest = others;
        }
        let bounds: Vec<f64> = points.iter().map(|point| point.bound).collect();
        let total = log_sum_exp(&bounds); // maths §10.6
        if total == f64::NEG_INFINITY {
            let expected = "one state at least with a bound that is known; rescale the data or narrow the prior";
            return Err(collapsar::Error::domain("states", "no bound", expected).into());
        }
        Ok(States {
            points,
            probabilities: bounds.iter().map(|bound| (bound - total).exp_()).collect(),
        })
    }

    /// The probabilities of the states of a label.
    fn marginal(&self, label: usize, states: &States) -> Vec<f64> {
        let mut sums = vec![0.0; self.labels[label].states];
        for (state, probability) in self.states.iter().zip(&states.probabilities) {
            sums[state.states[label] as usize] += probability;
        }
        sums
    }

    /// The probabilities of the states of each label, by its variable.
    pub(super) fn marginals(&self, states: &States) -> impl Iterator<Item = (u32, Vec<f64>)> {
        let labels = self.labels.iter().enumerate();
        labels.map(move |(place, label)| (label.variable, self.marginal(place, states)))
    }

    /// What `run.json` says: the value of each label, the bound and the probability of each state.
    pub fn record(&self, point: &Point) -> Result<Value> {
        let found = self.at(point)?;
        let values = |state: &EnumeratedState| -> Vec<Value> {
            let labels = state.states.iter().zip(&self.labels);
            let value = |(state, label): (&u32, &EnumeratedLabel)| {
                let value = label.values[*state as usize];
                if value.fract() == 0.0 && value.abs() < 1e9 {
                    json!(value as i64)
                } else {
                    json!(value)
                }
            };
            labels.map(value).collect()
        };
        let fits = found.points.iter().zip(&found.probabilities);
        let states = self.states.iter().zip(fits).map(|(state, (point, p))| {
            json!({ "values": values(state), "bound": point.bound, "probability": p })
        });
        let names: Vec<&str> = self
            .labels
            .iter()
            .map(|label| label.name.as_str())
            .collect();
        Ok(json!({ "labels": names, "states": states.collect::<Vec<_>>() }))
    }
}

impl EnumeratedState {
    pub(super) fn messages(&self) -> usize {
        self.compiled.local().dim()
    }

    /// The point at these messages; its bound is that of an impossible state where rounding leaves nothing of it.
    pub(super) fn point(&self, messages: Vec<f64>) -> Point {
        let mut point = Point {
            statistics: vec![0.0; messages.len()],
            gradient: vec![0.0; messages.len()],
            messages,
            ..Point::default()
        };
        let Ok((local, posterior)) = self.compiled.evaluate(&mut point) else {
            point.bound = f64::NEG_INFINITY;
            return point;
        };
        let sent = point.messages.iter().zip(&point.statistics);
        let sent = sent.map(|(message, statistic)| message * statistic);
        let size = local.abs() + sent.clone().map(f64::abs).sum::<f64>();
        point.bound = local - sent.sum::<f64>() + posterior + self.compiled.constant();
        let lost = f64::EPSILON * size > LOST * point.bound.abs().max(1.0);
        if lost || point.bound.is_nan() {
            point.bound = f64::NEG_INFINITY;
        }
        for (gradient, message) in point.gradient.iter_mut().zip(&point.messages) {
            *gradient -= message;
        }
        point
    }
}

impl States {
    /// The states that results are of: those of a high probability, until all others together have none to speak
    /// of. With their probabilities, which sum to one.
    pub(super) fn kept(&self) -> Vec<(usize, f64)> {
        let mut order: Vec<usize> = (0..self.probabilities.len()).collect();
        order.sort_by(|a, b| self.probabilities[*b].total_cmp(&self.probabilities[*a]));
        let mut left = 1.0 - NEGLIGIBLE;
        let mut kept = vec![];
        for state in order {
            if left > 0.0 || kept.is_empty() {
                left -= self.probabilities[state];
                kept.push(state);
            }
        }
        let total: f64 = kept.iter().map(|&state| self.probabilities[state]).sum();
        let share = |state: usize| (state, self.probabilities[state] / total);
        kept.into_iter().map(share).collect()
    }

    /// The likeliest state.
    pub(super) fn likeliest(&self) -> usize {
        self.kept().first().map_or(0, |(state, _)| *state)
    }
}

/// How many states a label has.
fn states_of(graph: &Graph, label: u32) -> usize {
    graph.declared()[graph.declaration(label)].kind.atoms()
}

/// Arrays of labels by their names.
fn named_labels(graph: &Graph, names: &[String]) -> Result<Vec<LoneLabels>> {
    let refused = |value: &str, found, expected: String| Error::Value {
        option: "enumerate",
        value: value.to_owned(),
        found,
        expected,
    };
    let mut all = 1_usize;
    let mut found: Vec<LoneLabels> = vec![];
    for name in names {
        let variables = graph.labels_of(std::slice::from_ref(name));
        if variables.is_empty() {
            let labels = graph.declared().iter();
            let labels = labels.filter(|declared| matches!(declared.kind, Kind::Label(_)));
            let mut labels: Vec<String> = labels.map(Declared::name).collect();
            labels.dedup();
            let expected = match labels.as_slice() {
                [] => "none: this model has no labels".to_owned(),
                _ => format!("none, or labels: {}", labels.join(", ")),
            };
            return Err(refused(name, "no labels of that name", expected));
        }
        if found.iter().any(|array| array.name == *name) {
            continue;
        }
        let states = (variables.iter()).fold(1_usize, |product, &label| {
            product.saturating_mul(states_of(graph, label))
        });
        all = all.saturating_mul(states);
        if all > MOST_ASKED {
            let expected = format!("at most {MOST_ASKED} together");
            return Err(refused(name, "more states than can be fitted", expected));
        }
        found.push(LoneLabels {
            name: name.clone(),
            variables,
            states,
            meets: 0,
            of: 0,
        });
    }
    Ok(found)
}

/// All joint states, each of which differs from the one before it by one in one label: digits run up and down in
/// turn.
fn joint_states(labels: &[EnumeratedLabel]) -> Vec<Vec<u32>> {
    let mut all = vec![vec![]];
    for label in labels {
        let mut longer = Vec::with_capacity(all.len() * label.states);
        for (place, state) in all.into_iter().enumerate() {
            let digits = 0..label.states as u32;
            let with = |digit: u32| [state.as_slice(), &[digit]].concat();
            if place % 2 == 0 {
                longer.extend(digits.map(with));
            } else {
                longer.extend(digits.rev().map(with));
            }
        }
        all = longer;
    }
    all
}

impl Enumerated {
    /// What a state is called, as in `k = 3`.
    pub(super) fn name(&self, state: &EnumeratedState) -> String {
        let values = self.labels.iter().zip(&state.states);
        let values = values
            .map(|(label, state)| format!("{} = {}", label.name, label.values[*state as usize]));
        values.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_differ_in_one_label() {
        let label = |states| EnumeratedLabel {
            name: String::new(),
            lowest: 0,
            variable: 0,
            states,
            values: vec![],
            on_grid: false,
        };
        let labels = [label(2), label(3), label(1), label(4)];
        let mut all = joint_states(&labels);
        assert_eq!(all.len(), 24);
        for pair in all.windows(2) {
            let apart = pair[0].iter().zip(&pair[1]).map(|(a, b)| a.abs_diff(*b));
            assert_eq!(apart.sum::<u32>(), 1, "{pair:?}");
        }
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 24);
    }

    #[test]
    fn states_without_weight_are_left_out() {
        let states = States {
            points: vec![],
            probabilities: vec![1e-9, 0.3, 1e-4, 0.6999, 4e-7],
        };
        let kept = states.kept();
        let places: Vec<usize> = kept.iter().map(|(state, _)| *state).collect();
        assert_eq!(places, [3, 1, 2]);
        // The sum of three numbers below one.
        let total: f64 = kept.iter().map(|(_, p)| p).sum();
        assert!((total - 1.0).abs() < 1e-15);
    }
}
