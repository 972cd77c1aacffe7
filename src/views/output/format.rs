//! The formats in which rows are written.

/// The format in which rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values.
    Csv {
        /// Whether the first line has the names of the columns.
        header: bool,
    },
    /// One JSON array of objects.
    Json,
    /// One JSON object per line.
    Ndjson,
    /// Apache Parquet. Decimals, dates and times have a SQL type if it fits all values of the column.
    Parquet,
    /// Apache Parquet with decimals, dates and times as text, except in columns with a tag `ansi/type`.
    ParquetText,
}

impl Format {
    /// Returns the format with this name (`csv`, `json`, `ndjson`, `parquet`, `parquet-text`) or media type. CSV has
    /// a header.
    pub fn parse(name: &str) -> Option<Format> {
        let essence = name.split(';').next().unwrap_or(name).trim().to_ascii_lowercase();
        Some(match essence.as_str() {
            "csv" | "text/csv" => Format::Csv { header: true },
            // In the value of a query parameter, a plus sign is decoded as a space. So the name with a space is
            // accepted, too.
            "json" | "application/json" | "application/fhir+json" | "application/fhir json" => Format::Json,
            "ndjson"
            | "application/ndjson"
            | "application/x-ndjson"
            | "application/fhir+ndjson"
            | "application/fhir ndjson" => Format::Ndjson,
            "parquet-text" => Format::ParquetText,
            "parquet" | "application/vnd.apache.parquet" => Format::Parquet,
            _ => return None,
        })
    }

    /// Returns the format's media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Format::Csv { header: true } => "text/csv; charset=utf-8; header=present",
            Format::Csv { header: false } => "text/csv; charset=utf-8; header=absent",
            Format::Json => "application/json",
            Format::Ndjson => "application/x-ndjson",
            Format::Parquet | Format::ParquetText => "application/vnd.apache.parquet",
        }
    }
}
