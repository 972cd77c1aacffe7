//! Arbitrary bytes are read as RTF, or refused. The bytes are also read behind the beginning of such a file.

#![no_main]

mod attached;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    attached::attach(Some("text/rtf"), bytes);
    attached::attach(Some("text/rtf"), &[&b"{\\rtf1"[..], bytes].concat());
});
