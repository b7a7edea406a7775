//! Names and stacks in words, in bounded memory: a name of 4 KiB may stand in
//! each of thousands of frames, and those in each of thousands of stacks, of
//! which a log has but a few bytes each.

use super::{cache::Cache, lock_names::in_a_line};
use serde::{Serializer, ser::SerializeSeq};
use std::{
    cell::RefCell,
    io::{self, Write},
    rc::Rc,
};
use tyrion_formats::Recording;
use tyrion_model::{
    describe::{MAX_STACK_TEXT, Names, StackFrame},
    harmless,
};

/// How many bytes of text are kept of whole stacks, at most.
const STACKS: usize = 64 << 20;

/// The stacks of a log. Long ones are written frame by frame: none of them is
/// ever in memory as a whole.
pub struct StackList<'a> {
    names: Names<'a>,
    frames: RefCell<Cache<StackFrame, String>>,
    /// The frames of those that are not too long.
    whole: RefCell<Cache<u32, Option<Vec<String>>>>,
}

impl<'a> StackList<'a> {
    pub fn new(log: &'a Recording) -> StackList<'a> {
        let whole = RefCell::new(Cache::of(STACKS));
        StackList { names: Names(log), frames: RefCell::new(Cache::new()), whole }
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
