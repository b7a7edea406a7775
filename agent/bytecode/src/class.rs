use crate::attribute::Attributes;
use crate::code::Code;
use crate::pool::ConstantPool;
use crate::reader::Reader;
use crate::{ClassError, JStr, MemberRef};

type Result<T> = core::result::Result<T, ClassError>;

/// A parsed class, borrowed from its bytes.
///
/// Parsing walks everything but the insides of attributes; code is decoded when it is asked for.
#[derive(Clone, Debug)]
pub struct ClassFile<'a> {
    bytes: &'a [u8],
    major_version: u16,
    pool: ConstantPool<'a>,
    pool_end: usize,
    this_class: u16,
    name: JStr<'a>,
    super_name: Option<JStr<'a>>,
    source_file: Option<JStr<'a>>,
    methods: Vec<MethodInfo<'a>>,
}

#[derive(Clone, Debug)]
struct MethodInfo<'a> {
    access_flags: u16,
    name: JStr<'a>,
    descriptor: JStr<'a>,
    code: Option<Reader<'a>>,
}

const MAGIC: u32 = 0xcafe_babe;
/// The oldest version whose `Code` is laid out like today's.
const OLDEST_VERSION: (u16, u16) = (45, 3);

impl<'a> ClassFile<'a> {
    /// Parses a class file.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes, 0);
        let found = reader.u4()?;
        if found != MAGIC {
            return Err(ClassError::BadMagic { found });
        }
        let (minor, major) = (reader.u2()?, reader.u2()?);
        if (major, minor) < OLDEST_VERSION {
            return Err(ClassError::UnsupportedVersion { major, minor });
        }
        let pool = ConstantPool::parse(&mut reader)?;
        let pool_end = reader.offset();
        let _access_flags = reader.u2()?;
        let this_class = reader.u2()?;
        let name = pool.class_name(this_class, pool_end)?;
        let super_name = match reader.u2()? {
            0 => None,
            index => Some(pool.class_name(index, pool_end)?),
        };
        let interfaces = 2 * usize::from(reader.u2()?);
        reader.bytes(interfaces)?;
        skip_fields(&pool, &mut reader)?;
        let methods = parse_methods(&pool, &mut reader)?;
        let source_file = source_file(&pool, &Attributes::parse(&pool, &mut reader)?);
        reader.finish()?;
        Ok(Self {
            bytes,
            major_version: major,
            pool,
            pool_end,
            this_class,
            name,
            super_name,
            source_file,
            methods,
        })
    }

    /// Internal name of the class: `java/lang/Object`.
    pub fn name(&self) -> JStr<'a> {
        self.name
    }

    /// Internal name of the superclass; `None` for `java/lang/Object` and modules.
    pub fn super_name(&self) -> Option<JStr<'a>> {
        self.super_name
    }

    /// Name of the file that it was compiled from, without directories, if the class tells.
    pub fn source_file(&self) -> Option<JStr<'a>> {
        self.source_file
    }

    /// Methods that its code may call: all that its constant pool names.
    pub fn called_methods(&self) -> impl Iterator<Item = MemberRef<'a>> {
        self.pool.methods()
    }

    /// Its constant pool.
    pub fn constants(&self) -> &ConstantPool<'a> {
        &self.pool
    }

    /// Major version of the class file: 52 for Java 8, 69 for Java 25.
    pub fn major_version(&self) -> u16 {
        self.major_version
    }

    /// The methods in the order of the class file.
    pub fn methods(&self) -> impl ExactSizeIterator<Item = Method<'_, 'a>> {
        self.methods.iter().map(|info| Method { class: self, info })
    }

    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Offset of the first byte behind the constant pool.
    pub(crate) fn pool_end(&self) -> usize {
        self.pool_end
    }

    /// Constant pool index of the class itself.
    pub(crate) fn this_class(&self) -> u16 {
        self.this_class
    }
}

/// The JVM does not care what `SourceFile` says, so no error comes from it.
fn source_file<'a>(pool: &ConstantPool<'a>, attributes: &Attributes<'_, 'a>) -> Option<JStr<'a>> {
    let mut attribute = attributes.iter().find(|attribute| attribute.name == "SourceFile")?;
    let offset = attribute.contents.offset();
    pool.utf8(attribute.contents.u2().ok()?, offset).ok()
}

fn skip_fields<'a>(pool: &ConstantPool<'a>, reader: &mut Reader<'a>) -> Result<()> {
    for _ in 0..reader.u2()? {
        let _flags_name_descriptor = reader.bytes(6)?;
        Attributes::parse(pool, reader)?;
    }
    Ok(())
}

fn parse_methods<'a>(
    pool: &ConstantPool<'a>,
    reader: &mut Reader<'a>,
) -> Result<Vec<MethodInfo<'a>>> {
    let mut methods = Vec::new();
    for _ in 0..reader.u2()? {
        let offset = reader.offset();
        let access_flags = reader.u2()?;
        let name = pool.utf8(reader.u2()?, offset)?;
        let descriptor = pool.utf8(reader.u2()?, offset)?;
        let code = Attributes::parse(pool, reader)?.sole("Code")?;
        methods.push(MethodInfo { access_flags, name, descriptor, code });
    }
    Ok(methods)
}

/// A method of a class.
#[derive(Clone, Copy, Debug)]
pub struct Method<'c, 'a> {
    class: &'c ClassFile<'a>,
    info: &'c MethodInfo<'a>,
}

impl<'c, 'a> Method<'c, 'a> {
    /// The class that holds the method.
    pub fn class(&self) -> &'c ClassFile<'a> {
        self.class
    }

    /// Its name; `<init>` for a constructor, `<clinit>` for the class initializer.
    pub fn name(&self) -> JStr<'a> {
        self.info.name
    }

    /// Its descriptor: `(I)V`.
    pub fn descriptor(&self) -> JStr<'a> {
        self.info.descriptor
    }

    /// `ACC_…` flags of the method.
    pub fn access_flags(&self) -> u16 {
        self.info.access_flags
    }

    /// Whether it has no receiver.
    pub fn is_static(&self) -> bool {
        self.info.access_flags & 0x0008 != 0
    }

    /// Whether a call holds the monitor of the receiver, or of the class.
    pub fn is_synchronized(&self) -> bool {
        self.info.access_flags & 0x0020 != 0
    }

    /// Whether it is implemented elsewhere, in native code.
    pub fn is_native(&self) -> bool {
        self.info.access_flags & 0x0100 != 0
    }

    /// Whether it has no implementation here.
    pub fn is_abstract(&self) -> bool {
        self.info.access_flags & 0x0400 != 0
    }

    /// Whether it is a constructor.
    pub fn is_constructor(&self) -> bool {
        self.name() == "<init>"
    }

    /// Its code; `None` when it is abstract or native.
    pub fn code(&self) -> Result<Option<Code<'c, 'a>>> {
        self.info.code.map(|contents| Code::parse(self.class.constants(), contents)).transpose()
    }

    /// What is wrong with a method whose descriptor is malformed.
    pub(crate) fn bad_descriptor(&self) -> ClassError {
        // Methods are parsed only as far as their code is; it is the closest offset there is.
        ClassError::BadDescriptor { offset: self.code_contents().map_or(0, |code| code.offset()) }
    }

    /// The contents of its `Code` attribute.
    pub(crate) fn code_contents(&self) -> Option<Reader<'a>> {
        self.info.code
    }
}
