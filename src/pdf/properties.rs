//! The metadata of a file.

use chrono::{DateTime, Datelike, Timelike, Utc};
use krilla::metadata::{DateTime as PdfDate, Metadata};

/// Title, author and the other entries of a document's metadata.
#[derive(Debug, Clone)]
pub struct Properties {
    /// The title, which viewers show instead of the file's name.
    pub title: String,
    /// The author.
    pub author: String,
    /// The language of the texts as a BCP 47 tag, such as `en`.
    pub language: String,
    /// The time of creation.
    pub created: DateTime<Utc>,
    /// The header of each page, including the first.
    pub running_head: String,
}

impl Properties {
    /// Returns the entries in the writer's type.
    pub(super) fn metadata(&self) -> Metadata {
        Metadata::new()
            .title(self.title.clone())
            .authors(vec![self.author.clone()])
            .creator(self.author.clone())
            .language(self.language.clone())
            .creation_date(self.date())
    }

    fn date(&self) -> PdfDate {
        let at = self.created;
        // All parts of the date fit into `u16` and `u8`, because a clock has no years before 0 or after 65,535.
        PdfDate::new(u16::try_from(at.year()).unwrap_or(0))
            .month(at.month() as u8)
            .day(at.day() as u8)
            .hour(at.hour() as u8)
            .minute(at.minute() as u8)
            .second(at.second() as u8)
            .utc_offset_hour(0)
            .utc_offset_minute(0)
    }
}
