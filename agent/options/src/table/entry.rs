//! What the table says of an option, and the macro by which it is written.

use super::Options;
use crate::{
    error::Wrong,
    kinds::{About, Form, Kind},
    values::{Locks, Mode},
};
use tyrion_harmless as harmless;

/// An option, as it stands in the table.
pub struct Entry {
    /// The key in `-agentpath:…=key=value`, and the long option.
    pub name: &'static str,
    /// What help texts call the value.
    pub value_name: &'static str,
    /// In which mode it counts.
    pub counts: Counts,
    /// What becomes of it when the JVM is being recorded already.
    pub later: Later,
    /// Who can give it.
    pub reach: Reach,
    /// The key under which the log's metadata have it.
    pub logged: Logged,
    /// The option without which this one means nothing.
    pub needs: Option<&'static str>,
    pub(crate) help: &'static [&'static str],
    pub(crate) default: fn() -> Option<String>,
    pub(crate) about: fn() -> About,
    pub(crate) set: fn(&mut Options, &[u8]) -> Result<(), Wrong>,
    pub(crate) logged_value: fn(&Options) -> Option<String>,
    /// Has the first have the value that the second has.
    pub(crate) copy: fn(&mut Options, &Options),
}

/// In which mode an option counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// In every mode.
    Always,
    /// If `mode` has `trace`, or `auto` for the locks that cost much.
    Trace,
    /// If `mode` has `auto`.
    Auto,
    /// If `mode` has `sample`.
    Sampling,
}

impl Counts {
    /// Whether it counts in this mode.
    pub fn applies_to(self, mode: Mode) -> bool {
        match self {
            Counts::Always => true,
            Counts::Trace => matches!(mode.locks, Locks::Trace | Locks::Auto),
            Counts::Auto => mode.locks == Locks::Auto,
            Counts::Sampling => mode.sample,
        }
    }
}

/// What becomes of an option that is given when the JVM is being recorded
/// already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Later {
    /// It takes effect.
    Changes,
    /// It does not take effect, and the user is told so.
    Fixed,
    /// It is about starting, or about the command in which it is given.
    Moot,
}

/// Who can give an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Everybody: `tyrion record` and `tyrion attach` have it as a long option.
    LongOption,
    /// Everybody: for `tyrion record` and `tyrion attach` it is `-o`.
    Output,
    /// Those who write `-agentpath` themselves.
    AgentOnly,
    /// Tyrion's own commands alone.
    Internal,
}

/// The key of an option in the log's metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logged {
    /// The option's name.
    AsNamed,
    /// Another key.
    As(&'static str),
    /// The metadata do not have it.
    No,
}

/// What holds for most options.
pub(crate) const USUAL: Entry = Entry {
    name: "",
    value_name: "",
    counts: Counts::Always,
    later: Later::Fixed,
    reach: Reach::LongOption,
    logged: Logged::AsNamed,
    needs: None,
    help: &[],
    default: || None,
    about: About::default,
    set: |_, _| Ok(()),
    logged_value: |_| None,
    copy: |_, _| (),
};

/// What holds for those between Tyrion's commands and the agent.
pub(crate) const INTERNAL: Entry =
    Entry { later: Later::Moot, reach: Reach::Internal, logged: Logged::No, ..USUAL };

impl Entry {
    /// What it does, in words, without its limits and default.
    pub fn help(&self) -> String {
        let lines: Vec<&str> = self.help.iter().map(|line| line.trim()).collect();
        lines.join(" ")
    }

    /// What counts when nobody says anything, as the user would write it.
    pub fn default(&self) -> Option<String> {
        (self.default)().filter(|text| !text.is_empty())
    }

    /// What kind of value it takes.
    pub fn about(&self) -> About {
        (self.about)()
    }

    /// Whether it may stand without a value, which means `true`.
    pub fn is_switch(&self) -> bool {
        self.about().form == Form::Switch
    }

    /// The key in the log's metadata, if they have it.
    pub fn log_key(&self) -> Option<&'static str> {
        match self.logged {
            Logged::AsNamed => Some(self.name),
            Logged::As(key) => Some(key),
            Logged::No => None,
        }
    }

    /// Whether the agent would take this value.
    ///
    /// # Errors
    /// What is wrong with it, in one line, as the agent says it.
    pub fn check(&self, value: &[u8]) -> Result<(), Wrong> {
        self.set(&mut Options::default(), value)
    }

    /// Notes the value.
    pub(crate) fn set(&self, options: &mut Options, value: &[u8]) -> Result<(), Wrong> {
        (self.set)(options, value).map_err(|wrong| {
            let message = format!("{}={} {wrong}", self.name, String::from_utf8_lossy(value));
            // It names what was given, and is to be one line.
            Wrong::new(harmless::text(&message))
        })
    }
}

/// A field of the options: a value, or an `Option` that is `None` until the user
/// says something.
pub(crate) trait Field<V> {
    fn start(default: V) -> Self;
    fn put(&mut self, value: V);
    fn given(&self) -> Option<&V>;
}

impl<V> Field<V> for V {
    fn start(default: V) -> V {
        default
    }

    fn put(&mut self, value: V) {
        *self = value;
    }

    fn given(&self) -> Option<&V> {
        Some(self)
    }
}

impl<V> Field<V> for Option<V> {
    fn start(_: V) -> Option<V> {
        None
    }

    fn put(&mut self, value: V) {
        *self = Some(value);
    }

    fn given(&self) -> Option<&V> {
        self.as_ref()
    }
}

/// A field's first value.
pub(crate) fn start<K: Kind, F: Field<K::Value>>(_: &K, default: K::Value) -> F {
    F::start(default)
}

/// Reads a value into its field.
pub(crate) fn read_into<K: Kind, F: Field<K::Value>>(
    kind: &K,
    field: &mut F,
    value: &[u8],
) -> Result<(), Wrong> {
    field.put(kind.read(value)?);
    Ok(())
}

/// The value of a field, or its default, as it stands in the log.
pub(crate) fn logged<K: Kind, F: Field<K::Value>>(
    kind: &K,
    field: &F,
    default: Option<K::Value>,
) -> Option<String> {
    field.given().or(default.as_ref()).map(|value| kind.write_to_log(value))
}

/// Makes the structs of the options and the table. An option is written as
///
/// ```text
/// /// Its help text, which documents the field, too
/// field: Type = default => Kind, { name: "its-name", value_name: "VALUE", ..USUAL }
/// ```
///
/// where `Type` is the kind's value, or an `Option` of it. Such a field is `None`
/// until the user says something, and may have no default.
macro_rules! options {
    (
        $( #[doc = $about:literal] )+
        $Options:ident {
            $( $( #[doc = $help:literal] )+
            $field:ident : $type:ty $( = $default:expr )? => $kind:expr, { $($spec:tt)* } )*
        }
        $(
            $( #[doc = $group_about:literal] )+
            $group:ident : $Group:ident, $counts:expr, {
                $( $( #[doc = $in_help:literal] )+
                $in_field:ident : $in_type:ty $( = $in_default:expr )? => $in_kind:expr,
                { $($in_spec:tt)* } )*
            }
        )*
    ) => {
        $( #[doc = $about] )+
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $Options {
            $( $( #[doc = $help] )+ pub $field: $type, )*
            $( $( #[doc = $group_about] )+ pub $group: $Group, )*
            /// The names of those that were given.
            pub given: Vec<&'static str>,
        }

        impl Default for $Options {
            fn default() -> Self {
                $Options {
                    $( $field: options!(@start $kind $(, $default)?), )*
                    $( $group: $Group::default(), )*
                    given: Vec::new(),
                }
            }
        }

        $(
            $( #[doc = $group_about] )+
            #[derive(Clone, Debug, PartialEq, Eq)]
            pub struct $Group {
                $( $( #[doc = $in_help] )+ pub $in_field: $in_type, )*
            }

            impl Default for $Group {
                fn default() -> Self {
                    $Group { $( $in_field: options!(@start $in_kind $(, $in_default)?), )* }
                }
            }
        )*

        /// All options, in the order in which help texts and documents have them.
        pub static TABLE: &[Entry] = &[
            $( options!(@entry Counts::Always, [$( $help ),+], [$field], $kind,
                [$( $default )?], $($spec)*), )*
            $( $( options!(@entry $counts, [$( $in_help ),+], [$group . $in_field], $in_kind,
                [$( $in_default )?], $($in_spec)*), )* )*
        ];
    };
    (@start $kind:expr, $default:expr) => { crate::table::entry::start(&$kind, $default) };
    (@start $kind:expr) => { None };
    (@default) => { None };
    (@default $default:expr) => { Some($default) };
    (@entry $counts:expr, [$( $help:literal ),+], [$( $path:tt )+], $kind:expr,
        [$( $default:expr )?], $($spec:tt)*) => {
        Entry {
            counts: $counts,
            help: &[$( $help ),+],
            default: || options!(@default $( $kind.write(&$default) )?),
            about: || $kind.about(),
            set: |options, value| crate::table::entry::read_into(&$kind, &mut options.$( $path )+, value),
            logged_value: |options| {
                crate::table::entry::logged(&$kind, &options.$( $path )+, options!(@default $( $default )?))
            },
            copy: |to, from| to.$( $path )+.clone_from(&from.$( $path )+),
            $($spec)*
        }
    };
}
pub(crate) use options;
