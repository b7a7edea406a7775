//! What trace mode needs of the recorder.

use super::{
    Recorder,
    locks::LockRef,
    scene::{ENDED, LOCAL, Local, Scene},
};
use crate::{
    dictionary::{MethodText, PlaceText},
    jvm::{Java, ti::ThreadInfo, walk::MOST_SKIPPED},
    threads::Thread,
    trace,
    volume::Volume,
};
use jvmti_bindings::sys::jni::{jmethodID, jobject, jthread};
use std::{cell::RefCell, sync::Arc};
use tyrion_wire::{def::id, trace::HoldBatch};

/// A thread that takes locks.
pub struct Traced {
    /// It is left out, by `exclude-threads`.
    pub excluded: bool,
    /// It is a virtual thread.
    pub is_virtual: bool,
    /// Whose its records are: those of virtual threads are one's.
    pub owner: Arc<Thread>,
}

impl Recorder {
    /// The current thread; `None` when it is just ending.
    pub fn traced_thread(&self, java: Java, thread: jthread, java_id: i64) -> Option<Traced> {
        let has_ended = ENDED.try_with(|ended| ended.get() == java_id).unwrap_or(true);
        if java_id <= 0 || has_ended {
            return None;
        }
        let known = match self.threads.get(java_id) {
            Some(known) => known,
            None => self.add_thread(java, thread, java_id),
        };
        self.describe_current(&self.log.current(), java, thread, &known);
        let is_virtual = java.is_instance(thread, self.fields.virtual_thread);
        let excluded = known.excluded;
        let owner = if is_virtual { self.owner_of_records(trace::VIRTUAL)? } else { known };
        Some(Traced { excluded, is_virtual, owner })
    }

    /// Runs `body` in a scene of the current OS thread, whose records are of
    /// another thread, which may have ended. `None` within another scene.
    pub fn trace_scene_of<R>(
        &'static self,
        thread: &Arc<Thread>,
        body: impl FnOnce(&mut Scene<'_>) -> R,
    ) -> Option<R> {
        self.scene(false, |_| Some(Arc::clone(thread)), body)
    }

    /// Runs `body` in a scene of the current OS thread, whose records are of
    /// the thread with this Java id, or of all virtual threads. `None` within
    /// another scene, and when the thread is not known any more.
    pub fn trace_scene<R>(
        &'static self,
        owner: i64,
        body: impl FnOnce(&mut Scene<'_>) -> R,
    ) -> Option<R> {
        self.scene_of_owner(owner, false, body)
    }

    /// The same for events that are told late, some time after others.
    pub fn late_scene<R>(
        &'static self,
        owner: i64,
        body: impl FnOnce(&mut Scene<'_>) -> R,
    ) -> Option<R> {
        self.scene_of_owner(owner, true, body)
    }

    fn scene_of_owner<R>(
        &'static self,
        owner: i64,
        is_late: bool,
        body: impl FnOnce(&mut Scene<'_>) -> R,
    ) -> Option<R> {
        let whose = |local: &mut Local| {
            if local.traced.as_ref().is_none_or(|known| known.java_id != owner) {
                local.traced = Some(self.owner_of_records(owner)?);
            }
            local.traced.clone()
        };
        self.scene(is_late, whose, body)
    }

    fn scene<R>(
        &'static self,
        is_late: bool,
        whose: impl FnOnce(&mut Local) -> Option<Arc<Thread>>,
        body: impl FnOnce(&mut Scene<'_>) -> R,
    ) -> Option<R> {
        let run = |cell: &RefCell<Option<Local>>| {
            let mut slot = cell.try_borrow_mut().ok()?;
            let local = slot.get_or_insert_with(|| self.local());
            let thread = &whose(local)?;
            let Local { lane, late, .. } = local;
            let lane = if is_late { late.get_or_insert_with(|| self.lanes.take()) } else { lane };
            let mut berth = lane.berth();
            let (volume, lane) = berth.enter(&self.log)?;
            let (frames, outermost) = (&mut local.frames[..], &mut local.outermost);
            Some(body(&mut Scene { volume, lane, thread, frames, outermost }))
        };
        LOCAL.try_with(run).ok().flatten()
    }

    /// The id in a volume of a thread by its Java id, or of all virtual ones;
    /// 0 when it is not known any more.
    pub fn traced_id(&self, volume: &Volume, owner: i64) -> u32 {
        self.owner_of_records(owner).map_or(id::UNKNOWN, |thread| thread.id(volume))
    }

    fn owner_of_records(&self, owner: i64) -> Option<Arc<Thread>> {
        let known = self.threads.get(owner);
        if known.is_some() || owner != trace::VIRTUAL {
            return known;
        }
        let all = self.threads.get_or_add(trace::VIRTUAL, false, self.log.epoch());
        let name = b"virtual threads".to_vec();
        all.describe(ThreadInfo { name, group: Vec::new(), daemon: true }, true);
        Some(all)
    }

    /// Appends a record of trace mode. `encode` gets the time since the record
    /// before.
    pub fn append(
        &self,
        scene: &mut Scene<'_>,
        at_ns: Option<u64>,
        encode: impl Fn(u64, &mut Vec<u8>),
    ) -> bool {
        let thread = scene.thread.id(scene.volume);
        scene.lane.append_misc(&scene.volume.log, thread, at_ns, encode)
    }

    /// Appends holds as one record.
    pub fn append_holds(&self, scene: &mut Scene<'_>, holds: &mut HoldBatch) -> bool {
        let thread = scene.thread.id(scene.volume);
        scene.lane.append_holds(&scene.volume.log, thread, holds)
    }

    /// The current stack without its innermost frames that are probes, nor
    /// the `skip` next ones.
    pub fn stack_below(
        &self,
        scene: &mut Scene<'_>,
        java: Java,
        is_probe: impl Fn(jmethodID) -> bool,
        skip: usize,
    ) -> u32 {
        let count = self.walk(scene, java, 0, false);
        let cut = count > self.depth;
        let frames = &scene.frames[..count.min(self.depth)];
        let probes = frames.iter().take_while(|frame| is_probe(frame.method)).count();
        let first = (probes + skip).min(frames.len());
        let group = self.group_of_current(scene, java);
        let which = first..first.max(count.min(self.depth));
        self.stack_of(scene, java, which, (cut, false), group).id
    }

    /// The id of a lock that was waited for, else 0.
    pub fn known_lock(&self, object: jobject) -> u32 {
        LockRef::from_tag(self.ti.tag(object)).map_or(id::UNKNOWN, |known| known.id)
    }

    /// The id of an object's class, as that of a lock.
    pub fn class_of_lock(&self, volume: &Volume, java: Java, object: jobject) -> Option<u32> {
        let (signature, source) = self.class_of(java, object)?;
        let signature = self.lock_signature(signature, object);
        volume.dictionary.class(&volume.log, &signature, &source)
    }
}

/// The frames of `TyrionTrace` between a program's block and the agent, when
/// the block says that its monitor took long.
pub const DELAY_PROBES: usize = 3;
const _: () = assert!(DELAY_PROBES <= MOST_SKIPPED);

/// When a thread that begins to wait for a monitor came to the block, monotonic
/// ns; `None` where nobody wants to know.
pub fn asked_ns(thread: &Thread) -> Option<u64> {
    trace::active()?.take_asked_ns(thread.java_id)
}

/// Has a place stand in a file of the log.
pub fn define_place(volume: &Volume, number: u32, place: &trace::Place) {
    let text = PlaceText {
        method: MethodText {
            class: place.class.as_bytes(),
            source: place.source_file.as_deref().unwrap_or_default().as_bytes(),
            name: place.method.as_bytes(),
            descriptor: place.descriptor.as_bytes(),
            first_line: place.first_line,
        },
        line: place.line,
        kind: place.kind,
        flags: place.flags,
        name: place.name.as_bytes(),
    };
    let _ = volume.dictionary.place(&volume.log, number, &text);
}
