#![no_main]
collapsar_libfuzzer::fuzz!("prob");
