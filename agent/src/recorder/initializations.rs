//! Threads that wait until another one has initialized a class: what their stacks say.
//!
//! The JVM tells nobody of such a wait: the thread counts as one that runs. But HotSpot
//! keeps it from running (`_thread_blocked`), its innermost frame is at an instruction that
//! has a class initialized, and the thread that initializes it has the class's `<clinit>`
//! on its stack, or that of a superclass.

use super::{Recorder, takers::may_initialize};
use crate::jvm::{Java, Local, Object, monitors::Spot};
use jvmti_bindings::sys::{jni::jmethodID, jvmti::jvmtiFrameInfo};
use std::collections::HashMap;
use tyrion_bytecode::naming::initialized_class;

/// Of a stack, so many frames are searched for what it initializes.
const DEPTH: usize = 1024;
/// The native methods that have a class initialized without an instruction that names it.
const NATIVE: [(&str, &str); 6] = [
    ("Ljava/lang/Class;", "forName0"),
    ("Ljdk/internal/misc/Unsafe;", "ensureClassInitialized0"),
    ("Ljdk/internal/misc/Unsafe;", "allocateInstance"),
    ("Lsun/misc/Unsafe;", "ensureClassInitialized"),
    ("Lsun/misc/Unsafe;", "allocateInstance"),
    ("Ljdk/internal/reflect/NativeConstructorAccessorImpl;", "newInstance0"),
];

/// Who initializes a class that another thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Initializer {
    /// Its Java id.
    pub java_id: i64,
    /// Whether all that is known of it is that it initializes a superclass.
    pub is_of_super: bool,
}

/// A class that a thread is just initializing.
struct Initialized<'j> {
    java_id: i64,
    class: Local<'j>,
    /// Its internal name.
    name: String,
}

impl Recorder {
    /// The platform threads, by their Java ids, and where each of them is if the JVM keeps it
    /// from running at this moment, for whatever reason.
    pub fn blocked_threads(&self) -> Vec<(i64, Option<Spot>)> {
        let Some(monitors) = self.monitors() else { return Vec::new() };
        let threads = self.addresses().into_iter();
        threads.map(|(java_id, at)| (java_id, monitors.blocked_at(at))).collect()
    }

    /// The same of one thread.
    pub fn is_blocked_thread(&self, java_id: i64) -> bool {
        let at = self.address_of(java_id);
        self.monitors().zip(at).is_some_and(|(monitors, at)| monitors.is_blocked(at))
    }

    /// The internal name of the class that a thread has to wait for where it is; `None` where
    /// it initializes none. Where code does not name it, it is the one that other threads
    /// initialize, if there is but one.
    pub fn class_to_initialize(
        &self,
        java: Java,
        thread: Object<'_>,
        waiter: i64,
    ) -> Option<String> {
        let mut frames = [jvmtiFrameInfo { method: std::ptr::null_mut(), location: 0 }];
        let count = self.ti.stack_of(thread, 0, &mut frames).ok()?;
        let &[jvmtiFrameInfo { method, location }] = frames.get(..count)? else { return None };
        if location >= 0 {
            let code = self.ti.code(java, method).ok()?;
            let pc = may_initialize(&code.code, location)?;
            return code.with_body(|body| Some(initialized_class(body, pc)?.to_string()));
        }
        let (name, _) = self.ti.method_name(method).ok()?;
        let class = self.ti.class_of_method(java, method).ok()?;
        let is_it = |&(of, called): &(&str, &str)| {
            of.as_bytes() == class.as_slice() && called.as_bytes() == name.as_slice()
        };
        NATIVE.iter().find(|native| is_it(native))?;
        let initialized = self.initialized_by_others(java, waiter);
        let name = initialized.first().map(|it| it.name.clone());
        let is_one = initialized.iter().all(|it| Some(&it.name) == name.as_ref());
        initialized.into_iter().for_each(|it| java.drop_local(it.class));
        name.filter(|_| is_one)
    }

    /// The thread that initializes a class, given by its internal name, for which another
    /// one waits.
    pub fn initializer(&self, java: Java, class: &str, waiter: i64) -> Option<Initializer> {
        let initialized = self.initialized_by_others(java, waiter);
        let direct = initialized.iter().find(|it| it.name == class);
        let direct = direct.map(|it| Initializer { java_id: it.java_id, is_of_super: false });
        let found = direct.or_else(|| {
            // It may have come no further than to a superclass.
            let of_super = |java_id| Initializer { java_id, is_of_super: true };
            let is_none = initialized.is_empty();
            let found = (!is_none).then(|| self.initializer_of_super(java, class, &initialized))?;
            found.map(of_super)
        });
        initialized.into_iter().for_each(|it| java.drop_local(it.class));
        found
    }

    fn initializer_of_super(
        &self,
        java: Java,
        class: &str,
        initialized: &[Initialized<'_>],
    ) -> Option<i64> {
        let signature = format!("L{class};");
        let mut found = None;
        for loaded in self.ti.loaded_classes(java).unwrap_or_default() {
            let is_it = || {
                let of = self.ti.class_signature(loaded.get());
                of.is_ok_and(|of| of == signature.as_bytes())
            };
            if found.is_none() && is_it() {
                let is_super =
                    |it: &&Initialized<'_>| java.is_subclass(loaded.get(), it.class.get());
                found = initialized.iter().find(is_super).map(|it| it.java_id);
            }
            java.drop_local(loaded);
        }
        found
    }

    /// Whether a thread is initializing a class, or a superclass of it, still: whether the
    /// stack has as much of `<clinit>` as before.
    pub fn initializes_still(&self, java: Java, java_id: i64) -> bool {
        let thread = self.thread_object(java, java_id);
        let initialized = match thread.is_null() {
            true => Vec::new(),
            false => self.initialized_by(java, &[(java_id, thread.get())]),
        };
        java.drop_local(thread);
        let any = !initialized.is_empty();
        initialized.into_iter().for_each(|it| java.drop_local(it.class));
        any
    }

    /// What all threads but one are initializing.
    fn initialized_by_others<'j>(&self, java: Java<'j>, waiter: i64) -> Vec<Initialized<'j>> {
        let all = self.ti.all_threads(java).unwrap_or_default();
        let others: Vec<(i64, Object<'_>)> = all
            .iter()
            .map(|thread| (self.java_id(java, thread.get()), thread.get()))
            .filter(|&(java_id, _)| java_id != waiter)
            .collect();
        let initialized = self.initialized_by(java, &others);
        all.into_iter().for_each(|thread| java.drop_local(thread));
        initialized
    }

    fn initialized_by<'j>(
        &self,
        java: Java<'j>,
        threads: &[(i64, Object<'_>)],
    ) -> Vec<Initialized<'j>> {
        let objects: Vec<Object<'_>> = threads.iter().map(|&(_, thread)| thread).collect();
        let mut methods: Vec<(i64, jmethodID)> = Vec::new();
        let _ = self.ti.stacks_of(&objects, DEPTH, |nth, _, frames| {
            methods.extend(frames.iter().map(|frame| (threads[nth].0, frame.method)));
        });
        let mut are_initializers: HashMap<usize, bool> = HashMap::new();
        methods.retain(|&(_, method)| {
            let of = || self.ti.method_name(method).is_ok_and(|(name, _)| name == b"<clinit>");
            *are_initializers.entry(method.addr()).or_insert_with(of)
        });
        let initialized = methods.into_iter().filter_map(|(java_id, method)| {
            let class = self.ti.declaring_class(java, method).ok()?;
            let signature = self.ti.class_signature(class.get()).unwrap_or_default();
            let name = signature.strip_prefix(b"L").and_then(|name| name.strip_suffix(b";"));
            let name = String::from_utf8_lossy(name.unwrap_or_default()).into_owned();
            Some(Initialized { java_id, class, name })
        });
        initialized.collect()
    }
}
