//! What HotSpot publishes of its own structures.
//!
//! `libjvm.so` exports tables of fields, types and constants (`vmStructs.cpp`) for
//! debuggers such as jhsdb, and with them how the entries of the tables are laid out.

use super::memory::{read, text};
use crate::jvm::library::Library;
use std::{collections::HashMap, ffi::c_void};

/// A field of one of the JVM's classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Bytes from the object's begin; for a static field 0.
    pub offset: usize,
    /// Where a static field is; 0 for any other.
    pub address: usize,
    kind: Kind,
}

/// What a field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A number of 32 bits.
    Int,
    /// One of 16 bits, not below zero.
    Short,
    /// Anything else.
    Other,
}

impl Kind {
    fn of(name: &str) -> Kind {
        match name {
            "int" | "jint" | "int32_t" => Kind::Int,
            "u2" | "uint16_t" | "jushort" => Kind::Short,
            _ => Kind::Other,
        }
    }
}

impl Field {
    /// The number of an object's field.
    ///
    /// # Safety
    /// There is such an object, and it stays while this is read.
    #[inline]
    pub unsafe fn number(self, object: usize) -> isize {
        let at = object + self.offset;
        match self.kind {
            // SAFETY: the caller's promise.
            Kind::Short => unsafe { read::<u16>(at) as isize },
            // SAFETY: as above. Fields of other kinds are not told to be numbers.
            _ => unsafe { read::<i32>(at) as isize },
        }
    }
}

/// The tables.
pub struct Exports {
    fields: HashMap<(String, String), Field>,
    sizes: HashMap<String, usize>,
    numbers: HashMap<String, i32>,
}

/// How the entries of a table are found: a symbol for its begin, for the distance of
/// two entries, and for the places in them.
struct Table {
    begin: usize,
    stride: usize,
}

impl Table {
    fn find(library: &Library, name: &str) -> Option<Table> {
        let begin = number(library, &format!("{name}s"))?;
        let stride = number(library, &format!("{name}EntryArrayStride"))?;
        (begin != 0 && (1..1024).contains(&stride)).then_some(Table { begin, stride })
    }

    /// The entries up to the first whose name, at an offset, is null.
    fn entries(&self, name_offset: usize) -> impl Iterator<Item = usize> {
        let entries = (0..).map(|nth| self.begin + nth * self.stride);
        // SAFETY: the tables are static, and end with an entry without a name.
        entries.take_while(move |entry| unsafe { read::<usize>(entry + name_offset) } != 0)
    }
}

impl Exports {
    /// The tables of the library that a function is in.
    pub fn find(function: *const c_void) -> Option<Exports> {
        let library = Library::of(function)?;
        let (fields, sizes) = (fields(&library)?, sizes(&library)?);
        Some(Exports { fields, sizes, numbers: numbers(&library)? })
    }

    /// A field of a class that has a number of 16 or 32 bits.
    pub fn number_field(&self, class: &str, name: &str) -> Option<Field> {
        self.field(class, name).filter(|field| field.kind != Kind::Other && field.address == 0)
    }

    /// A field of a class.
    fn field(&self, class: &str, name: &str) -> Option<Field> {
        self.fields.get(&(class.to_owned(), name.to_owned())).copied()
    }

    /// Where a field is in an object.
    pub fn offset(&self, class: &str, name: &str) -> Option<usize> {
        self.field(class, name).filter(|field| field.address == 0).map(|field| field.offset)
    }

    /// What a static field has that is as large as a pointer.
    pub fn value(&self, class: &str, name: &str) -> Option<usize> {
        let address = self.field(class, name)?.address;
        // SAFETY: static fields are always there.
        (address != 0).then(|| unsafe { read(address) })
    }

    /// The size of a class's objects, in bytes.
    pub fn size(&self, class: &str) -> Option<usize> {
        self.sizes.get(class).copied()
    }

    /// A constant.
    pub fn number(&self, name: &str) -> Option<i32> {
        self.numbers.get(name).copied()
    }
}

/// What a variable of 64 bits has.
fn number(library: &Library, name: &str) -> Option<usize> {
    // SAFETY: all that is asked for here has 64 bits.
    library.symbol(name).map(|at| unsafe { read(at) })
}

fn fields(library: &Library) -> Option<HashMap<(String, String), Field>> {
    let table = Table::find(library, "gHotSpotVMStruct")?;
    let place = |name| number(library, &format!("gHotSpotVMStructEntry{name}Offset"));
    let (class, name, kind) = (place("TypeName")?, place("FieldName")?, place("TypeString")?);
    let (offset, address) = (place("Offset")?, place("Address")?);
    let field = |entry: usize| {
        // SAFETY: the library says what is where in an entry; the texts are static.
        unsafe {
            let kind = text(read(entry + kind));
            let field = Field {
                offset: read::<u64>(entry + offset) as usize,
                address: read(entry + address),
                kind: Kind::of(&kind),
            };
            ((text(read(entry + class)), text(read(entry + name))), field)
        }
    };
    Some(table.entries(class).map(field).collect())
}

fn sizes(library: &Library) -> Option<HashMap<String, usize>> {
    let table = Table::find(library, "gHotSpotVMType")?;
    let place = |name| number(library, &format!("gHotSpotVMTypeEntry{name}Offset"));
    let (name, size) = (place("TypeName")?, place("Size")?);
    // SAFETY: as for fields.
    let pair = |entry| unsafe { (text(read(entry + name)), read::<u64>(entry + size) as usize) };
    Some(table.entries(name).map(pair).collect())
}

fn numbers(library: &Library) -> Option<HashMap<String, i32>> {
    let table = Table::find(library, "gHotSpotVMIntConstant")?;
    let place = |name| number(library, &format!("gHotSpotVMIntConstantEntry{name}Offset"));
    let (name, value) = (place("Name")?, place("Value")?);
    // SAFETY: as for fields.
    let pair = |entry| unsafe { (text(read(entry + name)), read(entry + value)) };
    Some(table.entries(name).map(pair).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_tables_there_is_nothing() {
        assert!(Exports::find(libc::malloc as *const c_void).is_none());
    }
}
