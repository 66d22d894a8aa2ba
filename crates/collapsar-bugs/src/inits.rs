//! Decides what initial values of a text's names are to its graph, and which of them can have no effect.

use std::collections::BTreeMap;
use std::fmt;

use collapsar::elementary::Elementary;
use collapsar::graph::{GivenNumbers, Kind};
use nalgebra::DMatrix;

use crate::data::{Array, Data};
use crate::distribution::{Distribution, Support};
use crate::elaborate::{Definer, Mode, Scope};
use crate::lower::Prepared;
use crate::quantity::{Element, Origin};
use crate::syntax::ast::Expr;
use crate::unused::like;
use crate::value::{Scalar, Value};

/// Where a climb may begin.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Inits {
    /// Values of the graph's variables.
    pub numbers: GivenNumbers,
    /// Names whose values have no effect, each with the reason.
    pub idle: Vec<(String, &'static str)>,
}

/// An initial value that cannot be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitsError {
    /// What was found.
    pub found: String,
    /// What would have been accepted.
    pub expected: String,
}

impl fmt::Display for InitsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, expected {}", self.found, self.expected)
    }
}

impl std::error::Error for InitsError {}

fn refused<T>(found: String, expected: impl Into<String>) -> Result<T, InitsError> {
    let expected = expected.into();
    Err(InitsError { found, expected })
}

/// Vectors of proportions may sum to one up to how people round.
const ROUNDED: f64 = 0.01;
/// Names that are told where one is not known.
const TOLD: usize = 12;

impl Prepared {
    /// What initial values, as JAGS and WinBUGS take them, are to the graph; a number that is missing is not given.
    ///
    /// # Errors
    /// Names that the model does not have or that are no unknowns, and values that unknowns cannot have.
    pub fn inits(&self, given: &Data) -> Result<Inits, InitsError> {
        let mut out = Inits::default();
        let generator = |name: &str| name.starts_with(".RNG.");
        let names = given.arrays.keys().chain(given.texts.keys());
        let generators = names.filter(|name| generator(name)).cloned();
        let idle = "random numbers are those of the seed";
        out.idle.extend(generators.map(|name| (name, idle)));
        if let Some(name) = given.sparse.keys().next() {
            return refused(format!("{name} is a sparse matrix"), "numbers");
        }
        if let Some((name, found)) = given.texts.iter().find(|(name, _)| !generator(name)) {
            return refused(format!("{name} is {found}"), "numbers");
        }
        let mut joint: BTreeMap<(u32, u32), Vec<(Definer, f64)>> = BTreeMap::new();
        for (name, values) in given.arrays.iter().filter(|(name, _)| !generator(name)) {
            self.array(name, values, &mut joint, &mut out)?;
        }
        for of in joint.into_values() {
            self.joint(&of, &mut out.numbers)?;
        }
        self.centred(&mut out.numbers);
        Ok(out)
    }

    /// Names of arrays with unknown elements that have a distribution.
    fn unknown_names(&self) -> Vec<String> {
        let unknowns = self.unknowns().into_iter();
        let unknowns = unknowns.filter(|array| !array.computed);
        unknowns.map(|array| array.name).collect()
    }

    /// Takes the values of an array, but for those that are told together.
    fn array(
        &self,
        name: &str,
        values: &Array,
        joint: &mut BTreeMap<(u32, u32), Vec<(Definer, f64)>>,
        out: &mut Inits,
    ) -> Result<(), InitsError> {
        let model = &self.model;
        let found = model.find(name).filter(|&index| {
            let array = &model.arrays[index];
            array.is_data() || array.defined()
        });
        let Some(index) = found else {
            let names = self.unknown_names();
            let meant = like(name, names.iter().map(String::as_str));
            let expected = match (meant, names.len()) {
                (Some(meant), _) => meant,
                (None, ..=TOLD) => names.join(", "),
                (None, _) => format!("{}, …", names[..TOLD].join(", ")),
            };
            return refused(format!("{name} is no name of the model"), expected);
        };
        let array = &model.arrays[index];
        let long = |dims: &[usize]| -> Vec<usize> {
            dims.iter().copied().filter(|length| *length != 1).collect()
        };
        if long(&values.dims) != long(&array.dims) {
            let by = |dims: &[usize]| {
                let lengths: Vec<String> = dims.iter().map(usize::to_string).collect();
                lengths.join(" by ")
            };
            let found = format!("{name} is {} long", by(&values.dims));
            return refused(found, by(&array.dims));
        }
        let (mut predicted, mut fixed) = (false, false);
        for (element, &value) in values.values.iter().enumerate() {
            if value.is_nan() {
                continue;
            }
            let told = array.element(element);
            if array.value(element).is_some() {
                let expected = if array.is_data() {
                    "unknowns"
                } else {
                    "NA there"
                };
                return refused(format!("{told} is data"), expected);
            }
            let Some(definer) = array.definer(element) else {
                return refused(format!("{told} is not defined by the model"), "NA there");
            };
            match self.origin(definer) {
                Origin::Computed => {
                    let expected = "values of what it is computed from";
                    return refused(format!("{told} is computed"), expected);
                }
                Origin::Predicted => predicted = true,
                Origin::Zero => fixed = true,
                _ if (model.lines[definer.line as usize].sampling())
                    .is_some_and(|of| is_whole(of.distribution)) =>
                {
                    let of = joint.entry((definer.line, definer.instance)).or_default();
                    of.push((definer, value));
                }
                origin => self.single((definer, origin), &told, value, &mut out.numbers)?,
            }
        }
        let mut idle = |applies: bool, reason| {
            if applies {
                out.idle.push((name.to_owned(), reason));
            }
        };
        idle(predicted, "it is predicted after the fit");
        idle(fixed, "it is known to be zero");
        Ok(())
    }

    /// Takes one number.
    fn single(
        &self,
        (definer, origin): (Definer, Origin),
        told: &Element,
        value: f64,
        out: &mut GivenNumbers,
    ) -> Result<(), InitsError> {
        let (low, high) = self.ends(definer);
        let open = self.is_open(definer);
        let inside = if open {
            low < value && value < high
        } else {
            low <= value && value <= high
        };
        if !(inside && value.is_finite()) {
            let between = if open { "between" } else { "from" };
            let and = if open { "and" } else { "to" };
            let expected = match (low, high) {
                (0.0, f64::INFINITY) => "a positive number".to_owned(),
                (f64::NEG_INFINITY, f64::INFINITY) => "a finite number".to_owned(),
                (low, f64::INFINITY) => format!("{low} or more"),
                (f64::NEG_INFINITY, high) => format!("{high} or less"),
                (low, high) => format!("a number {between} {low} {and} {high}"),
            };
            return refused(format!("{told} is {value}"), expected);
        }
        match origin {
            Origin::Label(variable, lowest) => {
                let kind = self.graph.declared()[self.graph.declaration(variable)].kind;
                let last = f64::from(lowest) + kind.atoms() as f64 - 1.0;
                let grid = self.variables.grid(variable);
                let (first, last) = grid.map_or((f64::from(lowest), last), |grid| {
                    (grid.values[0], grid.values[grid.values.len() - 1])
                });
                // An unknown count may be any, and is summed over the range that matters.
                let value = if grid.is_some() {
                    value.clamp(first, last)
                } else {
                    value
                };
                if value.fract() != 0.0 || value < first || value > last {
                    let expected = format!("a whole number from {first} to {last}");
                    return refused(format!("{told} is {value}"), expected);
                }
                out.insert((variable, 0), value - first);
            }
            Origin::Grid(variable) => {
                let nodes = self.nodes(variable).unwrap_or_default();
                let nearest = (0..nodes.len()).min_by(|&a, &b| {
                    let far = |node: usize| (nodes[node] - value).abs();
                    far(a).total_cmp(&far(b))
                });
                out.insert((variable, 0), nearest.unwrap_or(0) as f64);
            }
            Origin::Variable(variable, number) => {
                let kind = self.graph.declared()[self.graph.declaration(variable)].kind;
                if self.variables.in_odds(definer) {
                    out.insert((variable, number), (value / (1.0 - value)).ln_());
                    return Ok(());
                }
                out.insert((variable, number), value);
                if matches!(kind, Kind::Dirichlet(2)) {
                    out.insert((variable, 1 - number), 1.0 - value);
                }
            }
            Origin::Zero | Origin::Computed | Origin::Predicted => {}
        }
        Ok(())
    }

    /// Takes the numbers of a vector of proportions or of a matrix, which are told together.
    fn joint(&self, of: &[(Definer, f64)], out: &mut GivenNumbers) -> Result<(), InitsError> {
        let first = of[0].0;
        let (line, instance) = (first.line as usize, first.instance as usize);
        let own = &self.model.lines[line];
        let name = &self.model.arrays[own.array].name;
        let places = of
            .iter()
            .map(|(definer, value)| (self.origin(*definer), *value));
        let places = places.filter_map(|(origin, value)| match origin {
            Origin::Variable(variable, number) => Some((variable, number, value)),
            _ => None,
        });
        let places: Vec<(u32, u32, f64)> = places.collect();
        let told = self.model.first_element(line, instance);
        let Some(&(variable, ..)) = places.first() else {
            return Ok(());
        };
        let kind = self.graph.declared()[self.graph.declaration(variable)].kind;
        let (mean, dim) = match kind {
            Kind::Wishart(dim) => (0, dim),
            Kind::NormalWishart(dim) => (dim, dim),
            _ => {
                let total: f64 = places.iter().map(|place| place.2).sum();
                let positive = places.iter().all(|place| place.2 > 0.0);
                let all = places.len() == kind.elements();
                if !(all && positive && (total - 1.0).abs() < ROUNDED) {
                    let found = format!("the proportions {name} from {told} on sum to {total}");
                    return refused(found, "all of them, above 0, with the sum 1");
                }
                let shares = places.iter().map(|&(v, n, share)| ((v, n), share / total));
                out.extend(shares);
                return Ok(());
            }
        };
        let values: Vec<f64> = of.iter().map(|(_, value)| *value).collect();
        let matrix =
            (values.len() == dim * dim).then(|| DMatrix::from_row_slice(dim, dim, &values));
        let fits = |matrix: &DMatrix<f64>| {
            let apart = (matrix - matrix.transpose()).amax();
            apart <= 1e-6 * matrix.amax() && matrix.clone().cholesky().is_some()
        };
        let Some(matrix) = matrix.filter(fits) else {
            let found = format!("the matrix {name} from {told} on");
            return refused(found, "a symmetric, positive definite one, all of it");
        };
        for (place, (&a, &b)) in matrix.iter().zip(matrix.transpose().iter()).enumerate() {
            out.insert((variable, (mean + place) as u32), 0.5 * (a + b));
        }
        Ok(())
    }

    /// The ends of what an element may be, where they are known.
    fn ends(&self, definer: Definer) -> (f64, f64) {
        let (line, instance) = (definer.line as usize, definer.instance as usize);
        let Some(of) = self.model.lines[line].sampling() else {
            return (f64::NEG_INFINITY, f64::INFINITY);
        };
        let scope = Scope::within(&self.model, Mode::Shape, line, instance);
        let known = |expr: &Expr| -> Option<f64> {
            let value: Value = scope.evaluate(expr).ok()?;
            value.single().and_then(Scalar::known)
        };
        let (mut low, mut high) = match of.distribution.support() {
            Support::Positive | Support::States(_) | Support::Counts => (0.0, f64::INFINITY),
            Support::Bounded => (0.0, 1.0),
            _ => (f64::NEG_INFINITY, f64::INFINITY),
        };
        match (of.distribution, of.arguments) {
            (Distribution::Uniform, [a, b]) => {
                low = known(a).unwrap_or(f64::NEG_INFINITY);
                high = known(b).unwrap_or(f64::INFINITY);
            }
            (Distribution::Pareto, [_, c]) => low = known(c).unwrap_or(low),
            _ => {}
        }
        if let Some(truncation) = of.truncation {
            let end = |expr: &Option<Expr>| expr.as_ref().and_then(known);
            low = end(&truncation.lower).map_or(low, |lower| lower.max(low));
            high = end(&truncation.upper).map_or(high, |upper| upper.min(high));
        }
        (low, high)
    }

    /// Whether the ends themselves cannot be.
    fn is_open(&self, definer: Definer) -> bool {
        let of = self.model.lines[definer.line as usize].sampling();
        of.is_some_and(|of| {
            let bounded = of.truncation.is_some() || of.distribution == Distribution::Pareto;
            let counted = matches!(
                of.distribution.support(),
                Support::States(_) | Support::Counts
            );
            !(bounded || counted) || self.variables.in_odds(definer)
        })
    }

    /// Counts numbers from where the graph does: the inverse of what restores them (maths §9.8).
    fn centred(&self, numbers: &mut GivenNumbers) {
        let centring = &self.variables.centring;
        if centring.is_empty() {
            return;
        }
        let told = numbers.clone();
        // Those that others follow are right after as many rounds as there are steps between them.
        for _ in 0..=told.len() {
            let before = numbers.clone();
            for (&(variable, number), value) in &told {
                let rest = centring.restored(variable, number, 0.0, |other| {
                    before.get(&(other, 0)).copied().unwrap_or(0.0)
                });
                numbers.insert((variable, number), value - rest);
            }
            if *numbers == before {
                break;
            }
        }
    }
}

/// Whether a distribution gives numbers of which none is told without the others.
fn is_whole(distribution: Distribution) -> bool {
    matches!(
        distribution.support(),
        Support::Simplex | Support::PositiveDefinite
    )
}
