//! Decides what each line that is not observed becomes.

use std::collections::{BTreeMap, BTreeSet};

use collapsar::graph::{Atom, Centring, Graph, Kind, Told};

use super::barren::Barren;
use super::censored::Censored;
use super::joint::joint_lines;
use super::kinds::{Components, kind};
use super::nodes::Grid;
use super::odds::arrays_in_odds;
use super::scales::{Form, forms};
use super::shares::Shares;
use crate::diagnostic::{Checked, Complaints, Diagnostic};
use crate::distribution::Distribution;
use crate::elaborate::{Definer, Elaborated, Line, Mode, Sampling, Scope};
use crate::quantity::Origin;
use crate::syntax::ast::Node;
use crate::value::Scalar;

/// The variables of a line.
#[derive(Debug, Clone)]
pub(crate) struct LineVariables {
    pub(crate) kind: Kind,
    pub(crate) first: u32,
    /// The variable of each repetition, or of each element of Gaussians, counted from `first`;
    /// empty where it is its own number.
    ranks: Vec<u32>,
    /// The value of a label's first state.
    lowest: u32,
    /// Which components of Dirichlet variables the elements are.
    components: Components,
    /// Whether it is a probability that is counted in log odds.
    in_odds: bool,
    /// In which scale a positive number is told.
    told: Told,
    /// Whether it is the mean of normal-Wishart variables, not their matrix.
    pub(crate) is_mean: bool,
    /// Elements of one repetition.
    size: usize,
    /// The numbers that states stand for, where they are known on a grid only.
    pub(crate) grid: Option<Grid>,
}

impl LineVariables {
    pub(crate) fn are_labels(&self) -> bool {
        matches!(self.kind, Kind::Label(_)) && !self.continuous()
    }

    /// Whether states are nodes of what is not a count.
    pub(crate) fn continuous(&self) -> bool {
        self.grid.as_ref().is_some_and(|grid| !grid.counts())
    }

    /// Whether no repetition of the line is observed.
    pub(crate) fn all(&self) -> bool {
        self.ranks.is_empty()
    }

    /// How many elements of a line with so many repetitions are not observed.
    pub(crate) fn elements(&self, instances: usize) -> usize {
        let each = if scalar(self.kind) { 1 } else { self.size };
        match self.ranks.len() {
            0 => instances * self.size,
            _ => each * self.ranks.iter().filter(|&&rank| rank != NONE).count(),
        }
    }
}

/// Whether each element is a variable of its own.
fn scalar(kind: Kind) -> bool {
    matches!(kind, Kind::Gaussian | Kind::Bounded)
}

/// Variables from here on stand for observed numbers that are put in later.
pub(super) const PLACEHOLDER: u32 = 0xf000_0000;

/// Marks what has no variable.
pub(super) const NONE: u32 = u32::MAX;

/// Lines of means with the line of their matrix, and the matrix of each repetition.
type Joint = BTreeMap<usize, (usize, Vec<u32>)>;

/// Lines whose unknowns are on a grid.
pub(super) type Grids = BTreeMap<u32, Grid>;

/// The variables of a model.
#[derive(Debug, Default)]
pub(crate) struct Variables {
    pub(crate) lines: Vec<Option<LineVariables>>,
    /// The first variable, kind and line of each declaration.
    declared: Vec<(u32, Kind, u32)>,
    /// How many variables each line has.
    counts: Vec<usize>,
    /// The first hidden label of each line that is a mixture by itself.
    hidden: Vec<Option<u32>>,
    /// Whether each array holds labels that are not observed.
    pub(super) labels: Vec<bool>,
    pub(crate) barren: Barren,
    /// Waiting times that are summed out.
    pub(crate) censored: Censored,
    /// Probabilities that are summed out.
    pub(crate) shares: Shares,
    /// Where real variables are counted from.
    pub(crate) centring: Centring,
    /// Arrays whose probabilities are counted in log odds.
    odds: BTreeSet<usize>,
}

impl Variables {
    /// Declares the variables; lines in `apart` are not joint with a matrix, those of `grids` are labels.
    pub(super) fn new(
        model: &Elaborated,
        graph: &mut Graph,
        (apart, grids): (&BTreeSet<u32>, &Grids),
        centring: Centring,
    ) -> Checked<Self> {
        let bounded = bounded_arrays(model);
        let censored = Censored::find(model);
        let shares = Shares::find(model);
        let barren = Barren::find(model, &bounded, (&censored, &shares));
        let joint = joint_lines(model, apart, &barren);
        let forms = forms(model, &barren)?;
        let mut variables = Self {
            lines: vec![None; model.lines.len()],
            declared: vec![],
            counts: vec![0; model.lines.len()],
            hidden: vec![None; model.lines.len()],
            labels: vec![false; model.arrays.len()],
            barren,
            censored,
            shares,
            centring,
            odds: arrays_in_odds(model),
        };
        let mut complaints = Complaints::default();
        for (index, line) in model.lines.iter().enumerate() {
            if let Some(of) = line.sampling().filter(|_| !joint.contains_key(&index)) {
                let form = (&bounded, forms[index], grids.get(&(index as u32)));
                let own = variables.declare(model, graph, (index, of), &joint, form);
                variables.lines[index] = complaints.take(own).flatten();
                let hidden = variables.hide(model, graph, (index, of));
                variables.hidden[index] = complaints.take(hidden).flatten();
            }
        }
        complaints.end()?;
        for (&mean, (matrix, instances)) in &joint {
            if let Some(of) = variables.lines[*matrix].clone() {
                variables.lines[mean] = Some(LineVariables {
                    ranks: instances.clone(),
                    is_mean: true,
                    size: model.lines[mean].size,
                    ..of
                });
            }
        }
        Ok(variables)
    }

    fn declare(
        &mut self,
        model: &Elaborated,
        graph: &mut Graph,
        (index, of): (usize, Sampling),
        joint: &Joint,
        (bounded, form, grid): (&BTreeSet<usize>, Form, Option<&Grid>),
    ) -> Checked<Option<LineVariables>> {
        let line = &model.lines[index];
        if model.arrays[line.array].is_data() {
            return Ok(None);
        }
        let (kind, told) = match (grid, form) {
            (Some(grid), _) => (Kind::Label(grid.values.len()), Told::default()),
            (None, Form::Plain) => (kind(model, index, of)?, Told::default()),
            (None, Form::Bounded) => (Kind::Bounded, Told::default()),
            (None, Form::Scale(told, inverse, square)) => {
                (Kind::Positive { inverse, square }, told)
            }
        };
        let in_odds = kind == Kind::Dirichlet(2)
            && of.distribution != Distribution::Dirichlet
            && self.odds.contains(&line.array);
        let kind = if in_odds { Kind::Gaussian } else { kind };
        let (ranks, count) = self.ranks(model, index, scalar(kind))?;
        if count == 0 {
            return Ok(None);
        }
        let components = Components::new(model, index, of)?;
        let partner = joint.iter().find(|(_, (matrix, _))| *matrix == index);
        let mut names = vec![model.arrays[line.array].name.clone()];
        let kind = match (kind, partner) {
            (Kind::Gaussian, _) if bounded.contains(&line.array) => Kind::Bounded,
            (Kind::Dirichlet(all), _) if all > 2 || line.size > 1 => {
                Kind::Dirichlet(components.counts().next().unwrap_or(all))
            }
            (Kind::Wishart(dim), Some((&mean, _))) => {
                let mean = model.lines[mean].array;
                names.insert(0, model.arrays[mean].name.clone());
                Kind::NormalWishart(dim)
            }
            (kind, _) => kind,
        };
        self.counts[index] = count as usize;
        self.labels[line.array] |= matches!(kind, Kind::Label(_));
        let (first, ranks) = if components.patterns.len() > 1 {
            self.add_by_pattern(graph, (index, line), &names, &components, &ranks)?
        } else {
            let all = count as usize;
            (self.add(graph, (index, line), names, kind, all)?, ranks)
        };
        if told != Told::default() {
            (first..first + count).for_each(|variable| graph.tell(variable, told));
        }
        Ok(Some(LineVariables {
            kind,
            first,
            told,
            ranks,
            lowest: match grid {
                Some(grid) if grid.counts() => grid.values[0] as u32,
                _ => of.distribution.lowest_state().unwrap_or(0),
            },
            components,
            in_odds,
            is_mean: false,
            size: line.size,
            grid: grid.cloned(),
        }))
    }

    /// The variable of each repetition of a line, or of each element, counted from the first, and
    /// how many there are; no list where each is its own number.
    fn ranks(&self, model: &Elaborated, index: usize, scalar: bool) -> Checked<(Vec<u32>, u32)> {
        let line = &model.lines[index];
        let array = &model.arrays[line.array];
        let per = if scalar { line.size } else { 1 };
        let (mut ranks, mut count) = (vec![], 0);
        let scope = Scope::new(model, Mode::Shape);
        for instance in 0..line.instances {
            if self.barren.contains(index, instance) {
                ranks.resize(ranks.len() + per, NONE);
                continue;
            }
            let elements = scope.targets(index, instance)?;
            let observed = |element: &usize| array.value(*element).is_some();
            let seen = elements.iter().filter(|element| observed(element)).count();
            if !scalar && seen != 0 && seen != elements.len() {
                let name = array.element(elements[0]);
                let message = format!("some of the elements that begin with {name} are missing");
                return Err(
                    Diagnostic::new(line.relation.span, message, "partly observed")
                        .help("give all of them or none"),
                );
            }
            for element in &elements[..per] {
                let rank = if observed(element) { NONE } else { count };
                ranks.push(rank);
                count += u32::from(rank != NONE);
            }
        }
        if count as usize == ranks.len() {
            ranks.clear();
        }
        Ok((ranks, count))
    }

    /// Declares a hidden label for each repetition of a `dnormmix` line.
    fn hide(
        &mut self,
        model: &Elaborated,
        graph: &mut Graph,
        (index, of): (usize, Sampling),
    ) -> Checked<Option<u32>> {
        let line = &model.lines[index];
        if of.distribution != Distribution::NormalMixture || line.instances == 0 {
            return Ok(None);
        }
        let scope = Scope::within(model, Mode::Shape, index, 0);
        let states = scope.evaluate(&of.arguments[0])?.elements.len();
        let name = format!("the component of {}", model.arrays[line.array].name);
        let (line, kind) = ((index, line), Kind::Label(states));
        let first = self.add(graph, line, vec![name], kind, line.1.instances)?;
        Ok(Some(first))
    }

    /// Declares variables and remembers their line.
    fn add(
        &mut self,
        graph: &mut Graph,
        (index, line): (usize, &Line),
        names: Vec<String>,
        kind: Kind,
        count: usize,
    ) -> Checked<u32> {
        let first = graph.declare_joint(names, kind, count).map_err(|error| {
            Diagnostic::new(line.relation.span, error.to_string(), "declared here")
        })?;
        self.declared.push((first, kind, index as u32));
        Ok(first)
    }

    /// Declares Dirichlet variables whose zeros differ between repetitions: those alike together. The first of all, and which
    /// each repetition has, counted from there.
    fn add_by_pattern(
        &mut self,
        graph: &mut Graph,
        line: (usize, &Line),
        names: &[String],
        components: &Components,
        ranks: &[u32],
    ) -> Checked<(u32, Vec<u32>)> {
        let unknown = |instance: &usize| ranks.get(*instance) != Some(&NONE);
        let (mut first, mut next) = (None, 0);
        let mut out = vec![NONE; components.of.len()];
        for (pattern, parts) in (0..).zip(components.counts()) {
            let alike = (0..out.len()).filter(|&at| components.of[at] == pattern);
            let alike: Vec<usize> = alike.filter(unknown).collect();
            if alike.is_empty() {
                continue;
            }
            let kind = Kind::Dirichlet(parts);
            let here = self.add(graph, line, names.to_vec(), kind, alike.len())?;
            first.get_or_insert(here);
            for instance in alike {
                out[instance] = next;
                next += 1;
            }
        }
        Ok((first.unwrap_or(0), out))
    }

    /// The hidden label of a repetition of a line that is a mixture by itself.
    pub(super) fn hidden(&self, line: usize, instance: usize) -> Option<u32> {
        self.hidden[line].map(|first| first + instance as u32)
    }

    /// What the element that this repetition of a stochastic line defines is. Of the two entries of a
    /// symmetric matrix that are equal, the one above the diagonal stands for both.
    pub(crate) fn origin(&self, definer: Definer) -> Origin {
        let (line, instance) = (definer.line as usize, definer.instance as usize);
        if self.barren.contains(line, instance) {
            return Origin::Predicted;
        }
        let Some(of) = &self.lines[line] else {
            return Origin::Zero;
        };
        let offset = definer.offset as usize;
        let place = if scalar(of.kind) {
            instance * of.size + offset
        } else {
            instance
        };
        let rank = of.ranks.get(place).copied().unwrap_or(place as u32);
        let variable = of.first + rank;
        let upper = |dim: usize| {
            let (row, column) = (offset / dim, offset % dim);
            (row.min(column) * dim + row.max(column)) as u32
        };
        match of.kind {
            Kind::Label(_) if of.continuous() => Origin::Grid(variable),
            Kind::Label(_) => Origin::Label(variable, of.lowest),
            Kind::Dirichlet(_) => match of.components.pattern(instance).get(offset) {
                Some(&NONE) => Origin::Zero,
                Some(&component) => Origin::Variable(variable, component),
                None => Origin::Variable(variable, 0),
            },
            Kind::Wishart(dim) => Origin::Variable(variable, upper(dim)),
            Kind::NormalWishart(_) if of.is_mean => Origin::Variable(variable, definer.offset),
            Kind::NormalWishart(dim) => Origin::Variable(variable, dim as u32 + upper(dim)),
            Kind::Gaussian
            | Kind::Bounded
            | Kind::Gamma
            | Kind::Positive { .. }
            | Kind::PolyaGamma => Origin::Variable(variable, 0),
        }
    }

    /// Whether the variable of an element is the log odds of what the text names.
    pub(crate) fn in_odds(&self, definer: Definer) -> bool {
        let of = self.lines[definer.line as usize].as_ref();
        of.is_some_and(|of| of.in_odds)
    }

    /// A number of a variable as a symbol: where it is counted from elsewhere, what it was before.
    pub(crate) fn symbol(&self, variable: u32, number: u32) -> Scalar {
        let own = Scalar::unknown(variable, number);
        match self.told(variable) {
            Told::Power(1.0) => {}
            Told::Power(power) => return own.power(&Scalar::Known(power)),
            // The unknown stands for ln x.
            Told::Logarithm(factor) => return own.times(&Scalar::Known(factor)),
        }
        let Some(moved) = self.centring.of(variable, number) else {
            return own;
        };
        let others = moved.follows.iter();
        let others = others.map(|&(other, t)| Scalar::unknown(other, 0).times(&Scalar::Known(t)));
        others.fold(own.plus(&Scalar::Known(moved.constant)), |sum, other| {
            sum.plus(&other)
        })
    }

    /// In which scale the number of a variable is told.
    pub(crate) fn told(&self, variable: u32) -> Told {
        if variable >= PLACEHOLDER {
            return Told::default();
        }
        let line = self.lines[self.line(variable)].as_ref();
        line.map_or_else(Told::default, |line| line.told)
    }

    pub(crate) fn states(&self, label: u32) -> u32 {
        match self.kind(label) {
            Kind::Label(states) => states as u32,
            _ => 0,
        }
    }

    /// The grid of a label, if it has one.
    pub(crate) fn grid(&self, label: u32) -> Option<&Grid> {
        self.lines[self.line(label)].as_ref()?.grid.as_ref()
    }

    /// All labels whose states are nodes.
    pub(super) fn gridded(&self) -> impl Iterator<Item = u32> {
        let lines = self.lines.iter().enumerate();
        let gridded = lines.filter(|(_, of)| of.as_ref().is_some_and(|of| of.grid.is_some()));
        gridded.flat_map(|(line, _)| {
            let first = self.first(line);
            first..first + self.count(line) as u32
        })
    }

    /// Adds the lengths that nodes stand for, under the factor of their line.
    pub(super) fn weigh_nodes(&self, graph: &mut Graph, factor: impl Fn(usize) -> u32) {
        for variable in self.gridded() {
            let nodes = 0..self.states(variable);
            for (part, grid) in nodes.filter_map(|part| Some((part, self.grid(variable)?))) {
                let weight = grid.ln_weight(part as usize);
                graph.add(
                    weight,
                    &[Atom { variable, part }],
                    factor(self.line(variable)),
                );
            }
        }
    }

    /// Takes over what is known of grids in the end.
    pub(super) fn note(&mut self, grids: &Grids) {
        for (&line, grid) in grids {
            if let Some(of) = &mut self.lines[line as usize] {
                of.grid = Some(grid.clone());
            }
        }
    }

    /// The first variable of a line.
    pub(super) fn first(&self, line: usize) -> u32 {
        self.lines[line].as_ref().map_or(0, |of| of.first)
    }

    /// How many variables a line of labels has.
    pub(super) fn count(&self, line: usize) -> usize {
        self.counts[line]
    }

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
        let after = |declared: &(u32, Kind, u32)| declared.0 <= variable;
        self.declared.partition_point(after) - 1
    }
}

/// Arrays of normal variables that have bounds: truncated ones, and those that `dinterval` sees.
fn bounded_arrays(model: &Elaborated) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let lines = model.lines.iter();
    for (line, of) in lines.filter_map(|line| Some((line, line.sampling()?))) {
        if of.truncation.is_some() {
            found.insert(line.array);
        }
        if let (Distribution::Interval, [number, ..]) = (of.distribution, of.arguments)
            && let Node::Reference(reference) = &number.node
        {
            found.extend(model.find(&reference.name.text));
        }
    }
    found
}
