//! Writes JSON text property by property. Numbers keep the caller's digits, so `100.10` keeps its zero.
//!
//! Invariant: R4 has no empty objects and no empty lists. So an empty object or list is not written, and neither is its
//! name.

use std::fmt::{Display, Write};

/// An object that is being written.
pub(in crate::sandbox) struct Object<'t> {
    text: &'t mut String,
    empty: bool,
}

/// A list that is being written.
pub(in crate::sandbox) struct List<'t> {
    text: &'t mut String,
    empty: bool,
}

/// Appends an object to `text`. `fill` writes its properties. Returns whether the object is empty.
pub(in crate::sandbox) fn object(text: &mut String, fill: impl FnOnce(&mut Object<'_>)) -> bool {
    text.push('{');
    let mut object = Object { text, empty: true };
    fill(&mut object);
    object.text.push('}');
    object.empty
}

/// Appends a list to `text`. `fill` writes its items. Returns whether the list is empty.
fn list(text: &mut String, fill: impl FnOnce(&mut List<'_>)) -> bool {
    text.push('[');
    let mut list = List { text, empty: true };
    fill(&mut list);
    list.text.push(']');
    list.empty
}

impl Object<'_> {
    /// Writes a property that is a string.
    pub(in crate::sandbox) fn text(&mut self, name: &str, value: impl Display) -> &mut Self {
        self.name(name);
        string(self.text, value);
        self
    }

    /// Writes a property that is a string, if there is a value.
    pub(in crate::sandbox) fn maybe(&mut self, name: &str, value: Option<impl Display>) -> &mut Self {
        if let Some(value) = value {
            self.text(name, value);
        }
        self
    }

    /// Writes a property that is a number or a boolean, in its `Display` form.
    pub(in crate::sandbox) fn bare(&mut self, name: &str, value: impl Display) -> &mut Self {
        self.name(name);
        bare(self.text, value);
        self
    }

    /// Writes a property that is an object.
    pub(in crate::sandbox) fn object(&mut self, name: &str, fill: impl FnOnce(&mut Object<'_>)) -> &mut Self {
        self.unless_empty(|object| {
            object.name(name);
            self::object(object.text, fill)
        })
    }

    /// Writes a property that is a list.
    pub(in crate::sandbox) fn list(&mut self, name: &str, fill: impl FnOnce(&mut List<'_>)) -> &mut Self {
        self.unless_empty(|object| {
            object.name(name);
            self::list(object.text, fill)
        })
    }

    /// Writes a property that is a list with one object. `fill` writes the object.
    pub(in crate::sandbox) fn only(&mut self, name: &str, fill: impl FnOnce(&mut Object<'_>)) -> &mut Self {
        self.list(name, |list| {
            list.object(fill);
        })
    }

    /// Writes a property by `write`. If `write` returns true, the value is empty, and the property is removed again.
    fn unless_empty(&mut self, write: impl FnOnce(&mut Self) -> bool) -> &mut Self {
        let (before, was_empty) = (self.text.len(), self.empty);
        if write(self) {
            self.text.truncate(before);
            self.empty = was_empty;
        }
        self
    }

    fn name(&mut self, name: &str) {
        if !self.empty {
            self.text.push(',');
        }
        self.empty = false;
        self.text.push('"');
        self.text.push_str(name);
        self.text.push_str("\":");
    }
}

impl List<'_> {
    /// Writes an item that is a string.
    pub(in crate::sandbox) fn text(&mut self, value: impl Display) -> &mut Self {
        self.next();
        string(self.text, value);
        self
    }

    /// Writes an item that is a number, a boolean or `null`, in its `Display` form.
    pub(in crate::sandbox) fn bare(&mut self, value: impl Display) -> &mut Self {
        self.next();
        bare(self.text, value);
        self
    }

    /// Writes an item that is an object.
    pub(in crate::sandbox) fn object(&mut self, fill: impl FnOnce(&mut Object<'_>)) -> &mut Self {
        let (before, was_empty) = (self.text.len(), self.empty);
        self.next();
        if object(self.text, fill) {
            self.text.truncate(before);
            self.empty = was_empty;
        }
        self
    }

    fn next(&mut self) {
        if !self.empty {
            self.text.push(',');
        }
        self.empty = false;
    }
}

/// A decimal with a fixed number of decimal places: 10010 with 2 places is `100.10`.
#[derive(Clone, Copy)]
pub(in crate::sandbox) struct Decimal {
    /// The value without its decimal point: 10010 for `100.10`.
    pub(in crate::sandbox) units: i64,
    /// The number of decimal places: 2 for `100.10`.
    pub(in crate::sandbox) scale: u32,
}

/// Creates a decimal from its value without the decimal point, and its number of decimal places.
pub(in crate::sandbox) const fn decimal(units: i64, scale: u32) -> Decimal {
    Decimal { units, scale }
}

impl Display for Decimal {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.scale == 0 {
            return self.units.fmt(out);
        }
        let one = 10_u64.pow(self.scale);
        let sign = if self.units < 0 { "-" } else { "" };
        let size = self.units.unsigned_abs();
        write!(
            out,
            "{sign}{}.{:0width$}",
            size / one,
            size % one,
            width = self.scale as usize
        )
    }
}

fn bare(text: &mut String, value: impl Display) {
    // The result is ignored, because writing to a `String` cannot fail. If the `Display` of a value fails, the text of
    // this value is cut off.
    let _ = write!(text, "{value}");
}

fn string(text: &mut String, value: impl Display) {
    text.push('"');
    let _ = write!(Escaping(text), "{value}");
    text.push('"');
}

/// A writer that appends to the text and escapes what JSON does not allow in a string.
struct Escaping<'t>(&'t mut String);

impl Write for Escaping<'_> {
    fn write_str(&mut self, part: &str) -> std::fmt::Result {
        let mut done = 0;
        for (at, byte) in part.bytes().enumerate() {
            if byte >= 0x20 && byte != b'"' && byte != b'\\' {
                continue;
            }
            self.0.push_str(&part[done..at]);
            done = at + 1;
            match byte {
                b'"' => self.0.push_str("\\\""),
                b'\\' => self.0.push_str("\\\\"),
                b'\n' => self.0.push_str("\\n"),
                _ => write!(self.0, "\\u{byte:04x}")?,
            }
        }
        self.0.push_str(&part[done..]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_what_a_json_reader_reads_back() {
        let mut text = String::new();
        object(&mut text, |o| {
            o.text("a", "Zoë \"Z\"\n\u{1}\\")
                .bare("b", Decimal { units: 10010, scale: 2 })
                .bare("t", true);
            o.list("none", |_| {}).object("nothing", |o| {
                o.list("within", |_| {});
            });
            o.list("c", |l| {
                l.text("x").bare("null").object(|_| {}).object(|o| {
                    o.bare("d", Decimal { units: -5, scale: 3 });
                });
            });
        });
        assert_eq!(
            text,
            r#"{"a":"Zoë \"Z\"\n\u0001\\","b":100.10,"t":true,"c":["x",null,{"d":-0.005}]}"#
        );
        serde_json::from_str::<serde_json::Value>(&text).unwrap();
    }
}
