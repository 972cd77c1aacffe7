//! Arbitrary bytes are read as a PDF file, or refused. The bytes are also read behind the beginning of such a file.

#![no_main]

mod attached;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    attached::attach(Some("application/pdf"), bytes);
    attached::attach(Some("application/pdf"), &[&b"%PDF-"[..], bytes].concat());
});
