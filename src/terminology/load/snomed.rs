//! Reads SNOMED CT's RF2 snapshot: concepts, descriptions, and relations of kind "is a".

use super::part::Part;
use crate::published::Lines;
use crate::terminology::codes::systems;
use crate::terminology::error::TerminologyError;
use crate::terminology::system::builder::Builder;
use crate::terminology::system::code_system::{CodeSystem, Head};

const ROOT: &str = "138875005";
const IS_A: &str = "116680003";
const INFERRED: &str = "900000000000011006";
const FULL_NAME: &str = "900000000000003001";
const SYNONYM: &str = "900000000000013009";

pub(super) fn read(
    concepts: &Part,
    descriptions: &Part,
    relations: Option<&Part>,
    version: Option<String>,
) -> Result<CodeSystem, TerminologyError> {
    let mut builder = Builder::new(Head::partial(systems::SNOMED_CT, None));
    let newest = concepts.read(|reader| take_concepts(&mut Lines::new(reader, &concepts.name), &mut builder))?;
    builder.set_version(version.or(newest));
    if builder.place(ROOT).is_some() {
        builder.set_complete();
    }
    descriptions.read(|reader| take_descriptions(&mut Lines::new(reader, &descriptions.name), &mut builder))?;
    match relations {
        Some(relations) => {
            relations.read(|reader| take_relations(&mut Lines::new(reader, &relations.name), &mut builder))?;
        }
        // Without a hierarchy it is unknown whether one concept is below another. So the system is partial.
        None => builder.set_partial(),
    }
    builder.finish()
}

fn fields<'l, const N: usize>(lines: &'l Lines<'_>) -> Result<[&'l str; N], TerminologyError> {
    let mut fields = [""; N];
    let mut count = 0;
    for field in lines.text().split('\t') {
        if let Some(slot) = fields.get_mut(count) {
            *slot = field.trim();
        }
        count += 1;
    }
    if count == N && is_number(fields[0]) && fields[1].len() == 8 && matches!(fields[2], "0" | "1") {
        Ok(fields)
    } else {
        Err(lines.fail(&format!("the {N} columns of RF2")).into())
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reads the concepts. The columns are id, effectiveTime, active, moduleId and definitionStatusId. Returns the newest
/// effectiveTime, which is the version.
fn take_concepts(lines: &mut Lines<'_>, builder: &mut Builder) -> Result<Option<String>, TerminologyError> {
    lines.advance()?;
    let mut newest: Option<String> = None;
    while lines.advance()? {
        let [id, time, active, _, _] = fields(lines)?;
        let (place, added) = builder.concept(id)?;
        if !added {
            return Err(lines.fail("each concept once, as the snapshot has it,").into());
        }
        if active == "0" {
            builder.property(place, "inactive", "true")?;
        }
        if newest.as_deref().is_none_or(|newest| newest < time) {
            newest = Some(time.to_string());
        }
    }
    Ok(newest)
}

/// Reads the descriptions. The columns are id, effectiveTime, active, moduleId, conceptId, languageCode, typeId, term
/// and caseSignificanceId. The display is an English name, or a name in another language if there is no English one.
/// Within a language, a fully specified name wins over a synonym.
fn take_descriptions(lines: &mut Lines<'_>, builder: &mut Builder) -> Result<(), TerminologyError> {
    lines.advance()?;
    let mut ranks = vec![u8::MAX; builder.len()];
    while lines.advance()? {
        let [_, _, active, _, concept, language, kind, term, _] = fields(lines)?;
        let kind = match kind {
            FULL_NAME => 0,
            SYNONYM => 1,
            _ => continue,
        };
        let rank = kind + if language == "en" { 0 } else { 2 };
        if active == "1"
            && let Some(place) = builder.place(concept)
            && rank < ranks[place as usize]
        {
            ranks[place as usize] = rank;
            builder.display(place, term)?;
        }
    }
    Ok(())
}

/// Reads the active, inferred "is a" relations. The columns are id, effectiveTime, active, moduleId, sourceId,
/// destinationId, relationshipGroup, typeId, characteristicTypeId and modifierId.
fn take_relations(lines: &mut Lines<'_>, builder: &mut Builder) -> Result<(), TerminologyError> {
    lines.advance()?;
    while lines.advance()? {
        let [_, _, active, _, child, parent, _, kind, characteristic, _] = fields(lines)?;
        if active == "1"
            && kind == IS_A
            && characteristic == INFERRED
            && let (Some(parent), Some(child)) = (builder.place(parent), builder.place(child))
        {
            builder.join(parent, child);
        }
    }
    Ok(())
}
