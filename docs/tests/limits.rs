//! The page of limits says what the program takes: each number of `collapsar::limits` is in its table.

use std::fs;
use std::path::Path;

use collapsar::limits;

/// Thousands with commas, as the page writes them.
fn shown(number: u64) -> String {
    let digits = number.to_string();
    let place = |(index, digit): (usize, char)| {
        let comma = index > 0 && (digits.len() - index).is_multiple_of(3);
        comma.then_some(',').into_iter().chain([digit])
    };
    digits.chars().enumerate().flat_map(place).collect()
}

/// What stands in the table of a row that begins with these words.
fn row<'p>(page: &'p str, what: &str) -> &'p str {
    let found = page
        .lines()
        .find(|line| line.starts_with(&format!("| {what}")));
    found.unwrap_or_else(|| panic!("no row {what:?} in docs/limits.md"))
}

#[test]
fn the_page_of_limits_is_true() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(folder.join("limits.md")).expect("the page");
    let source = folder.join("../crates/collapsar-core/src/limits.rs");
    let source = fs::read_to_string(source).expect("the limits");
    let rows = [
        ("ELEMENTS", "elements of an array", limits::ELEMENTS as u64),
        (
            "REPETITIONS",
            "repetitions of lines",
            limits::REPETITIONS as u64,
        ),
        (
            "REPETITIONS_PER_NUMBER",
            "repetitions of lines",
            limits::REPETITIONS_PER_NUMBER as u64,
        ),
        (
            "STATES",
            "states of an unknown label",
            limits::STATES as u64,
        ),
        ("TRANSCRIPTS", "transcripts", limits::TRANSCRIPTS),
        ("RECORD", "bytes of a BAM record", limits::RECORD.into()),
        ("RESTARTS", "`--restarts`", limits::RESTARTS.into()),
        (
            "DRAWS",
            "`--draws`, `--samples`, `--warmup`",
            limits::DRAWS.into(),
        ),
        ("SWEEPS", "`--sweeps`", limits::SWEEPS.into()),
        ("THREADS", "`--threads`", limits::THREADS.into()),
        ("NUMBERS", "numbers in a list", limits::NUMBERS as u64),
        ("COMPONENTS", "numbers in a list", limits::COMPONENTS as u64),
    ];
    for (name, what, number) in rows {
        let (row, number) = (row(&page, what), shown(number));
        let mut words = row.split([' ', '|']).map(|word| word.trim_end_matches(','));
        assert!(
            words.any(|word| word == number),
            "{name} is {number}: {row}"
        );
    }
    assert!(row(&page, "rounding of a bound").contains(&limits::ROUNDING.to_string()));
    // Nothing is limited without being told.
    let all = source
        .lines()
        .filter(|line| line.starts_with("pub const "))
        .count();
    assert_eq!(
        all,
        rows.len() + 1,
        "a limit that docs/limits.md does not have"
    );
}
