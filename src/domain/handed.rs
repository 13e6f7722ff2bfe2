//! What a process hands itself past its command line, which others can see.

/// The variable that holds it. Its value is for the process that has set it, and no program that is started may get it:
/// there is a password in it. No setting has this name.
pub const HANDED_ON: &str = "TASKDECK_HANDED_ON";
