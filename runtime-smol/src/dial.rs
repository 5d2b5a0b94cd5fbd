//! A client of a server, by its address.

use crate::run;
use farside_backends::socket::dialer;
use farside_core::{Remote, ops, wire::Error};

/// The workspace that the server at `at` serves: `http://host:port/` or `unix:/path`. It is asked for its info.
///
/// ```
/// use farside_smol::Awaited;
/// # let handler = farside_core::Handler::new(farside_backends::Memory::new(), farside_core::Access::bearer("s3cret"));
/// # let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
/// # let at = format!("http://{}", listener.local_addr().unwrap());
/// # let executor = std::sync::Arc::new(async_executor::Executor::new());
/// # let server = farside_smol::serve(listener, handler, &executor).unwrap();
/// # async_io::block_on(executor.run(async {
/// let ws = farside_smol::dial(&at, Some("s3cret")).await?;
/// ws.write("notes/todo.md", b"- ship it\n", None).await?;
/// assert_eq!(ws.stat("notes/todo.md").await?.size, 10);
/// # Ok::<(), farside_core::wire::Error>(()) })).unwrap();
/// ```
///
/// # Errors
/// `invalid` for an address of another form, `unauthenticated`, and whatever keeps it from being reached.
pub async fn dial(at: &str, token: Option<&str>) -> Result<Remote, Error> {
    // A name is looked up by the system's resolver, which blocks.
    let address = at.to_owned();
    let (dial, base) = blocking::unblock(move || dialer(&address)).await?;
    let mut remote = Remote::new(dial, base);
    if let Some(token) = token {
        remote = remote.with_authorization(format!("Bearer {token}"))?;
    }
    run(ops::about(&remote)).await?;
    Ok(remote)
}
