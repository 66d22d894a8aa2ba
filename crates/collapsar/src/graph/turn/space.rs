//! Decides what a space is made of once its columns are known: positions of its variables, and forms from
//! the terms that they are in.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::find::{Finder, Part};
use super::forms::{Entry, Linear, Plain, Quadratic, Scale, Side, Source, Target};
use super::{Member, Space};
use crate::graph::Atom;
use crate::graph::block::BlockFamily;
use crate::graph::choice::{Choice, Role};

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
    /// Gaussians that do not turn.
    fixed: Vec<u32>,
    others: Vec<Atom>,
}

/// Where a turning variable stands in its space.
#[derive(Debug, Clone, Copy)]
enum Position {
    None,
    /// In a vector or a covector: which of them, and its column.
    Element(Side, u32, u32),
    /// In a matrix: which of them, its row and its column.
    Entry(u32, u32, u32),
}

/// A space in the making.
pub(super) struct Builder<'a, 'f> {
    finder: &'f mut Finder<'a>,
    choice: &'f Choice,
    firsts: &'f [u32],
    positions: Vec<Position>,
    space: Space,
    crosses: HashMap<(u32, u32), u32>,
    mixed: HashMap<(Side, u32, u32), u32>,
    scales: HashMap<u32, u32>,
    forms: BTreeMap<(Side, Source), Vec<Entry>>,
    vectors: Vec<Vec<u32>>,
    covectors: Vec<Vec<u32>>,
}

impl<'a, 'f> Builder<'a, 'f> {
    /// Finds the position of every variable; nothing where a vector lacks a column.
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
        let positions = vec![Position::None; finder.parts.len()];
        let mut builder = Self {
            finder,
            choice,
            firsts,
            positions,
            space: Space {
                size,
                ..Space::default()
            },
            crosses: HashMap::new(),
            mixed: HashMap::new(),
            scales: HashMap::new(),
            forms: BTreeMap::new(),
            vectors: vec![],
            covectors: vec![],
        };
        let index: HashMap<u32, u32> = (columns.iter().copied()).zip(0..).collect();
        builder.place_members(&index)?;
        builder.place_matrices(&index)?;
        Some(builder)
    }

    fn place_members(&mut self, index: &HashMap<u32, u32>) -> Option<()> {
        let mut members = Tables::new();
        for variable in 0..self.finder.placed.len() as u32 {
            if !self.finder.placed[variable as usize] {
                continue;
            }
            let root = self.finder.columns.find(variable);
            if let Some(&column) = index.get(&root) {
                let member = self.finder.members.find(variable);
                put(&mut members, (member, column), variable)?;
            }
        }
        for variables in full(members, self.space.size)? {
            let part = |variable: &u32| self.finder.parts[*variable as usize];
            let first = part(&variables[0]);
            if variables.iter().any(|variable| part(variable) != first) {
                return None;
            }
            let side = if first == Part::Collapsed {
                Side::Vector
            } else {
                Side::Covector
            };
            let list = side.of(&mut self.vectors, &mut self.covectors);
            let member = list.len() as u32;
            for (&variable, column) in variables.iter().zip(0..) {
                self.positions[variable as usize] = Position::Element(side, member, column);
            }
            list.push(variables);
        }
        let vectors: Vec<_> = self.vectors.iter().map(|v| self.member(v)).collect();
        let covectors: Vec<_> = self.covectors.iter().map(|w| self.member(w)).collect();
        for variables in self.vectors.iter().chain(&self.covectors) {
            let pairs = (0..self.space.size).flat_map(|j| (0..j).map(move |i| (i, j)));
            let pairs = pairs.map(|(i, j)| (variables[i], variables[j]));
            let together = |&(x, y): &(u32, u32)| {
                let of = &self.finder.blocks.of;
                of[x as usize] == of[y as usize] && self.place([x, y]).is_none()
            };
            let missing: Vec<_> = pairs.filter(together).collect();
            self.finder.missing.extend(missing);
        }
        self.space.vectors = vectors.into_iter().collect::<Option<_>>()?;
        self.space.covectors = covectors.into_iter().collect::<Option<_>>()?;
        Some(())
    }

    fn place_matrices(&mut self, index: &HashMap<u32, u32>) -> Option<()> {
        let size = self.space.size;
        let mut matrices = Tables::new();
        for (&a, &column) in &self.finder.duals {
            let row = *self.finder.rows.get(&a)?;
            let mut place = |column| index.get(&self.finder.columns.find(column)).copied();
            if let (Some(row), Some(column)) = (place(row), place(column)) {
                let place = row * size as u32 + column;
                put(&mut matrices, (self.finder.matrices.find(a), place), a)?;
            }
        }
        for (matrix, variables) in (0..).zip(full(matrices, size * size)?) {
            let mut rows = vec![];
            let mut blocks = HashSet::new();
            for (row, variables) in (0..).zip(variables.chunks(size)) {
                rows.push(self.member(variables)?);
                // Rows are taken as independent of one another.
                if !blocks.insert(self.finder.blocks.of[variables[0] as usize]) {
                    return None;
                }
                for (&variable, column) in variables.iter().zip(0..) {
                    self.positions[variable as usize] = Position::Entry(matrix, row, column);
                }
            }
            self.space.matrices.push(rows);
        }
        let count = self.space.matrices.len();
        let forms = &mut self.space.forms.matrices;
        forms.resize_with(count, Default::default);
        Some(())
    }

    /// The place of a product among the means of its block's statistics.
    fn place<const N: usize>(&self, mut variables: [u32; N]) -> Option<u32> {
        let block = self.finder.blocks.of[variables[0] as usize];
        let together = |v: &u32| self.finder.blocks.of[*v as usize] == block;
        if !variables.iter().all(together) {
            return None;
        }
        variables.sort_unstable();
        let atoms = variables.map(|variable| Atom { variable, part: 0 });
        let (place, _) = self.finder.blocks.blocks[block as usize].statistic(&atoms)?;
        Some(self.firsts[block as usize] + place as u32)
    }

    fn member(&self, variables: &[u32]) -> Option<Member> {
        let means: Option<Vec<u32>> = variables.iter().map(|&v| self.place([v])).collect();
        Some(Member {
            means: means?,
            seconds: self.products(variables, variables)?,
        })
    }

    fn products(&self, a: &[u32], b: &[u32]) -> Option<Vec<u32>> {
        (a.iter())
            .flat_map(|&x| b.iter().map(move |&y| self.place([x, y])))
            .collect()
    }

    pub(super) fn space(mut self) -> Option<Space> {
        let mut sorted = Sorted::default();
        for term in 0..self.finder.graph.terms.len() {
            self.sort(term, &mut sorted);
            self.add_rest(term, &sorted)?;
        }
        self.close()?;
        let mut alike: BTreeMap<_, Quadratic> = BTreeMap::new();
        for ((side, source), mut entries) in std::mem::take(&mut self.forms) {
            entries.sort_by_key(|entry| (entry.at, entry.target));
            let key: Vec<_> = (entries.iter())
                .map(|e| (e.at, e.target, e.coefficient.to_bits()))
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
        let mut fixed = BTreeSet::new();
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
                // A block that holds a vector is collapsed, so that nothing else in it turns.
                let vector = |variable| self.member_and_column(variable).map(|place| place.0);
                match (vector(x), vector(y)) {
                    (Some(a), Some(b)) if a != b => {
                        pairs.insert((a.min(b), a.max(b)));
                    }
                    (Some(member), None) => {
                        fixed.insert((member, y));
                    }
                    (None, Some(member)) => {
                        fixed.insert((member, x));
                    }
                    _ => {}
                }
            }
        }
        for (a, b) in pairs {
            self.cross(a, b)?;
        }
        for (member, variable) in fixed {
            self.mixed(Side::Vector, member, variable)?;
        }
        Some(())
    }

    /// Sorts the variables of a term but for those whose product is the same in every basis.
    fn sort(&self, term: usize, sorted: &mut Sorted) {
        let lists = [
            &mut sorted.vectors,
            &mut sorted.covectors,
            &mut sorted.entries,
            &mut sorted.fixed,
        ];
        lists.into_iter().for_each(Vec::clear);
        sorted.others.clear();
        for atom in self.finder.graph.terms.atoms(term) {
            let list = match self.positions[atom.variable as usize] {
                Position::Element(side, ..) => side.of(&mut sorted.vectors, &mut sorted.covectors),
                Position::Entry(..) => &mut sorted.entries,
                Position::None if self.finder.parts[atom.variable as usize] == Part::Other => {
                    sorted.others.push(*atom);
                    continue;
                }
                Position::None => &mut sorted.fixed,
            };
            list.push(atom.variable);
        }
        // A covector times a vector, summed over columns, is the same in every basis.
        let vectors = &mut sorted.vectors;
        let column = |variable: u32| self.member_and_column(variable).map(|place| place.1);
        sorted.covectors.retain(|w| {
            let place = vectors.iter().position(|v| column(*v) == column(*w));
            place.map(|place| vectors.swap_remove(place)).is_none()
        });
    }

    /// Adds what a term becomes to the forms; nothing where that is none of them.
    fn add_rest(&mut self, term: usize, sorted: &Sorted) -> Option<()> {
        if sorted.vectors.is_empty() && sorted.covectors.is_empty() && sorted.entries.is_empty() {
            return Some(());
        }
        let target = self.target(&sorted.others)?;
        let (_, coefficient, _) = self.finder.graph.terms.get(term);
        let entry = |i: u32, j: u32| Entry {
            at: (i as usize, j as usize),
            coefficient,
            target,
        };
        let (vectors, covectors) = (&sorted.vectors[..], &sorted.covectors[..]);
        let side = if covectors.is_empty() {
            Side::Vector
        } else {
            Side::Covector
        };
        match (vectors, covectors, &sorted.entries[..], &sorted.fixed[..]) {
            (&[x, y], [], [], []) | ([], &[x, y], [], []) => {
                let (a, i) = self.member_and_column(x)?;
                let (b, j) = self.member_and_column(y)?;
                if a == b {
                    self.add(side, Source::Second(a), entry(i, j));
                } else if side == Side::Vector {
                    let cross = self.cross(a, b)?;
                    let (i, j) = if a < b { (i, j) } else { (j, i) };
                    self.add(side, Source::Cross(cross), entry(i, j));
                } else {
                    return None;
                }
            }
            (&[x], [], [], fixed @ ([] | [_])) | ([], &[x], [], fixed @ ([] | [_])) => {
                let (member, i) = self.member_and_column(x)?;
                let plain = match fixed.first() {
                    None => Plain::Mean(member),
                    Some(&n) => Plain::Mixed(self.mixed(side, member, n)?),
                };
                self.add_plain(side, plain, entry(i, 0));
            }
            ([], [], entries @ ([a] | [a, _]), []) if entries.iter().all(|b| a == b) => {
                let (matrix, row, column) = self.entry(*a)?;
                let (squares, plain) = &mut self.space.forms.matrices[matrix as usize];
                let forms = if entries.len() == 2 { squares } else { plain };
                forms.push(entry(row, column));
            }
            (&[x, y], [], &[a], []) => self.carried(a, x, y, entry)?,
            (&[x, y], [], &[a, b], []) => self.both(a, b, x, y, entry)?,
            _ => return None,
        }
        Some(())
    }

    /// A matrix between two vectors. The sum over its columns is the same in every basis, so one column is
    /// added for all.
    fn carried(&mut self, a: u32, x: u32, y: u32, entry: impl Fn(u32, u32) -> Entry) -> Option<()> {
        let (matrix, row, column) = self.entry(a)?;
        if column != u32::from(row == 0 && self.space.size > 1) {
            return Some(());
        }
        let (of_x, at_x) = self.member_and_column(x)?;
        let (of_y, at_y) = self.member_and_column(y)?;
        let roots = (self.finder.members.find(x), self.finder.members.find(y));
        // Whether the matrix carries y.
        let from_y = at_y == column
            && (at_x != column || self.space.size == 1 || self.finder.successions.contains(&roots));
        let ((to, i), from) = if from_y {
            ((of_x, at_x), of_y)
        } else if at_x == column {
            ((of_y, at_y), of_x)
        } else {
            return None;
        };
        let cross = self.cross(to, from)?;
        let source = Source::Carried {
            transposed: to > from,
            cross,
            matrix,
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
        let (member, column) = self.member_and_column(x)?;
        if x != y || matrix != other || column != 0 {
            return None;
        }
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
        let elements = &mut linears[place].elements;
        elements.push((plain, entry.at.0, entry.coefficient));
    }

    /// The vector or covector that a variable is an element of, and which.
    fn member_and_column(&self, variable: u32) -> Option<(u32, u32)> {
        match self.positions[variable as usize] {
            Position::Element(_, member, column) => Some((member, column)),
            _ => None,
        }
    }

    fn entry(&self, variable: u32) -> Option<(u32, u32, u32)> {
        match self.positions[variable as usize] {
            Position::Entry(matrix, row, column) => Some((matrix, row, column)),
            _ => None,
        }
    }

    /// What a form is multiplied by; nothing where it is not a gamma's value.
    fn target(&mut self, others: &[Atom]) -> Option<Target> {
        let atom = match others {
            [] => return Some(None),
            [atom] if atom.part == 1 => atom,
            _ => return None,
        };
        let block = self.finder.blocks.of[atom.variable as usize] as usize;
        let collapsed = match self.choice.role(block as u32) {
            Role::Collapsed => true,
            Role::Own => false,
            Role::Shared => return None,
        };
        let family = &self.finder.blocks.blocks[block].family;
        if !matches!(family, BlockFamily::Gamma(_)) {
            return None;
        }
        let place = self.firsts[block];
        let scales = &mut self.space.forms.scales;
        let scale = *self.scales.entry(atom.variable).or_insert_with(|| {
            scales.push(Scale { collapsed, place });
            scales.len() as u32 - 1
        });
        Some(Some(scale))
    }

    /// The cross of two vectors, the smaller first.
    fn cross(&mut self, a: u32, b: u32) -> Option<u32> {
        let (a, b) = (a.min(b), a.max(b));
        if let Some(&known) = self.crosses.get(&(a, b)) {
            return Some(known);
        }
        let places = self.products(&self.vectors[a as usize], &self.vectors[b as usize])?;
        let index = self.space.crosses.len() as u32;
        self.space.crosses.push(places);
        self.crosses.insert((a, b), index);
        Some(index)
    }

    fn mixed(&mut self, side: Side, member: u32, fixed: u32) -> Option<u32> {
        if let Some(&known) = self.mixed.get(&(side, member, fixed)) {
            return Some(known);
        }
        let members = side.of(&self.vectors, &self.covectors);
        let places = self.products(&members[member as usize], &[fixed])?;
        let index = self.space.mixed.len() as u32;
        self.space.mixed.push((side, places));
        self.mixed.insert((side, member, fixed), index);
        Some(index)
    }
}

/// Variables by the number of what they make up and their place in it.
type Tables = BTreeMap<(u32, u32), u32>;

/// Fills a place; nothing where it is taken.
fn put(tables: &mut Tables, place: (u32, u32), variable: u32) -> Option<()> {
    tables.insert(place, variable).is_none().then_some(())
}

/// The variables of each, where all have as many and so none has a gap.
fn full(tables: Tables, len: usize) -> Option<Vec<Vec<u32>>> {
    let all: Vec<_> = tables.into_iter().collect();
    all.chunk_by(|(a, _), (b, _)| a.0 == b.0)
        .map(|list| (list.len() == len).then(|| list.iter().map(|entry| entry.1).collect()))
        .collect()
}
