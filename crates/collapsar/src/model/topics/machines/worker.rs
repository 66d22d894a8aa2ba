//! Who holds chunks of documents and the counts that passes have left of them, and answers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use collapsar_core::exchange::{Answer, Header, Merge, Piece, Reader, answer};
use collapsar_core::{Error, Place, Result, digest};

use super::super::Corpus;
use super::super::document::extrapolated;
use super::super::local::Local;
use super::super::priors::Slopes;
use super::task::{Begin, Pass, Task};

/// Two gigabytes a vector: a task that asks for more comes from nobody who could hold the answer.
const MOST: usize = 1 << 28;

/// Chunks of documents, and what passes know of them.
#[derive(Debug)]
pub struct Worker {
    /// How many chunks there are, with those of all others.
    count: u64,
    chunk_documents: u64,
    vocabulary: usize,
    /// By their numbers.
    chunks: Vec<(u64, Chunk)>,
    /// Counts of each chunk by the pass that left them.
    counts: BTreeMap<u64, Vec<Vec<f64>>>,
}

#[derive(Debug)]
struct Chunk {
    documents: usize,
    /// The words that it has, and its documents with a vocabulary of these alone; nothing where no document has a word.
    corpus: Option<(Vec<u32>, Arc<Corpus>)>,
    digest: u64,
}

/// A chunk in a task that reads or writes counts.
struct View<'a> {
    chunk: &'a Chunk,
    from: Option<&'a [f64]>,
    before: Option<&'a [f64]>,
    made: Mutex<Vec<f64>>,
}

impl Worker {
    /// A worker without documents, which are cut into so many chunks in all.
    pub fn new(count: u64, chunk_documents: u64, vocabulary: usize) -> Self {
        Self {
            count,
            chunk_documents: chunk_documents.max(1),
            vocabulary,
            chunks: vec![],
            counts: BTreeMap::new(),
        }
    }

    /// Takes in the documents of a piece of something named `name`: words `words[starts[d]..starts[d + 1]]`, each with its count.
    ///
    /// # Errors
    /// [`Error::Data`] where they are not as many as the piece has, which are then of another file than was counted, or are
    /// none as [`Corpus::new`] has them.
    pub fn hold(
        &mut self,
        name: &str,
        piece: &Piece,
        (starts, words, counts): (&[usize], &[u32], &[f32]),
    ) -> Result<()> {
        let found = starts.len().saturating_sub(1);
        if found as u64 != piece.rows {
            let expected = format!("{}, as when they were counted", piece.rows);
            let place = Place::Named(name.to_owned());
            return Err(Error::data(place, format!("{found} documents"), expected));
        }
        let size = usize::try_from(self.chunk_documents).unwrap_or(usize::MAX);
        let mut held = vec![];
        for (number, first) in (piece.first_chunk..).zip((0..found).step_by(size)) {
            let ends = &starts[first..=found.min(first.saturating_add(size))];
            let chunk = self.chunk(number, ends, words, counts);
            let first = first + piece.first_row as usize;
            held.push((number, chunk.map_err(|error| located(error, name, first))?));
        }
        self.chunks.extend(held);
        self.chunks.sort_by_key(|(number, _)| *number);
        self.counts.clear();
        Ok(())
    }

    fn chunk(&self, number: u64, ends: &[usize], words: &[u32], counts: &[f32]) -> Result<Chunk> {
        let (first, end) = (ends[0], ends[ends.len() - 1]);
        let (Some(words), Some(counts)) = (words.get(first..end), counts.get(first..end)) else {
            let place = Place::Whole("corpus");
            let found = "documents that do not cover the words in order";
            return Err(Error::data(place, found, "ascending starts"));
        };
        let documents = ends.len() - 1;
        let own = number.to_le_bytes().into_iter();
        if words.is_empty() {
            return Ok(Chunk {
                documents,
                corpus: None,
                digest: digest(own.chain((documents as u64).to_le_bytes())),
            });
        }
        let starts = ends.iter().map(|end| end.wrapping_sub(first)).collect();
        let corpus = Corpus::new(starts, words.to_vec(), counts.to_vec(), self.vocabulary)?;
        let digest = digest(own.chain(corpus.digest().to_le_bytes()));
        let (words, corpus) = corpus.compact();
        Ok(Chunk {
            documents,
            corpus: Some((words, Arc::new(corpus))),
            digest,
        })
    }

    /// How many documents it holds.
    pub fn documents(&self) -> usize {
        self.chunks.iter().map(|(_, chunk)| chunk.documents).sum()
    }

    /// Of how many passes it keeps the counts that they left.
    pub fn passes(&self) -> usize {
        self.counts.len()
    }

    /// Does what a task says; whatever is wrong with it is an answer too.
    pub fn answer(&mut self, task: &[u8]) -> Vec<u8> {
        let mut bytes = Reader::new(task);
        let header = match Header::read(&mut bytes) {
            Ok(header) => header,
            Err(error) => return Answer::failed(0, &cause(error)),
        };
        let task = Task::read(header.kind, bytes);
        match task.and_then(|task| self.done(task)) {
            Ok(answer) => answer.write(header.serial),
            Err(error) => Answer::failed(header.serial, &cause(error)),
        }
    }

    fn done(&mut self, task: Task) -> Result<Answer> {
        match task {
            Task::Survey => self.each(|number, chunk| Ok(self.survey(number, chunk))),
            Task::Some(places) => {
                self.fits(places.len(), "documents")?;
                self.each(|number, chunk| Ok(self.some(number, chunk, &places)))
            }
            Task::Pass { held, slopes, pass } => {
                if !self.knows(pass.begin) {
                    return Ok(Answer::Lacking);
                }
                self.check(&pass.alpha, &[&pass.messages])?;
                self.counts.retain(|number, _| held.contains(number));
                let (answer, made) = self.with_counts(pass.begin, &pass.alpha, |view| {
                    self.pass(view, &pass, slopes)
                })?;
                self.keep(pass.number, &answer, made);
                Ok(answer)
            }
            Task::Again { all, held, pass } => self.again(&all, &held, &pass),
            Task::Dirichlets { counts, alpha } => self.of_counts(counts, &alpha, &[], |view| {
                let made = lock(&view.made);
                let local = view.chunk.local(&alpha);
                Ok(vec![
                    local.map_or(0.0, |(_, local)| local.dirichlets(&alpha, &made)),
                ])
            }),
            Task::Slopes { counts, alpha } => self.of_counts(counts, &alpha, &[], |view| {
                Ok(Slopes::part(&alpha, &lock(&view.made)))
            }),
            Task::Product {
                counts,
                alpha,
                at,
                along,
            } => self.of_counts(counts, &alpha, &[&at, &along], |view| {
                let mut out = vec![0.0; at.len()];
                if let Some((words, local)) = view.chunk.local(&alpha) {
                    let topics = alpha.len();
                    let [at, along] = [&at, &along].map(|of| gathered(words, of, topics));
                    let mut own = vec![0.0; at.len()];
                    let made = lock(&view.made);
                    local.coupling_product((&alpha, &made), &at, &along, &mut own);
                    scatter(words, &own, topics, &mut out);
                }
                Ok(out)
            }),
        }
    }

    fn each(&self, work: impl Fn(u64, &Chunk) -> Result<Vec<f64>> + Sync) -> Result<Answer> {
        answer(&self.chunks, self.count, Merge::Sum, work)
    }

    fn fits(&self, rows: usize, what: &str) -> Result<()> {
        let numbers = rows.checked_mul(self.vocabulary);
        if numbers.is_some_and(|numbers| numbers <= MOST) {
            return Ok(());
        }
        Err(Error::exchange(format!(
            "{rows} {what} of {} words, expected {MOST} numbers at most",
            self.vocabulary
        )))
    }

    fn check(&self, alpha: &[f64], messages: &[&[f64]]) -> Result<()> {
        self.fits(alpha.len(), "topics")?;
        let expected = alpha.len() * self.vocabulary;
        if alpha.is_empty() || alpha.iter().any(|a| !(*a > 0.0 && a.is_finite())) {
            return Err(Error::exchange("an alpha that is not positive".into()));
        }
        for messages in messages {
            let found = messages.len();
            if found != expected {
                return Err(Error::exchange(format!(
                    "{found} messages, expected {expected}"
                )));
            }
        }
        Ok(())
    }

    /// Whether it has the counts that a task begins from.
    fn knows(&self, begin: Begin) -> bool {
        begin.passes().all(|pass| self.counts.contains_key(&pass))
    }

    /// What `work` makes of chunks whose counts to begin from are in their view, and the counts that it leaves there.
    fn with_counts(
        &self,
        begin: Begin,
        alpha: &[f64],
        work: impl Fn(&View<'_>) -> Result<Vec<f64>> + Sync,
    ) -> Result<(Answer, Vec<Vec<f64>>)> {
        let topics = alpha.len();
        let of = |pass: u64| self.counts.get(&pass);
        let (from, before) = (of(begin.from), of(begin.before));
        let mut views = Vec::with_capacity(self.chunks.len());
        for (at, (number, chunk)) in self.chunks.iter().enumerate() {
            let [from, before] = [from, before].map(|of| of.map(|of| of[at].as_slice()));
            let numbers = chunk.documents * topics;
            if [from, before]
                .iter()
                .flatten()
                .any(|of| of.len() != numbers)
            {
                return Err(Error::exchange(format!(
                    "counts of another number of topics than {topics}"
                )));
            }
            let made = Mutex::default();
            views.push((
                *number,
                View {
                    chunk,
                    from,
                    before,
                    made,
                },
            ));
        }
        let answer = answer(&views, self.count, Merge::Sum, |_, view| {
            *lock(&view.made) = view.begun(topics, begin.coefficient);
            work(view)
        })?;
        let made = |(_, view): (u64, View<'_>)| {
            view.made
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner)
        };
        Ok((answer, views.into_iter().map(made).collect()))
    }

    /// What `work` makes of counts as they are.
    fn of_counts(
        &self,
        begin: Begin,
        alpha: &[f64],
        messages: &[&[f64]],
        work: impl Fn(&View<'_>) -> Result<Vec<f64>> + Sync,
    ) -> Result<Answer> {
        if !self.knows(begin) {
            return Ok(Answer::Lacking);
        }
        self.check(alpha, messages)?;
        Ok(self.with_counts(begin, alpha, work)?.0)
    }

    fn keep(&mut self, number: u64, answer: &Answer, made: Vec<Vec<f64>>) {
        if number != 0 && matches!(answer, Answer::Sums { .. }) {
            self.counts.insert(number, made);
        }
    }

    /// Makes a pass once more where something is missing that it leads to.
    fn again(&mut self, all: &[u64], held: &[u64], pass: &Pass) -> Result<Answer> {
        let nothing = |worker: &Self| worker.each(|_, _| Ok(vec![]));
        if all.iter().all(|of| self.counts.contains_key(of)) {
            return nothing(self);
        }
        if !self.counts.contains_key(&pass.number) {
            if !self.knows(pass.begin) {
                return Ok(Answer::Lacking);
            }
            self.check(&pass.alpha, &[&pass.messages])?;
            let (answer, made) = self.with_counts(pass.begin, &pass.alpha, |view| {
                if let Some((words, local)) = view.chunk.local(&pass.alpha) {
                    let messages = gathered(words, &pass.messages, pass.alpha.len());
                    let mut made = lock(&view.made);
                    local.pass(&messages, &pass.alpha, pass.settle, &mut made, None)?;
                }
                Ok(vec![])
            })?;
            self.keep(pass.number, &answer, made);
        }
        self.counts.retain(|number, _| held.contains(number));
        nothing(self)
    }

    /// What the words add, what Dirichlets add, slopes where they are asked for, statistics.
    fn pass(&self, view: &View<'_>, pass: &Pass, slopes: bool) -> Result<Vec<f64>> {
        let topics = pass.alpha.len();
        let width = if slopes { Slopes::width(topics) } else { 0 };
        let mut out = vec![0.0; 2 + width + topics * self.vocabulary];
        let Some((words, local)) = view.chunk.local(&pass.alpha) else {
            return Ok(out);
        };
        let messages = gathered(words, &pass.messages, topics);
        let mut statistics = vec![0.0; messages.len()];
        let mut made = lock(&view.made);
        let own = Some(&mut statistics[..]);
        out[0] = local.pass(&messages, &pass.alpha, pass.settle, &mut made, own)?;
        out[1] = local.dirichlets(&pass.alpha, &made);
        let (first, rest) = out[2..].split_at_mut(width);
        if slopes {
            Slopes::add(&pass.alpha, &made, first);
        }
        scatter(words, &statistics, topics, rest);
        Ok(out)
    }

    fn survey(&self, number: u64, chunk: &Chunk) -> Vec<f64> {
        let mut out = vec![0.0; 5 + self.vocabulary];
        out[0] = chunk.documents as f64;
        // In halves, whose sums over two million chunks are whole numbers still.
        let own = digest(
            number
                .to_le_bytes()
                .into_iter()
                .chain(chunk.digest.to_le_bytes()),
        );
        (out[3], out[4]) = ((own as u32).into(), ((own >> 32) as u32).into());
        if let Some((words, corpus)) = &chunk.corpus {
            let totals = &corpus.by_document.totals;
            out[1] = totals.iter().filter(|total| **total > 0.0).count() as f64;
            out[2] = corpus.tokens();
            for (&word, total) in words.iter().zip(&corpus.by_word.totals) {
                out[5 + word as usize] = *total;
            }
        }
        out
    }

    fn some(&self, number: u64, chunk: &Chunk, places: &[[u64; 2]]) -> Vec<f64> {
        let mut out = vec![0.0; places.len() * self.vocabulary];
        let Some((names, corpus)) = &chunk.corpus else {
            return out;
        };
        for (row, [of, document]) in out.chunks_mut(self.vocabulary).zip(places) {
            if *of == number && *document < chunk.documents as u64 {
                let (words, counts) = corpus.document(*document as usize);
                for (&word, &count) in words.iter().zip(counts) {
                    row[names[word as usize] as usize] = count.into();
                }
            }
        }
        out
    }
}

impl Chunk {
    /// Its words and the sum over its documents, whose buffers go with it: there are many chunks, and few at a time.
    fn local(&self, alpha: &[f64]) -> Option<(&[u32], Local)> {
        let (words, corpus) = self.corpus.as_ref()?;
        let local = Local::new(Arc::clone(corpus), alpha.len(), alpha.to_vec());
        Some((words, local))
    }
}

impl View<'_> {
    /// Counts to begin from.
    fn begun(&self, topics: usize, coefficient: f64) -> Vec<f64> {
        match (self.from, self.before) {
            (None, _) => match &self.chunk.corpus {
                None => vec![0.0; self.chunk.documents * topics],
                Some((_, corpus)) => even(corpus, topics),
            },
            (Some(from), None) => from.to_vec(),
            (Some(from), Some(before)) => {
                let both = from.iter().zip(before);
                both.map(|(now, before)| extrapolated(*now, *before, coefficient))
                    .collect()
            }
        }
    }
}

/// Every word in all topics alike.
fn even(corpus: &Corpus, topics: usize) -> Vec<f64> {
    let totals = corpus.by_document.totals.iter();
    totals
        .flat_map(|total| std::iter::repeat_n(total / topics as f64, topics))
        .collect()
}

/// Rows of a table for these words alone.
fn gathered(words: &[u32], table: &[f64], topics: usize) -> Vec<f64> {
    let row = |&word: &u32| &table[word as usize * topics..][..topics];
    words.iter().flat_map(row).copied().collect()
}

/// Puts the rows of these words where they are in a table of all.
fn scatter(words: &[u32], rows: &[f64], topics: usize, table: &mut [f64]) {
    for (&word, row) in words.iter().zip(rows.chunks_exact(topics)) {
        table[word as usize * topics..][..topics].copy_from_slice(row);
    }
}

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An error of a document of a chunk as one of a document of its file.
fn located(error: Error, name: &str, first: usize) -> Error {
    match error {
        Error::Data {
            place: Place::Item { kind, index },
            found,
            expected,
            ..
        } => {
            let place = Place::Named(name.to_owned()).at(Place::item(kind, first + index));
            Error::data(place, found, expected)
        }
        error => error,
    }
}

/// In words, without who it is that they are about.
fn cause(error: Error) -> String {
    match error {
        Error::Exchange { cause } => cause,
        error => error.to_string(),
    }
}
