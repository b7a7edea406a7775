//! Dumps in JSON: those of `jcmd Thread.dump_to_file -format=json`, and those of Spring's
//! actuator, which are `ThreadInfo` of the management beans. A file may have several, one
//! after another.

use super::{
    Dumps, line,
    raw::{RawDump, RawLock, RawOwner, RawState, RawThread, RawWait, WaitPhrase},
    to_file,
};
use crate::limits::thread_dump::MAX_JSON;
use serde::Deserialize;
use serde_json::Value;
use std::io;

/// What one of them is.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonFile {
    thread_dump: Option<JsonDump>,
    threads: Option<Vec<JsonInfo>>,
}

/// What the JDK writes.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonDump {
    process_id: Option<Value>,
    time: Option<String>,
    runtime_version: Option<String>,
    #[serde(default)]
    thread_containers: Vec<JsonContainer>,
}

#[derive(Deserialize)]
struct JsonContainer {
    #[serde(default)]
    threads: Vec<JsonThread>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonThread {
    tid: Option<Value>,
    #[serde(default)]
    name: String,
    #[serde(default, rename = "virtual")]
    is_virtual: bool,
    state: Option<String>,
    #[serde(default)]
    stack: Vec<String>,
    blocked_on: Option<String>,
    waiting_on: Option<String>,
    park_blocker: Option<JsonBlocker>,
    #[serde(default)]
    monitors_owned: Vec<JsonOwned>,
}

#[derive(Deserialize)]
struct JsonBlocker {
    object: Option<String>,
    owner: Option<Value>,
}

#[derive(Deserialize)]
struct JsonOwned {
    depth: Option<Value>,
    #[serde(default)]
    locks: Vec<Option<String>>,
}

/// A `ThreadInfo`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonInfo {
    #[serde(default)]
    thread_name: String,
    thread_id: Option<u64>,
    #[serde(default)]
    daemon: bool,
    thread_state: Option<String>,
    lock_name: Option<String>,
    lock_owner_id: Option<i64>,
    #[serde(default)]
    stack_trace: Vec<JsonElement>,
    #[serde(default)]
    locked_monitors: Vec<JsonMonitor>,
    #[serde(default)]
    locked_synchronizers: Vec<JsonSynchronizer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonElement {
    #[serde(default)]
    class_name: String,
    #[serde(default)]
    method_name: String,
    file_name: Option<String>,
    line_number: Option<i64>,
    #[serde(default)]
    native_method: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonMonitor {
    #[serde(default)]
    class_name: String,
    identity_hash_code: Option<u32>,
    locked_stack_depth: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonSynchronizer {
    #[serde(default)]
    class_name: String,
    identity_hash_code: Option<u32>,
}

/// Reads a text.
pub(super) fn read(text: &[u8], dumps: &mut Dumps<'_>) -> io::Result<()> {
    if text.len() > MAX_JSON {
        dumps.add_damage(0, "a dump in JSON that is longer than tyrion reads");
        return Ok(());
    }
    let mut stream = serde_json::Deserializer::from_slice(text).into_iter::<JsonFile>();
    loop {
        let offset = stream.byte_offset() as u64;
        match stream.next() {
            None => return Ok(()),
            Some(Ok(file)) => add(file, offset, dumps)?,
            Some(Err(error)) => {
                let what = match error.is_eof() {
                    true => "the JSON of a dump ends too early; what began here was left out",
                    false => "the JSON of a dump is damaged; what began here was left out",
                };
                dumps.add_damage(offset, what);
                return Ok(());
            }
        }
    }
}

fn add(file: JsonFile, offset: u64, dumps: &mut Dumps<'_>) -> io::Result<()> {
    let mut raw = RawDump { offset, ..RawDump::default() };
    if let Some(dump) = file.thread_dump {
        raw.wall_ns = dump.time.as_deref().and_then(line::moment_ns);
        raw.jvm = dump.runtime_version.unwrap_or_default();
        raw.pid = dump.process_id.as_ref().and_then(number).and_then(|it| it.try_into().ok());
        let threads = dump.thread_containers.into_iter().flat_map(|it| it.threads);
        raw.threads = threads.map(|thread| of_thread(thread, dumps)).collect();
    }
    if let Some(infos) = file.threads {
        raw.threads = infos.into_iter().map(|info| of_info(info, dumps)).collect();
    }
    dumps.add(raw)
}

/// Numbers were texts before JDK 27.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

fn of_thread(thread: JsonThread, dumps: &mut Dumps<'_>) -> RawThread {
    let frames = thread.stack.iter().filter_map(|frame| dumps.frames.number(frame)).collect();
    let waits = [
        (WaitPhrase::Enter, thread.blocked_on),
        (WaitPhrase::Wait, thread.waiting_on),
        (WaitPhrase::Park, thread.park_blocker.as_ref().and_then(|it| it.object.clone())),
    ];
    let wait = waits
        .into_iter()
        .find_map(|(how, lock)| Some(RawWait { how, lock: RawLock::at_sign(&lock?) }));
    let owner = thread.park_blocker.and_then(|it| number(&it.owner?)).map(RawOwner::Id);
    let locked = thread.monitors_owned.into_iter().flat_map(|owned| {
        let depth = owned.depth.as_ref().and_then(number).unwrap_or(0);
        let depth = usize::try_from(depth).unwrap_or(usize::MAX).saturating_add(1);
        owned.locks.into_iter().flatten().map(move |lock| (depth, RawLock::at_sign(&lock)))
    });
    let mut raw = RawThread {
        name: thread.name,
        id: thread.tid.as_ref().and_then(number),
        is_virtual: thread.is_virtual,
        state: thread.state.as_deref().map(RawState::of).unwrap_or_default(),
        is_java: true,
        frames,
        wait,
        owner,
        locked: locked.collect(),
        ..RawThread::default()
    };
    to_file::untold(&mut raw, dumps);
    raw
}

fn of_info(info: JsonInfo, dumps: &mut Dumps<'_>) -> RawThread {
    let frames = info.stack_trace.iter().filter_map(|it| dumps.frames.number(&it.text()));
    let frames = frames.collect();
    let lock = info.lock_name.as_deref().map(RawLock::at_sign);
    let object = |class: &str, hash: Option<u32>| RawLock {
        class: class.to_owned(),
        address: hash.map(|hash| format!("{hash:x}")).unwrap_or_default(),
    };
    let locked = info.locked_monitors.iter().map(|it| {
        let depth = usize::try_from(it.locked_stack_depth.unwrap_or(0)).unwrap_or(0);
        (depth.saturating_add(1), object(&it.class_name, it.identity_hash_code))
    });
    let owned = info.locked_synchronizers.iter();
    let mut raw = RawThread {
        name: info.thread_name,
        id: info.thread_id,
        is_daemon: info.daemon,
        state: info.thread_state.as_deref().map(RawState::of).unwrap_or_default(),
        is_java: true,
        frames,
        wait: lock.map(|lock| RawWait { how: WaitPhrase::Something, lock }),
        owner: info.lock_owner_id.and_then(|id| u64::try_from(id).ok()).map(RawOwner::Id),
        locked: locked.collect(),
        owned: owned.map(|it| object(&it.class_name, it.identity_hash_code)).collect(),
        ..RawThread::default()
    };
    to_file::untold(&mut raw, dumps);
    raw
}

impl JsonElement {
    /// As in texts.
    fn text(&self) -> String {
        let line = self.line_number.filter(|&line| line > 0);
        let place = match (&self.file_name, line) {
            _ if self.native_method => "Native Method".to_owned(),
            (Some(file), Some(line)) => format!("{file}:{line}"),
            (Some(file), None) => file.clone(),
            (None, _) => "Unknown Source".to_owned(),
        };
        format!("{}.{}({place})", self.class_name, self.method_name)
    }
}
