//! The bodies of the fuzz targets: they compile with the library, and ordinary tests replay corpora through them. Each takes any bytes
//! and panics only where the library is wrong.

#[cfg(feature = "std")]
mod client;
mod fake;
mod server;

#[cfg(feature = "std")]
pub use client::client_connection;
pub use server::server_connection;
