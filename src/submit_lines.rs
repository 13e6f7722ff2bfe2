//! Submitting a file, a task a line: several hundred in one statement, each line under a key of its own. Both the
//! command line and the console do it through here.
//!
//! Invariant: what is held in memory is bounded whatever the file holds: a chunk of [`CHUNK_LINES`] lines and
//! [`CHUNK_BYTES`], one more that waits, and one line. Reading has a thread of its own, so that a slow source holds
//! up nobody.

mod reader;

use std::io::{self, BufRead};
use std::pin::pin;

use tokio::sync::mpsc;
use uuid::Uuid;

use crate::db::{Db, DbError, OnUnknown, Preview};
use crate::domain::input::{LineKeys, SubmissionKey, check_text, decode_text};
use crate::domain::outcome::{SubmitVerdict, Submitted};
use crate::domain::{NewTask, Refusal};
use reader::{Line, next_line};

/// The most lines in one statement.
const CHUNK_LINES: usize = 500;

/// The most bytes of text in one statement (but for the last line), so that long lines do not make a huge one.
const CHUNK_BYTES: usize = 4 * 1024 * 1024;

/// What is to be submitted, and how.
#[derive(Debug, Clone)]
pub struct Job {
    /// What each task gets besides its text.
    pub task: NewTask,
    /// The longest line that is taken.
    pub max_input_bytes: usize,
    /// Under which keys.
    pub keys: Keys,
}

/// Under which keys lines are submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keys {
    /// New ones: each run makes new tasks.
    Fresh,
    /// Made of this, the line's number and its text: another attempt at the same file makes no line twice.
    Of(Uuid),
    /// The submitter's own, with the line's number: the same run again, today or tomorrow, makes no line twice.
    Named(LineKeys),
}

impl Keys {
    fn of(&self, line: u64, text: &str) -> SubmissionKey {
        match self {
            Self::Fresh => SubmissionKey::fresh(),
            Self::Of(attempt) => {
                let id = Uuid::new_v5(attempt, format!("{line}/{text}").as_bytes());
                SubmissionKey { id, given: None }
            }
            Self::Named(keys) => keys.line(line),
        }
    }

    /// How much of each text is wanted back: of one that was known by its name it must be told whether it is the same.
    const fn preview(&self) -> Preview {
        match self {
            Self::Fresh | Self::Of(_) => Preview::Beginning,
            Self::Named(_) => Preview::Whole,
        }
    }
}

/// What is told on the way.
#[derive(Debug)]
pub enum Step<'a> {
    /// A line was refused; the others are not held up.
    Refused {
        /// Its number, from 1.
        line: u64,
        /// Why.
        message: String,
    },
    /// Lines are being sent; whether they are in the table is not known until [`Step::Sent`].
    Sending {
        /// The first of them.
        from: u64,
    },
    /// These are in the table.
    Sent {
        /// The tasks, those that were there before among them.
        made: &'a [Submitted],
        /// How far the file has been read, in bytes.
        read: u64,
    },
}

/// Why it stopped before the end of the file. What was sent before stays.
#[derive(Debug)]
pub enum Stopped {
    /// The file cannot be read on.
    Reading {
        /// Why.
        error: io::Error,
        /// The first line of which nothing was sent.
        from: u64,
    },
    /// It was asked to.
    Asked {
        /// The first line of which nothing was sent.
        from: u64,
    },
    /// The database did not take the lines from this one on.
    Sending {
        /// What it said.
        error: DbError,
        /// The first line of which nothing is known.
        from: u64,
    },
}

/// Lines that go into one statement, and those that do not.
#[derive(Debug, Default)]
struct Chunk {
    lines: Vec<(u64, String)>,
    bytes: usize,
    refused: Vec<(u64, String)>,
    read: u64,
    /// The number of the last line in it.
    last: u64,
}

impl Chunk {
    fn is_full(&self) -> bool {
        self.lines.len() >= CHUNK_LINES || self.bytes >= CHUNK_BYTES || self.refused.len() >= CHUNK_LINES
    }
}

/// Submits every good line of `source`, until `halt`: what is under way then is still waited for.
///
/// # Errors
/// Where it stopped.
pub async fn submit_lines(
    db: &Db,
    source: impl BufRead + Send + 'static,
    job: &Job,
    halt: impl Future<Output = ()>,
    on_unknown: OnUnknown<'_>,
    mut tell: impl FnMut(Step<'_>),
) -> Result<(), Stopped> {
    let (chunks, mut read) = mpsc::channel(1);
    let max = job.max_input_bytes;
    // Not one of the runtime's own: the end of the program must not wait for a source that gives nothing.
    std::thread::spawn(move || {
        if let Err(error) = read_chunks(source, max, &chunks) {
            let _ = chunks.blocking_send(Err(error));
        }
    });
    let mut halt = pin!(halt);
    let mut next = 1;
    loop {
        let chunk = tokio::select! {
            biased;
            () = &mut halt => return Err(Stopped::Asked { from: next }),
            chunk = read.recv() => chunk,
        };
        let Some(chunk) = chunk else { return Ok(()) };
        let Chunk { lines, refused, read, last, .. } =
            chunk.map_err(|error| Stopped::Reading { error, from: next })?;
        for (line, message) in refused {
            tell(Step::Refused { line, message });
        }
        if let Some((from, _)) = lines.first() {
            let from = *from;
            tell(Step::Sending { from });
            let texts: Vec<_> =
                lines.iter().map(|(line, text)| (job.keys.of(*line, text), text.as_str())).collect();
            let answers = db.submit_all(&texts, &job.task, job.keys.preview(), on_unknown).await;
            let answers = answers.map_err(|error| Stopped::Sending { error, from })?;
            let mut made = Vec::with_capacity(answers.len());
            for ((line, text), answer) in lines.iter().zip(answers) {
                match judged(text, answer) {
                    Ok(submitted) => made.push(submitted),
                    Err(message) => tell(Step::Refused { line: *line, message }),
                }
            }
            tell(Step::Sent { made: &made, read });
        }
        next = last + 1;
    }
}

/// The task of a line, or why its text is not in the table.
fn judged(text: &str, answer: SubmitVerdict) -> Result<Submitted, String> {
    match answer {
        SubmitVerdict::Taken => {
            Err("key: another tenant's task has its submission id; use another key".to_owned())
        }
        SubmitVerdict::Submitted(Submitted { task, .. }) if !task.input_is_cut() && task.input != text => {
            Err(format!("key: task {} was submitted under it before, with another text", task.id))
        }
        SubmitVerdict::Submitted(submitted) => Ok(submitted),
    }
}

/// Reads to the end, or until nobody takes what is read.
fn read_chunks(
    mut source: impl BufRead,
    max: usize,
    chunks: &mpsc::Sender<io::Result<Chunk>>,
) -> io::Result<()> {
    let mut chunk = Chunk::default();
    let mut number = 0;
    let mut read = 0;
    while let Some(line) = next_line(&mut source, max, &mut read)? {
        number += 1;
        match checked(line, max) {
            Ok(text) => {
                chunk.bytes += text.len();
                chunk.lines.push((number, text));
            }
            Err(refusal) => chunk.refused.push((number, refusal.to_string())),
        }
        chunk.read = read;
        chunk.last = number;
        if chunk.is_full() && chunks.blocking_send(Ok(std::mem::take(&mut chunk))).is_err() {
            return Ok(());
        }
    }
    let _ = chunks.blocking_send(Ok(chunk));
    Ok(())
}

fn checked(line: Line, max: usize) -> Result<String, Refusal> {
    let Line::Whole(bytes) = line else { return Err(too_long(max)) };
    let text = decode_text(bytes)?;
    check_text(&text, max)?;
    Ok(text)
}

/// A text has more bytes than may be.
pub fn too_long(max: usize) -> Refusal {
    Refusal::new("text", format!("has more bytes than max_input_bytes allows ({max})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(text: &'static str, max: usize) -> Vec<Chunk> {
        let (sender, mut receiver) = mpsc::channel(1_000);
        read_chunks(text.as_bytes(), max, &sender).expect("a slice can be read");
        drop(sender);
        std::iter::from_fn(|| receiver.blocking_recv()).map(|chunk| chunk.expect("read")).collect()
    }

    #[test]
    fn a_chunk_has_few_lines_and_few_bytes() {
        let many: &'static str = "x\n".repeat(1_201).leak();
        assert_eq!(
            chunks(many, 10).iter().map(|chunk| chunk.lines.len()).collect::<Vec<_>>(),
            [500, 500, 201]
        );
        let long: &'static str = format!("{}\n", "x".repeat(1 << 20)).repeat(9).leak();
        let sizes: Vec<_> = chunks(long, 1 << 20).iter().map(|chunk| chunk.bytes >> 20).collect();
        assert_eq!(sizes, [4, 4, 1]);
        // Refused lines are not heaped up either.
        let empty: &'static str = "\n".repeat(1_200).leak();
        assert!(chunks(empty, 10).iter().all(|chunk| chunk.refused.len() <= CHUNK_LINES));
    }

    #[test]
    fn the_same_line_of_the_same_attempt_has_the_same_key() {
        let attempt = Keys::Of(Uuid::from_u128(1));
        assert_eq!(attempt.of(3, "x").id, attempt.of(3, "x").id);
        assert_ne!(attempt.of(3, "x").id, attempt.of(4, "x").id);
        assert_ne!(attempt.of(3, "x").id, attempt.of(3, "y").id);
        assert_ne!(attempt.of(3, "x").id, Keys::Of(Uuid::from_u128(2)).of(3, "x").id);
        assert_ne!(Keys::Fresh.of(3, "x").id, Keys::Fresh.of(3, "x").id);
    }

    #[test]
    fn what_has_no_lines_is_given_up() {
        let (sender, _receiver) = mpsc::channel(1);
        let endless = io::BufReader::new(io::repeat(0));
        let error = read_chunks(endless, 10, &sender).expect_err("no end of a line");
        assert!(error.to_string().contains("is this a file of lines?"), "{error}");
    }
}
