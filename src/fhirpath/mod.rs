//! FHIRPath: text to AST to typed, resolved program to columnar evaluation. One engine for view columns, search parameters
//! and the command line.
