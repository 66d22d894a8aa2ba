//! Python's terms for what errors speak of: options are arguments.

use collapsar::Terms;

/// Options as arguments of the package's classes and functions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arguments;

impl Terms for Arguments {
    fn option(&self, name: &'static str) -> String {
        match name {
            "alpha" => "doc_topic_prior",
            "beta" => "topic_word_prior",
            "columns" => "X without that column",
            "components" | "topics" => "n_components",
            "concentration" => "weight_concentration_prior",
            "covariance" => "covariance_type",
            "degrees_of_freedom" => "degrees_of_freedom_prior",
            "location" => "mean_prior",
            "mean_precision" => "mean_precision_prior",
            "restarts" => "n_init",
            "scale" => "covariance_prior",
            "threads" => "n_jobs",
            name => name,
        }
        .to_owned()
    }

    /// Texts are vectorised, and tables read, before they come here.
    fn offers(&self, name: &'static str) -> bool {
        !matches!(
            name,
            "format"
                | "id_column"
                | "invalid_utf8"
                | "keep_numbers"
                | "max_docs_share"
                | "max_vocabulary"
                | "min_docs"
                | "min_length"
                | "stop_words"
                | "text_column"
                | "vocabulary"
        )
    }

    fn setting(&self, name: &'static str, value: &str) -> String {
        format!("{}={value:?}", self.option(name))
    }
}
