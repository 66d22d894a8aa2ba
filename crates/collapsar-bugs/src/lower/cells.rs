//! Decides how a probability that is computed from others becomes terms: as a product of components of Dirichlet variables, or as a sum of those with a label for each trial.

use std::collections::BTreeMap;

use collapsar::elementary::Elementary;
use collapsar::graph::{Atom, Kind};

use super::emit::Emit;
use crate::elaborate::Resolved;
use crate::value::{Monomial, Scalar, Unknown};

/// A product: a coefficient times components.
#[derive(Debug, Clone, PartialEq)]
struct Cell {
    coefficient: f64,
    components: Vec<Atom>,
}

/// Most products that a probability may be the sum of.
const MOST_CELLS: usize = 64;
/// Most monomials that are looked through.
const MOST_MONOMIALS: usize = 1 << 13;
/// Most trials of one line and repetition that have a label each.
const MOST_TRIALS: f64 = 1e5;
/// Coefficients so small are rounding.
const ROUNDING: f64 = 1e-12;

impl Emit<'_> {
    /// Adds `times` the logarithm of a probability.
    pub(super) fn add_ln_probability(
        &mut self,
        times: f64,
        argument: usize,
        p: &Scalar,
    ) -> Resolved {
        if times == 0.0 {
            return Ok(());
        }
        match p {
            Scalar::Known(p) if (0.0..=1.0 + 1e-9).contains(p) => {
                return self.add(times * p.min(1.0).ln_(), &[]);
            }
            Scalar::Known(p) => {
                let expected = "probabilities from 0 to 1";
                return Err(self.parameter(argument, *p, expected).into());
            }
            p if p.is_logistic() => return self.logistic(times, times, p),
            Scalar::Mass(mass) => return self.normal_mass(times, argument, mass),
            _ => {}
        }
        let cells = self.cells(p);
        match cells.as_deref() {
            Some([cell]) => self.add_cell(times, cell),
            Some(cells) if times.fract() == 0.0 && times <= MOST_TRIALS => {
                self.add_sum(times as u32, cells)
            }
            _ => Err(self.not_a_probability(argument).into()),
        }
    }

    fn add_cell(&mut self, times: f64, cell: &Cell) -> Resolved {
        self.add(times * cell.coefficient.ln_(), &[])?;
        let mut components = cell.components.iter();
        components.try_for_each(|component| self.add(times, &[*component]))
    }

    /// Adds the logarithm of a sum of products for each trial: a label says which of them it was.
    fn add_sum(&mut self, trials: u32, cells: &[Cell]) -> Resolved {
        for _ in 0..trials {
            let kind = Kind::Label(cells.len());
            let variable = self.hidden_at("the terms", kind, &self.states, (self.trials, 0))?;
            self.trials += 1;
            for (part, cell) in (0..).zip(cells) {
                self.states.push(Atom { variable, part });
                let added = self.add_cell(1.0, cell);
                self.states.pop();
                added?;
            }
        }
        Ok(())
    }

    /// The atom of an unknown, or of one less it where it is a beta variable.
    fn component(&self, (unknown, complement): (Unknown, bool)) -> Option<Atom> {
        let Unknown { variable, element } = unknown;
        let part = match (self.line.variables.kind(variable), complement) {
            (Kind::Dirichlet(_), false) => element,
            (Kind::Dirichlet(2), true) => 1 - element,
            _ => return None,
        };
        Some(Atom { variable, part })
    }

    /// The products that a probability is the sum of.
    fn cells(&self, p: &Scalar) -> Option<Vec<Cell>> {
        if let Scalar::Product(product) = p {
            let factors = product.factors.iter();
            let components = factors.map(|factor| self.component(*factor)).collect();
            if let Some(components) = components {
                let coefficient = product.coefficient;
                return Some(vec![Cell {
                    coefficient,
                    components,
                }])
                .filter(|_| coefficient > 0.0);
            }
        }
        let monomials = p.monomials()?;
        let mut unknowns = monomials.iter().flat_map(|monomial| &monomial.unknowns);
        let probability = |unknown: &Unknown| self.component((*unknown, false)).is_some();
        if monomials.len() > MOST_MONOMIALS || !unknowns.all(probability) {
            return None;
        }
        let mut cells = vec![];
        self.split(monomials, vec![], &mut cells)?;
        Some(cells).filter(|cells| !cells.is_empty())
    }

    /// Writes a polynomial as a sum of products with positive coefficients, each times `components`: in each Dirichlet
    /// variable it is made homogeneous, by the sum of its parts, which is 1.
    fn split(
        &self,
        monomials: Vec<Monomial>,
        components: Vec<Atom>,
        cells: &mut Vec<Cell>,
    ) -> Option<()> {
        let first = monomials.iter().find_map(|m| m.unknowns.first());
        let Some(&Unknown { variable, .. }) = first else {
            let coefficient: f64 = monomials.iter().map(|m| m.coefficient).sum();
            if coefficient > ROUNDING {
                cells.push(Cell {
                    coefficient,
                    components,
                });
            }
            return (coefficient >= -ROUNDING && cells.len() <= MOST_CELLS).then_some(());
        };
        let Kind::Dirichlet(parts) = self.line.variables.kind(variable) else {
            return None;
        };
        let own = |unknown: &&Unknown| unknown.variable == variable;
        let degree = |monomial: &Monomial| monomial.unknowns.iter().filter(own).count();
        let most = monomials.iter().map(degree).max()?;
        let mut parted: BTreeMap<Vec<u32>, Vec<Monomial>> = BTreeMap::new();
        for monomial in monomials {
            let (own, rest): (Vec<Unknown>, Vec<Unknown>) =
                (monomial.unknowns.iter()).partition(|unknown| unknown.variable == variable);
            let mut powers = vec![
                own.iter()
                    .map(|unknown| unknown.element)
                    .collect::<Vec<u32>>(),
            ];
            for _ in own.len()..most {
                let more = powers.iter().flat_map(|power| {
                    (0..parts as u32).map(move |part| [power.as_slice(), &[part]].concat())
                });
                powers = more.collect();
            }
            if powers.len() > MOST_MONOMIALS {
                return None;
            }
            for mut power in powers {
                power.sort_unstable();
                parted.entry(power).or_default().push(Monomial {
                    coefficient: monomial.coefficient,
                    unknowns: rest.clone(),
                });
            }
        }
        for (power, rest) in parted {
            let rest = match Scalar::of(rest) {
                Scalar::Known(0.0) => continue,
                rest => rest.monomials()?,
            };
            let own = power.iter().map(|&part| Atom { variable, part });
            let components = components.iter().copied().chain(own).collect();
            self.split(rest, components, cells)?;
        }
        Some(())
    }

    /// Refuses probabilities that do not add up to one, whatever their unknowns are.
    pub(super) fn check_simplex(&self, argument: usize, probabilities: &[Scalar]) -> Resolved {
        if probabilities.iter().all(|p| p.known().is_some()) {
            return Ok(());
        }
        let linked = |p: &Scalar| p.is_logistic() || matches!(p, Scalar::Mass(_));
        if probabilities.iter().any(linked) {
            let sum = |sum: Scalar, p: &Scalar| sum.plus(p);
            return match probabilities.iter().fold(Scalar::Known(0.0), sum) {
                Scalar::Known(1.0) => Ok(()),
                _ => Err(self.not_all_cells(argument).into()),
            };
        }
        // Polynomials that are one at a few points without any pattern are one everywhere.
        let adds_up = |salt: u64| -> Option<bool> {
            let mut total = 0.0;
            for p in probabilities {
                total += match p {
                    Scalar::Known(p) => *p,
                    p => self.worth(p, salt)?,
                };
            }
            Some((total - 1.0).abs() < 1e-9)
        };
        // What has no worth is no probability, and is refused as such.
        if (1..=3).all(|salt| adds_up(salt).unwrap_or(true)) {
            return Ok(());
        }
        let what =
            "probabilities must add up to one, as all components of a ddirch or dbeta variable do";
        let help = "let the last be what the others leave: p[K] <- 1 - sum(p[1:(K-1)])";
        Err(self.edge_of(argument, what).help(help).into())
    }

    /// What a probability is worth where variables have numbers that follow no pattern.
    fn worth(&self, p: &Scalar, salt: u64) -> Option<f64> {
        let number = |unknown: Unknown| -> Option<f64> {
            let Kind::Dirichlet(parts) = self.line.variables.kind(unknown.variable) else {
                return None;
            };
            let weight = |part: u32| scattered(salt, unknown.variable, part);
            let total: f64 = (0..parts as u32).map(weight).sum();
            Some(weight(unknown.element) / total)
        };
        if let Scalar::Product(product) = p {
            let mut worth = product.coefficient;
            for &(unknown, complement) in &product.factors {
                let number = number(unknown)?;
                worth *= if complement { 1.0 - number } else { number };
            }
            return Some(worth);
        }
        let mut worth = 0.0;
        for monomial in p.monomials()? {
            let mut product = monomial.coefficient;
            for unknown in monomial.unknowns {
                product *= number(unknown)?;
            }
            worth += product;
        }
        Some(worth)
    }
}

/// A number from 0.5 to 1.5 for a part of a variable (the finaliser of `SplitMix64`).
fn scattered(salt: u64, variable: u32, part: u32) -> f64 {
    let mut bits = (salt << 56) ^ (u64::from(variable) << 24) ^ u64::from(part);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    0.5 + ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}
