//! Writing a class from nothing: one that stands in for the class that probes call, where only
//! the JVM's verifier looks.
//!
//! It has static members only, so it needs no stack maps and no JDK to compile it.

use crate::descriptor::{MethodDescriptor, field_type};
use crate::opcode;
use crate::pool_writer::{PoolFull, PoolWriter};
use core::fmt;

/// Java 8.
const VERSION: u16 = 52;
const PUBLIC: u16 = 0x0001;
const STATIC: u16 = 0x0008;
const FINAL: u16 = 0x0010;
/// `ACC_SUPER` of a class, as every compiler sets it.
const SUPER: u16 = 0x0020;

/// `ACC_VOLATILE`, for [`ProbeClass::field`].
pub const VOLATILE: u16 = 0x0040;

/// A class that cannot be written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmitError {
    /// The descriptor of this member is malformed, or it is an empty method with a result.
    BadDescriptor {
        /// Name of the member.
        name: String,
    },
    /// There are too many members, or a name is too long.
    TooLarge,
}

impl fmt::Display for EmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EmitError::BadDescriptor { name } => write!(f, "malformed descriptor of {name}"),
            EmitError::TooLarge => f.write_str("the class is too large"),
        }
    }
}

impl std::error::Error for EmitError {}

impl From<PoolFull> for EmitError {
    fn from(_: PoolFull) -> Self {
        EmitError::TooLarge
    }
}

/// A `public final` class of `public static` members.
///
/// ```
/// use tyrion_bytecode::{ClassFile, emit::{ProbeClass, VOLATILE}};
///
/// let bytes = ProbeClass::new("java/lang/TyrionProbe")
///     .field("contended", "I", VOLATILE)
///     .empty_method("exit", "(I)V")
///     .finish()?;
/// let class = ClassFile::parse(&bytes).expect("we wrote it");
/// assert_eq!(class.name(), "java/lang/TyrionProbe");
/// assert_eq!(class.methods().count(), 1);
/// # Ok::<(), tyrion_bytecode::emit::EmitError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ProbeClass<'s> {
    name: &'s str,
    fields: Vec<MemberToWrite<'s>>,
    methods: Vec<MemberToWrite<'s>>,
}

#[derive(Clone, Debug)]
struct MemberToWrite<'s> {
    access_flags: u16,
    name: &'s str,
    descriptor: &'s str,
}

impl<'s> ProbeClass<'s> {
    /// A class without members; `name` is its internal name.
    pub fn new(name: &'s str) -> Self {
        Self { name, fields: Vec::new(), methods: Vec::new() }
    }

    /// Adds a field. `access_flags` are added to `public static`.
    pub fn field(mut self, name: &'s str, descriptor: &'s str, access_flags: u16) -> Self {
        let access_flags = PUBLIC | STATIC | access_flags;
        self.fields.push(MemberToWrite { access_flags, name, descriptor });
        self
    }

    /// Adds a method without result that does nothing.
    pub fn empty_method(mut self, name: &'s str, descriptor: &'s str) -> Self {
        let access_flags = PUBLIC | STATIC;
        self.methods.push(MemberToWrite { access_flags, name, descriptor });
        self
    }

    /// Writes the class file.
    pub fn finish(&self) -> Result<Vec<u8>, EmitError> {
        let mut pool = PoolWriter::empty();
        let mut body = Vec::new();
        put(&mut body, &[PUBLIC | FINAL | SUPER, pool.class(self.name)?]);
        let interfaces = 0;
        put(&mut body, &[pool.class("java/lang/Object")?, interfaces, count(&self.fields)?]);
        for field in &self.fields {
            field_type(field.descriptor.as_bytes()).ok_or_else(|| field.bad_descriptor())?;
            field.write_head(&mut body, &mut pool)?;
            let attributes = 0;
            put(&mut body, &[attributes]);
        }
        put(&mut body, &[count(&self.methods)?]);
        for method in &self.methods {
            method.write_method(&mut body, &mut pool)?;
        }
        let attributes = 0;
        put(&mut body, &[attributes]);

        let mut out = 0xcafe_babe_u32.to_be_bytes().to_vec();
        let minor_version = 0;
        put(&mut out, &[minor_version, VERSION, pool.count()]);
        out.extend_from_slice(pool.appended());
        out.append(&mut body);
        Ok(out)
    }
}

impl MemberToWrite<'_> {
    fn bad_descriptor(&self) -> EmitError {
        EmitError::BadDescriptor { name: self.name.to_owned() }
    }

    fn write_head(&self, out: &mut Vec<u8>, pool: &mut PoolWriter<'_>) -> Result<(), EmitError> {
        put(out, &[self.access_flags, pool.utf8(self.name)?, pool.utf8(self.descriptor)?]);
        Ok(())
    }

    fn write_method(&self, out: &mut Vec<u8>, pool: &mut PoolWriter<'_>) -> Result<(), EmitError> {
        let descriptor = MethodDescriptor::parse(self.descriptor.as_bytes());
        let descriptor = descriptor.ok_or_else(|| self.bad_descriptor())?;
        self.write_head(out, pool)?;
        if descriptor.result.is_some() {
            return Err(self.bad_descriptor());
        }
        let max_stack = 0;
        let max_locals =
            u16::try_from(descriptor.parameter_slots()).map_err(|_| EmitError::TooLarge)?;
        let (attributes, handlers, code_attributes) = (1, 0, 0);
        put(out, &[attributes, pool.utf8("Code")?]);
        out.extend(13_u32.to_be_bytes());
        put(out, &[max_stack, max_locals]);
        out.extend(1_u32.to_be_bytes());
        out.push(opcode::RETURN);
        put(out, &[handlers, code_attributes]);
        Ok(())
    }
}

fn count(members: &[MemberToWrite<'_>]) -> Result<u16, EmitError> {
    u16::try_from(members.len()).map_err(|_| EmitError::TooLarge)
}

fn put(out: &mut Vec<u8>, values: &[u16]) {
    out.extend(values.iter().flat_map(|value| value.to_be_bytes()));
}
