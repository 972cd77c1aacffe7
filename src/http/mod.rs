//! The HTTP door: axum routers, extractors, and the one mapping of errors to status and OperationOutcome.
