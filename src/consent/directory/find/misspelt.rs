//! Decides which words of the index a misspelt word may mean: words with few mistakes, and words whose beginning has
//! few mistakes. A mistake is an additional letter, a missing letter, a wrong letter, or two swapped letters.

use strsim::osa_distance;

use super::index::{FIRST, HEAD, Token, mask};

/// The minimum number of letters of a word that may have one mistake, and of a word that may have two.
const ONE_MISTAKE: usize = 4;
const TWO_MISTAKES: usize = 8;

/// Returns how many mistakes a word may have.
pub(super) fn mistakes_in(word: &str) -> usize {
    match word.chars().count() {
        _ if word.chars().any(char::is_numeric) => 0,
        letters if letters < ONE_MISTAKE => 0,
        letters if letters < TWO_MISTAKES => 1,
        _ => 2,
    }
}

/// How similar two words are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Near {
    /// The number of mistakes.
    pub(super) mistakes: usize,
    /// Whether the misspelt word matches only the beginning of the other word.
    pub(super) begun: bool,
}

/// A word of a query that may have some mistakes.
pub(super) struct Misspelt<'w> {
    word: &'w str,
    letters: usize,
    mistakes: usize,
    /// Bit masks of letters. `all` has all letters of the word. The other masks have only its first letters. They are
    /// compared with the first `HEAD` or `FIRST` letters of a word of the index. Each mistake can shift letters by one.
    /// So if n mistakes are allowed, `within_*` masks have n letters less, and `around_*` masks have n letters more.
    all: u64,
    within_head: u64,
    around_head: u64,
    around_first: u64,
}

impl<'w> Misspelt<'w> {
    /// Prepares a word that may have at most this many mistakes.
    pub(super) fn new(word: &'w str, mistakes: usize) -> Misspelt<'w> {
        let first = |letters: usize| mask(word.chars().take(letters));
        Misspelt {
            word,
            letters: word.chars().count(),
            mistakes,
            all: first(usize::MAX),
            within_head: first(HEAD.saturating_sub(mistakes)),
            around_head: first(HEAD + mistakes),
            around_first: first(FIRST + mistakes),
        }
    }

    /// Returns the words of the index that the misspelt word may mean, each with its similarity.
    pub(super) fn meant<'t>(&self, tokens: &'t [Token]) -> Vec<(&'t Token, Near)> {
        let mut meant = Vec::new();
        // `near` reads only this beginning of a longer word. So longer words with the same beginning have the same
        // similarity. They are neighbours, so compute it once.
        let mut last: Option<(&str, Option<Near>)> = None;
        for token in tokens.iter().filter(|token| self.may_mean(token)) {
            let beginning = token.beginning(self.letters + self.mistakes);
            let is_longer = beginning.len() < token.text.len();
            let near = match last {
                Some((known, near)) if is_longer && known == beginning => near,
                _ => self.near(token),
            };
            if is_longer {
                last = Some((beginning, near));
            }
            meant.extend(near.map(|near| (token, near)));
        }
        meant
    }

    /// Whether the masks of letters allow that the misspelt word means this word. A letter of one word is foreign if
    /// the other word does not have it. Each mistake adds at most one foreign letter to either word, so a word with
    /// more foreign letters is excluded. This cheap test excludes most words before their mistakes are counted.
    fn may_mean(&self, token: &Token) -> bool {
        let few = |letters: u64, among: u64| (letters & !among).count_ones() as usize <= self.mistakes;
        token.may_be_misspelt
            && token.letters + self.mistakes >= self.letters
            && few(token.first, self.around_first)
            && few(self.within_head, token.head)
            && few(self.all, token.mask)
            && (self.letters < HEAD + self.mistakes || few(token.head, self.around_head))
    }

    fn near(&self, token: &Token) -> Option<Near> {
        let shortest = self.letters.saturating_sub(self.mistakes).max(1);
        let longest = (self.letters + self.mistakes).min(token.letters);
        let mistakes_of = |letters: usize| osa_distance(self.word, token.beginning(letters));
        let middle = self.letters.min(longest);
        let in_middle = mistakes_of(middle);
        // If the beginning gets one letter longer or shorter, the number of mistakes changes by at most one. So skip
        // lengths that are sure to have too many mistakes.
        let in_reach = |letters: &usize| in_middle <= self.mistakes + letters.abs_diff(middle);
        let all = (shortest..=longest).filter(in_reach).filter_map(|letters| {
            let mistakes = if letters == middle {
                in_middle
            } else {
                mistakes_of(letters)
            };
            let begun = letters < token.letters;
            (mistakes <= self.mistakes).then_some(Near { mistakes, begun })
        });
        all.min()
    }
}

#[cfg(test)]
mod tests {
    use super::super::index::{Index, Known};
    use super::*;

    #[test]
    fn a_word_means_what_is_a_mistake_away() {
        let known = Known {
            names: vec!["Lakeshore öffnung 45678 ABCDE".to_owned()],
            ..Known::default()
        };
        let index = Index::of(&[known]);
        let meant = |word: &str| {
            let misspelt = Misspelt::new(word, mistakes_in(word));
            let meant = misspelt.meant(&index.tokens).into_iter();
            let mut meant: Vec<_> = meant
                .map(|(token, near)| (near.mistakes, near.begun, &*token.text))
                .collect();
            meant.sort_unstable();
            meant.first().copied()
        };
        assert_eq!(meant("lakshore"), Some((1, false, "lakeshore")));
        assert_eq!(meant("lakehsore"), Some((1, false, "lakeshore")));
        assert_eq!(meant("laekshroe"), Some((2, false, "lakeshore")));
        assert_eq!(meant("laks"), Some((1, true, "lakeshore")));
        assert_eq!(meant("offnnug"), Some((1, false, "offnung")));
        assert_eq!(meant("lka"), None, "too short for mistakes");
        assert_eq!(meant("lxxeshor"), Some((2, true, "lakeshore")));
        assert_eq!(meant("lxxshore"), None);
        assert_eq!(meant("45679"), None, "numbers are not misspelt");
    }
}
