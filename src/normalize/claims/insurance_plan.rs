//! InsurancePlan from Coverage of Medicare Advantage: one for each contract, plan, segment and year of a source.

use std::collections::BTreeMap;

use super::out::{Context, Origin, Output};
use super::read::claim::{list, party, span};
use super::read::code::{coding, concept};
use super::read::own::is_marked;
use super::read::party::{Directory, Party};
use super::read::text::{Name, Names, Object, day_of, quoted, year_of};
use super::tables::plan_table;
use crate::columns::json::Value;
use crate::normalize::additions::Addition;
use crate::normalize::record::{Record, SourceId};
use crate::normalize::report::Rule;

/// The extension with which R4 represents `Coverage.insurancePlan` of R5.
const INSURANCE_PLAN: &str = "http://hl7.org/fhir/5.0/StructureDefinition/extension-Coverage.insurancePlan";

/// If a period ends more than this many years after its start, its end counts as unknown, because payers write 9999 or
/// 2099 for an unknown end.
const MAX_YEARS: i32 = 10;

/// CMS's numbers of a plan: contract, plan and segment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct PlanId {
    contract: String,
    plan: Option<String>,
    segment: Option<String>,
}

impl PlanId {
    /// Parses `H1234`, `H1234-001` or `H1234-001-000`, also with another separator than a hyphen. Returns `None` for
    /// any other text, and for `S` contracts, which are stand-alone Part D.
    fn read(text: &str) -> Option<PlanId> {
        let text = text.trim();
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let contract = text.get(..5)?;
        if !contract.starts_with(['H', 'R', 'E']) || !digits(&contract[1..]) {
            return None;
        }
        let mut parts = text[5..].split(['-', '_', ' ', '/']);
        let (plan, segment) = match (parts.next()?, parts.next(), parts.next(), parts.next()) {
            ("", None, ..) => (None, None),
            ("", Some(plan), None, _) => (Some(plan), None),
            ("", Some(plan), Some(segment), None) => (Some(plan), Some(segment)),
            _ => return None,
        };
        let fits = |part: Option<&str>| part.is_none_or(|part| digits(part) && part.len() <= 3);
        if !fits(plan) || !fits(segment) {
            return None;
        }
        let three = |part: &str| format!("{part:0>3}");
        Some(PlanId {
            contract: contract.to_owned(),
            plan: plan.map(three),
            segment: segment.map(three),
        })
    }

    fn text(&self) -> String {
        let parts = [Some(&self.contract), self.plan.as_ref(), self.segment.as_ref()];
        let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        parts.join("-")
    }
}

/// The facts of a Coverage of Part C.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Coverage {
    source: SourceId,
    id: Name,
    plan: PlanId,
    year: Option<i32>,
    name: Option<Name>,
    payor: Option<Party>,
}

impl Coverage {
    /// Reads a Coverage. Returns `None` if it is cancelled or in error, if it has no Part C contract, or if the source
    /// itself has set a reference to an InsurancePlan. Ignores a reference that a rule has added. `mark` is the URL of
    /// the extension that marks such additions.
    pub(super) fn read(record: &Record<'_>, mark: &str, names: &mut Names) -> Option<Coverage> {
        let root = record.json;
        let own = |extension: Value<'_>| {
            let reference = extension.get("valueReference");
            extension.get_str("url").as_deref() == Some(INSURANCE_PLAN)
                && reference.is_none_or(|reference| !is_marked(reference, mark))
        };
        let status = root.get_str("status");
        if matches!(status.as_deref(), Some("cancelled" | "entered-in-error")) || list(root, "extension").any(own) {
            return None;
        }
        let mut told = Told::default();
        for identifier in list(root, "identifier") {
            let kind = identifier.get("type");
            let words = [identifier.get_str("system"), kind.and_then(|kind| kind.get_str("text"))];
            if !words.iter().flatten().any(|word| is_part_d(word)) {
                told.plan_id(identifier.get_str("value").as_deref());
            }
        }
        for extension in list(root, "extension") {
            told.extension(extension);
        }
        let mut name = None;
        for class in list(root, "class") {
            let codings = class.get("type").into_iter().flat_map(|kind| list(kind, "coding"));
            let codes: Vec<String> = codings
                .filter_map(|coding| Some(coding.get_str("code")?.into_owned()))
                .collect();
            if codes.iter().any(|code| is_part_d(code)) {
                continue;
            }
            let value = class.get_str("value");
            told.plan_id(value.as_deref());
            if codes.iter().any(|code| code == "plan") {
                told.plan_number(value.as_deref());
                name = class.get_str("name").map(|text| names.keep(&text)).or(name);
            }
        }
        let period = span(root.get("period"), names);
        let start = period.start.map(|when| year_of(when.day));
        let end = period.end.map(|when| year_of(when.day));
        let end = end.filter(|end| start.is_none_or(|start| (start..=start + MAX_YEARS).contains(end)));
        let payors = root.get("payor").into_iter().flat_map(|list| list.items());
        let payor = payors.filter_map(|value| Party::read(value, root, names)).next();
        Some(Coverage {
            source: record.source,
            id: names.keep(record.id),
            plan: told.decide()?,
            year: told.year.or(end).or(start),
            name,
            payor: payor.or_else(|| party(root, "policyHolder", root, names).filter(|party| party.is("Organization"))),
        })
    }

    /// Returns the record from which the Coverage was read.
    pub(super) fn origin(&self) -> Origin {
        Origin {
            source: self.source,
            resource_type: "Coverage",
            id: self.id.clone(),
        }
    }

    /// Returns a hash of the facts of the Coverage.
    pub(super) fn fingerprint(&self, directory: &Directory) -> u64 {
        use std::hash::{Hash, Hasher};
        let mut hasher = siphasher::sip::SipHasher24::new();
        (&self.id, &self.plan, self.year, &self.name).hash(&mut hasher);
        let payor = self.payor.as_ref().map(|party| directory.key(self.source, party));
        payor.hash(&mut hasher);
        hasher.finish()
    }
}

/// What the parts of a Coverage tell about its plan.
#[derive(Default)]
struct Told {
    /// The plan ids, in the order in which the Coverage has them.
    ids: Vec<PlanId>,
    /// CMS's contract number of each month, by month.
    contracts: BTreeMap<u32, String>,
    /// CMS's plan number of each month, by month.
    numbers: BTreeMap<u32, String>,
    /// A plan number that the Coverage states without a contract.
    number: Option<String>,
    /// The year in CMS's extension `rfrnc_yr`.
    year: Option<i32>,
}

impl Told {
    fn plan_id(&mut self, text: Option<&str>) {
        self.ids.extend(text.and_then(PlanId::read));
    }

    fn plan_number(&mut self, text: Option<&str>) {
        let fits = |text: &&str| text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
        if let Some(text) = text.filter(fits) {
            self.number = Some(text.to_owned());
        }
    }

    fn extension(&mut self, extension: Value<'_>) {
        let Some(url) = extension.get_str("url") else { return };
        if is_part_d(&url) {
            return;
        }
        for part in list(extension, "extension") {
            self.extension(part);
        }
        let value = extension
            .get_str("valueString")
            .or_else(|| extension.get_str("valueCode"))
            .or_else(|| extension.get_str("valueId"))
            .or_else(|| extension.get("valueCoding")?.get_str("code"))
            .or_else(|| extension.get("valueIdentifier")?.get_str("value"));
        let variable = url.rsplit('/').next().unwrap_or_default();
        if variable == "rfrnc_yr" {
            let date = extension.get_str("valueDate");
            self.year = date.and_then(|date| date.get(..4)?.parse().ok());
        } else if let Some(month) = variable.strip_prefix("ptc_pbp_id_") {
            let number = value.filter(|value| PlanId::read(&format!("H0000-{value}")).is_some());
            if let (Ok(month), Some(number)) = (month.parse(), number) {
                self.numbers.insert(month, format!("{number:0>3}"));
            }
        } else if let Some(month) = variable.strip_prefix("ptc_cntrct_id_") {
            let contract = value.and_then(|value| PlanId::read(&value));
            if let (Ok(month), Some(id)) = (month.parse(), contract) {
                self.contracts.insert(month, id.contract);
            }
        } else {
            self.plan_id(value.as_deref());
        }
    }

    /// Returns the plan of the last month for which CMS gives a contract. If CMS gives none, returns the most specific
    /// plan id.
    fn decide(&self) -> Option<PlanId> {
        if let Some((month, contract)) = self.contracts.last_key_value() {
            return Some(PlanId {
                contract: contract.clone(),
                plan: self.numbers.get(month).cloned(),
                segment: None,
            });
        }
        let said = |id: &&PlanId| (id.segment.is_none(), id.plan.is_none());
        let mut id = self.ids.iter().min_by_key(said)?.clone();
        id.plan = id.plan.or_else(|| self.number.clone());
        Some(id)
    }
}

/// Whether a name contains a word for Part D.
fn is_part_d(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["ptd", "partd", "part-d", "part d", "part_d", "rx", "pdp"]
        .iter()
        .any(|word| name.contains(word))
}

/// Makes the InsurancePlans. Adds to each Coverage a reference to its InsurancePlan.
pub(super) fn make(mut coverages: Vec<Coverage>, context: &Context<'_>, out: &mut Output) {
    coverages.sort_by(|a, b| (a.source, &a.id).cmp(&(b.source, &b.id)));
    let mut plans: BTreeMap<(SourceId, &PlanId, Option<i32>), Vec<&Coverage>> = BTreeMap::new();
    for coverage in &coverages {
        let key = (coverage.source, &coverage.plan, coverage.year);
        plans.entry(key).or_default().push(coverage);
    }
    for ((source, plan, year), coverages) in plans {
        let rule = Rule::InsurancePlan;
        let shown = year.map_or_else(String::new, |year| year.to_string());
        let seed = format!("{}|{}|{shown}", rule.name(), plan.text());
        let Some(id) = context.id(source, "InsurancePlan", &seed) else {
            continue;
        };
        let json = write(&id, source, plan, year, &coverages, context);
        let origins = coverages.iter().map(|coverage| coverage.origin());
        out.make(rule, source, "InsurancePlan", &id, json, origins);
        for coverage in coverages {
            let mut value = Object::new();
            value.list("extension", &[context.mark(source, rule)]);
            value.text("reference", &format!("InsurancePlan/{id}"));
            let mut json = Object::new();
            json.text("url", INSURANCE_PLAN).raw("valueReference", &value.json());
            let addition = Addition {
                element: "extension",
                json: json.json(),
                rule,
            };
            out.add("Coverage", &coverage.id, addition);
        }
    }
}

fn write(
    id: &str,
    source: SourceId,
    plan: &PlanId,
    year: Option<i32>,
    coverages: &[&Coverage],
    context: &Context<'_>,
) -> String {
    let plans = context.settings.plans;
    let known = plans.plan(&plan.contract, plan.plan.as_deref(), plan.segment.as_deref(), year);
    let known = known.unwrap_or_default();
    let base = context.source(source).map_or("", |source| &source.tag_system_base);
    let mut json = context.resource(source, "InsurancePlan", id, &[Rule::InsurancePlan]);
    let mut identifier = Object::new();
    identifier
        .text("system", &format!("{base}/CmsPlanId"))
        .text("value", &plan.text());
    json.list("identifier", &[identifier.json()]);
    let product = "http://hl7.org/fhir/us/davinci-pdex-plan-net/CodeSystem/InsuranceProductTypeCS";
    let kind = concept(
        vec![coding(product, "mediadv", Some("Medicare Advantage"))],
        Some("Medicare Advantage"),
    );
    json.text("status", "active").list("type", &Vec::from_iter(kind));
    let said: Vec<&str> = coverages
        .iter()
        .filter_map(|coverage| coverage.name.as_deref())
        .collect();
    let names = known.name.iter().map(String::as_str).chain(said);
    let names: Vec<&str> = distinct(names.chain(known.aliases.iter().map(String::as_str)));
    if let Some((name, aliases)) = names.split_first() {
        let aliases: Vec<String> = aliases.iter().map(|alias| quoted(alias)).collect();
        json.text("name", name).list("alias", &aliases);
    }
    if let Some(year) = year.filter(|year| day_of(&format!("{year}-01-01")).is_some()) {
        let mut period = Object::new();
        period
            .text("start", &format!("{year}-01-01"))
            .text("end", &format!("{year}-12-31"));
        json.raw("period", &period.json());
    }
    let payor = coverages.iter().find_map(|coverage| coverage.payor.as_ref());
    let payor = payor.filter(|party| party.may_be(&["Organization"]));
    let named = |name: &String| format!("{{\"display\":{}}}", quoted(name));
    let owner = payor.map(|party| {
        let display = party
            .display
            .clone()
            .or_else(|| known.organization.as_deref().map(Into::into));
        let party = Party {
            display,
            ..party.clone()
        };
        context.directory.json(source, &party)
    });
    json.maybe("ownedBy", owner.or_else(|| known.organization.as_ref().map(named)));
    plan_table::write(&known, &mut json);
    json.json()
}

/// Returns each text once, compared without regard to case. The first spelling counts.
fn distinct<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<&'t str> {
    let mut distinct: Vec<&str> = Vec::new();
    for text in texts {
        if !distinct.iter().any(|known| known.eq_ignore_ascii_case(text)) {
            distinct.push(text);
        }
    }
    distinct
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plan_ids_are_of_part_c() {
        let text = |text: &str| PlanId::read(text).map(|id| id.text());
        assert_eq!(text("H1234").as_deref(), Some("H1234"));
        assert_eq!(text("H1234-001").as_deref(), Some("H1234-001"));
        assert_eq!(text(" R5826-3-0 ").as_deref(), Some("R5826-003-000"));
        assert_eq!(text("E0654_801_000").as_deref(), Some("E0654-801-000"));
        for other in [
            "S5601",
            "H123",
            "H12345",
            "H1234-",
            "H1234-1234",
            "H1234-001-000-1",
            "HX234",
            "1234",
            "H1234A",
            "",
        ] {
            assert_eq!(text(other), None, "{other}");
        }
    }

    #[test]
    fn part_d_is_known_by_name() {
        for name in [
            "https://bluebutton.cms.gov/resources/variables/ptdcntrct01",
            "rxbin",
            "Part D contract",
        ] {
            assert!(is_part_d(name), "{name}");
        }
        assert!(!is_part_d(
            "https://bluebutton.cms.gov/resources/variables/ptc_cntrct_id_01"
        ));
    }
}
