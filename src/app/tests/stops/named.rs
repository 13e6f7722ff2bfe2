//! `:stop` names one, a host, or all that are on screen.

use super::*;

#[test]
fn the_command_line_asks_one_a_host_or_all_that_are_on_screen() {
    let drains = asked(StopMode::Drain, process(4, "web4", InstanceState::Draining));
    let watches = process(5, "ops2", InstanceState::Watching);
    let fleet = || {
        Console::fleet(vec![working(HERE, "ops1"), working(WEB2, "web2"), drains.clone(), watches.clone()])
    };
    let mut console = fleet();
    console.press(": s t o p space w e b 2 : 9 9 1 enter");
    assert_eq!(question(&console).title(), "Drain web2:991?");
    assert_eq!(console.press("y"), [stop(1, StopMode::Drain, &[(WEB2, 0)], None)]);

    let mut console = fleet();
    console.press(": s t o p space h e r e space - - m o d e space c a n c e l enter");
    assert_eq!(question(&console).title(), "Cancel what this process runs?");
    console.press("esc : s t o p space - - a l l enter");
    assert_eq!(question(&console).title(), "Drain 3 instances?");
    assert_eq!(question(&console).yes(), "drain 2 of 3");
    let says: Vec<_> =
        question(&console).rows.iter().map(|row| question(&console).says_of(&console.state, row)).collect();
    assert_eq!(says[0], Ok("runs 2; waits for them, then ends".to_owned()));
    assert!(says[2].as_ref().is_err_and(|why| why.contains("not asked: bob asked it to drain")), "{says:?}");
    // Each is asked by itself: that one cannot be asked spares none of the others.
    assert_eq!(console.press("y"), [stop(1, StopMode::Drain, &[(HERE, 0), (WEB2, 0)], None)]);
    let conflict = stopping(WEB2, InstanceState::Working, 1, Some(by_bob(StopMode::Drain, 0)));
    answer(&mut console, 1, vec![committed(HERE), (id(WEB2), StopVerdict::Conflict { instance: conflict })]);
    assert_eq!(console.state.stop_conflicts[0].title(), "Not asked: 1 of 2");
    assert!(logged(&console, "asked this process to drain"));

    let mut console = fleet();
    for (typed, why) in [
        ("web9", "there is no instance `web9`"),
        ("--mode halt here", "`halt` is not a mode"),
        ("--mode", "is not a mode"),
        ("--all here", "not both"),
        ("--force here", "`--force` is not an option"),
        ("ops2", "only watches"),
        ("00000000", "begins several ids"),
    ] {
        let keys: Vec<String> =
            typed.chars().map(|c| if c == ' ' { "space".to_owned() } else { c.to_string() }).collect();
        assert_eq!(console.press(&format!(": s t o p space {} enter", keys.join(" "))), []);
        assert!(console.notice().contains(why), "{typed}: {}", console.notice());
        assert!(console.state.overlays.is_empty(), "{typed}");
    }
    // From another screen it is only shown: nobody has looked at them.
    console.press("1 : s t o p space h e r e enter");
    assert_eq!((console.state.screen, console.state.overlays.len()), (Screen::Workers, 0));
    assert!(console.notice().contains("Look, then ask again"), "{}", console.notice());
}

#[test]
fn an_id_is_written_in_either_case() {
    let mut console = Console::fleet(vec![working(0xabcd << 112, "web4"), working(WEB2, "web2")]);
    console.press(": s t o p space A B c D enter");
    assert!(question(&console).title().starts_with("Drain web4:"), "{}", question(&console).title());
}

#[test]
fn the_command_line_completes_instances_and_modes() {
    let gone = process(9, "web9", InstanceState::Stopped);
    let console = Console::fleet(vec![working(HERE, "ops1"), working(WEB2, "Web2"), gone]);
    let completed = |typed: &str| crate::app::command::completions(&console.state, typed);
    assert_eq!(completed("sto"), ["stop "]);
    assert_eq!(completed("stop w"), ["stop Web2:991"]);
    assert_eq!(completed("stop "), ["stop --all", "stop --mode", "stop Web2:991", "stop here"]);
    assert_eq!(completed("stop here --mode "), ["stop here --mode cancel", "stop here --mode drain"]);
}
