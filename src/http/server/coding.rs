//! Content codings. Chooses a response's coding by `Accept-Encoding` (RFC 9110, section 12.5.3), and encodes and
//! decodes bytes.

use std::cell::RefCell;
use std::io::{self, Read, Write};

use axum::http::header::ACCEPT_ENCODING;
use axum::http::{HeaderMap, HeaderValue};
use bytes::Bytes;
use flate2::write::GzEncoder;
use flate2::{Compress, Compression, FlushCompress, Status};

/// Level 4 is fast, and its result is a third smaller than that of level 1.
const GZIP_LEVEL: u32 = 4;
const ZSTD_LEVEL: i32 = 1;
/// The binary logarithm of the largest zstd window that a request's body may use: 8 MiB, as RFC 8878 recommends.
const ZSTD_WINDOW_LOG: u32 = 23;

/// A supported content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum Coding {
    /// zstd (RFC 8878). Preferred if a client accepts zstd and gzip equally, because zstd needs less time and yields
    /// fewer bytes.
    Zstd,
    /// gzip (RFC 1952).
    Gzip,
}

/// The codings that request bodies may have. A response that refuses another coding lists them in `Accept-Encoding`
/// (RFC 9110, section 12.5.3).
pub(in crate::http) const SPOKEN: HeaderValue = HeaderValue::from_static("zstd, gzip");

/// The codings in which a client accepts a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) struct Taken {
    /// The supported coding that the client prefers. `None` if it accepts none of them, or prefers a response without
    /// a coding.
    pub(in crate::http) coding: Option<Coding>,
    /// Whether the client accepts a response without a coding.
    pub(in crate::http) plain: bool,
}

impl Taken {
    /// Reads `Accept-Encoding`. `None` if the client accepts neither a supported coding nor a response without one.
    pub(in crate::http) fn by(headers: &HeaderMap) -> Option<Taken> {
        let mut weights = Weights::default();
        for value in headers.get_all(ACCEPT_ENCODING) {
            for element in value.to_str().unwrap_or_default().split(',') {
                weights.add(element);
            }
        }
        weights.taken()
    }
}

/// The weights (`q`) in the header. `None` for a coding that it does not list.
#[derive(Default)]
struct Weights {
    zstd: Option<f32>,
    gzip: Option<f32>,
    identity: Option<f32>,
    any: Option<f32>,
}

impl Weights {
    fn add(&mut self, element: &str) {
        let (name, parameters) = element.split_once(';').unwrap_or((element, ""));
        let weight = parameters.split(';').find_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            let weight: f32 = value.trim().parse().ok()?;
            (name.trim().eq_ignore_ascii_case("q") && weight.is_finite()).then_some(weight)
        });
        let known = match name.trim() {
            name if name.eq_ignore_ascii_case("zstd") => &mut self.zstd,
            name if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") => &mut self.gzip,
            name if name.eq_ignore_ascii_case("identity") => &mut self.identity,
            "*" => &mut self.any,
            _ => return,
        };
        *known = Some(weight.unwrap_or(1.0));
    }

    fn taken(&self) -> Option<Taken> {
        // A coding that the header does not list has the weight of `*`, or 0 without `*`. A response without a coding
        // is accepted unless the header refuses it.
        let of = |named: Option<f32>| named.or(self.any).unwrap_or(0.0);
        let plain = self.identity.or(self.any.filter(|weight| *weight <= 0.0));
        let (zstd, gzip) = (of(self.zstd), of(self.gzip));
        let (coding, weight) = if gzip > zstd {
            (Coding::Gzip, gzip)
        } else {
            (Coding::Zstd, zstd)
        };
        let taken = Taken {
            coding: (weight > 0.0 && weight >= plain.unwrap_or(0.0)).then_some(coding),
            plain: plain.is_none_or(|weight| weight > 0.0),
        };
        (taken.plain || taken.coding.is_some()).then_some(taken)
    }
}

impl Coding {
    /// Returns the coding with this name. `None` if it is not supported.
    pub(in crate::http) fn named(name: &str) -> Option<Coding> {
        match name.trim() {
            name if name.eq_ignore_ascii_case("zstd") => Some(Coding::Zstd),
            name if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") => Some(Coding::Gzip),
            _ => None,
        }
    }

    /// Returns the value of `Content-Encoding` for this coding.
    pub(in crate::http) fn name(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Coding::Zstd => "zstd",
            Coding::Gzip => "gzip",
        })
    }

    /// Encodes all bytes at once.
    pub(in crate::http) fn encode(self, plain: &[u8]) -> io::Result<Vec<u8>> {
        thread_local! {
            // An encoder's buffers are larger than most responses, so each thread reuses one encoder per coding.
            static GZIP: RefCell<Compress> = RefCell::new(Compress::new_gzip(Compression::new(GZIP_LEVEL), 15));
            static ZSTD: RefCell<Option<zstd::bulk::Compressor<'static>>> = const { RefCell::new(None) };
        }
        match self {
            Coding::Gzip => GZIP.with_borrow_mut(|compress| gzip(compress, plain)),
            Coding::Zstd => ZSTD.with_borrow_mut(|held| {
                let compressor = match held {
                    Some(compressor) => compressor,
                    None => held.insert(zstd::bulk::Compressor::new(ZSTD_LEVEL)?),
                };
                compressor.compress(plain)
            }),
        }
    }

    /// Decodes all bytes at once. `None` if the result has more than `limit` bytes.
    pub(in crate::http) fn decode(self, coded: &[u8], limit: usize) -> io::Result<Option<Bytes>> {
        let mut plain = Vec::new();
        let max_bytes = limit as u64 + 1;
        match self {
            Coding::Gzip => flate2::read::MultiGzDecoder::new(coded)
                .take(max_bytes)
                .read_to_end(&mut plain)?,
            Coding::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(coded)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG)?;
                decoder.take(max_bytes).read_to_end(&mut plain)?
            }
        };
        Ok((plain.len() <= limit).then(|| Bytes::from(plain)))
    }

    /// Returns an encoder for a body that is streamed in pieces.
    pub(in crate::http) fn encoder(self) -> io::Result<Encoder> {
        Ok(match self {
            Coding::Gzip => Encoder::Gzip(GzEncoder::new(Vec::new(), Compression::new(GZIP_LEVEL))),
            Coding::Zstd => Encoder::Zstd(zstd::stream::write::Encoder::new(Vec::new(), ZSTD_LEVEL)?),
        })
    }
}

fn gzip(compress: &mut Compress, plain: &[u8]) -> io::Result<Vec<u8>> {
    compress.reset();
    let mut coded = Vec::with_capacity(plain.len() / 4 + 256);
    loop {
        let rest = &plain[compress.total_in() as usize..];
        if compress.compress_vec(rest, &mut coded, FlushCompress::Finish)? == Status::StreamEnd {
            return Ok(coded);
        }
        coded.reserve(coded.capacity() / 2 + 256);
    }
}

/// Encodes a stream of pieces.
pub(in crate::http) enum Encoder {
    Gzip(GzEncoder<Vec<u8>>),
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
}

impl Encoder {
    /// Encodes a piece and flushes it, so that the client can decode it when it arrives.
    pub(in crate::http) fn piece(&mut self, plain: &[u8]) -> io::Result<Bytes> {
        let coded = match self {
            Encoder::Gzip(encoder) => {
                encoder.write_all(plain)?;
                encoder.flush()?;
                encoder.get_mut()
            }
            Encoder::Zstd(encoder) => {
                encoder.write_all(plain)?;
                encoder.flush()?;
                encoder.get_mut()
            }
        };
        Ok(Bytes::from(std::mem::take(coded)))
    }

    /// Ends the stream. Returns its last bytes.
    pub(in crate::http) fn end(self) -> io::Result<Bytes> {
        Ok(Bytes::from(match self {
            Encoder::Gzip(encoder) => encoder.finish()?,
            Encoder::Zstd(encoder) => encoder.finish()?,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(accept: &str) -> Option<(Option<Coding>, bool)> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_ENCODING, accept.parse().unwrap());
        Taken::by(&headers).map(|taken| (taken.coding, taken.plain))
    }

    #[test]
    fn the_coding_liked_best_is_taken() {
        assert_eq!(
            Taken::by(&HeaderMap::new()),
            Some(Taken {
                coding: None,
                plain: true
            })
        );
        for (accept, coding, plain) in [
            ("", None, true),
            ("br, deflate", None, true),
            ("gzip", Some(Coding::Gzip), true),
            ("X-GZip", Some(Coding::Gzip), true),
            ("gzip, deflate, br, zstd", Some(Coding::Zstd), true),
            ("gzip;q=0.9, zstd;q=0.3", Some(Coding::Gzip), true),
            ("gzip; Q=0.3 , ZSTD;q=0.3", Some(Coding::Zstd), true),
            ("*", Some(Coding::Zstd), true),
            ("*;q=0.1, zstd;q=0", Some(Coding::Gzip), true),
            ("identity", None, true),
            ("identity, gzip;q=0.5", None, true),
            ("identity;q=0.5, gzip;q=0.5", Some(Coding::Gzip), true),
            ("gzip;q=0", None, true),
            ("gzip;q=nonsense", Some(Coding::Gzip), true),
            ("gzip, identity;q=0", Some(Coding::Gzip), false),
            ("zstd, *;q=0", Some(Coding::Zstd), false),
        ] {
            assert_eq!(taken(accept), Some((coding, plain)), "{accept}");
        }
        for accept in [
            "*;q=0",
            "identity;q=0",
            "br, identity;q=0.0",
            "gzip;q=0, zstd;q=0, identity;q=0",
        ] {
            assert_eq!(taken(accept), None, "{accept}");
        }
    }

    #[test]
    fn whole_and_in_pieces_it_decodes_to_what_it_was() {
        let plain: Vec<u8> = (0..200_000u32)
            .flat_map(|at| at.wrapping_mul(at).to_le_bytes())
            .collect();
        for coding in [Coding::Gzip, Coding::Zstd] {
            for part in [&b""[..], b"x", &plain[..3_000], &plain] {
                let coded = coding.encode(part).unwrap();
                assert_eq!(coding.decode(&coded, part.len()).unwrap().unwrap(), part);
                if !part.is_empty() {
                    assert_eq!(coding.decode(&coded, part.len() - 1).unwrap(), None);
                    assert!(coding.decode(&coded[..coded.len() / 2], part.len()).is_err());
                }
            }
            let mut encoder = coding.encoder().unwrap();
            let mut coded = Vec::new();
            for piece in plain.chunks(70_001) {
                coded.extend(encoder.piece(piece).unwrap());
            }
            coded.extend(encoder.end().unwrap());
            assert_eq!(coding.decode(&coded, plain.len()).unwrap().unwrap(), plain);
        }
    }

    #[test]
    fn nonsense_is_an_error() {
        for coding in [Coding::Gzip, Coding::Zstd] {
            assert!(coding.decode(b"nonsense", 100).is_err());
        }
    }
}
