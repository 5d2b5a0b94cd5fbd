//! A terminal for a process: our end of it (spec, Sessions, starts, keys: terminal).

use super::pipe::told;
use farside_core::{Cx, Interest, Sink, Source, Watched, wire::Error, wire::process::Size};
use rustix::{
    fd::{AsFd, OwnedFd},
    io::{Errno, ioctl_fionbio, read, write},
    pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt},
    termios::{LocalModes, SpecialCodeIndex, Winsize, tcgetattr, tcsetwinsize},
};
use std::task::{Poll, ready};

const OWN: OpenptFlags = OpenptFlags::RDWR.union(OpenptFlags::NOCTTY).union(OpenptFlags::CLOEXEC);

/// A terminal of that size: our end, and the process's. The other end is had by descriptor, never by a path somebody could swap.
pub(super) fn open(size: Size) -> Result<(OwnedFd, OwnedFd), Errno> {
    let master = openpt(OWN)?;
    unlockpt(&master)?;
    resize(&master, size)?;
    let theirs = ioctl_tiocgptpeer(&master, OWN)?;
    ioctl_fionbio(&master, true)?;
    Ok((master, theirs))
}

/// Changes its size; whoever is in its foreground is told by a signal.
pub(super) fn resize(master: impl AsFd, size: Size) -> Result<(), Errno> {
    tcsetwinsize(master, Winsize { ws_row: size.rows, ws_col: size.cols, ws_xpixel: 0, ws_ypixel: 0 })
}

/// What is typed.
pub(super) struct Keys {
    master: Watched,
    /// The last line has no end yet.
    unfinished: bool,
    /// So many ends of file are still to be typed; `None` before that is known.
    ends: Option<usize>,
}

/// What is shown.
pub(super) struct Screen(Watched);

/// Both directions. Each has a descriptor of its own, since a runtime registers one for one owner.
pub(super) fn halves(master: &OwnedFd) -> Result<(Keys, Screen), Errno> {
    let own = || rustix::io::fcntl_dupfd_cloexec(master, 3).map(Watched::new);
    Ok((Keys { master: own()?, unfinished: false, ends: None }, Screen(own()?)))
}

impl Keys {
    /// How often the end of file is to be typed, and what it is: where lines are edited, once, twice after an unfinished line; else
    /// there is none.
    fn ends(&self) -> (usize, u8) {
        match tcgetattr(&self.master) {
            Ok(modes) if modes.local_modes.contains(LocalModes::ICANON) => {
                (if self.unfinished { 2 } else { 1 }, modes.special_codes[SpecialCodeIndex::VEOF])
            }
            _ => (0, 0),
        }
    }
}

impl Sink for Keys {
    fn poll_write(&mut self, cx: &mut Cx<'_>, buf: &[u8]) -> Poll<Result<usize, Error>> {
        let wrote = ready!(cx.io(&mut self.master, Interest::Write, |fd| Ok(write(fd, buf)?)));
        if let Ok(n @ 1..) = wrote {
            self.unfinished = !matches!(buf.get(n - 1), Some(b'\n' | b'\r'));
        }
        Poll::Ready(wrote.map_err(told))
    }

    fn poll_finish(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        let (count, end) = self.ends();
        let mut left = self.ends.unwrap_or(count);
        while left > 0 {
            self.ends = Some(left);
            match ready!(cx.io(&mut self.master, Interest::Write, |fd| Ok(write(fd, &[end])?))) {
                Ok(_) => left -= 1,
                Err(error) => return Poll::Ready(Err(told(error))),
            }
        }
        self.ends = Some(0);
        Poll::Ready(Ok(()))
    }
}

impl Drop for Keys {
    /// Closed without an end of its own, as a polite close does it: the end of file is typed, if there is room.
    fn drop(&mut self) {
        let (count, end) = self.ends();
        for _ in 0..self.ends.unwrap_or(count) {
            let _ = write(&self.master, &[end]);
        }
    }
}

impl Source for Screen {
    /// The end of a terminal is EIO.
    fn poll_read(&mut self, cx: &mut Cx<'_>, buf: &mut [u8]) -> Poll<Result<usize, Error>> {
        let shown = ready!(cx.io(&mut self.0, Interest::Read, |fd| Ok(read(fd, &mut *buf)?)));
        Poll::Ready(match shown {
            Err(error) if Errno::from_io_error(&error) == Some(Errno::IO) => Ok(0),
            shown => shown.map_err(told),
        })
    }
}
