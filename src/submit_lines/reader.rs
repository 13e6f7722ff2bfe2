//! Lines of a file, none of which can fill the memory.

use std::io::{self, BufRead};

/// From so many bytes on without its end, a line is none, and skipping goes on for ever (`/dev/zero`).
const NO_LINE: usize = 64 * 1024 * 1024;

/// A line without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    /// Its bytes.
    Whole(Vec<u8>),
    /// It has more bytes than are taken; they were skipped.
    TooLong,
}

/// Reads the next line and counts in `read` how far it got; none at the end.
pub(super) fn next_line(source: &mut impl BufRead, max: usize, read: &mut u64) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    let mut seen = 0_usize;
    let mut ended = false;
    while !ended {
        let chunk = source.fill_buf()?;
        if chunk.is_empty() {
            break;
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let (text, taken) = end.map_or((chunk, chunk.len()), |end| (&chunk[..end], end + 1));
        // One byte more than may be kept, for a carriage return that is not part of the line.
        let room = (max + 1).saturating_sub(line.len());
        line.extend_from_slice(&text[..text.len().min(room)]);
        seen += text.len();
        ended = end.is_some();
        *read += taken as u64;
        source.consume(taken);
        if seen > NO_LINE.max(max.saturating_mul(2)) {
            let text = format!("more than {seen} bytes without the end of a line: is this a file of lines?");
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
    }
    if seen == 0 && !ended {
        return Ok(None);
    }
    if seen <= max + 1 && line.last() == Some(&b'\r') {
        line.pop();
        seen -= 1;
    }
    Ok(Some(if seen > max { Line::TooLong } else { Line::Whole(line) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, max: usize) -> Vec<Line> {
        let mut source = io::BufReader::with_capacity(3, text.as_bytes());
        let mut read = 0;
        let mut lines = Vec::new();
        while let Some(line) = next_line(&mut source, max, &mut read).expect("a slice can be read") {
            lines.push(line);
        }
        assert_eq!(read, text.len() as u64);
        lines
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.as_bytes().to_vec())
    }

    #[test]
    fn lines_end_at_line_feeds_with_or_without_a_carriage_return() {
        assert_eq!(lines("a\nbcdefg\r\n\nh", 10), [whole("a"), whole("bcdefg"), whole(""), whole("h")]);
        assert_eq!(lines("", 10), []);
        assert_eq!(lines("a\n", 10), [whole("a")]);
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_and_the_next_is_read() {
        assert_eq!(lines("abcdefgh\nxy\n", 4), [Line::TooLong, whole("xy")]);
        assert_eq!(lines("abcd\r\nabcde\n", 4), [whole("abcd"), Line::TooLong]);
    }
}
