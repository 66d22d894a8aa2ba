//! How results become text: things counted, lines of CSV.

use std::borrow::Cow;
use std::io::{self, Write};

/// `1 row`, `2 rows`, `2 passes`.
pub(crate) fn count(n: usize, noun: &str) -> String {
    let ending = match (n, noun.ends_with('s')) {
        (1, _) => "",
        (_, true) => "es",
        _ => "s",
    };
    format!("{n} {noun}{ending}")
}

/// A name as CSV takes it.
pub(crate) fn quoted(name: &str) -> Cow<'_, str> {
    if name.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", name.replace('"', "\"\"")).into()
    } else {
        name.into()
    }
}

/// Names in a line.
pub(crate) fn header<'a>(
    out: &mut dyn Write,
    names: impl IntoIterator<Item = &'a String>,
) -> io::Result<()> {
    let names: Vec<_> = names.into_iter().map(|name| quoted(name)).collect();
    writeln!(out, "{}", names.join(","))
}

/// Numbers in a line, each as short as it can be without losing a bit.
pub(crate) fn numbers(
    out: &mut dyn Write,
    numbers: impl IntoIterator<Item = f64>,
) -> io::Result<()> {
    let numbers: Vec<_> = numbers.into_iter().map(|x| format!("{x:?}")).collect();
    writeln!(out, "{}", numbers.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive() {
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
