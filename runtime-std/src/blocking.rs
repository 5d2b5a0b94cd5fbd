//! The workspace as a program calls it from a thread: the names of the awaited one.

use crate::run;
use farside_core::{
    About, Command, Reader, Sink, Workspace, ops, poll_task,
    wire::{Channel, Error, Listing, Meta, Output},
};
use std::{
    io::{self, Read, Write},
    sync::Arc,
};

/// Every workspace, blocking: each call returns when it is done.
///
/// ```
/// use farside_std::Blocking;
/// # let ws = farside_backends::Memory::new();
/// ws.write("notes/todo.md", b"- ship it\n", None)?;
/// assert_eq!(ws.read("notes/todo.md", 1 << 20)?, b"- ship it\n");
/// # Ok::<(), farside_core::wire::Error>(())
/// ```
pub trait Blocking: Workspace + Sized {
    /// What it is.
    ///
    /// # Errors
    /// Those of the far side.
    fn about(&self) -> Result<Arc<About>, Error> {
        run(ops::about(self))
    }

    /// Size, mode and time of `name`; a link at its end is followed.
    ///
    /// # Errors
    /// `not_exist`, `outside`, `permission`, `invalid`.
    fn stat(&self, name: &str) -> Result<Meta, Error> {
        run(ops::stat(self, name))
    }

    /// Size, mode and time of `name`, of a link itself.
    ///
    /// # Errors
    /// As [`Blocking::stat`].
    fn lstat(&self, name: &str) -> Result<Meta, Error> {
        run(ops::lstat(self, name))
    }

    /// Where the link `name` leads, as it stands.
    ///
    /// # Errors
    /// As [`Blocking::stat`]; `invalid` for what is no link.
    fn readlink(&self, name: &str) -> Result<String, Error> {
        run(ops::readlink(self, name))
    }

    /// The entries of the directory `name`, sorted.
    ///
    /// # Errors
    /// As [`Blocking::stat`]; `limit` for more than `max` entries.
    fn readdir(&self, name: &str, max: u64) -> Result<Listing, Error> {
        run(ops::readdir(self, name, max))
    }

    /// The content of the file `name`.
    ///
    /// # Errors
    /// As [`Blocking::stat`]; `limit` for more than `max` bytes.
    fn read(&self, name: &str, max: u64) -> Result<Vec<u8>, Error> {
        run(ops::read(self, name, max))
    }

    /// The content of the file `name`, piece by piece.
    ///
    /// # Errors
    /// As [`Blocking::stat`].
    fn open(&self, name: &str) -> Result<FileReader, Error> {
        run(ops::open(self, name)).map(FileReader)
    }

    /// Makes `data` the content of the file `name`, whole or not at all. `perm` is for a file that is made.
    ///
    /// # Errors
    /// As [`Blocking::stat`]; `limit` for too much; `other` of the file system, a full disk among them.
    fn write(&self, name: &str, data: &[u8], perm: Option<u32>) -> Result<(), Error> {
        run(ops::write(self, name, data, perm))
    }

    /// A new content for the file `name`, piece by piece; it is there once [`FileWriter::finish`] returned.
    ///
    /// # Errors
    /// As [`Blocking::write`].
    fn create(&self, name: &str, perm: Option<u32>, size: Option<u64>) -> Result<FileWriter, Error> {
        run(ops::create(self, name, perm, size)).map(FileWriter)
    }

    /// Removes what is no directory, or an empty directory.
    ///
    /// # Errors
    /// As [`Blocking::stat`]; `exist` for a directory that is not empty.
    fn remove(&self, name: &str) -> Result<(), Error> {
        run(ops::remove(self, name))
    }

    /// Runs a command to its end and gives its output.
    ///
    /// # Errors
    /// When it cannot be started, when its output is over the bound (`limit`, it ran), when the reply was cut.
    fn exec(&self, command: &Command) -> Result<Output, Error> {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let end = self.exec_stream(command, |channel, bytes| match channel {
            Channel::Stdout => stdout.extend_from_slice(bytes),
            Channel::Stderr => stderr.extend_from_slice(bytes),
        })?;
        Ok(Output { stdout, stderr, ..end })
    }

    /// Runs a command to its end; its output goes to `each` as it comes, as far as [`Command::output`] asks for that.
    ///
    /// # Errors
    /// As [`Blocking::exec`].
    fn exec_stream(&self, command: &Command, each: impl FnMut(Channel, &[u8])) -> Result<Output, Error> {
        run(ops::run(self, command, each))
    }
}

impl<W: Workspace> Blocking for W {}

/// A file's content as a [`Read`].
pub struct FileReader(Reader);

impl FileReader {
    /// Its length, if that is known.
    pub fn size(&self) -> Option<u64> {
        self.0.size
    }
}

impl Read for FileReader {
    /// A content that was cut is an error, never an end.
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        run(poll_task(|cx| self.0.bytes.poll_read(cx, buf))).map_err(io::Error::other)
    }
}

/// A file's new content as a [`Write`]. Dropped before [`FileWriter::finish`] it changes nothing.
pub struct FileWriter(Box<dyn Sink>);

impl FileWriter {
    /// It is whole: the file appears.
    ///
    /// # Errors
    /// As [`Blocking::write`].
    pub fn finish(mut self) -> Result<(), Error> {
        run(poll_task(|cx| self.0.poll_finish(cx)))
    }
}

impl Write for FileWriter {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        run(poll_task(|cx| self.0.poll_write(cx, buf))).map_err(io::Error::other)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
