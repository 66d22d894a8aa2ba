//! Conformance checks, usable by others.
