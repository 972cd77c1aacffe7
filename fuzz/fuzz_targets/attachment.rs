//! Arbitrary bytes of any declared type are attached to a document: their kind is decided, and they are shown or
//! replaced by a placeholder. The first byte chooses the type.

#![no_main]

mod attached;

use libfuzzer_sys::fuzz_target;

const TYPES: [Option<&str>; 12] = [
    None,
    Some(""),
    Some("application/octet-stream"),
    Some("application/pdf"),
    Some("image/png"),
    Some("image/webp"),
    Some("text/html; charset=utf-16"),
    Some("text/plain; charset=\""),
    Some("text/rtf"),
    Some("text/xml"),
    Some("application/dicom"),
    Some("not a media type;;charset="),
];

fuzz_target!(|input: &[u8]| {
    let Some((choice, bytes)) = input.split_first() else { return };
    attached::attach(TYPES[usize::from(*choice) % TYPES.len()], bytes);
});
