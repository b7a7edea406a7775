//! Which probes go where in the application's classes, and in most of the
//! JDK's: around every monitor, and in front of the calls that take a lock of
//! `java.util.concurrent`.
//!
//! Every place where a lock is taken is made a [`Place`] and gets a number,
//! which the probes pass on. What the probes around a synchronized block look
//! like, and why, is said at [`Blocks`].

mod blocks;
mod calls;

use crate::{
    Filters, Place,
    probe::trace as probe,
    taking::{self, Taken},
};
use blocks::{BlockExit, Blocks, ExitForm};
pub use calls::acquisition;
use calls::{Acquisition, call_site, notification, notifies};
use std::collections::BTreeSet;
use tyrion_bytecode::naming::{self, Body};
use tyrion_bytecode::{
    Around, ClassFile, Code, Exit, Instruction, Instrumented, Member, Method, MethodPlan, Op, Pc,
    Protected, Reason, instrument, opcode,
};
use tyrion_wire::{WaitKind, def::place_flag, lock_flavor::implements_locks};

/// Gives places their numbers. What it is told beside a place is whether all probes of the
/// place's releases have its number: of a form of blocks that no known compiler produces
/// they do not.
pub type Register<'r> = dyn FnMut(Place, bool) -> u32 + 'r;

/// What to do with classes.
#[derive(Clone, Debug, Default)]
pub struct PlanOptions {
    /// The user's choice of classes.
    pub filters: Filters,
    /// The probe in front of blocks, before the monitor is taken.
    pub front: Front,
    /// Whether there are probes in front of calls that notify objects.
    pub wakers: bool,
}

/// What a probe in front of a block is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Front {
    /// There is none.
    #[default]
    Nothing,
    /// The object gets its hash while it is not locked.
    Hash,
    /// It matters when the monitor was wanted.
    Ask,
}

impl Front {
    fn probe(self) -> Option<Member> {
        match self {
            Front::Nothing => None,
            Front::Hash => Some(probe::BEFORE),
            Front::Ask => Some(probe::ASKING),
        }
    }
}

/// Whether a class may have anything to probe. Cheap: most classes have not.
pub fn concerns(class: &ClassFile<'_>, options: &PlanOptions) -> bool {
    let name = class.name();
    options.filters.wants(name.as_bytes())
        && (class.methods().any(|method| method.is_synchronized() || may_have_blocks(&method))
            || (!implements_locks(name.as_bytes())
                && class.called_methods().any(|called| acquisition(&called).is_some()))
            || wants_notifications(options) && calls_notify(class))
}

/// Whether it is of interest who notifies objects. For single locks it is not.
fn wants_notifications(options: &PlanOptions) -> bool {
    options.wakers && options.filters.wants_all_locks()
}

fn calls_notify(class: &ClassFile<'_>) -> bool {
    class.called_methods().any(|called| notification(&called).is_some())
}

/// Whether the byte of a `monitorenter` is in the code, be it as an operand.
fn may_have_blocks(method: &Method<'_, '_>) -> bool {
    let Ok(Some(code)) = method.code() else { return false };
    code.bytes().contains(&opcode::MONITORENTER)
}

/// Why a method has no probes, or not all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// A native synchronized method.
    Native,
    /// A static synchronized method of a class before Java 5.
    NoClassConstants,
    /// Synchronized blocks of a form that no known compiler produces: at this place the monitor
    /// would not be released if a probe failed, and HotSpot would not compile the method.
    Unguarded(Pc),
    /// Synchronized blocks whose handler covers itself and is of a form that is not known.
    UnknownHandler(Pc),
    /// The class file crate could not do it.
    Rewriting(Reason),
}

impl Why {
    /// A short key for statistics.
    pub fn key(&self) -> &'static str {
        match self {
            Why::Native | Why::Rewriting(Reason::NoCode) => "native",
            Why::NoClassConstants | Why::Rewriting(Reason::NoClassConstants) => "before-java-5",
            Why::Unguarded(_) | Why::Rewriting(Reason::HandlerDoesNotFit { .. }) => "unguarded",
            Why::UnknownHandler(_) => "unknown-handler",
            Why::Rewriting(Reason::Subroutines) => "subroutines",
            Why::Rewriting(Reason::LocalNotReadable { .. }) => "this-overwritten",
            Why::Rewriting(
                Reason::BranchTooFar { .. }
                | Reason::CodeTooLong
                | Reason::StackTooDeep
                | Reason::TableFull
                | Reason::ConstantPoolFull,
            ) => "too-large",
            Why::Rewriting(Reason::Malformed(_)) => "malformed",
            Why::Rewriting(_) => "other",
        }
    }
}

/// A method that was left alone, or of which only some acquisitions are seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftMethod {
    /// Internal name of the class.
    pub class: String,
    /// Name of the method.
    pub method: String,
    /// Its descriptor.
    pub descriptor: String,
    /// Why.
    pub why: Why,
}

/// The plan for a class.
#[derive(Clone, Debug, Default)]
pub struct ClassPlan {
    /// One for each method, in the order of the class file; empty for most.
    pub methods: Vec<MethodPlan>,
    /// Methods left alone.
    pub left: Vec<LeftMethod>,
}

impl ClassPlan {
    /// Inserts the probes; methods that cannot be given theirs are added to `left`.
    pub fn carry_out(&mut self, class: &ClassFile<'_>) -> Instrumented {
        let mut plans = std::mem::take(&mut self.methods).into_iter();
        let instrumented = instrument(class, |_| plans.next());
        self.left.extend(instrumented.left.iter().map(|left| LeftMethod {
            class: class.name().to_string(),
            method: left.name.clone(),
            descriptor: left.descriptor.clone(),
            why: Why::Rewriting(left.reason.clone()),
        }));
        instrumented
    }
}

/// Plans the probes of a class.
pub fn plan(
    class: &ClassFile<'_>,
    options: &PlanOptions,
    register: &mut Register<'_>,
) -> ClassPlan {
    let mut plan = ClassPlan::default();
    let name = class.name();
    if !options.filters.wants(name.as_bytes()) {
        plan.methods.resize_with(class.methods().len(), MethodPlan::default);
        return plan;
    }
    let call_sites = !implements_locks(name.as_bytes())
        && class.called_methods().any(|called| acquisition(&called).is_some());
    let notifies = wants_notifications(options) && calls_notify(class);
    for method in class.methods() {
        let mut planner = MethodPlanner {
            method,
            options,
            call_sites,
            notifies,
            register,
            first_place: None,
            plan: MethodPlan::default(),
            left: Vec::new(),
        };
        if let Err(why) = planner.run() {
            planner.plan = MethodPlan::default();
            planner.left.push(why);
        }
        let left = |why| LeftMethod {
            class: name.to_string(),
            method: method.name().to_string(),
            descriptor: method.descriptor().to_string(),
            why,
        };
        plan.left.extend(planner.left.into_iter().map(left));
        plan.methods.push(planner.plan);
    }
    plan
}

struct MethodPlanner<'p, 'r, 'c> {
    method: Method<'c, 'c>,
    options: &'p PlanOptions,
    /// Whether the class calls anything that takes a j.u.c. lock.
    call_sites: bool,
    /// Whether the class notifies any object, and that is of interest.
    notifies: bool,
    register: &'r mut Register<'r>,
    first_place: Option<u32>,
    plan: MethodPlan,
    left: Vec<Why>,
}

impl MethodPlanner<'_, '_, '_> {
    fn run(&mut self) -> Result<(), Why> {
        let method = self.method;
        let code = match method.code() {
            Ok(Some(code)) => code,
            Ok(None) if method.is_synchronized() => return Err(Why::Native),
            Ok(None) => return Ok(()),
            Err(error) if method.is_synchronized() => return Err(Why::Rewriting(error.into())),
            Err(_) => return Ok(()),
        };
        let may_have_blocks = code.bytes().contains(&opcode::MONITORENTER);
        let has_calls = self.call_sites || self.notifies;
        if !(method.is_synchronized() || may_have_blocks || has_calls) {
            return Ok(());
        }
        if method.is_synchronized() {
            self.synchronized_method(&code);
        }
        if !(may_have_blocks || has_calls) {
            return Ok(());
        }
        let instructions: Vec<Instruction<'_>> = code
            .instructions()
            .collect::<Result<_, _>>()
            .map_err(|error| Why::Rewriting(error.into()))?;
        self.acquisitions(&code, &instructions);
        if self.notifies {
            self.notifications(&code, &instructions);
        }
        Ok(())
    }

    /// Entry, every return and a catch-all. The method keeps its flag, so that the JVM takes and
    /// gives back the monitor around all of this.
    fn synchronized_method(&mut self, code: &Code<'_, '_>) {
        let method = self.method;
        let class = method.class();
        let lock = if !method.is_static() {
            Op::Aload(0)
        } else if class.major_version() >= CLASS_CONSTANTS {
            Op::LdcClass
        } else {
            self.left.push(Why::NoClassConstants);
            return;
        };
        let name = naming::method_lock_name(class.name().as_bytes(), method.is_static());
        let taken = Taken {
            kind: WaitKind::Monitor,
            flags: place_flag::METHOD | if method.is_static() { place_flag::STATIC } else { 0 },
            name,
        };
        let Some(place) = self.place(code, (Pc(0), code.first_line()), taken, true) else { return };
        let call = |probe: Member| vec![lock.clone(), number(place), call(probe)];
        self.plan.entry = call(probe::ENTERED);
        let on_throw = [call(probe::EXITING), tell_thrown()].concat();
        self.plan.exit = Some(Exit { on_return: call(probe::EXITING), on_throw });
    }

    /// Blocks and calls.
    fn acquisitions(&mut self, code: &Code<'_, '_>, instructions: &[Instruction<'_>]) {
        let mut found = Vec::new();
        let blocks = match Blocks::find(code, instructions) {
            Ok(blocks) => blocks,
            Err(why) => {
                self.left.push(why);
                Blocks::default()
            }
        };
        let enters = blocks.enters.iter();
        found.extend(enters.map(|enter| Acquisition { pc: enter.pc, called: None }));
        if self.call_sites {
            found
                .extend(instructions.iter().filter_map(|instruction| call_site(code, instruction)));
        }
        if found.is_empty() {
            return;
        }
        found.sort_by_key(|acquisition| acquisition.pc);
        let pcs: Vec<Pc> = found.iter().map(|acquisition| acquisition.pc).collect();
        let names = naming::lock_names(&Body::of(&self.method, code), &pcs);
        let is_paired = blocks.exits.iter().all(|exit| exit.enter.is_some());
        let mut places = Vec::with_capacity(found.len());
        let mut unwanted = BTreeSet::new();
        let method = self.method;
        let (name, descriptor) = (method.name(), method.descriptor());
        let own = (method.class().name().as_bytes(), name.as_bytes(), descriptor.as_bytes());
        for (Acquisition { pc, called }, name) in found.into_iter().zip(names) {
            let taken = match &called {
                None => Some(taking::monitor(name)),
                Some((kind, called)) => taking::lock(*kind, (called.owner.as_bytes(), name), own),
            };
            let Some(taken) = taken else { continue };
            let kind = taken.kind;
            // What a lock of java.util.concurrent is released with looks for the lock.
            let is_known = is_paired || kind != WaitKind::Monitor;
            let Some(place) = self.place(code, (pc, code.line_at(pc)), taken, is_known) else {
                unwanted.insert(pc);
                continue;
            };
            places.push((pc, place));
            if kind != WaitKind::Monitor {
                self.plan.before.push((pc, vec![number(place), call(probe::AT)]));
            }
        }
        let place_at = |pc: Pc| {
            let index = places.binary_search_by_key(&pc, |(at, _)| *at).ok();
            index.and_then(|index| places.get(index)).map(|(_, place)| *place)
        };
        let first = self.first_place.unwrap_or(0);
        for enter in blocks.enters.iter().filter(|enter| !unwanted.contains(&enter.pc)) {
            let place = place_at(enter.pc).unwrap_or(first);
            if let Some(front) = self.options.front.probe() {
                self.plan.before.push((enter.pc, vec![Op::Dup, number(place), call(front)]));
            }
            let pair =
                Around { before: vec![Op::Dup], after: vec![number(place), call(probe::ENTERED)] };
            self.plan.around.push((enter.pc, pair));
        }
        let is_wanted = |exit: &&BlockExit| match exit.enter {
            Some(enter) => !unwanted.contains(&enter),
            None => unwanted.is_empty() || !places.is_empty(),
        };
        for exit in blocks.exits.iter().filter(is_wanted) {
            let place = number(exit.enter.and_then(place_at).unwrap_or(0));
            match exit.form {
                ExitForm::Plain => {
                    self.plan.before.push((exit.pc, vec![Op::Dup, place, call(probe::EXITING)]));
                }
                ExitForm::Protected { handler } => {
                    let ops = vec![Op::Dup, place, call(probe::EXITING)];
                    self.plan.protected.push((exit.pc, Protected { handler, ops }));
                }
                ExitForm::Handler { handler, slot } => {
                    let exiting = vec![Op::AloadLocal(slot), place, call(probe::EXITING)];
                    let ops = [exiting, tell_thrown()].concat();
                    self.plan.in_handler.push((handler, ops));
                }
            }
        }
    }

    /// Calls that notify an object, which stands on the stack.
    fn notifications(&mut self, code: &Code<'_, '_>, instructions: &[Instruction<'_>]) {
        for instruction in instructions {
            if let Some(all) = notifies(code, instruction) {
                let ops = vec![Op::Dup, Op::Iconst(all.into()), call(probe::NOTIFIES)];
                self.plan.before.push((instruction.pc(), ops));
            }
        }
    }

    /// The number of a place; `None` if what is taken there is not traced.
    fn place(
        &mut self,
        code: &Code<'_, '_>,
        (pc, line): (Pc, Option<u16>),
        taken: Taken,
        is_paired: bool,
    ) -> Option<u32> {
        let class = self.method.class();
        let place = Place {
            class: class.name().to_string(),
            source_file: class.source_file().map(|name| name.to_string()),
            method: self.method.name().to_string(),
            descriptor: self.method.descriptor().to_string(),
            first_line: code.first_line().map_or(0, u32::from),
            line: line.map_or(0, u32::from),
            bytecode: Some(pc.0),
            taken,
        };
        if !self.options.filters.wants_place(&place) {
            return None;
        }
        let place = (self.register)(place, is_paired);
        self.first_place.get_or_insert(place);
        Some(place)
    }
}

/// The first class file version whose `ldc` loads classes.
const CLASS_CONSTANTS: u16 = 49;

fn call(probe: Member) -> Op {
    Op::InvokeStatic(probe)
}

/// Tells of the exception that was caught and is thrown on: a full stack may
/// have kept other probes from telling anything.
fn tell_thrown() -> Vec<Op> {
    vec![Op::Dup, call(probe::THREW)]
}

fn number(place: u32) -> Op {
    // Places are counted from 0 and never get that many; a negative number would do as well.
    Op::Iconst(place.cast_signed())
}
