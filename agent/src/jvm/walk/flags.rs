//! What HotSpot's own options say, as it publishes them for debuggers.

use super::{exports::Exports, memory};
use crate::jvm::Ti;

/// More options no JVM has; a few thousand are usual.
const MANY: usize = 20_000;

/// The table of options.
pub struct Flags {
    begin: usize,
    count: usize,
    size: usize,
    name: usize,
    address: usize,
}

impl Flags {
    /// `None` where the JVM does not publish them as expected.
    pub fn find(ti: Ti) -> Option<Flags> {
        let exports = ti.any_function().and_then(Exports::find)?;
        let flags = Flags {
            begin: exports.value("JVMFlag", "flags")?,
            count: exports.value("JVMFlag", "numFlags")?,
            size: exports.size("JVMFlag")?,
            name: exports.offset("JVMFlag", "_name")?,
            address: exports.offset("JVMFlag", "_addr")?,
        };
        (flags.begin != 0 && flags.size != 0 && flags.count < MANY).then_some(flags)
    }

    /// Where an option's value is.
    fn at(&self, wanted: &str) -> Option<usize> {
        (0..self.count).map(|nth| self.begin + nth * self.size).find_map(|flag| {
            // SAFETY: the table is static, and so are the names in it; the last entry
            // has none.
            let name = unsafe { memory::read::<usize>(flag + self.name) };
            // SAFETY: as above.
            let is_it = name != 0 && unsafe { memory::text(name) } == wanted;
            // SAFETY: as above.
            is_it.then(|| unsafe { memory::read(flag + self.address) })
        })
    }

    /// The text that an option has, if it has one.
    fn text(&self, wanted: &str) -> Option<String> {
        // SAFETY: such an option has the address of a text, which is kept, or null.
        let text = unsafe { memory::read::<usize>(self.at(wanted)?) };
        // SAFETY: as above.
        (text != 0).then(|| unsafe { memory::text(text) })
    }

    fn is_on(&self, wanted: &str) -> bool {
        // SAFETY: a switch is a byte.
        self.at(wanted).is_some_and(|at| unsafe { memory::read::<u8>(at) } != 0)
    }

    /// Whether this JVM notes what an AOT cache is made of.
    pub fn trains_for_cache(&self) -> bool {
        self.text("AOTMode").is_some_and(|mode| mode == "record")
            || self.text("AOTCacheOutput").is_some()
    }

    /// Whether it may write the classes that it has loaded into an archive.
    pub fn may_archive(&self) -> bool {
        self.text("ArchiveClassesAtExit").is_some()
            || self.is_on("RecordDynamicDumpInfo")
            || self.is_on("AutoCreateSharedArchive")
    }
}
