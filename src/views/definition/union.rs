//! Checks that the branches of a `unionAll` have the same columns: the same names in the same order, with values of the
//! same types.

use super::column::Column;
use super::finding::{Finding, Findings};
use super::kind::Kind;
use super::sql_type::SqlType;
use crate::fhir::outcome::IssueType;

/// A column of the output, and the place of its definition. `column` is `None` if the column has an error.
pub(in crate::views) struct Placed {
    pub(in crate::views) at: String,
    pub(in crate::views) name: String,
    pub(in crate::views) column: Option<Column>,
    /// Whether the column has no declared type and its path never yields a value. Such a column agrees with any other
    /// column.
    pub(in crate::views) empty: bool,
    /// Whether a tag declares the column's SQL type.
    pub(in crate::views) tagged: bool,
}

/// Merges the columns of a union's branches. `agreed` comes from the earlier branches, and `columns` from the branch
/// at `at`. A difference becomes a finding.
pub(in crate::views) fn agree(
    agreed: Vec<Placed>,
    columns: Vec<Placed>,
    at: &str,
    findings: &mut Findings,
) -> Vec<Placed> {
    let names = |columns: &[Placed]| -> Vec<String> { columns.iter().map(|placed| placed.name.clone()).collect() };
    let (first, other) = (names(&agreed), names(&columns));
    if first != other {
        let problem = format!(
            "has the columns {}, but the first branch has {}",
            other.join(", "),
            first.join(", ")
        );
        findings.error(at, IssueType::Invariant, problem);
        return agreed;
    }
    let pairs = agreed.into_iter().zip(columns);
    pairs.map(|(first, other)| joined(first, other, findings)).collect()
}

/// Merges a column of two branches into one that can hold the values of both. A difference becomes a finding.
fn joined(mut first: Placed, other: Placed, findings: &mut Findings) -> Placed {
    let (Some(one), Some(another)) = (&mut first.column, &other.column) else {
        return first;
    };
    let mut disagreement = |problem: String| {
        findings.add(Finding::error(&other.at, IssueType::Invariant, problem).of_column(&other.name));
    };
    if one.collection != another.collection {
        disagreement("is a collection in one branch only".to_owned());
    }
    if first.tagged && other.tagged && one.sql != another.sql {
        disagreement(format!("is {} here, but {} in the first branch", another.sql, one.sql));
    }
    if !other.empty {
        if first.empty {
            one.kind = another.kind;
            one.fhir_type = another.fhir_type.clone();
            if !first.tagged {
                one.sql = another.sql;
            }
        } else {
            let (here, there) = (another.kind, one.kind);
            let kind = there.with(here);
            if kind == Kind::Any && here != Kind::Any && there != Kind::Any {
                disagreement(format!(
                    "is {} here, but {} in the first branch",
                    here.name(),
                    there.name()
                ));
            } else if let (Some(fhir_type), Some(in_first)) = (&another.fhir_type, &one.fhir_type)
                && fhir_type != in_first
            {
                let problem = format!("is {fhir_type} here, but {in_first} in the first branch");
                findings.add(Finding::warning(&other.at, IssueType::Value, problem).of_column(&other.name));
            }
            if one.fhir_type != another.fhir_type {
                one.fhir_type = None;
            }
            one.kind = kind;
            if !first.tagged {
                if other.tagged {
                    one.sql = another.sql;
                } else {
                    one.sql = SqlType::of(kind, one.fhir_type.as_deref());
                }
            }
        }
    }
    first.tagged |= other.tagged;
    first.empty &= other.empty;
    first
}
