//! The stack in which a lock was taken that is held.
//!
//! A record of nesting has the stack of the inner acquisition. An outer lock
//! was taken in a frame of the same stack, further out: that of its place's
//! method. From there outwards the stack is the one of the outer acquisition,
//! with the place's line.

use crate::findings::trace::Nesting;
use tyrion_formats::{Recording, limits::MAX_DEPTH};
use tyrion_model::describe::{Names, in_bounds};
use tyrion_wire::{
    def::id::{CUT_STACK, EMPTY_STACK},
    trace::Held,
};

/// A stack in words, innermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) frames: Vec<String>,
    /// Whether it is all there; else it is the place alone.
    pub(super) known: bool,
}

/// The stack of the inner acquisition, ending in its place.
pub(super) fn inner(log: &Recording, nesting: &Nesting) -> Words {
    let stack = Stack::of(log, nesting);
    match stack.find(nesting.nested.inner, 0) {
        Some(at) => stack.from(at, Some(nesting.nested.inner)),
        None if stack.frames.is_empty() => stack.place_alone(nesting.nested.inner),
        None => stack.from(0, None),
    }
}

/// The stack in which an outer lock was taken, by its number in the record.
pub(super) fn outer(log: &Recording, nesting: &Nesting, number: usize) -> Words {
    let stack = Stack::of(log, nesting);
    let Some(&wanted) = nesting.nested.outer.get(number) else { return Words::default() };
    // What was taken within it is further in, and was found before it.
    let mut within = nesting.nested.inner;
    let mut at = stack.find(within, 0).unwrap_or(0);
    let own = stack.is_monitor(wanted);
    let same_sort =
        nesting.nested.outer[number..].iter().filter(|held| stack.is_monitor(**held) == own);
    let mut found = None;
    for &held in same_sort.rev() {
        // One place holds two locks only in two calls of its method.
        let first = at + usize::from(held.place == within.place);
        found = stack.find(held, first);
        at = found.unwrap_or(at);
        within = held;
    }
    match found {
        Some(at) => stack.from(at, Some(wanted)),
        None => stack.place_alone(wanted),
    }
}

/// Method and line of each frame, innermost first.
struct Stack<'a> {
    log: &'a Recording,
    frames: Vec<(u32, u32)>,
    cut: bool,
}

impl Stack<'_> {
    fn of<'a>(log: &'a Recording, nesting: &Nesting) -> Stack<'a> {
        let mut frames = Vec::new();
        let mut at = nesting.nested.stack;
        while let Some(own) = log.definitions().stacks().get(at)
            && frames.len() < MAX_DEPTH as usize
        {
            frames.push((own.method, own.line));
            // Parents come before their children; any other would not end.
            at = if own.parent < at { own.parent } else { EMPTY_STACK };
        }
        Stack { log, frames, cut: at == CUT_STACK }
    }

    fn place(&self, held: Held) -> Option<(u32, u32)> {
        let place = self.log.definitions().places().get(held.place)?;
        Some((place.method, place.line))
    }

    fn is_monitor(&self, held: Held) -> bool {
        self.log.definitions().places().get(held.place).is_none_or(|place| !place.is_juc())
    }

    /// Whether two ids stand for one method.
    fn is_same_method(&self, a: u32, b: u32) -> bool {
        let methods = self.log.definitions().methods();
        let (Some(x), Some(y)) = (methods.get(a), methods.get(b)) else { return a == b };
        let text = |id| self.log.text(id);
        let class = |id| self.log.definitions().classes().get(id).map(|class| text(class.name));
        a == b
            || (text(x.name) == text(y.name)
                && text(x.descriptor) == text(y.descriptor)
                && class(x.class) == class(y.class))
    }

    /// The innermost frame of a place's method, from the `first` one outwards.
    fn find(&self, held: Held, first: usize) -> Option<usize> {
        let (method, _) = self.place(held)?;
        let mut frames = self.frames.iter().enumerate().skip(first);
        frames.find(|(_, frame)| self.is_same_method(frame.0, method)).map(|(at, _)| at)
    }

    /// The frames from one outwards, that of a place's method if it is of one.
    fn from(&self, at: usize, held: Option<Held>) -> Words {
        let names = Names(self.log);
        let mut frames =
            in_bounds(self.frames[at..].iter().map(|&(method, line)| names.frame(method, line)));
        let place = held.and_then(|held| self.place(held));
        if let (Some((method, line)), Some(innermost)) = (place, frames.first_mut())
            && line != 0
        {
            *innermost = names.frame(method, line);
        }
        if self.cut {
            frames.push(tyrion_model::profile::CUT.to_owned());
        }
        Words { frames, known: true }
    }

    fn place_alone(&self, held: Held) -> Words {
        let (method, line) = self.place(held).unwrap_or_default();
        Words { frames: vec![Names(self.log).frame(method, line)], known: false }
    }
}
