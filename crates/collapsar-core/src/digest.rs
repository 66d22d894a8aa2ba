//! Tells data sets apart by their bytes.

/// FNV-1a over `bytes`: keeps no secrets.
pub fn digest(bytes: impl Iterator<Item = u8>) -> u64 {
    digest_on(0xcbf2_9ce4_8422_2325, bytes)
}

/// The same of bytes that come in pieces: goes on from the digest of those before.
pub fn digest_on(digest: u64, bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(digest, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
