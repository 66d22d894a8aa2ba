//! Curves as a picture: panels with axes, ticks, marks and one legend, as SVG text.

use std::fmt::Write;

use crate::text::escaped;

/// Strokes and letters that stand out on white and on black paper alike; the background stays clear.
const INK: &str = "#7a7f87";
const COLOURS: [&str; 4] = ["#2f7fdb", "#e0701a", "#2a9d62", "#b052c0"];
const DASHES: [&str; 4] = ["none", "7 4", "2 3", "9 3 2 3"];

const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 62.0;
const BOTTOM: f64 = 78.0;

/// One plot.
#[derive(Debug, Default)]
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) subtitle: String,
    pub(super) x_label: String,
    pub(super) y_label: String,
    /// Least and greatest of each axis; what lies outside is cut off.
    pub(super) x: (f64, f64),
    pub(super) y: (f64, f64),
    /// One for each name of the legend.
    pub(super) curves: Vec<Vec<(f64, f64)>>,
    pub(super) marks: Vec<Mark>,
}

/// A labelled point.
#[derive(Debug)]
pub(super) struct Mark {
    pub(super) at: (f64, f64),
    pub(super) label: String,
    /// Which curve's colour it takes; none is that of the axes.
    pub(super) curve: Option<usize>,
    /// Offset of the label in pixels; one to the left ends at the point.
    pub(super) shift: (f64, f64),
}

/// The panels side by side, with a legend below.
pub(super) fn picture(title: &str, legend: &[&str], panels: &[Panel]) -> String {
    let width = WIDTH * panels.len() as f64;
    let mut svg = String::new();
    let mut put = |line: String| writeln!(svg, "{line}").expect("a string takes all");
    put(format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}" font-family="Helvetica, Arial, sans-serif" font-size="12" fill="{INK}" role="img">"#
    ));
    put(format!("<title>{}</title>", escaped(title)));
    for (index, panel) in panels.iter().enumerate() {
        put(format!(
            r#"<g transform="translate({} 0)">"#,
            WIDTH * index as f64
        ));
        put(panel.draw(index));
        put("</g>".to_owned());
    }
    // Names of about 7 pixels a letter, each after its stroke, the whole in the middle.
    let widths: Vec<f64> = legend
        .iter()
        .map(|name| 58.0 + 7.0 * name.chars().count() as f64)
        .collect();
    let mut x = (width - widths.iter().sum::<f64>()) / 2.0;
    let y = HEIGHT - 16.0;
    for (curve, (name, width)) in legend.iter().zip(&widths).enumerate() {
        put(format!(
            r#"<line x1="{x:.1}" y1="{y}" x2="{:.1}" y2="{y}" stroke="{}" stroke-width="2.5" stroke-dasharray="{}"/>"#,
            x + 30.0,
            COLOURS[curve % 4],
            DASHES[curve % 4]
        ));
        put(format!(
            r#"<text x="{:.1}" y="{}">{}</text>"#,
            x + 38.0,
            y + 4.0,
            escaped(name)
        ));
        x += width;
    }
    put("</svg>".to_owned());
    svg
}

impl Panel {
    fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let across = (x - self.x.0) / (self.x.1 - self.x.0);
        let up = (y - self.y.0) / (self.y.1 - self.y.0);
        (
            LEFT + across * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM),
        )
    }

    fn draw(&self, index: usize) -> String {
        let mut lines = Vec::new();
        let (wide, high) = (WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
        let (middle, floor) = (LEFT + wide / 2.0, HEIGHT - BOTTOM);
        lines.push(format!(
            r#"<text x="{middle}" y="26" text-anchor="middle" font-size="14" font-weight="bold">{}</text>"#,
            escaped(&self.title)
        ));
        lines.push(format!(
            r#"<text x="{middle}" y="46" text-anchor="middle">{}</text>"#,
            escaped(&self.subtitle)
        ));
        for tick in ticks(self.x) {
            let (x, _) = self.place((tick, self.y.0));
            lines.push(format!(
                r#"<path d="M{x:.1} {TOP}V{floor}" stroke="{INK}" stroke-opacity="0.18"/><text x="{x:.1}" y="{}" text-anchor="middle">{}</text>"#,
                floor + 17.0,
                label(tick)
            ));
        }
        for tick in ticks(self.y) {
            let (_, y) = self.place((self.x.0, tick));
            lines.push(format!(
                r#"<path d="M{LEFT} {y:.1}H{}" stroke="{INK}" stroke-opacity="0.18"/><text x="{}" y="{:.1}" text-anchor="end">{}</text>"#,
                LEFT + wide,
                LEFT - 7.0,
                y + 4.0,
                label(tick)
            ));
        }
        lines.push(format!(
            r#"<path d="M{LEFT} {TOP}V{floor}H{}" fill="none" stroke="{INK}"/>"#,
            LEFT + wide
        ));
        lines.push(format!(
            r#"<text x="{middle}" y="{}" text-anchor="middle">{}</text>"#,
            floor + 36.0,
            escaped(&self.x_label)
        ));
        lines.push(format!(
            r#"<text transform="translate(16 {}) rotate(-90)" text-anchor="middle">{}</text>"#,
            TOP + high / 2.0,
            escaped(&self.y_label)
        ));
        lines.push(format!(
            r#"<clipPath id="inside{index}"><rect x="{LEFT}" y="{TOP}" width="{wide}" height="{high}"/></clipPath>"#
        ));
        for (curve, points) in self.curves.iter().enumerate() {
            let points: Vec<String> = points
                .iter()
                .map(|&point| self.place(point))
                .map(|(x, y)| format!("{x:.1},{y:.1}"))
                .collect();
            lines.push(format!(
                r#"<polyline clip-path="url(#inside{index})" fill="none" stroke="{}" stroke-width="2.5" stroke-dasharray="{}" points="{}"/>"#,
                COLOURS[curve % 4],
                DASHES[curve % 4],
                points.join(" ")
            ));
        }
        for mark in &self.marks {
            let (x, y) = self.place(mark.at);
            let colour = mark.curve.map_or(INK, |curve| COLOURS[curve % 4]);
            let anchor = if mark.shift.0 < 0.0 { "end" } else { "start" };
            lines.push(format!(
                r#"<circle cx="{x:.1}" cy="{y:.1}" r="4" fill="{colour}"/><text x="{:.1}" y="{:.1}" text-anchor="{anchor}">{}</text>"#,
                x + mark.shift.0,
                y + mark.shift.1,
                escaped(&mark.label)
            ));
        }
        lines.join("\n")
    }
}

/// Three to nine round numbers within a range.
fn ticks((low, high): (f64, f64)) -> Vec<f64> {
    let rough = (high - low) / 8.0;
    let power = 10.0_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|s| s * power)
        .into_iter()
        .find(|step| *step >= rough * 0.999)
        .unwrap_or(10.0 * power);
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).map(|n| n as f64 * step).collect()
}

/// A tick as short as it is exact, with a true minus.
fn label(tick: f64) -> String {
    let text = format!("{:.6}", tick.abs());
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if tick < 0.0 {
        format!("−{text}")
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel() -> Panel {
        Panel {
            title: "a < b & c".into(),
            x: (-1.0, 3.0),
            y: (-2.0, 0.5),
            curves: vec![vec![(-1.0, -2.0), (3.0, 0.5)]],
            marks: vec![Mark {
                at: (0.0, 0.0),
                label: "here".into(),
                curve: None,
                shift: (-6.0, 0.0),
            }],
            ..Panel::default()
        }
    }

    /// Every element opened is closed, in order, and no text holds a bare sign.
    fn well_formed(svg: &str) {
        let mut open: Vec<&str> = Vec::new();
        for part in svg.split('<').skip(1) {
            let (tag, text) = part.split_once('>').expect("a closed tag");
            assert!(!text.contains('>'), "bare > after {tag}");
            assert_eq!(tag.matches('"').count() % 2, 0, "quotes in {tag}");
            assert_eq!(
                text.matches('&').count(),
                text.matches(';').count(),
                "{text}"
            );
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(name));
            } else if !tag.ends_with('/') {
                open.push(tag.split_whitespace().next().expect("a name"));
            }
        }
        assert!(open.is_empty(), "{open:?} left open");
    }

    #[test]
    fn pictures_are_well_formed() {
        let svg = picture("t", &["one", "two & three"], &[panel(), panel()]);
        well_formed(&svg);
        assert!(svg.contains("a &lt; b &amp; c"));
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn corners_of_the_ranges_are_corners_of_the_frame() {
        let svg = picture("t", &[], &[panel()]);
        let points = format!(
            "points=\"{LEFT:.1},{:.1} {:.1},{TOP:.1}\"",
            HEIGHT - BOTTOM,
            WIDTH - RIGHT
        );
        assert!(svg.contains(&points), "{points}");
    }

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(ticks((-1.0, 7.1)), [0.0, 2.0, 4.0, 6.0]);
        let labels: Vec<String> = ticks((-0.35, 0.11)).into_iter().map(label).collect();
        assert_eq!(labels, ["−0.3", "−0.2", "−0.1", "0", "0.1"]);
    }
}
