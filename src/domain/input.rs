//! What may come in: bad input is refused here, before it reaches the database, with a message that names
//! the field.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use uuid::Uuid;

use super::Approval;

/// Namespace of the ids that are derived from a submitter's own keys.
const KEY_NAMESPACE: Uuid = Uuid::from_u128(0x7461_736b_6465_636b_8000_0000_0000_0001);

/// The longest key of a submitter's own, in bytes.
const LONGEST_KEY: usize = 200;

/// The largest text that is taken if the configuration says nothing else, in bytes.
pub const DEFAULT_MAX_INPUT_BYTES: usize = 1024 * 1024;

/// Input that was refused: which field, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct Refusal {
    /// The field's name as the user knows it.
    pub field: &'static str,
    /// What is wrong and what would be right.
    pub problem: String,
}

impl Refusal {
    /// Refuses `field`.
    pub fn new(field: &'static str, problem: impl Into<String>) -> Self {
        Self { field, problem: problem.into() }
    }
}

/// A tenant's or queue's name: 1 to 63 characters of `a-z`, `0-9`, `_` and `-`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(String);

impl Name {
    /// Takes `text` as the name of a `field` (`tenant` or `queue`).
    ///
    /// # Errors
    /// Names `field` where the text is outside the pattern.
    pub fn new(field: &'static str, text: &str) -> Result<Self, Refusal> {
        let fits = (1..=63).contains(&text.len())
            && text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'));
        if fits {
            Ok(Self(text.to_owned()))
        } else {
            let shown = super::text::visible(text).into_owned();
            let shown = super::text::cut(&shown, 80, "…").into_owned();
            Err(Refusal::new(field, format!("`{shown}` is not a name; use 1 to 63 of a-z, 0-9, _ and -")))
        }
    }

    /// The name `default`.
    pub fn default_name() -> Self {
        Self("default".to_owned())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for Name {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::new("name", text)
    }
}

/// Checks a text that is to be submitted.
///
/// # Errors
/// Refuses an empty text (or nothing but white space), one over `max_bytes`, and one with a NUL.
pub fn check_text(text: &str, max_bytes: usize) -> Result<(), Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::new("text", "is empty"));
    }
    if text.len() > max_bytes {
        return Err(Refusal::new(
            "text",
            format!("has {} bytes, more than max_input_bytes allows ({max_bytes})", text.len()),
        ));
    }
    if let Some(at) = text.find('\0') {
        return Err(Refusal::new("text", format!("has a NUL at byte {at}, which PostgreSQL cannot store")));
    }
    Ok(())
}

/// Reads bytes from a file or pipe as text.
///
/// # Errors
/// Refuses bytes that are not UTF-8 and says at which byte.
pub fn decode_text(bytes: Vec<u8>) -> Result<String, Refusal> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Refusal::new("text", format!("is not valid UTF-8 at byte {at}"))
    })
}

/// The text of an analyser or operator made storable: `PostgreSQL` takes no NUL, so it becomes a visible `\0`.
pub fn storable(text: &str) -> String {
    text.replace('\0', "\\0")
}

/// What a submitted task gets besides its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    /// Whose task it is.
    pub tenant: Name,
    /// Which workers may take it.
    pub queue: Name,
    /// Larger runs first.
    pub priority: i32,
    /// How many claims may fail before the task is FAILED; at least 1.
    pub max_attempts: i32,
    /// Not claimed before this much time has passed after the submit, by the database's clock.
    pub delay: Duration,
    /// Whether it waits for an operator's approval.
    pub admission: Admission,
    /// Who submits it.
    pub submitted_by: Option<String>,
    /// Who may approve it, if it is held.
    pub approval: Approval,
    /// Whether decisions about it and its final state are to be told (`taskdeck --no-ui --hook`).
    pub notify: bool,
}

/// Whether a submitted task may run at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// QUEUED at once.
    Queue,
    /// SUBMITTED: held until an operator approves it.
    Hold,
}

impl Default for NewTask {
    fn default() -> Self {
        Self {
            tenant: Name::default_name(),
            queue: Name::default_name(),
            priority: 0,
            max_attempts: 3,
            delay: Duration::ZERO,
            admission: Admission::Queue,
            submitted_by: None,
            approval: Approval::Anybody,
            notify: false,
        }
    }
}

/// Names one submit: sending it again under the same key never makes a second row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmissionKey {
    /// What the unique index holds.
    pub id: Uuid,
    /// The submitter's own key, where one was given.
    pub given: Option<String>,
}

impl SubmissionKey {
    /// A new key that nobody else has.
    pub fn fresh() -> Self {
        Self { id: Uuid::now_v7(), given: None }
    }

    /// The submitter's own key; the same text names another task in another tenant.
    ///
    /// # Errors
    /// Refuses an empty key, one over 200 bytes, and one with control characters.
    pub fn given(tenant: &Name, key: &str) -> Result<Self, Refusal> {
        check_key(key, LONGEST_KEY)?;
        Ok(Self::derived(tenant, key.to_owned()))
    }

    fn derived(tenant: &Name, key: String) -> Self {
        let id = Uuid::new_v5(&KEY_NAMESPACE, format!("{tenant}/{key}").as_bytes());
        Self { id, given: Some(key) }
    }
}

/// The submitter's own key for the lines of a file. Line 7 under the key `K` has the key `K:7`, as one submit may have
/// it too: sending the file again makes no line twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineKeys {
    tenant: Name,
    key: String,
}

impl LineKeys {
    /// The longest key, in bytes: the number of any line still fits behind it.
    const LONGEST: usize = LONGEST_KEY - 21;

    /// The keys of a tenant's lines under `key`.
    ///
    /// # Errors
    /// Refuses an empty key, one over 179 bytes, and one with control characters.
    pub fn new(tenant: &Name, key: &str) -> Result<Self, Refusal> {
        check_key(key, Self::LONGEST)?;
        Ok(Self { tenant: tenant.clone(), key: key.to_owned() })
    }

    /// The key of a line, from 1.
    pub fn line(&self, line: u64) -> SubmissionKey {
        SubmissionKey::derived(&self.tenant, format!("{}:{line}", self.key))
    }
}

fn check_key(key: &str, longest: usize) -> Result<(), Refusal> {
    if key.is_empty() || key.len() > longest || key.chars().any(char::is_control) {
        return Err(Refusal::new("key", format!("use 1 to {longest} bytes without control characters")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert!(Name::new("queue", "mail_2-x").is_ok());
        for bad in ["", "Mail", "a b", "ü", "a;--", &"x".repeat(64)] {
            let refusal = Name::new("queue", bad).expect_err(bad);
            assert!(refusal.to_string().starts_with("queue: "), "{refusal}");
        }
    }

    #[test]
    fn texts() {
        assert!(check_text("x", 1).is_ok());
        assert!(check_text(" \n\t", 10).is_err());
        assert!(check_text("ab", 1).expect_err("over").problem.contains("2 bytes"));
        assert!(check_text("a\0", 10).expect_err("NUL").problem.contains("byte 1"));
        assert!(decode_text(vec![b'a', 0xff]).expect_err("bytes").problem.contains("byte 1"));
        assert_eq!(storable("a\0b"), "a\\0b");
    }

    #[test]
    fn keys_are_per_tenant() {
        let key = |tenant: &str| {
            SubmissionKey::given(&Name::new("tenant", tenant).expect("name"), "invoice-7").expect("key").id
        };
        assert_eq!(key("a"), key("a"));
        assert_ne!(key("a"), key("b"));
        assert!(SubmissionKey::given(&Name::default_name(), "").is_err());
    }

    #[test]
    fn a_line_has_the_key_that_one_submit_may_have() {
        let tenant = Name::default_name();
        let keys = |key: &str| LineKeys::new(&tenant, key).expect("a key");
        assert_eq!(keys("import").line(7), SubmissionKey::given(&tenant, "import:7").expect("a key"));
        // No two lines of any two files have one key.
        assert_ne!(keys("a").line(11), keys("a1").line(1));
        assert_ne!(keys("a").line(12), keys("a:1").line(2));
        let longest = keys(&"x".repeat(179)).line(u64::MAX).given.expect("given");
        assert!(SubmissionKey::given(&tenant, &longest).is_ok());
        for bad in ["", "a\n", &"x".repeat(180)] {
            assert!(LineKeys::new(&tenant, bad).is_err(), "{bad}");
        }
    }
}
