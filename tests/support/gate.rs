//! A command that runs until a test lets it end, for what must still run while a person's steps are played. One whose
//! test has failed ends with the test's folder.
#![expect(unreachable_pub, reason = "test binaries include it as a file")]

use std::path::PathBuf;

use tempfile::TempDir;

/// A folder with a command in it that waits.
pub struct Gate {
    folder: TempDir,
}

impl Gate {
    /// One that is shut.
    pub fn shut() -> Self {
        let folder = tempfile::tempdir().expect("a folder for the gate");
        let gate = Self { folder };
        let place = gate.folder.path().display();
        let waits = format!(
            "while [ -d '{place}' ] && ! [ -e '{place}/go' ]; do sleep 0.05; done; : >'{place}/passed'\n"
        );
        std::fs::write(gate.command(), waits).expect("write the command");
        gate
    }

    fn go(&self) -> PathBuf {
        self.folder.path().join("go")
    }

    fn command(&self) -> PathBuf {
        self.folder.path().join("waits")
    }

    /// What `--exec` is given: it ends once the gate is open.
    pub fn exec(&self) -> String {
        format!("sh {}", self.command().display())
    }

    /// Whether a command has gone through it.
    pub fn was_passed(&self) -> bool {
        self.folder.path().join("passed").exists()
    }

    /// Lets every command end that waits, now and from now on.
    pub fn open(&self) {
        std::fs::write(self.go(), "").expect("open the gate");
    }
}
