//! Finds the columns of a publication by their headings, which differ from year to year.

use super::publication::{Publication, heading};
use crate::published::CsvTable;

/// The stored facts about a plan or contract besides its id and areas, in the order of the table's columns.
pub(super) const FIELDS: [&str; 16] = [
    "name",
    "organization",
    "legal_name",
    "parent",
    "kind",
    "premium",
    "premium_part_c",
    "premium_part_d",
    "contact_name",
    "contact_title",
    "phone",
    "email",
    "street",
    "city",
    "state",
    "postal_code",
];

/// The indexes of the facts in `FIELDS`.
pub(super) mod field {
    pub(in crate::plans) const NAME: usize = 0;
    pub(in crate::plans) const ORGANIZATION: usize = 1;
    pub(in crate::plans) const LEGAL_NAME: usize = 2;
    pub(in crate::plans) const PARENT: usize = 3;
    pub(in crate::plans) const KIND: usize = 4;
    pub(in crate::plans) const PREMIUM: usize = 5;
    pub(in crate::plans) const PART_C: usize = 6;
    pub(in crate::plans) const PART_D: usize = 7;
    pub(in crate::plans) const CONTACT_NAME: usize = 8;
    pub(in crate::plans) const CONTACT_TITLE: usize = 9;
    pub(in crate::plans) const PHONE: usize = 10;
    pub(in crate::plans) const EMAIL: usize = 11;
    pub(in crate::plans) const STREET: usize = 12;
    pub(in crate::plans) const CITY: usize = 13;
    pub(in crate::plans) const STATE: usize = 14;
    pub(in crate::plans) const POSTAL_CODE: usize = 15;
}

/// The indexes of the columns in one file.
pub(super) struct Columns {
    pub(super) contract: Option<usize>,
    pub(super) plan: Option<usize>,
    pub(super) segment: Option<usize>,
    pub(super) year: Option<usize>,
    pub(super) state: Option<usize>,
    pub(super) county: Option<usize>,
    /// The index of the column that has an asterisk if the plan is only for groups of employees.
    pub(super) employers: Option<usize>,
    /// For each fact, the columns whose texts are joined, and the text that is put between them.
    fields: [(Vec<usize>, &'static str); FIELDS.len()],
}

impl Columns {
    pub(super) fn new(table: &CsvTable<'_>, publication: Publication) -> Columns {
        let headings: Vec<String> = table.header().iter().map(|name| heading(name)).collect();
        let any = |names: &[&str]| {
            let mut found = names
                .iter()
                .filter_map(|name| headings.iter().position(|known| known == name));
            found.next()
        };
        let beginning = |name: &str| headings.iter().position(|known| known.starts_with(name));
        let all = |names: &[&str]| names.iter().filter_map(|name| any(&[name])).collect::<Vec<_>>();
        let one = |found: Option<usize>| (Vec::from_iter(found), " ");
        let marketing = any(&["ORGANIZATION MARKETING NAME"]);
        let plain = any(&["ORGANIZATION NAME"]);
        // The heading ORGANIZATION NAME has two meanings. It is the legal name if the file also has ORGANIZATION
        // MARKETING NAME, and in the file of service areas. In the Landscape of earlier years, it is the name that
        // members know.
        let is_legal = marketing.is_some() || publication == Publication::ServiceArea;
        let (organization, legal) = if is_legal {
            (marketing, any(&["LEGAL ENTITY NAME", "CONTRACT NAME"]).or(plain))
        } else {
            (plain, any(&["LEGAL ENTITY NAME", "CONTRACT NAME"]))
        };
        let contact = |part: &str| format!("DIRECTORY CONTACT {part}");
        let contacts = |parts: &[&str]| {
            let names: Vec<String> = parts.iter().map(|part| contact(part)).collect();
            all(&names.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let fields = [
            one(any(&["PLAN NAME"])),
            one(organization),
            one(legal),
            one(any(&["PARENT ORGANIZATION NAME", "PARENT ORGANIZATION"])),
            one(any(&["TYPE OF MEDICARE HEALTH PLAN", "PLAN TYPE"])),
            one(beginning("MONTHLY CONSOLIDATED PREMIUM")),
            one(any(&["PART C PREMIUM"])),
            one(any(&["PART D TOTAL PREMIUM"])),
            (contacts(&["FIRST NAME", "MIDDLE INITIAL", "LAST NAME"]), " "),
            (contacts(&["TITLE"]), " "),
            (contacts(&["PHONE", "PHONE EXT"]), " ext. "),
            (contacts(&["EMAIL"]), " "),
            (contacts(&["STREET ADDRESS", "STREET ADDRESS2"]), ", "),
            (contacts(&["CITY"]), " "),
            (contacts(&["STATE"]), " "),
            (contacts(&["ZIP"]), " "),
        ];
        Columns {
            contract: any(&["CONTRACT ID", "CONTRACT NUMBER"]),
            plan: any(&["PLAN ID"]),
            segment: any(&["SEGMENT ID"]),
            year: any(&["CONTRACT YEAR"]),
            state: any(&["STATE TERRITORY ABBREVIATION", "STATE"]),
            county: any(&["COUNTY NAME", "COUNTY"]),
            employers: (publication == Publication::ServiceArea)
                .then(|| any(&["EGHP"]))
                .flatten(),
            fields,
        }
    }

    /// Returns a fact about the plan or contract of the current row. Empty if the row does not have it.
    pub(super) fn field(&self, table: &CsvTable<'_>, field: usize) -> String {
        let (columns, between) = &self.fields[field];
        let texts: Vec<String> = columns
            .iter()
            .map(|column| table.field(*column))
            .filter(|text| !text.is_empty())
            .collect();
        texts.join(between)
    }
}
