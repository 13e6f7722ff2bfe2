//! `docs/keys.md` is the table of keys with the verbs of the command line, and nothing else. After a change of either:
//! `UPDATE_DOCS=1 cargo test --test keys_doc`.

use taskdeck::app::keys::{Keymap, markdown};

const HEAD: &str = "# Keys

Written from the program's own tables (`src/app/keys/table.rs`, `src/app/command.rs`); `?` in the console shows the same with your
changes. Each act can be given other keys in the configuration, by its name:

```toml
[keys]
cancel = [\"ctrl-k\"]
mark = [\"space\"]
```

";

#[test]
fn the_page_is_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/keys.md");
    let wanted = format!("{HEAD}{}", markdown(&Keymap::default()));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &wanted).expect("docs/keys.md can be written");
    }
    let found = std::fs::read_to_string(path).expect("docs/keys.md can be read");
    assert!(found == wanted, "docs/keys.md is not the table; run UPDATE_DOCS=1 cargo test --test keys_doc");
}
