//! `keyword=value` connection strings: `host=db1 password='it\'s'`.

use super::params;

/// What a parser found wrong. Texts never repeat the input, which may hold a password.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// The string cannot be read; says why.
    Malformed(String),
    /// A parameter that is in no table.
    Unknown(String),
}

/// Parameters as written, in order; the last of a name wins.
pub(super) type Pairs = Vec<(&'static str, String)>;

/// Finds the parameter, given the one that stands before it. After a password, a word that is no parameter
/// is most likely the rest of the password, badly quoted or encoded, and is not repeated.
pub(super) fn known(name: &str, pairs: &Pairs, mend: &str) -> Result<&'static str, Flaw> {
    if let Some(param) = params::find(name) {
        return Ok(param.name);
    }
    match pairs.last() {
        Some((before, _)) if params::is_secret(before) => {
            Err(Flaw::Malformed(format!("what follows {before} is not a parameter; {mend}")))
        }
        _ if looks_like_a_name(name) => Err(Flaw::Unknown(name.to_owned())),
        // `app:secret@db1?a=b` without its scheme would come here.
        _ => Err(Flaw::Malformed("what stands before a \"=\" is not a parameter".to_owned())),
    }
}

/// Whether a word is spelled like a parameter, so that it may be shown as one.
pub(super) fn looks_like_a_name(word: &str) -> bool {
    word.len() <= 40 && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

const QUOTE: &str = "put a value with spaces in quotes: password='two words'";

/// Reads `name = value` pairs as libpq does: white space around `=` is allowed, a value may stand in single
/// quotes, and a backslash takes the next character as it is.
pub(super) fn parse(text: &str) -> Result<Pairs, Flaw> {
    let mut pairs = Pairs::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let end = rest.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let Some(value) = after.trim_start().strip_prefix('=') else {
            return Err(Flaw::Malformed(format!("word {} has no \"=\"; {QUOTE}", pairs.len() + 1)));
        };
        let name = known(name, &pairs, QUOTE)?;
        let (value, after) = take_value(value.trim_start(), name)?;
        pairs.push((name, value));
        rest = after.trim_start();
    }
    Ok(pairs)
}

fn take_value<'a>(text: &'a str, name: &str) -> Result<(String, &'a str), Flaw> {
    let (body, quoted) = match text.strip_prefix('\'') {
        Some(body) => (body, true),
        None => (text, false),
    };
    let mut value = String::new();
    let mut chars = body.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => value.extend(chars.next().map(|(_, c)| c)),
            '\'' if quoted => return Ok((value, &body[at + 1..])),
            c if c.is_whitespace() && !quoted => return Ok((value, &body[at..])),
            '\0' => return Err(Flaw::Malformed(format!("{name} holds a NUL"))),
            c => value.push(c),
        }
    }
    if quoted {
        return Err(Flaw::Malformed(format!("the quote that opens the value of {name} is never closed")));
    }
    Ok((value, ""))
}

/// Pairs as [`parse`] reads them, without the secrets among them.
pub(super) fn without_secrets(pairs: &Pairs) -> String {
    let kept = pairs.iter().filter(|(name, _)| !params::is_secret(name));
    let shown = kept.map(|(name, value)| {
        let quiet = |c: char| !c.is_whitespace() && c != '\'' && c != '\\';
        if !value.is_empty() && value.chars().all(quiet) {
            return format!("{name}={value}");
        }
        format!("{name}='{}'", value.replace('\\', r"\\").replace('\'', r"\'"))
    });
    shown.collect::<Vec<_>>().join(" ")
}
