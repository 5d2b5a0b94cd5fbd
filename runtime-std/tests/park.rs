//! Waiting: a thread holds nothing open that its task let go of.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use farside_core::{Cx, Interest, Task, Watched, wire::Moment};
use std::{
    io::{Read, Write},
    os::fd::{AsFd, OwnedFd},
    task::{Poll, ready},
    time::Duration,
};

/// Fills a pipe until somebody takes from it, ends it, and waits for an answer on another.
struct Ask {
    to: Option<Watched>,
    from: Watched,
    left: usize,
    until: Option<Moment>,
}

impl Task for Ask {
    type Out = Result<Vec<u8>, &'static str>;

    fn poll(&mut self, cx: &mut Cx<'_>) -> Poll<Self::Out> {
        let until = *self.until.get_or_insert(cx.now().after(Duration::from_secs(10)));
        cx.wake_at(until, "give up");
        if until <= cx.now() {
            return Poll::Ready(Err("nobody answered"));
        }
        while let Some(to) = &mut self.to {
            let piece = vec![7; self.left.min(200_000)];
            let wrote = ready!(cx.io(to, Interest::Write, |fd| Ok(rustix::io::write(fd, &piece)?))).unwrap();
            self.left -= wrote;
            if self.left == 0 {
                self.to = None;
            }
        }
        let mut answer = vec![0; 100];
        let n = ready!(cx.io(&mut self.from, Interest::Read, |fd| Ok(rustix::io::read(fd, &mut *answer)?))).unwrap();
        answer.truncate(n);
        Poll::Ready(Ok(answer))
    }
}

fn watched(fd: impl Into<OwnedFd>) -> Watched {
    let fd = fd.into();
    rustix::io::ioctl_fionbio(fd.as_fd(), true).unwrap();
    Watched::new(fd)
}

#[test]
fn what_a_task_lets_go_of_is_closed_before_the_thread_waits() {
    for _ in 0..20 {
        let (mut theirs, to) = std::io::pipe().unwrap();
        let (from, mut answers) = std::io::pipe().unwrap();
        let reader = std::thread::spawn(move || {
            let mut all = Vec::new();
            theirs.read_to_end(&mut all).unwrap();
            answers.write_all(b"got it").unwrap();
            all.len()
        });
        let ask = Ask { to: Some(watched(to)), from: watched(from), left: 1_000_000, until: None };
        assert_eq!(farside_std::run(ask), Ok(b"got it".to_vec()));
        assert_eq!(reader.join().unwrap(), 1_000_000);
    }
}
