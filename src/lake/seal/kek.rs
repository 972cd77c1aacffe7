//! The key-encryption key: 32 bytes that wrap the keys of files. The operator keeps it in a file, in the environment,
//! or in a key management service that a command queries. This program never writes it to disk, except wrapped by its
//! successor during a rotation.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{OnceLock, mpsc};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

use super::error::SealError;
use super::key::KEY_BYTES;
use super::key_id::from_digits;
use super::secret::Secret;

/// The environment variable that has the key.
pub const KEK_VARIABLE: &str = "TABULARIUM_LAKE_KEY";
/// The maximum number of bytes of a key's text, including white space around it.
const MAX_TEXT: u64 = 1_024;
/// The maximum time that a command may take to print the key.
const PATIENCE: Duration = Duration::from_secs(60);

/// The key that wraps the keys of files. It is overwritten in memory when it is dropped.
#[derive(Clone)]
pub struct Kek(Secret);

impl Kek {
    pub(super) fn new(secret: Secret) -> Kek {
        Kek(secret)
    }

    /// Makes a new key from the system's cryptographic random source.
    pub fn random() -> Result<Kek, SealError> {
        Secret::random().map(Kek).ok_or(SealError::Random)
    }

    /// Reads a key from 64 hexadecimal digits, or from 32 bytes in base64 of either alphabet, with or without padding.
    /// White space around the text is ignored. `None` for any other text.
    pub fn parse(text: &str) -> Option<Kek> {
        let text = text.trim();
        let bytes = match text.len() {
            64 => from_digits(text)?,
            _ => {
                let text = text.trim_end_matches('=');
                let decoded = URL_SAFE_NO_PAD.decode(text).or_else(|_| STANDARD_NO_PAD.decode(text));
                Zeroizing::new(decoded.ok()?)
            }
        };
        Secret::of(&bytes).map(Kek)
    }

    pub(super) fn bytes(&self) -> &[u8; KEY_BYTES] {
        self.0.bytes()
    }
}

impl fmt::Debug for Kek {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kek")
    }
}

/// The source of a key-encryption key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KekSource {
    /// The environment variable [`KEK_VARIABLE`], if it is set.
    Environment,
    /// A file that only its owner may read.
    File(PathBuf),
    /// The output of a shell command.
    Command(String),
}

/// The source that [`KekSource::prefer`] has set, if any.
static PREFERRED: OnceLock<KekSource> = OnceLock::new();

impl Default for KekSource {
    /// Returns the source that [`KekSource::prefer`] has set. Without one, returns the environment.
    fn default() -> KekSource {
        PREFERRED.get().cloned().unwrap_or(KekSource::Environment)
    }
}

impl KekSource {
    /// Makes this the [`default`](KekSource::default) source of the process. Only the first call has an effect.
    pub fn prefer(self) {
        let _ = PREFERRED.set(self);
    }

    /// Reads the key. Fails with [`SealError::NoKek`] if the environment variable is not set or empty. Any other
    /// failure is [`SealError::Kek`].
    pub fn load(&self) -> Result<Kek, SealError> {
        let text = match self {
            KekSource::File(path) => self.of_file(path)?,
            KekSource::Environment => match std::env::var_os(KEK_VARIABLE).filter(|value| !value.is_empty()) {
                Some(value) => Zeroizing::new(value.into_string().map_err(|_| self.refused("is no text"))?),
                None => return Err(SealError::NoKek),
            },
            KekSource::Command(command) => self.of_command(command)?,
        };
        Kek::parse(&text).ok_or_else(|| self.refused("is neither 64 hexadecimal digits nor 32 bytes in base64"))
    }

    fn of_file(&self, path: &Path) -> Result<Zeroizing<String>, SealError> {
        let failed = |error: std::io::Error| self.refused(&format!("cannot be read: {error}"));
        let file = std::fs::File::open(path).map_err(failed)?;
        #[cfg(unix)]
        {
            let facts = file.metadata().map_err(failed)?;
            let mode = std::os::unix::fs::PermissionsExt::mode(&facts.permissions());
            if facts.is_file() && mode & 0o077 != 0 {
                return Err(self.refused("may be read by others than its owner: `chmod 600` it"));
            }
        }
        text_of(file).map_err(failed)
    }

    fn of_command(&self, command: &str) -> Result<Zeroizing<String>, SealError> {
        let failed = |error: std::io::Error| self.refused(&format!("cannot be had: {error}"));
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = shell.spawn().map_err(failed)?;
        let Some(printed) = child.stdout.take() else {
            return Err(self.refused("cannot be had: the command has no output"));
        };
        let (sender, receiver) = mpsc::channel();
        let reader = std::thread::spawn(move || sender.send(text_of(printed)));
        let Ok(text) = receiver.recv_timeout(PATIENCE) else {
            end(&mut child);
            return Err(self.refused("cannot be had: the command did not end in time"));
        };
        let _ = reader.join();
        let status = child.wait().map_err(failed)?;
        if status.success() {
            text.map_err(failed)
        } else {
            Err(self.refused(&format!("cannot be had: the command ended with {status}")))
        }
    }

    fn refused(&self, what: &str) -> SealError {
        SealError::Kek {
            origin: self.to_string(),
            what: what.to_owned(),
        }
    }
}

impl fmt::Display for KekSource {
    /// Writes the source. Does not write the command, because its arguments may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KekSource::File(path) => write!(f, "in {}", path.display()),
            KekSource::Environment => write!(f, "in {KEK_VARIABLE}"),
            KekSource::Command(_) => write!(f, "of --key-command"),
        }
    }
}

/// Reads the text of a key, at most [`MAX_TEXT`] bytes. Reads and drops the rest of the input.
fn text_of(from: impl Read) -> std::io::Result<Zeroizing<String>> {
    let mut text = Zeroizing::new(String::with_capacity(MAX_TEXT as usize));
    let mut bounded = from.take(MAX_TEXT);
    bounded.read_to_string(&mut text)?;
    // Read the rest of the output, so that a command that prints more is not blocked and runs to its end.
    std::io::copy(&mut bounded.into_inner(), &mut std::io::sink())?;
    Ok(text)
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use base64::engine::general_purpose::{STANDARD, URL_SAFE};

    use super::*;

    const BYTES: [u8; KEY_BYTES] = [0xfb; KEY_BYTES];

    fn file(text: &str, mode: u32) -> (tempfile::TempDir, KekSource) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lake.key");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        (folder, KekSource::File(path))
    }

    #[test]
    fn a_key_is_64_digits_or_base64() {
        for text in [
            "fb".repeat(32),
            "FB".repeat(32),
            STANDARD.encode(BYTES),
            URL_SAFE.encode(BYTES),
            URL_SAFE_NO_PAD.encode(BYTES),
            format!(" {}\n", STANDARD.encode(BYTES)),
        ] {
            assert_eq!(Kek::parse(&text).unwrap().bytes(), &BYTES, "{text}");
        }
        for text in [
            "",
            "fb",
            &"fb".repeat(31),
            &"zz".repeat(32),
            &STANDARD.encode([1; 31]),
            "no key",
        ] {
            assert!(Kek::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_file_of_a_key_is_its_owners_alone() {
        let (_folder, source) = file(&"fb".repeat(32), 0o600);
        assert_eq!(source.load().unwrap().bytes(), &BYTES);
        let (_folder, source) = file(&"fb".repeat(32), 0o640);
        let refused = source.load().unwrap_err().to_string();
        assert!(
            refused.ends_with("may be read by others than its owner: `chmod 600` it"),
            "{refused}"
        );
        let missing = KekSource::File("/nowhere/lake.key".into())
            .load()
            .unwrap_err()
            .to_string();
        assert!(
            missing.starts_with("the key-encryption key in /nowhere/lake.key cannot be read: "),
            "{missing}"
        );
    }

    #[test]
    fn a_command_prints_the_key() {
        let command = |text: &str| KekSource::Command(text.to_owned());
        let text = STANDARD.encode(BYTES);
        assert_eq!(command(&format!("echo {text}")).load().unwrap().bytes(), &BYTES);
        let failed = command("echo secret-word; exit 3").load().unwrap_err().to_string();
        assert_eq!(
            failed,
            "the key-encryption key of --key-command cannot be had: the command ended with exit status: 3"
        );
        assert!(matches!(
            command("head -c 100000 /dev/zero").load(),
            Err(SealError::Kek { .. })
        ));
    }

    #[test]
    fn no_error_shows_what_was_given() {
        let given = "0123456789abcdef0123456789abcdeX";
        let (_folder, source) = file(given, 0o600);
        let (error, kek) = (source.load().unwrap_err(), Kek::random().unwrap());
        assert!(!format!("{error} {error:?}").contains("0123456789"), "{error}");
        assert_eq!(format!("{kek:?}"), "Kek");
        let command = KekSource::Command(format!("echo {given}")).load().unwrap_err();
        assert!(!format!("{command} {command:?}").contains("0123456789"), "{command}");
    }
}
