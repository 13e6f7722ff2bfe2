//! A database with the roles of `assets/sql`, each with logins of its own.
#![expect(unreachable_pub, reason = "test binaries include it as a file")]

use std::process::Command;

use taskdeck::db::{Db, Limits};

use crate::support::{TestDb, database, open, unique};

/// A database with the roles of `assets/sql/roles.sql` under a prefix of its own, since roles are the whole server's.
pub struct Company {
    /// The database, opened as its owner.
    pub test: TestDb,
    /// What the roles' names begin with.
    pub prefix: String,
}

impl Company {
    /// A fresh database with the roles, and no logins yet.
    pub async fn new() -> Self {
        let test = database().await;
        let prefix = format!("r{}", unique());
        let company = Self { test, prefix };
        company.run("roles.sql");
        company
    }

    /// Runs a script of `assets/sql`.
    pub fn run(&self, file: &str) {
        let path = format!("{}/assets/sql/{file}", env!("CARGO_MANIFEST_DIR"));
        // Twice, since it is to be run again after an upgrade.
        for _ in 0..2 {
            let output = Command::new("psql")
                .args([
                    "-X",
                    "-q",
                    "-d",
                    &self.test.url,
                    "-v",
                    &format!("prefix={}", self.prefix),
                    "-f",
                    &path,
                ])
                .output()
                .expect("psql starts");
            assert!(output.status.success(), "{file}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }

    /// The address for a new login that is a member of `role`.
    pub fn login(&self, login: &str, role: &str) -> String {
        let login = format!("{}_{login}", self.prefix);
        self.test.psql(&format!("CREATE ROLE {login} LOGIN IN ROLE {}_{role}", self.prefix));
        self.test.url.replace("tester@", &format!("{login}@"))
    }

    /// The database as a new login sees it.
    pub async fn open(&self, login: &str, role: &str) -> Db {
        open(&self.login(login, role), Limits::default()).await
    }

    /// A line for each table with a sum of all that is in it, whichever tables there are.
    pub fn everything(&self) -> String {
        everything(&self.test)
    }
}

/// A line for each table with a sum of all that is in it, whichever tables there are.
pub fn everything(test: &TestDb) -> String {
    let tables = test
        .psql("SELECT relname FROM pg_class WHERE relnamespace = 'taskdeck'::regnamespace AND relkind = 'r'");
    let sums: Vec<String> = tables
        .lines()
        .map(|table| {
            format!(
                "SELECT '{table}', count(*), md5(coalesce(string_agg(t::text, ' ' ORDER BY t::text), '')) \
                 FROM taskdeck.{table} t"
            )
        })
        .collect();
    assert!(sums.len() >= 6, "these are not all tables: {tables}");
    test.psql(&format!("{} ORDER BY 1", sums.join(" UNION ALL ")))
}
