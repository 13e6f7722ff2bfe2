//! Gathers settings: the address first, then the service file, then libpq's variables.

use std::collections::BTreeMap;
use std::fmt;

use super::error::ConnInfoError;
use super::keyword::{self, Flaw, Pairs};
use super::params::{self, Treatment};
use super::secret::Secret;
use super::source::{Origin, Source, Sources};
use super::{service, uri};

/// Variables that name a database by themselves. Who connects and how (`PGUSER`, `PGPASSWORD`, `PGSSLMODE` …)
/// does not say where to, so these alone do not outrank the configuration file.
const NAMING: &[&str] = &["PGSERVICE", "PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE"];

/// One value and where it was read.
#[derive(Clone)]
struct Value {
    text: Secret,
    origin: Origin,
}

/// Settings by parameter name. Earlier layers win. `Debug` shows names and origins, never values, since
/// one of them is the password.
#[derive(Clone, Default)]
pub(super) struct Settings {
    values: BTreeMap<&'static str, Value>,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.values.iter().map(|(name, value)| (name, &value.origin))).finish()
    }
}

impl Settings {
    /// The value as it stands, unless it is absent or empty: libpq takes an empty value as the default.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(|value| value.text.expose()).filter(|text| !text.is_empty())
    }

    /// Where the value was read, in words.
    pub(super) fn origin(&self, name: &'static str) -> String {
        self.shown(name).1.to_string()
    }

    /// A value that was read earlier is bad.
    pub(super) fn bad(&self, name: &'static str, expected: &'static str) -> ConnInfoError {
        let (value, origin) = self.shown(name);
        ConnInfoError::BadValue { origin, name, value, expected }
    }

    /// A value that was read earlier cannot be honoured.
    pub(super) fn unsupported(&self, name: &'static str, advice: &'static str) -> ConnInfoError {
        let (value, origin) = self.shown(name);
        ConnInfoError::Unsupported { origin, name, value, advice }
    }

    fn shown(&self, name: &'static str) -> (String, Origin) {
        let text = if params::is_secret(name) { "***" } else { self.get(name).unwrap_or_default() };
        let origin = self.values.get(name).map_or(Origin::Variable { name }, |value| value.origin.clone());
        (text.to_owned(), origin)
    }

    /// Names and values that may be shown, in order of name.
    pub(super) fn public(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.values
            .iter()
            .map(|(name, value)| (*name, value.text.expose()))
            .filter(|(name, text)| !params::is_secret(name) && !text.is_empty())
    }

    /// Sets what is not set yet.
    pub(super) fn fill(&mut self, name: &'static str, text: String, origin: &Origin) {
        self.values.entry(name).or_insert_with(|| Value { text: Secret::new(text), origin: origin.clone() });
    }

    fn fill_pairs(&mut self, pairs: Pairs, origin: &Origin) {
        // Within one address the last of a name wins, as in libpq.
        for (name, text) in pairs.into_iter().rev() {
            self.fill(name, text, origin);
        }
    }

    /// Refuses whatever Taskdeck would otherwise have to ignore.
    fn check_supported(&self) -> Result<(), ConnInfoError> {
        for param in params::PARAMS {
            if let (Treatment::Only { values, advice }, Some(text)) = (param.treatment, self.get(param.name))
                && !values.contains(&text)
            {
                return Err(self.unsupported(param.name, advice));
            }
        }
        Ok(())
    }
}

/// Chooses the source and gathers its settings; `None` when nobody names a database.
pub(super) fn gather(sources: &Sources<'_>) -> Result<Option<(Settings, Source)>, ConnInfoError> {
    let Some((source, address)) = name_database(sources)? else {
        return Ok(None);
    };
    let mut settings = Settings::default();
    if let Some(address) = address {
        let origin = Origin::Address { source };
        settings.fill_pairs(parse_address(&address, source)?, &origin);
    }
    service::fill(&mut settings, sources)?;
    for param in params::PARAMS {
        if let Some(variable) = param.variable
            && let Some(text) = sources.variable(variable)
        {
            settings.fill(param.name, text, &Origin::Variable { name: variable });
        }
    }
    if sources.variable("PGREQUIRESSL").is_some_and(|text| text.starts_with('1')) {
        settings.fill("sslmode", "require".to_owned(), &Origin::Variable { name: "PGREQUIRESSL" });
    }
    settings.check_supported()?;
    Ok(Some((settings, source)))
}

fn name_database(sources: &Sources<'_>) -> Result<Option<(Source, Option<String>)>, ConnInfoError> {
    if let Some(url) = &sources.flag_url {
        if url.trim().is_empty() {
            return Err(ConnInfoError::Empty { source_name: Source::Flag });
        }
        return Ok(Some((Source::Flag, Some(url.clone()))));
    }
    for (variable, source) in
        [("TASKDECK_DATABASE_URL", Source::TaskdeckVariable), ("DATABASE_URL", Source::DatabaseUrlVariable)]
    {
        if let Some(url) = sources.variable(variable) {
            return Ok(Some((source, Some(url))));
        }
    }
    if let Some(name) = NAMING.iter().find(|name| sources.variable(name).is_some()) {
        return Ok(Some((Source::LibpqVariable { name }, None)));
    }
    let url = sources.config_url.clone().filter(|url| !url.trim().is_empty());
    Ok(url.map(|url| (Source::ConfigFile, Some(url))))
}

/// Reads an address, whichever its form.
pub(super) fn parse_address(address: &str, source: Source) -> Result<Pairs, ConnInfoError> {
    let address = address.trim();
    if address.is_empty() {
        return Err(ConnInfoError::Empty { source_name: source });
    }
    let parsed = if let Some(rest) = uri::strip_scheme(address) {
        uri::parse(rest)
    } else if let Some(scheme) = foreign_scheme(address) {
        return Err(ConnInfoError::ForeignScheme { source_name: source, scheme });
    } else if address.contains('=') {
        keyword::parse(address)
    } else {
        Err(Flaw::Malformed("neither postgresql://… nor name=value settings".to_owned()))
    };
    let origin = Origin::Address { source };
    parsed.map_err(|flaw| match flaw {
        Flaw::Malformed(reason) => ConnInfoError::Malformed { origin, reason },
        Flaw::Unknown(name) => ConnInfoError::UnknownParameter { origin, name },
    })
}

/// `mysql` of `mysql://…`. Looked for before `=`, or the text before a `=` in the address would be taken for
/// a parameter's name and shown.
fn foreign_scheme(address: &str) -> Option<String> {
    let (scheme, _) = address.split_once("://")?;
    let plain =
        !scheme.is_empty() && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.:".contains(&b));
    plain.then(|| scheme.to_owned())
}
