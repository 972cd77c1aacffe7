//! The International Patient Summary as pages: the tables of its sections, for readers without a FHIR program.

use chrono::DateTime;

use super::build::joined;
use crate::patient::summary::{Rendering, SectionContent, Summary};
use crate::pdf::{Column, Document, PdfError, Properties, Stop};

const TITLE: &str = "International Patient Summary";

/// Draws a summary as a PDF. Returns [`PdfError::Stopped`] if `stop` is set before the PDF is complete.
pub fn rendering(summary: &Summary, stop: Stop) -> Result<Rendering, PdfError> {
    let title = joined(TITLE, summary.person());
    let made = DateTime::from_timestamp_micros(summary.moment()).unwrap_or_default();
    let mut document = Document::new(Properties {
        title: title.clone(),
        author: "Tabularium".to_owned(),
        language: "en".to_owned(),
        created: made,
        running_head: format!("{title} \u{b7} {}", made.format("%Y-%m-%d")),
    })?
    .until(stop);
    document.heading(1, &title);
    document.paragraph(&format!(
        "Made on {} by Tabularium. It has what is clinically relevant of the records that the service holds.",
        made.format("%Y-%m-%d at %H:%M UTC")
    ));
    for section in summary.sections() {
        if document.is_stopped() {
            break;
        }
        draw(&mut document, section);
    }
    Ok(Rendering {
        pdf: document.finish()?,
        title,
    })
}

fn draw(document: &mut Document, section: &SectionContent) {
    document.heading(2, section.title());
    if let Some(note) = section.note() {
        document.paragraph(note);
        return;
    }
    let columns = Column::fitting(section.columns(), section.rows());
    let mut table = document.table(section.title(), &columns);
    for row in section.rows() {
        if table.is_stopped() {
            return;
        }
        table.row(row);
    }
}
