//! What every fuzz target is: a reader by its name, under an allocator that ends the process beyond the limit.

pub use collapsar_fuzz::{Counting, LIMIT, Target, target};
pub use libfuzzer_sys::fuzz_target;

/// Gets ready: small pieces of work stay on this thread, where handing them over would cost more than they do.
pub fn begin(memory: &Counting, name: &str) -> Target {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1);
    let _ = pool.use_current_thread().build_global();
    memory.end_beyond(LIMIT);
    target(name)
}

/// A fuzz target.
#[macro_export]
macro_rules! fuzz {
    ($name:literal) => {
        #[global_allocator]
        static MEMORY: $crate::Counting = $crate::Counting::new();
        static READER: std::sync::OnceLock<$crate::Target> = std::sync::OnceLock::new();

        libfuzzer_sys::fuzz_target!(init: {
            READER.get_or_init(|| $crate::begin(&MEMORY, $name));
        }, |bytes: &[u8]| {
            if let Some(read) = READER.get() {
                read(bytes);
            }
        });
    };
}
