//! SQL types in the notation of ISO/IEC 9075: parses a column's tag `ansi/type`, and maps FHIR types without a tag to
//! SQL types, and SQL types to Arrow types (and so to Parquet types). Text formats do not use SQL types, so their
//! values keep their written form.

use std::fmt;

use arrow::datatypes::{DataType, TimeUnit};

use super::kind::Kind;

/// A SQL type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlType {
    /// `BOOLEAN`.
    Boolean,
    /// `SMALLINT`.
    SmallInt,
    /// `INTEGER`.
    Integer,
    /// `BIGINT`.
    BigInt,
    /// `DECIMAL(p,s)`.
    Decimal {
        /// The maximum number of digits.
        precision: u8,
        /// The number of digits after the decimal point.
        scale: u8,
    },
    /// `REAL`.
    Real,
    /// `DOUBLE PRECISION`.
    Double,
    /// `CHARACTER VARYING`, with or without a limit of characters.
    Text(Option<u32>),
    /// `BINARY VARYING`, of values that FHIR writes in base64.
    Binary,
    /// `DATE`.
    Date,
    /// `TIME`.
    Time,
    /// `TIMESTAMP WITH TIME ZONE`, or `TIMESTAMP` in UTC.
    Timestamp {
        /// Whether the type has a time zone.
        zone: bool,
    },
}

/// The precision and scale of `DECIMAL` without arguments: 38 digits, which is the maximum, and 18 of them after the
/// decimal point.
const WIDEST: (u8, u8) = (38, 18);

impl SqlType {
    /// Parses the name of a SQL type with its arguments. `None` if typed output does not support the type.
    pub(in crate::views) fn parse(text: &str) -> Option<SqlType> {
        let upper = text.to_ascii_uppercase();
        let (name, arguments) = match upper.split_once('(') {
            None => (upper.as_str().to_owned(), Vec::new()),
            Some((before, rest)) => {
                let (inside, behind) = rest.split_once(')')?;
                let numbers = inside.split(',').map(|number| number.trim().parse::<u32>().ok());
                (format!("{before} {behind}"), numbers.collect::<Option<Vec<_>>>()?)
            }
        };
        let words: Vec<&str> = name.split_whitespace().collect();
        let plain = |sql_type: SqlType| arguments.is_empty().then_some(sql_type);
        let one = || match arguments.as_slice() {
            [] => Some(None),
            [length] if *length > 0 => Some(Some(*length)),
            _ => None,
        };
        match words.as_slice() {
            ["BOOLEAN" | "BOOL"] => plain(SqlType::Boolean),
            ["SMALLINT" | "INT2" | "TINYINT"] => plain(SqlType::SmallInt),
            ["INTEGER" | "INT" | "INT4"] => plain(SqlType::Integer),
            ["BIGINT" | "INT8"] => plain(SqlType::BigInt),
            ["DECIMAL" | "DEC" | "NUMERIC"] => decimal(&arguments),
            ["REAL" | "FLOAT4"] => plain(SqlType::Real),
            ["DOUBLE"] | ["DOUBLE", "PRECISION"] | ["FLOAT8"] => plain(SqlType::Double),
            ["FLOAT"] => one().map(|bits| match bits {
                Some(..=24) => SqlType::Real,
                _ => SqlType::Double,
            }),
            // `CHARACTER` without a length is a single character.
            ["CHARACTER" | "CHAR" | "NCHAR"] | ["NATIONAL", "CHARACTER" | "CHAR"] => {
                one().map(|length| SqlType::Text(Some(length.unwrap_or(1))))
            }
            ["VARCHAR" | "NVARCHAR" | "VARCHAR2"]
            | ["CHARACTER" | "CHAR" | "NCHAR", "VARYING"]
            | ["NATIONAL", "CHARACTER" | "CHAR", "VARYING"] => one().map(SqlType::Text),
            ["TEXT" | "STRING" | "CLOB" | "NCLOB"] | ["CHARACTER" | "CHAR", "LARGE", "OBJECT"] => {
                one().map(|_| SqlType::Text(None))
            }
            ["BINARY" | "VARBINARY" | "BLOB" | "BYTEA"] | ["BINARY", "VARYING"] | ["BINARY", "LARGE", "OBJECT"] => {
                one().map(|_| SqlType::Binary)
            }
            ["DATE"] => plain(SqlType::Date),
            ["TIME"] | ["TIME", "WITH" | "WITHOUT", "TIME", "ZONE"] => seconds(&arguments, SqlType::Time),
            ["TIMESTAMP" | "DATETIME"] | ["TIMESTAMP", "WITHOUT", "TIME", "ZONE"] => {
                seconds(&arguments, SqlType::Timestamp { zone: false })
            }
            ["TIMESTAMPTZ"] | ["TIMESTAMP", "WITH", "TIME", "ZONE"] => {
                seconds(&arguments, SqlType::Timestamp { zone: true })
            }
            _ => None,
        }
    }

    /// Returns the SQL type of a column without a tag, as the specification maps FHIR types.
    pub(in crate::views) fn of(kind: Kind, fhir_type: Option<&str>) -> SqlType {
        let name = fhir_type.map(|fhir_type| fhir_type.rsplit('/').next().unwrap_or(fhir_type));
        let name = name.map(|name| name.strip_prefix("FHIR.").unwrap_or(name));
        match (kind, name) {
            (Kind::Boolean, _) => SqlType::Boolean,
            (Kind::Integer, _) => SqlType::Integer,
            (Kind::Decimal, Some("integer64")) => SqlType::BigInt,
            (Kind::Text, Some("instant")) => SqlType::Timestamp { zone: true },
            (Kind::Text, Some("base64Binary")) => SqlType::Binary,
            _ => SqlType::Text(None),
        }
    }

    /// Whether values of a kind can be converted to this type. The conversion may still fail for some of them.
    pub(in crate::views) fn suits(self, kind: Kind) -> bool {
        let number = matches!(
            self,
            SqlType::SmallInt
                | SqlType::Integer
                | SqlType::BigInt
                | SqlType::Decimal { .. }
                | SqlType::Real
                | SqlType::Double
        );
        match kind {
            _ if matches!(self, SqlType::Text(_)) => true,
            Kind::Boolean => self == SqlType::Boolean,
            Kind::Integer | Kind::Decimal => number,
            Kind::Text | Kind::Any => true,
        }
    }

    /// Returns the Arrow type.
    pub(in crate::views) fn data_type(self) -> DataType {
        match self {
            SqlType::Boolean => DataType::Boolean,
            SqlType::SmallInt => DataType::Int16,
            SqlType::Integer => DataType::Int32,
            SqlType::BigInt => DataType::Int64,
            SqlType::Decimal { precision, scale } => DataType::Decimal128(precision, scale as i8),
            SqlType::Real => DataType::Float32,
            SqlType::Double => DataType::Float64,
            SqlType::Text(_) => DataType::Utf8,
            SqlType::Binary => DataType::Binary,
            SqlType::Date => DataType::Date32,
            SqlType::Time => DataType::Time64(TimeUnit::Microsecond),
            SqlType::Timestamp { zone } => DataType::Timestamp(TimeUnit::Microsecond, zone.then(|| "UTC".into())),
        }
    }
}

impl fmt::Display for SqlType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            SqlType::Boolean => "BOOLEAN",
            SqlType::SmallInt => "SMALLINT",
            SqlType::Integer => "INTEGER",
            SqlType::BigInt => "BIGINT",
            SqlType::Decimal { precision, scale } => return write!(formatter, "DECIMAL({precision},{scale})"),
            SqlType::Real => "REAL",
            SqlType::Double => "DOUBLE PRECISION",
            SqlType::Text(None) => "CHARACTER VARYING",
            SqlType::Text(Some(length)) => return write!(formatter, "CHARACTER VARYING({length})"),
            SqlType::Binary => "BINARY VARYING",
            SqlType::Date => "DATE",
            SqlType::Time => "TIME",
            SqlType::Timestamp { zone: false } => "TIMESTAMP",
            SqlType::Timestamp { zone: true } => "TIMESTAMP WITH TIME ZONE",
        })
    }
}

fn decimal(arguments: &[u32]) -> Option<SqlType> {
    let (precision, scale) = match arguments {
        [] => WIDEST,
        [precision] => (u8::try_from(*precision).ok()?, 0),
        [precision, scale] => (u8::try_from(*precision).ok()?, u8::try_from(*scale).ok()?),
        _ => return None,
    };
    ((1..=38).contains(&precision) && scale <= precision).then_some(SqlType::Decimal { precision, scale })
}

/// Returns `sql_type`, which may have one argument: the precision of its seconds. The precision is ignored, because
/// typed output has microseconds. `None` if there are more arguments.
fn seconds(arguments: &[u32], sql_type: SqlType) -> Option<SqlType> {
    match arguments {
        [] | [_] => Some(sql_type),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_as_sql_writes_them() {
        for (text, shown) in [
            ("boolean", "BOOLEAN"),
            ("INT", "INTEGER"),
            ("bigint", "BIGINT"),
            ("SMALLINT", "SMALLINT"),
            ("DECIMAL(10, 2)", "DECIMAL(10,2)"),
            ("numeric(5)", "DECIMAL(5,0)"),
            ("DECIMAL", "DECIMAL(38,18)"),
            ("FLOAT(24)", "REAL"),
            ("float", "DOUBLE PRECISION"),
            ("DOUBLE  PRECISION", "DOUBLE PRECISION"),
            ("VARCHAR(20)", "CHARACTER VARYING(20)"),
            ("CHARACTER VARYING", "CHARACTER VARYING"),
            ("CHARACTER VARYING (7)", "CHARACTER VARYING(7)"),
            ("CHAR", "CHARACTER VARYING(1)"),
            ("TEXT", "CHARACTER VARYING"),
            ("VARBINARY(16)", "BINARY VARYING"),
            ("date", "DATE"),
            ("TIME(6)", "TIME"),
            ("TIMESTAMP", "TIMESTAMP"),
            ("timestamp(3) with time zone", "TIMESTAMP WITH TIME ZONE"),
            ("TIMESTAMP WITHOUT TIME ZONE", "TIMESTAMP"),
        ] {
            assert_eq!(
                SqlType::parse(text).map(|sql_type| sql_type.to_string()).as_deref(),
                Some(shown),
                "{text}"
            );
        }
        for text in [
            "",
            "JSON",
            "DECIMAL(39,0)",
            "DECIMAL(2,3)",
            "DECIMAL(0)",
            "DECIMAL(1,2,3)",
            "INT(4)",
            "VARCHAR(0)",
            "VARCHAR(x)",
            "VARCHAR(1",
            "INTERVAL YEAR",
            "DATE ARRAY",
        ] {
            assert_eq!(SqlType::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_fhir_type_has_its_default() {
        for (kind, fhir_type, shown) in [
            (Kind::Text, Some("instant"), "TIMESTAMP WITH TIME ZONE"),
            (
                Kind::Text,
                Some("http://hl7.org/fhir/StructureDefinition/base64Binary"),
                "BINARY VARYING",
            ),
            (Kind::Text, Some("dateTime"), "CHARACTER VARYING"),
            (Kind::Decimal, Some("decimal"), "CHARACTER VARYING"),
            (Kind::Decimal, Some("integer64"), "BIGINT"),
            (Kind::Integer, Some("positiveInt"), "INTEGER"),
            (Kind::Any, None, "CHARACTER VARYING"),
            // The declared FHIR type is an instant, but the values are booleans. The SQL type follows the values.
            (Kind::Boolean, Some("instant"), "BOOLEAN"),
        ] {
            assert_eq!(SqlType::of(kind, fhir_type).to_string(), shown);
        }
    }
}
