//! Arbitrary bytes are read as HTML, or refused. The bytes are also read behind the beginning of such a file.

#![no_main]

mod attached;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    attached::attach(Some("text/html"), bytes);
    attached::attach(Some("text/html"), &[&b"<html>"[..], bytes].concat());
});
