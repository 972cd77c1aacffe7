//! Reads `schemas/types.tsv` into [`TypeDef`]s: resolves names to [`TypeId`]s, adds inherited elements, and indexes the
//! JSON properties of each type. The facts of R4 are in the table. This file decides none of them.
//!
//! The table is part of the program, so a fault in it is a bug, and reading panics. A test reads the whole table.

use rustc_hash::FxHashMap;

use super::name_table::NameTable;
use super::type_def::{Element, Kind, Primitive, TypeDef, TypeId};

static TABLE: &str = include_str!("../../../schemas/types.tsv");

/// The JSON properties of a type. Each name has a pair: the index of its element in the type, and the type of the value
/// that this property has.
pub(in crate::fhir) type Properties = NameTable<(u16, TypeId)>;

/// The content of the table.
pub(in crate::fhir) struct Types {
    pub(in crate::fhir) types: Vec<TypeDef>,
    pub(in crate::fhir) names: FxHashMap<&'static str, TypeId>,
    pub(in crate::fhir) properties: Vec<Properties>,
}

/// One type of the table, before names are resolved.
struct RawType {
    name: &'static str,
    kind: &'static str,
    base: &'static str,
    is_abstract: bool,
    elements: Vec<&'static str>,
}

pub(in crate::fhir) fn read() -> Types {
    let raw = split(TABLE);
    let names: FxHashMap<_, _> = raw
        .iter()
        .enumerate()
        .map(|(at, raw_type)| (raw_type.name, TypeId::new(at)))
        .collect();
    let mut reader = Reader {
        raw: &raw,
        names: &names,
        done: raw.iter().map(|_| None).collect(),
    };
    for at in 0..raw.len() {
        reader.elements(at);
    }
    let types: Vec<TypeDef> = raw
        .iter()
        .zip(reader.done)
        .map(|(raw_type, elements)| TypeDef {
            name: raw_type.name,
            kind: kind(raw_type),
            base: (raw_type.base != "-").then(|| names[raw_type.base]),
            is_abstract: raw_type.is_abstract,
            elements: elements.unwrap_or_default(),
        })
        .collect();
    let mut choices = Choices::default();
    let properties = types
        .iter()
        .map(|type_def| properties(type_def, &types, &mut choices))
        .collect();
    Types {
        types,
        names,
        properties,
    }
}

fn split(table: &'static str) -> Vec<RawType> {
    let mut raw: Vec<RawType> = Vec::with_capacity(700);
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        if let Some(element) = line.strip_prefix('\t') {
            let raw_type = raw.last_mut().expect("types.tsv: an element follows its type");
            raw_type.elements.push(element);
        } else {
            let [name, kind, base, rest @ ..] = &line.split('\t').collect::<Vec<_>>()[..] else {
                panic!("types.tsv: a type has three columns: {line}");
            };
            raw.push(RawType {
                name,
                kind,
                base,
                is_abstract: rest == ["abstract"],
                elements: Vec::new(),
            });
        }
    }
    raw
}

struct Reader<'a> {
    raw: &'a [RawType],
    names: &'a FxHashMap<&'static str, TypeId>,
    done: Vec<Option<Vec<Element>>>,
}

impl Reader<'_> {
    /// Returns the elements of a type: first those of its parent, then the type's own. If the type redefines an element
    /// of its parent, the new definition replaces the old one at the same place.
    fn elements(&mut self, at: usize) -> &[Element] {
        if self.done[at].is_none() {
            let raw = &self.raw[at];
            let mut elements = match raw.base {
                "-" => Vec::new(),
                base => self.elements(self.names[base].index()).to_vec(),
            };
            for line in &raw.elements {
                let element = self.element(line);
                match elements.iter_mut().find(|inherited| inherited.name == element.name) {
                    Some(inherited) => *inherited = element,
                    None => elements.push(element),
                }
            }
            // Drop elements without types: the type inherits them, but its definition prohibits them
            // (`xhtml.extension`).
            elements.retain(|element| !element.types.is_empty());
            for (at, element) in elements.iter_mut().enumerate() {
                element.ordinal = at as u16 + 1;
            }
            self.done[at] = Some(elements);
        }
        self.done[at].as_deref().unwrap_or_default()
    }

    fn element(&self, line: &'static str) -> Element {
        let [name, cardinality, flags, types, system @ ..] = &line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("types.tsv: an element has four columns, a code perhaps five: {line}");
        };
        let (min, max) = cardinality
            .split_once("..")
            .expect("types.tsv: a cardinality is min..max");
        let mut element = Element {
            name: name.trim_end_matches("[x]"),
            types: Vec::new(),
            targets: Vec::new(),
            choice: name.ends_with("[x]"),
            code_system: system.first().copied(),
            many: max == "*",
            min: min.parse().expect("types.tsv: a least cardinality is a number"),
            summary: flags.contains('s'),
            modifier: flags.contains('m'),
            has_unknown: flags.contains('u'),
            ordinal: 0,
        };
        if max == "0" {
            return element;
        }
        let mut any_target = false;
        for type_name in types.split('|') {
            let (type_name, targets) = type_name.split_once('(').unwrap_or((type_name, ""));
            element.types.push(self.names[type_name]);
            match targets.strip_suffix(')') {
                Some(targets) => element
                    .targets
                    .extend(targets.split(',').map(|target| self.names[target])),
                None => any_target |= type_name == "Reference" || type_name == "canonical",
            }
        }
        if any_target {
            element.targets.clear();
        }
        element.targets.sort_unstable();
        element.targets.dedup();
        element
    }
}

fn kind(raw_type: &RawType) -> Kind {
    match raw_type.kind {
        "primitive" => Kind::Primitive(primitive(raw_type.name)),
        "complex" => Kind::Complex,
        "backbone" => Kind::Backbone,
        "resource" => Kind::Resource,
        other => panic!("types.tsv: no kind of type: {other}"),
    }
}

fn primitive(name: &str) -> Primitive {
    match name {
        "boolean" => Primitive::Boolean,
        "integer" => Primitive::Integer,
        "positiveInt" => Primitive::PositiveInt,
        "unsignedInt" => Primitive::UnsignedInt,
        "decimal" => Primitive::Decimal,
        "string" => Primitive::String,
        "code" => Primitive::Code,
        "id" => Primitive::Id,
        "markdown" => Primitive::Markdown,
        "uri" => Primitive::Uri,
        "url" => Primitive::Url,
        "canonical" => Primitive::Canonical,
        "oid" => Primitive::Oid,
        "uuid" => Primitive::Uuid,
        "base64Binary" => Primitive::Base64Binary,
        "xhtml" => Primitive::Xhtml,
        "date" => Primitive::Date,
        "dateTime" => Primitive::DateTime,
        "instant" => Primitive::Instant,
        "time" => Primitive::Time,
        other => panic!("types.tsv: no primitive type: {other}"),
    }
}

/// The JSON names of choice elements (`valueQuantity`), which the table does not have. Each name is made once and is
/// never freed.
#[derive(Default)]
struct Choices(FxHashMap<(&'static str, TypeId), &'static str>);

impl Choices {
    fn name(&mut self, element: &'static str, type_id: TypeId, types: &[TypeDef]) -> &'static str {
        self.0.entry((element, type_id)).or_insert_with(|| {
            let type_name = types[type_id.index()].name;
            let mut name = String::with_capacity(element.len() + type_name.len());
            name.push_str(element);
            name.push_str(&type_name[..1].to_ascii_uppercase());
            name.push_str(&type_name[1..]);
            name.leak()
        })
    }
}

fn properties(type_def: &TypeDef, types: &[TypeDef], choices: &mut Choices) -> Properties {
    let mut properties = Vec::new();
    for (at, element) in type_def.elements.iter().enumerate() {
        for each in &element.types {
            let name = if element.choice {
                choices.name(element.name, *each, types)
            } else {
                element.name
            };
            properties.push((name, (at as u16, *each)));
        }
    }
    properties.into_iter().collect()
}
