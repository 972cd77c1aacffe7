//! Converts a record of the input to bytes and back.

use crate::fhir::{TypeId, facts};
use crate::ingest::rows::block::{Block, Entry, Origin, Splice};

/// A record of the input that waits for the rules.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stowed<'b> {
    pub(super) owner: i64,
    /// The record's number in the whole input.
    pub(super) ordinal: u64,
    pub(super) origin: Origin,
    /// The number of the record's input file.
    pub(super) file: u32,
    pub(super) resource_type: TypeId,
    pub(super) splice: Splice,
    pub(super) id: &'b str,
    /// The Patient under which the record is filed. Empty if there is none.
    pub(super) patient: &'b str,
    /// References to possibly shared resources, one per line.
    pub(super) shared_refs: &'b str,
    pub(super) text: &'b str,
}

/// The length of the header in bytes. It consists of numbers of fixed length. The texts follow it.
const HEAD: usize = 62;

/// The values of a header that an index of records needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub(super) owner: i64,
    pub(super) ordinal: u64,
    /// The length of the header and the texts, in bytes.
    pub(super) length: usize,
}

/// Appends an entry of a block to `out`. `file` is the number of the block's input file.
pub(super) fn write(block: &Block, entry: &Entry, file: u32, out: &mut Vec<u8>) {
    let texts = [
        block.id(entry),
        block.patient(entry).unwrap_or_default(),
        block.shared_refs_lines(entry),
        block.text(entry),
    ];
    let splice = block.splice(entry);
    let length = HEAD + texts.iter().map(|text| text.len()).sum::<usize>();
    out.reserve(length);
    out.extend_from_slice(&(length as u64).to_le_bytes());
    out.extend_from_slice(&entry.owner.to_le_bytes());
    out.extend_from_slice(&entry.ordinal.to_le_bytes());
    out.extend_from_slice(&entry.origin.line.to_le_bytes());
    out.extend_from_slice(&entry.origin.entry.unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(&file.to_le_bytes());
    out.extend_from_slice(&(block.type_id.index() as u16).to_le_bytes());
    out.extend_from_slice(&(splice.at as u32).to_le_bytes());
    // The last text has no length, because it goes to the end of the record.
    for text in &texts[..3] {
        out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    }
    out.extend_from_slice(&[u8::from(splice.in_meta), 0, 0, 0]);
    texts.iter().for_each(|text| out.extend_from_slice(text.as_bytes()));
}

/// Reads the header of the first record in `bytes`. Returns `None` if the record is incomplete.
pub(super) fn extent(bytes: &[u8]) -> Option<Extent> {
    let mut head = Head(bytes.get(..HEAD)?);
    let length = usize::try_from(u64::from_le_bytes(head.take())).ok()?;
    let (owner, ordinal) = (i64::from_le_bytes(head.take()), u64::from_le_bytes(head.take()));
    (HEAD..=bytes.len())
        .contains(&length)
        .then_some(Extent { owner, ordinal, length })
}

/// Reads the record in `bytes`. Returns `None` if it is malformed.
pub(super) fn read(bytes: &[u8]) -> Option<Stowed<'_>> {
    let (head, texts) = bytes.split_at_checked(HEAD)?;
    let mut head = Head(head);
    let _length: [u8; 8] = head.take();
    let owner = i64::from_le_bytes(head.take());
    let ordinal = u64::from_le_bytes(head.take());
    let line = u64::from_le_bytes(head.take());
    let entry = u32::from_le_bytes(head.take());
    let file = u32::from_le_bytes(head.take());
    let resource_type = u16::from_le_bytes(head.take());
    let at = u32::from_le_bytes(head.take()) as usize;
    let lengths = [(); 3].map(|()| u32::from_le_bytes(head.take()) as usize);
    let [in_meta, ..]: [u8; 4] = head.take();
    let mut texts = simdutf8::basic::from_utf8(texts).ok()?;
    let mut cut = |length: usize| {
        let (text, rest) = texts.split_at_checked(length)?;
        texts = rest;
        Some(text)
    };
    let (id, patient, shared_refs) = (cut(lengths[0])?, cut(lengths[1])?, cut(lengths[2])?);
    Some(Stowed {
        owner,
        ordinal,
        origin: Origin {
            line,
            entry: (entry != u32::MAX).then_some(entry),
        },
        file,
        resource_type: facts().type_at(usize::from(resource_type))?,
        splice: Splice {
            at,
            in_meta: in_meta == 1,
        },
        id,
        patient,
        shared_refs,
        text: texts,
    })
}

/// The bytes of a header that were not read yet.
struct Head<'b>(&'b [u8]);

impl Head<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (number, rest) = self.0.split_first_chunk().unwrap_or((&[0; N], &[]));
        self.0 = rest;
        *number
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::ingest::rows::block::{Content, SharedRefs};

    #[test]
    fn records_come_back_as_they_were() {
        let type_id = facts().lookup("Basic").unwrap();
        let mut block = Block::new(type_id, Path::new("").into(), 0);
        for at in 0..3_u32 {
            block.push(&Content {
                ordinal: u64::from(at) << 32,
                owner: i64::MAX - i64::from(at),
                digest: [0; 16],
                origin: Origin {
                    line: 7,
                    entry: (at == 1).then_some(3),
                },
                splice: Splice {
                    at: 5,
                    in_meta: at == 2,
                },
                id: "an-id",
                source_id: "another",
                patient: (at > 0).then_some("p"),
                shared_refs: SharedRefs::List(&["Location/é".to_owned(), "Organization/2".to_owned()]),
                text: &"é".repeat(at as usize),
                identifiers: &[],
            });
        }
        let mut bytes = Vec::new();
        block
            .entries
            .iter()
            .for_each(|entry| write(&block, entry, 9, &mut bytes));
        let mut rest = &bytes[..];
        for entry in &block.entries {
            let found = extent(rest).unwrap();
            assert_eq!((found.owner, found.ordinal), (entry.owner, entry.ordinal));
            let record = read(&rest[..found.length]).unwrap();
            rest = &rest[found.length..];
            assert_eq!(
                (record.owner, record.ordinal, record.file, record.resource_type),
                (entry.owner, entry.ordinal, 9, type_id)
            );
            assert_eq!((record.origin, record.splice), (entry.origin, block.splice(entry)));
            assert_eq!(
                (record.id, record.patient),
                (block.id(entry), block.patient(entry).unwrap_or_default())
            );
            assert_eq!(record.shared_refs, "Location/é\nOrganization/2");
            assert_eq!(record.text, block.text(entry));
        }
        assert!(rest.is_empty() && extent(rest).is_none());
        assert!(extent(&bytes[..HEAD + 2]).is_none());
    }
}
