//! Enums for closed sets of FHIR codes.

/// Defines an enum with a code for each variant. `parse` and `as_str` convert between them.
macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// Returns the variant with this code. `None` if there is none.
            pub fn parse(code: &str) -> Option<$name> {
                match code {
                    $($text => Some($name::$variant),)*
                    _ => None,
                }
            }

            /// Returns the variant's code in FHIR.
            pub fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }
        }
    };
}

pub(super) use codes;
