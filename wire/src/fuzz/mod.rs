//! What the fuzz targets run; here, so that it compiles with the library.

pub mod http;
