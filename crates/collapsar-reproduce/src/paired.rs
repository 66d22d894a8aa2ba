//! The tables of the second and third experiment: runs from the same starts, start by start against vbem, and the
//! paper's figures.

use collapsar_text::{grouped, measured};

use crate::measure::{Comparison, Measure, MethodRuns, mean_difference};
use crate::tables::{beside, section};

/// Bounds this near are of one optimum: a climb that stops early leaves less.
const NAT: f64 = 1.0;

/// What the paper says of an experiment.
#[derive(Debug)]
pub(crate) struct Paper {
    pub(crate) title: &'static str,
    /// Which numbers, under which names, with how many decimals.
    pub(crate) figures: &'static [(Measure, &'static str, usize)],
    /// These numbers of each method, with their standard deviations.
    pub(crate) rows: &'static [(&'static str, &'static [(f64, f64)])],
}

impl Paper {
    fn mean(&self, name: &str, measure: Measure) -> Option<f64> {
        let row = self.rows.iter().find(|(other, _)| *other == name)?;
        let column = self.figures.iter().position(|(m, ..)| *m == measure)?;
        row.1.get(column).map(|(mean, _)| *mean)
    }

    fn table(&self) -> String {
        let rows = self.rows.iter().map(|(name, figures)| {
            let cells = figures.iter().zip(self.figures);
            let cells = cells.map(|(&(mean, sd), figure)| spread((mean, Some(sd)), figure.2));
            ((*name).to_owned(), cells.collect())
        });
        section(self.title, self.figures.iter().map(|figure| figure.1), rows)
    }
}

/// All tables, as Markdown that is also readable as it is.
pub(crate) fn tables(paper: &Paper, runs: &Comparison) -> String {
    let mut text = means(&runs.methods) + &paper.table();
    let Some(vbem) = runs.vbem() else {
        return text;
    };
    let base = &runs.methods[vbem];
    let ratios = runs
        .methods
        .iter()
        .map(|method| (method.name.clone(), ratios(paper, base, method)));
    text += &section(
        "How many times less than vbem, by the means (in brackets the paper's)",
        ["seconds", "iterations", "passes"],
        ratios,
    );
    let others = (0..runs.methods.len()).filter(|&method| method != vbem);
    let against: Vec<_> = others
        .map(|method| {
            let name = runs.methods[method].name.clone();
            (name, against(&runs.differences(method, vbem)))
        })
        .collect();
    if !against.is_empty() {
        text += &section(
            "Final bound against vbem's from the same start: starts that ended more than a nat above it, within \
             one and below, and the mean difference ± its standard error",
            ["above", "within", "below", "difference"],
            against,
        );
    }
    text
}

fn means(methods: &[MethodRuns]) -> String {
    let rows = methods.iter().map(|method| {
        let (seconds, sd) = method.mean(Measure::Seconds);
        let mean = |measure| spread(method.mean(measure), 1);
        let cells = vec![
            measured(seconds, sd),
            mean(Measure::Iterations),
            mean(Measure::Passes),
            mean(Measure::Bound),
            format!("{} of {}", method.converged(), method.runs.len()),
        ];
        (method.name.clone(), cells)
    });
    section(
        "Means over the starts ± one standard deviation",
        ["seconds", "iterations", "passes", "bound", "converged"],
        rows,
    )
}

fn spread((mean, sd): (f64, Option<f64>), decimals: usize) -> String {
    let mean = grouped(mean, decimals);
    sd.map_or(mean.clone(), |sd| {
        format!("{mean} ± {}", grouped(sd, decimals))
    })
}

/// Costs of vbem over those of one method.
fn ratios(paper: &Paper, vbem: &MethodRuns, method: &MethodRuns) -> Vec<String> {
    let unfinished = |method: &MethodRuns| method.converged() < method.runs.len();
    // A run that was cut short would have cost more.
    let sign = match (unfinished(vbem), unfinished(method)) {
        _ if method.name == vbem.name => "",
        (true, true) => "~",
        (true, false) => ">",
        (false, true) => "<",
        (false, false) => "",
    };
    let cell = |measure| {
        let ours = vbem.mean(measure).0 / method.mean(measure).0;
        let means = paper
            .mean(&vbem.name, measure)
            .zip(paper.mean(&method.name, measure));
        let theirs = means.map(|(vbem, method)| format!("{:.2}", vbem / method));
        beside(format!("{sign}{ours:.2}"), theirs)
    };
    [Measure::Seconds, Measure::Iterations, Measure::Passes]
        .map(cell)
        .to_vec()
}

/// Where one method ended, from where vbem did.
fn against(differences: &[f64]) -> Vec<String> {
    let above = differences.iter().filter(|&&nats| nats > NAT).count();
    let below = differences.iter().filter(|&&nats| nats < -NAT).count();
    let (mean, error) = mean_difference(differences);
    vec![
        above.to_string(),
        (differences.len() - above - below).to_string(),
        below.to_string(),
        if error.is_finite() {
            format!("{mean} ± {error:.2}")
        } else {
            mean
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::tests::comparison;
    use collapsar::{Outcome, Stop};

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

    #[test]
    fn costs_stand_beside_the_papers() {
        let text = tables(&PAPER, &comparison());
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
        let mut runs = comparison();
        runs.methods[0].runs[0].outcome = Outcome::Exhausted(Stop::Iterations(900));
        let text = tables(&PAPER, &runs);
        assert!(text.contains("|    2 of 3 |"), "{text}");
        let ratios = "| >8.38 (9.61) | >16.67 (9.96) |  >8.38 |";
        assert!(text.contains(ratios), "{text}");
    }

    #[test]
    fn one_start_has_no_spread_and_no_vbem_no_ratios() {
        let mut fr = comparison().methods.remove(1);
        fr.runs.truncate(1);
        let text = tables(&PAPER, &Comparison::new(vec![fr], None));
        let means = "|   0.600 |       30.0 |   60.0 | -99.0 |";
        assert!(text.contains(means), "{text}");
        assert!(!text.contains("vbem, by the means"), "{text}");
    }
}
