//! Enums that stand for closed sets of FHIR codes.

/// An enum with, for each variant, its code: `parse` and `as_str` lead from one to the other.
macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// The value that `code` means.
            pub fn parse(code: &str) -> Option<$name> {
                match code {
                    $($text => Some($name::$variant),)*
                    _ => None,
                }
            }

            /// Its code in FHIR.
            pub fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }
        }
    };
}

pub(super) use codes;
