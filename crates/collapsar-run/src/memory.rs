//! How much memory a run may take: what a user says, or half of what the machine has.

use std::fs;

/// Bytes that may be taken where nobody says: half of what the machine has, or of what a container is given; nothing where the
/// system does not tell, and everything is kept in memory then.
pub fn default_memory() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok();
    let machine = machine.and_then(|text| total(&text));
    let container = fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let container = container.and_then(|text| text.trim().parse().ok());
    machine
        .into_iter()
        .chain(container)
        .min()
        .map(|all| all / 2)
}

/// `MemTotal` of Linux's `meminfo`, in bytes.
fn total(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let number: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    number.checked_mul(1024)
}

/// Bytes as people write them: `2GB`, `1.5 GiB`, `500M`, `64000000`. A kB is 1000 bytes, a KiB 1024.
///
/// # Errors
/// What was expected.
pub fn bytes(text: &str) -> Result<u64, String> {
    let refused = || "expected bytes such as 2GB, 500MB or 1.5GiB, at least 16MB".to_owned();
    let text = text.trim();
    let end = text
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    // Exponents are numbers, as in 2e9.
    let end = match text[end..].strip_prefix(['e', 'E']) {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => text.len(),
        _ => end,
    };
    let (number, unit) = text.split_at(end);
    let number: f64 = number.trim().parse().map_err(|_| refused())?;
    let unit = unit.to_ascii_lowercase();
    let unit = unit.strip_suffix('b').unwrap_or(&unit);
    let (prefix, base) = match unit.strip_suffix('i') {
        Some(prefix) => (prefix, 1024_f64),
        None => (unit, 1000.0),
    };
    let power = match prefix {
        "" if base == 1000.0 => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return Err(refused()),
    };
    let bytes = number * base.powi(power);
    if !(LEAST..=1e18).contains(&bytes) {
        return Err(refused());
    }
    Ok(bytes as u64)
}

/// Less than this is less than the program takes for itself.
const LEAST: f64 = 16e6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, expected) in [
            ("2GB", 2_000_000_000),
            ("2g", 2_000_000_000),
            ("1.5 GiB", 3 << 29),
            ("64MB", 64_000_000),
            ("64Mi", 64 << 20),
            ("20000000", 20_000_000),
            ("2e9", 2_000_000_000),
            ("20000kB", 20_000_000),
            (" 1TB ", 1_000_000_000_000),
        ] {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for wrong in [
            "", "GB", "-2GB", "2XB", "2GBs", "1MB", "15", "nan", "inf", "2 G B", "1e30", "2ib",
            "0x10", "2e",
        ] {
            assert!(bytes(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn what_linux_tells() {
        let text = "MemTotal:       24576000 kB\nMemFree:  1 kB\n";
        assert_eq!(total(text), Some(24_576_000 * 1024));
        assert_eq!(total("MemFree: 1 kB\n"), None);
    }
}
