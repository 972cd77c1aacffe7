//! Search parameters from HL7's table and from an implementation guide's package, read independently of the engine.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::rc::Rc;

use serde_json::Value;

use super::expression::Expression;

const TABLE: &str = include_str!("../../../schemas/search-parameters.tsv");

/// A search parameter.
#[derive(Debug)]
pub(super) struct Definition {
    pub(super) code: String,
    /// The kind, such as `token` or `date`.
    pub(super) kind: String,
    /// The target types of a reference; empty for any.
    pub(super) targets: Vec<String>,
    pub(super) expression: Expression,
    /// The components of a composite: kind and expression.
    pub(super) components: Vec<(String, Expression)>,
}

/// All parameters by type and code. Those of all types are under `Resource`.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    by_code: BTreeMap<(String, String), Rc<Definition>>,
    kinds: BTreeMap<String, String>,
}

impl Definitions {
    /// R4's definitions.
    pub(super) fn of_r4() -> Definitions {
        let mut all = Definitions::default();
        let lines: Vec<&str> = TABLE.lines().filter(|line| !line.starts_with('#')).collect();
        for line in &lines {
            let columns: Vec<&str> = line.split('\t').collect();
            if !columns[0].is_empty() {
                all.kinds.insert(columns[0].to_owned(), columns[2].to_owned());
            }
        }
        for (at, line) in lines.iter().enumerate() {
            let columns: Vec<&str> = line.split('\t').collect();
            if columns[0].is_empty() || columns[10] == "-" {
                continue;
            }
            let below = lines[at + 1..].iter().take_while(|line| line.starts_with('\t'));
            let components = below.map(|line| {
                let columns: Vec<&str> = line.split('\t').collect();
                (all.kinds[columns[1]].clone(), Expression::parse(columns[2]))
            });
            let definition = Rc::new(Definition {
                code: columns[1].to_owned(),
                kind: columns[2].to_owned(),
                targets: listed(columns[4]),
                expression: Expression::parse(columns[10]),
                components: components.collect(),
            });
            for base in listed(columns[3]) {
                let key = (base, definition.code.clone());
                all.by_code.insert(key, definition.clone());
            }
        }
        all
    }

    /// Adds the definition in a SearchParameter resource. It replaces R4's of the same code.
    pub(super) fn add(&mut self, resource: &Value) {
        let text = |name: &str| resource[name].as_str().unwrap_or_default();
        let names = |name: &str| {
            let names = resource[name].as_array().cloned().unwrap_or_default();
            names
                .iter()
                .map(|name| name.as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        assert!(resource.get("component").is_none(), "no composite is among them");
        let definition = Rc::new(Definition {
            code: text("code").to_owned(),
            kind: text("type").to_owned(),
            targets: names("target"),
            expression: Expression::parse(text("expression")),
            components: Vec::new(),
        });
        for base in names("base") {
            self.by_code.insert((base, definition.code.clone()), definition.clone());
        }
    }

    /// The parameter of a type with a code.
    pub(super) fn get(&self, resource_type: &str, code: &str) -> Option<&Rc<Definition>> {
        let of = |resource_type: &str| self.by_code.get(&(resource_type.to_owned(), code.to_owned()));
        of(resource_type)
            .or_else(|| of("DomainResource"))
            .or_else(|| of("Resource"))
    }

    /// The parameters of a type, without those for all types.
    pub(super) fn own(&self, resource_type: &str) -> impl Iterator<Item = &Rc<Definition>> {
        let resource_type = resource_type.to_owned();
        let of_type = self.by_code.range((resource_type.clone(), String::new())..);
        of_type
            .take_while(move |(key, _)| key.0 == resource_type)
            .map(|(_, definition)| definition)
    }
}

fn listed(column: &str) -> Vec<String> {
    let names = column.split(',').filter(|name| *name != "-");
    names.map(str::to_owned).collect()
}

/// The SearchParameters in a folder's packages (gzipped tar archives): their file names and contents.
pub(super) fn packaged(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut packages: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    packages.sort();
    for package in packages
        .into_iter()
        .filter(|path| path.extension().is_some_and(|ext| ext == "tgz"))
    {
        let mut archive = Vec::new();
        let file = std::fs::File::open(&package).unwrap();
        flate2::read::GzDecoder::new(file).read_to_end(&mut archive).unwrap();
        let mut at = 0;
        while at + 512 <= archive.len() && archive[at] != 0 {
            let field = |from: usize, to: usize| {
                let bytes = &archive[at + from..at + to];
                let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
                String::from_utf8_lossy(&bytes[..end]).trim().to_owned()
            };
            let size = usize::from_str_radix(&field(124, 136), 8).unwrap();
            let name = field(0, 100);
            let name = name.rsplit('/').next().unwrap();
            if name.starts_with("SearchParameter-") && name.ends_with(".json") {
                found.push((name.to_owned(), archive[at + 512..at + 512 + size].to_vec()));
            }
            at += 512 + size.div_ceil(512) * 512;
        }
    }
    found
}
