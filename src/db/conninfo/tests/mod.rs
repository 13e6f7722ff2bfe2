//! Tests without a server; those with one are in `tests/tls.rs`.

mod addresses;
mod bare;
mod files;
mod handshake;
mod protection;

use std::collections::HashMap;
use std::path::PathBuf;

use super::{ConnInfo, ConnInfoError, Sources, resolve};

/// Sources of a machine that has nothing: no variables, no files, no sockets.
struct World {
    env: HashMap<String, String>,
    flag: Option<String>,
    config: Option<String>,
    home: Option<PathBuf>,
    socket_dirs: Vec<PathBuf>,
}

impl World {
    fn new(env: &[(&str, &str)]) -> Self {
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { env, flag: None, config: None, home: None, socket_dirs: Vec::new() }
    }

    fn flag(mut self, url: &str) -> Self {
        self.flag = Some(url.to_owned());
        self
    }

    fn config(mut self, url: &str) -> Self {
        self.config = Some(url.to_owned());
        self
    }

    fn home(mut self, home: impl Into<PathBuf>) -> Self {
        self.home = Some(home.into());
        self
    }

    fn resolve(&self) -> Result<Option<ConnInfo>, ConnInfoError> {
        let lookup = |name: &str| self.env.get(name).cloned();
        resolve(&Sources {
            flag_url: self.flag.clone(),
            config_url: self.config.clone(),
            home: self.home.clone(),
            os_user: Some("tester".to_owned()),
            socket_dirs: self.socket_dirs.clone(),
            sysconf_dirs: Vec::new(),
            ..Sources::new(&lookup)
        })
    }

    fn info(&self) -> ConnInfo {
        self.resolve().expect("settings are good").expect("a database is named")
    }

    fn error(&self) -> ConnInfoError {
        self.resolve().expect_err("settings are bad")
    }
}

fn info(url: &str) -> ConnInfo {
    World::new(&[]).flag(url).info()
}

fn error(url: &str) -> ConnInfoError {
    World::new(&[]).flag(url).error()
}
