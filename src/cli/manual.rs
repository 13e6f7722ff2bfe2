//! Completions and the manual page, made from the same description as `--help`.

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::args::Cli;
use super::exit::{Exit, Failure};
use super::output::write_out;

/// Prints completions for `shell`.
pub(super) fn completions(shell: Shell) -> Result<Exit, Failure> {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "taskdeck", &mut bytes);
    write_out(&String::from_utf8_lossy(&bytes))?;
    Ok(Exit::Done)
}

/// Prints one manual page: the program, then each command with its own flags.
pub(super) fn page() -> Result<Exit, Failure> {
    let mut root = Cli::command();
    root.build();
    let mut bytes = Vec::new();
    clap_mangen::Man::new(root.clone()).render(&mut bytes)?;
    commands(&root, &mut bytes)?;
    write_out(&String::from_utf8_lossy(&bytes))?;
    Ok(Exit::Done)
}

/// The flags of every command, the global ones left out: they stand once, at the top.
fn commands(parent: &clap::Command, bytes: &mut Vec<u8>) -> Result<(), Failure> {
    for command in parent.get_subcommands() {
        let name = command.get_bin_name().unwrap_or(command.get_name()).to_owned();
        let own = command.clone().mut_args(|arg| {
            let global = arg.is_global_set();
            arg.hide(global)
        });
        let page = clap_mangen::Man::new(own);
        bytes.extend_from_slice(format!(".SH \"{}\"\n", name.to_uppercase()).as_bytes());
        if let Some(about) = command.get_about() {
            bytes.extend_from_slice(format!("{about}\n.PP\n").as_bytes());
        }
        // A heading of its own would end this command's section.
        let mut section = Vec::new();
        page.render_options_section(&mut section)?;
        let section = String::from_utf8_lossy(&section).replace(".SH OPTIONS\n", "");
        bytes.extend_from_slice(section.as_bytes());
        commands(command, bytes)?;
    }
    Ok(())
}
