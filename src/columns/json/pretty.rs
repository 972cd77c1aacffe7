//! Indents JSON text by two spaces for each level. Digits, escapes and order are unchanged.

/// Returns valid JSON with indentation and with a line feed at the end.
pub fn pretty(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() * 2);
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(&byte) = json.get(at) {
        match byte {
            b'"' => {
                let end = string_end(json, at);
                out.extend_from_slice(&json[at..end]);
                at = end;
                continue;
            }
            b'{' | b'[' => {
                out.push(byte);
                let next = json[at + 1..].iter().find(|byte| !byte.is_ascii_whitespace());
                if matches!((byte, next), (b'{', Some(b'}')) | (b'[', Some(b']'))) {
                    at += 1 + json[at + 1..]
                        .iter()
                        .position(|byte| !byte.is_ascii_whitespace())
                        .unwrap_or(0);
                    out.push(json[at]);
                } else {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                line(&mut out, depth);
            }
            b':' => out.extend_from_slice(b": "),
            byte if byte.is_ascii_whitespace() => {}
            byte => out.push(byte),
        }
        at += 1;
    }
    out.push(b'\n');
    out
}

/// Returns the position after the string that begins at `start`, or the end of the text if the string does not end.
fn string_end(json: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(&byte) = json.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    json.len()
}

fn line(out: &mut Vec<u8>, depth: usize) {
    out.push(b'\n');
    out.resize(out.len() + depth * 2, b' ');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_escapes_and_empty_things_stay() {
        let json = br#"{"a":[1.00,{}, [ ] ],"b\"{":"x,:\\","c":{"d":null}}"#;
        let text = String::from_utf8(pretty(json)).unwrap();
        expect_test::expect![[r#"
            {
              "a": [
                1.00,
                {},
                []
              ],
              "b\"{": "x,:\\",
              "c": {
                "d": null
              }
            }
        "#]]
        .assert_eq(&text);
    }

    #[test]
    fn broken_json_ends_all_the_same() {
        for broken in [&b"{\"a"[..], b"[", b"}}", b"\"\\", b"{"] {
            assert!(pretty(broken).ends_with(b"\n"));
        }
    }
}
