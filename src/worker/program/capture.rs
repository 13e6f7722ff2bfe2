//! What a program writes: the beginning of its output, the end of its errors, always storable text.

use std::fmt::Write as _;

use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::domain::input::storable;

/// Reads everything and keeps the beginning.
#[derive(Debug)]
pub(super) struct Head {
    kept: Vec<u8>,
    total: u64,
    limit: usize,
}

impl Head {
    pub(super) fn new(limit: usize) -> Self {
        Self { kept: Vec::new(), total: 0, limit }
    }

    /// Reads to the end; what is over the limit is read too, as the program would wait otherwise.
    pub(super) async fn read(&mut self, from: Option<impl AsyncRead + Unpin>) {
        each_chunk(from, |chunk| {
            let room = self.limit.saturating_sub(self.kept.len());
            self.kept.extend_from_slice(&chunk[..chunk.len().min(room)]);
            self.total += chunk.len() as u64;
        })
        .await;
    }

    /// The text, within the limit; where something was cut a mark says so.
    pub(super) fn into_text(self) -> String {
        let cut_on_reading = self.total > self.kept.len() as u64;
        let mut bytes = self.kept.as_slice();
        if cut_on_reading {
            // The limit may have cut a character in two: that half is not the program's fault.
            bytes = without_half_character(bytes);
        }
        let text = readable(bytes);
        if !cut_on_reading && text.len() <= self.limit {
            return text;
        }
        let mark = format!("\n[cut: the program wrote {} bytes]", self.total);
        let mut room = self.limit.saturating_sub(mark.len()).min(text.len());
        while !text.is_char_boundary(room) {
            room -= 1;
        }
        format!("{}{mark}", &text[..room])
    }
}

/// Reads everything and keeps the end.
#[derive(Debug)]
pub(super) struct Tail {
    kept: Vec<u8>,
    total: u64,
    limit: usize,
}

impl Tail {
    pub(super) fn new(limit: usize) -> Self {
        Self { kept: Vec::new(), total: 0, limit }
    }

    /// Reads to the end.
    pub(super) async fn read(&mut self, from: Option<impl AsyncRead + Unpin>) {
        each_chunk(from, |chunk| {
            self.total += chunk.len() as u64;
            self.kept.extend_from_slice(chunk);
            let over = self.kept.len().saturating_sub(self.limit);
            self.kept.drain(..over);
        })
        .await;
    }

    /// The text; `…` stands where its beginning was left out.
    pub(super) fn into_text(self) -> String {
        if self.total == self.kept.len() as u64 {
            return readable(&self.kept);
        }
        let start = self.kept.iter().position(|byte| byte & 0xc0 != 0x80).unwrap_or(0);
        format!("…{}", readable(&self.kept[start..]))
    }
}

/// Reads `from` to its end. A pipe that cannot be read any more has ended.
async fn each_chunk(from: Option<impl AsyncRead + Unpin>, mut take: impl FnMut(&[u8])) {
    let Some(mut from) = from else { return };
    let mut chunk = vec![0; 8 * 1024];
    while let Ok(read) = from.read(&mut chunk).await {
        if read == 0 {
            return;
        }
        take(&chunk[..read]);
    }
}

/// `bytes` as text that `PostgreSQL` stores: a byte that is not UTF-8 becomes a visible `\xff`, a NUL `\0`.
fn readable(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            write!(text, "\\x{byte:02x}").expect("writing to a String cannot fail");
        }
    }
    storable(&text)
}

/// `bytes` without the beginning of a character at the end.
fn without_half_character(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn head(limit: usize, bytes: &[u8]) -> String {
        let mut head = Head::new(limit);
        head.read(Some(bytes)).await;
        head.into_text()
    }

    async fn tail(limit: usize, bytes: &[u8]) -> String {
        let mut tail = Tail::new(limit);
        tail.read(Some(bytes)).await;
        tail.into_text()
    }

    #[tokio::test]
    async fn output_is_kept_within_the_limit_and_a_cut_is_marked() {
        assert_eq!(head(100, b"whole").await, "whole");
        let exact = "é".repeat(50);
        assert_eq!(head(100, exact.as_bytes()).await, exact);
        let cut = head(100, "é".repeat(60).as_bytes()).await;
        assert!(cut.len() <= 100 && cut.starts_with("éé"), "{cut}");
        assert!(cut.ends_with("\n[cut: the program wrote 120 bytes]"), "{cut}");
    }

    #[tokio::test]
    async fn what_is_not_text_is_visible_and_still_within_the_limit() {
        assert_eq!(head(100, b"a\xffb\0c").await, "a\\xffb\\0c");
        let wide = head(100, &[0xff; 100]).await;
        assert!(wide.len() <= 100 && wide.ends_with("[cut: the program wrote 100 bytes]"), "{wide}");
        // Half a character at the end of a whole output is the program's own.
        assert_eq!(head(100, &[b'a', 0xc3]).await, "a\\xc3");
    }

    #[tokio::test]
    async fn the_end_of_the_errors_is_kept() {
        assert_eq!(tail(8, b"short").await, "short");
        assert_eq!(tail(8, b"a long story").await, "…ng story");
        assert_eq!(tail(8, "aéééé".as_bytes()).await, "…éééé");
        assert_eq!(tail(7, "ééééé".as_bytes()).await, "…ééé");
        assert_eq!(tail(8, b"a\0b").await, "a\\0b");
    }
}
