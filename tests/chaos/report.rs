//! What is said at the end of a run.

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};

use crate::audit::{Findings, Tallies};
use crate::proxy::Cut;
use crate::speed::Recovery;
use crate::stage::Stage;

/// Everything that a run counted.
pub(crate) struct Report<'a> {
    pub(crate) stage: &'a Stage,
    pub(crate) server: String,
    pub(crate) findings: &'a Findings,
    pub(crate) recoveries: &'a [Recovery],
}

impl Report<'_> {
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let plan = self.stage.plan;
        let mut line = |name: &str, value: &dyn Display| {
            let _ = writeln!(text, "{name:<22} {value}");
        };
        let Tallies {
            tasks,
            states,
            claims,
            starts,
            recoveries,
            repeated,
            explained,
            overlapping,
            belated,
            acknowledged,
            lost,
            twice,
            unknown,
            unknown_resolved,
            unknown_said,
            found_out,
            decisions,
            submits,
            races,
            unbegun,
        } = &self.findings.tallies;
        line("seed", &plan.seed);
        line("faults for", &format!("{} s", plan.faults.as_secs()));
        line("server", &self.server);
        line("witness", &"a trigger on every change of a task");
        line("tasks", &format!("{tasks}: {}", list(states)));
        line("claims", &format!("{claims}, of which {starts} ran a command"));
        line("recoveries", recoveries);
        let all = if repeated == explained { "all explained" } else { "NOT all explained" };
        line("repeated effects", &format!("{repeated}, {all}; {overlapping} while the one before still ran"));
        line("begun when recovered", belated);
        line("found no server", &format!("{unbegun} workers"));
        line("submits", &list(submits));
        line("decisions", &format!("{}; {races} versions decided on by several", list(decisions)));
        line(
            "lost answers",
            &format!(
                "{found_out} found out by the call, {unknown} left unknown by it, of which {unknown_resolved} by sending the same key again"
            ),
        );
        for (said, count) in unknown_said {
            line("left unknown", &format!("{count} × {said}"));
        }
        line("acknowledged", &format!("{acknowledged} tasks, lost {lost}, twice {twice}"));
        for (kind, count) in self.stage.counts() {
            line("fault", &format!("{count} × {kind}"));
        }
        for (cut, what) in [
            (Cut::Before, "before the request"),
            (Cut::Late, "before the request, which came late"),
            (Cut::After, "after the server's answer"),
            (Cut::Middle, "in the middle of the answer"),
            (Cut::Stall, "answer held, line open"),
        ] {
            line("line cut", &format!("{} × {what}", self.stage.proxy.cuts_of(cut)));
        }
        for recovery in self.recoveries {
            line("crash of the server", &pace(recovery));
        }
        let mut times: Vec<f64> = self.recoveries.iter().filter_map(|recovery| recovery.full).collect();
        times.sort_by(f64::total_cmp);
        if let [least, .., most] | [least @ most] = times.as_slice() {
            let soon = times.iter().filter(|time| **time <= 5.0).count();
            let median = times[times.len() / 2];
            line(
                "full pace after",
                &format!(
                    "{least:.2} / {median:.2} / {most:.2} s (min, median, max); {soon} of {} within 5 s",
                    self.recoveries.iter().filter(|recovery| recovery.compares()).count()
                ),
            );
        }
        let broken = &self.findings.broken;
        let verdict = if broken.is_empty() { "held".to_owned() } else { format!("{} BROKEN", broken.len()) };
        line("VERDICT", &verdict);
        for broken in broken.iter().take(40) {
            let task = broken.task.map_or(String::new(), |task| format!(" task {task}:"));
            line(broken.rule, &format!("{task} {}", broken.what));
        }
        text
    }
}

/// How the pace came back after one crash.
fn pace(recovery: &Recovery) -> String {
    let Recovery { away, before, after, best, most, full } = recovery;
    if !recovery.compares() {
        return format!("away for {away:.2} s; no pace to compare with; {after} tasks after it");
    }
    let after = |after: &Option<f64>| after.map_or("not".to_owned(), |after| format!("after {after:.2} s"));
    format!(
        "away for {away:.2} s; {before:.0} tasks/s before; 80 % of it {}, all of it {}; best {:.0} %",
        after(most),
        after(full),
        best * 100.0
    )
}

fn list(counts: &BTreeMap<String, usize>) -> String {
    counts.iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
}
