//! Whether a new class is the old one with the probes of a plan, and nothing else.
//!
//! The check writes down what the new code has to be, instruction by instruction, walks the new
//! code along it, and learns on the way where everything is. Then it asks of every jump, range,
//! line and frame whether it leads where it should.

use std::collections::{BTreeMap, HashMap, HashSet};

use tyrion_bytecode::{Exit, MethodPlan, Op};

use super::annotations::{self, Place};
use super::frames::{self, Frame, Type};
use super::model::{Class, Code, Cursor, Instruction};

/// A method by name and descriptor.
pub type Key = (String, String);

/// Panics unless `new` is `old` with `plans`, which are those that were carried out.
pub fn check(old: &[u8], new: &[u8], plans: &HashMap<Key, MethodPlan>) {
    let (old, new) = (Class::read(old), Class::read(new));
    assert_eq!(old.major, new.major);
    assert!(new.pool_bytes.starts_with(&old.pool_bytes), "pool entries changed");
    assert_eq!(old.skeleton, new.skeleton);
    assert_eq!(old.methods.len(), new.methods.len());
    for (before, after) in old.methods.iter().zip(&new.methods) {
        assert_eq!((&before.name, &before.descriptor), (&after.name, &after.descriptor));
        let name = format!("{}{}", before.name, before.descriptor);
        let plan = plans.get(&(before.name.clone(), before.descriptor.clone()));
        let parameters = frames::parameters(&before.descriptor, before.flags & 8 != 0);
        match (&before.code, &after.code) {
            (Some(old), Some(new_code)) => {
                let plan = plan.cloned().unwrap_or_default();
                Check { name, old, new: new_code, class: &new, parameters }.check(&plan);
            }
            (None, None) => assert!(plan.is_none()),
            _ => panic!("{name}: code came or went"),
        }
    }
}

struct Check<'c> {
    name: String,
    old: &'c Code,
    new: &'c Code,
    /// The new class, whose pool holds the old one.
    class: &'c Class,
    parameters: usize,
}

/// What has to stand in the new code.
struct Element {
    text: String,
    /// Index of the old instruction it is, unless it is part of a probe.
    old: Option<usize>,
    /// Whether the catch-all handler covers it.
    guarded: bool,
    /// Whether it belongs to the probe of a handler.
    in_handler: InHandler,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InHandler {
    No,
    /// The probe itself, with the old pc of the handler.
    Probe(u16),
    /// The jump behind it.
    Goto(u16),
    /// What catches its exceptions.
    Caught(u16),
    /// Not in a handler, but the one at this old pc catches its exceptions; which one it is of the
    /// protected probes.
    Protected(u16, usize),
}

/// The operations of a probe that keeps its place, with the pc of its instruction.
fn at(places: &[(tyrion_bytecode::Pc, Vec<Op>)], pc: u16) -> Vec<Op> {
    let here = places.iter().filter(|(place, _)| place.0 == pc);
    here.flat_map(|(_, ops)| ops.clone()).collect()
}

fn before(plan: &MethodPlan, pc: u16) -> Vec<Op> {
    let pairs = plan.around.iter().filter(|(place, _)| place.0 == pc);
    at(&plan.before, pc)
        .into_iter()
        .chain(pairs.flat_map(|(_, pair)| pair.before.clone()))
        .collect()
}

fn after(plan: &MethodPlan, pc: u16) -> Vec<Op> {
    let pairs = plan.around.iter().rev().filter(|(place, _)| place.0 == pc);
    pairs.flat_map(|(_, pair)| pair.after.clone()).chain(at(&plan.after, pc)).collect()
}

/// The places that old pcs have become.
#[derive(Default)]
struct Places {
    range: HashMap<u16, u16>,
    label: HashMap<u16, u16>,
    instruction: HashMap<u16, u16>,
}

impl Check<'_> {
    fn check(&self, plan: &MethodPlan) {
        let handler = self.handler(plan);
        let elements = self.expected(plan, handler.as_ref());
        let texts: Vec<&str> = elements.iter().map(|element| element.text.as_str()).collect();
        let found: Vec<&str> = self.new.instructions.iter().map(|i| i.text.as_str()).collect();
        assert_eq!(found, texts, "{}", self.name);
        let places = self.places(&elements, plan);
        self.check_jumps(&elements, &places);
        let probes = self.handler_probes(&elements);
        let protected = self.protected(&elements, &places);
        let first = probes.values().map(|&[start, end, caught]| [start, end, caught, 0]);
        let first: Vec<[u16; 4]> = first.chain(protected).collect();
        let end = self.check_handlers(&elements, &places, &first, handler.is_some());
        let has_frames = self.class.major >= 50;
        self.check_frames(&places, has_frames.then_some(&probes), end.filter(|_| has_frames));
        self.check_lines(&places);
        self.check_variables(&places);
        self.check_annotations(&places);
        assert!(self.new.max_stack >= self.old.max_stack);
        assert_eq!(self.new.max_locals, self.old.max_locals);
        self.check_other_attributes();
    }

    /// The exit, if there is anything whose exceptions it has to catch.
    fn handler(&self, plan: &MethodPlan) -> Option<Exit> {
        let exit = plan.exit.clone().filter(|exit| !exit.on_throw.is_empty())?;
        let covered = |i: &Instruction| !i.is_return() || exit.on_return.is_empty();
        let probed = |i: &Instruction| {
            let protected = plan.protected.iter();
            !before(plan, i.pc).is_empty()
                || !at(&plan.in_handler, i.pc).is_empty()
                || protected.filter(|(pc, _)| pc.0 == i.pc).any(|(_, found)| !found.ops.is_empty())
        };
        self.old.instructions.iter().any(|i| covered(i) || probed(i)).then_some(exit)
    }

    fn expected(&self, plan: &MethodPlan, handler: Option<&Exit>) -> Vec<Element> {
        let mut elements = Vec::new();
        let guarded = handler.is_some();
        let element =
            |text, guarded| Element { text, old: None, guarded, in_handler: InHandler::No };
        let probe = |elements: &mut Vec<Element>, ops: &[Op], guarded| {
            elements.extend(ops.iter().map(|op| element(self.text_of(op), guarded)));
        };
        let on_return =
            plan.exit.iter().flat_map(|exit| exit.on_return.clone()).collect::<Vec<_>>();
        probe(&mut elements, &plan.entry, false);
        for (index, old) in self.old.instructions.iter().enumerate() {
            let in_handler = at(&plan.in_handler, old.pc);
            if !in_handler.is_empty() {
                let start = elements.len();
                probe(&mut elements, &in_handler, guarded);
                elements[start..].iter_mut().for_each(|e| e.in_handler = InHandler::Probe(old.pc));
                let (goto, nop) = (InHandler::Goto(old.pc), InHandler::Caught(old.pc));
                elements.push(Element { in_handler: goto, ..element("167".into(), guarded) });
                elements.push(Element { in_handler: nop, ..element("0 []".into(), guarded) });
            }
            for (_, found) in plan.protected.iter().filter(|(pc, _)| pc.0 == old.pc) {
                let start = elements.len();
                probe(&mut elements, &found.ops, guarded);
                let mark = InHandler::Protected(found.handler.0, start);
                elements[start..].iter_mut().for_each(|element| element.in_handler = mark);
            }
            probe(&mut elements, &before(plan, old.pc), guarded);
            let leaves = old.is_return() && !on_return.is_empty();
            if leaves {
                probe(&mut elements, &on_return, false);
            }
            let guarded_here = guarded && !leaves;
            let own = element(old.text.clone(), guarded_here);
            elements.push(Element { old: Some(index), ..own });
            probe(&mut elements, &after(plan, old.pc), guarded);
        }
        if let Some(exit) = handler {
            probe(&mut elements, &exit.on_throw, false);
            elements.push(element("191 []".into(), false));
        }
        elements
    }

    fn text_of(&self, op: &Op) -> String {
        let member =
            |m: &tyrion_bytecode::Member| format!("{}.{}.{}", m.owner, m.name, m.descriptor);
        let wide = |opcode, slot: u16| format!("wide {opcode} {:?}", slot.to_be_bytes());
        match op {
            Op::Iload(slot @ 256..) => wide(21, *slot),
            Op::Lload(slot @ 256..) => wide(22, *slot),
            Op::Aload(slot @ 256..) | Op::AloadLocal(slot @ 256..) => wide(25, *slot),
            Op::Iload(slot) => format!("load 0 {slot}"),
            Op::Lload(slot) => format!("load 1 {slot}"),
            Op::Aload(slot) | Op::AloadLocal(slot) => format!("load 4 {slot}"),
            Op::AconstNull => "null".into(),
            Op::Iconst(value) => format!("int {value}"),
            Op::Lconst(value) => format!("long {value}"),
            Op::Pop => "87 []".into(),
            Op::Pop2 => "88 []".into(),
            Op::Dup => "89 []".into(),
            Op::Dup2 => "92 []".into(),
            Op::Swap => "95 []".into(),
            Op::LdcClass => self.class.name.clone(),
            Op::GetStatic(field) => format!("178 {}", member(field)),
            Op::GetField(field) => format!("180 {}", member(field)),
            Op::InvokeStatic(method) => format!("184 {}", member(method)),
            other => panic!("{other:?}"),
        }
    }

    fn places(&self, elements: &[Element], plan: &MethodPlan) -> Places {
        let mut places = Places::default();
        let entry: usize = plan.entry.len();
        let start = self.new.instructions[entry].pc;
        let (mut range, mut probes) = (start, start);
        let mut after_left = 0;
        for (element, new) in elements.iter().zip(&self.new.instructions).skip(entry) {
            match element.old {
                None if after_left > 0 => {
                    after_left -= 1;
                    probes = new.end();
                }
                None => {}
                Some(index) => {
                    let pc = self.old.instructions[index].pc;
                    places.range.insert(pc, range);
                    places.label.insert(pc, probes);
                    places.instruction.insert(pc, new.pc);
                    after_left = after(plan, pc).len();
                    (range, probes) = (new.end(), new.end());
                }
            }
        }
        places.range.insert(self.old.length, range);
        places
    }

    fn check_jumps(&self, elements: &[Element], places: &Places) {
        for (element, new) in elements.iter().zip(&self.new.instructions) {
            if let InHandler::Goto(_) = element.in_handler {
                assert_eq!(new.targets, [new.end() + 1], "{}", self.name);
                continue;
            }
            let old_targets = element.old.map(|index| &self.old.instructions[index].targets);
            let targets = old_targets.into_iter().flatten().map(|pc| places.label[pc]);
            assert_eq!(new.targets, targets.collect::<Vec<_>>(), "{}: {}", self.name, new.text);
        }
    }

    /// The probes of handlers by the old pc of the handler: where they start and end, and where
    /// their exceptions are caught.
    fn handler_probes(&self, elements: &[Element]) -> BTreeMap<u16, [u16; 3]> {
        let mut probes = BTreeMap::new();
        for (element, new) in elements.iter().zip(&self.new.instructions) {
            match element.in_handler {
                InHandler::No | InHandler::Protected(..) => {}
                InHandler::Probe(pc) => drop(probes.entry(pc).or_insert([new.pc, 0, 0])),
                InHandler::Goto(pc) => probes.get_mut(&pc).expect("a probe")[1] = new.pc,
                InHandler::Caught(pc) => probes.get_mut(&pc).expect("a probe")[2] = new.pc,
            }
        }
        probes
    }

    /// The entries that protected probes have in the exception table.
    fn protected(&self, elements: &[Element], places: &Places) -> Vec<[u16; 4]> {
        let mut entries: Vec<(usize, [u16; 4])> = Vec::new();
        for (element, new) in elements.iter().zip(&self.new.instructions) {
            let InHandler::Protected(handler, probe) = element.in_handler else { continue };
            match entries.last_mut() {
                Some((last, entry)) if *last == probe => entry[1] = new.end(),
                _ => entries.push((probe, [new.pc, new.end(), places.label[&handler], 0])),
            }
        }
        entries.into_iter().map(|(_, entry)| entry).collect()
    }

    /// Checks the exception table, in which `first` comes first; the result is where the catch-all handler starts.
    fn check_handlers(
        &self,
        elements: &[Element],
        places: &Places,
        first: &[[u16; 4]],
        wanted: bool,
    ) -> Option<u16> {
        let (found, rest) = self.new.handlers.split_at(first.len());
        assert_eq!(found, first, "{}", self.name);
        let (kept, added) = rest.split_at(self.old.handlers.len());
        for (old, new) in self.old.handlers.iter().zip(kept) {
            let [start, end, handler, catch] = *old;
            let moved = [places.range[&start], places.range[&end], places.label[&handler], catch];
            assert_eq!(moved, *new, "{}", self.name);
        }
        assert_eq!(wanted, !added.is_empty(), "{}", self.name);
        let covered: HashSet<u16> =
            added.iter().flat_map(|[start, end, ..]| *start..*end).collect();
        for (element, new) in elements.iter().zip(&self.new.instructions) {
            let guarded = (new.pc..new.end()).filter(|pc| covered.contains(pc)).count();
            let expected = if element.guarded { usize::from(new.length) } else { 0 };
            assert_eq!(guarded, expected, "{}: {} at {}", self.name, new.text, new.pc);
        }
        let [.., handler, catch] = *added.first()?;
        assert!(added.iter().all(|[.., h, c]| (*h, *c) == (handler, 0)), "{}", self.name);
        assert_eq!(catch, 0);
        let guarded_end = elements.iter().rposition(|element| element.old.is_some()).expect("code");
        assert_eq!(handler, self.new.instructions[guarded_end].end());
        Some(handler)
    }

    fn check_frames(
        &self,
        places: &Places,
        probes: Option<&BTreeMap<u16, [u16; 3]>>,
        handler: Option<u16>,
    ) {
        let read = |code: &Code| match code.attribute("StackMapTable") {
            Some(table) => frames::read(table, self.parameters, &self.class.pool),
            None => Vec::new(),
        };
        let (old, mut found) = (read(self.old), read(self.new));
        let mut expected = Vec::new();
        for mut frame in old {
            let probe = probes.and_then(|probes| probes.get(&frame.pc));
            frame.pc = places.label[&frame.pc];
            for found in frame.locals.iter_mut().chain(&mut frame.stack) {
                if let Type::Uninitialized(pc) = found {
                    *pc = places.instruction[pc];
                }
            }
            let caught = probe.map(|[.., caught]| *caught);
            expected.push(frame.clone());
            // The nop, and what follows it.
            let stack = vec![Type::Object("java/lang/Throwable".into())];
            let behind = caught.into_iter().flat_map(|caught| [caught, caught + 1]);
            expected.extend(behind.map(|pc| Frame { pc, stack: stack.clone(), ..frame.clone() }));
        }
        if let Some(handler) = handler {
            let last = found.pop().expect("a frame for the handler");
            assert_eq!(last.pc, handler);
            assert_eq!(last.stack, [Type::Object("java/lang/Throwable".into())]);
        }
        assert_eq!(expected, found, "{}", self.name);
    }

    fn check_lines(&self, places: &Places) {
        let tables = |code: &Code| tables(code, "LineNumberTable", 2);
        for (old, new) in tables(self.old).iter().zip(tables(self.new)) {
            let start = if old[0] == 0 { 0 } else { places.label[&old[0]] };
            assert_eq!([start, old[1]], new[..], "{}", self.name);
        }
    }

    fn check_variables(&self, places: &Places) {
        for name in ["LocalVariableTable", "LocalVariableTypeTable"] {
            for (old, new) in tables(self.old, name, 5).iter().zip(tables(self.new, name, 5)) {
                let start = if old[0] == 0 { 0 } else { places.range[&old[0]] };
                let length = places.range[&(old[0] + old[1])] - start;
                assert_eq!([start, length, old[2], old[3], old[4]], new[..], "{}", self.name);
            }
        }
    }

    fn check_annotations(&self, places: &Places) {
        for name in ["RuntimeVisibleTypeAnnotations", "RuntimeInvisibleTypeAnnotations"] {
            let Some(old) = self.old.attribute(name) else { continue };
            let new = self.new.attribute(name).map(annotations::places).unwrap_or_default();
            let moved = annotations::places(old).into_iter().map(|place| match place {
                Place::Instruction(pc) => Place::Instruction(places.instruction[&pc]),
                Place::Range { start, length } => {
                    let end = places.range[&(start + length)];
                    let start = if start == 0 { 0 } else { places.range[&start] };
                    Place::Range { start, length: end - start }
                }
            });
            assert_eq!(moved.collect::<Vec<_>>(), new, "{}", self.name);
        }
    }

    /// Attributes that this check knows nothing of are still there, and in the old order.
    fn check_other_attributes(&self) {
        let names = |code: &Code| -> Vec<String> {
            let names = code.attributes.iter().map(|(name, _)| name.clone());
            names.filter(|name| name != "StackMapTable" && name != "StackMap").collect()
        };
        assert_eq!(names(self.old), names(self.new), "{}", self.name);
        let sizes = |code: &Code| -> Vec<(String, usize)> {
            let others = code.attributes.iter().filter(|(name, _)| name != "StackMapTable");
            others.map(|(name, contents)| (name.clone(), contents.len())).collect()
        };
        assert_eq!(sizes(self.old), sizes(self.new), "{}", self.name);
    }
}

/// All rows, of so many numbers each, of all tables `name`.
fn tables(code: &Code, name: &str, width: usize) -> Vec<Vec<u16>> {
    let mut rows = Vec::new();
    for (_, contents) in code.attributes.iter().filter(|(found, _)| found == name) {
        let mut cursor = Cursor::new(contents);
        for _ in 0..cursor.u2() {
            rows.push((0..width).map(|_| cursor.u2()).collect());
        }
        assert!(cursor.done());
    }
    rows
}
