//! The meaning of `_filter`'s operators for a parameter's values (R4, <http://hl7.org/fhir/R4/search_filter.html#ops>).
//!
//! Numbers, dates and quantities are compared as by the prefixes of the same names. For all other values, `ne` requires
//! at least one value that differs. `gt` and similar operators compare strings by code points, without regard to case
//! and combining marks. `loinc`, `snomed`, `rxnorm` and `ucum` are short names of code systems.

use std::sync::Arc;

use super::super::SearchError;
use super::super::criteria::criterion::{Condition, Test};
use super::super::criteria::matcher::Matcher;
use super::modifier;
use super::parameter::{Compiled, Reading};
use super::raw::RawParameter;
use super::resolver::Resolver;
use super::result::invalid;
use super::values::{DateValue, NumberValue, Prefix, fold, plain};
use crate::fhir::TypeId;
use crate::fhir::search_parameter::{SearchParameter, SearchType};

/// The short names of code systems.
const SYSTEMS: [(&str, &str); 4] = [
    ("loinc", "http://loinc.org"),
    ("snomed", "http://snomed.info/sct"),
    ("rxnorm", "http://www.nlm.nih.gov/research/umls/rxnorm"),
    ("ucum", "http://unitsofmeasure.org"),
];

/// The operator of a test and the value after it.
pub(in crate::search) struct Comparison<'t> {
    pub(in crate::search) operator: &'t str,
    pub(in crate::search) value: String,
    /// The value as it is written in the filter, with quotation marks and escapes.
    pub(in crate::search) text: &'t str,
}

/// Compiles the compared parameter for one use of its values. Returns `None` if the type has no such parameter.
pub(in crate::search) type Compile<'a> = &'a dyn Fn(Reading) -> Result<Option<Arc<Compiled>>, SearchError>;

/// Resolves a comparison to a condition on the values of a parameter. Returns `None` if the parameter cannot be
/// compiled for the type.
pub(in crate::search) fn condition_of(
    resolver: &Resolver<'_>,
    type_id: TypeId,
    parameter: &SearchParameter,
    comparison: &Comparison<'_>,
    compile: Compile<'_>,
) -> Result<Option<Condition>, SearchError> {
    let modifier = match (parameter.search_type, comparison.operator) {
        (SearchType::Token, "in") => "in",
        (SearchType::Token, "ni") => "not-in",
        (SearchType::Token, "ss") => "below",
        (SearchType::Token, "sb") => "above",
        _ => "",
    };
    if !modifier.is_empty()
        && let Some(compiled) = compile(Reading::Values)?
        && let Some(parameter_type) = modifier::misfit(&compiled, modifier)
    {
        return Err(SearchError::Operator {
            parameter: parameter.code.to_string(),
            operator: comparison.operator.to_owned(),
            parameter_type,
        });
    }
    let mut test = if comparison.operator == "pr" {
        let missing = match comparison.value.as_str() {
            "true" => false,
            "false" => true,
            _ => return Err(invalid("_filter", comparison.text, "true or false")),
        };
        if parameter.search_type == SearchType::Composite {
            let raw = RawParameter::named(&format!("{}:missing", parameter.code), &missing.to_string());
            return Ok(resolver.criterion(type_id, &raw)?.map(|criterion| criterion.condition));
        }
        Test::Missing(missing)
    } else {
        test(resolver, parameter, comparison)?
    };
    let Some(compiled) = compile(test.reading())? else {
        return Ok(None);
    };
    if let Some(system) = compiled.code_system {
        test.bind(system);
    }
    test.fit(&compiled, &RawParameter::named("_filter", comparison.text))?;
    Ok(Some(Condition::Values { compiled, test }))
}

fn test(
    resolver: &Resolver<'_>,
    parameter: &SearchParameter,
    comparison: &Comparison<'_>,
) -> Result<Test, SearchError> {
    use SearchType::{Date, Number, Quantity, Reference, String as Text, Token, Uri};
    let (operator, value) = (comparison.operator, comparison.value.as_str());
    let parsed = |modifier: Option<&str>, value: &str| {
        let raw = RawParameter {
            name: parameter.code.to_string(),
            modifier: modifier.map(str::to_owned),
            value: value.to_owned(),
        };
        // The error shows the value as the client wrote it in the filter. The text that is parsed here may have a
        // prefix or the address of a code system instead.
        Matcher::parse(parameter, &raw, value, resolver.around).map_err(|error| match error {
            SearchError::Value { expected, .. } => invalid("_filter", comparison.text, expected),
            error => error,
        })
    };
    let any = |matcher| Test::AnyOf {
        matchers: vec![matcher],
        not: false,
    };
    let malformed = |expected| invalid("_filter", comparison.text, expected);
    Ok(match (parameter.search_type, operator) {
        (Number | Quantity | Date, "eq" | "ne" | "gt" | "lt" | "ge" | "le" | "ap" | "sa" | "eb") => {
            any(parsed(None, &format!("{operator}{}", with_system(value)))?)
        }
        (Date, "po" | "co") => {
            let date = DateValue::parse(value, 0).filter(|date| date.prefix == Prefix::Eq);
            let date = date.ok_or_else(|| malformed("a date"))?;
            match operator {
                "po" => any(Matcher::Date(DateValue {
                    prefix: Prefix::Ap,
                    ..date
                })),
                _ => any(Matcher::Encloses(date.interval)),
            }
        }
        (Number, "co") => {
            let number = NumberValue::parse(value).filter(|_| !value.starts_with(char::is_alphabetic));
            any(Matcher::Imprecise(number.ok_or_else(|| malformed("a number"))?))
        }
        (Text, "co" | "sw" | "ew") if fold(value).is_empty() => {
            return Err(malformed("a string of one character or more"));
        }
        (Text, "eq") => any(Matcher::Same(fold(value))),
        (Text, "ne") => Test::Differs(Matcher::Same(fold(value))),
        (Text, "co") => any(Matcher::Contains(plain(value))),
        (Text, "sw") => any(Matcher::Begins(plain(value))),
        (Text, "ew") => any(Matcher::Ends(fold(value))),
        (Text, "gt" | "lt" | "ge" | "le") => {
            let (prefix, _) = Prefix::split(operator);
            any(Matcher::Ordered(prefix, fold(value.trim())))
        }
        (Token, "eq") => any(parsed(None, &with_system(value))?),
        (Token, "ne") => Test::Differs(parsed(None, &with_system(value))?),
        (Uri, "eq") | (Reference, "eq" | "re") => any(parsed(None, value)?),
        (Uri | Reference, "ne") => Test::Differs(parsed(None, value)?),
        (Token | Uri, "ss") => any(parsed(Some("below"), &with_system(value))?),
        (Token | Uri, "sb") => any(parsed(Some("above"), &with_system(value))?),
        (Token, "in") => any(parsed(Some("in"), value)?),
        (Token, "ni") => Test::AnyOf {
            matchers: vec![parsed(Some("not-in"), value)?],
            not: true,
        },
        _ => {
            return Err(SearchError::Operator {
                parameter: parameter.code.to_string(),
                operator: operator.to_owned(),
                parameter_type: parameter.search_type.as_str(),
            });
        }
    })
}

/// Replaces the short name of a code system in a value: `loinc|1234-5`, `5.4|ucum|mg`.
fn with_system(value: &str) -> String {
    let mut parts: Vec<&str> = value.split('|').collect();
    let at = match parts.len() {
        2 => 0,
        3 => 1,
        _ => return value.to_owned(),
    };
    if let Some((_, system)) = SYSTEMS.iter().find(|(short, _)| *short == parts[at]) {
        parts[at] = system;
    }
    parts.join("|")
}

#[cfg(test)]
mod tests {
    use super::with_system;

    #[test]
    fn short_names_of_systems() {
        assert_eq!(with_system("loinc|1234-5"), "http://loinc.org|1234-5");
        assert_eq!(with_system("5.4|ucum|mg"), "5.4|http://unitsofmeasure.org|mg");
        assert_eq!(with_system("loinc"), "loinc");
        assert_eq!(with_system("x|loinc"), "x|loinc");
    }
}
