//! An address without its secrets, for places that others can see.

use super::source::Source;
use super::{keyword, params, settings, uri};

/// `address` without its password and other secrets, as far as possible as it is written; `None` if it has none and may
/// be seen as it stands. Of one that cannot be read nobody knows where its password begins: all of it is left out.
pub fn without_secrets(address: &str) -> Option<String> {
    let address = address.trim();
    if address.is_empty() {
        return None;
    }
    let Ok(pairs) = settings::parse_address(address, Source::Flag) else {
        return Some("***".to_owned()).filter(|shown| shown != address);
    };
    if !pairs.iter().any(|(name, value)| params::is_secret(name) && !value.is_empty()) {
        return None;
    }
    Some(match uri::strip_scheme(address) {
        Some(rest) => {
            let scheme = &address[..address.len() - rest.len()];
            format!("{scheme}{}", uri::without_secrets(rest))
        }
        None => keyword::without_secrets(&pairs),
    })
}
