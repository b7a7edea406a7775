//! Classes whose methods take locks in all the ways there are.

use super::random::Random;
use std::fmt::Write;

/// How a lock is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TakeKind {
    Monitor,
    Lock,
    Read,
    Write,
    Permit,
}

/// What can be taken: an object, and an expression that leads to it.
#[derive(Clone, Debug)]
struct TestLock {
    kind: TakeKind,
    /// What the account is told, and is locked unless it is a view that is.
    expression: String,
    /// Its number in the class: two expressions may lead to one object.
    object: usize,
    /// The same in all objects of the class.
    is_static: bool,
}

/// One place at which one lock is taken, and what is taken within.
#[derive(Clone, Debug)]
pub struct Take {
    /// The place's number.
    pub place: u32,
    pub object: usize,
    pub is_static: bool,
    /// Does not exclude others like it.
    pub is_read: bool,
    /// The place of the take around this one comes before it in the method, and is this far
    /// back in the list.
    pub within: Option<usize>,
}

/// A method, by what it takes, in this order.
#[derive(Clone, Debug, Default)]
pub struct TestMethod {
    pub takes: Vec<Take>,
}

/// A class's source, and what its methods take.
pub struct TestClass {
    pub name: String,
    pub source: String,
    pub methods: Vec<TestMethod>,
}

/// The object that `this` is, and the class object.
const THIS: usize = 0;
const CLASS: usize = 1;

/// Makes a class. Two that are made with the same numbers are versions of one class: the
/// later ones have other places, each further down in the code than in the version before.
pub fn class(package: &str, name: &str, seed: u64, version: usize, places: &mut u32) -> TestClass {
    let mut made = ClassMaker {
        random: Random::new(seed),
        name: name.to_owned(),
        version,
        places,
        fields: String::new(),
        helpers: String::new(),
        locks: Vec::new(),
        takes: Vec::new(),
        locals: 0,
    };
    made.make_locks();
    let mut methods = Vec::new();
    let mut bodies = String::new();
    let mut cases = String::new();
    for number in 0..made.random.between(2, 4) {
        bodies += &made.method(number);
        methods.push(TestMethod { takes: std::mem::take(&mut made.takes) });
        writeln!(cases, "            case {number}: m{number}(); break;").unwrap();
    }
    let (fields, helpers) = (&made.fields, &made.helpers);
    let source = format!(
        "package {package};

import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.*;
import tyrion.identity.Account;
import tyrion.identity.Subject;

public final class {name} implements Subject {{
{fields}
    @Override
    public void call(int method) {{
        switch (method) {{
{cases}            default: throw new IllegalArgumentException();
        }}
    }}
{bodies}{helpers}}}
"
    );
    TestClass { name: name.to_owned(), source, methods }
}

struct ClassMaker<'a> {
    random: Random,
    name: String,
    version: usize,
    places: &'a mut u32,
    fields: String,
    helpers: String,
    locks: Vec<TestLock>,
    takes: Vec<Take>,
    locals: usize,
}

impl ClassMaker<'_> {
    fn make_locks(&mut self) {
        self.lock(TakeKind::Monitor, "this".to_owned(), THIS, false);
        self.lock(TakeKind::Monitor, format!("{}.class", self.name), CLASS, true);
        let mut objects = 2;
        for nth in 0..self.random.between(2, 5) {
            let is_static = self.random.one_in(3);
            let of = if is_static { "private static final" } else { "private final" };
            let kind = *self.random.choice(&[TakeKind::Monitor, TakeKind::Monitor, TakeKind::Lock]);
            let class = if kind == TakeKind::Lock { "ReentrantLock" } else { "Object" };
            let field = match self.random.below(7) {
                0 | 1 => {
                    self.lock(kind, format!("f{nth}"), objects, is_static);
                    // The same object by another name.
                    let alias = self.random.one_in(3);
                    if alias {
                        self.lock(kind, format!("o{nth}"), objects, is_static);
                    }
                    objects += 1;
                    let more = format!("\n    {of} {class} o{nth} = f{nth};");
                    let more = if alias { more } else { String::new() };
                    format!("{of} {class} f{nth} = new {class}();{more}")
                }
                2 => {
                    for element in 0..2 {
                        self.lock(kind, format!("a{nth}[{element}]"), objects, is_static);
                        objects += 1;
                    }
                    format!("{of} {class}[] a{nth} = {{new {class}(), new {class}()}};")
                }
                3 | 4 => {
                    for key in ["x", "y"] {
                        self.lock(kind, format!("m{nth}.get(\"{key}\")"), objects, is_static);
                        objects += 1;
                    }
                    let values = format!("\"x\", new {class}(), \"y\", new {class}()");
                    format!(
                        "{of} Map<String, {class}> m{nth} = tyrion.support.Older.map({values});"
                    )
                }
                5 => {
                    for kind in [TakeKind::Read, TakeKind::Write] {
                        self.lock(kind, format!("rw{nth}"), objects, is_static);
                    }
                    objects += 1;
                    let class = "ReentrantReadWriteLock";
                    format!("{of} {class} rw{nth} = new {class}();")
                }
                _ => {
                    self.lock(TakeKind::Permit, format!("s{nth}"), objects, is_static);
                    objects += 1;
                    format!("{of} Semaphore s{nth} = new Semaphore(1);")
                }
            };
            writeln!(self.fields, "    {field}").unwrap();
        }
    }

    fn lock(&mut self, kind: TakeKind, expression: String, object: usize, is_static: bool) {
        self.locks.push(TestLock { kind, expression, object, is_static });
    }

    fn place(&mut self) -> u32 {
        *self.places += 1;
        *self.places
    }

    fn method(&mut self, number: usize) -> String {
        let one_line = self.random.one_in(2);
        let separator = if one_line { " " } else { "\n        " };
        let kind = self.random.below(6);
        let (modifiers, own) = match kind {
            0 => ("synchronized ", Some(("this".to_owned(), THIS))),
            1 => ("static synchronized ", Some((format!("{}.class", self.name), CLASS))),
            _ => ("", None),
        };
        let mut parts = Vec::new();
        if let Some((expression, object)) = &own {
            let place = self.place();
            parts.push(format!("Account.at({expression}, {place});"));
            let (object, is_static) = (*object, *object == CLASS);
            self.takes.push(Take { place, object, is_static, is_read: false, within: None });
        }
        let outer = own.as_ref().map(|_| 0);
        for _ in 0..self.random.between(1, 3) {
            parts.push(self.take(outer, separator, kind == 1, 0));
        }
        // What comes first in a later version moves all that follows.
        let shift = "\n\n        long before = System.nanoTime(); if (before == 42) { return; }\n";
        let shift = if self.version > 0 { shift } else { "" };
        let body = parts.join(separator);
        format!("\n    {modifiers}void m{number}() {{ {shift}\n        {body}\n    }}\n")
    }

    /// The objects that are held around a place.
    fn held(&self, mut within: Option<usize>) -> Vec<usize> {
        let mut held = Vec::new();
        while let Some(take) = within {
            held.push(self.takes[take].object);
            within = self.takes[take].within;
        }
        held
    }

    /// A statement that takes a lock, and perhaps others within.
    fn take(
        &mut self,
        within: Option<usize>,
        separator: &str,
        in_static: bool,
        depth: usize,
    ) -> String {
        let held = self.held(within);
        let free: Vec<TestLock> = self
            .locks
            .iter()
            .filter(|lock| !held.contains(&lock.object) && (lock.is_static || !in_static))
            .cloned()
            .collect();
        if free.is_empty() {
            return String::new();
        }
        let lock = self.random.choice(&free).clone();
        let place = self.place();
        let take = |lock: &TestLock| Take {
            place,
            object: lock.object,
            is_static: lock.is_static,
            is_read: lock.kind == TakeKind::Read,
            within,
        };
        let at = self.takes.len();
        self.takes.push(take(&lock));
        let class = match lock.kind {
            TakeKind::Monitor => "Object",
            TakeKind::Lock => "ReentrantLock",
            TakeKind::Read | TakeKind::Write => "ReentrantReadWriteLock",
            TakeKind::Permit => "Semaphore",
        };
        let style = self.random.below(5);
        self.locals += 1;
        let local = format!("local{}", self.locals);
        if style == 0 {
            // By a method that is given the lock, perhaps two of them.
            let body = taken(lock.kind, "given", place, separator, "");
            let helper = format!("take{}", self.locals);
            writeln!(
                self.helpers,
                "\n    private static void {helper}({class} given) {{ {body} }}"
            )
            .unwrap();
            let mut calls = format!("{helper}({});", lock.expression);
            let mut others = free.iter().filter(|other| other.kind == lock.kind);
            if let Some(other) = others.next_back().filter(|_| self.random.one_in(2)) {
                self.takes.push(take(other));
                write!(calls, "{separator}{helper}({});", other.expression).unwrap();
            }
            return calls;
        }
        let more = depth < 2 && self.random.one_in(4);
        let inner = match more {
            true => self.take(Some(at), separator, in_static, depth + 1),
            false => String::new(),
        };
        match style {
            1 => {
                let body = taken(lock.kind, &local, place, separator, &inner);
                format!("{class} {local} = {};{separator}{body}", lock.expression)
            }
            2 => {
                let body = taken(lock.kind, &lock.expression, place, separator, &inner);
                format!("Runnable {local} = () -> {{ {body} }};{separator}{local}.run();")
            }
            _ => taken(lock.kind, &lock.expression, place, separator, &inner),
        }
    }
}

/// The statement that takes a lock to which an expression leads.
fn taken(kind: TakeKind, lock: &str, place: u32, separator: &str, inner: &str) -> String {
    let (take, release) = match kind {
        TakeKind::Monitor => {
            let body = format!("Account.at({lock}, {place});{separator}{inner}");
            return format!("synchronized ({lock}) {{{separator}{body} }}");
        }
        TakeKind::Lock => ("lock()", "unlock()"),
        TakeKind::Read => ("readLock().lock()", "readLock().unlock()"),
        TakeKind::Write => ("writeLock().lock()", "writeLock().unlock()"),
        TakeKind::Permit => ("acquireUninterruptibly()", "release()"),
    };
    format!(
        "{lock}.{take};{separator}try {{ Account.at({lock}, {place});{separator}{inner} }} \
         finally {{ {lock}.{release}; }}"
    )
}
