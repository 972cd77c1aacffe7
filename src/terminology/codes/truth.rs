//! Three-valued answers: yes, no and unknown.

/// Yes if any is yes, no if all are no.
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

/// No if any is no, yes if all are yes.
pub(in crate::terminology) fn all(answers: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    any(answers.into_iter().map(|answer| answer.map(|answer| !answer))).map(|found| !found)
}
