//! The row under the cursor.

use crate::app::Message;
use crate::app::detail::Follows;
use crate::app::list::{Cursor, MOST, PAGE};
use crate::app::message::Viewport;
use crate::app::state::Pane;
use crate::app::testing::{Console, clock, history, page, reads, task};
use crate::app::{Read, effect::Effect};
use crate::domain::outcome::Submitted;
use crate::domain::{Status, Task, TaskId};

fn on(id: i64) -> Cursor {
    Cursor::On { id: TaskId(id) }
}

fn with_more(tasks: impl IntoIterator<Item = Task>) -> crate::domain::observed::Page {
    let mut page = page(tasks);
    page.next_before = page.rows.last().map(crate::domain::observed::Listed::id);
    page
}

#[test]
fn new_rows_come_in_without_moving_the_row_under_the_cursor() {
    let mut console = Console::with(page((1..=50).map(task)));
    console.press("down down down");
    assert_eq!(console.state.list.cursor, on(47));
    let line = console.state.list.cursor_position().expect("on a row") - console.state.list.offset;
    console.load(page((1..=60).map(task)));
    assert_eq!(console.state.list.cursor, on(47));
    assert_eq!(console.state.list.cursor_position().expect("on a row") - console.state.list.offset, line);
    assert_eq!(console.state.list.offset, 10);
}

#[test]
fn a_cursor_that_nobody_placed_lets_new_rows_in_and_never_jumps_to_another_row() {
    let mut console = Console::with(page((1..=5).map(task)));
    assert_eq!(console.state.list.cursor, on(5));
    console.load(page((1..=8).map(task)));
    assert_eq!((console.state.list.cursor, console.state.list.offset), (on(5), 0));
    console.load(page((1..=80).map(task)));
    assert_eq!((console.state.list.cursor, console.state.list.offset), (Cursor::None, 0));
    assert_eq!(console.press("c"), []);
    assert!(console.notice().contains("no row is chosen"), "{}", console.notice());
    console.press("down");
    assert_eq!(console.state.list.cursor, on(80));
}

#[test]
fn a_row_that_leaves_the_list_takes_the_cursor_with_it() {
    let mut console = Console::with(page((1..=5).map(task)));
    console.press("down");
    console.load(page([1, 2, 3, 5].map(task)));
    assert_eq!(console.state.list.cursor, Cursor::Gone { id: TaskId(4), at: 1 });
    assert!(console.state.list.under_cursor().is_none());
    for key in ["c", "x", "enter", "y"] {
        assert_eq!(console.press(key), [], "{key}");
        assert!(console.state.overlays.is_empty() && console.state.list.marks.is_empty());
        assert!(console.notice().contains("4 is not in this list any more"), "{}", console.notice());
    }
    // The cursor stands between two rows: down is the one below, up the one above.
    let mut up = Console { state: console.state.clone(), ..console };
    up.press("up");
    assert_eq!(up.state.list.cursor, on(5));
    console.press("down");
    assert_eq!(console.state.list.cursor, on(3));
    // And where it comes back, so does the cursor.
    up.press("down");
    assert_eq!(up.state.list.cursor, on(3));
}

#[test]
fn a_row_that_newer_rows_push_out_of_what_is_loaded_is_read_on_not_lost() {
    let mut console = Console::with(with_more((1..=100).map(task)));
    console.press("down");
    let (cursor, generation) = (console.state.list.cursor, console.state.list.generation);
    let effects = console.load(with_more((101..=200).map(task)));
    assert_eq!(console.state.list.cursor, cursor);
    let [Read::List { limit, generation: asked, .. }] = reads(&effects)[..] else { panic!("{effects:?}") };
    assert_eq!((*limit, *asked), (2 * PAGE, generation + 1));
    assert_eq!(console.state.list.rows.len(), 100, "what was shown stays until then");
    // However fast they come, a list that begins at the row is reached in the end.
    for round in 3..20 {
        console.load(with_more((round * 1000..round * 1000 + 500).map(task)));
    }
    assert_eq!(console.state.list.limit, MOST);
    assert_eq!(console.state.list.before, Some(TaskId(100)));
    console.load(with_more((1..=99).map(task)));
    assert_eq!(console.state.list.cursor, cursor);
    console.press("g");
    assert_eq!(console.state.list.before, None);
}

#[test]
fn more_is_loaded_near_the_end_and_an_earlier_answer_is_dropped() {
    let mut console = Console::with(with_more((101..=200).map(task)));
    let generation = console.state.list.generation;
    console.press("G");
    assert_eq!(console.state.list.limit, 2 * PAGE);
    console.send(Message::ListLoaded { generation, page: page([task(7)]) });
    assert_eq!(console.state.list.rows.len(), 100);
    console.load(page((1..=200).map(task)));
    assert_eq!(console.state.list.rows.len(), 200);
    assert_eq!(console.state.list.cursor, on(101));
}

#[test]
fn a_search_that_stopped_early_goes_on_when_asked() {
    let mut console = Console::new();
    console.send(Message::Tick);
    let mut short = page([]);
    short.next_before = Some(TaskId(5_000));
    console.load(short);
    console.press("down");
    assert_eq!(console.state.list.before, Some(TaskId(5_000)));
    assert!(console.notice().contains("looking further"));
}

#[test]
fn a_bare_number_goes_to_that_task_even_where_the_list_does_not_show_it() {
    let mut console = Console::with(page((1..=5).map(task)));
    console.press("/ 3 enter");
    assert_eq!((console.state.list.cursor, console.state.pane), (on(3), Pane::Detail));
    console.press("esc / 7 7 enter");
    assert_eq!(console.state.detail.target, Some(TaskId(77)));
    assert_eq!(console.state.detail.follows, Follows::Number);
    assert_eq!(console.press("c"), []);
    assert!(console.notice().contains("77 has not been read"), "{}", console.notice());
    console.press("esc");
    assert_eq!(console.state.detail.target, Some(TaskId(3)));
    assert_eq!(console.state.pane, Pane::List);
}

#[test]
fn marks_are_by_task_and_end_with_their_list() {
    let mut console = Console::with(page((1..=5).map(task)));
    console.press("x space");
    assert_eq!(console.state.list.marks.keys().map(|id| id.0).collect::<Vec<_>>(), [4, 5]);
    assert_eq!(console.state.list.cursor, on(3));
    console.press("k x");
    assert_eq!(console.state.list.marks.len(), 1, "a second mark takes it away");
    console.press("A");
    assert_eq!(console.notice(), "5 marked; these are all that match");
    console.press("f 5 enter");
    assert_eq!(console.state.list.filter.statuses, [Status::Failed]);
    assert!(console.state.list.marks.is_empty() && console.notice().contains("5 marks cleared"));
    assert!(console.state.list.rows.is_empty(), "rows of another filter are not shown as these");
}

#[test]
fn mark_all_loads_what_matches_and_marks_all_of_it_where_that_is_too_much() {
    let mut console = Console::with(with_more((901..=1000).map(task)));
    console.press("A");
    assert!(console.notice().starts_with("100 marked; more match, loading"), "{}", console.notice());
    assert_eq!(console.state.list.limit, MOST);
    console.load(page((701..=1000).map(task)));
    assert_eq!(console.notice(), "300 marked; these are all that match");
    // What comes in later is not marked by itself.
    console.load(page((701..=1001).map(task)));
    assert_eq!(console.state.list.marks.len(), 300);

    let mut console = Console::with(with_more((901..=1000).map(task)));
    console.press("A");
    console.load(with_more((501..=1000).map(task)));
    assert!(console.notice().starts_with("all that match are marked"), "{}", console.notice());
    assert!(console.state.list.marks.is_empty() && console.state.list.all.is_some());

    let mut console = Console::with(with_more((901..=1000).map(task)));
    console.press("A esc");
    console.load(page((701..=1000).map(task)));
    assert!(console.state.list.marks.is_empty(), "taken back before it arrived");
}

#[test]
fn a_list_that_is_not_drawn_keeps_its_place() {
    let mut console = Console::with(page((1..=50).map(task)));
    console.press("pgdn down enter");
    let (cursor, offset) = (console.state.list.cursor, console.state.list.offset);
    let hidden =
        Viewport { list_rows: 0, detail_rows: 9, detail_lines: 40, overlay_rows: 0, overlay_lines: 0 };
    console.send(Message::Viewport(hidden));
    console.state.needs_draw = false;
    console.send(Message::Viewport(hidden));
    assert!(!console.state.needs_draw, "a frame that tells what is known already is the last one");
    console.load(page((1..=50).map(task)));
    assert_eq!((console.state.list.cursor, console.state.list.offset), (cursor, offset));
}

#[test]
fn esc_steps_back_in_order_and_never_quits() {
    let mut console = Console::with(page((1..=5).map(task)));
    console.press("f 1 enter");
    console.load(page((1..=5).map(task)));
    console.press("x enter ?");
    let mut effects = Vec::new();
    effects.extend(console.press("esc"));
    assert!(console.state.overlays.is_empty() && console.state.pane == Pane::Detail);
    effects.extend(console.press("esc"));
    assert!(console.state.pane == Pane::List && console.state.list.is_filtered());
    // Leaving the filter clears its marks too: they belong to its list.
    effects.extend(console.press("esc"));
    assert!(!console.state.list.is_filtered());
    console.load(page((1..=5).map(task)));
    console.press("x");
    effects.extend(console.press("esc"));
    assert!(console.state.list.marks.is_empty());
    effects.extend(console.press("esc esc esc"));
    assert_eq!(effects, Vec::<Effect>::new());
    assert!(console.notice().contains("nothing to step back from"));
}

#[test]
fn after_going_to_the_newest_new_rows_come_in_above_as_long_as_there_is_room() {
    let mut console = Console::with(page((1..=50).map(task)));
    console.press("down down g");
    assert_eq!((console.state.list.cursor, console.state.list.offset), (on(50), 0));
    console.load(page((1..=53).map(task)));
    assert_eq!((console.state.list.cursor, console.state.list.offset), (on(50), 0));
    // No room for more: the row stays, on the last line.
    console.load(page((1..=90).map(task)));
    let lines = console.state.viewport.list_rows;
    assert_eq!((console.state.list.cursor, console.state.list.offset), (on(50), 41 - lines));
    assert_eq!(console.state.list.hidden_above(), Some(41 - lines));
    // Moved again, it keeps its line.
    console.press("up");
    console.load(page((1..=91).map(task)));
    assert_eq!((console.state.list.cursor, console.state.list.offset), (on(51), 42 - lines));
}

#[test]
fn a_submit_says_how_to_see_the_task_where_it_is_not_in_view() {
    let submitted = |console: &mut Console, id: i64| {
        let effects = console.press("n x ctrl-s");
        let [Effect::Submit { request, .. }] = effects[..] else { panic!("{effects:?}") };
        let submitted = Submitted { task: task(id), created: true, resolved_from_unknown: false };
        console.send(Message::Submitted { request, result: Ok(Box::new(submitted)) });
        console.notice().to_owned()
    };
    let mut console = Console::with(page((1..=50).map(task)));
    assert_eq!(submitted(&mut console, 51), "submitted 51, QUEUED");
    console.load(page((1..=51).map(task)));
    console.press("down");
    assert_eq!(submitted(&mut console, 52), "submitted 52, QUEUED; g shows it");
    console.load(page((1..=52).map(task)));
    assert_eq!(console.state.list.hidden_above(), Some(1));
    console.press("g");
    assert_eq!(submitted(&mut console, 53), "submitted 53, QUEUED");
    console.press("f 5 enter");
    assert_eq!(submitted(&mut console, 54), "submitted 54, QUEUED; the filter hides it");
}

#[test]
fn what_was_said_about_marks_ends_with_them_and_with_the_screen() {
    for (key, after) in [("esc", ""), ("2", ""), ("space", ""), ("?", "5 marked; these are all that match")] {
        let mut console = Console::with(page((1..=5).map(task)));
        console.press(&format!("A {key}"));
        assert_eq!(console.notice(), after, "{key}");
    }
}

#[test]
fn a_task_that_was_looked_up_to_be_decided_is_called_found_only_once_it_is() {
    let looked_up = || {
        let mut console = Console::with(page((1..=5).map(task)));
        console.press(": c a n c e l space 9 9 enter");
        assert_eq!(console.notice(), "99 was not on screen; looking it up…");
        console
    };
    let loaded = |console: &mut Console, found| {
        console.send(Message::DetailLoaded { id: TaskId(99), read_at: clock(0), found });
        console.notice().to_owned()
    };
    assert_eq!(
        loaded(&mut looked_up(), None),
        "there is no task 99: the database has no such row; nothing to cancel"
    );
    let found = Some(history(task(99)));
    let here = "99 was not on screen; here it is. Look at it, then cancel it";
    assert_eq!(loaded(&mut looked_up(), found.clone()), here);
    // Whoever looks at something else meanwhile is told nothing.
    let mut console = looked_up();
    console.press("esc down");
    assert!(!loaded(&mut console, found).contains("here it is"));
}
