//! The bodies of the fuzz targets: they compile with the library, and ordinary tests replay corpora through them. Each takes any bytes
//! and panics only where the library is wrong.

mod client;
mod fake;
mod program;
mod server;

pub use client::client_connection;
pub use server::server_connection;
