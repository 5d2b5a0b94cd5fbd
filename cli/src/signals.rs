//! The signals that end a command, as something a task can wait for.

use farside_core::{Cx, Interest, Watched};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag, low_level,
};
use std::{
    io,
    os::unix::net::UnixStream,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::Poll,
};

/// The signals that came, in a pipe.
pub(crate) struct Signals {
    pipe: Watched,
    last: Arc<AtomicUsize>,
}

impl Signals {
    /// From now on interrupt, terminate and hang-up come here, but those that are ignored already (`nohup`, a background job).
    pub(crate) fn for_a_command() -> io::Result<Self> {
        let ignored = ignored();
        Self::of([SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0))
    }

    /// From now on interrupt and terminate come here and hang-up changes nothing. All have a handler, so that children begin with the
    /// system's own disposition.
    pub(crate) fn for_a_server() -> io::Result<Self> {
        flag::register_usize(SIGHUP, Arc::new(AtomicUsize::new(0)), 1)?;
        Self::of([SIGINT, SIGTERM].into_iter())
    }

    fn of(signals: impl Iterator<Item = i32>) -> io::Result<Self> {
        let (read, write) = UnixStream::pair()?;
        read.set_nonblocking(true)?;
        let last = Arc::new(AtomicUsize::new(0));
        for signal in signals {
            // Which signal it was is noted before the pipe tells that there was one.
            flag::register_usize(signal, last.clone(), signal as usize)?;
            low_level::pipe::register(signal, write.try_clone()?)?;
        }
        Ok(Self { pipe: Watched::new(read.into()), last })
    }

    /// The next signal that came, once.
    pub(crate) fn poll(&mut self, cx: &mut Cx<'_>) -> Poll<u8> {
        match cx.io(&mut self.pipe, Interest::Read, |fd| Ok(rustix::io::read(fd, &mut [0u8; 1])?)) {
            Poll::Ready(Ok(1)) => Poll::Ready(self.last.load(SeqCst) as u8),
            _ => Poll::Pending,
        }
    }
}

/// The signals that are ignored, as bits.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
