//! Enums whose values have names.

/// An enum, the name of each of its values, and the list of all.
#[macro_export]
macro_rules! named_enum {
    ($(#[$meta:meta])* pub enum $type:ident {
        $($(#[$doc:meta])* $value:ident $(= $code:literal)? => $name:literal,)*
    }) => {
        $(#[$meta])*
        pub enum $type {
            $($(#[$doc])* $value $(= $code)?,)*
        }

        impl $type {
            /// All of them, in their order.
            pub const ALL: [$type; [$($name),*].len()] = [$($type::$value),*];

            /// The name by which filters, messages and outputs call it.
            pub fn name(self) -> &'static str {
                match self {
                    $($type::$value => $name,)*
                }
            }
        }
    };
}
