//! `docs/protocol.md` names tests that are there.

#[test]
fn each_test_that_the_protocol_names_is_there() {
    let sources = [
        include_str!("conformance.rs"),
        include_str!("holds.rs"),
        include_str!("counterexamples/claims.rs"),
        include_str!("counterexamples/decisions.rs"),
        include_str!("counterexamples/recoveries.rs"),
    ];
    let named: Vec<&str> = include_str!("../../docs/protocol.md")
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| word.matches('_').count() > 2 && !word.contains('/'))
        .collect();
    assert!(named.len() > 20, "{named:?}");
    for name in named {
        let there = format!("fn {name}()");
        assert!(sources.iter().any(|source| source.contains(&there)), "there is no test `{name}`");
    }
}
