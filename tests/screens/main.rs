//! The console's pictures: every screen and dialog at several sizes, as text and as styles, and at any size
//! with any text without a panic.

mod world;

#[test]
fn show() {
    use taskdeck::app::Message;
    use world::*;
    for (width, height) in [(80, 24), (120, 24)] {
        let mut show = |name: &str, keys: &str| {
            let mut world = World::busy();
            world.size(width, height);
            world.on(48_217);
            world.press(keys);
            world.send(Message::InstancesLoaded(instances()));
            world.send(Message::HealthLoaded(Box::new(health())));
            world.send(Message::FiguresLoaded { pools: pools(), statements: statements() });
            if name == "lost" {
                world.lose();
            }
            println!("{name}\n{}", world.picture(width, height));
            println!("{}", "=".repeat(usize::from(width)));
        };
        for (name, keys) in [
            ("tasks", ""),
            ("lost", ""),
            ("workers", "2"),
            ("database", "3"),
            ("log", "5"),
            ("cancel", "c"),
            ("cancel3", "space space space c"),
            ("help", "?"),
            ("new", "n a b enter c"),
            ("filter", "f space j"),
            ("command", ": r"),
            ("quit", "q"),
            ("drain", "q d"),
            ("input", "enter"),
            ("tenant", "t a"),
        ] {
            show(name, keys);
        }
    }
}
