//! What a hook tells: a script that writes down what it was given, in the order of telling. One whose test has failed ends
//! with the test's folder.
#![expect(unreachable_pub, reason = "test binaries include it as a file")]

use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

/// In a script's body: waits until [`Receiver::open`].
pub const WAITS: &str = r#"while [ -d "$here" ] && ! [ -e "$here/go" ]; do sleep 0.05; done"#;

/// A folder with the script and what it was told.
pub struct Receiver {
    folder: TempDir,
}

impl Receiver {
    /// One whose script does `body` between its two lines: `begun` and, unless it has ended before, `ended`. In it stand
    /// `$here`, the folder, and `$line`, what it was told.
    pub fn with(body: &str) -> Self {
        let receiver = Self { folder: tempfile::tempdir().expect("a folder for the receiver") };
        let here = receiver.folder.path().display();
        let script = format!(
            "here='{here}'\n\
             say() {{ printf '%s %s %s %s\\n' \"$1\" \"$TASKDECK_TASK_ID\" \"$TASKDECK_VERSION\" \"$TASKDECK_DELIVERY\" \
             >>\"$here/log\"; }}\n\
             line=$(cat)\nsay begun\nprintf '%s\\n' \"$line\" >>\"$here/told\"\n{body}\nsay ended\n"
        );
        std::fs::write(receiver.path("script"), script).expect("write the script");
        receiver
    }

    /// What `--hook` is given.
    pub fn hook(&self) -> String {
        format!("sh {}", self.path("script").display())
    }

    /// Lets every script end that waits, now and from now on.
    pub fn open(&self) {
        std::fs::write(self.path("go"), "").expect("open");
    }

    /// A file in its folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What the script has written into a file of its folder so far.
    pub fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// `begun TASK VERSION DELIVERY` and `ended …`, in the order in which they happened.
    pub fn log(&self) -> Vec<String> {
        self.file("log").lines().map(str::to_owned).collect()
    }

    /// Those of one task, without its number.
    pub fn of(&self, task: impl std::fmt::Display) -> Vec<String> {
        let number = task.to_string();
        let mut said = Vec::new();
        for line in self.log() {
            let words: Vec<&str> = line.split(' ').collect();
            if words[1] == number {
                said.push(format!("{} {} {}", words[0], words[2], words[3]));
            }
        }
        said
    }

    /// Every document that it was given.
    pub fn told(&self) -> Vec<Value> {
        self.file("told").lines().map(|line| serde_json::from_str(line).expect("a document")).collect()
    }
}
