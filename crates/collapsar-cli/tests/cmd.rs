//! The program as a person meets it: commands with everything that they print.

#[test]
fn commands() {
    trycmd::TestCases::new()
        .register_bin(
            "collapsar",
            std::path::Path::new(env!("CARGO_BIN_EXE_collapsar")),
        )
        .env("COLUMNS", "100")
        .case("tests/cmd/*.trycmd");
}
