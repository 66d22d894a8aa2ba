//! Decides in which order the scalars of a sparse Gaussian are eliminated: fewest neighbours first.
//!
//! Eliminating a scalar joins its neighbours to each other. They are not joined one by one: the
//! set of them is kept as an element, named by the scalar that made it, and a neighbour of a
//! neighbour is found through it. Degrees are upper bounds, cheap to keep up to date; scalars with
//! the same neighbours are merged and eliminated together.

/// The scalars in the order in which to eliminate them; `pairs` are distinct.
pub(super) fn minimum_degree(n: usize, pairs: &[(u32, u32)]) -> Vec<u32> {
    let mut degrees = vec![0_u32; n];
    for &(i, j) in pairs {
        degrees[i as usize] += 1;
        degrees[j as usize] += 1;
    }
    // A scalar with very many neighbours, such as a common mean, would be visited each time one of
    // them goes: it comes last, where it would nearly always end anyway.
    let most = 16.0_f64.max(10.0 * (n as f64).sqrt()) as u32;
    let crowded = |i: u32| degrees[i as usize] > most;
    let mut order = Vec::with_capacity(n);
    let mut graph = Graph::new(n, pairs, crowded);
    while let Some(pivot) = graph.next_pivot() {
        graph.eliminate(pivot, &mut order);
    }
    let mut last: Vec<u32> = (0..n as u32).filter(|i| crowded(*i)).collect();
    last.sort_by_key(|i| degrees[*i as usize]);
    order.extend(last);
    order
}

struct Graph {
    /// How many scalars each stands for; zero once it is eliminated or merged.
    weight: Vec<u32>,
    /// Neighbours of each that no element covers.
    neighbours: Vec<Vec<u32>>,
    /// Elements that each is a member of.
    elements: Vec<Vec<u32>>,
    /// Members of each element.
    members: Vec<Vec<u32>>,
    /// Weight of the members of an element; zero once it is part of another.
    size: Vec<u32>,
    /// Bounds on the weight of all neighbours.
    degree: Vec<u32>,
    /// The scalars merged into each.
    merged: Vec<Vec<u32>>,
    /// Weight that is not eliminated yet.
    left: u32,
    /// Which scalars and elements a pass has seen: those with its number.
    pass: u32,
    scalar_seen: Vec<u32>,
    element_seen: Vec<u32>,
    /// Weight of an element's members outside the present one.
    outside: Vec<u32>,
    /// Scalars by degree, the last to get it on top. Those that are gone or have another degree by now are
    /// passed over.
    stacks: Vec<Vec<u32>>,
    /// No stack before this one has a scalar to eliminate.
    lowest: usize,
}

impl Graph {
    fn new(n: usize, pairs: &[(u32, u32)], crowded: impl Fn(u32) -> bool) -> Self {
        let mut neighbours = vec![Vec::new(); n];
        for &(i, j) in pairs {
            if !crowded(i) && !crowded(j) {
                neighbours[i as usize].push(j);
                neighbours[j as usize].push(i);
            }
        }
        let degree: Vec<u32> = neighbours.iter().map(|list| list.len() as u32).collect();
        let mut graph = Self {
            weight: vec![1; n],
            neighbours,
            elements: vec![Vec::new(); n],
            members: vec![Vec::new(); n],
            size: vec![0; n],
            degree,
            merged: vec![Vec::new(); n],
            left: 0,
            pass: 0,
            scalar_seen: vec![0; n],
            element_seen: vec![0; n],
            outside: vec![0; n],
            stacks: Vec::new(),
            lowest: 0,
        };
        // From the front, and along a chain.
        for i in (0..n as u32).rev().filter(|i| !crowded(*i)) {
            graph.push(i);
            graph.left += 1;
        }
        graph
    }

    fn push(&mut self, i: u32) {
        let degree = self.degree[i as usize] as usize;
        if degree >= self.stacks.len() {
            self.stacks.resize(degree + 1, Vec::new());
        }
        self.stacks[degree].push(i);
        self.lowest = self.lowest.min(degree);
    }

    fn next_pivot(&mut self) -> Option<u32> {
        loop {
            let Some(i) = self.stacks.get_mut(self.lowest)?.pop() else {
                self.lowest += 1;
                continue;
            };
            let same = self.degree[i as usize] as usize == self.lowest;
            if same && self.weight[i as usize] > 0 {
                return Some(i);
            }
        }
    }

    fn eliminate(&mut self, pivot: u32, order: &mut Vec<u32>) {
        let mut members = self.new_element(pivot);
        self.finish(pivot, order);
        let mut size: u32 = members.iter().map(|i| self.weight[*i as usize]).sum();
        let mut keys = Vec::with_capacity(members.len());
        for &i in &members {
            let (beyond, key) = self.prune(i);
            if beyond == 0 {
                // All its neighbours are members: it can follow the pivot at once, without fill.
                size -= self.weight[i as usize];
                self.finish(i, order);
            } else {
                self.elements[i as usize].push(pivot);
                self.outside[i as usize] = beyond;
                keys.push((key, i));
            }
        }
        self.merge_equals(&mut keys);
        members.retain(|i| self.weight[*i as usize] > 0);
        for &member in &members {
            let i = member as usize;
            let others = size - self.weight[i];
            let bound = (self.degree[i] + others).min(self.outside[i] + others);
            self.degree[i] = bound.min(self.left - self.weight[i]);
            self.push(member);
        }
        self.members[pivot as usize] = members;
        self.size[pivot as usize] = size;
    }

    /// All that the pivot is joined to, directly or by its elements, which become part of the new
    /// one; and how much of every other element lies outside it.
    fn new_element(&mut self, pivot: u32) -> Vec<u32> {
        self.pass += 1;
        self.scalar_seen[pivot as usize] = self.pass;
        let mut members = std::mem::take(&mut self.neighbours[pivot as usize]);
        for e in std::mem::take(&mut self.elements[pivot as usize]) {
            self.size[e as usize] = 0;
            members.append(&mut self.members[e as usize]);
        }
        members.retain(|i| {
            let new = self.scalar_seen[*i as usize] != self.pass;
            self.scalar_seen[*i as usize] = self.pass;
            new && self.weight[*i as usize] > 0
        });
        for &i in &members {
            for &e in &self.elements[i as usize] {
                let e = e as usize;
                if self.element_seen[e] != self.pass {
                    self.element_seen[e] = self.pass;
                    self.outside[e] = self.size[e];
                }
                // Elements that were just joined to the new one have no size left.
                self.outside[e] = self.outside[e].saturating_sub(self.weight[i as usize]);
            }
        }
        members
    }

    /// Drops from the lists of a member what the present element covers; returns the weight of
    /// what is left, and a number that is the same for the same lists.
    fn prune(&mut self, i: u32) -> (u32, u64) {
        let (mut beyond, mut key) = (0, 0_u64);
        let mut count = |what: u32, weight: u32| {
            beyond += weight;
            key = key.wrapping_add(scattered(what));
            true
        };
        self.elements[i as usize].retain(|e| {
            let outside = self.outside[*e as usize];
            if outside == 0 {
                self.size[*e as usize] = 0;
            }
            self.size[*e as usize] > 0 && count(!*e, outside)
        });
        self.neighbours[i as usize].retain(|j| {
            let weight = self.weight[*j as usize];
            weight > 0 && self.scalar_seen[*j as usize] != self.pass && count(*j, weight)
        });
        (beyond, key)
    }

    /// Merges members whose lists are the same: they stay alike until they are eliminated.
    fn merge_equals(&mut self, keys: &mut [(u64, u32)]) {
        keys.sort_unstable();
        for alike in keys.chunk_by(|a, b| a.0 == b.0) {
            for (k, &(_, i)) in alike.iter().enumerate() {
                if self.weight[i as usize] == 0 || k + 1 == alike.len() {
                    continue;
                }
                self.pass += 1;
                for &j in &self.neighbours[i as usize] {
                    self.scalar_seen[j as usize] = self.pass;
                }
                for &e in &self.elements[i as usize] {
                    self.element_seen[e as usize] = self.pass;
                }
                for &(_, j) in &alike[k + 1..] {
                    if self.weight[j as usize] > 0 && self.equals(i, j) {
                        self.merge(i, j);
                    }
                }
            }
        }
    }

    /// Whether `j` has the lists of `i`, which the present pass has marked.
    fn equals(&self, i: u32, j: u32) -> bool {
        let (i, j) = (i as usize, j as usize);
        let seen = |seen: &[u32], list: &[u32]| list.iter().all(|x| seen[*x as usize] == self.pass);
        self.neighbours[i].len() == self.neighbours[j].len()
            && self.elements[i].len() == self.elements[j].len()
            && seen(&self.scalar_seen, &self.neighbours[j])
            && seen(&self.element_seen, &self.elements[j])
    }

    fn merge(&mut self, i: u32, j: u32) {
        let (a, b) = (i as usize, j as usize);
        self.weight[a] += self.weight[b];
        self.weight[b] = 0;
        let more = std::mem::take(&mut self.merged[b]);
        self.merged[a].push(j);
        self.merged[a].extend(more);
        self.neighbours[b] = Vec::new();
        self.elements[b] = Vec::new();
    }

    /// Puts a scalar, and all that were merged into it, at the end of the order.
    fn finish(&mut self, i: u32, order: &mut Vec<u32>) {
        self.left -= self.weight[i as usize];
        self.weight[i as usize] = 0;
        order.push(i);
        order.append(&mut self.merged[i as usize]);
    }
}

/// A number with well-mixed bits, so that sums of different sets differ.
fn scattered(x: u32) -> u64 {
    let x = (u64::from(x) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (x ^ (x >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}
