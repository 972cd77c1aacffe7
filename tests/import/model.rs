//! Any sequence of imports has the result of a simple model, with any memory limit.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tabularium::ingest::{Limits, Options};

use super::Fixture;
use crate::harness::stored::stored;

/// Type, id, content, person. There are few of each, so that they collide.
type Content = (u8, u8, u8, u8);

fn resource((type_index, id, content, person): Content) -> String {
    let resource_type = ["Observation", "Condition", "Device"][usize::from(type_index)];
    let about = if resource_type == "Device" {
        "patient"
    } else {
        "subject"
    };
    // Long enough to overflow a buffer of some kilobytes sometimes.
    let text = "x".repeat(200 + usize::from(content));
    format!(
        r#"{{"resourceType":"{resource_type}","id":"r{id}","{about}":{{"reference":"Patient/p{person}"}},"note":[{{"text":"{text}"}}]}}"#
    )
}

#[derive(Debug, Default)]
struct Model {
    /// Content and version by type and id.
    rows: BTreeMap<(u8, u8), (Content, i64)>,
}

impl Model {
    fn import(&mut self, lines: &[Content]) {
        let mut now = self.rows.clone();
        for line in lines {
            let row = now.entry((line.0, line.1)).or_insert((*line, 0));
            if row.1 == 0 || row.0 != *line {
                *row = (*line, row.1 + 1);
            }
        }
        for (identity, row) in now {
            // If the final content equals the earlier one, the version stays.
            let before = self.rows.entry(identity).or_insert(row);
            if before.0 != row.0 {
                *before = row;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    #[test]
    fn imports_agree_with_a_model(
        imports in proptest::collection::vec(
            proptest::collection::vec((0u8..3, 0u8..12, 0u8..3, 0u8..3), 1..120), 1..4),
        buffer in prop_oneof![Just(1usize), Just(8 << 10), Just(96 << 20)],
    ) {
        let fixture = Fixture::new();
        let mut model = Model::default();
        for (number, lines) in imports.iter().enumerate() {
            // One file for every few lines, because the buffer is filled by files.
            let folder = format!("{number:02}");
            for (part, lines) in lines.chunks(7).enumerate() {
                let text: Vec<String> = lines.iter().map(|line| resource(*line)).collect();
                fixture.write(&format!("{folder}/{part:02}.ndjson"), text.join("\n"));
            }
            let limits = Limits { buffer, ..Limits::default() };
            let summary = fixture.import_with(Options { limits, ..Options::default() }, &[&fixture.input().join(&folder)]);
            let earlier = model.rows.clone();
            let mut versions: Vec<((u8, u8), i64)> = Vec::new();
            model.import(lines);
            let total = summary.total();
            prop_assert_eq!(total.read, lines.len() as u64);
            prop_assert_eq!(total.read, total.stored + total.unchanged + total.replaced + total.refused);
            let rows = stored(&fixture.lake);
            prop_assert_eq!(rows.len(), model.rows.len());
            for ((_, _, resource_type, id), row) in rows {
                let type_index = ["Observation", "Condition", "Device"].iter().position(|name| *name == resource_type).unwrap() as u8;
                let (content, version) = model.rows[&(type_index, id[1..].parse().unwrap())];
                let person = format!("p{}", content.3);
                prop_assert_eq!(row.patient.as_deref(), Some(person.as_str()));
                prop_assert_eq!(row.owner, fixture.lake.owner_of("local", &person));
                let text = "x".repeat(200 + usize::from(content.2));
                let held = row.resource.contains(&format!("\"{text}\""));
                prop_assert!(held);
                if buffer > 1 << 20 {
                    prop_assert_eq!(row.version, version);
                } else if let Some((earlier, before)) = earlier.get(&(type_index, id[1..].parse().unwrap())) {
                    // The number of counted changes within one input depends on when rows were written.
                    let changed = *earlier != content;
                    prop_assert_eq!(row.version > *before, changed);
                    prop_assert!(row.version >= *before);
                }
                versions.push(((type_index, id[1..].parse().unwrap()), row.version));
            }
            for (identity, version) in versions {
                model.rows.entry(identity).and_modify(|row| row.1 = version);
            }
            let again = fixture.import_with(
                Options { limits, ..Options::default() },
                &[&fixture.input().join(&folder)],
            );
            prop_assert_eq!((again.total().stored, again.snapshot), (0, fixture.lake.snapshot().id));
        }
    }
}
