//! Many texts in one allocation.

/// Texts, which are found by their numbers. Each text takes its own bytes, and 4 bytes for the position of its end.
#[derive(Debug, Default)]
pub(in crate::terminology) struct Texts {
    text: String,
    ends: Vec<u32>,
}

impl Texts {
    /// Adds a text and returns its number. `None` if all texts together would exceed 4 GiB.
    pub(in crate::terminology) fn push(&mut self, text: &str) -> Option<u32> {
        let end = u32::try_from(self.text.len() + text.len()).ok()?;
        let number = u32::try_from(self.ends.len()).ok()?;
        self.text.push_str(text);
        self.ends.push(end);
        Some(number)
    }

    /// Returns the text with this number.
    pub(in crate::terminology) fn get(&self, number: u32) -> &str {
        let start = match number {
            0 => 0,
            _ => self.ends[number as usize - 1],
        };
        &self.text[start as usize..self.ends[number as usize] as usize]
    }

    pub(in crate::terminology) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(in crate::terminology) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len() as u32).map(|number| self.get(number))
    }

    /// Frees unused memory.
    pub(in crate::terminology) fn shrink(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    /// Returns the number of bytes in memory.
    pub(in crate::terminology) fn size(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * size_of::<u32>()
    }
}
