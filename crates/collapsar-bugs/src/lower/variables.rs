//! Decides what each line that is not observed becomes.

use std::collections::{BTreeMap, BTreeSet};

use collapsar::graph::{Graph, Kind};

use super::joint::joint_lines;
use super::kinds::{kind, shares, triangle};
use super::leaves::Leaves;
use crate::diagnostic::Diagnostic;
use crate::distribution::Distribution;
use crate::elaborate::{Definer, Elaborated, Mode, Sampling, Scope, Stop};
use crate::syntax::ast::Node;

/// What an unknown element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// An element of a variable of the graph.
    Unknown(u32, u32),
    /// A share that is zero by its prior.
    Zero,
    /// A label, and the value of its first state.
    Label(u32, u32),
    /// Left out of the fit, and predicted.
    Predicted,
}

/// The variables of a line.
#[derive(Debug, Clone)]
pub(crate) struct OfLine {
    pub(crate) kind: Kind,
    pub(crate) first: u32,
    /// The variable of each repetition, or of each element of Gaussians, counted from `first`;
    /// empty where it is its own number.
    ranks: Vec<u32>,
    /// The value of a label's first state.
    lowest: u32,
    /// The share of each element of a Dirichlet variable, [`OBSERVED`] where it is zero.
    shares: Vec<u32>,
    /// Whether it is the mean or the matrix of normal-Wishart variables.
    pub(crate) joint: Option<Joint>,
    /// Elements of one repetition.
    size: usize,
}

impl OfLine {
    /// Whether no repetition of the line is observed.
    pub(crate) fn all(&self) -> bool {
        self.ranks.is_empty()
    }

    /// How many elements of a line with so many repetitions are not observed.
    pub(crate) fn elements(&self, instances: usize) -> usize {
        let each = match self.kind {
            Kind::Gaussian | Kind::Bounded => 1,
            _ => self.size,
        };
        match self.ranks.len() {
            0 => instances * self.size,
            _ => each * self.ranks.iter().filter(|&&rank| rank != OBSERVED).count(),
        }
    }
}

/// The part that a line has of a joint variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Joint {
    Mean,
    Matrix,
}

/// Variables from here on stand for observed numbers that are put in later.
pub(super) const PLACEHOLDER: u32 = 0xf000_0000;

/// Marks what has no variable.
pub(super) const OBSERVED: u32 = u32::MAX;

/// The variables of a model.
#[derive(Debug, Default)]
pub(crate) struct Variables {
    pub(crate) lines: Vec<Option<OfLine>>,
    /// The first variable, kind and line of each declaration.
    declared: Vec<(u32, Kind, u32)>,
    /// The first hidden label of each line that is a mixture by itself.
    hidden: Vec<Option<u32>>,
    /// Whether each array holds labels that are not observed.
    labels: Vec<bool>,
    pub(crate) leaves: Leaves,
}

impl Variables {
    /// Declares the variables; lines in `apart` are not joint with a matrix.
    pub(super) fn new(
        model: &Elaborated,
        graph: &mut Graph,
        apart: &BTreeSet<u32>,
    ) -> Result<Self, Diagnostic> {
        let bounded = bounded_arrays(model);
        let leaves = Leaves::find(model, &bounded);
        let joint = joint_lines(model, apart, &leaves);
        let mut variables = Self {
            lines: vec![None; model.lines.len()],
            declared: vec![],
            hidden: vec![None; model.lines.len()],
            labels: vec![false; model.arrays.len()],
            leaves,
        };
        for (index, line) in model.lines.iter().enumerate() {
            if let Some(of) = line.sampling().filter(|_| !joint.contains_key(&index)) {
                variables.lines[index] =
                    variables.declare(model, graph, (index, of), &joint, &bounded)?;
                variables.hidden[index] = variables.hide(model, graph, (index, of))?;
            }
        }
        for (&mean, pairs) in &joint {
            let (matrix, instances) = pairs;
            if let Some(of) = variables.lines[*matrix].clone() {
                variables.lines[mean] = Some(OfLine {
                    ranks: instances.clone(),
                    joint: Some(Joint::Mean),
                    size: model.lines[mean].size,
                    ..of
                });
            }
        }
        for (line, of) in model.lines.iter().zip(&variables.lines) {
            let label = |of: &OfLine| matches!(of.kind, Kind::Label(_));
            variables.labels[line.array] |= of.as_ref().is_some_and(label);
        }
        Ok(variables)
    }

    fn declare(
        &mut self,
        model: &Elaborated,
        graph: &mut Graph,
        (index, of): (usize, Sampling),
        joint: &BTreeMap<usize, (usize, Vec<u32>)>,
        bounded: &BTreeSet<usize>,
    ) -> Result<Option<OfLine>, Diagnostic> {
        let line = &model.lines[index];
        if model.arrays[line.array].is_data() {
            return Ok(None);
        }
        let kind = match kind(model, index, of)? {
            Kind::Gaussian if bounded.contains(&line.array) => Kind::Bounded,
            kind => kind,
        };
        let observed = |element: usize| model.arrays[line.array].value(element).is_some();
        let each_element = matches!(kind, Kind::Gaussian | Kind::Bounded);
        let per = if each_element { line.size } else { 1 };
        let mut ranks = vec![];
        let mut count = 0;
        let scope = Scope::new(model, Mode::Shape);
        for instance in 0..line.instances {
            if self.leaves.contains(index, instance) {
                ranks.resize(ranks.len() + per, OBSERVED);
                continue;
            }
            scope.enter(index, instance);
            let (_, elements) = scope
                .places(&line.relation.target)
                .map_err(Stop::diagnostic)?;
            let seen = elements
                .iter()
                .filter(|&&element| observed(element))
                .count();
            if !each_element && seen != 0 && seen != elements.len() {
                let name = model.arrays[line.array].element(elements[0]);
                return Err(Diagnostic::new(
                    line.relation.span,
                    format!("some of the elements that begin with {name} are missing"),
                    "partly observed",
                )
                .help("give all of them or none"));
            }
            for place in 0..per {
                if observed(elements[place]) {
                    ranks.push(OBSERVED);
                } else {
                    ranks.push(count);
                    count += 1;
                }
            }
        }
        if count == 0 {
            return Ok(None);
        }
        if ranks
            .iter()
            .enumerate()
            .all(|(place, &rank)| rank == place as u32)
        {
            ranks = vec![];
        }
        let shares = if let Kind::Dirichlet(_) = kind {
            shares(model, index, of)?
        } else {
            vec![]
        };
        let kind = match kind {
            Kind::Dirichlet(_) if shares.len() > 1 => {
                Kind::Dirichlet(shares.iter().filter(|&&share| share != OBSERVED).count())
            }
            kind => kind,
        };
        let partner = joint.iter().find(|(_, (matrix, _))| *matrix == index);
        let name = &model.arrays[line.array].name;
        let (kind, names) = match (partner, kind) {
            (Some((&mean, _)), Kind::Wishart(dim)) => {
                let mean = &model.arrays[model.lines[mean].array].name;
                (Kind::NormalWishart(dim), vec![mean.clone(), name.clone()])
            }
            (_, kind) => (kind, vec![name.clone()]),
        };
        let first = graph.declare_joint(names, kind, count as usize);
        let first = first.map_err(|error| {
            Diagnostic::new(line.relation.span, error.to_string(), "declared here")
        })?;
        self.declared.push((first, kind, index as u32));
        Ok(Some(OfLine {
            kind,
            first,
            ranks,
            lowest: of.distribution.lowest_state().unwrap_or(0),
            shares,
            joint: partner.map(|_| Joint::Matrix),
            size: line.size,
        }))
    }

    /// Declares a hidden label for each repetition of a `dnormmix` line.
    fn hide(
        &mut self,
        model: &Elaborated,
        graph: &mut Graph,
        (index, of): (usize, Sampling),
    ) -> Result<Option<u32>, Diagnostic> {
        let line = &model.lines[index];
        if of.distribution != Distribution::NormalMixture || line.instances == 0 {
            return Ok(None);
        }
        let scope = Scope::within(model, Mode::Shape, index, 0);
        let means = scope.evaluate(&of.arguments[0]);
        let states = means.map_err(Stop::diagnostic)?.items.len();
        let kind = Kind::Label(states);
        let name = format!("the component of {}", model.arrays[line.array].name);
        let first = graph.declare(name, kind, line.instances).map_err(|error| {
            Diagnostic::new(line.relation.span, error.to_string(), "declared here")
        })?;
        self.declared.push((first, kind, index as u32));
        Ok(Some(first))
    }

    /// The hidden label of a repetition of a line that is a mixture by itself.
    pub(super) fn hidden(&self, line: usize, instance: usize) -> Option<u32> {
        self.hidden[line].map(|first| first + instance as u32)
    }

    /// What the element that this repetition of a line defines is.
    pub(crate) fn form(&self, definer: Definer) -> Form {
        if (self.leaves).contains(definer.line as usize, definer.instance as usize) {
            return Form::Predicted;
        }
        let Some(of) = &self.lines[definer.line as usize] else {
            return Form::Zero;
        };
        let offset = definer.offset as usize;
        let place = match of.kind {
            Kind::Gaussian | Kind::Bounded => definer.instance as usize * of.size + offset,
            _ => definer.instance as usize,
        };
        let rank = of.ranks.get(place).copied().unwrap_or(place as u32);
        let variable = of.first + rank;
        match (of.kind, of.joint) {
            (Kind::Label(_), _) => Form::Label(variable, of.lowest),
            (Kind::Dirichlet(_), _) => match of.shares.get(offset) {
                Some(&OBSERVED) => Form::Zero,
                Some(&share) => Form::Unknown(variable, share),
                None => Form::Unknown(variable, 0),
            },
            (Kind::Wishart(dim), _) => Form::Unknown(variable, triangle(offset, dim)),
            (Kind::NormalWishart(dim), Some(Joint::Matrix)) => {
                Form::Unknown(variable, dim as u32 + triangle(offset, dim))
            }
            (Kind::NormalWishart(_), _) => Form::Unknown(variable, definer.offset),
            _ => Form::Unknown(variable, 0),
        }
    }

    /// How many states a label has.
    pub(crate) fn states(&self, label: u32) -> u32 {
        match self.kind(label) {
            Kind::Label(states) => states as u32,
            _ => 0,
        }
    }

    /// Whether an array holds labels that are not observed.
    pub(super) fn label_array(&self, array: usize) -> bool {
        self.labels[array]
    }

    /// The kind of a variable.
    pub(crate) fn kind(&self, variable: u32) -> Kind {
        if variable >= PLACEHOLDER {
            return Kind::Gaussian;
        }
        self.declared[self.declaration(variable)].1
    }

    /// The line that a variable comes from.
    pub(crate) fn line(&self, variable: u32) -> usize {
        self.declared[self.declaration(variable)].2 as usize
    }

    fn declaration(&self, variable: u32) -> usize {
        self.declared
            .partition_point(|declared| declared.0 <= variable)
            - 1
    }
}

/// Arrays of normal variables that have bounds: truncated ones, and those that `dinterval` sees.
fn bounded_arrays(model: &Elaborated) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    for line in &model.lines {
        let Some(of) = line.sampling() else {
            continue;
        };
        if of.truncation.is_some() {
            found.insert(line.array);
        }
        if let (Distribution::Interval, Node::Reference(reference)) =
            (of.distribution, &of.arguments[0].node)
        {
            found.extend(model.find(&reference.name.text));
        }
    }
    found
}
