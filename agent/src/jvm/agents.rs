//! Other agents in the same JVM, told by the libraries that are loaded.
//!
//! JVMTI does not tell one agent of another. What needs no thread of the JVM's can be
//! asked for as often as one likes.

use std::{
    ffi::{CStr, CString, c_int, c_void},
    sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed, Ordering::SeqCst},
};

/// What runs agents that are written in Java.
const JAVA_AGENTS: &[u8] = b"libinstrument.so";
/// The debugger's agent: it gives no classes other bytes unless its user does.
const DEBUGGER: &[u8] = b"libjdwp.so";
/// What the names of this agent's files begin with.
const OWN: &[u8] = b"libtyrion_agent";
/// What the JVM calls in an agent's library: it has one of these, or both.
const ENTRIES: [&CStr; 2] = [c"Agent_OnLoad", c"Agent_OnAttach"];

/// As what the JVM has this copy of the agent, as far as that is known: as an agent as long as
/// it is not [`LIBRARY`]. Other copies look it up by this name.
#[unsafe(export_name = "tyrion_agent_loaded_as")]
static LOADED_AS: AtomicU8 = AtomicU8::new(UNKNOWN);
const LOADED_AS_NAME: &CStr = c"tyrion_agent_loaded_as";
const UNKNOWN: u8 = 0;
/// As a native library of a Java class alone.
const LIBRARY: u8 = 1;
const AGENT: u8 = 2;

/// Which others there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Others {
    /// There are agents written in Java. Each has the JVM read every class that it
    /// loads from its file, for as long as the JVM lives.
    pub java: bool,
    /// There are others that may give classes other bytes.
    pub native: bool,
}

/// A library that is loaded: where it is, and its path.
struct Library {
    address: u64,
    path: CString,
}

/// The libraries of the process, and the number of those that were ever loaded.
#[derive(Default)]
struct Libraries {
    all: Vec<Library>,
    loads: u64,
    /// Those of a process that has loaded as many are known.
    known_loads: u64,
}

/// What [`others`] last found, and how many libraries had been loaded by then.
static LOADS: AtomicU64 = AtomicU64::new(0);
static FOUND: AtomicU64 = AtomicU64::new(0);

const JAVA: u64 = 1;
const NATIVE: u64 = 2;

/// Looks for other agents. Takes a microsecond unless there is a new library.
pub fn others() -> Others {
    let known_loads = LOADS.load(Relaxed);
    let mut libraries = Libraries { known_loads, ..Libraries::default() };
    // SAFETY: the callback takes what it is given here as what it is, and nothing of
    // it outlasts the call.
    unsafe { libc::dl_iterate_phdr(Some(note_library), (&raw mut libraries).cast()) };
    if libraries.loads != known_loads {
        let own = own_address();
        let found = libraries.all.iter().filter(|library| library.address != own);
        let bits = found.fold(0, |bits, library| bits | kind_of(library));
        FOUND.store(bits, Relaxed);
        LOADS.store(libraries.loads, Relaxed);
    }
    let bits = FOUND.load(Relaxed);
    Others { java: bits & JAVA != 0, native: bits & NATIVE != 0 }
}

/// A Java class has loaded this copy, which may never become an agent.
pub fn is_a_library() {
    let _ = LOADED_AS.compare_exchange(UNKNOWN, LIBRARY, SeqCst, SeqCst);
}

/// A function of the copy of this agent that was loaded first as one, if this is a later one: a
/// JVM finds native methods in the first alone, so that is the one that has to do everything.
/// There are several where a command was killed before its copy was loaded, or two ran at once.
pub fn in_first_copy(entry: &CStr) -> Option<usize> {
    let first = find_first(entry, LOADED_AS.load(SeqCst) == LIBRARY);
    if first.is_none() {
        LOADED_AS.store(AGENT, SeqCst);
    }
    first
}

/// What was a library at first may be asked to become an agent after a copy that was loaded
/// later.
fn find_first(entry: &CStr, was_library: bool) -> Option<usize> {
    let own = own_address();
    let mut libraries = Libraries::default();
    // SAFETY: as in `others`.
    unsafe { libc::dl_iterate_phdr(Some(note_library), (&raw mut libraries).cast()) };
    if libraries.all.iter().all(|library| library.address != own) {
        return None;
    }
    let length = libraries.all.iter().take_while(|library| library.address != own).count();
    let others = if was_library { &libraries.all[..] } else { &libraries.all[..length] };
    let mut copies = others.iter().filter(|it| it.address != own && is_own(&it.path));
    copies.find_map(|library| {
        // SAFETY: as in `is_agent`. It stays open, as the library stays loaded.
        let found = unsafe {
            let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
            let handle = libc::dlopen(library.path.as_ptr(), flags);
            if handle.is_null() {
                return None;
            }
            let loaded_as = libc::dlsym(handle, LOADED_AS_NAME.as_ptr()).cast::<AtomicU8>();
            // Copies of earlier releases do not have it.
            if loaded_as.as_ref().is_some_and(|it| it.load(SeqCst) == LIBRARY) {
                return None;
            }
            libc::dlsym(handle, entry.as_ptr())
        };
        (!found.is_null()).then_some(found as usize)
    })
}

/// Whether a library has the name of ours.
fn is_own(path: &CStr) -> bool {
    let name = path.to_bytes().rsplit(|&byte| byte == b'/').next();
    name.is_some_and(|name| name.starts_with(OWN) && name.ends_with(b".so"))
}

/// Notes a library. The dynamic linker is locked meanwhile, so it is asked nothing.
unsafe extern "C" fn note_library(
    info: *mut libc::dl_phdr_info,
    _: libc::size_t,
    libraries: *mut c_void,
) -> c_int {
    // SAFETY: the linker passes its description of a library, and what it was given.
    let (info, libraries) = unsafe { (&*info, &mut *libraries.cast::<Libraries>()) };
    libraries.loads = info.dlpi_adds;
    if libraries.loads == libraries.known_loads {
        return 1;
    }
    if !info.dlpi_name.is_null() {
        // SAFETY: the name ends with a zero byte.
        let path = unsafe { CStr::from_ptr(info.dlpi_name) }.to_owned();
        libraries.all.push(Library { address: info.dlpi_addr, path });
    }
    0
}

fn kind_of(library: &Library) -> u64 {
    let path = library.path.to_bytes();
    match path.rsplit(|&byte| byte == b'/').next() {
        Some(JAVA_AGENTS) => JAVA,
        // The program itself has no name.
        Some(DEBUGGER | b"") | None => 0,
        Some(_) if is_agent(&library.path) => NATIVE,
        Some(_) => 0,
    }
}

/// Whether a library that is loaded has what the JVM calls in an agent.
fn is_agent(path: &CStr) -> bool {
    let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
    // SAFETY: the name ends with a zero byte; with this flag nothing is loaded, so no
    // code runs.
    let handle = unsafe { libc::dlopen(path.as_ptr(), flags) };
    if handle.is_null() {
        return false;
    }
    // SAFETY: the handle is one of a loaded library, and the names end with a zero byte.
    let has = |name: &CStr| !unsafe { libc::dlsym(handle, name.as_ptr()) }.is_null();
    let is_agent = ENTRIES.into_iter().any(has);
    // SAFETY: the handle was opened above, and is not used again.
    unsafe { libc::dlclose(handle) };
    is_agent
}

/// Where the linker has put this library; 0 where it does not tell.
fn own_address() -> u64 {
    // SAFETY: all-zero is a valid value of this plain struct.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    let own: *const c_void = (others as fn() -> Others) as *const c_void;
    // SAFETY: `info` is a valid place for the answer.
    match unsafe { libc::dladdr(own, &mut info) } {
        0 => 0,
        _ => info.dli_fbase as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_loaded_here_is_no_agent_but_for_the_tests_themselves() {
        // The tests' own program has no name, and the C library is none.
        assert_eq!(others(), Others::default());
        assert_eq!(others(), Others::default());
    }

    #[test]
    fn the_first_copy_is_known_by_its_name() {
        assert!(is_own(c"/tmp/.tyrion-00/libtyrion_agent.so"));
        assert!(is_own(c"/usr/lib/tyrion/libtyrion_agent-musl.so"));
        assert!(!is_own(c"/opt/libother.so") && !is_own(c""));
        assert_eq!(in_first_copy(c"Agent_OnAttach"), None);
    }

    #[test]
    fn java_agents_are_told_by_the_library_that_runs_them() {
        let of = |path: &CStr| kind_of(&Library { address: 0, path: path.to_owned() });
        assert_eq!(of(c"/opt/jdk/lib/libinstrument.so"), JAVA);
        assert_eq!(of(c"libinstrument.so"), JAVA);
        assert_eq!(of(c"/opt/jdk/lib/libjdwp.so"), 0);
        assert_eq!(of(c"/nowhere/libother.so"), 0);
        assert_eq!(of(c""), 0);
    }
}
