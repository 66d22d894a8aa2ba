//! Decides what a space is made of once its columns are known: seats for its variables, and forms from
//! the terms that they are in.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::find::{Finder, Part, role};
use super::forms::{Entry, Forms, Linear, Plain, Quadratic, Scale, Side, Source, Target};
use super::{Cross, Member, Mixed, Space};
use crate::graph::Atom;
use crate::graph::block::BlockFamily;
use crate::graph::choice::{Choice, Role};

const NONE: u32 = u32::MAX;
/// Largest space: turning costs the cube of its size and more.
const LARGEST: usize = 64;
/// Most lists of entries that vectors may differ by.
const MOST: usize = 100;

/// The turning variables of a term, by how they turn.
#[derive(Default)]
struct Sorted {
    vectors: Vec<u32>,
    covectors: Vec<u32>,
    entries: Vec<u32>,
    still: Vec<u32>,
    others: Vec<Atom>,
}

/// Where a turning variable stands in its space.
#[derive(Debug, Clone, Copy)]
enum Seat {
    None,
    Vector { member: u32, column: u32 },
    Covector { member: u32, column: u32 },
    Entry { matrix: u32, row: u32, column: u32 },
}

/// A space in the making.
pub(super) struct Builder<'a, 'f> {
    finder: &'f mut Finder<'a>,
    choice: &'f Choice,
    firsts: &'f [u32],
    size: usize,
    seats: Vec<Seat>,
    space: Space,
    crosses: HashMap<(u32, u32), u32>,
    mixed: HashMap<(Side, u32, u32), u32>,
    scales: HashMap<u32, u32>,
    forms: BTreeMap<(Side, Source), Vec<Entry>>,
    vectors: Vec<Vec<u32>>,
    covectors: Vec<Vec<u32>>,
    sorted: Sorted,
}

impl Sorted {
    fn clear(&mut self) {
        for list in [
            &mut self.vectors,
            &mut self.covectors,
            &mut self.entries,
            &mut self.still,
        ] {
            list.clear();
        }
        self.others.clear();
    }
}

impl<'a, 'f> Builder<'a, 'f> {
    /// Seats every variable; nothing where a vector lacks a column.
    pub(super) fn new(
        finder: &'f mut Finder<'a>,
        columns: &[u32],
        choice: &'f Choice,
        firsts: &'f [u32],
    ) -> Option<Self> {
        let size = columns.len();
        if size > LARGEST {
            return None;
        }
        let seats = vec![Seat::None; finder.parts.len()];
        let mut builder = Self {
            finder,
            choice,
            firsts,
            size,
            seats,
            space: Space {
                size,
                vectors: vec![],
                covectors: vec![],
                matrices: vec![],
                crosses: vec![],
                mixed: vec![],
                forms: Forms::default(),
            },
            crosses: HashMap::new(),
            mixed: HashMap::new(),
            scales: HashMap::new(),
            forms: BTreeMap::new(),
            vectors: vec![],
            covectors: vec![],
            sorted: Sorted::default(),
        };
        let index: HashMap<u32, u32> = (columns.iter().copied()).zip(0..).collect();
        builder.seat_members(&index)?;
        builder.seat_matrices(&index)?;
        Some(builder)
    }

    fn seat_members(&mut self, index: &HashMap<u32, u32>) -> Option<()> {
        let mut members: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for variable in 0..self.finder.placed.len() as u32 {
            if !self.finder.placed[variable as usize] {
                continue;
            }
            let root = self.finder.columns.find(variable);
            if let Some(&column) = index.get(&root) {
                let member = self.finder.members.find(variable);
                let list = members
                    .entry(member)
                    .or_insert_with(|| vec![NONE; self.size]);
                if std::mem::replace(&mut list[column as usize], variable) != NONE {
                    return None;
                }
            }
        }
        for (_, variables) in members {
            if variables.contains(&NONE) {
                return None;
            }
            let side = self.finder.parts[variables[0] as usize];
            if variables
                .iter()
                .any(|v| self.finder.parts[*v as usize] != side)
            {
                return None;
            }
            let vector = side == Part::Collapsed;
            let list = if vector {
                &mut self.vectors
            } else {
                &mut self.covectors
            };
            let member = list.len() as u32;
            for (&variable, column) in variables.iter().zip(0..) {
                let seat = if vector {
                    Seat::Vector { member, column }
                } else {
                    Seat::Covector { member, column }
                };
                self.seats[variable as usize] = seat;
            }
            list.push(variables);
        }
        let vectors: Vec<_> = self.vectors.iter().map(|v| self.member(v)).collect();
        let covectors: Vec<_> = self.covectors.iter().map(|w| self.member(w)).collect();
        for variables in self.vectors.iter().chain(&self.covectors) {
            let pairs = (0..self.size).flat_map(|j| (0..j).map(move |i| (i, j)));
            let pairs = pairs.map(|(i, j)| (variables[i], variables[j]));
            let together = |&(x, y): &(u32, u32)| {
                let of = &self.finder.blocks.of;
                of[x as usize] == of[y as usize] && self.place(&[x, y]).is_none()
            };
            let missing: Vec<_> = pairs.filter(together).collect();
            self.finder.missing.extend(missing);
        }
        self.space.vectors = vectors.into_iter().collect::<Option<_>>()?;
        self.space.covectors = covectors.into_iter().collect::<Option<_>>()?;
        Some(())
    }

    fn seat_matrices(&mut self, index: &HashMap<u32, u32>) -> Option<()> {
        let mut matrices: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (a, column) in self.finder.duals.clone() {
            let row = *self.finder.rows.get(&a)?;
            let (row, column) = (
                self.finder.columns.find(row),
                self.finder.columns.find(column),
            );
            let (Some(&row), Some(&column)) = (index.get(&row), index.get(&column)) else {
                continue;
            };
            let matrix = self.finder.matrices.find(a);
            let list = matrices
                .entry(matrix)
                .or_insert_with(|| vec![NONE; self.size * self.size]);
            let place = row as usize * self.size + column as usize;
            if std::mem::replace(&mut list[place], a) != NONE {
                return None;
            }
        }
        for (matrix, variables) in (0..).zip(matrices.into_values()) {
            if variables.contains(&NONE) {
                return None;
            }
            let mut rows = vec![];
            let mut blocks = HashSet::new();
            for (row, variables) in (0..).zip(variables.chunks(self.size)) {
                rows.push(self.member(variables)?);
                // Rows are taken as independent of one another.
                if !blocks.insert(self.finder.blocks.of[variables[0] as usize]) {
                    return None;
                }
                for (&variable, column) in variables.iter().zip(0..) {
                    let seat = Seat::Entry {
                        matrix,
                        row,
                        column,
                    };
                    self.seats[variable as usize] = seat;
                }
            }
            self.space.matrices.push(rows);
        }
        let count = self.space.matrices.len();
        self.space
            .forms
            .matrices
            .resize_with(count, Default::default);
        Some(())
    }

    /// The place of a product among the means of its block's statistics.
    fn place(&self, variables: &[u32]) -> Option<u32> {
        let block = self.finder.blocks.of[variables[0] as usize];
        let together = |v: &u32| self.finder.blocks.of[*v as usize] == block;
        if !variables.iter().all(together) {
            return None;
        }
        let atom = |variable: u32| Atom { variable, part: 0 };
        let family = &self.finder.blocks.blocks[block as usize];
        let (place, _) = match *variables {
            [x] => family.statistic(&[atom(x)])?,
            [x, y] => family.statistic(&[atom(x.min(y)), atom(x.max(y))])?,
            _ => return None,
        };
        Some(self.firsts[block as usize] + place as u32)
    }

    fn member(&self, variables: &[u32]) -> Option<Member> {
        let means: Option<Vec<u32>> = variables.iter().map(|&v| self.place(&[v])).collect();
        Some(Member {
            means: means?,
            seconds: self.products(variables, variables)?,
        })
    }

    fn products(&self, a: &[u32], b: &[u32]) -> Option<Vec<u32>> {
        (a.iter())
            .flat_map(|&x| b.iter().map(move |&y| self.place(&[x, y])))
            .collect()
    }

    pub(super) fn space(mut self) -> Option<Space> {
        for term in 0..self.finder.graph.terms.len() {
            self.sort(term)?;
        }
        self.close()?;
        let mut alike: BTreeMap<_, Quadratic> = BTreeMap::new();
        for ((side, source), mut entries) in std::mem::take(&mut self.forms) {
            entries.sort_by_key(|entry| (entry.i, entry.j, entry.target));
            let key: Vec<_> = (entries.iter())
                .map(|e| (e.i, e.j, e.target, e.coefficient.to_bits()))
                .collect();
            let quadratic = alike.entry((side, key)).or_insert_with(|| Quadratic {
                side,
                entries,
                sources: vec![],
            });
            quadratic.sources.push(source);
        }
        if alike.len() > MOST {
            return None;
        }
        self.space.forms.quadratics = alike.into_values().collect();
        Some(self.space)
    }

    /// Products of vectors that are among the statistics of a block turn as well, whether a form
    /// holds them or not.
    fn close(&mut self) -> Option<()> {
        let mut pairs = BTreeSet::new();
        let mut still = BTreeSet::new();
        let blocks: BTreeSet<u32> = (self.vectors.iter())
            .map(|vector| self.finder.blocks.of[vector[0] as usize])
            .collect();
        for block in blocks {
            let block = &self.finder.blocks.blocks[block as usize];
            let BlockFamily::Gaussian(family) = &block.family else {
                return None;
            };
            for &(i, j) in family.pairs() {
                let (x, y) = (block.variables[i as usize], block.variables[j as usize]);
                match (self.seats[x as usize], self.seats[y as usize]) {
                    (Seat::Vector { member: a, .. }, Seat::Vector { member: b, .. }) => {
                        if a != b {
                            pairs.insert((a.min(b), a.max(b)));
                        }
                    }
                    (Seat::Vector { member, .. }, Seat::None) => {
                        still.insert((member, y));
                    }
                    (Seat::None, Seat::Vector { member, .. }) => {
                        still.insert((member, x));
                    }
                    (Seat::None, Seat::None) => {}
                    _ => return None,
                }
            }
        }
        for (a, b) in pairs {
            self.cross(a, b)?;
        }
        for (member, variable) in still {
            self.mixed(Side::Vector, member, variable)?;
        }
        Some(())
    }

    /// Adds what a term becomes to the forms; nothing where it cannot be told.
    fn sort(&mut self, term: usize) -> Option<()> {
        let atoms = self.finder.graph.terms.atoms(term);
        let still = |atom: &Atom| matches!(self.seats[atom.variable as usize], Seat::None);
        if atoms.iter().all(still) {
            return Some(());
        }
        let mut sorted = std::mem::take(&mut self.sorted);
        sorted.clear();
        for atom in atoms {
            let list = match self.seats[atom.variable as usize] {
                Seat::Vector { .. } => &mut sorted.vectors,
                Seat::Covector { .. } => &mut sorted.covectors,
                Seat::Entry { .. } => &mut sorted.entries,
                Seat::None if self.finder.parts[atom.variable as usize] == Part::Other => {
                    sorted.others.push(*atom);
                    continue;
                }
                Seat::None => &mut sorted.still,
            };
            list.push(atom.variable);
        }
        // A covector times a vector, summed over columns, is the same in every basis.
        let vectors = &mut sorted.vectors;
        let seats = &self.seats;
        sorted.covectors.retain(|w| {
            let column = column_of(seats, *w);
            let place = vectors.iter().position(|v| column_of(seats, *v) == column);
            place.map(|place| vectors.swap_remove(place)).is_none()
        });
        let nothing_left =
            sorted.vectors.is_empty() && sorted.covectors.is_empty() && sorted.entries.is_empty();
        if nothing_left {
            self.sorted = sorted;
            return Some(());
        }
        let told = self.tell(term, &sorted);
        self.sorted = sorted;
        told
    }

    /// Adds what is left of a term.
    fn tell(&mut self, term: usize, sorted: &Sorted) -> Option<()> {
        let target = self.target(&sorted.others)?;
        let coefficient = self.finder.graph.terms.coefficient(term);
        let entry = |i: u32, j: u32| Entry {
            i,
            j,
            coefficient,
            target,
        };
        let (vectors, covectors) = (&sorted.vectors[..], &sorted.covectors[..]);
        match (vectors, covectors, &sorted.entries[..], &sorted.still[..]) {
            (&[x, y], [], [], []) => {
                let (a, i) = self.seat(x)?;
                let (b, j) = self.seat(y)?;
                if a == b {
                    self.add(Side::Vector, Source::Second(a), entry(i, j));
                } else {
                    let cross = self.cross(a, b)?;
                    let (i, j) = if a < b { (i, j) } else { (j, i) };
                    self.add(Side::Vector, Source::Cross(cross), entry(i, j));
                }
            }
            ([], &[v, w], [], []) => {
                let ((a, i), (b, j)) = (self.seat(v)?, self.seat(w)?);
                if a != b {
                    return None;
                }
                self.add(Side::Covector, Source::Second(a), entry(i, j));
            }
            (&[x], [], [], &[]) => {
                let (a, i) = self.seat(x)?;
                self.add_plain(Side::Vector, Plain::Mean(a), entry(i, 0));
            }
            ([], &[w], [], &[]) => {
                let (a, i) = self.seat(w)?;
                self.add_plain(Side::Covector, Plain::Mean(a), entry(i, 0));
            }
            (&[x], [], [], &[n]) => {
                let (a, i) = self.seat(x)?;
                let mixed = self.mixed(Side::Vector, a, n)?;
                self.add_plain(Side::Vector, Plain::Mixed(mixed), entry(i, 0));
            }
            ([], &[w], [], &[n]) => {
                let (a, i) = self.seat(w)?;
                let mixed = self.mixed(Side::Covector, a, n)?;
                self.add_plain(Side::Covector, Plain::Mixed(mixed), entry(i, 0));
            }
            ([], [], &[a, b], []) if a == b => {
                let (matrix, row, column) = self.entry(a)?;
                let forms = &mut self.space.forms.matrices[matrix as usize];
                forms.0.push(entry(row, column));
            }
            ([], [], &[a], []) => {
                let (matrix, row, column) = self.entry(a)?;
                let forms = &mut self.space.forms.matrices[matrix as usize];
                forms.1.push(entry(row, column));
            }
            (&[x, y], [], &[a], []) => self.carried(a, x, y, entry)?,
            (&[x, y], [], &[a, b], []) => self.both(a, b, x, y, entry)?,
            _ => return None,
        }
        Some(())
    }

    /// A matrix that stands between two vectors. The sum over its columns is the same in every basis, so
    /// one column tells of all.
    fn carried(&mut self, a: u32, x: u32, y: u32, entry: impl Fn(u32, u32) -> Entry) -> Option<()> {
        let (matrix, row, column) = self.entry(a)?;
        if column != u32::from(row == 0 && self.size > 1) {
            return Some(());
        }
        let ((of_x, at_x), (of_y, at_y)) = (self.seat(x)?, self.seat(y)?);
        let roots = (self.finder.members.find(x), self.finder.members.find(y));
        // Whether the matrix carries y.
        let from_y = at_y == column
            && (at_x != column || self.size == 1 || self.finder.successions.contains(&roots));
        let ((to, i), from) = if from_y {
            ((of_x, at_x), of_y)
        } else if at_x == column {
            ((of_y, at_y), of_x)
        } else {
            return None;
        };
        let cross = self.cross(to, from)?;
        let source = if to < from {
            Source::Carried(cross, matrix)
        } else {
            Source::CarriedTransposed(cross, matrix)
        };
        self.add(Side::Vector, source, entry(i, row));
        Some(())
    }

    /// The square of what a matrix carries, from its first column.
    fn both(
        &mut self,
        a: u32,
        b: u32,
        x: u32,
        y: u32,
        entry: impl Fn(u32, u32) -> Entry,
    ) -> Option<()> {
        let ((matrix, i, first), (other, j, second)) = (self.entry(a)?, self.entry(b)?);
        if first != 0 || second != 0 {
            return Some(());
        }
        if x != y || matrix != other || self.seat(x)?.1 != 0 {
            return None;
        }
        let member = self.seat(x)?.0;
        self.add(Side::Vector, Source::Both(member, matrix), entry(i, j));
        Some(())
    }

    fn add(&mut self, side: Side, source: Source, entry: Entry) {
        self.forms.entry((side, source)).or_default().push(entry);
    }

    fn add_plain(&mut self, side: Side, plain: Plain, entry: Entry) {
        let linears = &mut self.space.forms.linears;
        let same = |linear: &Linear| linear.side == side && linear.target == entry.target;
        let place = linears.iter().position(same).unwrap_or_else(|| {
            linears.push(Linear {
                side,
                target: entry.target,
                elements: vec![],
            });
            linears.len() - 1
        });
        linears[place]
            .elements
            .push((plain, entry.i, entry.coefficient));
    }

    fn seat(&self, variable: u32) -> Option<(u32, u32)> {
        match self.seats[variable as usize] {
            Seat::Vector { member, column } | Seat::Covector { member, column } => {
                Some((member, column))
            }
            Seat::Entry { .. } | Seat::None => None,
        }
    }

    fn entry(&self, variable: u32) -> Option<(u32, u32, u32)> {
        match self.seats[variable as usize] {
            Seat::Entry {
                matrix,
                row,
                column,
            } => Some((matrix, row, column)),
            _ => None,
        }
    }

    /// What a form is multiplied by; nothing where it is not a gamma's value.
    fn target(&mut self, others: &[Atom]) -> Option<Target> {
        let atom = match others {
            [] => return Some(Target::Constant),
            [atom] if atom.part == 1 => atom,
            _ => return None,
        };
        let block = self.finder.blocks.of[atom.variable as usize] as usize;
        let collapsed = match role(self.choice, block) {
            Role::Collapsed => true,
            Role::Own => false,
            Role::Shared => return None,
        };
        if !matches!(
            self.finder.blocks.blocks[block].family,
            BlockFamily::Gamma(_)
        ) {
            return None;
        }
        let place = self.firsts[block];
        let scales = &mut self.space.forms.scales;
        let scale = *self.scales.entry(atom.variable).or_insert_with(|| {
            scales.push(Scale { collapsed, place });
            scales.len() as u32 - 1
        });
        Some(Target::Gamma(scale))
    }

    /// The cross of two vectors, the smaller first.
    fn cross(&mut self, a: u32, b: u32) -> Option<u32> {
        let (a, b) = (a.min(b), a.max(b));
        if let Some(&known) = self.crosses.get(&(a, b)) {
            return Some(known);
        }
        let places = self.products(&self.vectors[a as usize], &self.vectors[b as usize])?;
        let index = self.space.crosses.len() as u32;
        self.space.crosses.push(Cross { places });
        self.crosses.insert((a, b), index);
        Some(index)
    }

    fn mixed(&mut self, side: Side, member: u32, still: u32) -> Option<u32> {
        if let Some(&known) = self.mixed.get(&(side, member, still)) {
            return Some(known);
        }
        let variables = match side {
            Side::Vector => &self.vectors[member as usize],
            Side::Covector => &self.covectors[member as usize],
        };
        let places = self.products(variables, &[still])?;
        let index = self.space.mixed.len() as u32;
        self.space.mixed.push(Mixed { side, places });
        self.mixed.insert((side, member, still), index);
        Some(index)
    }
}

fn column_of(seats: &[Seat], variable: u32) -> Option<u32> {
    match seats[variable as usize] {
        Seat::Vector { column, .. } | Seat::Covector { column, .. } => Some(column),
        Seat::Entry { .. } | Seat::None => None,
    }
}
