//! Threads that wait until another one has initialized a class: what their stacks say.
//!
//! The JVM tells nobody of such a wait: the thread counts as one that runs. But HotSpot
//! keeps it from running (`_thread_blocked`), its innermost frame is at an instruction that
//! has a class initialized, and the thread that initializes it has the class's `<clinit>`
//! on its stack, or that of a superclass.

use super::{Recorder, takers::may_initialize};
use crate::jvm::{Java, Local, Object, monitors::Spot};
use jvmti_bindings::sys::{
    jni::{jint, jmethodID},
    jvmti::jvmtiFrameInfo,
};
use std::collections::HashMap;
use tyrion_bytecode::naming::initialized_class;

/// Of a stack, so many frames are searched for what it initializes.
const DEPTH: usize = 1024;
/// The native methods that have a class initialized without an instruction that names it.
const NATIVE: [(&str, &str); 7] = [
    ("Ljava/lang/Class;", "forName0"),
    ("Ljdk/internal/misc/Unsafe;", "ensureClassInitialized0"),
    ("Ljdk/internal/misc/Unsafe;", "allocateInstance"),
    ("Lsun/misc/Unsafe;", "ensureClassInitialized"),
    ("Lsun/misc/Unsafe;", "allocateInstance"),
    ("Ljdk/internal/reflect/NativeConstructorAccessorImpl;", "newInstance0"),
    ("Lsun/reflect/NativeConstructorAccessorImpl;", "newInstance0"),
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

/// What threads are initializing.
pub struct InProgress<'j> {
    classes: Vec<Initialized<'j>>,
    /// Who initializes superclasses of a class, as far as that was asked for.
    supers: HashMap<String, Vec<i64>>,
}

impl InProgress<'_> {
    /// The only class that is initialized by threads other than this one.
    pub fn only_class(&self, waiter: i64) -> Option<&str> {
        let mut others = self.classes.iter().filter(|it| it.java_id != waiter);
        let first = others.next()?;
        others.all(|it| it.name == first.name).then_some(first.name.as_str())
    }

    /// Gives the references back.
    pub fn drop_all(self, java: Java) {
        self.classes.into_iter().for_each(|it| java.drop_local(it.class));
    }
}

impl Recorder {
    /// The platform threads and those that they run, by their Java ids, and where each of them
    /// is if the JVM keeps it from running at this moment, for whatever reason.
    pub fn blocked_threads(&self) -> Vec<(i64, Option<Spot>)> {
        let Some(monitors) = self.monitors() else { return Vec::new() };
        let threads = self.addresses().into_iter().chain(self.mounted());
        threads.map(|(java_id, at)| (java_id, monitors.blocked_at(at))).collect()
    }

    /// The same of one thread.
    pub fn blocked_at(&self, java_id: i64) -> Option<Spot> {
        let of_carrier = || {
            let mounted = self.mounted();
            mounted.into_iter().find(|(of, _)| *of == java_id).map(|(_, at)| at)
        };
        self.monitors()?.blocked_at(self.address_of(java_id).or_else(of_carrier)?)
    }

    /// A platform thread, or a virtual one that is mounted, as a local reference; null where
    /// it is not known.
    pub fn running_thread<'j>(&self, java: Java<'j>, java_id: i64) -> Local<'j> {
        let thread = self.thread_object(java, java_id);
        if thread.is_null() { self.mounted_thread(java, java_id) } else { thread }
    }

    /// The bits of the state of such a thread.
    pub fn status_of_running(&self, java: Java, thread: Object<'_>) -> Option<jint> {
        match java.is_instance(thread, self.fields.virtual_thread) {
            true => self.ti.state_bits(thread).ok(),
            false => self.thread_status(java, thread),
        }
    }

    /// Whether a thread is where it may wait for the initialization of a class, and which
    /// one, by its internal name; a native method does not say which.
    pub fn class_to_initialize(&self, java: Java, thread: Object<'_>) -> Option<Option<String>> {
        let mut frames = [jvmtiFrameInfo { method: std::ptr::null_mut(), location: 0 }];
        let count = self.ti.stack_of(thread, 0, &mut frames).ok()?;
        let &[jvmtiFrameInfo { method, location }] = frames.get(..count)? else { return None };
        if location >= 0 {
            let code = self.ti.code(java, method).ok()?;
            let pc = may_initialize(&code.code, location)?;
            let class = code.with_body(|body| Some(initialized_class(body, pc)?.to_string()))?;
            return Some(Some(class));
        }
        let (name, _) = self.ti.method_name(method).ok()?;
        let class = self.ti.class_of_method(java, method).ok()?;
        let is_it = |&&(of, called): &&(&str, &str)| {
            of.as_bytes() == class.as_slice() && called.as_bytes() == name.as_slice()
        };
        NATIVE.iter().find(is_it).map(|_| None)
    }

    /// What all threads are initializing now. To be given back with
    /// [`InProgress::drop_all`].
    pub fn in_progress<'j>(&self, java: Java<'j>) -> InProgress<'j> {
        let mut all = self.ti.all_threads(java).unwrap_or_default();
        let mounted = self.mounted().into_iter();
        all.extend(mounted.map(|(java_id, at)| self.mounted_thread_at(java, java_id, at)));
        all.retain(|thread| !thread.is_null());
        let threads: Vec<(i64, Object<'_>)> =
            all.iter().map(|thread| (self.java_id(java, thread.get()), thread.get())).collect();
        let classes = self.initialized_by(java, &threads);
        all.into_iter().for_each(|thread| java.drop_local(thread));
        InProgress { classes, supers: HashMap::new() }
    }

    /// The thread that initializes a class, given by its internal name, for which another
    /// one waits.
    pub fn initializer(
        &self,
        java: Java,
        known: &mut InProgress<'_>,
        class: &str,
        waiter: i64,
    ) -> Option<Initializer> {
        let others = |it: &&Initialized<'_>| it.java_id != waiter;
        let direct = known.classes.iter().filter(others).find(|it| it.name == class);
        if let Some(direct) = direct {
            return Some(Initializer { java_id: direct.java_id, is_of_super: false });
        }
        // It may have come no further than to a superclass.
        if !known.classes.iter().any(|it| it.java_id != waiter) {
            return None;
        }
        if !known.supers.contains_key(class) {
            let found = self.initializers_of_supers(java, class, &known.classes);
            known.supers.insert(class.to_owned(), found);
        }
        let of_supers = known.supers.get(class)?;
        let java_id = of_supers.iter().copied().find(|&java_id| java_id != waiter)?;
        Some(Initializer { java_id, is_of_super: true })
    }

    /// The threads that initialize superclasses of a class.
    fn initializers_of_supers(
        &self,
        java: Java,
        class: &str,
        initialized: &[Initialized<'_>],
    ) -> Vec<i64> {
        let signature = format!("L{class};");
        let mut found = Vec::new();
        for loaded in self.ti.loaded_classes(java).unwrap_or_default() {
            let of = self.ti.class_signature(loaded.get());
            if of.is_ok_and(|of| of == signature.as_bytes()) {
                let is_super =
                    |it: &&Initialized<'_>| java.is_subclass(loaded.get(), it.class.get());
                found.extend(initialized.iter().filter(is_super).map(|it| it.java_id));
            }
            java.drop_local(loaded);
        }
        found
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
