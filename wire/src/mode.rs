//! A file's mode as the wire has it: Go's `fs.FileMode` (spec, Info and files).

/// Permission bits, and bits for what the file is. Not the numbers of a Unix `st_mode`, but for the lowest nine.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct FileMode(pub u32);

impl FileMode {
    /// A directory.
    pub const DIR: u32 = 1 << 31;
    /// A symbolic link.
    pub const SYMLINK: u32 = 1 << 27;
    /// A device.
    pub const DEVICE: u32 = 1 << 26;
    /// A named pipe.
    pub const NAMED_PIPE: u32 = 1 << 25;
    /// A socket.
    pub const SOCKET: u32 = 1 << 24;
    /// Set user id.
    pub const SETUID: u32 = 1 << 23;
    /// Set group id.
    pub const SETGID: u32 = 1 << 22;
    /// A character device; [`FileMode::DEVICE`] is set too.
    pub const CHAR_DEVICE: u32 = 1 << 21;
    /// Sticky.
    pub const STICKY: u32 = 1 << 20;
    /// Nothing else that is known.
    pub const IRREGULAR: u32 = 1 << 19;
    /// The bits that say what the file is; none of them is set for a regular file.
    pub const TYPE: u32 = Self::DIR
        | Self::SYMLINK
        | Self::NAMED_PIPE
        | Self::SOCKET
        | Self::DEVICE
        | Self::CHAR_DEVICE
        | Self::IRREGULAR;

    /// The mode of a Linux `st_mode`.
    pub const fn from_unix(st_mode: u32) -> Self {
        let kind = match st_mode & 0o170_000 {
            0o100_000 => 0,
            0o040_000 => Self::DIR,
            0o120_000 => Self::SYMLINK,
            0o010_000 => Self::NAMED_PIPE,
            0o140_000 => Self::SOCKET,
            0o020_000 => Self::DEVICE | Self::CHAR_DEVICE,
            0o060_000 => Self::DEVICE,
            _ => Self::IRREGULAR,
        };
        let setuid = if st_mode & 0o4000 != 0 { Self::SETUID } else { 0 };
        let setgid = if st_mode & 0o2000 != 0 { Self::SETGID } else { 0 };
        let sticky = if st_mode & 0o1000 != 0 { Self::STICKY } else { 0 };
        Self(st_mode & 0o777 | kind | setuid | setgid | sticky)
    }

    /// Whether it is a directory.
    pub const fn is_dir(self) -> bool {
        self.0 & Self::DIR != 0
    }

    /// Whether it is a regular file.
    pub const fn is_regular(self) -> bool {
        self.0 & Self::TYPE == 0
    }

    /// Whether it is a symbolic link.
    pub const fn is_symlink(self) -> bool {
        self.0 & Self::SYMLINK != 0
    }

    /// The permission bits.
    pub const fn perm(self) -> u32 {
        self.0 & 0o777
    }

    /// The letter that `ls` shows first; `?` for what is irregular.
    pub const fn type_letter(self) -> char {
        match self.0 & Self::TYPE {
            0 => '-',
            mode if mode & Self::DIR != 0 => 'd',
            mode if mode & Self::SYMLINK != 0 => 'l',
            mode if mode & Self::NAMED_PIPE != 0 => 'p',
            mode if mode & Self::SOCKET != 0 => 's',
            mode if mode & Self::CHAR_DEVICE != 0 => 'c',
            mode if mode & Self::DEVICE != 0 => 'b',
            _ => '?',
        }
    }
}
