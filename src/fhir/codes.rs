//! Enums for closed sets of FHIR codes.

/// An enum with a code for each variant. `parse` and `as_str` convert between them.
macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// The value of `code`.
            pub fn parse(code: &str) -> Option<$name> {
                match code {
                    $($text => Some($name::$variant),)*
                    _ => None,
                }
            }

            /// The value's code in FHIR.
            pub fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }
        }
    };
}

pub(super) use codes;
