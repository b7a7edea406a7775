//! The threads that are looked at, in the order in which they came.

use super::settings::Settings;
use crate::{
    clock,
    jvm::{
        Java, Object,
        java::Global,
        threads::{any_unmarked, is_own},
        ti::ThreadInfo,
    },
    recorder::{Recorder, threads::Thread},
    table::Table,
};
use jvmti_bindings::sys::jni::jint;
use std::sync::Arc;

/// The name of the agent's own threads.
const OWN_NAME: &[u8] = b"tyrion";

/// A platform thread.
pub struct ThreadRow {
    /// Its Java id.
    pub java_id: i64,
    /// The thread itself.
    pub thread: Global,
    /// As the recorder knows it; `None` for the agent's own, which are not
    /// looked at.
    pub known: Option<Arc<Thread>>,
    /// It is sampled, as far as it does not run virtual threads.
    pub wanted: bool,
    /// It runs virtual threads.
    pub is_carrier: bool,
    /// The one that it ran when it was looked at last.
    pub mounted: Option<MountedThread>,
    /// When it started, monotonic ns, if that is known.
    pub started_ns: Option<u64>,
    /// It has not been looked at yet.
    pub is_new: bool,
    /// What the JVM had noted of its state when the snapshot began.
    pub noted: Option<jint>,
    name: Name,
    is_daemon: bool,
    present: bool,
}

/// A virtual thread on its carrier.
pub struct MountedThread {
    /// Its Java id.
    pub java_id: i64,
    /// As the recorder knows it.
    pub known: Arc<Thread>,
    /// It is sampled.
    pub wanted: bool,
    thread: Global,
    name: Name,
}

/// A thread's name.
struct Name {
    text: Vec<u8>,
    /// The object that is its name, if that is known.
    object: Option<Global>,
}

impl Name {
    /// A thread's name, and what else there is to know of the thread; to be
    /// given back with [`Name::drop`].
    fn of((recorder, java): (&Recorder, Java), thread: Object<'_>) -> Option<(Name, ThreadInfo)> {
        // Before its text: should the thread get another name meanwhile, that is
        // noticed next time.
        let local = recorder.name_object(java, thread);
        let name = recorder.ti().thread(java, thread).ok().map(|info| {
            let (text, object) = (info.name.clone(), java.global(local.get()));
            (Name { text, object }, info)
        });
        java.drop_local(local);
        name
    }

    /// Whether the thread has another name by now, which it has from here on.
    fn changes(
        &mut self,
        (recorder, java): (&Recorder, Java),
        thread: Object<'_>,
        known: &Thread,
    ) -> bool {
        let Some(before) = &self.object else { return false };
        let name = recorder.name_object(java, thread);
        let changes = !name.is_null() && !java.is_same(name.get(), before.get());
        if changes {
            if let Ok(info) = recorder.ti().thread(java, thread) {
                self.text.clone_from(&info.name);
                known.rename(&recorder.log().current(), info.name, clock::now_ns());
            }
            if let Some(before) = std::mem::replace(&mut self.object, java.global(name.get())) {
                java.drop_global(before);
            }
        }
        java.drop_local(name);
        changes
    }

    fn drop(self, java: Java) {
        if let Some(object) = self.object {
            java.drop_global(object);
        }
    }
}

/// All of them.
#[derive(Default)]
pub struct ThreadTable {
    /// In the order in which they came.
    pub all: Vec<ThreadRow>,
    index: Table<i64, usize>,
    /// By which it was said which of them are sampled.
    selected_by: Option<Settings>,
}

impl ThreadTable {
    /// Asks for the JVM's threads: `false` when some are not known yet. `gone`
    /// gets those that have ended.
    pub fn refresh(
        &mut self,
        (recorder, java): (&Recorder, Java),
        settings: &Settings,
        started: &Table<i64, u64>,
        mut gone: impl FnMut(&ThreadRow),
    ) -> bool {
        // Before the threads are asked for whether they are marked.
        let unmarked = any_unmarked();
        let Ok(threads) = recorder.ti().all_threads(java) else { return false };
        let mut complete = true;
        self.all.iter_mut().for_each(|row| row.present = false);
        for thread in threads {
            let java_id = recorder.java_id(java, thread.get());
            if let Some(&at) = self.index.get(&java_id) {
                self.all[at].present = true;
            } else if let Some(row) = ThreadRow::new((recorder, java), thread.get(), unmarked) {
                self.index.insert(java_id, self.all.len());
                self.all.push(row);
            } else {
                complete = false;
            }
            java.drop_local(thread);
        }
        for row in self.all.iter_mut().filter(|row| row.started_ns.is_none()) {
            row.started_ns = started.get(&row.java_id).copied();
            if let (Some(known), Some(started_ns)) = (&row.known, row.started_ns) {
                known.started_at(&recorder.log().current(), started_ns);
            }
        }
        self.select((recorder, java), settings);
        self.remove((recorder, java), |row| !row.present, &mut gone);
        complete
    }

    /// Whether a thread is among them.
    pub fn has(&self, java_id: i64) -> bool {
        self.index.contains_key(&java_id)
    }

    /// Says which threads are sampled: new ones, or all where that is asked for in
    /// another way than before.
    fn select(&mut self, jvm: (&Recorder, Java), settings: &Settings) {
        let anew = self.selected_by.as_ref() != Some(settings);
        for row in self.all.iter_mut().filter(|row| anew || row.is_new) {
            row.select(settings);
            if anew {
                row.unmount(jvm);
            }
        }
        if anew {
            self.selected_by = Some(settings.clone());
        }
    }

    /// Removes threads; `gone` gets each of them.
    pub fn remove(
        &mut self,
        (recorder, java): (&Recorder, Java),
        which: impl Fn(&ThreadRow) -> bool,
        gone: &mut impl FnMut(&ThreadRow),
    ) {
        let before = self.all.len();
        for mut row in self.all.extract_if(.., |row| which(row)) {
            gone(&row);
            row.unmount((recorder, java));
            java.drop_global(row.thread);
            row.name.drop(java);
        }
        if self.all.len() != before {
            self.index.clear();
            let numbered = self.all.iter().enumerate();
            self.index.extend(numbered.map(|(at, row)| (row.java_id, at)));
        }
    }
}

impl ThreadRow {
    /// `None` for a thread that is just coming or going. `unmarked` says that
    /// there may be threads of the agent's own that do not look so yet.
    fn new(
        (recorder, java): (&Recorder, Java),
        thread: Object<'_>,
        unmarked: bool,
    ) -> Option<ThreadRow> {
        let ti = recorder.ti();
        let java_id = recorder.java_id(java, thread);
        let is_own = is_own(java, thread);
        // One that is going is marked no more; when it is gone, it is dead.
        let unmarked = unmarked || any_unmarked();
        if java_id <= 0 || !ti.is_alive(thread) {
            return None;
        }
        let (name, info) = Name::of((recorder, java), thread)?;
        let may_be_own = !is_own && unmarked && info.name == OWN_NAME;
        let global = if may_be_own { None } else { java.global(thread) };
        let Some(global) = global else {
            name.drop(java);
            return None;
        };
        let is_daemon = info.daemon;
        Some(ThreadRow {
            java_id,
            thread: global,
            known: (!is_own).then(|| recorder.known_thread(java, thread, java_id, info)),
            wanted: false,
            is_carrier: recorder.is_carrier(java, thread),
            mounted: None,
            started_ns: None,
            is_new: true,
            noted: None,
            name,
            is_daemon,
            present: true,
        })
    }

    /// Says whether the thread is sampled.
    fn select(&mut self, settings: &Settings) {
        self.wanted = self.known.as_ref().is_some_and(|known| !known.excluded)
            && settings.wants(&self.name.text, self.is_daemon);
    }

    /// Looks whether the thread has another name: then it may be sampled no
    /// more, or from now on.
    pub fn check_name(&mut self, jvm: (&Recorder, Java), settings: &Settings) -> bool {
        let Some(known) = &self.known else { return false };
        let changes = self.name.changes(jvm, self.thread.get(), known);
        if changes {
            self.select(settings);
        }
        changes
    }

    /// A carrier runs this virtual thread now: `None` when nothing is known
    /// of it.
    pub fn mount(
        &mut self,
        (recorder, java): (&Recorder, Java),
        thread: Object<'_>,
        settings: &Settings,
    ) -> Option<&MountedThread> {
        let java_id = recorder.java_id(java, thread);
        // All virtual threads are daemons; that says nothing of them.
        let wants =
            |name: &Name, known: &Thread| settings.wants(&name.text, false) && !known.excluded;
        match self.mounted.as_mut().filter(|mounted| mounted.java_id == java_id) {
            Some(MountedThread { known, wanted, name, .. }) => {
                if name.changes((recorder, java), thread, known) {
                    *wanted = wants(name, known);
                }
            }
            None => {
                self.unmount((recorder, java));
                let (name, info) = Name::of((recorder, java), thread)?;
                let known = recorder.known_thread(java, thread, java_id, info);
                let Some(global) = java.global(thread) else {
                    name.drop(java);
                    return None;
                };
                let wanted = wants(&name, &known);
                self.mounted = Some(MountedThread { java_id, known, wanted, thread: global, name });
            }
        }
        self.mounted.as_ref()
    }

    /// A carrier does not run that virtual thread any more: its Java id.
    pub fn unmount(&mut self, (recorder, java): (&Recorder, Java)) -> Option<i64> {
        let MountedThread { java_id, thread, name, .. } = self.mounted.take()?;
        // It may have said that it ends before it was known here.
        if !recorder.ti().is_alive(thread.get()) {
            recorder.forget_ended(java_id);
        }
        java.drop_global(thread);
        name.drop(java);
        Some(java_id)
    }
}
