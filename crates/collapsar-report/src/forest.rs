//! Intervals side by side: a forest plot of rows of `posterior.csv`.

use serde_json::{Value, json};

use crate::chart;
use crate::page::{Figure, Table, cell};
use crate::safe;
use crate::saved::Row;

/// Numbers that are drawn at most.
pub(crate) const MOST: usize = 60;

/// The rows of several runs, or of several posteriors of one, each under its name.
pub(crate) struct Forest<'a> {
    pub(crate) id: &'a str,
    /// What is side by side.
    pub(crate) beside: &'a str,
    pub(crate) title: String,
    /// What an axis of values is called.
    pub(crate) axis: &'a str,
    pub(crate) runs: Vec<(String, Vec<Row>)>,
    /// Whether to begin at zero.
    pub(crate) zero: bool,
}

impl Forest<'_> {
    /// The picture: means, and intervals of 95%.
    pub(crate) fn figure(&self) -> Figure {
        let first = self.runs.first().map_or(&[][..], |(_, rows)| rows);
        let shown: Vec<&str> = first
            .iter()
            .take(MOST)
            .map(|row| row.name.as_str())
            .collect();
        let labels = safe::names(&shown);
        let several = self.runs.len() > 1;
        let (mut values, mut rows): (Vec<Value>, Vec<Vec<String>>) = (vec![], vec![]);
        for (run, all) in &self.runs {
            for row in all {
                let [low, median, high] = row.quantiles;
                let order = shown.iter().position(|&name| name == row.name);
                if let Some(order) = order {
                    values.push(json!({
                        "name": labels[order], "run": run,
                        "mean": chart::rounded(row.mean), "low": chart::rounded(low), "high": chart::rounded(high),
                    }));
                }
                let mut line = vec![safe::name(&row.name)];
                line.extend(several.then(|| run.clone()));
                line.extend([row.mean, row.sd, low, median, high].map(cell));
                line.push(row.r_hat.map_or_else(|| "–".into(), |r| format!("{r:.3}")));
                line.push(row.ess.map_or_else(|| "–".into(), |n| format!("{n:.0}")));
                rows.push(line);
            }
        }
        let y = json!({
            "field": "name", "type": "nominal", "sort": null, "title": null, "axis": {"grid": true},
        });
        let x = |field: &str| json!({"field": field, "type": "quantitative", "title": self.axis, "scale": {"zero": self.zero}});
        let order: Vec<&String> = self.runs.iter().map(|(run, _)| run).collect();
        let by = json!({"field": "run", "type": "nominal", "title": null, "sort": order, "legend": {"columns": 2}});
        let colour = if several {
            by.clone()
        } else {
            json!({"value": chart::colour(0)})
        };
        let mut encoding = json!({"y": y, "x": x("low"), "x2": {"field": "high"}, "color": colour});
        let mut points = json!({"y": y, "x": x("mean"), "color": colour, "tooltip": [
            {"field": "name"}, {"field": "mean"}, {"field": "low", "title": "2.5%"}, {"field": "high", "title": "97.5%"},
        ]});
        if several {
            for of in [&mut encoding, &mut points] {
                of["yOffset"] = json!({"field": "run", "type": "nominal", "sort": order});
            }
            points["shape"] = by;
        }
        let each = 12 + 10 * self.runs.len();
        let spec = chart::layers(
            chart::rows_height(shown.len(), each),
            chart::values(values),
            json!([
                {"mark": {"type": "rule", "strokeWidth": 2.5}, "encoding": encoding},
                {"mark": {"type": "point", "filled": true, "size": 55, "opacity": 1}, "encoding": points},
            ]),
        );
        let mut caption = "Points are posterior means, lines hold 95% of the posterior".to_owned();
        if first.len() > MOST {
            caption = format!("{caption}; the first {MOST} of {} numbers", first.len());
        }
        let mut head = vec!["name"];
        head.extend(several.then_some(self.beside));
        head.extend(["mean", "sd", "2.5%", "median", "97.5%", "R-hat", "ESS"]);
        Figure {
            id: self.id.into(),
            title: self.title.clone(),
            label: format!("Forest plot of {} with intervals of 95%", self.axis),
            caption: caption + ".",
            table: Some(Table::new(
                &self.title,
                &head,
                rows,
                "all are in posterior.csv",
            )),
            spec,
            choices: None,
        }
    }
}
