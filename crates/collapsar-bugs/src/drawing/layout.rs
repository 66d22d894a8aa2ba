//! Decides where nodes and plates go: parents above children, each plate a box of its own.
//!
//! A plate is laid out by itself and is one item of what it stands in, so that boxes never overlap.

use crate::outline::Node;

use super::Drawing;
use super::svg::size;

/// Between neighbours, and between a plate and what is in it.
const GAP: f64 = 26.0;
const ROW: f64 = 46.0;
const PADDING: f64 = 20.0;
/// Below what is in a plate, for its text.
const FOOT: f64 = 30.0;
/// Times that all rows are moved towards what they are joined to.
const SWEEPS: usize = 12;

/// A plate's box.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plate {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) text: String,
}

/// Items put together: a node, a plate or everything. The origin is the upper left corner.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Layout {
    pub(super) width: f64,
    pub(super) height: f64,
    /// Nodes with their centres.
    pub(super) nodes: Vec<(usize, f64, f64)>,
    pub(super) plates: Vec<Plate>,
}

/// The plates at a depth with the nodes in them, in the order in which nodes name them.
pub(super) fn plates(nodes: &[Node], here: &[usize], depth: usize) -> Vec<(String, Vec<usize>)> {
    let mut found: Vec<(String, Vec<usize>)> = vec![];
    for &place in here {
        let Some(text) = nodes[place].plates.get(depth) else {
            continue;
        };
        match found.iter_mut().find(|(other, _)| other == text) {
            Some((_, inside)) => inside.push(place),
            None => found.push((text.clone(), vec![place])),
        }
    }
    found
}

impl Drawing {
    /// Lays out the nodes `here`, of plates that are `depth` deep: they and the plates within are
    /// laid out together.
    pub(super) fn arrange(&self, here: &[usize], depth: usize) -> Layout {
        let nodes = &self.outline.nodes;
        let mut items: Vec<Layout> = vec![];
        let own = |place: &&usize| nodes[**place].plates.len() == depth;
        for &place in here.iter().filter(own) {
            let (width, height, centre) = size(&nodes[place]);
            items.push(Layout {
                width,
                height,
                nodes: vec![(place, centre, height / 2.0)],
                plates: vec![],
            });
        }
        for (text, inside) in plates(nodes, here, depth) {
            let mut item = self.arrange(&inside, depth + 1);
            let least = 14.0 + 6.5 * text.chars().count() as f64;
            let margin = PADDING + ((least - item.width) / 2.0 - PADDING).max(0.0);
            item.shift(margin, PADDING);
            item.width += 2.0 * margin;
            item.height += PADDING + FOOT;
            item.plates.push(Plate {
                x: 0.0,
                y: 0.0,
                width: item.width,
                height: item.height,
                text,
            });
            items.push(item);
        }
        self.stack(&items)
    }

    /// Puts items into rows.
    fn stack(&self, items: &[Layout]) -> Layout {
        let mut item_of = vec![None; self.outline.nodes.len()];
        let mut offset = vec![0.0; item_of.len()];
        for (item, layout) in items.iter().enumerate() {
            for &(place, x, _) in &layout.nodes {
                item_of[place] = Some(item);
                offset[place] = x;
            }
        }
        let links = self.outline.edges.iter().filter_map(|&(parent, child)| {
            let (a, b) = (item_of[parent]?, item_of[child]?);
            (a != b).then_some(Link {
                from: a,
                to: b,
                out: offset[parent],
                into: offset[child],
            })
        });
        let links: Vec<Link> = links.collect();
        let rows = rows(items.len(), &links);
        let left = sides(items, &rows, &links);
        let mut all = Layout::default();
        let (mut y, first) = (0.0, left.iter().copied().fold(f64::INFINITY, f64::min));
        for row in &rows {
            let heights = row.iter().map(|&item| items[item].height);
            let height = heights.fold(0.0, f64::max);
            for &item in row {
                let mut moved = items[item].clone();
                moved.shift(left[item] - first, y + (height - moved.height) / 2.0);
                all.width = all.width.max(left[item] - first + moved.width);
                all.nodes.append(&mut moved.nodes);
                all.plates.append(&mut moved.plates);
            }
            y += height + ROW;
        }
        all.height = (y - ROW).max(0.0);
        all
    }
}

impl Layout {
    fn shift(&mut self, x: f64, y: f64) {
        for node in &mut self.nodes {
            node.1 += x;
            node.2 += y;
        }
        for plate in &mut self.plates {
            plate.x += x;
            plate.y += y;
        }
    }
}

/// An edge between nodes of two items.
struct Link {
    from: usize,
    to: usize,
    /// Where the nodes stand in their items.
    out: f64,
    into: f64,
}

impl Link {
    /// How far the items are apart when the edge is upright.
    fn shift(&self) -> f64 {
        self.out - self.into
    }
}

/// Items by rows: each below its parents, and those without parents close to their children.
fn rows(items: usize, links: &[Link]) -> Vec<Vec<usize>> {
    let mut row = vec![0; items];
    // Two plates may each hold a parent of the other; that many rounds are enough without a cycle.
    for _ in 0..items {
        for link in links {
            if row[link.to] <= row[link.from] && row[link.from] + 1 < items {
                row[link.to] = row[link.from] + 1;
            }
        }
    }
    for item in 0..items {
        if links.iter().all(|link| link.to != item) {
            let children = links.iter().filter(|link| link.from == item);
            let highest = children.map(|link| row[link.to]).min();
            row[item] = highest.unwrap_or(row[item] + 1).saturating_sub(1);
        }
    }
    let mut rows = vec![vec![]; items];
    for (item, &row) in row.iter().enumerate() {
        rows[row].push(item);
    }
    rows.retain(|row| !row.is_empty());
    rows
}

/// The left side of each item.
fn sides(items: &[Layout], rows: &[Vec<usize>], links: &[Link]) -> Vec<f64> {
    let mut left = vec![0.0; items.len()];
    for row in rows {
        let width: f64 = row.iter().map(|&item| items[item].width + GAP).sum();
        let mut x = -width / 2.0;
        for &item in row {
            left[item] = x;
            x += items[item].width + GAP;
        }
    }
    let mut best = (f64::INFINITY, left.clone());
    let mut order = rows.to_vec();
    for _ in 0..SWEEPS {
        for row in &order {
            let wish = |item: usize| {
                let above = links.iter().filter(|link| link.to == item);
                let above = above.map(|link| left[link.from] + link.shift());
                let below = links.iter().filter(|link| link.from == item);
                let below = below.map(|link| left[link.to] - link.shift());
                let wishes: Vec<f64> = above.chain(below).collect();
                match wishes.len() {
                    0 => left[item],
                    count => wishes.iter().sum::<f64>() / count as f64,
                }
            };
            let mut wishes: Vec<(f64, usize)> = row.iter().map(|&i| (wish(i), i)).collect();
            wishes.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (mut free, mut excess) = (f64::NEG_INFINITY, 0.0);
            for &(wish, item) in &wishes {
                left[item] = wish.max(free);
                excess += left[item] - wish;
                free = left[item] + items[item].width + GAP;
            }
            for (_, item) in &wishes {
                left[*item] -= excess / wishes.len() as f64;
            }
        }
        order.reverse();
        let tangle = tangle(&left, rows, links);
        if tangle < best.0 {
            best = (tangle, left.clone());
        }
    }
    best.1
}

/// How bad an arrangement is: edges that cross, then how far they are from upright.
fn tangle(left: &[f64], rows: &[Vec<usize>], links: &[Link]) -> f64 {
    let mut row = vec![0.0; left.len()];
    for (index, items) in rows.iter().enumerate() {
        for &item in items {
            row[item] = index as f64;
        }
    }
    let ends = |link: &Link| {
        [
            (left[link.from] + link.out, row[link.from]),
            (left[link.to] + link.into, row[link.to]),
        ]
    };
    let mut sum = 0.0;
    for (place, link) in links.iter().enumerate() {
        let [a, b] = ends(link);
        sum += (a.0 - b.0).abs();
        let crossed = links[..place].iter().filter(|other| {
            let apart = link.from != other.from && link.to != other.to;
            apart && cross([a, b], ends(other))
        });
        sum += 1000.0 * crossed.count() as f64;
    }
    sum
}

/// Whether two segments cross.
pub(super) fn cross(a: [(f64, f64); 2], b: [(f64, f64); 2]) -> bool {
    let side = |[a, b]: [(f64, f64); 2], p: (f64, f64)| {
        (b.0 - a.0) * (p.1 - a.1) - (b.1 - a.1) * (p.0 - a.0) > 0.0
    };
    side(a, b[0]) != side(a, b[1]) && side(b, a[0]) != side(b, a[1])
}
