//! Numbers and tables as people read them.

use std::fmt::Write;

/// A number with its uncertainty, both to the second digit of the latter: `4.29 ± 0.03`.
pub(crate) fn measured(value: f64, sd: Option<f64>) -> String {
    match sd {
        Some(sd) if sd > 0.0 && sd.is_finite() => {
            let decimals = decimals(sd);
            format!("{value:.decimals$} ± {sd:.decimals$}")
        }
        _ => short(value),
    }
}

/// A number to about three digits.
pub(crate) fn short(value: f64) -> String {
    significant(value, 3)
}

/// A number to about so many digits.
pub(crate) fn significant(value: f64, digits: u8) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".into();
    }
    if !(1e-4..1e7).contains(&size) {
        return format!("{value:.*e}", usize::from(digits) - 1);
    }
    let decimals = decimals(size / 10_f64.powi(i32::from(digits) - 2));
    format!("{value:.decimals$}")
}

/// Decimals that show two digits of `size`, and never more than eight.
fn decimals(size: f64) -> usize {
    (1.0 - size.log10().floor()).clamp(0.0, 8.0) as usize
}

/// Seconds, in the unit that leaves the fewest zeros.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.0} µs", s * 1e6),
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s if s < 120.0 => format!("{s:.1} s"),
        s => format!("{:.0} min {:.0} s", (s / 60.0).floor(), s % 60.0),
    }
}

/// `1 row`, `2 rows`, `2 passes`.
pub(crate) fn count(n: usize, noun: &str) -> String {
    let ending = match (n, noun.ends_with('s')) {
        (1, _) => "",
        (_, true) => "es",
        _ => "s",
    };
    format!("{n} {noun}{ending}")
}

/// Rows of cells under a head, aligned to the right, two spaces apart.
pub(crate) fn table(head: &[String], rows: &[Vec<String>]) -> String {
    let width = |cell: &String| cell.chars().count();
    let widths: Vec<usize> = (0..head.len())
        .map(|column| {
            let below = rows.iter().map(|row| width(&row[column]));
            below.chain([width(&head[column])]).max().unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for row in std::iter::once(head).chain(rows.iter().map(Vec::as_slice)) {
        for (cell, width) in row.iter().zip(&widths) {
            write!(text, "  {cell:>width$}").expect("strings take all text");
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

/// Text as XML takes it.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// A name as CSV takes it.
pub(crate) fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_csv() {
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
    }

    #[test]
    fn numbers() {
        assert_eq!(measured(4.28966, Some(0.0334)), "4.290 ± 0.033");
        assert_eq!(measured(79_968.4, Some(512.0)), "79968 ± 512");
        assert_eq!(measured(1.5, None), "1.50");
        assert_eq!(measured(0.0, Some(0.0)), "0");
        assert_eq!(short(-272.123), "-272");
        assert_eq!(short(0.012_34), "0.0123");
        assert_eq!(short(1.0e-9), "1.00e-9");
        assert_eq!(significant(-242.678, 4), "-242.7");
        assert_eq!(significant(0.061_234_9, 4), "0.06123");
        assert_eq!(significant(f64::INFINITY, 4), "inf");
        assert_eq!(duration(0.001_234), "1.2 ms");
        assert_eq!(duration(125.0), "2 min 5 s");
    }

    #[test]
    fn tables_align_characters_not_bytes() {
        let rows = vec![vec!["1 ± 2".to_owned(), "a".to_owned()]];
        let text = table(&["x".to_owned(), "name".to_owned()], &rows);
        assert_eq!(text, "      x  name\n  1 ± 2     a\n");
    }
}
