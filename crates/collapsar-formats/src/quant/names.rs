//! Decides what is left of a transcript's name without its version or its GENCODE fields.

/// The name without its version: `ENST00000456328` of `ENST00000456328.2`. A name that does not end in a
/// dot and digits stays as it is.
pub fn strip_version(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, version))
            if !stem.is_empty()
                && !version.is_empty()
                && version.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            stem
        }
        _ => name,
    }
}

/// The part before the first `|`: `ENST00000456328.2` of GENCODE's
/// `ENST00000456328.2|ENSG00000223972.5|…`, as salmon has it with `--gencode`.
pub fn strip_gencode(name: &str) -> &str {
    match name.split_once('|') {
        Some((first, _)) if !first.is_empty() => first,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        for (name, stem) in [
            ("ENST0001.12", "ENST0001"),
            ("ENST0001", "ENST0001"),
            ("a.b.3", "a.b"),
            ("ENST0001.3_PAR_Y", "ENST0001.3_PAR_Y"),
            ("a.", "a."),
            (".5", ".5"),
            ("", ""),
        ] {
            assert_eq!(strip_version(name), stem);
        }
    }

    #[test]
    fn gencode() {
        assert_eq!(strip_gencode("ENST1.2|ENSG1.5|-|DDX11L1|"), "ENST1.2");
        assert_eq!(strip_gencode("ENST1.2"), "ENST1.2");
        assert_eq!(strip_gencode("|a"), "|a");
    }
}
