//! Checks a whole ViewDefinition: reports all errors and warnings and, if the view can be run, returns it with its
//! columns.

use std::sync::Arc;

use super::super::error::ViewError;
use super::super::view::{Names, View};
use super::column::Column;
use super::finding::{Finding, Findings};
use super::raw::Definition;
use super::resolve;
use crate::terminology::Terminology;

/// The findings of a ViewDefinition, and its view if the view can be run.
#[derive(Debug)]
pub struct Checked {
    findings: Vec<Finding>,
    view: Option<View>,
}

impl Checked {
    pub(in crate::views) fn new(definition: &[u8], terminology: Option<Arc<Terminology>>, names: Names) -> Checked {
        let mut findings = Findings::default();
        let parsed = Definition::parse(definition, &mut findings);
        let view = parsed.and_then(|parsed| resolve::resolve(&parsed, terminology, names, &mut findings));
        let view = view.filter(|_| findings.errors() == 0);
        Checked {
            view: view.map(|view| View {
                definition: definition.into(),
                ..view
            }),
            findings: findings.into_vec(),
        }
    }

    /// Returns all findings: first those of the definition's form, then those of its expressions and columns.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Returns the errors, which prevent a run.
    pub fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.is_error())
    }

    /// Returns the warnings, which do not prevent a run.
    pub fn warnings(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| !finding.is_error())
    }

    /// Returns the warnings about JSON names in the definition's expressions.
    pub fn json_names(&self) -> impl Iterator<Item = &Finding> {
        self.warnings().filter(|finding| finding.is_of_json_name)
    }

    /// Returns the view, if it can be run.
    pub fn view(&self) -> Option<&View> {
        self.view.as_ref()
    }

    /// Returns the view's columns. Empty if the view cannot be run.
    pub fn columns(&self) -> &[Column] {
        self.view.as_ref().map_or(&[], View::columns)
    }

    /// Returns `Ok` if the view can be run, and the errors otherwise.
    pub fn sound(&self) -> Result<(), ViewError> {
        match self.view {
            Some(_) => Ok(()),
            None => Err(ViewError::new(self.findings.clone())),
        }
    }

    /// Returns the view. If the view cannot be run, returns all findings.
    pub fn into_view(self) -> Result<View, Vec<Finding>> {
        match self.view {
            Some(view) => Ok(view),
            None => Err(self.findings),
        }
    }
}

impl View {
    /// Reads and checks a ViewDefinition. Returns the view, or the errors.
    pub fn parse(definition: &[u8]) -> Result<View, ViewError> {
        View::parse_with(definition, None)
    }

    /// Reads and checks a ViewDefinition, with value sets and code systems for `memberOf` and similar functions.
    pub fn parse_with(definition: &[u8], terminology: Option<Arc<Terminology>>) -> Result<View, ViewError> {
        View::check_with(definition, terminology)
            .into_view()
            .map_err(ViewError::new)
    }

    /// Reads a ViewDefinition and returns all findings.
    pub fn check(definition: &[u8]) -> Checked {
        View::check_with(definition, None)
    }

    /// Reads a ViewDefinition and returns all findings. Accepts FHIRPath's names only: JSON's names, such as
    /// `valueCoding`, are errors instead of warnings.
    pub fn check_strictly(definition: &[u8], terminology: Option<Arc<Terminology>>) -> Checked {
        Checked::new(definition, terminology, Names::FhirPath)
    }

    /// Reads a ViewDefinition and returns all findings, with value sets and code systems for `memberOf` and similar
    /// functions.
    pub fn check_with(definition: &[u8], terminology: Option<Arc<Terminology>>) -> Checked {
        Checked::new(definition, terminology, Names::Both)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn said(view: Value) -> Vec<String> {
        let checked = Checked::new(view.to_string().as_bytes(), None, Names::Both);
        assert_eq!(checked.view().is_some(), checked.errors().next().is_none());
        let said = |finding: &Finding| format!("{} {finding}", finding.severity.as_str());
        checked.findings().iter().map(said).collect()
    }

    /// Returns a view without any findings.
    fn sound() -> Value {
        json!({"resourceType": "ViewDefinition", "name": "v", "status": "active", "resource": "Patient",
            "select": [{"column": [{"name": "id", "path": "id", "type": "id"}]}]})
    }

    fn with(path: &str, value: Value) -> Vec<String> {
        let mut view = sound();
        let (parent, property) = path.rsplit_once('/').unwrap();
        view.pointer_mut(parent).unwrap()[property] = value;
        said(view)
    }

    #[test]
    fn a_sound_view_has_nothing_to_be_said_about_it() {
        assert_eq!(said(sound()), Vec::<String>::new());
    }

    #[test]
    fn all_faults_are_named_and_not_only_the_first() {
        let view = json!({"resourceType": "ViewDefinition", "status": "open", "resource": "patient",
            "constant": [{"name": "c"}, {"name": "d", "valueInteger": 1.5}, {"name": "d", "valueString": "x"}],
            "where": [{"path": "activ = true"}, {"description": "none"}],
            "select": [
                {"column": [{"name": "a b", "path": "id"}, {"path": "id"}]},
                {"forEach": "nam", "column": [{"name": "x", "path": "family +"}]}]});
        let mut expected = vec![
            "error ViewDefinition.status: 'open' is no status: draft, active, retired or unknown",
            "error ViewDefinition.constant[0]: has no value[x]",
            "error ViewDefinition.constant[1].valueInteger: must be a whole number of 32 bits",
            "error ViewDefinition.where[1]: has no path",
            "error ViewDefinition.select[0].column[1]: has no name",
            "error ViewDefinition.resource: 'patient' is no R4 resource type; did you mean 'Patient'?",
            "error ViewDefinition.constant[2].name: 'd' is defined twice",
            "error ViewDefinition.select[0].column[0].name: 'a b' is no name: it may have letters, digits and underscores, a letter first",
            "error ViewDefinition.select[1].column[0].path: column 'x': FHIRPath syntax error at line 1, column 9: unexpected end",
        ];
        let errors = |view| -> Vec<String> {
            let said: Vec<String> = said(view);
            said.into_iter().filter(|said| said.starts_with("error")).collect()
        };
        assert_eq!(errors(view.clone()), expected);
        let mut known = view;
        known["resource"] = json!("Patient");
        expected[5] = "error ViewDefinition.where[0].path: Patient has no element 'activ' (line 1, column 1); did you mean 'active'?";
        expected.swap(5, 6);
        expected.insert(
            8,
            "error ViewDefinition.select[1].forEach: Patient has no element 'nam' (line 1, column 1); did you mean 'name'?",
        );
        assert_eq!(errors(known), expected);
    }

    #[test]
    fn a_finding_says_where_inside_an_expression() {
        let mut view = sound();
        view["select"][0]["column"][0]["path"] = json!("name.\n  familly");
        let checked = Checked::new(view.to_string().as_bytes(), None, Names::Both);
        let finding = checked.errors().next().unwrap();
        assert_eq!(finding.at, "ViewDefinition.select[0].column[0].path");
        assert_eq!(finding.column.as_deref(), Some("id"));
        let position = finding.position.unwrap();
        assert_eq!((position.line, position.column), (2, 3));
        let issue = finding.issue();
        assert_eq!(issue.expression, ["ViewDefinition.select[0].column[0].path"]);
    }

    #[test]
    fn an_unknown_property_is_named_with_what_was_meant() {
        assert_eq!(
            with("/select/0/forEech", json!("name")),
            [
                "warning ViewDefinition.select[0].forEech: is no property of a select and does nothing; did you mean 'forEach'?"
            ]
        );
        assert_eq!(
            with("/select/0/column/0/colour", json!("red")),
            ["warning ViewDefinition.select[0].column[0].colour: is no property of a column and does nothing"]
        );
        for ignored in ["_name", "extension", "id", "fhir_comments", "copyright", "_title"] {
            let value = if ignored == "extension" {
                json!([{"url": "x"}])
            } else {
                json!("x")
            };
            assert_eq!(with(&format!("/{ignored}"), value), Vec::<String>::new(), "{ignored}");
        }
        assert_eq!(
            with("/title", json!(5)),
            ["warning ViewDefinition.title: must be a string, not a number"]
        );
    }

    #[test]
    fn both_forms_of_a_view_definition_are_taken() {
        for (path, value) in [
            (
                "/resourceType",
                json!("https://sql-on-fhir.org/ig/StructureDefinition/ViewDefinition"),
            ),
            (
                "/resourceType",
                json!("http://hl7.org/fhir/StructureDefinition/ViewDefinition"),
            ),
            (
                "/resourceDefinition",
                json!("http://hl7.org/fhir/StructureDefinition/ViewDefinition|3.0.0-ballot"),
            ),
            ("/identifier", json!({"value": "x"})),
            ("/identifier", json!([{"value": "x"}])),
            ("/fhirVersion", json!(["4.0", "5.0"])),
            ("/fhirVersion", json!(["4.0.1"])),
            (
                "/profile",
                json!(["http://hl7.org/fhir/us/core/StructureDefinition/us-core-patient"]),
            ),
            ("/effectivePeriod", json!({"start": "2024"})),
            ("/author", json!([{"name": "x"}])),
        ] {
            assert_eq!(with(path, value.clone()), Vec::<String>::new(), "{path} {value}");
        }
        for (path, value, expected) in [
            (
                "/resourceType",
                json!("Patient"),
                "error ViewDefinition.resourceType: is 'Patient', not 'ViewDefinition'",
            ),
            (
                "/resourceDefinition",
                json!("http://example.org/Other"),
                "warning ViewDefinition.resourceDefinition: is 'http://example.org/Other', not \
                    'http://hl7.org/fhir/StructureDefinition/ViewDefinition'",
            ),
            (
                "/fhirVersion",
                json!(["5.0.0"]),
                "warning ViewDefinition.fhirVersion: does not name R4 (4.0), as which resources are read",
            ),
            (
                "/profile",
                json!([
                    "http://hl7.org/fhir/StructureDefinition/bp",
                    "http://hl7.org/fhir/StructureDefinition/Group"
                ]),
                "warning ViewDefinition.profile[1]: is about Group, not Patient",
            ),
            (
                "/name",
                json!("my-view"),
                "warning ViewDefinition.name: 'my-view' is no name by the specification, which allows letters, digits and \
                    underscores, a letter first",
            ),
            (
                "/name",
                json!("../x"),
                "error ViewDefinition.name: '../x' is no name: it may have letters, digits and underscores, a letter first",
            ),
            (
                "/meta",
                json!({"profile": ["https://sql-on-fhir.org/ig/StructureDefinition/ShareableViewDefinition"]}),
                "warning ViewDefinition: has no url, which ShareableViewDefinition asks for",
            ),
        ] {
            assert_eq!(with(path, value.clone())[0], expected, "{path} {value}");
        }
    }

    #[test]
    fn what_real_views_lack_is_a_warning() {
        let view = json!({"resource": "Patient", "select": [{"column": [{"name": "c", "path": "multipleBirth.ofType(integer)"}]}]});
        assert_eq!(
            said(view),
            [
                "warning ViewDefinition: has no resourceType, and is taken as a ViewDefinition",
                "warning ViewDefinition: has no status",
                "warning ViewDefinition.select[0].column[0]: column 'c': has no type; its path gives integer",
            ]
        );
    }

    #[test]
    fn doubtful_columns_are_named() {
        for (column, expected) in [
            (
                json!({"name": "c", "path": "name.family", "type": "string"}),
                "warning ViewDefinition.select[0].column[0].path: column 'c': may have several values in a row, which is an \
                    error when it happens; say \"collection\": true, take first(), or go through them with forEach",
            ),
            (
                json!({"name": "c", "path": "birthDate", "type": "dateTime"}),
                "warning ViewDefinition.select[0].column[0].type: column 'c': is declared as dateTime, but its path gives date",
            ),
            (
                json!({"name": "c", "path": "{}", "type": "string"}),
                "warning ViewDefinition.select[0].column[0].path: column 'c': is empty whatever the data",
            ),
            (
                json!({"name": "c", "path": "name.period.start.first()", "type": "dateTime",
                    "tag": [{"name": "ansi/type", "value": "TIMSTAMP"}]}),
                "warning ViewDefinition.select[0].column[0].tag[0].value: column 'c': 'TIMSTAMP' is no SQL type that is known \
                    here; the column stays CHARACTER VARYING",
            ),
            (
                json!({"name": "c", "path": "active", "type": "boolean", "tag": [{"name": "ansi/type", "value": "DATE"}]}),
                "warning ViewDefinition.select[0].column[0].tag[0].value: column 'c': no boolean can be a DATE",
            ),
            (
                json!({"name": "c", "path": "birthDate", "type": "date", "tags": [{"name": "ansi/type", "value": "DATE"}]}),
                "warning ViewDefinition.select[0].column[0].tags: column 'c': is taken as 'tag'",
            ),
            (
                json!({"name": "c", "path": "contact.gender.exists().join(',')", "type": "string"}),
                "warning ViewDefinition.select[0].column[0].path: column 'c': join() is defined for strings; a boolean is joined \
                    as it is written",
            ),
            (
                json!({"name": "c", "path": "deceased", "type": "boolean"}),
                "warning ViewDefinition.select[0].column[0].type: column 'c': is declared as boolean, but its path gives boolean \
                    or dateTime",
            ),
        ] {
            assert_eq!(
                with("/select/0/column", json!([column.clone()])),
                [expected],
                "{column}"
            );
        }
        for column in [
            json!({"name": "c", "path": "name.family", "type": "string", "collection": true}),
            json!({"name": "c", "path": "name.first().family", "type": "string"}),
            json!({"name": "c", "path": "gender", "type": "string"}),
            json!({"name": "c", "path": "id.length() > 1", "type": "boolean"}),
            json!({"name": "c", "path": "%rowIndex", "type": "integer"}),
            json!({"name": "c", "path": "getResourceKey()", "type": "string"}),
            json!({"name": "c", "path": "birthDate", "type": "date", "tag": [{"name": "ansi/type", "value": "date"}]}),
        ] {
            assert_eq!(
                with("/select/0/column", json!([column.clone()])),
                Vec::<String>::new(),
                "{column}"
            );
        }
    }
}
