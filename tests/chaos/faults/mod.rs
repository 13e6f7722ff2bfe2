//! What is broken: workers, the server, and the wire between.

pub(crate) mod server;
pub(crate) mod wire;
pub(crate) mod workers;
