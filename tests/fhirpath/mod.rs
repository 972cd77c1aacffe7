//! FHIRPath over columns: every search parameter compiles, and what expressions yield over real records is what another
//! implementation says.

mod search_parameters;
