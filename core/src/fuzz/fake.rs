//! A workspace without anything behind it, in which the same call always comes to the same thing at the same time.

use super::program::{MUCH, Program};
use crate::{
    About, Answer, Call, Called, Cx, NoRoom, Op, Reader, Room, Sink, Source, Workspace,
    process::{Managed, Run},
    wire::{Code, Descriptor, Error, FileInfo, FileMode, Listing, Meta, Moment},
};
use alloc::{boxed::Box, string::String, sync::Arc};
use core::{sync::atomic::AtomicUsize, task::Poll, time::Duration};

/// What a name stands for is in the name: `absent`, `later/` anything (answered after a while), `short` (a file that shrinks),
/// `endless` (a file whose length nobody knows), `large` (more than any buffer holds), `full` (a file that cannot be written).
pub(super) struct Fake {
    /// How many programs there are.
    pub(super) alive: Arc<AtomicUsize>,
}

/// How long what comes later takes.
pub(super) const WHILE: Duration = Duration::from_millis(700);
/// A file's content.
const CONTENT: &[u8] = b"what is in a file of this workspace, in a few pieces";

impl Workspace for Fake {
    fn call(&self, op: Op<'_>, room: &mut dyn Room) -> Called {
        let name = match op {
            Op::Stat { name, .. } | Op::ReadLink { name } | Op::ReadDir { name, .. } | Op::Open { name } => name,
            Op::Create { name, .. } | Op::Remove { name } => name,
            Op::Exec(command) => &command.dir,
            Op::Start(start) => &start.dir,
            Op::About | Op::Connect { .. } => "",
        };
        if name == "absent" {
            return Called::Now(Some(Err(Code::NotExist.into())));
        }
        if name.starts_with("later") {
            return Called::Later(Box::new(Later { at: None, answer: Some(self.answer(&op, &mut NoRoom)) }));
        }
        self.answer(&op, room).into()
    }
}

impl Fake {
    fn answer(&self, op: &Op<'_>, room: &mut dyn Room) -> Result<Answer, Error> {
        let meta = Meta { size: CONTENT.len() as u64, mode: FileMode(0o644), ..Meta::default() };
        Ok(match *op {
            Op::About => Answer::About(Arc::new(About::new("/", Descriptor::default()))),
            Op::Stat { .. } => Answer::Meta(meta),
            Op::ReadLink { .. } => Answer::Target("a".into()),
            Op::ReadDir { .. } => Answer::Listing(listing(meta)),
            Op::Open { name } => open(name, room),
            Op::Create { name, .. } => Answer::Sink(Box::new(Put { full: name == "full" })),
            Op::Remove { .. } => Answer::Done,
            Op::Exec(command) => {
                let program = Program::new(&command.args, true, &self.alive);
                Answer::Exec(Box::new(Run::new(program, command)))
            }
            Op::Start(start) => {
                let program = Program::new(&start.args, start.stderr, &self.alive);
                Answer::Process(Box::new(Managed::new(program, start.timeout)))
            }
            Op::Connect { .. } => {
                let program = Program::new(&["cat".into()], false, &self.alive);
                Answer::Process(Box::new(Managed::new(program, None)))
            }
        })
    }
}

fn listing(meta: Meta) -> Listing {
    let names = ["a", "b"].map(String::from);
    Listing { entries: names.into_iter().map(|name| FileInfo { name, meta }).collect(), ..Listing::default() }
}

fn open(name: &str, room: &mut dyn Room) -> Answer {
    if name == "large" {
        return Answer::Reader(Reader::new(Some(MUCH as u64), Box::new(Large(MUCH))));
    }
    let size = match name {
        "endless" => None,
        "short" => Some(CONTENT.len() as u64 + 1),
        _ => Some(CONTENT.len() as u64),
    };
    let small = room.room(CONTENT.len());
    if name == "small" && small.len() == CONTENT.len() {
        small.copy_from_slice(CONTENT);
        return Answer::Whole(CONTENT.len());
    }
    Answer::Reader(Reader::new(size, Box::new(Content(CONTENT))))
}

/// An answer that comes after a while.
struct Later {
    at: Option<Moment>,
    answer: Option<Result<Answer, Error>>,
}

impl Call for Later {
    fn poll(&mut self, cx: &mut Cx<'_>, _: &mut dyn Room) -> Poll<Result<Answer, Error>> {
        let at = *self.at.get_or_insert(cx.now().after(WHILE));
        if cx.now() < at {
            cx.wake_at(at, "a slow call");
            return Poll::Pending;
        }
        Poll::Ready(self.answer.take().unwrap_or_else(|| Err(Error::other("polled after its end"))))
    }
}

struct Content(&'static [u8]);

impl Source for Content {
    fn poll_read(&mut self, _: &mut Cx<'_>, buf: &mut [u8]) -> Poll<Result<usize, Error>> {
        let n = self.0.len().min(buf.len()).min(7);
        let (now, rest) = self.0.split_at(n);
        buf[..n].copy_from_slice(now);
        self.0 = rest;
        Poll::Ready(Ok(n))
    }
}

/// So many bytes that all look alike.
struct Large(usize);

impl Large {
    fn fill(&mut self, buf: &mut [u8]) -> usize {
        let n = self.0.min(buf.len());
        buf[..n].fill(b'.');
        self.0 -= n;
        n
    }
}

impl Source for Large {
    fn poll_read(&mut self, _: &mut Cx<'_>, buf: &mut [u8]) -> Poll<Result<usize, Error>> {
        Poll::Ready(Ok(self.fill(buf)))
    }
}

struct Put {
    full: bool,
}

impl Sink for Put {
    fn poll_write(&mut self, _: &mut Cx<'_>, buf: &[u8]) -> Poll<Result<usize, Error>> {
        Poll::Ready(Ok(buf.len().min(7)))
    }

    fn poll_finish(&mut self, _: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(if self.full { Err(Code::Permission.into()) } else { Ok(()) })
    }
}
