//! A scatter plot made of characters: dots in colour on a terminal, one mark a group elsewhere.

/// Characters across and down, and of the axis's labels.
const WIDTH: usize = 60;
const HEIGHT: usize = 18;
const MARGIN: usize = 6;
/// The lines that have a label, beside the first.
const HALF: usize = LAST / 2;
const LAST: usize = HEIGHT - 1;
/// Dots in a braille character, across and down.
const DOTS: [usize; 2] = [2, 4];
/// The bits of Unicode's braille patterns, by column and row.
const BITS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
/// ANSI colours that read on dark and on light ground.
const COLOURS: [u8; 6] = [36, 35, 33, 32, 34, 31];
const MARKS: [char; 6] = ['•', '∘', '+', '×', '*', '#'];

/// How a group looks in the plot.
pub(crate) fn mark(group: usize, colour: bool) -> String {
    if colour {
        coloured('⣿', group)
    } else {
        MARKS[group % MARKS.len()].into()
    }
}

fn coloured(character: char, group: usize) -> String {
    format!("\x1b[{}m{character}\x1b[0m", COLOURS[group % COLOURS.len()])
}

/// Points in the plane, each of a group.
pub(crate) struct Plot<'a> {
    pub(crate) points: &'a [[f64; 2]],
    pub(crate) groups: &'a [usize],
    pub(crate) colour: bool,
}

/// What falls into one character.
#[derive(Clone, Default)]
struct Cell {
    dots: u8,
    /// Points of each group.
    groups: [usize; MARKS.len()],
}

impl Plot<'_> {
    /// The plot with its axes.
    pub(crate) fn draw(&self, across: &str, up: &str) -> String {
        let (x, y) = (self.axis(0), self.axis(1));
        let mut lines = vec![format!("  {up}\n")];
        for (row, cells) in self.cells(x, y).chunks_exact(WIDTH).enumerate() {
            // The value in the middle of the character.
            let value = y[1] - (row as f64 + 0.5) / HEIGHT as f64 * (y[1] - y[0]);
            let label = match row {
                0 | HALF | LAST => format!("{value:.0}"),
                _ => String::new(),
            };
            let line: String = cells.iter().map(|cell| self.character(cell)).collect();
            lines.push(format!("{label:>MARGIN$} │{}\n", line.trim_end()));
        }
        let (rule, [left, right]) = ("─".repeat(WIDTH), x.map(|end| format!("{end:.1}")));
        let middle = WIDTH - left.len() - right.len();
        lines.push(format!("{:MARGIN$} └{rule}\n", ""));
        lines.push(format!("{:MARGIN$}  {left}{across:^middle$}{right}\n", ""));
        lines.concat()
    }

    /// The least and the greatest coordinate, with a little room.
    fn axis(&self, d: usize) -> [f64; 2] {
        let coordinates = || self.points.iter().map(|point| point[d]);
        let least = coordinates().fold(f64::MAX, f64::min);
        let most = coordinates().fold(f64::MIN, f64::max);
        let room = 0.02 * (most - least);
        [least - room, most + room]
    }

    fn cells(&self, x: [f64; 2], y: [f64; 2]) -> Vec<Cell> {
        let mut cells = vec![Cell::default(); WIDTH * HEIGHT];
        let place = |value: f64, [low, high]: [f64; 2], many: usize| {
            let fraction = (value - low) / (high - low);
            ((fraction * many as f64) as usize).min(many - 1)
        };
        for (point, &group) in self.points.iter().zip(self.groups) {
            let column = place(point[0], x, WIDTH * DOTS[0]);
            let row = HEIGHT * DOTS[1] - 1 - place(point[1], y, HEIGHT * DOTS[1]);
            let cell = &mut cells[row / DOTS[1] * WIDTH + column / DOTS[0]];
            cell.dots |= BITS[column % DOTS[0]][row % DOTS[1]];
            cell.groups[group % MARKS.len()] += 1;
        }
        cells
    }

    fn character(&self, cell: &Cell) -> String {
        let groups = (0..MARKS.len()).rev();
        let most = groups.max_by_key(|&group| cell.groups[group]).unwrap_or(0);
        match (cell.dots, self.colour) {
            (0, _) => " ".into(),
            (_, false) => mark(most, false),
            (dots, true) => {
                let dots = char::from_u32(0x2800 + u32::from(dots));
                coloured(dots.unwrap_or('?'), most)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corners(colour: bool) -> String {
        let plot = Plot {
            points: &[[0.0, 0.0], [1.0, 1.0]],
            groups: &[0, 1],
            colour,
        };
        plot.draw("x", "y")
    }

    #[test]
    fn corners_and_groups() {
        let text = corners(false);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), HEIGHT + 3);
        assert_eq!(lines[1].chars().position(|c| c == '∘'), Some(8 + WIDTH - 2));
        assert_eq!(lines[HEIGHT].chars().position(|c| c == '•'), Some(8 + 1));
    }

    #[test]
    fn colour_has_four_by_two_dots() {
        let text = corners(true);
        assert!(text.contains("\x1b[35m") && text.contains("\x1b[36m"));
        let braille = |c: &char| ('\u{2801}'..='\u{28ff}').contains(c);
        assert_eq!(text.chars().filter(braille).count(), 2);
    }
}
