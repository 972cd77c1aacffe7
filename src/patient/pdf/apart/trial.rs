//! Reads attachments one by one, to find those that end the process.

use crate::columns::json::Tape;
use crate::patient::pdf::attached::{self, Got};
use crate::patient::pdf::build::{Export, MAX_ATTACHED, Part};
use crate::patient::pdf::gate::Gate;
use crate::patient::pdf::resource::Index;
use crate::pdf::PdfError;

/// Reads each attachment with this or a higher number into a file of its own, which is not kept.
pub(super) fn try_attachments(
    export: Export,
    parts: &[Part<'_>],
    from: usize,
    gate: &dyn Gate,
) -> Result<(), PdfError> {
    let base = export.base().to_owned();
    let mut number = 0;
    for part in parts {
        let Some(record) = part.record else { continue };
        let mut tapes: Vec<Tape> = Vec::new();
        tapes.resize_with(record.len(), Tape::new);
        let index = Index::read(record, &mut tapes, &base);
        let resources = index.resources();
        let named = resources
            .iter()
            .flat_map(|resource| attached::of(resource.type_id, resource.json));
        for one in named {
            number += 1;
            if number <= from {
                continue;
            }
            // What cannot be had now will not be read later.
            // An attachment of another type is only embedded, so it need not be tried.
            if let Got::Here(attachment) = one.get(part.documents, MAX_ATTACHED)
                && attachment.is_shown()
                && gate.begin(number - 1).is_ok()
            {
                let mut alone = export.begin(&[])?;
                alone.attachment(attachment);
                // If the writer refuses the file, the process should end here, where it is known why.
                alone.finish_to(&mut std::io::sink())?;
                gate.end(number - 1);
            }
        }
    }
    Ok(())
}
