//! The 32 secret bytes of a key in memory.

use zeroize::Zeroize;

use super::key::KEY_BYTES;

/// The secret bytes of a key. They are at one place on the heap from the beginning, and are overwritten when the value
/// is dropped. Moving the value moves only a pointer. An array would leave a copy on the stack with each move.
#[derive(PartialEq, Eq)]
pub(super) struct Secret(Box<[u8; KEY_BYTES]>);

impl Secret {
    /// Returns a secret that `fill` writes. `None` if `fill` returns `None`.
    pub(super) fn written(fill: impl FnOnce(&mut [u8; KEY_BYTES]) -> Option<()>) -> Option<Secret> {
        let mut secret = Secret(Box::new([0; KEY_BYTES]));
        fill(&mut secret.0)?;
        Some(secret)
    }

    /// Returns a copy of these bytes. `None` if they have another length.
    pub(super) fn of(bytes: &[u8]) -> Option<Secret> {
        Secret::written(|secret| (bytes.len() == KEY_BYTES).then(|| secret.copy_from_slice(bytes)))
    }

    /// Returns a secret from the system's cryptographic random source. `None` if the system gives no random numbers.
    pub(super) fn random() -> Option<Secret> {
        Secret::written(|secret| aws_lc_rs::rand::fill(&mut secret[..]).ok())
    }

    pub(super) fn bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }
}

impl Clone for Secret {
    fn clone(&self) -> Secret {
        let mut copy = Secret(Box::new([0; KEY_BYTES]));
        copy.0.copy_from_slice(&self.0[..]);
        copy
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    use super::*;

    /// The bytes of this process at an address.
    fn memory(address: usize) -> [u8; KEY_BYTES] {
        let mut bytes = [0; KEY_BYTES];
        let memory = File::open("/proc/self/mem").unwrap();
        memory.read_exact_at(&mut bytes, address as u64).unwrap();
        bytes
    }

    #[test]
    fn a_dropped_secret_is_no_longer_in_memory() {
        let secret = Secret::random().unwrap();
        let (address, first) = (secret.bytes().as_ptr() as usize, secret.bytes()[..8].to_vec());
        let moved = Some(Box::new(secret));
        assert_eq!(moved.as_ref().unwrap().bytes().as_ptr() as usize, address);
        assert_eq!(memory(address)[..8], first);
        drop(moved);
        // The allocator may write into the first bytes of freed memory, but not the secret.
        assert_ne!(memory(address)[..8], first);
        assert_eq!(memory(address)[16..], [0; 16]);
    }
}
