//! Arbitrary bytes behind the signatures of pictures are decoded or refused. The first byte chooses the signature.

#![no_main]

mod attached;

use libfuzzer_sys::fuzz_target;

const SIGNATURES: [&[u8]; 5] = [
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8\xff",
    b"GIF89a",
    b"RIFF\xff\xff\0\0WEBP",
    b"",
];

fuzz_target!(|input: &[u8]| {
    let Some((choice, bytes)) = input.split_first() else { return };
    let signature = SIGNATURES[usize::from(*choice) % SIGNATURES.len()];
    attached::attach(Some("image/png"), &[signature, bytes].concat());
});
