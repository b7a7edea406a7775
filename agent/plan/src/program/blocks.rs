//! Synchronized blocks.

use std::collections::HashSet;

use super::Why;
use tyrion_bytecode::{Code, Handler, Instruction, Pc, opcode};

/// The synchronized blocks of a method.
///
/// A compiler makes this of `synchronized (lock) { … }`, and the probes go where the comments are:
///
/// ```text
///     aload_0; getfield lock
///     dup; astore_1              // before (if wanted); dup
///     monitorenter               // entered
///  A: …
///     aload_1                    // exiting
///     monitorexit
///  B: goto D
///  C: astore_2                   // in front of it: aload_1, exiting
///     aload_1; monitorexit
///     aload_2; athrow
///  D: …
/// ```
///
/// Any probe may throw: `StackOverflowError` when it is called, in the eyes of HotSpot's compilers
/// anything. They do not compile a method in which an exception can escape a held monitor, so each
/// probe must be covered by the handler at C: those in the block are, because javac covers A to B.
/// It also covers C itself, up to behind the `monitorexit`. A probe there that throws each time,
/// because the stack is full, would go round for ever, so that one is a probe of the handler (see
/// `MethodPlan::in_handler`), which goes on to release the monitor whatever becomes of it.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    pub(super) enters: Vec<Enter>,
    pub(super) exits: Vec<BlockExit>,
}

/// A `monitorenter`.
#[derive(Debug)]
pub(super) struct Enter {
    pub(super) pc: Pc,
    /// The local that keeps the object until the end of the block.
    slot: Option<u16>,
}

/// A `monitorexit`.
#[derive(Debug)]
pub(super) struct BlockExit {
    pub(super) pc: Pc,
    /// The `monitorenter` that it belongs to, where that can be told.
    pub(super) enter: Option<Pc>,
    pub(super) form: ExitForm,
}

/// How the probe of an exit is to be made.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ExitForm {
    /// In front of the `monitorexit`.
    Plain,
    /// In the handler that consists of it.
    Handler {
        /// Where the handler starts.
        handler: Pc,
        /// The local that keeps the object.
        slot: u16,
    },
    /// In front of the `monitorexit`, where no handler of the block's looks after it: Kotlin's
    /// compiler and the first ones of Java leave it out. The handler of the block is put in charge
    /// of the probe.
    Protected {
        /// Where the handler starts.
        handler: Pc,
    },
}

impl Blocks {
    /// Finds the blocks of a method, if there is a safe place for every probe.
    pub(super) fn find(code: &Code<'_, '_>, instructions: &[Instruction<'_>]) -> Result<Self, Why> {
        let is_monitor = |instruction: &Instruction<'_>| {
            matches!(instruction.opcode(), opcode::MONITORENTER | opcode::MONITOREXIT)
        };
        let mut blocks = Self::default();
        if !instructions.iter().any(is_monitor) {
            return Ok(blocks);
        }
        let flow = Flow::new(code, instructions);
        let mut unguarded = Vec::new();
        for (index, instruction) in instructions.iter().enumerate() {
            match instruction.opcode() {
                opcode::MONITORENTER => blocks.enters.push(flow.enter(index, instruction)?),
                opcode::MONITOREXIT => {
                    let (form, slot) = flow.exit(index, instruction)?;
                    let (pc, enter) = (instruction.pc(), blocks.enter_of(slot));
                    match form {
                        Some(form) => blocks.exits.push(BlockExit { pc, enter, form }),
                        None => unguarded.push((pc, enter, slot)),
                    }
                }
                _ => {}
            }
        }
        for (pc, enter, slot) in unguarded {
            let handler = blocks.handler_of(enter, slot).ok_or(Why::Unguarded(pc))?;
            blocks.exits.push(BlockExit { pc, enter, form: ExitForm::Protected { handler } });
        }
        Ok(blocks)
    }

    /// The handler of the block that starts with `enter` and keeps its object in `slot`.
    fn handler_of(&self, enter: Option<Pc>, slot: Option<u16>) -> Option<Pc> {
        let (enter, wanted) = (enter?, slot?);
        self.exits.iter().find_map(|exit| match exit.form {
            ExitForm::Handler { handler, slot } if slot == wanted && exit.enter == Some(enter) => {
                Some(handler)
            }
            _ => None,
        })
    }

    /// The last `monitorenter` so far that keeps its object in `slot`: compilers use the local of
    /// one block again for the next, but lay out a block behind its start and before the next.
    fn enter_of(&self, slot: Option<u16>) -> Option<Pc> {
        let enter = match (slot, self.enters.as_slice()) {
            (_, [only]) => Some(only),
            (Some(_), enters) => enters.iter().rfind(|enter| enter.slot == slot),
            (None, _) => None,
        };
        enter.map(|enter| enter.pc)
    }
}

/// What has to be known of how control flows in the method.
struct Flow<'i, 'a> {
    instructions: &'i [Instruction<'a>],
    /// The exception table.
    handlers: Vec<Handler>,
    /// Where jumps lead.
    targets: HashSet<i64>,
}

impl<'i, 'a> Flow<'i, 'a> {
    fn new(code: &Code<'_, '_>, instructions: &'i [Instruction<'a>]) -> Self {
        let targets = instructions.iter().flat_map(Instruction::targets).collect();
        Self { instructions, handlers: code.exception_table().collect(), targets }
    }

    /// The instruction so many places in front of another.
    fn back(&self, index: usize, by: usize) -> Option<&'i Instruction<'a>> {
        self.instructions.get(index.checked_sub(by)?)
    }

    fn enter(&self, index: usize, instruction: &Instruction<'_>) -> Result<Enter, Why> {
        let pc = instruction.pc();
        // The handler of the block starts to cover behind the `monitorenter`. One that covers this
        // as well is another block's, or does not know that the monitor is held.
        match self.catch_all(instruction.next_pc()) {
            Some(handler) if !covers(handler, pc) => {}
            _ => return Err(Why::Unguarded(pc)),
        }
        let previous = self.back(index, 1);
        let slot = previous.and_then(|previous| {
            previous.stored_reference().or_else(|| previous.loaded_reference())
        });
        Ok(Enter { pc, slot })
    }

    /// The form of an exit, unless no handler guards it, and the local it loads the object from.
    fn exit(
        &self,
        index: usize,
        instruction: &Instruction<'_>,
    ) -> Result<(Option<ExitForm>, Option<u16>), Why> {
        let pc = instruction.pc();
        let load = self.back(index, 1);
        let slot = load.and_then(Instruction::loaded_reference);
        if let (Some(load), Some(slot)) = (load, slot) {
            if self.only_a_handler(load.pc()) {
                let form = ExitForm::Handler { handler: load.pc(), slot };
                return Ok((Some(form), Some(slot)));
            }
            if let Some(store) = self.back(index, 2)
                && store.stored_reference().is_some_and(|stored| stored != slot)
                && self.only_a_handler(store.pc())
                && !self.is_led_to(load.pc())
            {
                let form = ExitForm::Handler { handler: store.pc(), slot };
                return Ok((Some(form), Some(slot)));
            }
        }
        match self.catch_all(pc) {
            // One that still covers what follows is there for what happens without the monitor.
            Some(handler) if !covers(handler, instruction.next_pc()) => {
                if self.runs_straight(handler.handler, index) {
                    return Err(Why::UnknownHandler(pc));
                }
                Ok((Some(ExitForm::Plain), slot))
            }
            _ => Ok((None, slot)),
        }
    }

    /// The handler that gets whatever is thrown at `pc` and that no other handler takes.
    fn catch_all(&self, pc: Pc) -> Option<&Handler> {
        self.handlers.iter().find(|handler| handler.catch_type == 0 && covers(handler, pc))
    }

    /// Whether a handler starts at `pc` that catches everything, and nothing else leads there.
    fn only_a_handler(&self, pc: Pc) -> bool {
        let mut here = self.handlers.iter().filter(|handler| handler.handler == pc).peekable();
        here.peek().is_some()
            && here.all(|handler| handler.catch_type == 0)
            && !self.targets.contains(&i64::from(pc.0))
    }

    fn is_led_to(&self, pc: Pc) -> bool {
        self.targets.contains(&i64::from(pc.0))
            || self.handlers.iter().any(|handler| handler.handler == pc)
    }

    /// Whether the code runs from `start` to the instruction at `index` without a jump.
    fn runs_straight(&self, start: Pc, index: usize) -> bool {
        let from = self.instructions.partition_point(|instruction| instruction.pc() < start);
        let between = self.instructions.get(from..index).filter(|_| from <= index);
        between.is_some_and(|between| {
            between.iter().all(|one| one.falls_through() && one.targets().is_empty())
        })
    }
}

fn covers(handler: &Handler, pc: Pc) -> bool {
    (handler.start..handler.end).contains(&pc)
}
