//! Downloads one answer of a source into a file of limited size.

use std::path::Path;

use crate::lake::{AttachmentWriter, Keys, LakeError, Sums};
use crate::sync::client::{Answer, Client, Error, Realm};

/// The maximum number of bytes of an answer whose status is not 200. For an answer as JSON, also the maximum number of
/// bytes around the base64 of a file.
const SAID: usize = 64 << 10;

/// The file into which the body of an answer is written. It is for answers that are attachments.
#[derive(Clone, Copy, Debug)]
pub(in crate::sync::jobs) struct DownloadTarget<'w> {
    pub(in crate::sync::jobs) accept: &'w str,
    pub(in crate::sync::jobs) path: &'w Path,
    /// The keys with which the file is sealed, if the lake is sealed.
    pub(in crate::sync::jobs) keys: &'w Keys,
    /// The maximum number of bytes of the file.
    pub(in crate::sync::jobs) max_bytes: u64,
}

/// The answer to a request.
pub(in crate::sync::jobs) struct Reply {
    /// The answer. Its body is empty if the body was written to the file.
    pub(in crate::sync::jobs) answer: Answer,
    /// The file, if one was requested and the status is 200.
    pub(in crate::sync::jobs) file: Option<Result<Sums, NoFile>>,
}

/// Why the body of an answer was not written to a file.
#[derive(Debug)]
pub(in crate::sync::jobs) enum NoFile {
    /// The file exceeds the size limit.
    TooLarge,
    /// The file cannot be written.
    Lost(LakeError),
}

/// Sends a request once, without retries.
pub(in crate::sync::jobs) async fn once(
    client: &Client,
    url: &str,
    token: &str,
    realm: &Realm,
    target: Option<DownloadTarget<'_>>,
) -> Result<Reply, Error> {
    let Some(target) = target else {
        let answer = client.fetch(url, token, realm).await?;
        return Ok(Reply { answer, file: None });
    };
    let mut download = client.open(url, target.accept, token, realm).await?;
    let mut answer = download.head();
    if answer.status != 200 {
        while let Some(piece) = download.piece().await? {
            let room = SAID.saturating_sub(answer.body.len()).min(piece.len());
            answer.body.extend_from_slice(&piece[..room]);
            if room < piece.len() {
                break;
            }
        }
        return Ok(Reply { answer, file: None });
    }
    // JSON contains the bytes in base64, with some text around them. So its limit is higher.
    let is_json = answer
        .content_type
        .as_deref()
        .is_some_and(|content_type| content_type.contains("json"));
    let max_bytes = if is_json {
        target.max_bytes / 3 * 4 + SAID as u64
    } else {
        target.max_bytes
    };
    let file = Some(if download.length().is_some_and(|length| length > max_bytes) {
        Err(NoFile::TooLarge)
    } else {
        written(&mut download, target, max_bytes).await?
    });
    Ok(Reply { answer, file })
}

async fn written(
    download: &mut crate::sync::client::Download,
    target: DownloadTarget<'_>,
    max_bytes: u64,
) -> Result<Result<Sums, NoFile>, Error> {
    let mut writer = match AttachmentWriter::create(target.path, target.keys) {
        Ok(writer) => writer,
        Err(error) => return Ok(Err(NoFile::Lost(error))),
    };
    while let Some(piece) = download.piece().await? {
        if writer.bytes() + piece.len() as u64 > max_bytes {
            return Ok(Err(NoFile::TooLarge));
        }
        if let Err(error) = writer.write(&piece) {
            return Ok(Err(NoFile::Lost(error)));
        }
    }
    Ok(writer.finish().map_err(NoFile::Lost))
}
