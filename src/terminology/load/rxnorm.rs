//! Reads RxNorm's RRF files: concepts from RXNCONSO, NDCs from RXNSAT, and ingredients by the relations in RXNREL. Only
//! RxNorm's own rows (`SAB` is `RXNORM`) are read. The others belong to other publishers.

use rustc_hash::FxHashSet;

use super::part::Part;
use crate::published::Lines;
use crate::terminology::codes::systems::INGREDIENT;
use crate::terminology::codes::{ndc, systems};
use crate::terminology::error::TerminologyError;
use crate::terminology::system::builder::Builder;
use crate::terminology::system::code_system::{CodeSystem, Head};
use crate::terminology::system::links::Links;

const OWN: &str = "RXNORM";

/// The relations from a drug to its ingredients. In a row of RXNREL, they lead from `RXCUI2` to `RXCUI1`.
const DOWN: [&str; 8] = [
    "has_ingredient",
    "has_ingredients",
    "has_precise_ingredient",
    "consists_of",
    "contains",
    "has_part",
    "tradename_of",
    "form_of",
];

/// What the rows read so far say about a concept. RxNorm calls a row of RXNCONSO an atom. A concept may have several
/// atoms.
#[derive(Clone, Copy)]
struct Atom {
    /// The rank of the name that is the display. A name with a lower rank replaces it.
    rank: u8,
    /// The term type, as an index in [`Types::names`]. `u8::MAX` as long as only synonyms were read.
    term_type: u8,
}

pub(super) fn read(
    concepts: &Part,
    attributes: Option<&Part>,
    relations: Option<&Part>,
    version: Option<String>,
) -> Result<CodeSystem, TerminologyError> {
    let mut builder = Builder::new(Head::complete(systems::RXNORM, version));
    let types = concepts.read(|reader| take_concepts(&mut Lines::new(reader, &concepts.name), &mut builder))?;
    if let Some(attributes) = attributes {
        attributes.read(|reader| take_ndcs(&mut Lines::new(reader, &attributes.name), &mut builder))?;
    }
    if let Some(relations) = relations {
        relations.read(|reader| take_ingredients(&mut Lines::new(reader, &relations.name), &mut builder, &types))?;
    }
    builder.finish()
}

/// The term types of concepts. `atoms` has an entry for each concept, and `names` has the name of each term type.
struct Types {
    names: Vec<String>,
    atoms: Vec<Atom>,
}

impl Types {
    fn of(&self, place: u32) -> &str {
        let number = self.atoms[place as usize].term_type;
        self.names.get(usize::from(number)).map_or("", String::as_str)
    }
}

/// Reads RXNCONSO. Its columns are RXCUI, LAT, TS, LUI, STT, SUI, ISPREF, RXAUI, SAUI, SCUI, SDUI, SAB, TTY, CODE, STR,
/// SRL, SUPPRESS, CVF.
fn take_concepts(lines: &mut Lines<'_>, builder: &mut Builder) -> Result<Types, TerminologyError> {
    let mut types = Types {
        names: Vec::new(),
        atoms: Vec::new(),
    };
    while lines.advance()? {
        let mut fields = [""; 19];
        if split(lines.text(), &mut fields) != 19 {
            return Err(lines.fail("the 18 fields of RXNCONSO").into());
        }
        let (code, source, term_type, name) = (fields[0], fields[11], fields[12], fields[14]);
        if source != OWN {
            continue;
        }
        if code.is_empty() || name.is_empty() {
            return Err(lines.fail("a code and a name").into());
        }
        let (place, added) = builder.concept(code)?;
        if added {
            let none = Atom {
                rank: u8::MAX,
                term_type: u8::MAX,
            };
            types.atoms.push(none);
        }
        let synonym = match term_type {
            "PSN" => 1,
            "SY" | "TMSY" => 2,
            "ET" => 3,
            _ => 0,
        };
        let rank = synonym + if fields[16] == "N" { 0 } else { 4 };
        let known = types.atoms[place as usize];
        if rank < known.rank {
            builder.display(place, name)?;
            types.atoms[place as usize].rank = rank;
        }
        if synonym == 0 && (known.term_type == u8::MAX || rank < known.rank) {
            let number = types.names.iter().position(|known| known == term_type);
            let number = number.unwrap_or_else(|| {
                types.names.push(term_type.to_string());
                types.names.len() - 1
            });
            let number = u8::try_from(number).map_err(|_| lines.fail("a term type of RxNorm"))?;
            types.atoms[place as usize].term_type = number;
        }
    }
    for place in 0..builder.len() as u32 {
        if !types.of(place).is_empty() {
            builder.property(place, "TTY", types.of(place))?;
        }
    }
    Ok(types)
}

/// Reads the NDCs in RXNSAT. Its columns are RXCUI, LUI, SUI, RXAUI, STYPE, CODE, ATUI, SATUI, ATN, SAB, ATV, SUPPRESS,
/// CVF. If an NDC has rows that are not suppressed, its suppressed rows are ignored.
fn take_ndcs(lines: &mut Lines<'_>, builder: &mut Builder) -> Result<(), TerminologyError> {
    let (mut current, mut suppressed) = (Vec::new(), Vec::new());
    while lines.advance()? {
        let mut fields = [""; 14];
        if split(lines.text(), &mut fields) != 14 {
            return Err(lines.fail("the 13 fields of RXNSAT").into());
        }
        if fields[8] != "NDC" || fields[9] != OWN {
            continue;
        }
        let ndc = ndc::eleven_digits(fields[10]).and_then(|ndc| ndc::number(&ndc));
        if let (Some(ndc), Some(place)) = (ndc, builder.place(fields[0])) {
            let rows = if fields[11] == "N" {
                &mut current
            } else {
                &mut suppressed
            };
            rows.push((ndc, place));
        }
    }
    let known: FxHashSet<u64> = current.iter().map(|(ndc, _)| *ndc).collect();
    suppressed.retain(|(ndc, _)| !known.contains(ndc));
    for (ndc, place) in current.into_iter().chain(suppressed) {
        builder.ndc(ndc, place);
    }
    Ok(())
}

/// Reads RXNREL, and gives each drug its ingredients as properties. The columns of RXNREL are RXCUI1, RXAUI1, STYPE1,
/// REL, RXCUI2, RXAUI2, STYPE2, RELA, RUI, SRUI, SAB, SL, DIR, RG, SUPPRESS, CVF.
fn take_ingredients(lines: &mut Lines<'_>, builder: &mut Builder, types: &Types) -> Result<(), TerminologyError> {
    let mut pairs = Vec::new();
    while lines.advance()? {
        let mut fields = [""; 17];
        if split(lines.text(), &mut fields) != 17 {
            return Err(lines.fail("the 16 fields of RXNREL").into());
        }
        if fields[10] != OWN || !DOWN.contains(&fields[7]) {
            continue;
        }
        if let (Some(part), Some(drug)) = (builder.place(fields[0]), builder.place(fields[4]))
            // Do not follow a brand name (BN). It has several products, so it would lead to the ingredients of other
            // products.
            && types.of(part) != "BN"
        {
            pairs.push((drug, part));
        }
    }
    let links = Links::new(builder.len(), pairs);
    for place in 0..builder.len() as u32 {
        let (mut waiting, mut seen) = (vec![place], FxHashSet::from_iter([place]));
        while let Some(from) = waiting.pop() {
            if types.of(from) == "IN" {
                let code = builder.code(from).to_string();
                builder.property(place, INGREDIENT, &code)?;
                continue;
            }
            waiting.extend(links.of(from).iter().filter(|part| seen.insert(**part)));
        }
    }
    Ok(())
}

/// Splits a line into `fields`. Returns the number of fields in the line, even if `fields` is too short for all of
/// them.
fn split<'l>(line: &'l str, fields: &mut [&'l str]) -> usize {
    let mut count = 0;
    for field in line.split('|') {
        if let Some(slot) = fields.get_mut(count) {
            *slot = field;
        }
        count += 1;
    }
    count
}
