//! With `--verbose`: one line for each request, seen as it goes by on its connection.

use crate::{error::say, show};
use farside_core::{
    Cx, Dial, Transport,
    wire::{Error, Moment},
};
use farside_std::now;
use std::task::{Poll, ready};

/// Dials as another does, and watches what goes over it.
pub(crate) struct Watching(pub(crate) Box<dyn Dial>);

impl Dial for Watching {
    fn dial(&self) -> Result<Box<dyn Transport>, Error> {
        Ok(Box::new(Watched { io: self.0.dial()?, asked: None, reply: Vec::new() }))
    }
}

struct Watched {
    io: Box<dyn Transport>,
    /// The request that has no reply yet: method and target, and when it was sent. (By the clock: the time of a turn stands still, and
    /// a server inside this process answers in the same one.)
    asked: Option<(String, Moment)>,
    /// The start of its reply.
    reply: Vec<u8>,
}

/// As long as the beginning of a reply up to its status, `HTTP/1.1 200`.
const STATUS: usize = 12;

impl Transport for Watched {
    fn poll_read(&mut self, cx: &mut Cx<'_>, buf: &mut [u8]) -> Poll<Result<usize, Error>> {
        let n = ready!(self.io.poll_read(cx, buf))?;
        if self.asked.is_some() {
            let missing = STATUS.saturating_sub(self.reply.len());
            self.reply.extend(buf[..n].iter().take(missing));
            if n == 0 || self.reply.len() == STATUS {
                let status = String::from_utf8_lossy(self.reply.get(9..).unwrap_or(b"no reply")).into_owned();
                if let Some((request, at)) = self.asked.take() {
                    let millis = now().since(at).as_secs_f64() * 1000.0;
                    say(&show::text(&format!("{request} {status} {millis:.1} ms")));
                }
            }
        }
        Poll::Ready(Ok(n))
    }

    fn poll_write(&mut self, cx: &mut Cx<'_>, buf: &[u8]) -> Poll<Result<usize, Error>> {
        let n = ready!(self.io.poll_write(cx, buf))?;
        // What is written while no reply is awaited is the head of a request; after it comes the request's body.
        if self.asked.is_none()
            && let Some((request, _)) =
                buf.split(|b| *b == b'\r').next().and_then(|line| std::str::from_utf8(line).ok()?.rsplit_once(" HTTP/"))
        {
            (self.asked, self.reply) = (Some((request.into(), now())), Vec::new());
        }
        Poll::Ready(Ok(n))
    }

    fn shut(&mut self) {
        self.io.shut();
    }
}
