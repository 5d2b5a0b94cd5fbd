//! A client of a server, by its address.

use crate::run;
use farside_backends::socket::dialer;
use farside_core::{Remote, ops, wire::Error};

/// The workspace that the server at `at` serves: `http://host:port/` or `unix:/path`. It is asked for its info, which waits.
///
/// ```
/// use farside_std::Blocking;
/// # let handler = farside_core::Handler::new(farside_backends::Memory::new(), farside_core::Access::bearer("s3cret"));
/// # let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
/// # let at = format!("http://{}", listener.local_addr().unwrap());
/// # let server = farside_std::serve(listener, handler).unwrap();
/// let ws = farside_std::dial(&at, Some("s3cret"))?;
/// ws.write("notes/todo.md", b"- ship it\n", None)?;
/// assert_eq!(ws.stat("notes/todo.md")?.size, 10);
/// # Ok::<(), farside_core::wire::Error>(())
/// ```
///
/// # Errors
/// `invalid` for an address of another form, `unauthenticated`, and whatever keeps it from being reached.
pub fn dial(at: &str, token: Option<&str>) -> Result<Remote, Error> {
    let (dial, base) = dialer(at)?;
    let mut remote = Remote::new(dial, base);
    if let Some(token) = token {
        remote = remote.with_authorization(format!("Bearer {token}"))?;
    }
    run(ops::about(&remote))?;
    Ok(remote)
}
