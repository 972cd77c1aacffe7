//! Combines three-valued answers: yes is `Some(true)`, no is `Some(false)`, and unknown is `None`.

/// Returns yes if any answer is yes, no if all are no, and otherwise unknown.
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

/// Returns no if any answer is no, yes if all are yes, and otherwise unknown.
pub(in crate::terminology) fn all(answers: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    any(answers.into_iter().map(|answer| answer.map(|answer| !answer))).map(|found| !found)
}
