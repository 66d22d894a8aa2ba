//! Fits of documents that are in a file, which are read for every pass and once more for each result.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use collapsar::topics::{
    DocumentScore, StoredCorpus, StoredDocuments, Topics, TopicsFit, TopicsResponse,
};
use collapsar::{ChainWatch, Collapsed, Fit, Point};
use collapsar_formats::CorpusFile;
use collapsar_text::{count, quoted};

use super::quality::{self, Measures};
use super::results::{write_document, write_row, write_topics};
use super::score::{Average, Members, Score};
use super::{Compared, TopicsPosterior, TopicsResult, TopicsRun};
use crate::climb::{Ascent, Watch, each};
use crate::error::{Error, Result};
use crate::scratch::write_file;
use crate::verdict::PosteriorKind;

/// A model at the point where its climb ended.
pub(super) struct StoredTopics {
    model: Topics<StoredDocuments>,
    point: Point,
    /// Which variances its posterior has.
    response: TopicsResponse,
}

impl TopicsRun<'_> {
    /// Climbs with every number of topics, one climb after another.
    pub(super) fn climb_file(
        &self,
        corpus: &Arc<StoredCorpus>,
        watch: &dyn Watch,
    ) -> Result<TopicsResult> {
        let request = &self.request;
        let mut compared = Vec::new();
        let (climbed, (fit, posterior, quality, score, stored)) = each(
            &self.plan,
            watch,
            &request.topics,
            |run, topics| {
                let settings = self.settings(topics);
                let model = Topics::stored(Arc::clone(corpus), &settings, corpus.path())?;
                let start = |_, seed| model.start_unless(request.start, seed, watch.interrupt());
                let climbs = run.climbs(&Ascent {
                    // Each has blocks of documents in memory.
                    in_turn: true,
                    ..Ascent::new(&model, count(topics, "topic"), &start)
                })?;
                let best = &climbs.best;
                let (fit, posterior, response) =
                    self.posterior_of_file(&model, best, watch.chains())?;
                let score = (self.halves())
                    .map(|halves| run.aside(|| Score::new(&fit, &Members::Starts(&[]), halves)))
                    .transpose()?;
                let quality = run.aside(|| model.quality(&fit, quality::WORDS))?;
                compared.push(Compared {
                    topics,
                    bound: best.point.bound,
                    perplexity: score.map(|score| score.perplexity),
                    measures: Measures::of(&quality),
                    used: quality.used,
                    iterations: climbs.iterations(),
                    passes: climbs.passes(),
                    converged: best.outcome.converged(),
                });
                let stored = StoredTopics {
                    point: best.point.clone(),
                    model,
                    response,
                };
                Ok((climbs, (fit, posterior, quality, score, stored)))
            },
            |climbs, (_, _, _, score, _)| match score {
                Some(score) => -score.perplexity,
                None => climbs.best.point.bound,
            },
        )?;
        Ok(TopicsResult {
            doubts: quality::doubts(&request.settings, &fit, &quality),
            fit,
            posterior,
            quality,
            score,
            average: Average::default(),
            climbed,
            compared,
            stored: Some(stored),
        })
    }

    /// The fit at the end of a climb, and its posterior but for the documents, which are told of when they are written.
    fn posterior_of_file(
        &self,
        model: &Topics<StoredDocuments>,
        best: &Fit,
        watch: &dyn ChainWatch,
    ) -> Result<(TopicsFit, TopicsPosterior, TopicsResponse)> {
        let fit = model.fit(&best.point);
        let cost = (
            model.pass_cost() * best.passes as f64,
            model.response_cost(),
        );
        let asked = self.response(cost, watch);
        let variances =
            |response| model.variances_of_each(&best.point, response, &mut |_, _| Ok(()));
        let (kind, response, variances) = match variances(asked) {
            Ok(variances) if asked != TopicsResponse::MeanField => {
                (PosteriorKind::LinearResponse, asked, variances)
            }
            Ok(variances) => (PosteriorKind::MeanField, asked, variances),
            // A fit that ended at a saddle has no response; a file that cannot be read is another matter.
            Err(collapsar::Error::Domain { .. })
                if self.request.posterior.posterior != Some(PosteriorKind::LinearResponse) =>
            {
                let response = TopicsResponse::MeanField;
                (PosteriorKind::MeanField, response, variances(response)?)
            }
            Err(refusal) => return Err(refusal.into()),
        };
        let posterior = self.of_variances(&fit, kind, &variances);
        Ok((fit, posterior, response))
    }
}

impl StoredTopics {
    /// The documents that show each topic best.
    pub(super) fn typical_documents(&self, most: usize) -> Result<Vec<Vec<DocumentScore>>> {
        Ok(self.model.typical_documents(&self.point, most)?)
    }

    /// How topics go together over documents.
    pub(super) fn correlations(&self) -> Result<Vec<f64>> {
        Ok(self.model.correlations(&self.point)?)
    }

    /// Writes proportions of all documents, and how far these may be off, block by block.
    pub(super) fn write_documents(
        &self,
        folder: &Path,
        file: &CorpusFile,
        fit: &TopicsFit,
    ) -> Result<()> {
        let topics = fit.topics;
        let path = folder.join("documents.csv");
        write_file(&path, |out| {
            let refused = |error| collapsar_formats::Error::file(&path, &error);
            write_topics(out, "document,words", topics).map_err(refused)?;
            let mut names = file.names();
            let mut failed = None;
            let read = self
                .model
                .local()
                .each(&self.point.warm, &mut |block, counts| {
                    for (index, counts) in counts.chunks(topics).enumerate() {
                        let (_, words) = block.document(index);
                        let row = fit.proportions_of(counts);
                        let written = names.next().map_err(Error::from).and_then(|name| {
                            write_document(out, &name, words, &row).map_err(|e| refused(e).into())
                        });
                        if let Err(error) = written {
                            failed = Some(error);
                            return Ok(ControlFlow::Break(()));
                        }
                    }
                    Ok(ControlFlow::Continue(()))
                });
            told(failed, read)
        })?;
        let path = folder.join("documents_sd.csv");
        write_file(&path, |out| {
            let refused = |error| collapsar_formats::Error::file(&path, &error);
            write_topics(out, "document", topics).map_err(refused)?;
            let mut names = file.names();
            let mut failed: Option<Error> = None;
            let mut row = vec![0.0; topics];
            let read = self
                .model
                .variances_of_each(&self.point, self.response, &mut |_, rows| {
                    for variances in rows.chunks(topics) {
                        if failed.is_some() {
                            break;
                        }
                        for (sd, variance) in row.iter_mut().zip(variances) {
                            *sd = variance.sqrt();
                        }
                        let written = names.next().map_err(Error::from).and_then(|name| {
                            let begun = write!(out, "{}", quoted(&name));
                            let written = begun.and_then(|()| write_row(out, &row));
                            written.map_err(|error| refused(error).into())
                        });
                        failed = written.err();
                    }
                    Ok(())
                });
            told(failed, read.map(drop))
        })
    }
}

/// What went wrong first.
fn told(failed: Option<Error>, read: collapsar::Result<()>) -> Result<()> {
    match failed {
        Some(error) => Err(error),
        None => Ok(read?),
    }
}
