//! The structure of a document: its headings, paragraphs and tables, and the drawn pieces of each.
//!
//! A group is opened, filled and closed. A piece that is drawn in the meantime belongs to the innermost open group. A
//! piece gets its identifier only when its page is written. So until the end, a group has the indexes of its pieces in
//! place of their identifiers.

use std::num::NonZeroU16;

use krilla::tagging::{Identifier, ListNumbering, Node, TableHeaderScope, Tag, TagGroup, TagKind, TagTree};

/// The kind of a group.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    /// A heading: its level, which starts at 1, and its text.
    Heading(u8, String),
    Paragraph,
    List,
    Item,
    ItemLabel,
    ItemBody,
    Table(String),
    TableHead,
    TableBody,
    Row,
    /// A cell that names its column.
    ColumnHeader,
    /// A cell that names its row.
    RowHeader,
    Cell,
    /// A picture with its description.
    Figure(String),
}

/// The index of a drawn piece in the structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece(usize);

#[derive(Debug)]
enum Child {
    Group(usize),
    Piece(usize),
}

#[derive(Debug)]
struct Group {
    kind: Kind,
    children: Vec<Child>,
}

/// The groups of a document.
#[derive(Debug, Default)]
pub(super) struct Structure {
    groups: Vec<Group>,
    roots: Vec<usize>,
    open: Vec<usize>,
    pieces: Vec<Option<Identifier>>,
}

impl Structure {
    /// Opens a group inside the innermost open one.
    pub(super) fn open(&mut self, kind: Kind) {
        let place = self.groups.len();
        self.groups.push(Group {
            kind,
            children: Vec::new(),
        });
        match self.open.last() {
            Some(&parent) => self.groups[parent].children.push(Child::Group(place)),
            None => self.roots.push(place),
        }
        self.open.push(place);
    }

    /// Closes the innermost open group.
    pub(super) fn close(&mut self) {
        self.open.pop();
    }

    /// Reserves a place in the innermost open group for a piece that will be drawn.
    pub(super) fn piece(&mut self) -> Piece {
        let place = self.pieces.len();
        self.pieces.push(None);
        if let Some(&group) = self.open.last() {
            self.groups[group].children.push(Child::Piece(place));
        }
        Piece(place)
    }

    /// Returns the index of the innermost open group. Callers pass it to `piece_of` after the group was closed.
    pub(super) fn innermost(&self) -> Option<usize> {
        self.open.last().copied()
    }

    /// Reserves a place for a piece in a group that may already be closed.
    pub(super) fn piece_of(&mut self, group: usize) -> Piece {
        let place = self.pieces.len();
        self.pieces.push(None);
        self.groups[group].children.push(Child::Piece(place));
        Piece(place)
    }

    /// Records the identifier of a drawn piece.
    pub(super) fn drawn(&mut self, piece: Piece, identifier: Identifier) {
        self.pieces[piece.0] = Some(identifier);
    }

    /// Builds the tag tree of the file.
    pub(super) fn tree(mut self) -> TagTree {
        let mut tree = TagTree::new();
        for root in std::mem::take(&mut self.roots) {
            if let Some(group) = self.group(root) {
                tree.push(Node::Group(group));
            }
        }
        tree
    }

    /// Builds a group with its descendants. `None` if nothing was drawn in it. The recursion is shallow, because groups
    /// nest only a few levels.
    fn group(&mut self, place: usize) -> Option<TagGroup> {
        let children = std::mem::take(&mut self.groups[place].children);
        let mut nodes = Vec::with_capacity(children.len());
        for child in children {
            match child {
                Child::Group(group) => nodes.extend(self.group(group).map(Node::Group)),
                Child::Piece(piece) => nodes.extend(self.pieces[piece].take().map(Node::Leaf)),
            }
        }
        // Keep an empty cell. Without it, the cells after it would move into other columns.
        let keeps_place = matches!(
            self.groups[place].kind,
            Kind::Cell | Kind::RowHeader | Kind::ColumnHeader
        );
        if nodes.is_empty() && !keeps_place {
            return None;
        }
        // `nodes` has exactly the capacity that it needs. A list that grows would have room for four, and most groups
        // have one child.
        Some(TagGroup::with_children(tag(&self.groups[place].kind), nodes))
    }
}

fn tag(kind: &Kind) -> TagKind {
    match kind {
        Kind::Heading(level, title) => {
            let level = NonZeroU16::new(u16::from(*level)).unwrap_or(NonZeroU16::MIN);
            Tag::Hn(level, Some(title.clone())).into()
        }
        Kind::Paragraph => Tag::P.into(),
        Kind::List => Tag::L(ListNumbering::Disc).into(),
        Kind::Item => Tag::LI.into(),
        Kind::ItemLabel => Tag::Lbl.into(),
        Kind::ItemBody => Tag::LBody.into(),
        Kind::Table(summary) => Tag::Table.with_summary(Some(summary.clone())).into(),
        Kind::TableHead => Tag::THead.into(),
        Kind::TableBody => Tag::TBody.into(),
        Kind::Row => Tag::TR.into(),
        Kind::ColumnHeader => Tag::TH(TableHeaderScope::Column).into(),
        Kind::RowHeader => Tag::TH(TableHeaderScope::Row).into(),
        Kind::Cell => Tag::TD.into(),
        Kind::Figure(shows) => Tag::Figure(Some(shows.clone())).into(),
    }
}
