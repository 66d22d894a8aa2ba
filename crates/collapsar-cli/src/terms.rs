//! The program's terms for what errors speak of: options are flags.

use collapsar::Terms;

/// Options as flags.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flags;

impl Terms for Flags {
    fn option(&self, name: &'static str) -> String {
        format!("--{}", name.replace('_', "-"))
    }

    fn setting(&self, name: &'static str, value: &str) -> String {
        format!("{} {value}", self.option(name))
    }
}
