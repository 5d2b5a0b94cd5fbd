//! Farside on smol's crates: connections and calls as futures, on the executor of the host.
//!
//! Nothing here decides about the protocol. A turn of the core says what it waits for; the future waits for that.
#![forbid(unsafe_code)]

mod awaited;
mod dial;
mod drive;
mod run;
mod server;

pub use awaited::{Awaited, FileReader, FileWriter};
pub use dial::dial;
pub use drive::serve_socket;
pub use farside_core as core;
pub use run::{now, run};
pub use server::{Listener, Server, serve};
