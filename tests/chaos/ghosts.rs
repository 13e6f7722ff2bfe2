//! A finish that arrives when nobody waits for it any more: its worker was killed right after it was sent, others have
//! taken the task back and run it again, and only then does the server get to read it. Without the token it would end a
//! claim that is not its own.

use std::sync::Arc;
use std::time::Duration;

use crate::fleet::{Fleet, GHOST};
use crate::plan::{millis, now};
use crate::proxy::{Cut, Proxy};
use crate::stage::{Route, Stage};
use crate::submits::lines;
use crate::texts::plain;

/// What the command's output says of a text that it runs for longer when it runs it again.
const WORD: &str = "lingers";

/// Sends finishes late until the faults are over.
pub(crate) async fn run(stage: Arc<Stage>, fleet: Arc<Fleet>, proxy: Arc<Proxy>) {
    let mut dice = stage.plan.dice("ghosts");
    let mut number = 0;
    while stage.goes_on() {
        number += 1;
        let late = proxy.cuts_of(Cut::Late);
        proxy.disarm();
        proxy.cut(Cut::Late, WORD);
        // One for each of the two who may take them.
        let texts = [plain(WORD), plain(WORD)];
        let url = stage.url(Route::Direct);
        lines(&stage, &url, &format!("ghosts-{number}"), &texts, "ghosts", crate::cli::Fate::Lives).await;
        let sent = now();
        while stage.goes_on() && proxy.cuts_of(Cut::Late) == late && now() - sent < 5_000_000 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        if proxy.cuts_of(Cut::Late) > late {
            stage.note("finish that came late, its worker killed", GHOST);
            fleet.kill_ghost().await;
        }
        stage.pause(Duration::from_secs(6) + millis(&mut dice, 0, 2_000)).await;
    }
    proxy.disarm();
}
