//! `docs/protocol.md` names tests that are there, and every counter-example that there is.

const PROTOCOL: &str = include_str!("../../docs/protocol.md");

const COUNTEREXAMPLES: [&str; 3] = [
    include_str!("counterexamples/claims.rs"),
    include_str!("counterexamples/decisions.rs"),
    include_str!("counterexamples/recoveries.rs"),
];

/// Where the other tests are that the protocol names.
const OTHERS: [&str; 11] = [
    include_str!("conformance.rs"),
    include_str!("holds.rs"),
    include_str!("../db/claims.rs"),
    include_str!("../db/deliveries.rs"),
    include_str!("../db/fleet.rs"),
    include_str!("../db/four_eyes.rs"),
    include_str!("../db/leases.rs"),
    include_str!("../db/limit_approvals.rs"),
    include_str!("../db/limit_claims.rs"),
    include_str!("../db/limits.rs"),
    include_str!("../db/queues.rs"),
];

/// What the protocol names and can only be a test: names of columns and statements are shorter.
fn named() -> Vec<&'static str> {
    let words = PROTOCOL.split('`').skip(1).step_by(2);
    words.filter(|word| word.matches('_').count() > 2 && !word.contains('/')).collect()
}

/// The tests of a file.
fn tests(source: &str) -> impl Iterator<Item = &str> {
    source.lines().zip(source.lines().skip(1)).filter_map(|(attribute, line)| {
        (attribute.starts_with("#[test]") || attribute.starts_with("#[tokio::test")).then_some(())?;
        line.trim_start_matches("async ").strip_prefix("fn ")?.strip_suffix("() {")
    })
}

#[test]
fn each_test_that_the_protocol_names_is_there() {
    let there: Vec<&str> = COUNTEREXAMPLES.iter().chain(&OTHERS).flat_map(|source| tests(source)).collect();
    let named = named();
    assert!(named.len() > 20, "{named:?}");
    for name in named {
        assert!(there.contains(&name), "there is no test `{name}`");
    }
}

#[test]
fn each_counterexample_is_named_by_the_protocol() {
    let named = named();
    let there: Vec<&str> = COUNTEREXAMPLES.iter().flat_map(|source| tests(source)).collect();
    assert!(there.len() > 20, "{there:?}");
    for name in there {
        assert!(named.contains(&name), "the protocol does not name `{name}`");
    }
}
