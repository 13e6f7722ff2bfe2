//! The console's rules, each as messages in and effects and state out.

mod acts;
mod anything;
mod bulk;
mod cursor;
mod drawn;
mod ending;
mod keys;
mod queues;
mod refresh;
mod stops;
mod typing;
