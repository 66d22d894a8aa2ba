//! The paper's measure: what the runs of each method cost for each time that they find the best known bound.

use collapsar::{Direction, Fit, Outcome};

/// How far below the best known bound a run may end and still count as having found it (HRL12, table 1).
const NATS: f64 = 10.0;

/// One row of the tables: a direction, with or without the model's jumps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) direction: Direction,
    pub(super) jumps: bool,
}

impl Row {
    /// `collapsar mixture` jumps under `auto` and under nothing else, so that is what plain names mean.
    pub(super) fn name(self) -> String {
        match (self.direction, self.jumps) {
            (Direction::Auto, false) => "auto, no jumps".to_owned(),
            (Direction::Auto, true) | (_, false) => self.direction.to_string(),
            (_, true) => format!("{} with jumps", self.direction),
        }
    }

    /// Rows for the directions asked for, then those that show what each ingredient of `auto` brings.
    pub(super) fn all(directions: &[Direction]) -> Vec<Self> {
        let auto = Direction::Auto;
        let mut rows: Vec<Self> = Vec::new();
        let mut add = |direction, jumps| {
            let row = Self { direction, jumps };
            if !rows.contains(&row) {
                rows.push(row);
            }
        };
        for &direction in directions {
            add(direction, direction == auto);
        }
        if directions.contains(&auto) {
            add(auto, false);
            for direction in [Direction::Fr, Direction::Vbem] {
                if directions.contains(&direction) {
                    add(direction, true);
                }
            }
        }
        rows
    }
}

/// How one restart ended and what it cost.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ended {
    pub(super) bound: f64,
    pub(super) iterations: u64,
    /// A share of one where only some of the data were looked at.
    pub(super) passes: f64,
    pub(super) seconds: f64,
    pub(super) outcome: Outcome,
}

impl From<&Fit> for Ended {
    fn from(fit: &Fit) -> Self {
        Self {
            bound: fit.point.bound,
            iterations: fit.iterations,
            passes: fit.passes as f64,
            seconds: fit.seconds,
            outcome: fit.outcome.clone(),
        }
    }
}

/// The restarts of every row on one data set.
#[derive(Debug, Clone)]
pub(super) struct Column {
    /// The highest bound known, found here or given.
    pub(super) best: f64,
    /// By row, then by restart.
    pub(super) runs: Vec<Vec<Ended>>,
}

impl Column {
    pub(super) fn new(runs: Vec<Vec<Ended>>, known: Option<f64>) -> Self {
        let found = runs.iter().flatten().map(|run| run.bound);
        let best = found.fold(known.unwrap_or(f64::NEG_INFINITY), f64::max);
        Self { best, runs }
    }

    pub(super) fn successes(&self, row: usize) -> usize {
        let near = |run: &&Ended| run.bound > self.best - NATS;
        self.runs[row].iter().filter(near).count()
    }

    /// The cost of all runs over the number that found the best known bound.
    pub(super) fn cost(&self, row: usize, of: impl Fn(&Ended) -> f64) -> f64 {
        let total: f64 = self.runs[row].iter().map(of).sum();
        total / self.successes(row) as f64
    }

    pub(super) fn passes_per_run(&self, row: usize) -> f64 {
        let total: f64 = self.runs[row].iter().map(|run| run.passes).sum();
        total / self.runs[row].len() as f64
    }

    /// Passes of `base` over passes of `row`. A row that never succeeds would have cost more than
    /// all its runs together, hence the bounds.
    pub(super) fn ratio(&self, base: usize, row: usize) -> String {
        let (above, below) = (self.successes(base), self.successes(row));
        let cost = |row, successes: usize| {
            self.passes_per_run(row) * self.runs[row].len() as f64 / successes.max(1) as f64
        };
        let sign = match (above, below) {
            (0, 0) => return "–".to_owned(),
            (0, _) => ">",
            (_, 0) => "<",
            _ => "",
        };
        format!("{sign}{:.2}", cost(base, above) / cost(row, below))
    }

    /// Mean of the differences between the bounds of the same starts, and its standard error.
    pub(super) fn difference(&self, row: usize, base: usize) -> (f64, f64) {
        let pairs = self.runs[row].iter().zip(&self.runs[base]);
        let differences: Vec<f64> = pairs.map(|(a, b)| a.bound - b.bound).collect();
        let n = differences.len() as f64;
        let mean = differences.iter().sum::<f64>() / n;
        let squares: f64 = differences.iter().map(|d| (d - mean).powi(2)).sum();
        (mean, (squares / (n - 1.0) / n).sqrt())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use collapsar::Stop;

    fn ended(bound: f64, iterations: u64, passes: u64) -> Ended {
        let outcome = Outcome::Converged(Stop::Gain(1e-6));
        Ended {
            bound,
            iterations,
            passes: passes as f64,
            seconds: passes as f64 / 100.0,
            outcome,
        }
    }

    /// Two rows, three restarts: vbem finds the optimum twice, fr once.
    pub(in crate::reproduce) fn column() -> Column {
        let vbem = vec![
            ended(-100.0, 900, 902),
            ended(-105.0, 90, 92),
            ended(-150.0, 10, 12),
        ];
        let fr = vec![
            ended(-99.0, 30, 60),
            ended(-112.0, 20, 40),
            ended(-150.0, 10, 20),
        ];
        Column::new(vec![vbem, fr], None)
    }

    #[test]
    fn runs_that_end_elsewhere_count_in_the_cost() {
        let column = column();
        assert_eq!(column.best, -99.0);
        assert_eq!(column.successes(0), 2);
        assert_eq!(column.cost(0, |run| run.iterations as f64), 500.0);
        assert_eq!(column.cost(1, |run| run.passes), 120.0);
        assert_eq!(column.ratio(0, 1), "4.19"); // (1006 / 2) / 120
        assert_eq!(column.passes_per_run(1), 40.0);
    }

    #[test]
    fn differences_are_paired() {
        let (mean, error) = column().difference(1, 0);
        // 1, -7 and 0: mean -2, sum of squares about it 38, over 2 and over 3.
        assert_eq!(mean, -2.0);
        assert_eq!(error, (38.0_f64 / 6.0).sqrt());
    }

    #[test]
    fn a_better_bound_known_beforehand_fails_them_all() {
        let column = Column::new(column().runs, Some(-50.0));
        assert_eq!(column.cost(0, |run| run.iterations as f64), f64::INFINITY);
        assert_eq!(column.ratio(0, 1), "–");
        let column = Column::new(column.runs, Some(-90.5));
        assert_eq!(column.ratio(0, 1), "8.38"); // both found it once: 1006 / 120
        let column = Column::new(column.runs, Some(-89.5));
        assert_eq!(column.ratio(0, 1), ">8.38");
    }

    #[test]
    fn rows_name_each_ingredient_of_auto() {
        use Direction::{Auto, Fr, Vbem};
        let names = |directions| {
            Row::all(directions)
                .into_iter()
                .map(Row::name)
                .collect::<Vec<_>>()
        };
        assert_eq!(names(&[Vbem, Fr, Vbem]), ["vbem", "fr"]);
        assert_eq!(
            names(&[Vbem, Auto]),
            ["vbem", "auto", "auto, no jumps", "vbem with jumps"]
        );
    }
}
