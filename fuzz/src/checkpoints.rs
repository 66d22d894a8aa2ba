//! Checkpoints: anything that has the right checksum, taken up by the model that it says to be of.

use std::path::Path;
use std::sync::LazyLock;

use collapsar::mixture::{Mixture, Settings, Start};
use collapsar::{Checkpoint, Direction, Driver, Stop};
use sha2::{Digest, Sha256};

use crate::files::{choice, file, told};

/// Directions of which a checkpoint may be, by the first byte.
const DIRECTIONS: [Direction; 7] = Direction::ALL;

/// Twelve rows around two centres.
static MODEL: LazyLock<Mixture> = LazyLock::new(|| {
    let values = [
        0.1, 0.3, 0.7, -0.2, -0.5, 0.4, 0.2, 0.9, -0.3, -0.8, 0.6, 0.1, 5.1, 4.7, 4.9, 5.6, 5.5,
        5.2, 4.4, 4.8, 5.3, 4.1, 4.6, 5.9,
    ];
    Mixture::new(&values, 2, &Settings::new(2)).expect("data that vary")
});

/// Writes where a run of the model stands after a few steps: a seed.
///
/// # Errors
/// As the driver has them.
pub fn checkpoint(choice: usize, jumps: bool, path: &Path) -> collapsar::Result<()> {
    let (start, _) = MODEL.start(&Start::KMeans, 1)?;
    driver(choice, jumps)
        .stop(Stop::Iterations(4))
        .checkpoint(path, 1000)
        .run(start)?;
    Ok(())
}

fn driver(choice: usize, jumps: bool) -> Driver<'static, Mixture> {
    let driver = Driver::new(&*MODEL, DIRECTIONS[choice]);
    if jumps {
        driver.search(&*MODEL)
    } else {
        driver
    }
}

/// Reads what stands behind the first line and goes on, whatever checksum is in that line.
pub(crate) fn resume(bytes: &[u8]) {
    let (choice, rest) = choice(bytes, 2 * DIRECTIONS.len());
    let end = rest.iter().position(|&byte| byte == b'\n');
    let content = end.map_or(rest, |end| &rest[end + 1..]);
    let read = |bytes: &[u8]| Checkpoint::read(&file("run.ckpt", bytes));
    told(read(rest));
    let Some(checkpoint) = told(read(&signed(content))) else {
        return;
    };
    let driver = driver(choice / 2, choice % 2 == 1);
    let stop = Stop::Iterations(20) | Stop::Gain(1e-8) | Stop::Passes(100);
    told(driver.stop(stop).resume(checkpoint));
}

/// A checkpoint of this content with the first line that belongs to it.
fn signed(content: &[u8]) -> Vec<u8> {
    let (format, version) = (3, env!("CARGO_PKG_VERSION"));
    let mut hasher = Sha256::new();
    hasher.update(format!("{format} {version}\n"));
    hasher.update(content);
    let bytes = hasher.finalize();
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let digits = digits.filter_map(|digit| char::from_digit(digit.into(), 16));
    let digits: String = digits.collect();
    let first =
        format!("{{\"format\":{format},\"version\":\"{version}\",\"sha256\":\"{digits}\"}}\n");
    [first.as_bytes(), content].concat()
}
