//! Everything that speaks to `PostgreSQL`. May use `domain`.

pub mod private;
