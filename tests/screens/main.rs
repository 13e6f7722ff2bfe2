//! The console's pictures: every screen and dialog at several sizes, as text and as styles, and at any size
//! with any text without a panic.

mod world;

#[test]
fn show() {
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        let mut world = world::World::busy();
        world.size(width, height);
        world.on(48_213);
        println!("{}", world.picture(width, height));
        println!("{}", "=".repeat(usize::from(width)));
    }
}
