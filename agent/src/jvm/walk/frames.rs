//! The frames of the current thread, one below the other, as HotSpot itself finds them
//! (`frame::sender` in `frame_x86.cpp` and `frame.cpp`).
//!
//! The thread is in the agent, called by the JVM or as a native method, and has told the
//! JVM so: its last Java frame is noted, and all frames below stay as they are. The
//! collector may move the objects that frames refer to, which nobody looks at here; and
//! a return address may become that of the deoptimization handler, as one word. Code
//! that a frame returns to is never freed.

use super::{
    code::{Kind, Kinds},
    layout::{Layout, WORD},
    memory::read,
};

/// A frame of Java code.
#[derive(Clone, Copy)]
pub enum Frame {
    /// Of a compiled method and those that were inlined, or of what calls a native one.
    Compiled {
        /// Its `nmethod`.
        nmethod: usize,
        /// Where it goes on; perhaps with being deoptimized.
        pc: usize,
        /// Its stack pointer.
        sp: usize,
    },
    /// Of the interpreter.
    Interpreted {
        /// The method.
        method: usize,
        /// The address of the bytecode; 0 in a native method.
        bytecode: usize,
    },
}

/// The stack is not as expected: somebody else must be asked.
#[derive(Debug, PartialEq, Eq)]
pub struct Unsure;

/// Goes from frame to frame.
pub struct Frames<'a> {
    layout: &'a Layout,
    kinds: &'a Kinds,
    /// The end of the stack.
    base: usize,
    sp: usize,
    fp: usize,
    pc: usize,
    is_innermost: bool,
}

impl<'a> Frames<'a> {
    /// Those of the current thread, given by its `JNIEnv`; `None` when no Java code has
    /// called.
    ///
    /// # Safety
    /// The environment is the current thread's, and the layout is that of its JVM.
    #[inline]
    pub unsafe fn of(layout: &'a Layout, kinds: &'a Kinds, env: usize) -> Option<Frames<'a>> {
        let at = &layout.thread;
        let thread = env - at.env;
        // SAFETY: the thread is there as long as it runs, which it does.
        let (sp, fp, pc, base) = unsafe {
            let anchor = thread + at.anchor;
            let base = read::<usize>(thread + at.stack_base);
            (read(anchor + at.sp), read(anchor + at.fp), read(anchor + at.pc), base)
        };
        let mut frames = Frames { layout, kinds, base, sp, fp, pc, is_innermost: true };
        let here = (&raw const frames).addr();
        if frames.sp <= here || !frames.has(frames.sp, 0) {
            return None;
        }
        if frames.pc == 0 {
            // Where it was not noted, it lies above the last frame.
            frames.pc = frames.word(frames.sp, -1).ok()?;
        }
        Some(frames)
    }

    /// The next frame of Java code, going outward; `None` after the outermost.
    #[inline]
    pub fn next(&mut self) -> Result<Option<Frame>, Unsure> {
        loop {
            let frame = &self.layout.frame;
            if frame.interpreter.contains(&self.pc) {
                return self.interpreted().map(Some);
            }
            if self.pc == frame.call_stub {
                if !self.enter_native()? {
                    return Ok(None);
                }
                continue;
            }
            // SAFETY: the address is that of a frame of this thread.
            let blob = unsafe { self.layout.blob(self.pc) }.ok_or(Unsure)?;
            // SAFETY: the blob of this frame's code stays.
            let kind = unsafe { self.kinds.of(self.layout, blob) };
            // The JVM's own code that calls it is above all others.
            if kind == Kind::Stub && !self.is_innermost {
                return Err(Unsure);
            }
            let (pc, sp) = (self.pc, self.sp);
            self.leave(blob)?;
            if kind == Kind::Method {
                return Ok(Some(Frame::Compiled { nmethod: blob, pc, sp }));
            }
        }
    }

    /// Goes on to the frame that has called a piece of machine code.
    #[inline]
    fn leave(&mut self, blob: usize) -> Result<(), Unsure> {
        // SAFETY: the blob of this frame's code stays.
        let words = unsafe { read::<i32>(blob + self.layout.blob.frame_size) };
        let words = isize::try_from(words).map_err(|_| Unsure)?;
        // The return address, and above it the caller's frame pointer.
        if words < 2 {
            return Err(Unsure);
        }
        let sender = self.sp.wrapping_add_signed(words * WORD as isize);
        let (pc, fp) = (self.word(sender, -1)?, self.word(sender, -2)?);
        self.go_to(sender, fp, pc)
    }

    fn interpreted(&mut self) -> Result<Frame, Unsure> {
        let frame = &self.layout.frame;
        let fp = self.fp;
        if fp < self.sp {
            return Err(Unsure);
        }
        let (method, bytecode) = (self.word(fp, frame.method)?, self.word(fp, frame.bytecode)?);
        let sender = self.word(fp, frame.sender_sp)?;
        if sender <= fp || method == 0 {
            return Err(Unsure);
        }
        let (caller, pc) = (self.word(fp, 0)?, self.word(fp, 1)?);
        self.go_to(sender, caller, pc)?;
        Ok(Frame::Interpreted { method, bytecode })
    }

    /// Goes on to the frame that has left Java for the native code which called this
    /// Java code: whether there is one.
    fn enter_native(&mut self) -> Result<bool, Unsure> {
        let (frame, at) = (&self.layout.frame, &self.layout.thread);
        if self.fp < self.sp {
            return Err(Unsure);
        }
        let anchor = self.word(self.fp, frame.wrapper)?.wrapping_add(frame.wrapper_anchor);
        let word = |offset: usize| self.word(anchor.wrapping_add(offset), 0);
        let (sp, fp, mut pc) = (word(at.sp)?, word(at.fp)?, word(at.pc)?);
        if sp == 0 {
            return Ok(false);
        }
        if pc == 0 {
            pc = self.word(sp, -1)?;
        }
        self.go_to(sp, fp, pc)?;
        self.is_innermost = true;
        Ok(true)
    }

    #[inline]
    fn go_to(&mut self, sp: usize, fp: usize, pc: usize) -> Result<(), Unsure> {
        if sp <= self.sp {
            return Err(Unsure);
        }
        (self.sp, self.fp, self.pc, self.is_innermost) = (sp, fp, pc, false);
        Ok(())
    }

    /// A word of the stack, so many words from an address.
    #[inline]
    pub fn word(&self, at: usize, words: isize) -> Result<usize, Unsure> {
        let at = at.wrapping_add_signed(words * WORD as isize);
        if !self.has(at, WORD) {
            return Err(Unsure);
        }
        // SAFETY: the word is in the current thread's stack, below the frames of the
        // agent: between the last Java frame, or what is just above, and the end.
        Ok(unsafe { read(at) })
    }

    /// Whether bytes from an address on belong to the stack below the frames of the
    /// agent.
    #[inline]
    fn has(&self, at: usize, len: usize) -> bool {
        let here = (&raw const *self).addr();
        at.is_multiple_of(WORD) && at > here && at < self.base && self.base - at >= len
    }
}
