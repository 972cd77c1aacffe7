//! Decides whether the patient may choose organizations.

use crate::consent::{Flow, Step, Way};

/// Whether the patient may choose an organization now. This is also true in the later steps of connecting a source,
/// because the browser's back button leads from them to the page of organizations.
pub(in crate::http::connect) fn is_choosing(flow: &Flow) -> bool {
    let step = matches!(
        flow.progress.step,
        Step::Choose | Step::Share { .. } | Step::Away { .. } | Step::Waiting { .. } | Step::Trouble { .. }
    );
    step && may_choose(flow)
}

/// Whether the patient may choose organizations in this flow at all. If a patient may have only one organization
/// (`Way::Choose`), they may not choose if the application already named it. A patient who must prove their identity
/// may choose only after that.
pub(super) fn may_choose(flow: &Flow) -> bool {
    match flow.request.way {
        Way::Choose => flow.request.endpoint.is_none(),
        Way::Search => true,
        Way::Identity => flow.progress.verified.is_some(),
    }
}
