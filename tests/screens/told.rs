//! What a screen says beside its rows.

use taskdeck::app::Message;
use taskdeck::domain::Status;
use taskdeck::domain::observed::{Listed, Overview};
use taskdeck::domain::outbox::OutboxTally;
use taskdeck::ui::{Charset, Look, Theme};

use crate::fixtures::{health, instances, local, overview, rows, task};
use crate::world::{HERE, World, instance, plain, text_of};

fn screen(world: &World, look: &Look, width: u16, height: u16) -> Vec<String> {
    text_of(&world.draw(look, width, height).0).lines().map(str::to_owned).collect()
}

fn ascii() -> Look {
    Look { theme: Theme::plain(), glyphs: Charset::Ascii.glyphs() }
}

fn with_newer(count: i64) -> Vec<Listed> {
    let new = (48_220..48_220 + count).rev().map(|id| task(id, Status::Queued, 0, "default", "new"));
    new.map(|task| Listed::Task(Box::new(task))).chain(rows()).collect()
}

#[test]
fn newer_rows_above_the_first_visible_one_are_told() {
    let mut world = World::busy();
    world.size(80, 24).press("j").list(with_newer(3));
    let titles = &screen(&world, &plain(), 80, 24)[3];
    assert!(titles.contains("STATE") && titles.ends_with("↑ 3 newer (g)"), "{titles}");
    let titles = &screen(&world, &ascii(), 80, 24)[3];
    assert!(titles.ends_with("^ 3 newer (g)"), "{titles}");
    world.press("g");
    let titles = &screen(&world, &plain(), 80, 24)[3];
    assert!(!titles.contains("newer"), "{titles}");
}

/// The lines of the detail pane alone, as they stand on a screen of this height.
fn pane(world: &mut World, height: u16) -> Vec<String> {
    world.size(80, height);
    let (_, drawn) = world.draw(&plain(), 80, height);
    world.send(Message::Viewport(drawn.viewport));
    let lines = screen(world, &plain(), 80, height);
    lines[3..usize::from(height) - 2].iter().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn more_lines_are_told_only_where_text_is_hidden_and_on_a_line_of_their_own() {
    let mut world = World::busy();
    world.on(48_213);
    world.press("enter");
    let whole = pane(&mut world, 50);
    let read = whole.iter().position(|line| line.starts_with("read ")).expect("when it was read");
    let text = read - 1;
    let told: Vec<&String> = whole[..text].iter().filter(|line| !line.is_empty()).collect();
    for height in 14..50 {
        let seen = pane(&mut world, height);
        let said = seen.iter().filter(|line| line.contains("more line")).count();
        let shown: Vec<&String> =
            seen.iter().filter(|line| !line.is_empty() && !line.starts_with("read ")).collect();
        if seen.len() >= text {
            assert_eq!((said, shown), (0, told.clone()), "{height}");
            continue;
        }
        let hidden = told.len() - (shown.len() - 1);
        let more = if hidden == 1 { "1 more line".to_owned() } else { format!("{hidden} more lines") };
        assert_eq!(seen.last(), Some(&more), "{height}");
    }
}

#[test]
fn without_utf8_no_cell_holds_more_than_one_sign() {
    for (name, scene) in crate::scenes::SCENES {
        let (buffer, _) = scene().draw(&ascii(), 120, 40);
        assert!(buffer.content.iter().all(|cell| cell.symbol().len() == 1), "{name}");
    }
    let mut world = World::busy();
    world.press("?");
    world.size(120, 100);
    let help = screen(&world, &ascii(), 120, 100).join("\n");
    assert!(help.contains("[ID...]") && !help.contains("[ID>]"), "{help}");
}

#[test]
fn this_process_stands_first_among_the_instances_with_its_slots_as_they_are() {
    let mut world = World::busy();
    world.press("2");
    let mut read = instances();
    read.reverse();
    read.iter_mut().filter(|one| one.id == instance(HERE)).for_each(|one| one.running = 0);
    world.send(Message::InstancesLoaded(read));
    let lines = screen(&world, &plain(), 120, 40);
    let at = |name: &str| lines.iter().position(|line| line.contains(name)).expect(name);
    assert!(at(" > here") < at("web2:991") && at("web2:991") < at("web1:873"), "{lines:#?}");
    assert!(lines[at(" > here")].contains(" 3/4"), "{lines:#?}");
    assert!(lines.last().expect("a footer").contains("d drain"), "{lines:#?}");
    // The row of the database is drawn once more with what this process knows later.
    let mut workers = local();
    workers.running.clear();
    world.send(Message::Local(workers));
    let lines = screen(&world, &plain(), 120, 40);
    assert!(lines[at(" > here")].contains(" 0/4"), "{lines:#?}");
}

#[test]
fn this_process_is_found_among_instances_that_were_read_before_it_told_who_it_is() {
    let mut world = World::blank();
    world.press("2");
    let mut read = instances();
    read.reverse();
    world.send(Message::InstancesLoaded(read)).send(Message::Local(local()));
    assert!(screen(&world, &plain(), 120, 40).iter().any(|line| line.starts_with(" > here")));
}

#[test]
fn a_shutdown_question_says_what_becomes_of_the_rows_and_when_nothing_is_left() {
    let mut world = World::busy();
    world.press("q");
    let text = screen(&world, &plain(), 80, 24).join("\n");
    assert!(text.contains("they end CANCELED; requeue brings them back"), "{text}");
    let mut workers = local();
    workers.running.clear();
    workers.buffered = 0;
    world.send(Message::Local(workers));
    let text = screen(&world, &plain(), 80, 24).join("\n");
    assert!(text.contains("q or Enter: end now") && !text.contains("drain:"), "{text}");
}

#[test]
fn a_question_about_mixed_marks_shows_what_acts_first_on_a_line_each() {
    let mut world = World::busy();
    let final_ones = (48_300..48_330).map(|id| task(id, Status::Succeeded, 2, "default", "done"));
    let all = final_ones.rev().map(|task| Listed::Task(Box::new(task))).chain(rows()).collect();
    world.size(80, 24).whole_list(all);
    world.press("A c");
    let lines = screen(&world, &plain(), 80, 24);
    let text = lines.join("\n");
    for acting in ["48210  SUBMITTED", "48217  RUNNING", "48219  QUEUED"] {
        assert!(text.contains(acting), "{acting}: {text}");
    }
    assert!(text.contains("will be asked to stop; RUNNING until then"), "{text}");
    let at = |what: &str| lines.iter().position(|line| line.contains(what)).expect(what);
    assert!(at("48219  QUEUED     v0") < at("stand in the way; nothing will be sent:"), "{text}");
    assert!(at("cancel is not for") < at("… and "), "{text}");
    assert!(at("… and ") < at("reason: none given") && text.contains("y cancel them"), "{text}");
}

#[test]
fn the_input_gets_what_the_words_before_it_do_not_need() {
    let input = |world: &World| {
        let titles = screen(world, &plain(), 120, 40)[3].clone();
        let (from, to) = (titles.find("INPUT").expect("INPUT"), titles.find('│').expect("a pane"));
        assert!(titles.contains("STATE") && titles.contains("WORKER"), "{titles}");
        to - from
    };
    let mut world = World::busy();
    world.size(120, 40);
    assert!(input(&world) >= 30, "{}", input(&world));
    assert!(screen(&world, &plain(), 120, 40).join("\n").contains("RUNNING canceling "));
    let quiet = (1..9).rev().map(|id| Listed::Task(Box::new(task(id, Status::Succeeded, 2, "a", "x"))));
    world.list(quiet.collect());
    assert!(input(&world) >= 30, "{}", input(&world));
}

/// What waits to be told stands on screen 3, only while something does, and made harmless.
#[test]
fn what_waits_to_be_told_stands_with_the_database() {
    let mut world = World::busy();
    world.press("3").send(Message::HealthLoaded(Box::new(health())));
    assert!(!screen(&world, &plain(), 120, 40).join("\n").contains("OUTBOX"));
    let error = "exit 1: no such host\u{1b}[31m\nand more".to_owned();
    let mut tally = OutboxTally { waiting: 3, failing: 1, oldest_ms: 12_400, error: Some(error) };
    world.send(Message::OverviewLoaded(Overview { outbox: Some(tally.clone()), ..overview(40.0) }));
    let lines = screen(&world, &plain(), 120, 40);
    let line = lines.iter().find(|line| line.contains("OUTBOX")).expect("a line");
    assert!(line.contains("OUTBOX  3 wait, oldest 12 s, 1 failing: exit 1: no such host\\e[31m"), "{line}");
    assert!(!lines.join("\n").contains("and more"), "the first line of what it said");
    tally = OutboxTally { waiting: OutboxTally::COUNTED, failing: 0, ..tally };
    world.send(Message::OverviewLoaded(Overview { outbox: Some(tally), ..overview(40.0) }));
    let lines = screen(&world, &plain(), 120, 40).join("\n");
    assert!(lines.contains("OUTBOX  10,000+ wait, oldest 12 s") && !lines.contains("failing"), "{lines}");
}
