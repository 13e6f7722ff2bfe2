//! The `taskdeck` program.

use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::time::Duration;

use color_eyre::eyre::{Result, WrapErr as _};
use taskdeck::cli;

/// How long a thread that still blocks (a read of standard input) may hold up the end.
const LAST_WAIT: Duration = Duration::from_millis(100);

fn main() -> Result<ExitCode> {
    // Before anything else: where a password stands in the command line, the process begins again without.
    let args = cli::cover(std::env::args_os().collect());
    color_eyre::install()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .wrap_err("the program's threads could not be started")?;
    // A panic was told by its hook; what is left to say is the exit code that scripts know.
    let run = AssertUnwindSafe(|| runtime.block_on(cli::run(args)));
    let exit = std::panic::catch_unwind(run).unwrap_or(cli::Exit::Unexpected);
    runtime.shutdown_timeout(LAST_WAIT);
    Ok(exit.into())
}
