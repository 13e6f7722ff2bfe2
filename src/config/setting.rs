//! The table of settings.

/// A setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the table below says what each one is")]
pub enum Key {
    DatabaseUrl,
    Schema,
    Tenant,
    Operator,
    ReadOnly,
    NoMigrate,
    DataDir,
    Output,
    LogFile,
    LogFormat,
    Verbose,
    Queue,
    Workers,
    Batch,
    Poll,
    Lease,
    Grace,
    Analyser,
    Exec,
    Hook,
    HookTimeout,
    TaskTimeout,
    WorkDelay,
    IgnoreCancel,
    PoolSize,
    AcquireTimeout,
    StatementTimeout,
    LockTimeout,
    MaxInputBytes,
    FourEyes,
    Notify,
    Theme,
}

/// What a setting is called, and what holds where nobody gave it.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// Which one.
    pub key: Key,
    /// Its name in the file; with `-` for `_` its flag, in capitals behind `TASKDECK_` its variable.
    pub name: &'static str,
    /// The default as text; none where there is no value or it depends on the machine.
    pub default: Option<&'static str>,
    /// What stands instead of a default in `taskdeck config`.
    pub unset: &'static str,
}

impl Spec {
    /// The name of its environment variable.
    pub fn variable(&self) -> String {
        format!("TASKDECK_{}", self.name.to_ascii_uppercase())
    }

    /// The flag, for those that have one.
    pub fn flag(&self) -> String {
        format!("--{}", self.name.replace('_', "-"))
    }
}

impl Key {
    /// Its line in the table.
    ///
    /// # Panics
    /// Never: a test finds every key in the table.
    pub fn spec(self) -> &'static Spec {
        ALL.iter().find(|spec| spec.key == self).expect("every key has a line")
    }

    /// Whether it is a switch, on or off.
    pub fn is_switch(self) -> bool {
        matches!(self, Self::ReadOnly | Self::NoMigrate | Self::IgnoreCancel | Self::FourEyes | Self::Notify)
    }
}

const fn fixed(key: Key, name: &'static str, default: &'static str) -> Spec {
    Spec { key, name, default: Some(default), unset: "" }
}

const fn open(key: Key, name: &'static str, unset: &'static str) -> Spec {
    Spec { key, name, default: None, unset }
}

/// Every setting, in the order of `taskdeck config`.
pub const ALL: &[Spec] = &[
    open(Key::DatabaseUrl, "database_url", "the private server"),
    fixed(Key::Schema, "schema", "taskdeck"),
    open(Key::Tenant, "tenant", "every tenant; submits go to default"),
    open(Key::Operator, "operator", ""),
    fixed(Key::ReadOnly, "read_only", "false"),
    fixed(Key::NoMigrate, "no_migrate", "false"),
    open(Key::DataDir, "data_dir", "the user's data folder"),
    fixed(Key::Output, "output", "text"),
    open(Key::LogFile, "log_file", "none"),
    fixed(Key::LogFormat, "log_format", "text"),
    fixed(Key::Verbose, "verbose", "0"),
    fixed(Key::Queue, "queue", "default"),
    open(Key::Workers, "workers", ""),
    fixed(Key::Batch, "batch", "500"),
    fixed(Key::Poll, "poll", "1s"),
    fixed(Key::Lease, "lease", "30s"),
    fixed(Key::Grace, "grace", "30s"),
    fixed(Key::Analyser, "analyser", "text-stats"),
    open(Key::Exec, "exec", "none"),
    open(Key::Hook, "hook", "none"),
    fixed(Key::HookTimeout, "hook_timeout", "30s"),
    open(Key::TaskTimeout, "task_timeout", "none"),
    fixed(Key::WorkDelay, "work_delay", "0s"),
    fixed(Key::IgnoreCancel, "ignore_cancel", "false"),
    fixed(Key::PoolSize, "pool_size", "4"),
    fixed(Key::AcquireTimeout, "acquire_timeout", "5s"),
    fixed(Key::StatementTimeout, "statement_timeout", "10s"),
    fixed(Key::LockTimeout, "lock_timeout", "2s"),
    fixed(Key::MaxInputBytes, "max_input_bytes", "1048576"),
    fixed(Key::FourEyes, "four_eyes", "false"),
    fixed(Key::Notify, "notify", "false"),
    fixed(Key::Theme, "theme", "auto"),
];
