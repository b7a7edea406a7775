#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod attribute;
mod class;
mod code;
mod descriptor;
pub mod emit;
mod error;
mod instruction;
mod instrument;
mod jstr;
pub mod naming;
pub mod opcode;
mod plan;
mod pool;
mod pool_writer;
mod reader;
mod renamed;

pub use class::{ClassFile, Method};
pub use code::{Code, Handler, Variable, calls_static, code_print};
pub use error::ClassError;
pub use instruction::Instruction;
pub use instrument::{Instrumented, Left, Moved, Shifts, instrument};
pub use jstr::JStr;
pub use plan::{Around, Exit, Member, MethodPlan, Op, Pc, Protected, Reason};
pub use pool::{ConstantPool, MemberRef};
pub use renamed::renamed;
