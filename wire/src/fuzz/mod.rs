//! The bodies of the fuzz targets: they compile with the library, and ordinary tests replay corpora through them.

pub mod http;
pub mod values;
