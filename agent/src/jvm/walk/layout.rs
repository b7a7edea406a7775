//! Where HotSpot keeps what a walk needs.
//!
//! The names are those of JDK 8 to 28; where releases differ, the first one that is there is
//! taken. What no table has is told beside its value.

use super::{
    exports::{Exports, Field},
    heap::Heap,
    memory::read,
};
use std::ops::Range;

/// Bytes of a word.
pub const WORD: usize = size_of::<usize>();

/// Where things are.
pub struct Layout {
    /// Threads.
    pub thread: ThreadLayout,
    /// Frames.
    pub frame: FrameLayout,
    /// Pieces of machine code.
    pub blob: BlobLayout,
    /// How the debug information of compiled code is read.
    pub scopes: ScopesLayout,
    /// Methods.
    pub method: MethodLayout,
    /// Where code can be.
    pub heaps: Vec<Heap>,
}

/// Of a `JavaThread`.
pub struct ThreadLayout {
    /// From a `JNIEnv` back to its thread, in bytes.
    pub env: usize,
    /// The end of the stack.
    pub stack_base: usize,
    /// The last Java frame.
    pub anchor: usize,
    pub sp: usize,
    pub fp: usize,
    pub pc: usize,
}

/// Of frames; offsets are in words from the frame pointer.
pub struct FrameLayout {
    /// The interpreter's code.
    pub interpreter: Range<usize>,
    /// Where Java code returns to that was called from native code.
    pub call_stub: usize,
    /// In an interpreted frame, the caller's stack pointer.
    pub sender_sp: isize,
    /// The method.
    pub method: isize,
    /// The address of the bytecode.
    pub bytecode: isize,
    /// In the frame of a call from native code, its `JavaCallWrapper`.
    pub wrapper: isize,
    /// The last Java frame before, in bytes from the begin of that.
    pub wrapper_anchor: usize,
}

/// Of a `CodeBlob` and an `nmethod`; offsets are in bytes.
pub struct BlobLayout {
    /// Bytes before a blob in its block.
    pub header: usize,
    pub frame_size: usize,
    pub name: usize,
    /// The begin of the instructions.
    pub code: Part,
    pub method: usize,
    pub compile_id: usize,
    pub state: usize,
    pub orig_pc: Field,
    /// Where frames return to that are deoptimized: up to JDK 25 at two places.
    pub deopt: [Option<Part>; 2],
}

/// Of the debug information of an `nmethod`.
pub struct ScopesLayout {
    /// The `PcDesc`s, and what follows them.
    pub pcs: Part,
    pub pcs_end: Part,
    /// The scopes.
    pub data: Part,
    /// The methods that they refer to.
    pub metadata: Part,
    /// What no byte of a compressed number is less than: 1 from JDK 20 on.
    pub excluded: u32,
}

/// Of a `Method` and its `ConstMethod`.
pub struct MethodLayout {
    pub const_method: usize,
    pub access: usize,
    /// The size of a `ConstMethod`, which is followed by the bytecodes.
    pub bytecodes: usize,
    pub bytecodes_len: usize,
    pub origin: OriginLayout,
    /// In a class, the array of the ids of its methods: their number, and then the ids.
    pub ids: Option<usize>,
}

/// From a `ConstMethod` to its class.
#[derive(Clone, Copy)]
pub struct OriginLayout {
    /// The `ConstantPool`.
    pub constants: usize,
    /// The class, in that.
    pub holder: usize,
    /// The method's number, of 16 bits.
    pub number: usize,
}

/// How a part of an `nmethod` is found.
#[derive(Clone, Copy)]
pub enum Part {
    /// Its address is in the header.
    At(usize),
    /// It is so many bytes after the header's begin.
    From(Field),
    /// It is as many bytes as the field has after a part whose address is in the header.
    After(usize, Field),
}

impl Part {
    /// Its address.
    ///
    /// # Safety
    /// There is such an `nmethod`, which stays while this is read.
    #[inline]
    pub unsafe fn of(self, nmethod: usize) -> usize {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Part::At(offset) => read(nmethod + offset),
                Part::From(field) => nmethod.wrapping_add_signed(field.number(nmethod)),
                Part::After(base, field) => {
                    read::<usize>(nmethod + base).wrapping_add_signed(field.number(nmethod))
                }
            }
        }
    }
}

/// The JDK in which interpreted frames have no mirror of their class, and of which no table has
/// how frames look.
const WITHOUT_MIRRORS: u32 = 8;
/// The last JDK whose compressed numbers may have any byte.
const LAST_WITHOUT_EXCLUDED: u32 = 19;

impl Layout {
    /// The layout of the JVM that published these tables, a JDK of this version, where a
    /// thread's `JNIEnv` is so many bytes after its begin; what is missing otherwise.
    pub fn of(exports: &Exports, version: u32, env: usize) -> Result<Layout, &'static str> {
        if exports.size("JavaThread").is_none_or(|size| env >= size) {
            return Err("JavaThread");
        }
        Ok(Layout {
            thread: thread(exports, env).ok_or("JavaThread")?,
            frame: frame(exports, version).ok_or("frame")?,
            blob: blob(exports).ok_or("nmethod")?,
            scopes: scopes(exports, version).ok_or("ScopeDesc")?,
            method: method(exports).ok_or("Method")?,
            heaps: heaps(exports).ok_or("CodeHeap")?,
        })
    }
}

fn thread(exports: &Exports, env: usize) -> Option<ThreadLayout> {
    let anchor = |name| exports.offset("JavaFrameAnchor", name);
    Some(ThreadLayout {
        env,
        stack_base: exports.offset("JavaThread", "_stack_base")?,
        anchor: exports.offset("JavaThread", "_anchor")?,
        sp: anchor("_last_Java_sp")?,
        fp: anchor("_last_Java_fp")?,
        pc: anchor("_last_Java_pc")?,
    })
}

fn frame(exports: &Exports, version: u32) -> Option<FrameLayout> {
    let stubs = exports.value("AbstractInterpreter", "_code")?;
    let buffer = exports.offset("StubQueue", "_stub_buffer")?;
    let limit = exports.number_field("StubQueue", "_buffer_limit")?;
    // SAFETY: the interpreter's code is made before there is a thread, and stays.
    let (begin, len) = unsafe { (read::<usize>(stubs + buffer), limit.number(stubs)) };
    let word = |name: &str| exports.number(&format!("frame::{name}")).map(|number| number as isize);
    let (method, bytecode) = INTERPRETED?;
    let is_old = version == WITHOUT_MIRRORS;
    let bytecode = if is_old { bytecode + 1 } else { bytecode };
    // Those between which and the frame pointer they lie.
    let sender_sp = if is_old { -1 } else { word("interpreter_frame_sender_sp_offset")? };
    let last_sp = if is_old { -2 } else { word("interpreter_frame_last_sp_offset")? };
    if (sender_sp, last_sp) != (-1, -2) {
        return None;
    }
    Some(FrameLayout {
        interpreter: begin..begin.checked_add(usize::try_from(len).ok()?)?,
        call_stub: exports.value("StubRoutines", "_call_stub_return_address")?,
        sender_sp,
        method,
        bytecode,
        wrapper: word("entry_frame_call_wrapper_offset")?,
        wrapper_anchor: exports.offset("JavaCallWrapper", "_anchor")?,
    })
}

/// The method and the bytecode in an interpreted frame, in words from the frame pointer
/// (`frame_x86.hpp`). `None` for processors on which it was not seen to be right.
const INTERPRETED: Option<(isize, isize)> =
    if cfg!(target_arch = "x86_64") { Some((-3, -8)) } else { None };

fn blob(exports: &Exports) -> Option<BlobLayout> {
    let of_blob = |name| exports.offset("CodeBlob", name);
    let of_nmethod = |name| exports.offset("nmethod", name);
    let deopt = |name: &str, old: &str| {
        let begin = exports.offset("CompiledMethod", &format!("{name}_begin")).map(Part::At);
        let from = |name: &str| exports.number_field("nmethod", name).map(Part::From);
        begin.or_else(|| from(&format!("{name}_offset"))).or_else(|| from(old))
    };
    let deopt = match exports.number_field("nmethod", "_deopt_handler_entry_offset") {
        Some(field) => [Some(Part::From(field)), None],
        None => [
            Some(deopt("_deopt_handler", "_deoptimize_offset")?),
            Some(deopt("_deopt_mh_handler", "_deoptimize_mh_offset")?),
        ],
    };
    let code = of_blob("_code_begin").map(Part::At);
    let method = exports.offset("CompiledMethod", "_method").or_else(|| of_nmethod("_method"));
    Some(BlobLayout {
        header: exports.size("HeapBlock")?,
        frame_size: of_blob("_frame_size")?,
        name: of_blob("_name")?,
        code: code.or_else(|| exports.number_field("CodeBlob", "_code_offset").map(Part::From))?,
        method: method?,
        compile_id: of_nmethod("_compile_id")?,
        state: of_nmethod("_state")?,
        orig_pc: exports.number_field("nmethod", "_orig_pc_offset")?,
        deopt,
    })
}

fn scopes(exports: &Exports, version: u32) -> Option<ScopesLayout> {
    let of_nmethod = |name| exports.number_field("nmethod", name);
    let excluded = u32::from(version > LAST_WITHOUT_EXCLUDED);
    let Some(immutable) = exports.offset("nmethod", "_immutable_data") else {
        return Some(ScopesLayout {
            pcs: Part::From(of_nmethod("_scopes_pcs_offset")?),
            pcs_end: Part::From(of_nmethod("_dependencies_offset")?),
            data: exports
                .offset("CompiledMethod", "_scopes_data_begin")
                .map(Part::At)
                .or_else(|| of_nmethod("_scopes_data_offset").map(Part::From))?,
            metadata: Part::From(of_nmethod("_metadata_offset")?),
            excluded,
        });
    };
    let data = Part::After(immutable, of_nmethod("_scopes_data_offset")?);
    let pcs = Part::After(immutable, of_nmethod("_scopes_pcs_offset")?);
    let mutable = exports.offset("CodeBlob", "_mutable_data")?;
    let metadata = Part::After(mutable, exports.number_field("CodeBlob", "_relocation_size")?);
    Some(ScopesLayout { pcs, pcs_end: data, data, metadata, excluded })
}

fn method(exports: &Exports) -> Option<MethodLayout> {
    Some(MethodLayout {
        const_method: exports.offset("Method", "_constMethod")?,
        access: exports.offset("Method", "_access_flags")?,
        bytecodes: exports.size("ConstMethod")?,
        bytecodes_len: exports.offset("ConstMethod", "_code_size")?,
        origin: origin(exports)?,
        ids: exports.offset("InstanceKlass", "_methods_jmethod_ids"),
    })
}

fn origin(exports: &Exports) -> Option<OriginLayout> {
    Some(OriginLayout {
        constants: exports.offset("ConstMethod", "_constants")?,
        holder: exports.offset("ConstantPool", "_pool_holder")?,
        number: exports.offset("ConstMethod", "_method_idnum")?,
    })
}

fn heaps(exports: &Exports) -> Option<Vec<Heap>> {
    let heap = |name| exports.offset("CodeHeap", name);
    let space = |name| exports.offset("VirtualSpace", name);
    let (memory, segments) = (heap("_memory")?, heap("_segmap")?);
    let (low, end) = (space("_low_boundary")?, space("_high_boundary")?);
    let (first, high) = (space("_low")?, space("_high")?);
    let shift = heap("_log2_segment_size")?;
    let all = all_heaps(exports)?;
    // SAFETY: the heaps are made before there is a thread, and stay.
    let found = unsafe {
        let heap = |heap: usize| {
            let (begin, last) = (read::<usize>(heap + memory + low), read(heap + memory + end));
            let first_segment = read::<usize>(heap + segments + first);
            let last_segment = read::<usize>(heap + segments + end);
            let shift = read::<u32>(heap + shift);
            // Other heaps, as those of code that was compiled ahead of time, have blocks
            // of another kind, and no such map.
            let is_sound = begin < last
                && (1..32).contains(&shift)
                && last_segment.checked_sub(first_segment)? >= (last - begin) >> shift;
            let high = heap + memory + high;
            is_sound.then_some(Heap { begin, high, segments: first_segment, shift })
        };
        all.into_iter().map(heap).collect::<Option<Vec<Heap>>>()
    };
    found.filter(|heaps| !heaps.is_empty())
}

/// Where the descriptions of the heaps are: JDK 8 has one heap.
fn all_heaps(exports: &Exports) -> Option<Vec<usize>> {
    if let Some(only) = exports.value("CodeCache", "_heap") {
        return Some(vec![only]);
    }
    let array = |name| {
        let base = exports.offset("GrowableArrayBase", name);
        base.or_else(|| exports.offset("GenericGrowableArray", name))
    };
    let (len, data) = (array("_len")?, exports.offset("GrowableArray<int>", "_data")?);
    let all = exports.value("CodeCache", "_heaps")?;
    // SAFETY: the array is made before there is a thread, and stays.
    unsafe {
        let (len, heaps) = (read::<i32>(all + len), read::<usize>(all + data));
        Some((0..len.max(0) as usize).map(|nth| read::<usize>(heaps + nth * WORD)).collect())
    }
}
