//! The threads that are looked at, in the order in which they came.

use super::Settings;
use crate::{
    clock,
    jvm::{
        Java,
        java::Global,
        threads::{any_unmarked, is_own},
    },
    lane::Table,
    recorder::Recorder,
    threads::Thread,
};
use jvmti_bindings::sys::jni::jthread;
use std::sync::Arc;

/// The name of the agent's own threads.
const OWN_NAME: &[u8] = b"tyrion";

/// A platform thread.
pub struct Seat {
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
    pub occupant: Option<Occupant>,
    /// When it started, monotonic ns, if that is known.
    pub started_ns: Option<u64>,
    name: Vec<u8>,
    is_daemon: bool,
    /// The object that is its name.
    name_object: Option<Global>,
    present: bool,
}

/// A virtual thread on its carrier.
pub struct Occupant {
    /// Its Java id.
    pub java_id: i64,
    /// As the recorder knows it.
    pub known: Arc<Thread>,
    /// It is sampled.
    pub wanted: bool,
    thread: Global,
}

/// All of them.
#[derive(Default)]
pub struct Seats {
    /// In the order in which they came.
    pub all: Vec<Seat>,
    index: Table<i64, usize>,
}

impl Seats {
    /// Asks for the JVM's threads: `false` when some could not be told yet. Of
    /// those that are gone, `gone` is told.
    pub fn refresh(
        &mut self,
        (recorder, java): (&Recorder, Java),
        settings: &Settings,
        started: &Table<i64, u64>,
        mut gone: impl FnMut(&Seat),
    ) -> bool {
        // Before the threads are asked for whether they are marked.
        let unmarked = any_unmarked();
        let Ok(threads) = recorder.ti().all_threads(java) else { return false };
        let mut complete = true;
        self.all.iter_mut().for_each(|seat| seat.present = false);
        for thread in threads {
            let java_id = recorder.java_id(java, thread);
            if let Some(&at) = self.index.get(&java_id) {
                self.all[at].present = true;
            } else if let Some(seat) = Seat::new((recorder, java), thread, unmarked) {
                self.index.insert(java_id, self.all.len());
                self.all.push(seat);
            } else {
                complete = false;
            }
            java.drop_local(thread);
        }
        for seat in self.all.iter_mut().filter(|seat| seat.started_ns.is_none()) {
            seat.started_ns = started.get(&seat.java_id).copied();
            if let (Some(known), Some(started_ns)) = (&seat.known, seat.started_ns) {
                known.started_at(&recorder.log().current(), started_ns);
            }
        }
        self.choose(settings);
        self.remove((recorder, java), |seat| !seat.present, &mut gone);
        complete
    }

    /// Says which threads are sampled.
    fn choose(&mut self, settings: &Settings) {
        for seat in &mut self.all {
            let known = seat.known.as_ref();
            seat.wanted = known.is_some_and(|known| !known.excluded)
                && settings.wants(&seat.name, seat.is_daemon);
        }
    }

    /// Removes threads; `gone` is told of each.
    pub fn remove(
        &mut self,
        (recorder, java): (&Recorder, Java),
        which: impl Fn(&Seat) -> bool,
        gone: &mut impl FnMut(&Seat),
    ) {
        let before = self.all.len();
        for mut seat in self.all.extract_if(.., |seat| which(seat)) {
            gone(&seat);
            seat.vacate((recorder, java));
            java.drop_global(seat.thread);
            if let Some(name) = seat.name_object {
                java.drop_global(name);
            }
        }
        if self.all.len() != before {
            self.index.clear();
            let numbered = self.all.iter().enumerate();
            self.index.extend(numbered.map(|(at, seat)| (seat.java_id, at)));
        }
    }
}

impl Seat {
    /// `None` for a thread that is just coming or going. `unmarked` says that
    /// there may be threads of the agent's own that do not look so yet.
    fn new((recorder, java): (&Recorder, Java), thread: jthread, unmarked: bool) -> Option<Seat> {
        let ti = recorder.ti();
        let java_id = recorder.java_id(java, thread);
        let is_own = is_own(java, thread);
        // One that is going is marked no more; when it is gone, it is dead.
        let unmarked = unmarked || any_unmarked();
        ti.state(thread).ok()?.filter(|_| java_id > 0)?;
        let info = ti.thread(java, thread).ok()?;
        if !is_own && unmarked && info.name == OWN_NAME {
            return None;
        }
        let global = java.global(thread)?;
        let (name, is_daemon) = (info.name.clone(), info.daemon);
        let name_object = recorder.name_object(java, thread);
        let seat = Seat {
            java_id,
            thread: global,
            known: (!is_own).then(|| recorder.sampled_thread(java, thread, java_id, info)),
            wanted: false,
            is_carrier: recorder.is_carrier(java, thread),
            occupant: None,
            started_ns: None,
            name,
            is_daemon,
            name_object: java.global(name_object),
            present: true,
        };
        java.drop_local(name_object);
        Some(seat)
    }

    /// Looks whether the thread has another name: then it may be sampled no
    /// more, or from now on.
    pub fn check_name(&mut self, (recorder, java): (&Recorder, Java), settings: &Settings) {
        let (Some(before), Some(known)) = (&self.name_object, &self.known) else { return };
        let name = recorder.name_object(java, self.thread.get());
        if !name.is_null() && !java.is_same(name, before.get()) {
            if let Ok(info) = recorder.ti().thread(java, self.thread.get()) {
                self.name.clone_from(&info.name);
                known.rename(&recorder.log().current(), info.name, clock::now_ns());
            }
            self.wanted = !known.excluded && settings.wants(&self.name, self.is_daemon);
            if let Some(before) = std::mem::replace(&mut self.name_object, java.global(name)) {
                java.drop_global(before);
            }
        }
        java.drop_local(name);
    }

    /// A carrier runs this virtual thread now: `None` when nothing can be told
    /// of it.
    pub fn occupy(
        &mut self,
        (recorder, java): (&Recorder, Java),
        thread: jthread,
        settings: &Settings,
    ) -> Option<&Occupant> {
        let java_id = recorder.java_id(java, thread);
        let is_same = self.occupant.as_ref().is_some_and(|occupant| occupant.java_id == java_id);
        if !is_same {
            self.vacate((recorder, java));
            let info = recorder.ti().thread(java, thread).ok()?;
            // All virtual threads are daemons; that says nothing of them.
            let wanted = settings.wants(&info.name, false);
            let known = recorder.sampled_thread(java, thread, java_id, info);
            let wanted = wanted && !known.excluded;
            let thread = java.global(thread)?;
            self.occupant = Some(Occupant { java_id, known, wanted, thread });
        }
        self.occupant.as_ref()
    }

    /// A carrier does not run that virtual thread any more: its Java id.
    pub fn vacate(&mut self, (recorder, java): (&Recorder, Java)) -> Option<i64> {
        let Occupant { java_id, thread, .. } = self.occupant.take()?;
        // It may have said that it ends before it was known here.
        if !matches!(recorder.ti().state(thread.get()), Ok(Some(_))) {
            recorder.forget_ended(java_id);
        }
        java.drop_global(thread);
        Some(java_id)
    }
}
