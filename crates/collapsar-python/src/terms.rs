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
            "monitor" => "names",
            "restarts" => "n_init",
            "scale" => "covariance_prior",
            "threads" => "n_jobs",
            name => name,
        }
        .to_owned()
    }

    fn setting(&self, name: &'static str, value: &str) -> String {
        format!("{}={value:?}", self.option(name))
    }
}
