#![no_main]
collapsar_libfuzzer::fuzz!("tasks");
