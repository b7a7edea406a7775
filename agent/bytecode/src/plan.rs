use core::fmt;
use std::borrow::Cow;

use crate::ClassError;

/// The place of an instruction in a method's code, in bytes from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pc(pub u16);

impl fmt::Display for Pc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A static method or a field that probes use. The owner must be a class, not an interface.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Member {
    /// Internal name of the class: `java/lang/System`.
    pub owner: Cow<'static, str>,
    /// Name of the member.
    pub name: Cow<'static, str>,
    /// Its descriptor.
    pub descriptor: Cow<'static, str>,
}

impl Member {
    /// Names a member that is known when the agent is compiled.
    pub const fn new(owner: &'static str, name: &'static str, descriptor: &'static str) -> Self {
        Self {
            owner: Cow::Borrowed(owner),
            name: Cow::Borrowed(name),
            descriptor: Cow::Borrowed(descriptor),
        }
    }
}

/// An instruction of a probe.
///
/// None of them jumps and none writes a local variable: that is what lets a probe stand anywhere
/// without changing the stack maps around it. A sequence of them must leave the stack as high as
/// it found it.
///
/// Locals are those of the probed method. Only a parameter (slot 0 is `this` in an instance
/// method) can be read, and only if the method never writes its slot: see
/// [`Reason::LocalNotReadable`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Op {
    /// Pushes the reference in a parameter's slot.
    Aload(u16),
    /// Pushes the `int` (or `boolean`, `byte`, `char`, `short`) in a parameter's slot.
    Iload(u16),
    /// Pushes the `long` in a parameter's slots.
    Lload(u16),
    /// Pushes `null`.
    AconstNull,
    /// Pushes an `int`.
    Iconst(i32),
    /// Pushes a `long`.
    Lconst(i64),
    /// Doubles the topmost slot.
    Dup,
    /// Doubles the topmost two slots: a `long` or `double`, or two values.
    Dup2,
    /// Drops the topmost slot.
    Pop,
    /// Drops the topmost two slots.
    Pop2,
    /// Exchanges the topmost two slots.
    Swap,
    /// Pushes the `Class` of the class that holds the method.
    LdcClass,
    /// Pushes the value of a static field.
    GetStatic(Member),
    /// Takes a reference and pushes the value of an instance field of the object.
    GetField(Member),
    /// Pushes the reference in any local, parameter or not. Only in [`MethodPlan::in_handler`], and
    /// only if the handler is about to load that local itself.
    AloadLocal(u16),
    /// Calls a static method.
    InvokeStatic(Member),
}

/// What to insert into one method. Each list of operations is a probe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MethodPlan {
    /// Runs once per call, before the first instruction. A jump back to the first instruction
    /// does not run it again.
    pub entry: Vec<Op>,
    /// Runs each time the instruction is about to run, however it was reached.
    pub before: Vec<(Pc, Vec<Op>)>,
    /// Runs when the instruction has completed and control falls through to the next one. A jump
    /// to the next instruction does not run it.
    pub after: Vec<(Pc, Vec<Op>)>,
    /// Pairs of probes, the first of which leaves values on the stack for the second.
    pub around: Vec<(Pc, Around)>,
    /// Runs when the handler that starts here has caught an exception. What the probe throws takes
    /// the place of that exception, and the handler goes on either way: a probe in a handler that
    /// covers itself, as those of synchronized blocks do, could else throw for ever.
    pub in_handler: Vec<(Pc, Vec<Op>)>,
    /// Runs each time the instruction is about to run, as with `before`, but under the eyes of a
    /// handler that does not cover the instruction.
    pub protected: Vec<(Pc, Protected)>,
    /// Runs when the call ends.
    pub exit: Option<Exit>,
}

/// Two halves of a probe with an instruction between them that falls through.
///
/// What `before` leaves on the stack lies *below* what the instruction takes, and `after` finds it
/// there: `dup` in front of a `monitorenter` keeps the object for a call behind it. (In the eyes of
/// the verifier it is the copy that the instruction takes, and the original that stays.) The halves
/// cannot be separated: jumps to the instruction lead to in front of `before`. They stand closer to
/// the instruction than its other probes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// Runs each time the instruction is about to run.
    pub before: Vec<Op>,
    /// Runs when it has completed.
    pub after: Vec<Op>,
}

/// A probe whose exceptions go to a handler of the method's own: one that catches everything and
/// that finds its locals there as it expects them. It stands farther from the instruction than
/// `before` probes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protected {
    /// Where the handler starts.
    pub handler: Pc,
    /// The probe.
    pub ops: Vec<Op>,
}

/// Probes for the end of a call: for a call that got past its entry probe exactly one of the two
/// starts to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exit {
    /// Runs before every return instruction, with the result on the stack.
    pub on_return: Vec<Op>,
    /// Runs when an exception leaves the method, with the `Throwable` on the stack, which is
    /// thrown on afterwards.
    pub on_throw: Vec<Op>,
}

impl MethodPlan {
    /// Whether there is nothing to insert.
    pub fn is_empty(&self) -> bool {
        let in_handlers = self.in_handler.iter().map(|(_, ops)| ops);
        self.outside_handlers().chain(in_handlers).all(Vec::is_empty)
    }

    /// Adds the probes of `other`, to run after those that stand at the same place.
    pub fn append(&mut self, other: MethodPlan) {
        self.entry.extend(other.entry);
        self.before.extend(other.before);
        self.after.extend(other.after);
        self.around.extend(other.around);
        self.in_handler.extend(other.in_handler);
        self.protected.extend(other.protected);
        if let Some(Exit { on_return, on_throw }) = other.exit {
            let exit = self.exit.get_or_insert_default();
            exit.on_return.extend(on_return);
            exit.on_throw.extend(on_throw);
        }
    }

    /// The probes that stand at some instruction.
    pub(crate) fn at_pcs(&self) -> impl Iterator<Item = &Vec<Op>> {
        self.at_instructions().chain(self.in_handler.iter().map(|(_, ops)| ops))
    }

    /// All probes but those in handlers.
    pub(crate) fn outside_handlers(&self) -> impl Iterator<Item = &Vec<Op>> {
        let exit = self.exit.iter().flat_map(|exit| [&exit.on_return, &exit.on_throw]);
        self.at_instructions().chain([&self.entry]).chain(exit)
    }

    fn at_instructions(&self) -> impl Iterator<Item = &Vec<Op>> {
        let pairs = self.around.iter().flat_map(|(_, pair)| [&pair.before, &pair.after]);
        let protected = self.protected.iter().map(|(_, protected)| &protected.ops);
        self.before.iter().chain(&self.after).map(|(_, ops)| ops).chain(pairs).chain(protected)
    }
}

/// Why a method was left as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The method is abstract or native.
    NoCode,
    /// The code, or a table that goes with it, cannot be understood. The JVM will judge.
    Malformed(ClassError),
    /// The method uses `jsr` or `ret`, as compilers before Java 6 did. Their checking depends on
    /// the old verifier's idea of subroutines, which is not worth second-guessing.
    Subroutines,
    /// The jump at `pc` would pass the reach of its 16 bits.
    BranchTooFar {
        /// Where the jump is in the original code.
        pc: Pc,
    },
    /// The code would be longer than 65535 bytes.
    CodeTooLong,
    /// The stack would be deeper than 65535 slots.
    StackTooDeep,
    /// The exception table or the stack map would have more than 65535 entries.
    TableFull,
    /// The class would need more than 65535 constants.
    ConstantPoolFull,
    /// An [`Exit`] was wanted in a constructor. Until it has called its superclass's constructor
    /// `this` is uninitialized, and no handler can cover code on both sides of that call.
    Constructor,
    /// The method is a `finalize()` that does nothing, such as `Object`'s. HotSpot counts a class as
    /// finalizable when it finds a `finalize()` that does something, were it only to run a probe.
    EmptyFinalizer,
    /// The plan names a place where no instruction starts.
    NoSuchInstruction {
        /// The place.
        pc: Pc,
    },
    /// A probe was wanted after an instruction that control never falls through.
    NoFallThrough {
        /// Where the instruction is.
        pc: Pc,
    },
    /// A probe was wanted in a handler where none starts that catches everything, or, in a class
    /// with stack maps, one whose stack map does not say so.
    NotAHandler {
        /// The place.
        pc: Pc,
    },
    /// The handler of a protected probe cannot be shown to find what it expects in the locals.
    HandlerDoesNotFit {
        /// Where the probe was to stand.
        pc: Pc,
    },
    /// A probe changes the height of the stack, or takes from it what was not there for it.
    UnbalancedProbe,
    /// A probe reads a slot that is not a parameter of the type it asks for, or that does not keep
    /// the parameter everywhere in the method: something is stored there, or a stack map gives it
    /// up. (`this` in a constructor is not readable either.) Or it reads any local, elsewhere than
    /// in a handler that is about to do so itself.
    LocalNotReadable {
        /// The slot.
        slot: u16,
    },
    /// [`Op::LdcClass`] in a class older than Java 5, which has no class constants.
    NoClassConstants,
    /// A [`Member`] whose descriptor is malformed.
    BadMember,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NoCode => f.write_str("it has no code"),
            Reason::Malformed(error) => write!(f, "malformed: {error}"),
            Reason::Subroutines => f.write_str("it uses jsr or ret"),
            Reason::BranchTooFar { pc } => write!(f, "the jump at pc {pc} would not reach"),
            Reason::CodeTooLong => f.write_str("the code would pass 65535 bytes"),
            Reason::StackTooDeep => f.write_str("the stack would pass 65535 slots"),
            Reason::TableFull => f.write_str("a table of the code would pass 65535 entries"),
            Reason::ConstantPoolFull => f.write_str("the constant pool would pass 65535 entries"),
            Reason::Constructor => f.write_str("exit probe in a constructor"),
            Reason::EmptyFinalizer => f.write_str("empty finalizer"),
            Reason::NoSuchInstruction { pc } => write!(f, "no instruction starts at pc {pc}"),
            Reason::NoFallThrough { pc } => write!(f, "nothing falls through pc {pc}"),
            Reason::NotAHandler { pc } => write!(f, "no handler of everything at pc {pc}"),
            Reason::HandlerDoesNotFit { pc } => {
                write!(f, "the handler may not fit the locals at pc {pc}")
            }
            Reason::UnbalancedProbe => f.write_str("unbalanced probe"),
            Reason::LocalNotReadable { slot } => write!(f, "slot {slot} is not readable"),
            Reason::NoClassConstants => f.write_str("class constant in a class before Java 5"),
            Reason::BadMember => f.write_str("malformed descriptor in a probe"),
        }
    }
}

impl From<ClassError> for Reason {
    fn from(error: ClassError) -> Self {
        Reason::Malformed(error)
    }
}
