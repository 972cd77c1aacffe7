//! Generates expressions and resources from bytes: each byte chooses an alternative. Expressions know the type that
//! they apply to, so most of them compile and find values. After the last byte, the simplest alternative is chosen.

use serde_json::{Map, Value, json};

/// The remaining bytes.
pub(in crate::fhirpath) struct Choices<'a> {
    bytes: std::slice::Iter<'a, u8>,
}

impl<'a> Choices<'a> {
    pub(in crate::fhirpath) fn new(bytes: &'a [u8]) -> Choices<'a> {
        Choices { bytes: bytes.iter() }
    }

    /// A number below `count`.
    fn pick(&mut self, count: usize) -> usize {
        self.bytes.next().map_or(0, |byte| usize::from(*byte) % count)
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.pick(of.len())]
    }
}

/// The type that an expression applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fhirpath) enum On {
    Patient,
    Observation,
    Response,
    Name,
    Telecom,
    Contact,
    Extension,
    Component,
    Concept,
    Coding,
    Item,
    Answer,
    Reference,
    Period,
    Boolean,
    Number,
    Text,
    Date,
    Quantity,
    /// A choice element.
    Any,
}

pub(in crate::fhirpath) const ROOTS: [(On, &str); 3] = [
    (On::Patient, "Patient"),
    (On::Observation, "Observation"),
    (On::Response, "QuestionnaireResponse"),
];

/// The elements that paths use from here.
fn elements(on: On) -> &'static [(&'static str, On)] {
    match on {
        On::Patient => &[
            ("name", On::Name),
            ("active", On::Boolean),
            ("birthDate", On::Date),
            ("telecom", On::Telecom),
            ("extension", On::Extension),
            ("contact", On::Contact),
            ("multipleBirth", On::Any),
            ("deceased", On::Any),
            ("generalPractitioner", On::Reference),
            ("maritalStatus", On::Concept),
            ("gender", On::Text),
            ("photo", On::Any),
        ],
        On::Observation => &[
            ("value", On::Any),
            ("component", On::Component),
            ("code", On::Concept),
            ("effective", On::Any),
            ("issued", On::Date),
            ("status", On::Text),
            ("subject", On::Reference),
            ("extension", On::Extension),
            ("category", On::Concept),
        ],
        On::Response => &[
            ("item", On::Item),
            ("status", On::Text),
            ("authored", On::Date),
            ("subject", On::Reference),
            ("extension", On::Extension),
        ],
        On::Name => &[
            ("given", On::Text),
            ("family", On::Text),
            ("use", On::Text),
            ("period", On::Period),
            ("extension", On::Extension),
        ],
        On::Telecom => &[
            ("value", On::Text),
            ("rank", On::Number),
            ("system", On::Text),
            ("period", On::Period),
        ],
        On::Contact => &[("name", On::Name), ("gender", On::Text), ("telecom", On::Telecom)],
        On::Extension => &[("value", On::Any), ("url", On::Text), ("extension", On::Extension)],
        On::Component => &[("value", On::Any), ("code", On::Concept)],
        On::Concept => &[("coding", On::Coding), ("text", On::Text)],
        On::Coding => &[("code", On::Text), ("system", On::Text), ("display", On::Text)],
        On::Item => &[
            ("linkId", On::Text),
            ("answer", On::Answer),
            ("item", On::Item),
            ("text", On::Text),
        ],
        On::Answer => &[("value", On::Any), ("item", On::Item)],
        On::Reference => &[("reference", On::Text), ("display", On::Text)],
        On::Period => &[("start", On::Date), ("end", On::Date)],
        _ => &[],
    }
}

/// The types of a choice that expressions request.
const KINDS: [(&str, On); 8] = [
    ("string", On::Text),
    ("integer", On::Number),
    ("decimal", On::Number),
    ("boolean", On::Boolean),
    ("Quantity", On::Quantity),
    ("dateTime", On::Date),
    ("CodeableConcept", On::Concept),
    ("date", On::Date),
];

const NUMBERS: [&str; 9] = ["1", "0", "-1", "2", "1.50", "0.5", "100.10", "2147483647", "{}"];
const TEXTS: [&str; 9] = [
    "'a'",
    "'B'",
    "''",
    "'official'",
    "'1'",
    "'é b'",
    "'2020-05'",
    "{}",
    "','",
];
const DATES: [&str; 8] = [
    "@2020",
    "@2020-05",
    "@2020-05-17",
    "@2020-05-17T10:30:00Z",
    "@2020-05-17T10:30:00.5+02:00",
    "@2020-02-29",
    "today()",
    "{}",
];
const QUANTITIES: [&str; 6] = ["1 'mg'", "0.001 'g'", "70.5 'kg'", "4 days", "1 year", "1 'm'"];

impl Choices<'_> {
    /// An expression over this type.
    pub(in crate::fhirpath) fn expression(&mut self, on: On) -> String {
        match self.pick(6) {
            0 => self.collection(on, 3).0,
            1 => self.boolean(on, 3),
            2 => self.number(on, 3),
            3 => self.text(on, 3),
            4 => self.date(on, 3),
            _ => self.quantity(on, 3),
        }
    }

    /// A path of some steps, and the type of its result.
    fn path(&mut self, on: On) -> (String, On) {
        let (mut text, mut at) = (String::new(), on);
        for _ in 0..=self.pick(3) {
            let elements = elements(at);
            if elements.is_empty() {
                break;
            }
            let (name, next) = self.one(elements);
            if !text.is_empty() {
                text.push('.');
            }
            text.push_str(name);
            at = next;
        }
        if text.is_empty() {
            text.push_str("$this");
        }
        (text, at)
    }

    /// A path to items of a kind, if needed through a choice. It may yield any number of items.
    fn path_to(&mut self, on: On, kind: On) -> String {
        let (mut text, mut at) = self.path(on);
        for _ in 0..3 {
            if at == kind || at == On::Any {
                break;
            }
            let elements = elements(at);
            let Some((name, next)) = elements
                .iter()
                .find(|(_, next)| *next == kind)
                .or_else(|| elements.iter().find(|(_, next)| *next == On::Any))
                .or_else(|| elements.first())
            else {
                break;
            };
            text = format!("{text}.{name}");
            at = *next;
        }
        if at == On::Any {
            let of: Vec<&str> = KINDS
                .iter()
                .filter(|(_, of)| *of == kind)
                .map(|(name, _)| *name)
                .collect();
            if !of.is_empty() {
                text = format!("{text}.ofType({})", self.one(&of));
            }
        }
        text
    }

    /// The same as one item. Without that, most rows of real records would be errors.
    fn single(&mut self, on: On, kind: On) -> String {
        let path = self.path_to(on, kind);
        match self.pick(5) {
            0 | 1 => format!("{path}.first()"),
            2 => format!("{path}[{}]", self.pick(3)),
            3 => format!("{path}.last()"),
            _ => path,
        }
    }

    fn collection(&mut self, on: On, depth: usize) -> (String, On) {
        if depth == 0 {
            return self.path(on);
        }
        let (text, at) = self.collection(on, depth - 1);
        match self.pick(20) {
            0 | 1 => (text, at),
            2 | 3 => (format!("{text}.where({})", self.boolean(at, depth - 1)), at),
            4 => {
                let (of, to) = self.collection(at, depth - 1);
                (format!("{text}.select({of})"), to)
            }
            5 => (format!("{text}.select({})", self.text(at, depth - 1)), On::Text),
            6 => (format!("{text}.select({})", self.number(at, depth - 1)), On::Number),
            7 => (
                format!(
                    "{text}.{}",
                    self.one(&["first()", "last()", "tail()", "skip(1)", "take(2)", "[1]"])
                )
                .replace(".[", "["),
                at,
            ),
            8 => {
                let (other, to) = self.collection(on, depth - 1);
                (format!("({text} | {other})"), if at == to { at } else { On::Any })
            }
            9 => (
                format!(
                    "{text}.{}",
                    self.one(&["distinct()", "sort()", "trace('t')", "skip($this.count() - 1)"])
                ),
                at,
            ),
            10 => {
                let (other, _) = self.collection(on, depth - 1);
                let of = self.one(&["combine", "intersect", "exclude", "union"]);
                // The inner expression is evaluated on the whole, not on each item.
                (format!("{text}.{of}({other})"), On::Any)
            }
            11 => {
                let step = self.one(&[
                    "extension",
                    "item",
                    "$this.item | $this.answer.item",
                    "children()",
                    "name",
                ]);
                let of = self.one(&["extension", "item", "descendants()"]);
                match on {
                    On::Response => (
                        format!("repeat({})", if of == "item" { step } else { "item" }),
                        On::Item,
                    ),
                    _ => ("repeat(extension)".to_string(), On::Extension),
                }
            }
            12 => (format!("{text}.children()"), On::Any),
            13 => {
                let (kind, to) = self.one(&KINDS);
                (format!("{text}.descendants().ofType({kind})"), to)
            }
            14 if at == On::Any => {
                let (kind, to) = self.one(&KINDS);
                (format!("{text}.ofType({kind})"), to)
            }
            15 => {
                let criterion = self.boolean(on, depth - 1);
                let (other, to) = self.collection(on, depth - 1);
                (
                    format!("iif({criterion}, {text}, {other})"),
                    if at == to { at } else { On::Any },
                )
            }
            16 => (
                format!("{text}.select(iif({}, $this, {{}}))", self.boolean(at, depth - 1)),
                at,
            ),
            17 if at == On::Text => (format!("{text}.select($this.toChars())"), On::Text),
            18 => (format!("{text}.select($this.type().name)"), On::Text),
            19 => (format!("{text}.select($index)"), On::Number),
            _ => (text, at),
        }
    }

    fn boolean(&mut self, on: On, depth: usize) -> String {
        if depth == 0 {
            return match self.pick(3) {
                0 => format!("{}.exists()", self.path(on).0),
                1 => self.one(&["true", "false", "{}"]).to_string(),
                _ => self.single(on, On::Boolean),
            };
        }
        let less = depth - 1;
        match self.pick(18) {
            0 => self.boolean(on, 0),
            1 => format!("{}.exists()", self.collection(on, less).0),
            2 => {
                let (items, at) = self.collection(on, less);
                let of = self.one(&["exists", "all"]);
                format!("{items}.{of}({})", self.boolean(at, less))
            }
            3 => format!("{}.empty()", self.collection(on, less).0),
            4 => format!(
                "({} {} {})",
                self.number(on, less),
                self.one(&["<", "=", ">=", "!=", ">", "~"]),
                self.number(on, less)
            ),
            5 => format!(
                "({} {} {})",
                self.text(on, less),
                self.one(&["=", "~", "!=", "<", "!~", "<="]),
                self.text(on, less)
            ),
            6 => format!(
                "({} {} {})",
                self.date(on, less),
                self.one(&["<", "=", ">=", "~", "!=", ">"]),
                self.date(on, less)
            ),
            7 => format!(
                "({} {} {})",
                self.quantity(on, less),
                self.one(&["<", "=", ">=", "~"]),
                self.quantity(on, less)
            ),
            8 | 9 => format!(
                "({} {} {})",
                self.boolean(on, less),
                self.one(&["and", "or", "xor", "implies"]),
                self.boolean(on, less)
            ),
            10 => format!("{}.not()", self.boolean(on, less)),
            11 => format!("({} in {})", self.text(on, less), self.path_to(on, On::Text)),
            12 => format!("({} contains {})", self.path_to(on, On::Number), self.number(on, less)),
            13 => format!("({} = {})", self.collection(on, less).0, self.collection(on, less).0),
            14 => {
                let of = self.one(&["startsWith", "endsWith", "contains", "matches"]);
                format!("{}.{of}({})", self.text(on, less), self.one(&TEXTS))
            }
            15 => {
                let of = self.one(&[
                    "isDistinct()",
                    "hasValue()",
                    "allTrue()",
                    "convertsToInteger()",
                    "convertsToDate()",
                    "anyFalse()",
                ]);
                format!("{}.{of}", self.collection(on, less).0)
            }
            16 => format!("{}.subsetOf({})", self.collection(on, less).0, self.path(on).0),
            _ => {
                let (items, _) = self.collection(on, less);
                format!("{items}.first() is {}", self.one(&KINDS).0)
            }
        }
    }

    fn number(&mut self, on: On, depth: usize) -> String {
        if depth == 0 {
            return match self.pick(3) {
                0 => self.one(&NUMBERS).to_string(),
                1 => format!("{}.count()", self.path(on).0),
                _ => self.single(on, On::Number),
            };
        }
        let less = depth - 1;
        match self.pick(12) {
            0 => self.number(on, 0),
            1 | 2 => format!(
                "({} {} {})",
                self.number(on, less),
                self.one(&["+", "-", "*", "/", "div", "mod"]),
                self.number(on, less)
            ),
            3 => format!("{}.count()", self.collection(on, less).0),
            4 => format!("{}.length()", self.text(on, less)),
            5 => format!("{}.indexOf({})", self.text(on, less), self.text(on, less)),
            6 => {
                let of = self.one(&[
                    "abs()",
                    "floor()",
                    "ceiling()",
                    "truncate()",
                    "round(1)",
                    "sqrt()",
                    "power(2)",
                    "precision()",
                    "lowBoundary()",
                ]);
                format!("{}.{of}", self.number(on, less))
            }
            7 => format!(
                "{}.aggregate($this + $total, {})",
                self.path_to(on, On::Number),
                self.one(&NUMBERS)
            ),
            8 => format!(
                "{}.aggregate(iif($total.empty() or $this > $total, $this, $total))",
                self.path_to(on, On::Number)
            ),
            9 => format!(
                "iif({}, {}, {})",
                self.boolean(on, less),
                self.number(on, less),
                self.number(on, less)
            ),
            10 => format!("{}.{}", self.text(on, less), self.one(&["toInteger()", "toDecimal()"])),
            _ => format!(
                "{}.select({}).first()",
                self.collection(on, less).0,
                self.one(&["$index", "1", "$this.count()"])
            ),
        }
    }

    fn text(&mut self, on: On, depth: usize) -> String {
        if depth == 0 {
            return match self.pick(2) {
                0 => self.single(on, On::Text),
                _ => self.one(&TEXTS).to_string(),
            };
        }
        let less = depth - 1;
        match self.pick(12) {
            0 => self.text(on, 0),
            1 | 2 => format!(
                "({} {} {})",
                self.text(on, less),
                self.one(&["&", "+"]),
                self.text(on, less)
            ),
            3 => format!(
                "{}.substring({}, {})",
                self.text(on, less),
                self.number(on, 0),
                self.number(on, 0)
            ),
            4 => format!(
                "{}.{}",
                self.text(on, less),
                self.one(&["upper()", "lower()", "trim()", "encode('hex')", "toString()"])
            ),
            5 => format!(
                "{}.replace({}, {})",
                self.text(on, less),
                self.one(&TEXTS),
                self.text(on, 0)
            ),
            6 => format!("{}.toString()", self.number(on, less)),
            7 => format!("{}.join({})", self.path_to(on, On::Text), self.one(&TEXTS)),
            8 => format!("{}.first().type().name", self.collection(on, less).0),
            9 => format!(
                "iif({}, {}, {})",
                self.boolean(on, less),
                self.text(on, less),
                self.text(on, less)
            ),
            10 => format!("{}.split({}).first()", self.text(on, less), self.one(&TEXTS)),
            _ => format!("{}.toString()", self.date(on, less)),
        }
    }

    fn date(&mut self, on: On, depth: usize) -> String {
        if depth == 0 {
            return match self.pick(2) {
                0 => self.single(on, On::Date),
                _ => self.one(&DATES).to_string(),
            };
        }
        let less = depth - 1;
        match self.pick(6) {
            0 | 1 => self.date(on, 0),
            2 => format!(
                "({} {} {})",
                self.date(on, less),
                self.one(&["+", "-"]),
                self.one(&QUANTITIES[3..5])
            ),
            3 => format!(
                "{}.{}",
                self.date(on, less),
                self.one(&["lowBoundary()", "highBoundary()", "toDateTime()", "toDate()"])
            ),
            4 => format!(
                "iif({}, {}, {})",
                self.boolean(on, less),
                self.date(on, less),
                self.date(on, less)
            ),
            _ => format!("{}.toDate()", self.text(on, less)),
        }
    }

    fn quantity(&mut self, on: On, depth: usize) -> String {
        if depth == 0 {
            return match self.pick(2) {
                0 => self.single(on, On::Quantity),
                _ => self.one(&QUANTITIES).to_string(),
            };
        }
        let less = depth - 1;
        match self.pick(5) {
            0 | 1 => self.quantity(on, 0),
            2 => format!(
                "({} {} {})",
                self.quantity(on, less),
                self.one(&["+", "-", "*", "/"]),
                self.quantity(on, less)
            ),
            3 => format!("{}.toQuantity()", self.number(on, less)),
            _ => format!("{}.abs()", self.quantity(on, less)),
        }
    }
}

/// An object of the members that are not null.
fn object(members: Vec<(&str, Value)>) -> Value {
    let there = members.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(
        there
            .map(|(name, value)| (name.to_string(), value))
            .collect::<Map<_, _>>(),
    )
}

impl Choices<'_> {
    /// A resource of this type.
    pub(in crate::fhirpath) fn resource(&mut self, on: On, id: usize) -> Value {
        let id = json!(format!("r{id}"));
        match on {
            On::Patient => object(vec![
                ("resourceType", json!("Patient")),
                ("id", id),
                ("name", self.list(Self::name)),
                ("active", self.maybe(|c| json!(c.pick(2) == 0))),
                ("_active", self.maybe(Self::mark)),
                ("birthDate", self.maybe(Self::date_text)),
                ("telecom", self.list(Self::telecom)),
                ("extension", self.list(|c| c.extension(1))),
                (
                    "contact",
                    self.list(|c| object(vec![("name", c.maybe(Self::name)), ("telecom", c.list(Self::telecom))])),
                ),
                ("multipleBirthInteger", self.maybe(|c| json!(c.pick(4)))),
                ("deceasedDateTime", self.maybe(Self::date_text)),
                ("generalPractitioner", self.list(Self::reference)),
                ("maritalStatus", self.maybe(Self::concept)),
                ("gender", self.maybe(|c| json!(c.one(&["male", "Male", "other"])))),
            ]),
            On::Observation => {
                let mut members = vec![
                    ("resourceType", json!("Observation")),
                    ("id", id),
                    ("status", self.maybe(|c| json!(c.one(&["final", "official"])))),
                    (
                        "component",
                        self.list(|c| c.valued(vec![("code", json!({"text": "a"}))])),
                    ),
                    ("code", self.maybe(Self::concept)),
                    ("category", self.list(Self::concept)),
                    ("issued", self.maybe(Self::date_text)),
                    ("subject", self.maybe(Self::reference)),
                    ("extension", self.list(|c| c.extension(1))),
                ];
                members.push(("effectiveDateTime", self.maybe(Self::date_text)));
                self.valued(members)
            }
            _ => object(vec![
                ("resourceType", json!("QuestionnaireResponse")),
                ("id", id),
                ("status", json!("completed")),
                ("authored", self.maybe(Self::date_text)),
                ("item", self.list(|c| c.item(3))),
                ("subject", self.maybe(Self::reference)),
            ]),
        }
    }

    fn maybe(&mut self, of: impl FnOnce(&mut Self) -> Value) -> Value {
        if self.pick(3) == 0 { Value::Null } else { of(self) }
    }

    fn list(&mut self, mut of: impl FnMut(&mut Self) -> Value) -> Value {
        let items: Vec<Value> = (0..self.pick(4)).map(|_| of(self)).collect();
        let items: Vec<Value> = items.into_iter().filter(|item| item != &json!({})).collect();
        if items.is_empty() {
            Value::Null
        } else {
            Value::Array(items)
        }
    }

    /// Extensions or an id instead of a value.
    fn mark(&mut self) -> Value {
        match self.pick(2) {
            0 => json!({"id": "m"}),
            _ => json!({"extension": [{"url": "u", "valueCode": "unknown"}]}),
        }
    }

    fn name(&mut self) -> Value {
        let mut members = vec![
            ("use", self.maybe(|c| json!(c.one(&["official", "usual", "B"])))),
            ("family", self.maybe(|c| json!(c.one(&["B", "é b", "a"])))),
            ("period", self.maybe(|c| object(vec![("start", c.date_text())]))),
        ];
        let count = self.pick(4);
        let given: Vec<Value> = (0..count)
            .map(|_| self.maybe(|c| json!(c.one(&["a", "B", "1", "2020-05"]))))
            .collect();
        let marks: Vec<Value> = given
            .iter()
            .map(|given| if given.is_null() { self.mark() } else { Value::Null })
            .collect();
        if given.iter().any(|given| !given.is_null()) {
            members.push(("given", Value::Array(given.clone())));
        }
        if marks.iter().any(|mark| !mark.is_null()) {
            members.push(("_given", Value::Array(marks)));
        }
        object(members)
    }

    fn telecom(&mut self) -> Value {
        object(vec![
            ("value", self.maybe(|c| json!(c.one(&["1", "a", "+1 2"])))),
            ("rank", self.maybe(|c| json!(c.pick(3) + 1))),
            ("system", self.maybe(|c| json!(c.one(&["phone", "email"])))),
        ])
    }

    fn concept(&mut self) -> Value {
        let coding = |c: &mut Self| {
            object(vec![
                ("code", c.maybe(|c| json!(c.one(&["a", "B", "1"])))),
                ("system", c.maybe(|c| json!(c.one(&["http://loinc.org", "a"])))),
            ])
        };
        object(vec![
            ("coding", self.list(coding)),
            ("text", self.maybe(|c| json!(c.one(&["a", "B"])))),
        ])
    }

    fn reference(&mut self) -> Value {
        json!({"reference": self.one(&["Patient/r0", "Practitioner/a", "http://x/fhir/Patient/b", "#c", "urn:uuid:d", "Nothing"])})
    }

    fn extension(&mut self, depth: usize) -> Value {
        let members = vec![("url", json!(self.one(&["u", "a", "official"])))];
        match depth {
            0 => self.valued(members),
            _ if self.pick(3) == 0 => {
                let mut members = members;
                members.push(("extension", self.list(|c| c.extension(depth - 1))));
                object(members)
            }
            _ => self.valued(members),
        }
    }

    fn item(&mut self, depth: usize) -> Value {
        let inner = |c: &mut Self| {
            if depth == 0 {
                Value::Null
            } else {
                c.list(|c| c.item(depth - 1))
            }
        };
        let answer = |c: &mut Self| {
            let items = if depth < 2 {
                Value::Null
            } else {
                c.list(|c| c.item(depth - 2))
            };
            c.valued(vec![("item", items)])
        };
        object(vec![
            ("linkId", json!(self.one(&["a", "1", "B"]))),
            ("text", self.maybe(|c| json!(c.one(&["a", "é b"])))),
            ("answer", self.list(answer)),
            ("item", inner(self)),
        ])
    }

    fn date_text(&mut self) -> Value {
        json!(self.one(&[
            "2020-05-17",
            "2020-05",
            "2020",
            "2020-02-29",
            "2020-05-17T10:30:00Z",
            "2019-12-31T23:59:59.5+02:00",
            "no date"
        ]))
    }

    /// The members, and a value of some type or none.
    fn valued(&mut self, mut members: Vec<(&str, Value)>) -> Value {
        match self.pick(10) {
            0 => {}
            1 => members.push(("valueString", json!(self.one(&["a", "é b", "1", "2020-05"])))),
            2 => members.push(("valueInteger", json!(self.one(&[0, 1, -7, 2_147_483_647])))),
            3 => members.push(("valueDecimal", json!(self.one(&[1.5, 0.001, -2.25, 1e30])))),
            4 => members.push(("valueBoolean", json!(self.pick(2) == 0))),
            5 => {
                let unit = self.one(&["mg", "kg", "m", "d"]);
                let value = self.one(&[1.0, 70.5, 0.25]);
                members.push((
                    "valueQuantity",
                    json!({"value": value, "unit": unit, "system": "http://unitsofmeasure.org", "code": unit}),
                ));
            }
            6 => members.push(("valueDateTime", self.date_text())),
            7 => members.push(("valueCodeableConcept", self.concept())),
            8 => members.push(("_valueString", self.mark())),
            _ => members.push(("valueTime", json!(self.one(&["10:30:00", "23:59:59.5"])))),
        }
        object(members)
    }
}
