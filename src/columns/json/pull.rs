//! Reads only the selected parts of a JSON text. Checks all other parts just as strictly, but makes no nodes for them.
//!
//! Invariant: [`Tape::choose`] refuses the same texts as [`Tape::parse`], at the same position for the same reason.

use super::cursor::{Cursor, Name};
use super::error::{JsonError, MAX_DEPTH, Reason};
use super::parse::{Nodes, Nothing, Sink, Tape, check_utf8, value};
use super::select::{Choice, NONE, Property, Selection, Take};
use super::text::unescape;
use super::value::{Kind, Node, Value};

/// The number of known properties of an object type that are checked for duplicates. Properties with a higher index are
/// not checked.
const TOLD: usize = 512;

/// The result of [`Tape::choose`].
#[derive(Clone, Copy, Debug)]
pub enum Chosen<'t> {
    /// The text is not an object, or the object's tag property is missing or has a value without a selection.
    Nothing,
    /// The text is an object with a selection. The fields are the index of the selection in the [`Choice`], and the
    /// object with its wanted parts.
    Selected(usize, Value<'t>),
    /// An object has a known but unwanted property twice, or has the tag property twice. The caller must parse the
    /// whole text to handle the duplicate.
    Twice,
}

impl Tape {
    /// Checks all of `text` and returns the wanted parts of its value. Drops the nodes of earlier texts.
    ///
    /// [`Value::is_clipped`] is true of an object if a known but unwanted property of it was skipped.
    pub fn choose<'t>(&'t mut self, text: &'t [u8], choice: &mut Choice) -> Result<Chosen<'t>, JsonError> {
        self.nodes.clear();
        let checked = check_utf8(text)?;
        let mut cursor = Cursor::new(text);
        if cursor.token()? != b'{' {
            value(&mut cursor, &mut Nothing, 0)?;
            cursor.end()?;
            return Ok(Chosen::Nothing);
        }
        let start = (cursor.at, cursor.spaces);
        cursor.at += 1;
        let mut tags = Tags {
            cursor: &mut cursor,
            tag: choice.tag,
            behind_value: false,
        };
        let Some(first) = tags.next()? else {
            cursor.end()?;
            return Ok(Chosen::Nothing);
        };
        let chosen = match first {
            (Kind::String, from, to) => choice.find(&checked[from + 1..to - 1]),
            (Kind::Escaped, from, to) => choice.find(&unescape(&checked[from + 1..to - 1])),
            _ => None,
        };
        let Some(chosen) = chosen else {
            let mut twice = false;
            while tags.next()?.is_some() {
                twice = true;
            }
            cursor.end()?;
            return Ok(if twice { Chosen::Twice } else { Chosen::Nothing });
        };
        (cursor.at, cursor.spaces) = start;
        let selection = &mut choice.selections[chosen].1;
        let root = selection.root();
        let mut puller = Puller {
            cursor,
            nodes: Nodes::new(&mut self.nodes),
            selection,
            twice: false,
        };
        puller.object(root, 0)?;
        puller.cursor.end()?;
        if puller.twice {
            return Ok(Chosen::Twice);
        }
        Ok(Chosen::Selected(chosen, Value::new(checked, &self.nodes, 0)))
    }
}

/// Yields the values of an object's tag property and skips the object's other properties.
struct Tags<'c, 't> {
    cursor: &'c mut Cursor<'t>,
    tag: &'static str,
    /// `true` if the cursor is after a value, `false` if it is after the opening brace.
    behind_value: bool,
}

impl Tags<'_, '_> {
    /// Returns the kind, start and end of the tag property's next value. [`Kind::Object`] stands for an array, too,
    /// because only strings can name a selection. `None` at the object's end.
    fn next(&mut self) -> Result<Option<(Kind, usize, usize)>, JsonError> {
        let cursor = &mut *self.cursor;
        loop {
            let mut byte = cursor.token()?;
            if byte == b'}' {
                cursor.at += 1;
                return Ok(None);
            }
            if std::mem::replace(&mut self.behind_value, true) {
                if byte != b',' {
                    return cursor.fail(Reason::ExpectedCommaOrBrace);
                }
                cursor.at += 1;
                byte = cursor.token()?;
            }
            let name = cursor.key(byte)?;
            let byte = cursor.token()?;
            let start = cursor.at;
            let kind = match byte {
                b'{' | b'[' => {
                    value(cursor, &mut Nothing, 1)?;
                    Kind::Object
                }
                _ => cursor.scalar(byte)?,
            };
            if is(cursor.text, name, self.tag) {
                return Ok(Some((kind, start, cursor.at)));
            }
        }
    }
}

fn is(text: &[u8], name: Name, wanted: &str) -> bool {
    let raw = &text[name.start + 1..name.end - 1];
    match name.kind {
        Kind::Escaped => std::str::from_utf8(raw).is_ok_and(|raw| unescape(raw) == wanted),
        _ => raw == wanted.as_bytes(),
    }
}

/// The state of one reading of a text.
struct Puller<'p> {
    cursor: Cursor<'p>,
    nodes: Nodes<'p>,
    selection: &'p mut Selection,
    /// Whether an object had the same known but unwanted property twice.
    twice: bool,
}

impl Puller<'_> {
    /// Reads the object that begins at the cursor. `number` is the object's number in the selection. `depth` is the
    /// number of arrays and objects around the object.
    fn object(&mut self, number: u16, depth: usize) -> Result<(), JsonError> {
        if depth == MAX_DEPTH {
            return self.cursor.fail(Reason::TooDeep);
        }
        self.nodes.open(depth, true, &self.cursor);
        self.cursor.at += 1;
        let mut clipped = false;
        let mut byte = self.cursor.token()?;
        if byte != b'}' {
            let mut seen = [0u64; TOLD / 64];
            let (mut before, mut expected) = (NONE, self.selection.objects[usize::from(number)].first);
            loop {
                let (place, name) = self.name(number, byte, expected, before)?;
                let mut take = Take::Skip;
                if let Some(property) = self.selection.objects[usize::from(number)]
                    .properties
                    .get(usize::from(place))
                {
                    (before, expected, take) = (place, property.next, property.take);
                }
                match take {
                    Take::Skip => {
                        if usize::from(place) < TOLD {
                            let (word, bit) = (usize::from(place) / 64, 1 << (place % 64));
                            self.twice |= seen[word] & bit != 0;
                            seen[word] |= bit;
                        }
                        clipped |= place != NONE;
                        self.skip(number, place, depth + 1)?;
                    }
                    _ => {
                        self.nodes.leaf(name.kind, name.start, name.end);
                        self.take(take, depth + 1)?;
                    }
                }
                match self.cursor.token()? {
                    b',' => {
                        self.cursor.at += 1;
                        byte = self.cursor.token()?;
                    }
                    b'}' => break,
                    _ => return self.cursor.fail(Reason::ExpectedCommaOrBrace),
                }
            }
        }
        self.cursor.at += 1;
        self.nodes.close_clipped(depth, &self.cursor, clipped);
        Ok(())
    }

    /// Checks the value of an unwanted property and makes no node for it. If the bytes equal the property's cached
    /// value, skips them without a check.
    #[inline(always)]
    fn skip(&mut self, object: u16, place: u16, depth: usize) -> Result<(), JsonError> {
        let byte = self.cursor.token()?;
        if byte != b'{' && byte != b'[' {
            return self.cursor.scalar(byte).map(drop);
        }
        let properties = &mut self.selection.objects[usize::from(object)].properties;
        let Some(Property { skipped, .. }) = properties.get_mut(usize::from(place)) else {
            return value(&mut self.cursor, &mut Nothing, depth);
        };
        let rest = &self.cursor.text[self.cursor.at..];
        if let Some(length) = skipped.stands_at(rest, depth) {
            self.cursor.at += length;
            return Ok(());
        }
        value(&mut self.cursor, &mut Nothing, depth)?;
        let length = rest.len() - (self.cursor.text.len() - self.cursor.at);
        skipped.remember(&rest[..length], depth);
        Ok(())
    }

    /// Reads the name and the colon at the cursor. Returns the index of the property, or [`NONE`] for an unknown
    /// property, and the position of its name. Compares the name with the property `expected` first. If it differs,
    /// looks it up and caches the result as the successor of the property `before`.
    #[inline(always)]
    fn name(&mut self, object: u16, byte: u8, expected: u16, before: u16) -> Result<(u16, Name), JsonError> {
        let object = &mut self.selection.objects[usize::from(object)];
        if let Some(property) = object.properties.get(usize::from(expected))
            && let Some(length) = property.stands_at(&self.cursor.text[self.cursor.at..])
        {
            let start = self.cursor.at;
            self.cursor.at += length;
            let name = Name {
                kind: Kind::String,
                start,
                end: self.cursor.at - 1,
            };
            return Ok((expected, name));
        }
        let name = self.cursor.key(byte)?;
        // The whole text is valid UTF-8, so the part between two quotes is, too.
        let raw = std::str::from_utf8(&self.cursor.text[name.start + 1..name.end - 1]).unwrap_or_default();
        let place = match name.kind {
            Kind::Escaped => object.find(&unescape(raw), before),
            _ => object.find(raw, before),
        };
        Ok((place, name))
    }

    /// Reads a wanted value and puts it on the tape.
    fn take(&mut self, take: Take, depth: usize) -> Result<(), JsonError> {
        if take == Take::Whole {
            return value(&mut self.cursor, &mut self.nodes, depth);
        }
        if self.cursor.token()? == b'[' {
            return self.array(take, depth);
        }
        self.item(take, depth)
    }

    fn array(&mut self, take: Take, depth: usize) -> Result<(), JsonError> {
        if depth == MAX_DEPTH {
            return self.cursor.fail(Reason::TooDeep);
        }
        self.nodes.open(depth, false, &self.cursor);
        self.cursor.at += 1;
        if self.cursor.token()? != b']' {
            loop {
                self.item(take, depth + 1)?;
                match self.cursor.token()? {
                    b',' => self.cursor.at += 1,
                    b']' => break,
                    _ => return self.cursor.fail(Reason::ExpectedCommaOrBracket),
                }
            }
        }
        self.cursor.at += 1;
        self.nodes.close(depth, &self.cursor);
        Ok(())
    }

    /// Reads one item of an array, or a value that is not an array. For a nested array, and for an object from which
    /// only a scalar is wanted, makes one clipped node without contents.
    fn item(&mut self, take: Take, depth: usize) -> Result<(), JsonError> {
        let byte = self.cursor.token()?;
        let start = self.cursor.at;
        let kind = match (byte, take) {
            (b'{', Take::Object(number)) => return self.object(number, depth),
            (b'{', _) => Kind::Object,
            (b'[', _) => Kind::Array,
            _ => {
                let kind = self.cursor.scalar(byte)?;
                self.nodes.leaf(kind, start, self.cursor.at);
                return Ok(());
            }
        };
        value(&mut self.cursor, &mut Nothing, depth)?;
        let next = self.nodes.nodes.len() as u32 + 1;
        self.nodes.nodes.push(Node::clipped(kind, start, self.cursor.at, next));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns a choice that wants `a`, and `c` and `d` inside `b`. The property `e` is known but not wanted.
    fn choice() -> Choice {
        let mut selection = Selection::new();
        let inner = selection.object([("c", Take::Scalar), ("d", Take::Whole), ("e", Take::Skip)]);
        let properties = [("a", Take::Scalar), ("b", Take::Object(inner)), ("e", Take::Skip)];
        selection.object(properties);
        Choice::new("type", [("x", selection)])
    }

    fn shown(value: Value<'_>) -> String {
        let mark = if value.is_clipped() { "~" } else { "" };
        if value.is_object() {
            let properties = value
                .entries()
                .map(|(key, value)| format!("{}:{}", key.name(), shown(value)));
            return format!("{{{}}}{mark}", properties.collect::<Vec<_>>().join(","));
        }
        if value.is_array() {
            return format!("[{}]{mark}", value.items().map(shown).collect::<Vec<_>>().join(","));
        }
        value.raw().to_owned()
    }

    fn chosen(text: &str) -> String {
        match Tape::new().choose(text.as_bytes(), &mut choice()).unwrap() {
            Chosen::Nothing => "nothing".to_owned(),
            Chosen::Twice => "twice".to_owned(),
            Chosen::Selected(0, value) => shown(value),
            Chosen::Selected(..) => "another".to_owned(),
        }
    }

    #[test]
    fn what_is_wanted_stays() {
        let whole =
            r#"{"a":1,"z":[{}],"type":"x","b":[{"c":"u","d":{"k":[1]},"e":2},[{"c":1}],3,{"y":1}],"a":{"q":1}}"#;
        let expected = r#"{a:1,b:[{c:"u",d:{k:[1]}}~,[]~,3,{}],a:{}~}~"#;
        assert_eq!(chosen(whole), expected);
        assert_eq!(chosen(r#" {"\u0061" : [1, {}], "type":"\u0078"} "#), r#"{a:[1,{}~]}~"#);
        assert_eq!(chosen(r#"{"type":"x","b":{}}"#), "{b:{}}~");
    }

    #[test]
    fn what_is_of_no_wanted_kind_is_passed_over() {
        for text in [
            "1",
            "[]",
            "{}",
            r#"{"a":1}"#,
            r#"{"type":1}"#,
            r#"{"b":{"type":"x"}}"#,
            r#"{"type":"y","e":1,"e":2}"#,
        ] {
            assert_eq!(chosen(text), "nothing", "{text}");
        }
    }

    #[test]
    fn what_stands_twice_and_counts_is_told() {
        for text in [
            r#"{"type":"x","e":1,"a":2,"e":1}"#,
            r#"{"type":"x","b":[{"e":1,"e":2}]}"#,
            r#"{"type":"x","type":"x"}"#,
            r#"{"type":"y","type":"x"}"#,
        ] {
            assert_eq!(chosen(text), "twice", "{text}");
        }
        assert_eq!(chosen(r#"{"type":"x","z":1,"z":2}"#), "{}~");
    }

    #[test]
    fn nesting_is_bounded_where_it_is_kept_and_where_it_is_skipped() {
        for name in ["a", "b", "z", "e"] {
            for (open, close) in [("[", "]"), ("{\"b\":", "}"), ("{\"d\":", "}")] {
                for depth in MAX_DEPTH - 3..MAX_DEPTH + 2 {
                    let text = format!(
                        r#"{{"type":"x","{name}":{}1{}}}"#,
                        open.repeat(depth),
                        close.repeat(depth)
                    );
                    agrees(text.as_bytes());
                }
            }
        }
    }

    /// Checks that `choose` refuses `text` exactly if `parse` refuses it, for the same reason and at the same
    /// position. Checks this even after `choose` has read other texts.
    fn agrees(text: &[u8]) {
        let whole = Tape::new().parse(text).err();
        let mut choice = choice();
        let before = br#"{"type":"x","b":{"e":{"c":1}},"e":{"k":[1,-2.5e3,"\u00e9"]}}"#;
        Tape::new().choose(before, &mut choice).unwrap();
        for _ in 0..2 {
            let clipped = Tape::new().choose(text, &mut choice).err();
            assert_eq!(clipped, whole, "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn what_was_skipped_before_is_no_deeper_now() {
        let mut choice = choice();
        let deep = format!("{}{}", "[".repeat(MAX_DEPTH - 1), "]".repeat(MAX_DEPTH - 1));
        let shallow = format!(r#"{{"type":"x","e":{deep}}}"#);
        assert!(Tape::new().choose(shallow.as_bytes(), &mut choice).is_ok());
        let deeper = format!(r#"{{"type":"x","b":{{"e":{deep}}},"e":{deep}}}"#);
        let whole = Tape::new().parse(deeper.as_bytes()).err();
        assert_eq!(Tape::new().choose(deeper.as_bytes(), &mut choice).err(), whole);
        assert_eq!(whole.unwrap().reason, Reason::TooDeep);
        assert!(Tape::new().choose(shallow.as_bytes(), &mut choice).is_ok());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2048))]

        #[test]
        fn refuses_what_the_whole_parse_refuses(
            front in proptest::sample::select(vec!["", "{\"type\":\"x\",", "{\"type\":\"x\",\"b\":[{", "{\"type\":\"y\",", "{\"a\":{\"b\":", " {\"b\":{"]),
            pieces in proptest::collection::vec(proptest::sample::select(vec![
                "{", "}", "[", "]", ",", ":", "\"a\":", "\"b\":", "\"c\":", "\"d\" :", "\"e\":", "\"type\":", "\"x\"", "\"\\u00e9\\n\"", "\"\\ud83d\"",
                "\"", "\\", "1", "-", "0", ".5", "e3", "true", "null", " ", "\n", "\u{1}", "é", "\"x", "{\"c\":1}", "[{\"e\":[]}]", "}}",
            ]), 0..24),
            back in proptest::sample::select(vec!["", "}", "}}", "}]}"]),
        ) {
            agrees(format!("{front}{}{back}", pieces.concat()).as_bytes());
        }

        /// Takes a valid text and changes, removes or inserts one byte.
        #[test]
        fn refuses_a_damaged_text_like_the_whole_parse(at in any::<prop::sample::Index>(), byte in any::<u8>(), how in 0..3) {
            let mut text = br#"{"e":{"k":[1,-2.5e3,"\u00e9"]},"type":"x","b":[{"c":"u","e":"v","d":{"k":[true,null]}}],"a":[1,"2"]} "#.to_vec();
            let at = at.index(text.len());
            match how {
                0 => text[at] = byte,
                1 => drop(text.remove(at)),
                _ => text.insert(at, byte),
            }
            agrees(&text);
        }
    }
}
