//! How data are cut into chunks: so many rows of each file or array, whoever will hold them.

use super::answer::Refusal;
use crate::error::{Error, Place, Result};

/// Rows of a chunk: a vector of a megabyte is then still small beside the work on it.
pub const CHUNK_ROWS: u64 = 16_384;

/// Files or arrays in their order, cut into chunks that are numbered through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cuts {
    sources: Vec<Source>,
    chunk_rows: u64,
    count: u64,
    rows: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Source {
    name: String,
    rows: u64,
    first_row: u64,
    first_chunk: u64,
}

/// Neighbouring chunks of one source: what a worker is given to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Which file or array.
    pub source: usize,
    /// The first of its rows.
    pub first_row: u64,
    /// How many rows.
    pub rows: u64,
    /// The number of the first chunk.
    pub first_chunk: u64,
}

impl Cuts {
    /// Cuts sources, each with its name and its number of rows, into chunks of so many rows; the last of a source may be
    /// shorter.
    ///
    /// # Errors
    /// [`Error::Data`] where there are no rows, or a source has none; [`Error::Setting`] where chunks would have none.
    pub fn new(sources: Vec<(String, u64)>, chunk_rows: u64) -> Result<Self> {
        if chunk_rows == 0 {
            return Err(Error::setting("chunk_rows", 0, "at least 1"));
        }
        let (mut count, mut rows, mut cut) = (0_u64, 0_u64, Vec::with_capacity(sources.len()));
        for (name, own) in sources {
            if own == 0 {
                let expected = "at least one in each file or array";
                return Err(Error::data(Place::Named(name), "no rows", expected));
            }
            cut.push(Source {
                name,
                rows: own,
                first_row: rows,
                first_chunk: count,
            });
            rows = rows.saturating_add(own);
            count += own.div_ceil(chunk_rows);
        }
        if cut.is_empty() {
            let whole = Place::Whole("data");
            return Err(Error::data(whole, "no rows", "at least one row of numbers"));
        }
        Ok(Self {
            sources: cut,
            chunk_rows,
            count,
            rows,
        })
    }

    /// How many chunks there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Rows of a whole chunk.
    pub fn chunk_rows(&self) -> u64 {
        self.chunk_rows
    }

    /// The chunk of a row counted through all sources, and which of the chunk's rows it is.
    pub fn chunk_of(&self, row: u64) -> (u64, u64) {
        let after = self.sources.partition_point(|s| s.first_row <= row);
        let of = &self.sources[after.saturating_sub(1)];
        let own = row - of.first_row;
        (
            of.first_chunk + own / self.chunk_rows,
            own % self.chunk_rows,
        )
    }

    /// What each of several workers is to hold: chunks that follow one another, about as many each, cut where few subtrees
    /// come from each worker. Some have nothing to hold where there are fewer chunks than workers.
    pub fn shared(&self, workers: u64) -> Vec<Vec<Piece>> {
        let workers = workers.max(1);
        // Cuts at multiples of an eighth of a share: shares differ by that much at most.
        let eighth = (self.count / (8 * workers)).max(1);
        let unit = 1 << eighth.ilog2();
        let at = |worker: u64| {
            let exact = u128::from(self.count) * u128::from(worker) / u128::from(workers);
            let exact = u64::try_from(exact).unwrap_or(self.count);
            if worker == workers {
                self.count
            } else {
                ((exact + unit / 2) / unit * unit).min(self.count)
            }
        };
        (0..workers)
            .map(|worker| self.pieces(at(worker), at(worker + 1)))
            .collect()
    }

    /// The pieces that hold the chunks from `first` to before `end`.
    fn pieces(&self, first: u64, end: u64) -> Vec<Piece> {
        let each = self.sources.iter().enumerate();
        let piece = |(source, of): (usize, &Source)| {
            let last = of.first_chunk + of.rows.div_ceil(self.chunk_rows);
            let (from, to) = (first.max(of.first_chunk), end.min(last));
            (from < to).then(|| {
                let first_row = (from - of.first_chunk) * self.chunk_rows;
                Piece {
                    source,
                    first_row,
                    rows: ((to - of.first_chunk) * self.chunk_rows).min(of.rows) - first_row,
                    first_chunk: from,
                }
            })
        };
        each.filter_map(piece).collect()
    }

    /// The source of a chunk, and the chunk's first row in it.
    fn source(&self, chunk: u64) -> Option<(&Source, u64)> {
        let after = self.sources.partition_point(|s| s.first_chunk <= chunk);
        let source = &self.sources[after.checked_sub(1)?];
        Some((source, (chunk - source.first_chunk) * self.chunk_rows))
    }

    /// A row counted through all sources, as the row of a source.
    pub fn place(&self, row: usize) -> Place {
        let row = row as u64;
        let after = self.sources.partition_point(|s| s.first_row <= row);
        match after.checked_sub(1).map(|index| &self.sources[index]) {
            Some(of) => Place::Named(of.name.clone()).at(Place::Row((row - of.first_row) as usize)),
            None => Place::Row(row as usize),
        }
    }

    /// A worker's refusal as an error that names the file.
    pub(super) fn refused(&self, refusal: Refusal) -> Error {
        let Some((source, first)) = self.source(refusal.chunk) else {
            return Error::exchange(refusal.found);
        };
        let row = (first + refusal.row) as usize;
        if let Some(found) = refusal.density {
            // The driver may answer by a shorter step, and counts rows through all sources.
            let row = source.first_row as usize + row;
            return Error::Datum { row, found };
        }
        let place = match refusal.column {
            Some(column) => Place::Cell {
                row,
                column: column as usize,
            },
            None => Place::Row(row),
        };
        let place = Place::Named(source.name.clone()).at(place);
        Error::data(place, refusal.found, refusal.expected)
    }

    /// The same error, where it speaks of a row of all sources, with the file and the row in it.
    #[must_use]
    pub fn located(&self, error: Error) -> Error {
        match error {
            Error::Datum { row, found } => Error::data(
                self.place(row),
                format!("a log density of {found} in every component"),
                "a finite number; rescale the data or raise the prior scale",
            ),
            error => error,
        }
    }
}
