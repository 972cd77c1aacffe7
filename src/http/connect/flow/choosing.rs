//! Whether the patient chooses organizations.

use crate::consent::{Flow, Step, Way};

/// Whether the patient can choose an organization now. The browser's back button leads to this page, so later steps
/// count too.
pub(in crate::http::connect) fn is_choosing(flow: &Flow) -> bool {
    let step = matches!(
        flow.progress.step,
        Step::Choose | Step::Share { .. } | Step::Away { .. } | Step::Waiting { .. } | Step::Trouble { .. }
    );
    step && may_choose(flow)
}

/// Whether the patient chooses organizations. They cannot choose if the application named the only organization. If
/// they must prove their identity, they choose after that.
pub(super) fn may_choose(flow: &Flow) -> bool {
    match flow.request.way {
        Way::Choose => flow.request.endpoint.is_none(),
        Way::Search => true,
        Way::Identity => flow.progress.verified.is_some(),
    }
}
