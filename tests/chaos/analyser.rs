//! The command that workers run, and the ledger that it writes: a line when it begins and one when it ends, each in
//! one appending write, so that what really ran is known from outside the program and the database.

use std::path::{Path, PathBuf};

use crate::plan::Micros;

/// Does what the second word of the text says; its output names the claim, so that a result tells whose it is.
const SCRIPT: &str = r#"ledger=$1
note() {
    printf '%s %s %s %s %s\n' "$TASKDECK_TASK_ID" "$TASKDECK_CLAIM_NO" "$$" "${EPOCHREALTIME/[.,]/}" "$1" >>"$ledger"
}
trap 'note stopped; exit 143' TERM
note start
read -r _ verb amount _
case "$verb" in
    sleeps) sleep "$amount" ;;
    fails) note end; echo "as told" >&2; exit 1 ;;
    lingers) if ((TASKDECK_CLAIM_NO > 1)); then sleep 4; fi ;;
    wavers) if ((TASKDECK_CLAIM_NO % 2)); then note end; echo "not yet" >&2; exit 1; fi ;;
esac
note end
printf '%s/%s %s' "$TASKDECK_TASK_ID" "$TASKDECK_CLAIM_NO" "$verb"
"#;

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Start,
    End,
    /// It was asked to stop and did.
    Stopped,
}

/// A line of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) task: i64,
    pub(crate) claim_no: i64,
    pub(crate) pid: u32,
    pub(crate) at: Micros,
    pub(crate) what: What,
}

impl Line {
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let line = Self {
            task: words.next()?.parse().ok()?,
            claim_no: words.next()?.parse().ok()?,
            pid: words.next()?.parse().ok()?,
            at: words.next()?.parse().ok()?,
            what: match words.next()? {
                "start" => What::Start,
                "end" => What::End,
                "stopped" => What::Stopped,
                _ => return None,
            },
        };
        words.next().is_none().then_some(line)
    }
}

/// Where the script and its ledger are.
#[derive(Debug)]
pub(crate) struct Ledger {
    script: PathBuf,
    path: PathBuf,
}

impl Ledger {
    /// Writes the script into `folder`.
    pub(crate) fn begin(folder: &Path) -> Self {
        let script = folder.join("analyser.bash");
        let path = folder.join("ledger");
        std::fs::write(&script, SCRIPT).expect("write the analyser");
        std::fs::write(&path, "").expect("begin the ledger");
        Self { script, path }
    }

    /// The command line for `--exec`.
    pub(crate) fn command(&self) -> String {
        format!("bash '{}' '{}'", self.script.display(), self.path.display())
    }

    /// Every line; one that is none is evidence that cannot be trusted, and ends the run.
    pub(crate) fn read(&self) -> Vec<Line> {
        let text = std::fs::read_to_string(&self.path).expect("read the ledger");
        text.lines()
            .map(|line| Line::parse(line).unwrap_or_else(|| panic!("the ledger has the line `{line}`")))
            .collect()
    }
}
