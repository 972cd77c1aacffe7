//! Finds ids of erased resources in texts. It keeps a keyed hash of each id, so the ids of a million resources take
//! only a few megabytes. The key is random, so that nobody can make a record with another text that has the same hash.

use ahash::RandomState;
use rustc_hash::FxHashMap;

/// An id of at least this length counts wherever it occurs. Sources and this service make such ids. A shorter id may be
/// any word, so it counts only after its type and a slash, as in references.
const LONG: usize = 16;
/// The maximum length of a type, a slash and an id in R4.
const LONGEST: usize = 64 + 1 + 64;

/// Hashes of ids. Each has the number of the erasure's subject ([`super::evidence`]) to which the id belongs.
#[derive(Clone, Debug, Default)]
pub(in crate::lake) struct Identifiers {
    hasher: RandomState,
    known: FxHashMap<u64, u32>,
    /// The number of ids of each subject.
    counts: Vec<u64>,
    /// The minimum and maximum length of the added long ids, which are found without a type in front of them. A word of
    /// another length is not hashed.
    alone: Lengths,
    /// The minimum and maximum length of the added short ids, each with its type and a slash in front.
    typed: Lengths,
}

#[derive(Clone, Copy, Debug)]
struct Lengths(usize, usize);

impl Default for Lengths {
    fn default() -> Lengths {
        Lengths(usize::MAX, 0)
    }
}

impl Lengths {
    fn add(&mut self, length: usize) {
        *self = Lengths(self.0.min(length), self.1.max(length));
    }

    fn is_empty(self) -> bool {
        self.0 > self.1
    }

    fn has(self, length: usize) -> bool {
        (self.0..=self.1).contains(&length)
    }
}

impl Identifiers {
    /// Adds the id of a resource. `whose` is the number of the subject to which the id belongs.
    pub(in crate::lake) fn add(&mut self, whose: u32, resource_type: &str, id: &str) {
        let text = if id.len() >= LONG {
            self.alone.add(id.len());
            id.to_owned()
        } else {
            self.typed.add(resource_type.len() + 1 + id.len());
            format!("{resource_type}/{id}")
        };
        if self
            .known
            .insert(self.hasher.hash_one(text.as_bytes()), whose)
            .is_none()
        {
            let at = whose as usize;
            self.counts.resize(self.counts.len().max(at + 1), 0);
            self.counts[at] += 1;
        }
    }

    /// Returns the number of ids of this subject.
    pub(in crate::lake) fn count(&self, whose: u32) -> u64 {
        self.counts.get(whose as usize).copied().unwrap_or(0)
    }

    /// Looks for ids in a text. For each occurrence of an id, calls `found` with the number of the subject to which the
    /// id belongs.
    pub(in crate::lake) fn in_text(&self, text: &str, found: impl FnMut(u32)) {
        self.in_bytes(text.as_bytes(), found);
    }

    /// Looks for ids in the bytes of a text, as [`in_text`](Self::in_text) does.
    pub(super) fn in_bytes(&self, bytes: &[u8], mut found: impl FnMut(u32)) {
        if self.typed.is_empty() {
            return self.long_in(bytes, found);
        }
        // `before` is the start of the previous word, if only a slash is between that word and the current one.
        let (mut at, mut before) = (0, None);
        while at < bytes.len() {
            if !is_of_id(bytes[at]) {
                at += 1;
                before = None;
                continue;
            }
            let begin = at;
            while at < bytes.len() && is_of_id(bytes[at]) {
                at += 1;
            }
            let (alone, typed) = (&bytes[begin..at], before.map(|before: usize| &bytes[before..at]));
            let whose = self.get(alone, self.alone);
            if let Some(whose) = whose.or_else(|| self.get(typed?, self.typed)) {
                found(whose);
            }
            before = (bytes.get(at) == Some(&b'/')).then_some(begin);
            at += usize::from(before.is_some());
        }
    }

    /// Does the work of [`in_text`](Self::in_text) if all ids are long. It skips most bytes. It looks at the byte where
    /// a word of the minimum length would end, and goes back from there to the last byte that no id can have.
    fn long_in(&self, bytes: &[u8], mut found: impl FnMut(u32)) {
        let Lengths(min, _) = self.alone;
        // All words that begin before `from` have been looked at.
        let mut from = 0usize;
        while let Some(at) = from.checked_add(min - 1).filter(|at| *at < bytes.len()) {
            let before = bytes[from..=at].iter().rposition(|byte| !is_of_id(*byte));
            if let Some(before) = before {
                from += before + 1;
                continue;
            }
            let rest = &bytes[at + 1..];
            let end = rest.iter().position(|byte| !is_of_id(*byte));
            let end = end.map_or(bytes.len(), |more| at + 1 + more);
            if let Some(whose) = self.get(&bytes[from..end], self.alone) {
                found(whose);
            }
            from = end + 1;
        }
    }

    /// Returns the number of the subject to which this id of a resource belongs. `None` if no subject has the id.
    pub(in crate::lake) fn whose(&self, resource_type: &str, id: &str) -> Option<u32> {
        if id.len() >= LONG {
            self.get(id.as_bytes(), self.alone)
        } else {
            self.get(format!("{resource_type}/{id}").as_bytes(), self.typed)
        }
    }

    fn get(&self, text: &[u8], lengths: Lengths) -> Option<u32> {
        let may_be = text.len() <= LONGEST && lengths.has(text.len());
        may_be.then(|| self.known.get(&self.hasher.hash_one(text)).copied())?
    }
}

/// Whether a character may be in an id of R4.
fn is_of_id(byte: u8) -> bool {
    static OF_ID: [bool; 256] = {
        let (mut of_id, mut byte) = ([false; 256], 0);
        while byte < 256 {
            let character = byte as u8;
            of_id[byte] = character.is_ascii_alphanumeric() || character == b'-' || character == b'.';
            byte += 1;
        }
        of_id
    };
    OF_ID[byte as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(identifiers: &Identifiers, text: &str) -> Vec<u32> {
        let mut found = Vec::new();
        identifiers.in_text(text, |whose| found.push(whose));
        found
    }

    #[test]
    fn long_ids_are_found_anywhere_and_short_ones_as_references() {
        let mut ids = Identifiers::default();
        ids.add(0, "Patient", "ann");
        ids.add(1, "Observation", "0c7e0a52-0000-8000-8000-000000000001");
        for (text, whose) in [
            (r#"{"reference":"Patient/ann"}"#, vec![0]),
            (
                r#"{"reference":"https://a.example/fhir/Patient/ann/_history/1"}"#,
                vec![0],
            ),
            ("Patient/ann,Patient/ann", vec![0, 0]),
            (r#"{"reference":"Patient/anna"}"#, vec![]),
            (r#"{"reference":"Practitioner/ann"}"#, vec![]),
            ("ann", vec![]),
            ("ann Patient ann", vec![]),
            ("0c7e0a52-0000-8000-8000-000000000001", vec![1]),
            ("urn:uuid:0c7e0a52-0000-8000-8000-000000000001#x", vec![1]),
            ("x0c7e0a52-0000-8000-8000-000000000001", vec![]),
            ("ä/ann Patient/", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(found(&ids, text), whose, "{text}");
        }
        assert_eq!(ids.whose("Patient", "ann"), Some(0));
        assert_eq!(ids.whose("Goal", "ann"), None);
        assert_eq!((ids.count(0), ids.count(1), ids.count(2)), (1, 1, 0));
    }

    #[test]
    fn texts_are_searched_alike_with_and_without_short_ids() {
        let (mut long, mut all) = (Identifiers::default(), Identifiers::default());
        let ids = [
            "0c7e0a52-0000-8000",
            "aaaaaaaaaaaaaaaa",
            "0c7e0a52-0000-8000-8000-000000000001",
        ];
        for (whose, id) in ids.into_iter().enumerate() {
            long.add(whose as u32, "Goal", id);
            all.add(whose as u32, "Goal", id);
        }
        all.add(9, "Patient", "ann");
        let words = ["", "a", "{", "/", "\"", "é", "aaaaaaaaaaaaaaa", "Goal/"]
            .into_iter()
            .chain(ids);
        let words: Vec<&str> = words.collect();
        for one in &words {
            for two in &words {
                for (three, four) in words
                    .iter()
                    .flat_map(|three| words.iter().map(move |four| (three, four)))
                {
                    let text = format!("{one}{two} {three}{four}");
                    assert_eq!(found(&long, &text), found(&all, &text), "{text}");
                }
            }
        }
    }

    #[test]
    fn an_id_counts_once() {
        let mut ids = Identifiers::default();
        ids.add(0, "Patient", "ann");
        ids.add(0, "Patient", "ann");
        assert_eq!(ids.count(0), 1);
    }
}
