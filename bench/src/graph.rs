//! Times passes of models in the BUGS language beside those of the hand-written models.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use collapsar::graph::Demands;
use collapsar::mixture::{Mixture, Settings, Start};
use collapsar::quant::{Quant, ReadsBuilder, Compression};
use collapsar::topics::{Alpha, Beta, Corpus, Topics};
use collapsar::{Collapsed, Direction, Driver, Stop};
use collapsar_bugs::{Array, Data, Model, Sparse};
use collapsar_formats::{CorpusOptions, ProbReader, read_corpus};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use serde_json::{Value, json};

use crate::{Failure, Words, pool};

const GMM: &str = "model {
   for (n in 1:N) {
      z[n] ~ dcat(pi[])
      y[n,1:D] ~ dmnorm(mu[z[n],], Lambda[z[n],,])
   }
   pi[1:K] ~ ddirch(alpha[])
   for (k in 1:K) {
      mu[k,1:D] ~ dmnorm(m0[], kappa0*Lambda[k,,])
      Lambda[k,1:D,1:D] ~ dwish(R0[,], nu0)
   }
}";
const LDA: &str = "model {
   for (n in 1:NT) {
      z[n] ~ dcat(theta[doc[n],])
      w[n] ~ dcat(phi[z[n],])
   }
   for (d in 1:D) { theta[d,1:K] ~ ddirch(alpha[]) }
   for (k in 1:K) { phi[k,1:V] ~ ddirch(eta[]) }
}";
const QUANT: &str = "data {
   for (n in 1:N) { one[n] <- 1 }
}
model {
   for (n in 1:N) {
      z[n] ~ dcat(theta[])
      one[n] ~ dbern(L[n,z[n]])
   }
   theta[1:M] ~ ddirch(alpha[])
}";

/// Seconds a pass of both, medians of runs in turns, on one thread.
pub(crate) fn run(words: &Words) -> Result<Value, Failure> {
    words.known(&["repeats"])?;
    let data = Path::new(words.place(0, "folder of data")?);
    let repeats = words.get("repeats", 5)?;
    pool(1)?.install(|| {
        Ok(json!({
            "mixture": mixture(repeats)?,
            "topics": topics(&data.join("topics/nips2011/docword.nips2011.txt.gz"), repeats)?,
            "quantification": quant(&data.join("quant/chr19_sim200k.uniform.prob.gz"), repeats)?,
        }))
    })
}

/// Seconds a pass of twenty VBEM steps.
fn seconds<M: Collapsed>(model: &M, start: &[f64]) -> Result<f64, Failure> {
    let fit = Driver::new(model, Direction::Vbem).stop(Stop::Iterations(20)).run(start.to_vec())?;
    Ok(fit.seconds / fit.passes as f64)
}

fn compare<M: Collapsed>(
    name: &str,
    hand: &M,
    hand_start: &[f64],
    (text, data): (&str, Data),
    repeats: usize,
) -> Result<Value, Failure> {
    let began = std::time::Instant::now();
    let complaint = |diagnostic: collapsar_bugs::Diagnostic| diagnostic.brief(name, text);
    let prepared = Model::parse(text).map_err(complaint)?.with(data).map_err(complaint)?;
    let graph = prepared.compile(&Demands::default())?;
    let prepare = began.elapsed().as_secs_f64();
    let start = graph.start(0)?;
    let (mut ours, mut theirs) = (vec![], vec![]);
    for _ in 0..repeats {
        theirs.push(seconds(hand, hand_start)?);
        ours.push(seconds(&graph, &start)?);
    }
    let median = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let (hand, graph) = (median(&mut theirs), median(&mut ours));
    Ok(json!({
        "hand_written_seconds": hand,
        "graph_seconds": graph,
        "ratio": graph / hand,
        "prepare_seconds": prepare,
    }))
}

fn named<const N: usize>(arrays: [(&str, Array); N]) -> Data {
    Data {
        arrays: arrays.into_iter().map(|(name, array)| (name.to_owned(), array)).collect(),
        sparse: BTreeMap::new(),
    }
}

fn mixture(repeats: usize) -> Result<Value, Failure> {
    let (rows, columns, components) = (100_000, 8, 10);
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let centres: Vec<f64> = (0..components * columns)
        .map(|_| 4.0 * Distribution::<f64>::sample(&StandardNormal, &mut rng))
        .collect();
    let mut values = Vec::with_capacity(rows * columns);
    for _ in 0..rows {
        let label = rng.random_range(0..components);
        for column in 0..columns {
            let noise: f64 = StandardNormal.sample(&mut rng);
            values.push(centres[label * columns + column] + noise);
        }
    }
    let hand = Mixture::new(&values, columns, &Settings::new(components))?;
    let (start, _) = hand.start(&Start::Random, 0)?;
    let identity: Vec<f64> = (0..columns * columns)
        .map(|place| f64::from(u8::from(place % (columns + 1) == 0)))
        .collect();
    let number = |value: usize| Array::scalar(value as f64);
    let data = named([
        ("N", number(rows)),
        ("D", number(columns)),
        ("K", number(components)),
        ("alpha", Array::vector(vec![1.0; components])),
        ("m0", Array::vector(vec![0.0; columns])),
        ("kappa0", Array::scalar(1.0)),
        ("nu0", number(columns)),
        (
            "R0",
            Array {
                dims: vec![columns, columns],
                values: identity,
            },
        ),
        (
            "y",
            Array {
                dims: vec![rows, columns],
                values,
            },
        ),
    ]);
    compare("mixture", &hand, &start, (GMM, data), repeats)
}

fn topics(path: &Path, repeats: usize) -> Result<Value, Failure> {
    let (read, _) = read_corpus(path, &CorpusOptions::default())?;
    let vocabulary = read.vocabulary.len();
    let (mut documents, mut words) = (vec![], vec![]);
    for (document, range) in read.starts.windows(2).enumerate() {
        for entry in range[0]..range[1] {
            for _ in 0..read.counts[entry] as usize {
                documents.push(document as f64 + 1.0);
                words.push(f64::from(read.words[entry]) + 1.0);
            }
        }
    }
    let (tokens, count) = (words.len(), read.starts.len() - 1);
    let corpus = Arc::new(Corpus::new(read.starts, read.words, read.counts, vocabulary)?);
    let topics = 10;
    // One sweep, so that a pass visits each token once in both.
    let settings = collapsar::topics::Settings {
        topics,
        alpha: Alpha::Symmetric(0.1),
        beta: Beta::Given(0.1),
        sweeps: 1,
    };
    let hand = Topics::new(corpus, &settings)?;
    let (start, _) = hand.start(collapsar::topics::Start::default(), 0)?;
    let number = |value: usize| Array::scalar(value as f64);
    let data = named([
        ("NT", number(tokens)),
        ("D", number(count)),
        ("K", number(topics)),
        ("V", number(vocabulary)),
        ("doc", Array::vector(documents)),
        ("w", Array::vector(words)),
        ("alpha", Array::vector(vec![0.1; topics])),
        ("eta", Array::vector(vec![0.1; vocabulary])),
    ]);
    compare("topics", &hand, &start, (LDA, data), repeats)
}

fn quant(path: &Path, repeats: usize) -> Result<Value, Failure> {
    let mut reader = ProbReader::open(path)?;
    let transcripts = reader.header().transcripts + 1;
    let mut builder = ReadsBuilder::new(transcripts, Compression::default())?;
    let mut sparse = Sparse {
        dims: [0, transcripts],
        starts: vec![0],
        columns: vec![],
        values: vec![],
    };
    let mut entries = Vec::new();
    while reader.next(&mut entries)? {
        builder.push(&entries, 1.0)?;
        entries.sort_by_key(|entry| entry.0);
        let best = entries.iter().map(|entry| entry.1).fold(f64::MIN, f64::max);
        // As the hand-written model cuts.
        for &(transcript, ln) in entries.iter().filter(|entry| entry.1 > best - 27.6) {
            sparse.columns.push(transcript);
            sparse.values.push((ln - best).exp());
        }
        sparse.starts.push(sparse.columns.len());
        sparse.dims[0] += 1;
    }
    let reads = builder.finish()?;
    let hand = Quant::whole(&reads, 1.0);
    let start = vec![0.0; transcripts];
    let number = |value: usize| Array::scalar(value as f64);
    let mut data = named([
        ("N", number(sparse.dims[0])),
        ("M", number(transcripts)),
        ("alpha", Array::vector(vec![1.0; transcripts])),
    ]);
    data.sparse.insert("L".to_owned(), sparse);
    compare("quantification", &hand, &start, (QUANT, data), repeats)
}
