//! Decides where the numbers of a model should be counted from: a change of variables that leaves no
//! digits to cancellation (maths §9.8).
//!
//! Sums of squares of numbers far from zero are huge and nearly the same, and what a model is about is in
//! their last digits. Counted from a place near them, the same numbers have all their digits. So real
//! variables that are far from zero are written as $x = x' + c$, and those that another one moves with, such
//! as an intercept with the slope of a covariate far from zero, as $x = x' + t\,b$. Neither changes a density.
//!
//! - `reference`: where variables are, roughly
//! - `share`: numbers with few digits near given ones, the same for those near one another

mod reference;
mod share;

use std::collections::{BTreeMap, BTreeSet};

use super::{Atom, Graph, Kind};
use collapsar_core::elementary::Elementary;
use collapsar_core::family::Gaussian;
use collapsar_core::{Error, Result};
use reference::{Field, Reference};
use share::share;

/// So many deviations from zero a variable is worth moving: the squares then lose between four and five digits.
const WORTH_MOVING: f64 = 170.0;
/// What is moved ends within so many deviations of zero.
const NEAR: f64 = 16.0;
/// A slope whose precision is so many times what is left of it without what moves with it: as a covariate
/// whose mean is a hundred deviations from zero.
const WORTH_TURNING: f64 = 1e4;
/// Relative rounding of what is left of a slope's precision, below which it is not known.
const ROUNDING: f64 = 1e-14;
/// Precisions so far from one are those of data in unusual units.
const UNUSUAL: f64 = 1e6;
/// A slope whose precision is so many times what is left of it without all others is rounding but for three digits.
const INSEPARABLE: f64 = 1e13;
/// Most slopes of a block that are looked at.
const MOST_SLOPES: usize = 64;

/// One number in terms of those that are counted from elsewhere: itself, a constant and multiples of others.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Moved {
    /// What is added.
    pub constant: f64,
    /// Other variables, each with its coefficient.
    pub follows: Vec<(u32, f64)>,
}

impl Moved {
    /// The variables that a number of `own` is the sum of but for the constant, with coefficients.
    pub fn terms(&self, own: u32) -> Vec<(u32, f64)> {
        let others = self.follows.iter().copied();
        std::iter::once((own, 1.0)).chain(others).collect()
    }
}

/// A change of variables: by variable and the place among its numbers; what is not there is as it was.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Centring(BTreeMap<(u32, u32), Moved>);

impl Centring {
    /// Whether nothing is moved.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All that is moved: variables, the place of the number among theirs, and how.
    pub fn each(&self) -> impl Iterator<Item = ((u32, u32), &Moved)> {
        self.0.iter().map(|(&place, moved)| (place, moved))
    }

    /// How a number of a variable is moved, where it is.
    pub fn of(&self, variable: u32, number: u32) -> Option<&Moved> {
        self.0.get(&(variable, number))
    }

    /// A number that has the value `own` after the change, where others have those that `value` gives.
    pub fn restored(
        &self,
        variable: u32,
        number: u32,
        own: f64,
        value: impl Fn(u32) -> f64,
    ) -> f64 {
        self.of(variable, number).map_or(own, |moved| {
            let follows = moved.follows.iter();
            own + moved.constant + follows.map(|&(other, t)| t * value(other)).sum::<f64>()
        })
    }

    /// This change, and then another of what it leads to.
    #[must_use]
    pub fn then(&self, next: &Self) -> Self {
        let places: BTreeSet<_> = self.0.keys().chain(next.0.keys()).copied().collect();
        let compose = |place: (u32, u32)| {
            let first = self.0.get(&place).cloned().unwrap_or_default();
            let mut constant = first.constant;
            let mut follows: BTreeMap<u32, f64> = first.follows.iter().copied().collect();
            let own = std::iter::once((place, 1.0));
            let others = first.follows.iter().map(|&(other, t)| ((other, 0), t));
            for (inner, t) in own.chain(others) {
                if let Some(moved) = next.0.get(&inner) {
                    constant += t * moved.constant;
                    for &(other, s) in &moved.follows {
                        *follows.entry(other).or_default() += t * s;
                    }
                }
            }
            let follows = follows.into_iter().filter(|(_, t)| *t != 0.0).collect();
            (place, Moved { constant, follows })
        };
        let moved = |(_, moved): &(_, Moved)| *moved != Moved::default();
        Self(places.into_iter().map(compose).filter(moved).collect())
    }
}

impl Graph {
    /// A change of variables that this model is in want of, if any. Of variables that move together, `slopes` are
    /// followed and others follow. Where there is none, notes the units that the data have if they are large or
    /// small, so that a climb begins in them.
    ///
    /// # Errors
    /// [`Error::Graph`] where a slope cannot be told from others to any digit.
    pub fn centre(&mut self, slopes: &BTreeSet<u32>) -> Result<Option<Centring>> {
        let real = |kind: Kind| matches!(kind, Kind::Gaussian | Kind::NormalWishart(_));
        if !self.declared.iter().any(|declared| real(declared.kind)) {
            return Ok(None);
        }
        // What has no blocks is refused where it is compiled, in words.
        let expanded = (!self.exponentials.is_empty()).then(|| self.expanded_exponentials());
        let Ok(reference) = Reference::new(expanded.as_ref().unwrap_or(self)) else {
            return Ok(None);
        };
        let mut found = Centring::default();
        for field in reference.fields() {
            turn(&field, slopes, &mut found);
        }
        let counts = reference.counts(self, slopes);
        if found.is_empty() {
            found = shifts(&reference, &counts);
        }
        if found.is_empty() {
            let lost = (reference.fields()).find_map(|field| lost(&field, slopes));
            if let Some(variable) = lost {
                return Err(self.inseparable(variable));
            }
            self.units = units(&reference, &counts);
        }
        Ok(Some(found).filter(|found| !found.is_empty()))
    }

    /// A refusal of a slope, by the line that has most to do with it.
    fn inseparable(&self, variable: u32) -> Error {
        let holding = self.products().filter(|(atoms, ..)| {
            let own = atoms.iter().filter(|atom| atom.variable == variable);
            own.count() == 2
        });
        let size = |(_, coefficient, _): &(&[Atom], f64, u32)| coefficient.abs();
        let most = holding.max_by(|a, b| size(a).total_cmp(&size(b)));
        let name = self.name(variable);
        Error::Graph {
            factor: self.named_factor(most.map_or(0, |(_, _, factor)| factor)),
            found: format!("{name} cannot be told from other coefficients in double precision"),
            expected: "covariates that are not sums and multiples of one another; leave one out, \
                       or give their coefficients narrower priors"
                .into(),
        }
    }
}

/// The units of real variables and of precisions, where one of the latter is far from one: powers of a million,
/// as in micro and mega, so that data that are measured in either are climbed on the same way.
fn units(reference: &Reference, counts: &[f64]) -> BTreeMap<(u32, u32), f64> {
    let precisions = reference.precisions();
    let ordinary = |unit: f64| unit > UNUSUAL.recip() && unit < UNUSUAL;
    if precisions.iter().all(|&(_, unit)| ordinary(unit)) {
        return BTreeMap::new();
    }
    let mut out: BTreeMap<(u32, u32), f64> = precisions.into_iter().collect();
    for field in reference.fields() {
        for (&variable, precision) in field.variables.iter().zip(&field.precisions) {
            let count = counts[variable as usize].max(1.0);
            out.insert((variable, 0), count / precision);
        }
    }
    let real: BTreeSet<u32> = (reference.fields())
        .flat_map(|field| field.variables.to_vec())
        .collect();
    for (place, square) in &mut out {
        let power = if real.contains(&place.0) { 1 } else { 2 };
        let millions = (square.log10_() / 12.0).round();
        // As many as a double has.
        let millions = if millions.abs() < 20.0 {
            millions as i32
        } else {
            0
        };
        *square = 1e6_f64.powi(power * millions);
    }
    out
}

/// Lets variables of a block follow slopes that are next to a combination of theirs.
fn turn(field: &Field, slopes: &BTreeSet<u32>, out: &mut Centring) {
    let places = 0..field.variables.len();
    let is_slope = |&place: &usize| slopes.contains(&field.variables[place]);
    let (mut slopes, others): (Vec<usize>, Vec<usize>) = places.partition(is_slope);
    if slopes.is_empty() {
        return;
    }
    let mut free = vec![false; field.variables.len()];
    for &other in &others {
        free[other] = true;
    }
    if others.is_empty() {
        // Columns of a design matrix: the first is the constant one, as people write it.
        free[slopes.remove(0)] = true;
    }
    follow(field, &free, &slopes, out);
    // Then a slope and those before it, such as those of a number and of its square.
    if slopes.len() <= MOST_SLOPES {
        for pair in slopes.windows(2) {
            if !out.is_empty() {
                return;
            }
            free[pair[0]] = true;
            follow(field, &free, &pair[1..], out);
        }
    }
}

/// Lets variables that are `free` follow slopes: $x_F = x_F' - \Lambda_{FF}^{-1}\Lambda_{Fb}\,b$ (maths §9.8).
fn follow(field: &Field, free: &[bool], slopes: &[usize], out: &mut Centring) {
    let couplings = || {
        let pairs = field.pairs.iter().zip(&field.couplings);
        pairs.map(|(&(a, b), coupling)| (a as usize, b as usize, *coupling))
    };
    // The share of a slope's precision that others explain each by itself: cheap, and next to nothing for most.
    let mut explained = vec![0.0; free.len()];
    for (a, b, coupling) in couplings().filter(|&(a, b, _)| free[a] != free[b]) {
        let slope = if free[a] { b } else { a };
        explained[slope] += coupling * coupling / (field.precisions[a] * field.precisions[b]);
    }
    let candidates = slopes.iter().filter(|&&slope| explained[slope] > 0.01);
    let candidates: Vec<usize> = candidates.copied().collect();
    if candidates.is_empty() || candidates.len() > MOST_SLOPES {
        return;
    }
    let others: Vec<usize> = (0..free.len()).filter(|&place| free[place]).collect();
    let mut rank = vec![0; free.len()];
    for (number, &other) in others.iter().enumerate() {
        rank[other] = number;
    }
    let (mut pairs, mut inside) = (vec![], vec![]);
    for (a, b, coupling) in couplings().filter(|&(a, b, _)| free[a] && free[b]) {
        pairs.push((rank[a] as u32, rank[b] as u32));
        inside.push(coupling);
    }
    let family = Gaussian::new(others.len(), &pairs);
    for slope in candidates {
        let mut natural = vec![0.0; others.len()];
        for (a, b, coupling) in couplings() {
            let other = if a == slope { b } else { a };
            if (a == slope || b == slope) && free[other] {
                natural[rank[other]] = coupling;
            }
        }
        let with = natural.clone();
        natural.extend(others.iter().map(|&other| field.precisions[other]));
        natural.extend(&inside);
        let Ok((coefficients, _)) = family.marginals(&natural) else {
            return;
        };
        let explained: f64 = with.iter().zip(&coefficients).map(|(a, b)| a * b).sum();
        let whole = field.precisions[slope];
        let left = (whole - explained).max(ROUNDING * whole);
        let most = (coefficients.iter()).fold(0.0, |most: f64, c| most.max(c.abs()));
        if left * WORTH_TURNING > whole || !most.is_finite() {
            continue;
        }
        // Those that follow by less are moved by others that do, and stay as they are: an effect of a thousand
        // has its share of what the mean of all of them does. Coefficients are compared in units of their own.
        let weight = |other: usize| {
            let precision = field.precisions[others[other]];
            coefficients[other].abs() * precision.sqrt()
        };
        let heaviest = (0..others.len()).map(weight).fold(0.0, f64::max);
        let follows = |&other: &usize| {
            coefficients[other].abs() > 0.25 * most || weight(other) > 0.25 * heaviest
        };
        let following: Vec<usize> = (0..others.len()).filter(follows).collect();
        let unit = (left / whole).sqrt();
        let values: Vec<(f64, f64)> = (following.iter())
            .map(|&other| (coefficients[other], coefficients[other].abs() * unit))
            .collect();
        for (&other, t) in following.iter().zip(share(&values, NEAR)) {
            let moved = (out.0.entry((field.variables[others[other]], 0))).or_default();
            moved.follows.push((field.variables[slope], -t));
        }
    }
}

/// A slope that cannot be told from the other variables of its block, if there is one.
fn lost(field: &Field, slopes: &BTreeSet<u32>) -> Option<u32> {
    let places = || (0..).zip(field.variables);
    if field.variables.len() < 2 || !places().any(|(_, variable)| slopes.contains(variable)) {
        return None;
    }
    let mut natural = vec![0.0; field.variables.len()];
    natural.extend(&field.precisions);
    natural.extend(&field.couplings);
    let (_, variances) = field.family.marginals(&natural).ok()?;
    let inseparable = |place: usize| variances[place] * field.precisions[place] > INSEPARABLE;
    let mut found =
        places().filter(|(place, variable)| slopes.contains(variable) && inseparable(*place));
    found.next().map(|(_, variable)| *variable)
}

/// Shifts of all variables that are far from zero.
fn shifts(reference: &Reference, counts: &[f64]) -> Centring {
    let mut places = vec![];
    let mut values = vec![];
    for field in reference.fields() {
        for (place, &variable) in field.variables.iter().enumerate() {
            places.push((variable, 0));
            let precision = field.precisions[place] / counts[variable as usize].max(1.0);
            values.push((field.means[place], precision.sqrt().recip()));
        }
    }
    for (variable, elements) in reference.joint_means() {
        places.extend((0..elements.len() as u32).map(|element| (variable, element)));
        values.extend(elements);
    }
    let sound = |(mean, unit): (f64, f64)| mean.is_finite() && unit.is_finite() && unit > 0.0;
    for value in &mut values {
        if !sound(*value) {
            *value = (0.0, 1.0);
        }
    }
    let far = |&(mean, unit): &(f64, f64)| mean.abs() > WORTH_MOVING * unit;
    if !values.iter().any(far) {
        return Centring::default();
    }
    let moved = places.into_iter().zip(share(&values, NEAR));
    let moved = moved.filter(|(_, constant)| *constant != 0.0);
    let of = |(place, constant): ((u32, u32), f64)| {
        let follows = vec![];
        (place, Moved { constant, follows })
    };
    Centring(moved.map(of).collect())
}

#[cfg(test)]
mod tests;
