//! The wire over a transport of one's own: the standard streams of a child, as ssh would carry them. Run it as it stands.

use farside_backends::Memory;
use farside_core::{Access, Cx, Dial, Handler, Interest, Remote, Transport, Watched, serve::serve, wire, wire::Error};
use farside_std::{Blocking, run};
use rustix::stdio::{stdin, stdout};
use std::{io, os::fd::OwnedFd, process::Command, process::Stdio, task::Poll};

/// A stream to read from and one to write to.
struct Streams(Watched, Watched);

impl Streams {
    fn new(from: impl Into<OwnedFd>, to: impl Into<OwnedFd>) -> io::Result<Self> {
        let (from, to) = (from.into(), to.into());
        rustix::io::ioctl_fionbio(&from, true)?;
        rustix::io::ioctl_fionbio(&to, true)?;
        Ok(Self(Watched::new(from), Watched::new(to)))
    }
}

impl Transport for Streams {
    fn poll_read(&mut self, cx: &mut Cx<'_>, buf: &mut [u8]) -> Poll<Result<usize, Error>> {
        cx.io(&mut self.0, Interest::Read, |fd| Ok(rustix::io::read(fd, &mut *buf)?)).map_err(failed)
    }

    fn poll_write(&mut self, cx: &mut Cx<'_>, buf: &[u8]) -> Poll<Result<usize, Error>> {
        cx.io(&mut self.1, Interest::Write, |fd| Ok(rustix::io::write(fd, buf)?)).map_err(failed)
    }
}

/// Each connection is a child of its own, which ends with its input.
struct Children;

impl Dial for Children {
    fn dial(&self) -> Result<Box<dyn Transport>, Error> {
        let mut child = Command::new(std::env::current_exe().map_err(failed)?);
        let child = child.arg("serve").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
        let (Some(from), Some(to)) = (child.stdout, child.stdin) else { return Err(Error::other("no pipes")) };
        Ok(Box::new(Streams::new(from, to).map_err(failed)?))
    }
}

fn failed(error: io::Error) -> Error {
    Error::other(error.to_string())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().any(|arg| arg == "serve") {
        let streams = Streams::new(stdin().try_clone_to_owned()?, stdout().try_clone_to_owned()?)?;
        run(serve(streams, Handler::new(Memory::new(), Access::Insecure(wire::Scopes::ALL))));
        return Ok(());
    }
    let ws = Remote::new(Children, wire::base_url::BaseUrl::parse("http://localhost")?);
    ws.write("hello.txt", b"across a pipe", None)?;
    assert_eq!(ws.read("hello.txt", 1 << 20)?, b"across a pipe");
    Ok(())
}
