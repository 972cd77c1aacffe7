//! Yes, no and not known.

/// Yes if any says so, no if all do.
pub(in crate::terminology) fn any(answers: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    let mut found = Some(false);
    for answer in answers {
        match answer {
            Some(true) => return Some(true),
            None => found = None,
            Some(false) => {}
        }
    }
    found
}

/// No if any says so, yes if all do.
pub(in crate::terminology) fn all(answers: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    any(answers.into_iter().map(|answer| answer.map(|answer| !answer))).map(|found| !found)
}
