//! The result: a driver configuration and what people are shown about it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_postgres::config::{ChannelBinding, LoadBalanceHosts, SslNegotiation, TargetSessionAttrs};

use super::error::ConnInfoError;
use super::hosts::{self, Place, Target};
use super::pgpass::{self, Choice, Wanted};
use super::secret::Secret;
use super::settings::Settings;
use super::source::{Origin, Source, Sources};
use super::ssl::{self, ClientCert, ModeChoice, Negotiation, Protection, Roots, SslMode};
use super::uri;

/// Where and how to connect. Neither `Debug` nor any text made here shows the password.
#[derive(Debug, Clone)]
pub struct ConnInfo {
    config: tokio_postgres::Config,
    each: Vec<tokio_postgres::Config>,
    protection: Protection,
    targets: Vec<Target>,
    user: String,
    dbname: String,
    source: Source,
    redacted_url: String,
    password_from: Option<String>,
    warnings: Vec<String>,
}

impl ConnInfo {
    /// The driver's configuration, password included. Callers set `application_name` on a clone of their own.
    pub fn config(&self) -> &tokio_postgres::Config {
        &self.config
    }

    /// The same for each host by itself, in the order in which they are named.
    pub(in crate::db) fn each_host(&self) -> &[tokio_postgres::Config] {
        &self.each
    }

    /// The mode in force; on sockets always `Disable`.
    pub fn ssl(&self) -> SslMode {
        self.protection.mode
    }

    /// Whether the user chose the mode.
    pub fn ssl_choice(&self) -> ModeChoice {
        self.protection.choice
    }

    /// Which authorities are trusted.
    pub fn roots(&self) -> &Roots {
        &self.protection.roots
    }

    /// The client certificate, if one is configured.
    pub fn client_cert(&self) -> Option<&ClientCert> {
        self.protection.client_cert.as_ref()
    }

    /// The user that connects.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The database.
    pub fn dbname(&self) -> &str {
        &self.dbname
    }

    /// What named the database.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Where the password was found, in words; `None` without one.
    pub fn password_from(&self) -> Option<&str> {
        self.password_from.as_deref()
    }

    /// What was passed over, for the log: an ignored password file, an unused revocation list.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// For the header: `app@db1/jobs`, `app@db1:5433,db2/jobs`, `app@[local]/jobs`.
    pub fn label(&self) -> String {
        format!("{}@{}/{}", visible(&self.user), self.host_label(), visible(&self.dbname))
    }

    /// The host part of [`label`](Self::label); a socket is `[local]`.
    pub fn host_label(&self) -> String {
        visible(&self.targets.iter().map(Target::label).collect::<Vec<_>>().join(","))
    }

    /// Whether every host is a socket or a loopback address.
    pub fn is_local(&self) -> bool {
        self.targets.iter().all(Target::is_local)
    }

    /// The settings in force as one address, with `***` for the password.
    pub fn redacted_url(&self) -> &str {
        &self.redacted_url
    }

    pub(super) fn protection(&self) -> &Protection {
        &self.protection
    }

    pub(super) fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// The same database through `port` of this machine, where somebody passes on what is said. That is within this
    /// machine, so nothing of it is encrypted.
    pub(in crate::db) fn by_way_of(&self, port: u16) -> Self {
        let mut config = tokio_postgres::Config::new();
        config.user(&self.user).dbname(&self.dbname).host("127.0.0.1").port(port);
        config.ssl_mode(tokio_postgres::config::SslMode::Disable);
        if let Some(password) = self.config.get_password() {
            config.password(password);
        }
        if let Some(options) = self.config.get_options() {
            config.options(options);
        }
        if let Some(name) = self.config.get_application_name() {
            config.application_name(name);
        }
        let target = Target { place: Place::Network("127.0.0.1".to_owned()), addr: None, port };
        Self {
            each: vec![config.clone()],
            config,
            protection: Protection { mode: SslMode::Disable, client_cert: None, ..self.protection.clone() },
            targets: vec![target],
            ..self.clone()
        }
    }

    /// Settings for the server that Taskdeck runs itself. Nothing is taken from the environment: a stray
    /// `PGOPTIONS` or `PGSSLMODE` is meant for another server.
    ///
    /// # Errors
    ///
    /// A socket directory that is not an absolute path in UTF-8.
    pub fn for_private_server(
        socket_dir: &Path,
        port: u16,
        user: &str,
        dbname: &str,
    ) -> Result<Self, ConnInfoError> {
        let origin = Origin::Address { source: Source::PrivateServer };
        let Some(dir) = socket_dir.to_str().filter(|dir| dir.starts_with('/') && !dir.contains(',')) else {
            let reason = format!("{} cannot be used as a socket directory", socket_dir.display());
            return Err(ConnInfoError::Malformed { origin, reason });
        };
        let mut settings = Settings::default();
        settings.fill("host", dir.to_owned(), &origin);
        settings.fill("port", port.to_string(), &origin);
        settings.fill("user", user.to_owned(), &origin);
        settings.fill("dbname", dbname.to_owned(), &origin);
        assemble(&settings, Source::PrivateServer, &Sources::new(&|_| None))
    }
}

/// Turns gathered settings into a connection.
pub(super) fn assemble(
    settings: &Settings,
    source: Source,
    sources: &Sources<'_>,
) -> Result<ConnInfo, ConnInfoError> {
    let mut warnings = Vec::new();
    let targets = hosts::read(settings, &sources.socket_dirs)?;
    let user = settings
        .get("user")
        .map(str::to_owned)
        .or_else(|| sources.os_user.clone().filter(|user| !user.is_empty()))
        .ok_or(ConnInfoError::NoUser)?;
    let dbname = settings.get("dbname").map_or_else(|| user.clone(), str::to_owned);
    let protection = ssl::decide(settings, &targets, sources.home.as_deref(), &mut warnings)?;

    let mut config = tokio_postgres::Config::new();
    config.user(&user).dbname(&dbname).ssl_mode(protection.mode.for_driver());
    if protection.negotiation == Negotiation::Direct && protection.mode != SslMode::Disable {
        config.ssl_negotiation(SslNegotiation::Direct);
    }
    let (password, password_from) =
        find_password(settings, sources, &targets, (&user, &dbname), &mut warnings).unzip();
    if let Some(password) = &password {
        config.password(password.expose());
    }
    if let Some(options) = settings.get("options") {
        config.options(options);
    }
    let name = settings.get("application_name").or_else(|| settings.get("fallback_application_name"));
    if let Some(name) = name {
        config.application_name(name);
    }
    set_timeouts(settings, &mut config)?;
    set_choices(settings, &mut config)?;
    let with = |targets: &[Target]| targets.iter().fold(config.clone(), with_host);
    let each = targets.iter().map(|target| with(std::slice::from_ref(target))).collect();
    let config = with(&targets);
    let redacted_url = redacted(settings, &targets, (&user, &dbname), protection.mode, password.as_ref());
    Ok(ConnInfo {
        config,
        each,
        protection,
        targets,
        user,
        dbname,
        source,
        redacted_url,
        password_from,
        warnings,
    })
}

fn with_host(mut config: tokio_postgres::Config, target: &Target) -> tokio_postgres::Config {
    match &target.place {
        Place::Socket(dir) => config.host_path(dir),
        Place::Network(name) => config.host(name),
    };
    config.port(target.port);
    if let Some(addr) = target.addr {
        config.hostaddr(addr);
    }
    config
}

/// The password that was given, else the password file's. The driver holds one password for all hosts, so of
/// a host list the first host's entry is used.
fn find_password(
    settings: &Settings,
    sources: &Sources<'_>,
    targets: &[Target],
    (user, dbname): (&str, &str),
    warnings: &mut Vec<String>,
) -> Option<(Secret, String)> {
    if let Some(password) = settings.get("password") {
        return Some((Secret::new(password), settings.origin("password")));
    }
    let (path, choice) = match settings.get("passfile") {
        Some(path) => (PathBuf::from(path), Choice::Named),
        None => (sources.home.as_ref()?.join(".pgpass"), Choice::Usual),
    };
    let target = targets.first()?;
    let host = target.pgpass_host();
    let wanted = Wanted { host: &host, port: target.port, dbname, user };
    let password = pgpass::look_up(&path, choice, wanted, warnings)?;
    Some((password, path.display().to_string()))
}

fn set_timeouts(settings: &Settings, config: &mut tokio_postgres::Config) -> Result<(), ConnInfoError> {
    // Zero and less mean "as the system does" everywhere, as in libpq.
    let positive = |name: &'static str, expected: &'static str| -> Result<Option<u32>, ConnInfoError> {
        let Some(text) = settings.get(name) else { return Ok(None) };
        let number: i32 = text.trim().parse().map_err(|_| settings.bad(name, expected))?;
        Ok(u32::try_from(number).ok().filter(|number| *number > 0))
    };
    let seconds = "a whole number of seconds";
    if let Some(number) = positive("connect_timeout", seconds)? {
        config.connect_timeout(Duration::from_secs(number.into()));
    }
    if let Some(number) = positive("tcp_user_timeout", "a whole number of milliseconds")? {
        config.tcp_user_timeout(Duration::from_millis(number.into()));
    }
    if let Some(text) = settings.get("keepalives") {
        let number: i32 = text.trim().parse().map_err(|_| settings.bad("keepalives", "0 or 1"))?;
        config.keepalives(number != 0);
    }
    if let Some(number) = positive("keepalives_idle", seconds)? {
        config.keepalives_idle(Duration::from_secs(number.into()));
    }
    if let Some(number) = positive("keepalives_interval", seconds)? {
        config.keepalives_interval(Duration::from_secs(number.into()));
    }
    if let Some(number) = positive("keepalives_count", "a whole number")? {
        config.keepalives_retries(number);
    }
    Ok(())
}

fn set_choices(settings: &Settings, config: &mut tokio_postgres::Config) -> Result<(), ConnInfoError> {
    let session = match settings.get("target_session_attrs") {
        None | Some("any") => TargetSessionAttrs::Any,
        // A primary that refuses writes is of no use here, so the stricter question does for both.
        Some("read-write" | "primary") => TargetSessionAttrs::ReadWrite,
        Some("read-only") => TargetSessionAttrs::ReadOnly,
        Some("standby" | "prefer-standby") => {
            let advice = "use target_session_attrs=read-only, or name the standby as the only host";
            return Err(settings.unsupported("target_session_attrs", advice));
        }
        Some(_) => return Err(settings.bad("target_session_attrs", "any, read-write, read-only or primary")),
    };
    let binding = match settings.get("channel_binding") {
        None | Some("prefer") => ChannelBinding::Prefer,
        Some("disable") => ChannelBinding::Disable,
        Some("require") => ChannelBinding::Require,
        Some(_) => return Err(settings.bad("channel_binding", "disable, prefer or require")),
    };
    let balance = match settings.get("load_balance_hosts") {
        None | Some("disable") => LoadBalanceHosts::Disable,
        Some("random") => LoadBalanceHosts::Random,
        Some(_) => return Err(settings.bad("load_balance_hosts", "disable or random")),
    };
    config.target_session_attrs(session).channel_binding(binding).load_balance_hosts(balance);
    Ok(())
}

fn redacted(
    settings: &Settings,
    targets: &[Target],
    (user, dbname): (&str, &str),
    mode: SslMode,
    password: Option<&Secret>,
) -> String {
    let hosts: Vec<String> = targets
        .iter()
        .map(|target| match &target.place {
            Place::Socket(dir) => format!("{}:{}", uri::encode(&dir.display().to_string()), target.port),
            Place::Network(name) if name.contains(':') => format!("[{name}]:{}", target.port),
            Place::Network(name) => format!("{}:{}", uri::encode(name), target.port),
        })
        .collect();
    let password = if password.is_some() { ":***" } else { "" };
    let mut url =
        format!("postgresql://{}{password}@{}/{}", uri::encode(user), hosts.join(","), uri::encode(dbname));
    url.push_str("?sslmode=");
    url.push_str(mode.as_str());
    let elsewhere = ["user", "host", "port", "dbname", "sslmode", "service", "servicefile", "passfile"];
    for (name, value) in settings.public().filter(|(name, _)| !elsewhere.contains(name)) {
        url.push('&');
        url.push_str(name);
        url.push('=');
        url.push_str(&uri::encode(value));
    }
    url
}

/// Makes what a terminal would act on visible; names come from files and variables that others may write.
fn visible(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        match c {
            '\'' | '"' | '\\' => out.push(c),
            c => out.extend(c.escape_debug()),
        }
        out
    })
}
