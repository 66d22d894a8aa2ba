//! What runs from the same starts add up to, start by start against vbem, and the paper's figures beside it.

use std::fmt::Write as _;
use std::io;

use collapsar::topics::{Ranking, TopicsFit};

use super::measure::{Column, Ended};
use super::tables::{markdown, number};
use crate::text::{measured, quoted};

/// Bounds this near are of one optimum: a climb that stops early leaves less.
const NAT: f64 = 1.0;
/// Topics and words shown, as many as in the paper.
const TOPICS: usize = 6;
const WORDS: usize = 10;
/// Between probability and lift: by which readers know topics best (SievertShirley14).
const RELEVANCE: f64 = 0.6;

/// A number of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    Seconds,
    Iterations,
    Passes,
    Bound,
}

impl Measure {
    fn of(self, run: &Ended) -> f64 {
        match self {
            Self::Seconds => run.seconds,
            Self::Iterations => run.iterations as f64,
            Self::Passes => run.passes,
            Self::Bound => run.bound,
        }
    }
}

/// What the paper says of an experiment.
#[derive(Debug)]
pub(super) struct Paper {
    pub(super) title: &'static str,
    /// Which numbers, under which names, with how many decimals.
    pub(super) figures: &'static [(Measure, &'static str, usize)],
    /// These numbers of each method, with their standard deviations.
    pub(super) rows: &'static [(&'static str, &'static [(f64, f64)])],
}

impl Paper {
    fn mean(&self, name: &str, measure: Measure) -> Option<f64> {
        let row = self.rows.iter().find(|(other, _)| *other == name)?;
        let column = self.figures.iter().position(|(m, ..)| *m == measure)?;
        row.1.get(column).map(|(mean, _)| *mean)
    }

    /// How many times less than vbem.
    fn ratio(&self, name: &str, measure: Measure) -> Option<f64> {
        Some(self.mean(VBEM, measure)? / self.mean(name, measure)?)
    }
}

/// What all are compared with.
const VBEM: &str = "vbem";

/// All tables, as Markdown that is also readable as it is. Rows of `runs` are those of `names`.
pub(super) fn tables(paper: &Paper, names: &[String], runs: &Column) -> String {
    let mut text = String::new();
    let mut add = |title: &str, head: &str, rows: Vec<Vec<String>>| {
        let head = head.split(", ").map(str::to_owned).collect();
        let cells: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
        writeln!(text, "{title}\n\n{}", markdown(&cells)).expect("a string takes all");
    };
    let starts = runs.runs[0].len();
    let rows = names.iter().zip(&runs.runs).map(|(name, runs)| {
        let ended = runs.iter().filter(|run| run.outcome.converged()).count();
        let (seconds, sd) = mean(runs, Measure::Seconds);
        vec![
            name.clone(),
            measured(seconds, sd),
            spread(mean(runs, Measure::Iterations), 1),
            spread(mean(runs, Measure::Passes), 1),
            spread(mean(runs, Measure::Bound), 1),
            format!("{ended} of {starts}"),
        ]
    });
    add(
        "Means over the starts ± one standard deviation",
        "method, seconds, iterations, passes, bound, converged",
        rows.collect(),
    );
    let names_of_figures = paper.figures.iter().map(|(_, name, _)| *name);
    let head: Vec<&str> = std::iter::once("method").chain(names_of_figures).collect();
    let rows = paper.rows.iter().map(|(name, figures)| {
        let cells = figures.iter().zip(paper.figures);
        let cells = cells.map(|(&(mean, sd), &(.., decimals))| spread((mean, Some(sd)), decimals));
        std::iter::once((*name).to_owned()).chain(cells).collect()
    });
    add(paper.title, &head.join(", "), rows.collect());
    if let Some(vbem) = names.iter().position(|name| name == VBEM) {
        let rows = (0..names.len()).map(|row| ratios(paper, &names[row], runs, vbem, row));
        add(
            "How many times less than vbem, by the means (in brackets the paper's)",
            "method, seconds, iterations, passes",
            rows.collect(),
        );
        let others = (0..names.len()).filter(|&row| row != vbem);
        let rows: Vec<_> = others
            .map(|row| against(&names[row], runs, row, vbem))
            .collect();
        if !rows.is_empty() {
            add(
                "Final bound against vbem's from the same start: starts that ended more than a nat above it, within \
                 one and below, and the mean difference ± its standard error",
                "method, above, within, below, difference",
                rows,
            );
        }
    }
    text
}

/// Mean, and standard deviation where there is more than one.
fn mean(runs: &[Ended], measure: Measure) -> (f64, Option<f64>) {
    let of = |run: &Ended| measure.of(run);
    let n = runs.len() as f64;
    let mean = runs.iter().map(of).sum::<f64>() / n;
    let squares: f64 = runs.iter().map(|run| (of(run) - mean).powi(2)).sum();
    (mean, (runs.len() > 1).then(|| (squares / (n - 1.0)).sqrt()))
}

fn spread((mean, sd): (f64, Option<f64>), decimals: usize) -> String {
    let mean = number(mean, decimals);
    sd.map_or(mean.clone(), |sd| {
        format!("{mean} ± {}", number(sd, decimals))
    })
}

/// Costs of vbem over those of one method.
fn ratios(paper: &Paper, name: &str, runs: &Column, vbem: usize, row: usize) -> Vec<String> {
    let unfinished = |row: usize| runs.runs[row].iter().any(|run| !run.outcome.converged());
    // A run that was cut short would have cost more.
    let sign = match (unfinished(vbem), unfinished(row)) {
        _ if row == vbem => "",
        (true, true) => "~",
        (true, false) => ">",
        (false, true) => "<",
        (false, false) => "",
    };
    let cell = |measure: Measure| {
        let ratio = mean(&runs.runs[vbem], measure).0 / mean(&runs.runs[row], measure).0;
        let ours = format!("{sign}{ratio:.2}");
        let theirs = paper.ratio(name, measure);
        theirs.map_or(ours.clone(), |theirs| format!("{ours} ({theirs:.2})"))
    };
    vec![
        name.to_owned(),
        cell(Measure::Seconds),
        cell(Measure::Iterations),
        cell(Measure::Passes),
    ]
}

/// Where one method ended, and where vbem did from the same starts.
fn against(name: &str, runs: &Column, row: usize, vbem: usize) -> Vec<String> {
    let pairs = || runs.runs[row].iter().zip(&runs.runs[vbem]);
    let above = pairs().filter(|(a, b)| a.bound > b.bound + NAT).count();
    let below = pairs().filter(|(a, b)| a.bound < b.bound - NAT).count();
    let (mean, error) = runs.difference(row, vbem);
    // The sign of a rounded zero says nothing.
    let mean = if mean.abs() < 0.005 { 0.0 } else { mean };
    let difference = if error.is_finite() {
        format!("{mean:+.2} ± {error:.2}")
    } else {
        format!("{mean:+.2}")
    };
    vec![
        name.to_owned(),
        above.to_string(),
        (pairs().count() - above - below).to_string(),
        below.to_string(),
        difference,
    ]
}

/// The largest topics of a fit, a column each, as the paper's supplement shows its own.
pub(super) fn topics(fit: &TopicsFit, vocabulary: &[String]) -> String {
    let counts = fit.topic_counts();
    let tokens: f64 = counts.iter().sum();
    let mut order: Vec<usize> = (0..fit.topics).collect();
    order.sort_by(|&a, &b| counts[b].total_cmp(&counts[a]));
    order.truncate(TOPICS);
    let columns: Vec<Vec<String>> = order
        .iter()
        .map(|&topic| {
            let words = fit.top_words(topic, WORDS, Ranking::Relevance(RELEVANCE));
            let names = words.iter().map(|word| vocabulary[word.word].clone());
            let share = 100.0 * counts[topic] / tokens;
            std::iter::once(format!("topic {topic}: {share:.1}%"))
                .chain(names)
                .collect()
        })
        .collect();
    let longest = columns.iter().map(Vec::len).max().unwrap_or(0);
    let cell = |column: &Vec<String>, line: usize| column.get(line).cloned().unwrap_or_default();
    let lines: Vec<Vec<String>> = (0..longest)
        .map(|line| columns.iter().map(|column| cell(column, line)).collect())
        .collect();
    markdown(&lines)
}

/// Every run, one to a line.
pub(super) fn raw(
    file: &mut dyn io::Write,
    names: &[String],
    runs: &Column,
    seed: u64,
) -> io::Result<()> {
    writeln!(file, "method,seed,bound,iterations,passes,seconds,outcome")?;
    for (name, runs) in names.iter().zip(&runs.runs) {
        for (start, run) in runs.iter().enumerate() {
            writeln!(
                file,
                "{},{},{},{},{},{},{}",
                quoted(name),
                seed.wrapping_add(start as u64),
                run.bound,
                run.iterations,
                run.passes,
                run.seconds,
                quoted(&run.outcome.to_string())
            )?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::measure::tests::column;

    const PAPER: Paper = Paper {
        title: "The paper's",
        figures: &[
            (Measure::Seconds, "minutes", 1),
            (Measure::Iterations, "iterations", 1),
            (Measure::Bound, "bound", 0),
        ],
        rows: &[
            ("fr", &[(38.5, 8.7), (447.8, 100.5), (-1_998_743.0, 194.0)]),
            (
                "vbem",
                &[(370.0, 105.0), (4459.0, 1296.0), (-1_998_732.0, 241.0)],
            ),
        ],
    };

    fn names() -> Vec<String> {
        vec!["vbem".into(), "fr".into()]
    }

    #[test]
    fn costs_stand_beside_the_papers() {
        let text = tables(&PAPER, &names(), &column());
        for line in [
            // 900, 90 and 10 iterations, 902, 92 and 12 passes; bounds -100, -105 and -150.
            "| vbem   |   3.4 ± 4.9 | 333.3 ± 492.4 | 335.3 ± 492.4 | -118.3 ± 27.5 |    3 of 3 |",
            "| fr     |    38.5 ± 8.7 |     447.8 ± 100.5 | -1,998,743 ± 194 |",
            // 1000 over 60 iterations, 1006 over 120 passes; the paper's 370 / 38.5 and 4459 / 447.8.
            "| fr     | 8.38 (9.61) | 16.67 (9.96) |   8.38 |",
            // 1, -7 and 0 nats: a nat is not more than a nat.
            "| fr     |     0 |      2 |     1 | -2.00 ± 2.52 |",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }

    #[test]
    fn runs_cut_short_are_bounds_on_costs() {
        use collapsar::{Outcome, Stop};
        let mut column = column();
        column.runs[0][0].outcome = Outcome::Exhausted(Stop::Iterations(900));
        let text = tables(&PAPER, &names(), &column);
        assert!(text.contains("|    2 of 3 |"), "{text}");
        assert!(
            text.contains("| >8.38 (9.61) | >16.67 (9.96) |  >8.38 |"),
            "{text}"
        );
    }

    #[test]
    fn one_start_has_no_spread_and_no_vbem_no_ratios() {
        let column = Column::new(vec![vec![column().runs[1][0].clone()]], None);
        let text = tables(&PAPER, &names()[1..], &column);
        assert!(
            text.contains("|   0.600 |       30.0 |   60.0 | -99.0 |"),
            "{text}"
        );
        assert!(!text.contains("vbem, by the means"), "{text}");
    }

    #[test]
    fn topics_stand_side_by_side() {
        let fit = TopicsFit {
            topics: 2,
            alpha: vec![1.0; 2],
            beta: 1.0,
            word_counts: vec![50.0, 50.0, 10.0, 0.0, 0.0, 90.0],
            document_counts: vec![],
        };
        let names = ["both", "first", "second"].map(String::from);
        let text = topics(&fit, &names);
        let heads = "| topic 1: 70.0% | topic 0: 30.0% |";
        assert_eq!(text.lines().next(), Some(heads), "{text}");
        assert_eq!(text.lines().count(), 5);
    }

    #[test]
    fn raw_runs_are_one_to_a_line() {
        let mut file = Vec::new();
        raw(&mut file, &names(), &column(), 5).unwrap();
        let text = String::from_utf8(file).unwrap();
        assert_eq!(text.lines().count(), 7);
        assert_eq!(
            text.lines().nth(4),
            Some("fr,5,-99,30,60,0.6,gain below 1e-6")
        );
    }
}
