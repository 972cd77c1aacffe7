//! The arguments of `tabularium fhirpath`.

use std::path::PathBuf;

use crate::cli::lake::lake_scope::LOCAL;
use crate::cli::service::mode::Mode;
use crate::cli::tables::terminology::TerminologyArgument;
use crate::cli::terminal::failure::Failure;
use crate::fhirpath::parse;
use crate::fhirpath::{CompileOptions, Constant, DATA_VARIABLES, Expr, ExprKind};

/// Evaluate a FHIRPath expression over resources
///
/// Over a file with one resource the result is a JSON array of {type, value}. Over NDJSON, folders, several files or a
/// lake it is a line of JSON for each resource: {"resource": "Patient/p", "result": [...]}, or "error" instead of
/// "result". If files hold several types and --type names none, the expression runs over the types that have the
/// elements it names. The entries of a Bundle are read, too. Without input the expression is evaluated once, over
/// nothing.
///
/// Examples: tabularium fhirpath "name.where(use = 'official').given" --input patient.json, tabularium fhirpath "1 + 1"
///
/// Exit codes: 0 done; 2 the expression is wrong or a path cannot be read; 3 done, but the expression failed over some
/// resources, or some input was refused, or it exceeded the limit of work; 1 another failure.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("source").args(["data", "input"])))]
pub(in crate::cli) struct Args {
    /// The expression
    #[arg(value_name = "EXPR", allow_hyphen_values = true)]
    pub(super) expression: String,
    /// A file or folder: one resource as JSON, NDJSON (plain or gzip), Bundles; may be given several times
    #[arg(long, value_name = "FILE_OR_DIR")]
    pub(super) input: Vec<PathBuf>,
    /// The data folder of a lake
    #[arg(long, value_name = "DIR", requires = "type")]
    pub(super) data: Option<PathBuf>,
    /// Only resources of this type; over a lake, its table
    #[arg(long = "type", id = "type", value_name = "TYPE")]
    pub(super) resource_type: Option<String>,
    /// Read the live or the test records of the lake
    #[arg(long, value_enum, default_value_t = Mode::Live, conflicts_with = "input")]
    pub(super) mode: Mode,
    /// The application whose records of the lake to read
    #[arg(long, value_name = "ID", default_value = LOCAL, conflicts_with = "input")]
    pub(super) application: String,
    /// Read the lake as this patient would: their records and what those refer to
    #[arg(long, value_name = "ID", conflicts_with = "input")]
    pub(super) patient: Option<String>,
    /// A value for %NAME: a FHIRPath literal (5, @2024-01, 'text', 4 'mg', true), or else text; may be given several
    /// times
    #[arg(long, value_name = "NAME=VALUE", value_parser = constant)]
    constant: Vec<(String, Constant)>,
    #[command(flatten)]
    terminology: TerminologyArgument,
    /// Refuse JSON's names (valueCoding, resourceType) where FHIRPath has others. Without it they work, with a warning
    #[arg(long)]
    strict: bool,
    /// Read at most this many resources
    #[arg(long, value_name = "N")]
    pub(super) limit: Option<usize>,
    /// Print the typed program, the columns it reads and, over a lake, the plan of the scan, instead of running it
    #[arg(long)]
    pub(super) explain: bool,
    /// Print JSON, as without this option
    #[arg(long)]
    pub(super) json: bool,
}

impl Args {
    /// Returns the options for compiling the expression. Loads the terminology.
    pub(super) fn options(&self) -> Result<CompileOptions<'static>, Failure> {
        Ok(CompileOptions {
            constants: self.constant.iter().cloned().collect(),
            terminology: self.terminology.load(self.data.as_deref())?,
            json_names: !self.strict,
            ..CompileOptions::default()
        })
    }
}

/// Parses `NAME=VALUE`. A value that is no FHIRPath literal becomes a string.
fn constant(text: &str) -> Result<(String, Constant), String> {
    let (name, value) = text.split_once('=').ok_or("it is of the form NAME=VALUE")?;
    if name.is_empty() {
        return Err("the name is empty".to_owned());
    }
    if DATA_VARIABLES.contains(&name) {
        return Err(format!("%{name} is FHIRPath's own"));
    }
    let literal = literal(value).unwrap_or_else(|| Constant::String(value.to_owned()));
    Ok((name.to_owned(), literal))
}

/// Parses a FHIRPath literal. Returns `None` for other text. FHIRPath parses a `-` as an operator and not as part of a
/// literal. So this function removes a leading `-`, and adds it to the parsed number or quantity.
fn literal(text: &str) -> Option<Constant> {
    let of = |text: &str| match parse(text) {
        Ok(Expr {
            kind: ExprKind::Literal(literal),
            ..
        }) => Some(literal),
        _ => None,
    };
    let Some(unsigned) = text.strip_prefix('-') else {
        return of(text);
    };
    match of(unsigned)? {
        Constant::Integer(digits) => Some(Constant::Integer(format!("-{digits}"))),
        Constant::Long(digits) => Some(Constant::Long(format!("-{digits}"))),
        Constant::Decimal(digits) => Some(Constant::Decimal(format!("-{digits}"))),
        Constant::Quantity { value, unit, calendar } => Some(Constant::Quantity {
            value: format!("-{value}"),
            unit,
            calendar,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        arguments: Args,
    }

    /// Without `allow_hyphen_values`, clap would reject an expression such as `-1` as an unknown option.
    #[test]
    fn an_expression_may_begin_with_a_sign() {
        for line in [["fhirpath", "-5", "--input", "x"], ["fhirpath", "--input", "x", "-5"]] {
            let arguments = Command::try_parse_from(line).map(|command| command.arguments).unwrap();
            assert_eq!(arguments.expression, "-5");
            assert_eq!(arguments.input, [PathBuf::from("x")]);
        }
        let long = Command::try_parse_from(["fhirpath", "-multipleBirth + 1", "--input", "x"]).unwrap();
        assert_eq!(long.arguments.expression, "-multipleBirth + 1");
    }

    #[test]
    fn constants_are_literals_or_else_texts() {
        let value = |text: &str| constant(text).unwrap().1;
        assert_eq!(value("a=5"), Constant::Integer("5".into()));
        assert_eq!(value("a='b'"), Constant::String("b".into()));
        assert_eq!(value("a=b=c"), Constant::String("b=c".into()));
        assert_eq!(value("a=name.given"), Constant::String("name.given".into()));
        assert_eq!(value("a=true"), Constant::Boolean(true));
        assert_eq!(value("a=-5"), Constant::Integer("-5".into()));
        assert_eq!(value("a=-5.10"), Constant::Decimal("-5.10".into()));
        assert_eq!(value("a=-true"), Constant::String("-true".into()));
        assert_eq!(value("a=--5"), Constant::String("--5".into()));
        assert!(constant("context=5").is_err() && constant("rootResource=a").is_err());
        assert!(constant("rowIndex=5").is_err());
        assert!(constant("a").is_err() && constant("=5").is_err());
    }
}
