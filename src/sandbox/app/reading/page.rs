//! Splits a long list into pages.

/// One page of a list.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::sandbox::app) struct Part<T> {
    pub(in crate::sandbox::app) shown: Vec<T>,
    /// The number of the previous page. `after` is the number of the next page. `None` if there is no such page.
    pub(in crate::sandbox::app) before: Option<usize>,
    pub(in crate::sandbox::app) after: Option<usize>,
    /// The number of entries in the whole list.
    pub(in crate::sandbox::app) total: usize,
}

impl<T> Part<T> {
    /// Returns the page with this number. The first page has the number 1. A number that is too large gives the last
    /// page, and 0 gives the first page.
    pub(in crate::sandbox::app) fn of(all: Vec<T>, number: usize, size: usize) -> Part<T> {
        let total = all.len();
        let pages = total.div_ceil(size).max(1);
        let number = number.clamp(1, pages);
        Part {
            shown: all.into_iter().skip((number - 1) * size).take(size).collect(),
            before: (number > 1).then(|| number - 1),
            after: (number < pages).then(|| number + 1),
            total,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_shown_page_by_page() {
        let part = |number| Part::of((0..5).collect::<Vec<u8>>(), number, 2);
        assert_eq!(
            (part(1).shown, part(1).before, part(1).after),
            (vec![0, 1], None, Some(2))
        );
        assert_eq!(
            (part(2).shown, part(2).before, part(2).after),
            (vec![2, 3], Some(1), Some(3))
        );
        assert_eq!((part(3).shown, part(3).before, part(3).after), (vec![4], Some(2), None));
        // Any number in an address leads to an existing page.
        assert_eq!((part(0), part(usize::MAX)), (part(1), part(3)));
        assert!(Part::of(Vec::<u8>::new(), 7, 2).shown.is_empty());
    }
}
