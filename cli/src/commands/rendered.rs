//! Names and stacks in words, in bounded memory: a name of 4 KiB may stand in
//! each of thousands of frames, and those in each of thousands of stacks, of
//! which a log has but a few bytes each.

use super::places::in_a_line;
use serde::{Serializer, ser::SerializeSeq};
use std::{
    cell::RefCell,
    collections::HashMap,
    hash::Hash,
    io::{self, Write},
    rc::Rc,
};
use tyrion_converters::{
    describe::{MAX_STACK_TEXT, Names, StackFrame},
    harmless,
};
use tyrion_formats::Recording;

/// At most so many bytes of text are kept of names.
const NAMES: usize = 8 << 20;
/// And of whole stacks.
const STACKS: usize = 64 << 20;
/// What an entry takes besides its text, or less.
const ENTRY: usize = 128;

/// What was rendered, as long as there is room: most names are needed again and
/// again.
pub struct Cache<K, V> {
    known: HashMap<K, Rc<V>>,
    bytes: usize,
    most: usize,
}

impl<K: Copy + Eq + Hash, V> Cache<K, V> {
    /// For names.
    pub fn new() -> Cache<K, V> {
        Cache { known: HashMap::new(), bytes: 0, most: NAMES }
    }

    /// What `make` has made of the key, now or before, and how many bytes of
    /// text that is.
    pub fn get(&mut self, key: K, make: impl FnOnce() -> (V, usize)) -> Rc<V> {
        if let Some(known) = self.known.get(&key) {
            return Rc::clone(known);
        }
        let (made, len) = make();
        if self.bytes.saturating_add(len) > self.most {
            self.known.clear();
            self.bytes = 0;
        }
        self.bytes = self.bytes.saturating_add(len + ENTRY);
        let made = Rc::new(made);
        self.known.insert(key, Rc::clone(&made));
        made
    }
}

/// The stacks of a log. Long ones are written frame by frame: none of them is
/// ever in memory as a whole.
pub struct Stacks<'a> {
    names: Names<'a>,
    frames: RefCell<Cache<StackFrame, String>>,
    /// The frames of those that are not too long.
    whole: RefCell<Cache<u32, Option<Vec<String>>>>,
}

impl<'a> Stacks<'a> {
    pub fn new(log: &'a Recording) -> Stacks<'a> {
        let whole = RefCell::new(Cache { most: STACKS, ..Cache::new() });
        Stacks { names: Names(log), frames: RefCell::new(Cache::new()), whole }
    }

    /// The frames, innermost first.
    fn frames(&self, stack: u32) -> impl Iterator<Item = Rc<String>> {
        self.names.frames(stack).map(|frame| {
            self.frames.borrow_mut().get(frame, || {
                let text = self.names.stack_frame(frame);
                let len = text.len();
                (text, len)
            })
        })
    }

    /// All of the frames, unless that is too much.
    fn whole(&self, stack: u32) -> Rc<Option<Vec<String>>> {
        self.whole.borrow_mut().get(stack, || {
            let (mut whole, mut len) = (Vec::new(), 0);
            for frame in self.frames(stack) {
                len += size_of::<String>() + frame.len();
                if len > MAX_STACK_TEXT {
                    return (None, 0);
                }
                whole.push(String::clone(&frame));
            }
            (Some(whole), len)
        })
    }

    /// Writes the frames with ` < ` between them.
    pub fn write(&self, out: &mut dyn Write, stack: u32) -> io::Result<()> {
        if let Some(frames) = &*self.whole(stack) {
            return out.write_all(in_a_line(frames).as_bytes());
        }
        for (nth, frame) in self.frames(stack).enumerate() {
            if nth != 0 {
                out.write_all(b" < ")?;
            }
            out.write_all(harmless::name(&frame).as_bytes())?;
        }
        Ok(())
    }

    /// The innermost frames, one at least and no more than `bytes` have room for,
    /// with ` < ` between them, and how many there are besides.
    pub fn beginning(&self, stack: u32, bytes: usize) -> String {
        let mut text = String::new();
        let mut frames = self.frames(stack);
        while let Some(frame) = frames.next() {
            if !text.is_empty() && text.len() + frame.len() > bytes {
                let more = frames.count() + 1;
                return format!("{text} < ... and {more} more; dump has them all");
            }
            if !text.is_empty() {
                text += " < ";
            }
            text += &harmless::name(&frame);
        }
        text
    }

    /// The frames as a list in JSON.
    pub fn serialize<S: Serializer>(&self, to: S, stack: u32) -> Result<S::Ok, S::Error> {
        match &*self.whole(stack) {
            Some(frames) => to.collect_seq(frames),
            None => {
                let mut list = to.serialize_seq(None)?;
                for frame in self.frames(stack) {
                    list.serialize_element(&*frame)?;
                }
                list.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_kept_than_there_is_room_for() {
        let mut cache: Cache<usize, ()> = Cache::new();
        let mut made = 0;
        let mut get = |key: usize| {
            cache.get(key, || {
                made += 1;
                ((), NAMES / 4)
            });
            assert!(cache.bytes <= NAMES + ENTRY, "{} bytes are kept", cache.bytes);
            (made, cache.known.len())
        };
        assert_eq!([0, 1, 2, 1, 0].map(&mut get).last(), Some(&(3, 3)));
        assert_eq!(get(3), (4, 1), "three and what they take besides are nearly four");
        assert_eq!(get(0), (5, 2));
    }
}
