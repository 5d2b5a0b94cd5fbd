//! Farside on blocking threads: one thread a connection, and a workspace's calls that return when they are done.
//!
//! Nothing here decides about the protocol. A turn of the core says what it waits for; the thread waits for that in one poll(2), or
//! in recv(2) when it is the socket alone.
#![forbid(unsafe_code)]

mod blocking;
mod dial;
mod drive;
mod keep;
mod park;
mod server;

pub use blocking::{Blocking, FileReader, FileWriter};
pub use dial::dial;
pub use drive::serve_socket;
pub use farside_core as core;
pub use park::{now, run};
pub use server::{Listener, Server, serve};
