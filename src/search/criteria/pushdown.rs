//! Pushes a criterion down to the scan as a [`Necessary`] condition. This condition has two parts: exact conditions on
//! the texts of items, which the scan decides on dictionary codes, and conditions that statistics can refute.
//!
//! Both parts are possible only if it is known from which columns the parameter's values come. An exact condition also
//! requires that the program yields all values of these columns, or all references in them to one type. A criterion
//! without any such condition is evaluated row by row.

use std::sync::Arc;

use super::super::parameters::contained::COLUMN;
use super::super::parameters::parameter::Compiled;
use super::super::parameters::plain::{self, RootElement};
use super::super::parameters::query::Query;
use super::super::parameters::values::{DateValue, NumberValue, Prefix, ReferenceValue, TokenValue};
use super::criterion::{Condition, Criterion, Test};
use super::matcher::{MAX_ALTERNATIVES, Many, Matcher};
use crate::columns::conditions::{Alternative, Decisive, IdSet, ItemMatch, LeafTest, Necessary, Prune};
use crate::fhir::storage::{END, NUMBER, NUMBER_SCALE, REFERENCE_ID, REFERENCE_TYPE, START};
use crate::fhir::{Kind, Primitive, TypeId, facts};
use crate::fhirpath::{Origin, Selection};

/// The number 1, times 10^18. The columns of decimals hold numbers in this form.
const ONE: i128 = 10i128.pow(NUMBER_SCALE as u32);

/// Returns conditions that every row that matches the criterion must meet.
pub(in crate::search) fn necessary(query: &Query, criterion: &Criterion) -> Necessary {
    let prune = refutable(criterion);
    // Nothing is known of a criterion with the prefix `ne`, so such a criterion is never decided.
    let decides = if is_of_moments(criterion) {
        Decisive::of(prune.clone())
    } else {
        None
    };
    let mut necessary = Necessary {
        prune,
        decides,
        ..Necessary::default()
    };
    if let Some(found) = alternatives(query, criterion) {
        necessary.exact = true;
        match <[Alternative; 1]>::try_from(found) {
            Ok([only]) => necessary.items.push(only.condition),
            Err(several) => necessary.either.push(several),
        }
    }
    necessary
}

/// Returns the criterion as alternatives, each with the owners of the rows that can meet it. Returns `None` if the scan
/// cannot decide the criterion exactly.
fn alternatives(query: &Query, criterion: &Criterion) -> Option<Vec<Alternative>> {
    let parts = match &criterion.condition {
        Condition::Any(parts) => parts.as_slice(),
        _ => std::slice::from_ref(criterion),
    };
    let mut found = Vec::new();
    for part in parts {
        let owners = query.filed.as_ref().and_then(|filed| filed.owners(query.type_id, part));
        let exact = exact(query.type_id, part)?.into_iter();
        found.extend(exact.map(|condition| Alternative {
            condition,
            owners: owners.clone(),
        }));
    }
    (!found.is_empty()).then_some(found)
}

/// Returns the criterion as alternatives that the scan decides exactly. Returns `None` if the scan cannot decide a part
/// of the criterion exactly.
fn exact(type_id: TypeId, criterion: &Criterion) -> Option<Vec<ItemMatch>> {
    match &criterion.condition {
        Condition::Values {
            compiled,
            test: Test::AnyOf { matchers, not: false },
        } => {
            let origins = compiled.program.origins();
            let found = origins.map(|origin| item_match(type_id, criterion, compiled, origin, matchers));
            found.collect::<Option<Vec<_>>>().filter(|found| !found.is_empty())
        }
        Condition::Any(parts) => {
            let found = parts.iter().map(|part| exact(type_id, part));
            let found = found.collect::<Option<Vec<_>>>()?.concat();
            (!found.is_empty()).then_some(found)
        }
        _ => None,
    }
}

/// Returns the condition that an item in one of the columns of a parameter's values matches one of the matchers.
/// Returns `None` if the scan cannot decide it exactly.
fn item_match(
    type_id: TypeId,
    criterion: &Criterion,
    compiled: &Compiled,
    origin: Origin<'_>,
    matchers: &[Matcher],
) -> Option<ItemMatch> {
    let names = leaf_names(origin, matchers.first()?)?;
    let path = origin.path.filter(|path| !path.is_empty())?;
    if *names == [""] && facts().child(type_id, path).is_none_or(|child| child.element.many) {
        return None;
    }
    let leaves = names.iter().map(|name| {
        if name.is_empty() {
            path.into()
        } else {
            format!("{path}.{name}").into()
        }
    });
    let tests = matchers.iter().map(|matcher| leaf_tests(compiled, origin, matcher));
    let any_of: Vec<Vec<LeafTest>> = tests.collect::<Option<_>>()?;
    (any_of.len() <= MAX_ALTERNATIVES).then(|| ItemMatch {
        leaves: leaves.collect(),
        any_of,
        label: criterion.label.as_str().into(),
    })
}

/// Returns the names of the item's leaves that the matcher compares. An empty name means the item itself. Returns
/// `None` if the scan cannot decide this kind of matcher on this type of item.
fn leaf_names(origin: Origin<'_>, matcher: &Matcher) -> Option<&'static [&'static str]> {
    let type_def = facts().get(origin.item_type.fhir()?);
    match (matcher, type_def.name) {
        (Matcher::Token(_), "CodeableConcept") => Some(&["coding.system", "coding.code"]),
        (Matcher::Token(_), "Coding") => Some(&["system", "code"]),
        (Matcher::Token(_), "Identifier" | "ContactPoint") => Some(&["system", "value"]),
        (
            Matcher::Reference(ReferenceValue::Relative { .. }) | Matcher::RefersTo(_) | Matcher::PointsTo(_),
            "Reference",
        ) => Some(&[REFERENCE_TYPE, REFERENCE_ID]),
        // The item is a string itself, so the item is the leaf. `item_match` accepts this only for a root element that
        // does not repeat. An `ItemMatch` needs leaves that are fields of a struct, or columns at the table's root, and
        // a list of strings is neither.
        (Matcher::Token(_) | Matcher::Id(_) | Matcher::OneOf(_) | Matcher::Uri(_) | Matcher::Exact(_), _)
            if is_text(type_def.kind) =>
        {
            Some(&[""])
        }
        _ => None,
    }
}

fn is_text(kind: Kind) -> bool {
    use Primitive::{Boolean, Date, DateTime, Decimal, Instant, Integer, PositiveInt, Time, UnsignedInt};
    let Kind::Primitive(primitive) = kind else { return false };
    !matches!(
        primitive,
        Boolean | Integer | PositiveInt | UnsignedInt | Decimal | Date | DateTime | Instant | Time
    )
}

/// Returns the test of each leaf for a matcher. Returns `None` if the tests would not be exact.
fn leaf_tests(compiled: &Compiled, origin: Origin<'_>, matcher: &Matcher) -> Option<Vec<LeafTest>> {
    let selection = compiled.program.selection();
    let reference = |type_id: Option<TypeId>, id: LeafTest| {
        let of_type = pointed(selection, type_id)?
            .map_or(LeafTest::Any, |type_id| LeafTest::Is(facts().get(type_id).name.into()));
        Some(vec![of_type, id])
    };
    match matcher {
        Matcher::Reference(ReferenceValue::Relative { type_id, id }) => {
            return reference(*type_id, LeafTest::Is(id.as_str().into()));
        }
        Matcher::RefersTo(targets) => return reference(Some(targets.type_id), LeafTest::In(targets.ids.clone())),
        Matcher::PointsTo(ids) => return reference(None, LeafTest::In(ids.clone())),
        _ => {}
    }
    if selection != Selection::All {
        return None;
    }
    match matcher {
        Matcher::Token(token) if is_text(facts().get(origin.item_type.fhir()?).kind) => {
            Some(vec![token.code.as_deref().map(code)?])
        }
        Matcher::Token(token) => pair(token),
        Matcher::Id(id) => Some(vec![LeafTest::In(Arc::new(IdSet::from_iter([id])))]),
        Matcher::OneOf(ids) => Some(vec![LeafTest::In(ids.clone())]),
        Matcher::Uri(text) | Matcher::Exact(text) => Some(vec![LeafTest::Is(text.as_str().into())]),
        _ => None,
    }
}

/// Returns the target type that a reference must have: `Some(None)` means that any type matches. Returns `None` if type
/// and id alone do not decide the match.
fn pointed(selection: Selection, asked: Option<TypeId>) -> Option<Option<TypeId>> {
    match (selection, asked) {
        (Selection::All, asked) => Some(asked),
        (Selection::PointingTo(type_id), None) => Some(Some(type_id)),
        (Selection::PointingTo(type_id), Some(asked)) if type_id == asked => Some(Some(type_id)),
        _ => None,
    }
}

fn pair(token: &TokenValue) -> Option<Vec<LeafTest>> {
    let system = match token.system.as_deref() {
        None => LeafTest::Any,
        Some("") => LeafTest::Absent,
        Some(system) => LeafTest::Is(system.into()),
    };
    let code = token.code.as_deref().map_or(LeafTest::Any, code);
    let says_something = [&system, &code]
        .into_iter()
        .any(|test| matches!(test, LeafTest::Is(_) | LeafTest::Like(_)));
    says_something.then(|| vec![system, code])
}

/// Returns the test for a code. Codes are compared without regard to case. For a code without letters, equality is
/// enough.
fn code(code: &str) -> LeafTest {
    if code.bytes().any(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii()) {
        LeafTest::Like(code.into())
    } else {
        LeafTest::Is(code.into())
    }
}

/// Whether the condition that [`refutable`] returns, if it knows one, decides the criterion for all values but Timings
/// and repeated Periods: the search has a few dates, and no date of the resource repeats. A set of many dates does not
/// count, because to compare a value with the set costs less than to check the conditions of all dates.
fn is_of_moments(criterion: &Criterion) -> bool {
    let Some((compiled, Test::AnyOf { matchers, not: false })) = criterion.values() else {
        return false;
    };
    let Some(plain) = &compiled.plain else { return false };
    let is_single = |(place, origin): (&RootElement, Origin<'_>)| {
        let type_id = origin.item_type.fhir();
        let name = type_id.map(|type_id| facts().get(type_id).name);
        place.kind == plain::Kind::Moment || !matches!(name, Some("date" | "dateTime" | "instant"))
    };
    matchers.iter().all(|matcher| matches!(matcher, Matcher::Date(_)))
        && plain.places.iter().zip(compiled.program.origins()).all(is_single)
}

/// Returns a necessary condition of the criterion that statistics may refute.
fn refutable(criterion: &Criterion) -> Prune {
    if let Condition::Holds(_) | Condition::Inside { .. } = criterion.condition {
        return Prune::Present { leaf: COLUMN.into() };
    }
    let Some((compiled, Test::AnyOf { matchers, not: false })) = criterion.values() else {
        return Prune::Keep;
    };
    if matchers.iter().all(Matcher::is_vain) {
        return Prune::Nothing;
    }
    if let Some(numbers) = numbers(matchers) {
        return with_numbers(compiled, &numbers).unwrap_or_default();
    }
    let dates = matchers.iter().map(|matcher| match matcher {
        Matcher::Date(date) => Some(std::slice::from_ref(date)),
        Matcher::OneOfMany(many) => match &**many {
            Many::Dates(set) => Some(set.values()),
            _ => None,
        },
        _ => None,
    });
    let Some(dates) = dates.collect::<Option<Vec<_>>>().map(|dates| dates.concat()) else {
        return Prune::Keep;
    };
    let mut any = Vec::new();
    for (at, origin) in compiled.program.origins().enumerate() {
        let (Some(path), Some(type_id)) = (origin.path, origin.item_type.fhir()) else {
            return Prune::Keep;
        };
        let place = compiled.plain.as_ref().and_then(|plain| plain.places.get(at));
        let bounds = match facts().get(type_id).name {
            "date" | "dateTime" | "instant" => Bounds::of_date(path),
            "Period" if place.is_some_and(|place| place.kind == plain::Kind::Period) => Bounds::of_period(path),
            "Period" => {
                any.extend(present(path, &["start__start", "end__end"]));
                continue;
            }
            "Timing" => {
                let leaves = [
                    "event__start",
                    "event__end",
                    "repeat.boundsPeriod.start__start",
                    "repeat.boundsPeriod.end__end",
                ];
                any.extend(present(path, &leaves));
                continue;
            }
            _ => return Prune::Keep,
        };
        for date in &dates {
            match bounds.within(date) {
                Some(condition) => any.push(condition),
                None => return Prune::Keep,
            }
        }
    }
    Prune::Or(any)
}

/// Returns the numbers that these matchers compare, whatever their units. Returns `None` if a matcher compares anything
/// else.
fn numbers(matchers: &[Matcher]) -> Option<Vec<&NumberValue>> {
    let mut found = Vec::new();
    for matcher in matchers {
        match matcher {
            Matcher::Number(number) => found.push(number),
            Matcher::Quantity(quantity) => found.push(&quantity.number),
            Matcher::OneOfMany(many) => match &**many {
                Many::Numbers(set) => found.extend(set.values()),
                Many::Quantities(set) => found.extend(set.values()),
                _ => return None,
            },
            _ => return None,
        }
    }
    (!found.is_empty()).then_some(found)
}

/// The maximum number of separate ranges. If there are more numbers, one range covers all of them.
const FEW_NUMBERS: usize = 8;

/// Returns the condition that a value of the parameter may match one of these numbers. Units are not compared. Returns
/// `None` if the bounds of a number are unknown, or if it is unknown which leaves have the numbers.
fn with_numbers(compiled: &Compiled, numbers: &[&NumberValue]) -> Option<Prune> {
    let mut ranges = numbers
        .iter()
        .map(|number| number.bounds())
        .collect::<Option<Vec<_>>>()?;
    if ranges.len() > FEW_NUMBERS {
        let from = ranges.iter().map(|(from, _)| *from).collect::<Option<Vec<_>>>();
        let to = ranges.iter().map(|(_, to)| *to).collect::<Option<Vec<_>>>();
        let (from, to) = (
            from.and_then(|all| all.into_iter().min()),
            to.and_then(|all| all.into_iter().max()),
        );
        ranges = vec![(from, to)];
    }
    let within = |leaf: String, unit: i128| {
        let leaf: Arc<str> = leaf.into();
        let range = |&(from, to): &(Option<i128>, Option<i128>)| Prune::Range {
            leaf: leaf.clone(),
            from: from.map(|from| -(-from).div_euclid(unit)),
            to: to.map(|to| to.div_euclid(unit)),
        };
        ranges.iter().map(range).collect::<Vec<_>>()
    };
    let mut any = Vec::new();
    for origin in compiled.program.origins() {
        let (path, type_id) = (origin.path?, origin.item_type.fhir()?);
        match facts().get(type_id).name {
            "decimal" => any.extend(within(format!("{path}{NUMBER}"), 1)),
            "integer" | "positiveInt" | "unsignedInt" => any.extend(within(path.to_owned(), ONE)),
            "Money" => any.extend(within(format!("{path}.value{NUMBER}"), 1)),
            // A quantity with a comparator stands for all numbers above or below its own number. So a quantity may
            // match if its number is in a range, or if it has a comparator.
            "Quantity" | "Age" | "Count" | "Distance" | "Duration" => {
                any.extend(within(format!("{path}.value{NUMBER}"), 1));
                any.extend(present(path, &["comparator"]));
            }
            "Range" => any.extend(present(path, &["low.value", "high.value"])),
            "SampledData" => any.extend(present(path, &["data"])),
            _ => return None,
        }
    }
    Some(Prune::Or(any))
}

/// Returns, for each of these leaves below `path`, the condition that the leaf has a value. Any value is enough. For
/// example, a Period without an end covers all times after its start, so it may match a date long after its start.
fn present(path: &str, leaves: &[&str]) -> Vec<Prune> {
    leaves
        .iter()
        .map(|leaf| Prune::Present {
            leaf: format!("{path}.{leaf}").into(),
        })
        .collect()
}

/// The leaves with the start and the end of a date or of a Period.
struct Bounds {
    start: Arc<str>,
    end: Arc<str>,
    /// Whether a missing start or end means that there is no bound, as in a Period.
    is_open: bool,
}

impl Bounds {
    fn of_date(path: &str) -> Bounds {
        Bounds {
            start: format!("{path}{START}").into(),
            end: format!("{path}{END}").into(),
            is_open: false,
        }
    }

    fn of_period(path: &str) -> Bounds {
        Bounds {
            start: format!("{path}.start{START}").into(),
            end: format!("{path}.end{END}").into(),
            is_open: true,
        }
    }

    /// Returns the condition on the start and the end that a value meets if it matches a date of a search. For a single
    /// value it is exact. Returns `None` for the prefix `ne`, because statistics can hardly refute it.
    fn within(&self, date: &DateValue) -> Option<Prune> {
        let (from, to) = (date.interval.start, date.interval.end);
        Some(match date.prefix {
            Prefix::Eq => Prune::And(vec![self.starts_from(from), self.ends_by(to)]),
            Prefix::Gt => self.ends_after(to),
            // The value is inside the searched interval or ends after it.
            Prefix::Ge => Prune::Or(vec![self.starts_from(from), self.ends_after(to)]),
            Prefix::Lt => self.starts_before(from),
            // The value is inside the searched interval or starts before it.
            Prefix::Le => Prune::Or(vec![self.starts_before(from), self.ends_by(to)]),
            Prefix::Sa => self.starts_from(to),
            Prefix::Eb => self.ends_by(from),
            Prefix::Ap => Prune::And(vec![self.starts_before(to), self.ends_after(from)]),
            Prefix::Ne => return None,
        })
    }

    fn starts_from(&self, moment: i64) -> Prune {
        range(&self.start, Some(moment), None)
    }

    fn starts_before(&self, moment: i64) -> Prune {
        let before = range(&self.start, None, Some(moment.saturating_sub(1)));
        self.or_open(before, &self.start, &self.end)
    }

    fn ends_by(&self, moment: i64) -> Prune {
        range(&self.end, None, Some(moment))
    }

    fn ends_after(&self, moment: i64) -> Prune {
        let after = range(&self.end, Some(moment.saturating_add(1)), None);
        self.or_open(after, &self.end, &self.start)
    }

    /// Adds to a condition on a bound the case that only the other bound exists.
    fn or_open(&self, condition: Prune, bound: &Arc<str>, other: &Arc<str>) -> Prune {
        if !self.is_open {
            return condition;
        }
        let open = Prune::Lacks {
            leaf: bound.clone(),
            beside: other.clone(),
        };
        Prune::Or(vec![condition, open])
    }
}

fn range(leaf: &Arc<str>, from: Option<i64>, to: Option<i64>) -> Prune {
    Prune::Range {
        leaf: leaf.clone(),
        from: from.map(i128::from),
        to: to.map(i128::from),
    }
}
