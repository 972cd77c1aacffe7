//! Input to lake: reads NDJSON, Bundles and resources, resolves references, files each under its person, versions it.
