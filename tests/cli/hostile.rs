//! Text that would act on a terminal is shown and never acts, in any field of any command.

use crate::runner::User;
use crate::support::database;

/// Moves the cursor, sets colours, writes the clipboard, turns the reading direction.
const HOSTILE: &str =
    "a\u{1b}[2Jb\u{1b}]52;c;AAAA\u{7}c\u{9b}31md\u{202e}e\u{2066}f\u{2028}g\rh\u{7f}i\u{200b}j";

#[tokio::test]
async fn hostile_text_is_visible_and_never_active() {
    let db = database().await;
    let user = User::of(&db.url).with("TASKDECK_OPERATOR", "mal\u{202e}lory");
    assert_eq!(user.run_with(&["submit", "--hold", "-"], HOSTILE.as_bytes()).code, 0);
    user.run(&["reject", "1", "--reason", HOSTILE]).assert_harmless();
    // What an analyser or another program may have written.
    db.psql(
        "UPDATE taskdeck.tasks SET error = E'\\x1b[31mboo\\u009b2J', tenant = E'\\u202ex', queue = E'\\x1b]0;x\\x07'; \
         INSERT INTO taskdeck.instances (id, host, pid, version, kind, operator, queues, slots, state, lease_until) \
         VALUES (gen_random_uuid(), E'h\\x1b[2J', 1, E'v\\u202e', E'\\x07', E'\\u009b', ARRAY[E'q\\x1b'], 1, 'working', \
                 now() + interval '1 hour')",
    );
    let commands: &[(&[&str], &[&str])] = &[
        (&["list"], &["a\\e[2Jb\\e]52;c;AAAA\\u{7}c\\u{9b}31md\\u{202e}e", "\\u{202e}x", "\\e]0;x"]),
        (&["show", "1"], &["a\\e[2Jb", "\\e[31mboo\\u{9b}2J", "mal\\u{202e}lory"]),
        (&["instances"], &["h\\e[2J:1", "q\\e"]),
        (&["status"], &[]),
        (&["approve", "1@0"], &["mal\\u{202e}lory rejected it", "a\\e[2Jb"]),
        (&["show", "9", "--tenant", "\u{1b}[2J"], &[]),
        (&["list", "--status", "\u{1b}[2J"], &[]),
        (&["list", "\u{1b}[2J"], &[]),
        (&["submit", "--queue", "\u{202e}", "x"], &[]),
        (&["--config", "/\u{1b}[2J", "list"], &[]),
        (&["cancel", "\u{9b}2J"], &[]),
    ];
    for (args, shown) in commands {
        let run = user.run(args);
        run.assert_harmless();
        for part in *shown {
            assert!(run.out.contains(part), "{args:?} shows {part}: {}", run.out);
        }
        let args: Vec<&str> = ["--output", "json"].iter().chain(*args).copied().collect();
        let run = user.run(&args);
        run.assert_harmless();
        run.json();
    }
    let answer = user.json(0, &["show", "1"]);
    assert_eq!(answer["task"]["input"], HOSTILE, "JSON reads back as it was");
    assert_eq!(answer["events"][0]["reason"], HOSTILE);
}
