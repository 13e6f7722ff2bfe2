//! The whole of a run: what is printed as JSON, written with `--save` and drawn again by `taskdeck lab show`.

use serde::{Deserialize, Serialize};

use super::{Evidence, Judged, Server, Verdict, judge};

/// What a run was told and found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The server.
    pub server: Server,
    /// The experiments, in the order in which they ran.
    pub experiments: Vec<Experiment>,
    /// One word for all of it.
    pub outcome: Outcome,
}

/// An experiment: what must hold, its evidence, and what follows from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// What must hold, and why.
    pub claim: String,
    /// What was gathered.
    #[serde(flatten)]
    pub evidence: Evidence,
    /// What follows.
    #[serde(flatten)]
    pub judged: Judged,
}

/// How a whole run came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// What must hold held in every experiment that can run here, and at least one can.
    Holds,
    /// A rule was broken.
    Broken,
    /// Nothing was broken, but not everything was shown, or not all that was asked for was run.
    NotShown,
    /// None of the experiments can run here.
    CannotRunHere,
}

impl Outcome {
    /// The words in text output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Holds => "all of it holds",
            Self::Broken => "a rule is BROKEN",
            Self::NotShown => "not everything was shown",
            Self::CannotRunHere => "none of it can run here",
        }
    }
}

impl Experiment {
    /// Judges `evidence`.
    pub fn of(evidence: Evidence, server: &Server) -> Self {
        let judged = judge(&evidence, server);
        Self { claim: evidence.kind.claim().to_owned(), evidence, judged }
    }
}

impl Report {
    /// Judges everything that was gathered.
    pub fn of(server: Server, gathered: Vec<Evidence>) -> Self {
        let experiments: Vec<Experiment> =
            gathered.into_iter().map(|evidence| Experiment::of(evidence, &server)).collect();
        let any = |verdict| experiments.iter().any(|experiment| experiment.judged.verdict == verdict);
        let broken_off = experiments.iter().any(|experiment| experiment.evidence.stopped.is_some());
        let outcome = if any(Verdict::Broken) {
            Outcome::Broken
        } else if any(Verdict::NotShown) || broken_off {
            Outcome::NotShown
        } else if any(Verdict::Holds) {
            Outcome::Holds
        } else {
            Outcome::CannotRunHere
        };
        Self { server, experiments, outcome }
    }

    /// The same evidence judged again: what a file says that follows from it is not believed.
    #[must_use]
    pub fn judged_again(self) -> Self {
        let gathered = self.experiments.into_iter().map(|experiment| experiment.evidence).collect();
        Self::of(self.server, gathered)
    }
}
