//! The two bounds along a line through their common point: the paper's figure 1(b), computed.

use collapsar::mixture::{Mixture, Settings, Start};
use collapsar::{Direction, Driver, Stop};

use crate::line::{Both, Line, slowest};
use crate::ring::ring;
use crate::svg::{Curve, Panel, picture};

/// Rows, R and components of the example: small, and slow enough for VBEM to show the difference.
const ROWS: usize = 60;
const RADIUS: f64 = 3.0;
const COMPONENTS: usize = 3;
/// VBEM steps before the first panel: some way to go, and structure formed.
const STEPS: u64 = 2;

/// The figure of the two bounds.
#[derive(Debug)]
pub struct Figure {
    /// The picture.
    pub svg: String,
    /// What it shows, in words.
    pub text: String,
}

/// Computes the figure, on data and from a start of one seed.
///
/// # Errors
/// As the model, which no data drawn here make fail.
///
/// # Panics
/// Where the mean-field bound lies above the collapsed one, against maths §1.8.
pub fn curvature(seed: u64) -> collapsar::Result<Figure> {
    let model = model(seed)?;
    let (early, late, rate) = lines(&model, seed)?;
    let ((first, before), (second, after)) = (on_the_way(&early)?, at_the_optimum(&late, rate)?);
    let panels = [first, second];
    let points: usize = panels.iter().map(|panel| panel.curves[0].len()).sum();
    assert!(
        panels.iter().all(|panel| is_above(&panel.curves)),
        "the mean-field bound lies below the collapsed one"
    );
    let svg = picture(
        "The KL-corrected bound and the mean-field bound along a line",
        [
            "KL-corrected bound",
            "mean-field bound, q(X) fixed where they touch",
        ],
        &panels,
    );
    let text = format!(
        "The KL-corrected bound (KLC) and the mean-field bound (HRL12, figure 1b) of a mixture of {COMPONENTS} \
         components\non {ROWS} rows of the ring at R={RADIUS}, seed {seed}, along lines on which q(X) of the \
         mean-field bound stays as it\nis at t=0.\n\n\
         {before}{after}KLC is the higher one at all {points} points, and equal at t=0.\n",
    );
    Ok(Figure { svg, text })
}

/// Whether the first curve is nowhere below the second.
fn is_above([above, below]: &[Curve; 2]) -> bool {
    // Rounding of a bound of some hundred nats.
    above.iter().zip(below).all(|(a, b)| a.1 >= b.1 - 1e-9)
}

pub(crate) fn model(seed: u64) -> collapsar::Result<Mixture> {
    Mixture::new(&ring(ROWS, RADIUS, seed), 2, &Settings::new(COMPONENTS))
}

/// A line on the way, along the natural gradient in VBEM steps; one at the optimum, along the slowest direction in
/// Fisher lengths; and VBEM's rate in that direction.
pub(crate) fn lines(model: &Mixture, seed: u64) -> collapsar::Result<(Line<'_>, Line<'_>, f64)> {
    let (start, _) = model.start(&Start::KMeans, seed)?;
    let vbem = |stop| Driver::new(model, Direction::Vbem).stop(stop);
    let early = vbem(Stop::Iterations(STEPS)).run(start.clone())?.point;
    let late = vbem(Stop::Gain(1e-12) | Stop::Iterations(100_000))
        .run(start)?
        .point;
    let (along, rate) = slowest(model, &late)?;
    Ok((
        Line::new(model, early.messages, early.gradient)?,
        Line::new(model, late.messages, along)?,
        rate,
    ))
}

/// The panel of the line on the way, and what it shows in words.
fn on_the_way(line: &Line) -> collapsar::Result<(Panel, String)> {
    let peak = line.peak(20.0)?;
    let zero = line.at(0.0)?.values[0];
    let top = line.at(peak)?.values[0] - zero;
    let step = line.at(1.0)?.values[1] - zero;
    let (subtitle, words) = describe(
        line,
        &format!("After {STEPS} VBEM steps, along the natural gradient; t counts VBEM steps"),
        &format!("the mean-field bound peaks at t=1, KLC at t={peak:.2}: VBEM stops short"),
    )?;
    let x = (-1.0, f64::max(3.0, 1.4 * peak));
    let panel = Panel {
        title: "On the way: the same value and slope",
        subtitle,
        x_label: "t, in VBEM steps along the natural gradient",
        y_label: "nats above the common point",
        x,
        y: (-1.3 * top, 1.3 * top),
        curves: line.curves(x)?,
        marks: vec![
            ((0.0, 0.0), "q(X) = q*(X)", None, (9.0, 14.0)),
            ((1.0, step), "VBEM step", Some(1), (16.0, -4.0)),
            ((peak, top), "best step on KLC", Some(0), (-20.0, -11.0)),
        ],
    };
    Ok((panel, words))
}

/// The panel of the line at the optimum, and what it shows in words.
fn at_the_optimum(line: &Line, rate: f64) -> collapsar::Result<(Panel, String)> {
    let (subtitle, words) = describe(
        line,
        "At the optimum, along the slowest direction; t is a Fisher length",
        &format!(
            "VBEM leaves {rate:.3} of the distance at each step: one minus KLC's curvature over the other"
        ),
    )?;
    let x = (-2.2, 2.2);
    let panel = Panel {
        title: "At the optimum: the same peak",
        subtitle,
        x_label: "t, in Fisher lengths along the slowest direction",
        y_label: "nats above the optimum",
        x,
        y: (-2.0, 0.3),
        curves: line.curves(x)?,
        marks: vec![((0.0, 0.0), "q(X) = q*(X)", None, (6.0, -8.0))],
    };
    Ok((panel, words))
}

/// A subtitle, and a paragraph.
fn describe(line: &Line, title: &str, rest: &str) -> collapsar::Result<(String, String)> {
    let (here, [collapsed, mean_field]) = (line.at(0.0)?, line.curvatures()?);
    let ratio = if collapsed < 0.0 {
        format!("{:.1} times less", mean_field / collapsed)
    } else {
        "of the other sign".to_owned()
    };
    // The sign of a rounded zero says nothing.
    let slope = |x: f64| if x.abs() < 5e-5 { 0.0 } else { x };
    let row = |name, [collapsed, mean_field]: Both| {
        format!("\n  {name:<9}  KLC {collapsed:10.4}   mean field {mean_field:10.4}")
    };
    let subtitle = format!("curvature {collapsed:.3} against {mean_field:.3}").replace('-', "−");
    let words = format!(
        "{title}{}{}{}   ({ratio})\n  {rest}\n\n",
        row("value", here.values),
        row("slope", here.slopes.map(slope)),
        row("curvature", [collapsed, mean_field]),
    );
    Ok((subtitle, words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figure_shows_two_panels_of_two_curves() {
        let model = model(3).unwrap();
        let (early, late, rate) = lines(&model, 3).unwrap();
        for described in [on_the_way(&early), at_the_optimum(&late, rate)] {
            let (panel, words) = described.unwrap();
            assert!(is_above(&panel.curves));
            assert!(panel.marks.iter().all(|(at, ..)| at.1 < panel.y.1));
            assert!(words.contains("times less"), "{words}");
        }
    }
}
