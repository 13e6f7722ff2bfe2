//! Visits every state that can be reached, breadth first, so that a counter-example is as short as any.
//!
//! A search of our own and not a model checker from a registry: "no task is ever lost" is a statement about what can
//! *still* be reached from each state, for which the whole graph must be kept and walked backwards; such a checker
//! has always, sometimes and eventually, but not that. What remains is this file.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};

use crate::act::Act;
use crate::guards::Guards;
use crate::properties::{Property, Sight, all_ended, broken, sights};
use crate::world::World;

/// The most states that a search visits before it is taken for unbounded.
const MOST: usize = 3_000_000;

/// What a search found.
pub(crate) struct Found {
    /// How many states there are.
    pub(crate) states: usize,
    /// How many steps between them.
    pub(crate) steps: usize,
    /// What was seen on the way.
    pub(crate) sights: HashSet<Sight>,
    /// What breaks first, and the steps to it.
    pub(crate) broken: Option<(Property, Vec<String>)>,
}

/// Visits everything from `start`, or until something breaks that `regardless` does not list.
pub(crate) fn explore(start: World, guards: Guards, regardless: &[Property]) -> Found {
    let tasks = u8::try_from(start.tables.tasks.iter().flatten().count()).expect("few");
    let acts = Act::all(tasks, start.budget.submits);
    let mut graph = Graph::default();
    graph.visit(start, None);
    let mut found = Found { states: 0, steps: 0, sights: HashSet::new(), broken: None };
    let mut at = 0;
    while at < graph.worlds.len() {
        let world = graph.worlds[at];
        for act in &acts {
            let Some(next) = world.after(*act, guards) else { continue };
            found.steps += 1;
            let recovered = graph.recovered[at] | recovers(&world, *act, &next);
            sights(&world, *act, &next, |sight| {
                let finished = matches!(act, Act::Finishes { task, .. } if recovered & (1 << task) != 0);
                if sight == Sight::Succeeded && finished {
                    found.sights.insert(Sight::SucceededAfterRecovery);
                }
                found.sights.insert(sight);
            });
            let breaks = broken(&world, *act, &next).filter(|it| !regardless.contains(it));
            let to = graph.visit(next.settled(), Some((at, *act)));
            graph.recovered[to] |= recovered;
            if !world.is_rationed(&next) {
                graph.free_steps.push((at, to));
            }
            if let Some(property) = breaks {
                let mut path = graph.path(at);
                path.push(world.told(*act));
                found.broken = Some((property, path));
                found.states = graph.worlds.len();
                return found;
            }
        }
        at += 1;
        assert!(graph.worlds.len() < MOST, "more than {MOST} states");
    }
    found.states = graph.worlds.len();
    if !regardless.contains(&Property::I6NoLostTask) {
        found.broken = graph.dead_end().map(|at| (Property::I6NoLostTask, graph.path(at)));
    }
    found
}

/// The tasks that `act` takes back, one bit each.
fn recovers(before: &World, act: Act, after: &World) -> u8 {
    let task = match act {
        Act::Recovers { task } => task,
        Act::EndsRecovery if before.tables != after.tables => before.recovery.map_or(0, |seen| seen.task),
        _ => return 0,
    };
    1 << task
}

#[derive(Default)]
struct Graph {
    worlds: Vec<World>,
    /// Whence each was reached first.
    from: Vec<Option<(usize, Act)>>,
    /// The tasks (one bit each) of which a recovery is known on some way to it.
    recovered: Vec<u8>,
    /// The steps that are always allowed.
    free_steps: Vec<(usize, usize)>,
    places: Places,
}

impl Graph {
    fn visit(&mut self, world: World, from: Option<(usize, Act)>) -> usize {
        let (place, known) = self.places.of(&world, &self.worlds);
        if !known {
            self.worlds.push(world);
            self.from.push(from);
            self.recovered.push(0);
        }
        place
    }

    fn path(&self, mut at: usize) -> Vec<String> {
        let mut path = Vec::new();
        while let Some((from, act)) = self.from[at] {
            path.push(self.worlds[from].told(act));
            at = from;
        }
        path.reverse();
        path
    }

    /// The first state from which no free steps lead to the end of every task.
    fn dead_end(&self) -> Option<usize> {
        let mut starts = vec![0_usize; self.worlds.len() + 1];
        for (_, to) in &self.free_steps {
            starts[to + 1] += 1;
        }
        for at in 0..self.worlds.len() {
            starts[at + 1] += starts[at];
        }
        let (mut sources, mut filled) = (vec![0; self.free_steps.len()], starts.clone());
        for (from, to) in &self.free_steps {
            sources[filled[*to]] = *from;
            filled[*to] += 1;
        }
        let mut can_end: Vec<bool> = self.worlds.iter().map(all_ended).collect();
        let mut todo: Vec<usize> = (0..can_end.len()).filter(|at| can_end[*at]).collect();
        while let Some(at) = todo.pop() {
            for from in &sources[starts[at]..starts[at + 1]] {
                if !std::mem::replace(&mut can_end[*from], true) {
                    todo.push(*from);
                }
            }
        }
        can_end.iter().position(|can| !can)
    }
}

/// Where each state stands in the list: a table of places, so that no state is kept twice.
#[derive(Default)]
struct Places {
    slots: Vec<u32>,
    used: usize,
}

impl Places {
    const FREE: u32 = u32::MAX;

    /// The place of `world`, and whether it has one already.
    fn of(&mut self, world: &World, worlds: &[World]) -> (usize, bool) {
        if self.used * 2 >= self.slots.len() {
            self.grow(worlds);
        }
        let slot = self.slot(world, worlds);
        if self.slots[slot] != Self::FREE {
            return (self.slots[slot] as usize, true);
        }
        self.slots[slot] = u32::try_from(worlds.len()).expect("fewer than the most");
        self.used += 1;
        (worlds.len(), false)
    }

    fn slot(&self, world: &World, worlds: &[World]) -> usize {
        let mut hash = Mix(0);
        world.hash(&mut hash);
        let mask = self.slots.len() - 1;
        let mut slot = usize::try_from(hash.finish() >> 20).expect("64 bits") & mask;
        while self.slots[slot] != Self::FREE && worlds[self.slots[slot] as usize] != *world {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self, worlds: &[World]) {
        self.slots = vec![Self::FREE; (self.slots.len() * 2).max(1 << 12)];
        for (place, world) in (0_u32..).zip(worlds) {
            let slot = self.slot(world, worlds);
            self.slots[slot] = place;
        }
    }
}

/// A quick hash; equal hashes are compared in full.
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u8(*byte);
        }
    }

    fn write_u8(&mut self, byte: u8) {
        self.0 = (self.0.rotate_left(5) ^ u64::from(byte)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn write_isize(&mut self, number: isize) {
        self.0 = (self.0.rotate_left(5) ^ number.unsigned_abs() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}
