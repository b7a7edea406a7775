//! Profiles written down by hand.

use std::collections::BTreeMap;
use tyrion_model::profile::{
    Frame, Function, Lock, NO_OWNER, Profile, Run, SampleRow, Stack, State, Thread, WaitRow,
};
use tyrion_wire::WaitKind;

/// A profile that grows.
#[derive(Default)]
pub struct Build {
    pub profile: Profile,
    waits: BTreeMap<(u32, u32, u32, WaitKind), (u64, u64)>,
}

/// The index of `item`, which is added if it is new.
fn index<T: PartialEq>(table: &mut Vec<T>, item: T) -> u32 {
    let at = table.iter().position(|known| *known == item);
    at.unwrap_or_else(|| {
        table.push(item);
        table.len() - 1
    }) as u32
}

impl Build {
    pub fn new() -> Build {
        let mut build = Build::default();
        build.profile.stacks.push(Stack::default());
        build
    }

    pub fn run(&mut self, run: Run) -> u32 {
        self.profile.runs.push(run);
        self.profile.runs.len() as u32 - 1
    }

    pub fn thread(&mut self, run: u32, java_id: u64, name: &str) -> u32 {
        let group = "main".to_owned();
        let name = name.to_owned();
        self.profile.threads.push(Thread { run, java_id, name, group, ..Thread::default() });
        self.profile.threads.len() as u32 - 1
    }

    pub fn lock(&mut self, run: u32, id: u32, class: &str) -> u32 {
        let class = class.to_owned();
        index(&mut self.profile.locks, Lock { run, id, class, ..Lock::default() })
    }

    /// A method as `com.acme.Foo.bar(I)V File.java:10`, where the last two words
    /// may be missing.
    pub fn method(&mut self, text: &str) -> u32 {
        let mut words = text.split(' ');
        let name = words.next().unwrap();
        let (place, first_line) =
            words.next().and_then(|word| word.split_once(':')).unwrap_or(("", "0"));
        let (path, descriptor) = name.split_at(name.find('(').unwrap_or(name.len()));
        let (class, method) = path.rsplit_once('.').unwrap_or(("", path));
        let folder = class
            .rsplit_once('.')
            .map_or(String::new(), |(package, _)| package.replace('.', "/") + "/");
        self.function(Function {
            class: class.to_owned(),
            method: method.to_owned(),
            descriptor: descriptor.to_owned(),
            source: if place.is_empty() { String::new() } else { folder + place },
            first_line: first_line.parse().unwrap(),
        })
    }

    pub fn function(&mut self, function: Function) -> u32 {
        index(&mut self.profile.functions, function)
    }

    /// The stack of these methods and lines, root first.
    pub fn stack(&mut self, frames: &[(u32, u32)]) -> u32 {
        let mut parent = 0;
        for &(function, line) in frames {
            let frame = index(&mut self.profile.frames, Frame { function, line });
            let node = Stack { parent, frame };
            let known = self.profile.stacks.iter().skip(1).position(|known| *known == node);
            parent = match known {
                Some(at) => at as u32 + 1,
                None => {
                    self.profile.stacks.push(node);
                    self.profile.stacks.len() as u32 - 1
                }
            };
        }
        parent
    }

    pub fn wait(
        &mut self,
        thread: u32,
        stack: u32,
        lock: u32,
        kind: WaitKind,
        count: u64,
        wait_ns: u64,
    ) {
        let sums = self.waits.entry((thread, stack, lock, kind)).or_default();
        sums.0 += count;
        sums.1 += wait_ns;
    }

    /// Snapshots with their real and CPU time.
    pub fn sample(
        &mut self,
        thread: u32,
        stack: u32,
        state: State,
        (lock, kind): (u32, Option<WaitKind>),
        [count, wall_ns, cpu_ns]: [u64; 3],
    ) {
        let sample = SampleRow { thread, stack, state, lock, kind, count, wall_ns, cpu_ns };
        self.profile.samples.push(sample);
    }

    pub fn done(mut self) -> Profile {
        for ((thread, stack, lock, kind), (count, wait_ns)) in self.waits {
            self.profile.waits.push(WaitRow {
                thread,
                stack,
                lock,
                kind,
                owner: NO_OWNER,
                count,
                wait_ns,
                max_ns: wait_ns,
            });
        }
        let key = |row: &SampleRow| (row.thread, row.stack, row.state, row.lock, row.kind);
        self.profile.samples.sort_by_key(key);
        self.profile.check().unwrap();
        self.profile
    }
}
