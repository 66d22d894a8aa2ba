//! Numbers and tables as people read them.

/// A number with its uncertainty, both to the second digit of the latter: `4.29 ± 0.03`.
pub fn measured(value: f64, sd: Option<f64>) -> String {
    match sd {
        Some(sd) if sd > 0.0 && sd.is_finite() => {
            let decimals = decimals(sd);
            format!("{value:.decimals$} ± {sd:.decimals$}")
        }
        _ => short(value),
    }
}

/// A number to about three digits.
pub fn short(value: f64) -> String {
    significant(value, 3)
}

/// A number to about so many digits.
pub fn significant(value: f64, digits: u8) -> String {
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

/// A number with commas between thousands; `∞` where it is not finite.
pub fn grouped(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return "∞".to_owned();
    }
    let text = format!("{value:.decimals$}");
    let whole = text.split('.').next().unwrap_or_default();
    let (mut grouped, digits) = (String::new(), whole.len());
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (digits - index).is_multiple_of(3) && !grouped.ends_with('-') {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + &text[whole.len()..]
}

/// A whole number with commas between thousands.
pub fn thousands(n: usize) -> String {
    grouped(n as f64, 0)
}

/// Bytes with a unit, of a thousand each: `20.0 GB`.
pub fn bytes(n: u64) -> String {
    let units = ["kB", "MB", "GB", "TB"];
    let mut value = n as f64 / 1000.0;
    let mut unit = 0;
    // What would be shown as a thousand is one of the next.
    while value >= 999.5 && unit + 1 < units.len() {
        value = (value / 1000.0).max(1.0);
        unit += 1;
    }
    match n {
        0..1000 => format!("{n} bytes"),
        _ => format!("{} {}", significant(value, 3), units[unit]),
    }
}

/// Seconds, in the unit that leaves the fewest zeros.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.0} µs", s * 1e6),
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s if s < 120.0 => format!("{s:.1} s"),
        s => format!("{:.0} min {:.0} s", (s / 60.0).floor(), s % 60.0),
    }
}

/// `1 row`, `2 rows`, `2 passes`.
pub fn count(n: usize, noun: &str) -> String {
    let ending = match (n, noun.ends_with('s')) {
        (1, _) => "",
        (_, true) => "es",
        _ => "s",
    };
    format!("{n} {noun}{ending}")
}

/// Rows of cells under a head, two spaces apart: the first `left` columns aligned to the left, the others to the right.
pub fn table<H: AsRef<str>>(
    left: usize,
    head: &[H],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let head = head.iter().map(|cell| cell.as_ref().to_owned()).collect();
    let lines: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    let widths = widths(&lines);
    let mut text = String::new();
    for line in &lines {
        let cells = line.iter().zip(&widths).enumerate();
        let cells = cells.map(|(column, (cell, width))| match column {
            column if column < left => format!("  {cell:<width$}"),
            _ => format!("  {cell:>width$}"),
        });
        text += cells.collect::<String>().trim_end();
        text.push('\n');
    }
    text
}

/// A table of Markdown whose first line is its head, padded so that columns stand under one another: the first to the
/// left, the others to the right.
pub fn markdown(lines: &[Vec<String>]) -> String {
    let widths = widths(lines);
    let mut text = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let cells = line.iter().zip(&widths).enumerate();
        text.extend(cells.map(|(column, (cell, width))| match column {
            0 => format!("| {cell:<width$} |"),
            _ => format!(" {cell:>width$} |"),
        }));
        text.push("\n".to_owned());
        if index == 0 {
            let rules = widths.iter().enumerate().map(|(column, width)| {
                let right = if column == 0 { '-' } else { ':' };
                format!("|-{:-<width$}{right}", "")
            });
            text.extend(rules.chain(["|\n".to_owned()]));
        }
    }
    text.concat()
}

/// The most characters of a cell, column by column.
fn widths(lines: &[Vec<String>]) -> Vec<usize> {
    let mut widths = Vec::new();
    for line in lines {
        widths.resize(line.len().max(widths.len()), 0);
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = cell.chars().count().max(*width);
        }
    }
    widths
}

/// A name as CSV takes it.
pub fn quoted(name: &str) -> String {
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
    fn thousands_stand_apart() {
        assert_eq!(grouped(15698.57, 2), "15,698.57");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(grouped(-1634.0, 1), "-1,634.0");
        assert_eq!(grouped(-634.0, 1), "-634.0");
        assert_eq!(grouped(f64::INFINITY, 1), "∞");
    }

    #[test]
    fn bytes_have_units() {
        let all = [
            0,
            999,
            1000,
            64_000_000,
            999_999,
            1_500_000_000,
            20_000_004_096,
        ];
        let expected = "0 bytes, 999 bytes, 1.00 kB, 64.0 MB, 1.00 MB, 1.50 GB, 20.0 GB";
        assert_eq!(all.map(bytes).join(", "), expected);
    }

    #[test]
    fn tables_align_characters_not_bytes() {
        let rows = vec![vec!["1 ± 2".to_owned(), "a".to_owned()]];
        let text = table(0, &["x", "name"], rows);
        assert_eq!(text, "      x  name\n  1 ± 2     a\n");
    }
}
