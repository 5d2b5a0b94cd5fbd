//! The workspace as a program calls it from a future: the names of the blocking one.

use crate::run;
use farside_core::{
    About, Command, Reader, Sink, Workspace, ops, poll_task,
    wire::{Channel, Error, Listing, Meta, Output},
};
use std::sync::Arc;

/// Every workspace, awaited. Dropping a future cancels what it stands for.
///
/// ```
/// use farside_smol::Awaited;
/// # let ws = farside_backends::Memory::new();
/// # async_io::block_on(async {
/// ws.write("notes/todo.md", b"- ship it\n", None).await?;
/// assert_eq!(ws.read("notes/todo.md", 1 << 20).await?, b"- ship it\n");
/// # Ok::<(), farside_core::wire::Error>(()) }).unwrap();
/// ```
#[allow(
    async_fn_in_trait,
    reason = "a host calls them on a workspace it names, and sees then whether the future is Send"
)]
pub trait Awaited: Workspace + Sized {
    /// What it is.
    ///
    /// # Errors
    /// Those of the far side.
    async fn about(&self) -> Result<Arc<About>, Error> {
        run(ops::about(self)).await
    }

    /// Size, mode and time of `name`; a link at its end is followed.
    ///
    /// # Errors
    /// `not_exist`, `outside`, `permission`, `invalid`.
    async fn stat(&self, name: &str) -> Result<Meta, Error> {
        run(ops::stat(self, name)).await
    }

    /// Size, mode and time of `name`, of a link itself.
    ///
    /// # Errors
    /// As [`Awaited::stat`].
    async fn lstat(&self, name: &str) -> Result<Meta, Error> {
        run(ops::lstat(self, name)).await
    }

    /// Where the link `name` leads, as it stands.
    ///
    /// # Errors
    /// As [`Awaited::stat`]; `invalid` for what is no link.
    async fn readlink(&self, name: &str) -> Result<String, Error> {
        run(ops::readlink(self, name)).await
    }

    /// The entries of the directory `name`, sorted.
    ///
    /// # Errors
    /// As [`Awaited::stat`]; `limit` for more than `max` entries.
    async fn readdir(&self, name: &str, max: u64) -> Result<Listing, Error> {
        run(ops::readdir(self, name, max)).await
    }

    /// The content of the file `name`.
    ///
    /// # Errors
    /// As [`Awaited::stat`]; `limit` for more than `max` bytes.
    async fn read(&self, name: &str, max: u64) -> Result<Vec<u8>, Error> {
        run(ops::read(self, name, max)).await
    }

    /// The content of the file `name`, piece by piece.
    ///
    /// # Errors
    /// As [`Awaited::stat`].
    async fn open(&self, name: &str) -> Result<FileReader, Error> {
        run(ops::open(self, name)).await.map(FileReader)
    }

    /// Makes `data` the content of the file `name`, whole or not at all. `perm` is for a file that is made.
    ///
    /// # Errors
    /// As [`Awaited::stat`]; `limit` for too much; `other` of the file system, a full disk among them.
    async fn write(&self, name: &str, data: &[u8], perm: Option<u32>) -> Result<(), Error> {
        run(ops::write(self, name, data, perm)).await
    }

    /// A new content for the file `name`, piece by piece; it is there once [`FileWriter::finish`] returned.
    ///
    /// # Errors
    /// As [`Awaited::write`].
    async fn create(&self, name: &str, perm: Option<u32>, size: Option<u64>) -> Result<FileWriter, Error> {
        run(ops::create(self, name, perm, size)).await.map(FileWriter)
    }

    /// Removes what is no directory, or an empty directory.
    ///
    /// # Errors
    /// As [`Awaited::stat`]; `exist` for a directory that is not empty.
    async fn remove(&self, name: &str) -> Result<(), Error> {
        run(ops::remove(self, name)).await
    }

    /// Runs a command to its end and gives its output.
    ///
    /// # Errors
    /// When it cannot be started, when its output is over the bound (`limit`, it ran), when the reply was cut.
    async fn exec(&self, command: &Command) -> Result<Output, Error> {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let end = self.exec_stream(command, |channel, bytes| match channel {
            Channel::Stdout => stdout.extend_from_slice(bytes),
            Channel::Stderr => stderr.extend_from_slice(bytes),
        });
        let end = end.await?;
        Ok(Output { stdout, stderr, ..end })
    }

    /// Runs a command to its end; its output goes to `each` as it comes, as far as [`Command::output`] asks for that.
    ///
    /// # Errors
    /// As [`Awaited::exec`].
    async fn exec_stream(&self, command: &Command, each: impl FnMut(Channel, &[u8])) -> Result<Output, Error> {
        run(ops::run(self, command, each)).await
    }
}

impl<W: Workspace> Awaited for W {}

/// A file's content, piece by piece.
pub struct FileReader(Reader);

impl FileReader {
    /// Its length, if that is known.
    pub fn size(&self) -> Option<u64> {
        self.0.size
    }

    /// Reads into `buf`; 0 is the end, or an empty `buf`.
    ///
    /// # Errors
    /// Those of the far side; a content that was cut is one, never an end.
    pub async fn read(&mut self, buf: &mut [u8]) -> Result<usize, Error> {
        if buf.is_empty() {
            return Ok(0);
        }
        run(poll_task(|cx| self.0.bytes.poll_read(cx, buf))).await
    }
}

/// A file's new content, piece by piece. Dropped before [`FileWriter::finish`] it changes nothing.
pub struct FileWriter(Box<dyn Sink>);

impl FileWriter {
    /// Takes all of `data`.
    ///
    /// # Errors
    /// As [`Awaited::write`].
    pub async fn write_all(&mut self, mut data: &[u8]) -> Result<(), Error> {
        while !data.is_empty() {
            let n = run(poll_task(|cx| self.0.poll_write(cx, data))).await?;
            data = &data[n..];
        }
        Ok(())
    }

    /// It is whole: the file appears.
    ///
    /// # Errors
    /// As [`Awaited::write`].
    pub async fn finish(mut self) -> Result<(), Error> {
        run(poll_task(|cx| self.0.poll_finish(cx))).await
    }
}
