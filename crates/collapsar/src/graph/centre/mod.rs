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

use super::{Graph, Kind};
use collapsar_core::family::Gaussian;
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
    pub fn centre(&mut self, slopes: &BTreeSet<u32>) -> Option<Centring> {
        let real = |kind: Kind| matches!(kind, Kind::Gaussian | Kind::NormalWishart(_));
        if !self.declared.iter().any(|declared| real(declared.kind)) {
            return None;
        }
        // What has no blocks is refused where it is compiled, in words.
        let reference = Reference::new(self).ok()?;
        let mut found = Centring::default();
        for field in reference.fields() {
            turn(&field, slopes, &mut found);
        }
        let counts = reference.counts(self, slopes);
        if found.is_empty() {
            found = shifts(&reference, &counts);
        }
        if found.is_empty() {
            self.units = units(&reference, &counts);
        }
        Some(found).filter(|found| !found.is_empty())
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
        let millions = (square.log10() / 12.0).round();
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

/// Lets variables of a block follow slopes: $x_F = x_F' - \Lambda_{FF}^{-1}\Lambda_{Fb}\,b$ (maths §9.8).
fn turn(field: &Field, slopes: &BTreeSet<u32>, out: &mut Centring) {
    let n = field.variables.len();
    if n < 2 {
        return;
    }
    let mut followed: Vec<bool> = (field.variables.iter())
        .map(|variable| slopes.contains(variable))
        .collect();
    let any = followed.iter().any(|followed| *followed);
    if followed.iter().all(|followed| *followed) {
        // Columns of a design matrix: the first is the constant one, as people write it.
        followed[0] = false;
    }
    let couplings = || field.pairs.iter().zip(&field.couplings);
    // The share of a slope's precision that others explain each by itself: cheap, and next to nothing for most.
    let mut explained = vec![0.0; n];
    for (&(a, b), coupling) in couplings() {
        let (a, b) = (a as usize, b as usize);
        if followed[a] != followed[b] {
            let place = if followed[a] { a } else { b };
            explained[place] += coupling * coupling / (field.precisions[a] * field.precisions[b]);
        }
    }
    let candidates: Vec<usize> = (0..n).filter(|&b| explained[b] > 0.01).collect();
    if !any || candidates.is_empty() || candidates.len() > MOST_SLOPES {
        return;
    }
    let mut place = vec![u32::MAX; n];
    let others: Vec<usize> = (0..n).filter(|&v| !followed[v]).collect();
    for (rank, &other) in (0..).zip(&others) {
        place[other] = rank;
    }
    let inside = |&(a, b): &(u32, u32)| !followed[a as usize] && !followed[b as usize];
    let pairs: Vec<(u32, u32)> = (field.pairs.iter().filter(|pair| inside(pair)))
        .map(|&(a, b)| (place[a as usize], place[b as usize]))
        .collect();
    let family = Gaussian::new(others.len(), &pairs);
    for slope in candidates {
        let mut natural = vec![0.0; others.len()];
        for (&(a, b), coupling) in couplings() {
            let (a, b) = (a as usize, b as usize);
            let other = if a == slope { b } else { a };
            if (a == slope || b == slope) && !followed[other] {
                natural[place[other] as usize] = *coupling;
            }
        }
        let with: Vec<f64> = natural.clone();
        natural.extend(others.iter().map(|&other| field.precisions[other]));
        natural.extend(
            couplings()
                .filter(|(pair, _)| inside(pair))
                .map(|(_, c)| *c),
        );
        let Ok((coefficients, _)) = family.marginals(&natural) else {
            return;
        };
        let explained: f64 = with.iter().zip(&coefficients).map(|(a, b)| a * b).sum();
        let whole = field.precisions[slope];
        let left = (whole - explained).max(ROUNDING * whole);
        let most = coefficients
            .iter()
            .fold(0.0, |most: f64, c| most.max(c.abs()));
        if left * WORTH_TURNING > whole || !most.is_finite() {
            continue;
        }
        // Those that follow by less are moved by others that do, and stay as they are.
        let following: Vec<usize> = (0..others.len())
            .filter(|&other| coefficients[other].abs() > 0.25 * most)
            .collect();
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
