//! HTTP/1.1 framing for both roles: where a head ends, what it says, and where its body ends.
//!
//! Pure functions over the caller's bytes: nothing is copied, nothing is allocated, and the work is linear in the bytes however
//! they are cut. Whatever RFC 9112 leaves to taste is refused, since two readers that disagree on it are a way in (spec, Framing).
//!
//! 1. [`HeadScan::find`] says where the head ends.
//! 2. [`RequestHead::parse`] or [`ResponseHead::parse`] reads it; its `framing` says how the body is delimited.
//! 3. [`Decoder`] parts the body's bytes from the bytes that frame them.
//!
//! ```
//! use farside_wire::http::{Decoder, HeadScan, Part, RequestHead};
//!
//! let bytes = b"POST /v1/op HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}GET ";
//! let end = HeadScan::default().find(bytes)?.unwrap();
//! let head = RequestHead::parse(&bytes[..end])?;
//! assert_eq!((head.method, head.target.path, head.host()), ("POST", "/v1/op", Some("localhost")));
//!
//! let mut body = Decoder::new(head.framing);
//! assert_eq!(body.next(&bytes[end..])?, Part::Data(2));
//! body.took(2);
//! assert_eq!(body.next(&bytes[end + 2..])?, Part::End);
//! # Ok::<(), farside_wire::http::Fault>(())
//! ```

mod body;
mod emit;
mod fault;
mod fields;
mod grammar;
mod request;
mod response;
mod scan;

pub use body::{Decoder, Framing, MAX_TRAILER_BYTES, MAX_TRAILERS, OVERHEAD, Part};
pub use emit::{CHUNK_HEAD, CONTINUE, LAST_CHUNK, chunk_head, reason};
pub use fault::Fault;
pub use fields::{Field, Fields, MAX_FIELDS};
pub use request::{MAX_METHOD, RequestHead, Version};
pub use response::ResponseHead;
pub use scan::{HeadScan, MAX_HEAD};
