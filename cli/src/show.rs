//! How names, sizes, times and columns look, so that no name can abuse a terminal.

use crate::{args::Color, error::Failure};
use farside_core::wire::{FileMode, Timestamp};
use rustix::{fd::AsFd, termios};
use std::{
    borrow::Cow,
    fmt::Write as _,
    io::{self, BufWriter, StdoutLock, Write},
    time::{SystemTime, UNIX_EPOCH},
};

/// A name as it is printed: as it stands, or, when something in it could move a cursor, turn text around or end a line, as `$'...'`
/// with that escaped, which a shell takes back.
pub(crate) fn name(name: &str) -> Cow<'_, str> {
    let plain = !name.is_empty() && !name.starts_with('\'') && !name.starts_with("$'") && !name.contains(is_unsafe);
    if plain { name.into() } else { shell(name).into() }
}

/// A name as a message says it: quoted too where blanks would blur its ends, and cut where it is longer than a line.
pub(crate) fn said(given: &str) -> Cow<'_, str> {
    let (mut columns, mut buf) = (0, [0; 4]);
    let cut = given.char_indices().find(|(_, c)| {
        columns += width(c.encode_utf8(&mut buf));
        columns > LINE
    });
    let kept = &given[..cut.map_or(given.len(), |(at, _)| at)];
    let shown = if kept.contains(char::is_whitespace) { shell(kept).into() } else { name(kept) };
    if cut.is_some() { format!("{shown}...").into() } else { shown }
}

/// As much of a name as a message repeats, in columns.
const LINE: usize = 80;

/// A line of text from elsewhere, safe to print.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return text.into();
    }
    let mut safe = String::new();
    text.chars().for_each(|c| escaped(c, &mut safe));
    safe.into()
}

fn escaped(c: char, out: &mut String) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if is_unsafe(c) => {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        }
        c => out.push(c),
    }
}

/// Controls of both sets, the ends of lines and paragraphs, and what turns the direction of text around.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// A word for a shell, safe to print.
pub(crate) fn shell(word: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/._-:=,@%+]~".contains(&b);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.into();
    }
    if !word.contains(is_unsafe) {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    let mut quoted = String::from("$'");
    for c in word.chars() {
        match c {
            '\'' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if is_unsafe(c) => {
                // Three digits of octal: whatever comes behind them is no part of them.
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    let _ = write!(quoted, "\\{byte:03o}");
                }
            }
            c => quoted.push(c),
        }
    }
    quoted.push('\'');
    quoted
}

/// A line of JSON in which nothing can abuse a terminal, and whose values are what they were: what JSON lets through is escaped too.
pub(crate) fn json(json: Vec<u8>) -> String {
    let json = String::from_utf8(json).unwrap_or_default();
    text(&json).into_owned()
}

/// A size for people: `12 B`, `3.1 MB`.
pub(crate) fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"].iter();
    let mut unit = units.next();
    while value >= 999.95
        && let Some(next) = units.next()
    {
        value /= 1000.0;
        unit = Some(next);
    }
    let unit = unit.copied().unwrap_or_default();
    if unit == "B" { format!("{bytes} B") } else { format!("{value:.1} {unit}") }
}

/// RFC 3339.
pub(crate) fn time(time: Timestamp) -> String {
    let mut text = Vec::new();
    time.write(&mut text);
    String::from_utf8(text).unwrap_or_default()
}

/// A time for people: how long ago within a month, else the day.
pub(crate) fn ago(modified: Timestamp) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
    match now.saturating_sub(modified.seconds) {
        0..60 => "just now".into(),
        s @ 60..3600 => format!("{} min ago", s / 60),
        s @ 3600..86_400 => format!("{} h ago", s / 3600),
        s @ 86_400..2_592_000 => format!("{} d ago", s / 86_400),
        _ => time(modified)[..10].into(),
    }
}

/// A mode as `ls -l` shows it.
pub(crate) fn mode(mode: FileMode) -> String {
    let mut text = String::from(mode.type_letter());
    let specials = [(FileMode::SETUID, 's', 'S'), (FileMode::SETGID, 's', 'S'), (FileMode::STICKY, 't', 'T')];
    for ((special, on, off), shift) in specials.into_iter().zip([6, 3, 0]) {
        let bits = mode.perm() >> shift & 7;
        text.push(if bits & 4 != 0 { 'r' } else { '-' });
        text.push(if bits & 2 != 0 { 'w' } else { '-' });
        text.push(match (bits & 1 != 0, mode.0 & special != 0) {
            (true, true) => on,
            (false, true) => off,
            (true, false) => 'x',
            (false, false) => '-',
        });
    }
    text
}

/// What kind of file a mode is of.
pub(crate) fn kind(mode: FileMode) -> &'static str {
    match mode.type_letter() {
        '-' => "file",
        'd' => "directory",
        'l' => "link",
        'p' => "pipe",
        's' => "socket",
        'b' | 'c' => "device",
        _ => "other",
    }
}

/// The colour that a file of that mode is shown in, as the inside of an SGR sequence; empty for none.
pub(crate) fn color(mode: FileMode) -> &'static str {
    match mode.type_letter() {
        'd' => "1;34",
        'l' => "36",
        'p' | 's' => "35",
        'b' | 'c' => "33",
        _ if mode.perm() & 0o111 != 0 => "32",
        _ => "",
    }
}

/// Whether colour goes to standard output.
pub(crate) fn colored(when: Color) -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    match when {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
            !set("NO_COLOR") && !dumb && termios::isatty(io::stdout())
        }
    }
}

/// How many columns the terminal has that `fd` is, if it is one.
pub(crate) fn columns(fd: impl AsFd) -> Option<usize> {
    if !termios::isatty(&fd) {
        return None;
    }
    let told = termios::tcgetwinsize(fd).map_or(0, |size| size.ws_col);
    Some(if told == 0 { 80 } else { told.into() })
}

/// How many columns a text takes, nearly: wide scripts count twice, marks that combine not at all.
pub(crate) fn width(text: &str) -> usize {
    text.chars()
        .map(|c| match u32::from(c) {
            0x300..=0x36f | 0x200b..=0x200d | 0xfe00..=0xfe0f => 0,
            0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe6f => 2,
            0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1f64f | 0x1f900..=0x1f9ff | 0x20000..=0x3fffd => 2,
            _ => 1,
        })
        .sum()
}

/// Lays cells out in as many columns as fit, downwards as `ls` does. `cells` are what is printed and how wide that is.
pub(crate) fn grid(cells: &[(String, usize)], columns: usize) -> String {
    let widths = |rows: usize| -> Vec<usize> {
        cells.chunks(rows).map(|column| column.iter().map(|cell| cell.1).max().unwrap_or(0) + 2).collect()
    };
    let fits = |rows: usize| widths(rows).iter().sum::<usize>() <= columns + 2;
    // The fewest rows are looked for by halves: there may be a million names. One column is taken whether it fits or not.
    let (mut rows, mut least) = (cells.len().max(1), 1);
    while least < rows {
        let half = least.midpoint(rows);
        if fits(half) { rows = half } else { least = half + 1 }
    }
    let widths = widths(rows);
    let mut text = String::new();
    for row in 0..rows.min(cells.len()) {
        let in_row = cells.iter().skip(row).step_by(rows);
        let last = in_row.clone().count() - 1;
        for (n, ((cell, width), column)) in in_row.zip(&widths).enumerate() {
            text.push_str(cell);
            if n < last {
                text.extend(std::iter::repeat_n(' ', column - width));
            }
        }
        text.push('\n');
    }
    text
}

/// Standard output, buffered: data alone goes here.
pub(crate) struct Out(BufWriter<StdoutLock<'static>>);

impl Out {
    pub(crate) fn new() -> Self {
        Self(BufWriter::with_capacity(32 * 1024, io::stdout().lock()))
    }

    pub(crate) fn put(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), Failure> {
        self.0.write_all(bytes.as_ref()).map_err(Failure::output)
    }

    pub(crate) fn line(&mut self, text: impl AsRef<[u8]>) -> Result<(), Failure> {
        self.put(text)?;
        self.put("\n")
    }

    /// What was put is there: an error of the last bytes is seen too.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        self.0.flush().map_err(Failure::output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_never_sent() {
        assert_eq!(name("plain name.txt"), "plain name.txt");
        assert_eq!(name("a\u{1b}[2Jb"), r"$'a\033[2Jb'");
        assert_eq!(name("a\nb"), r"$'a\nb'");
        assert_eq!(name("gnp\u{202e}txt"), r"$'gnp\342\200\256txt'");
        assert_eq!(name("\u{9b}31m"), r"$'\302\23331m'");
        assert_eq!(name("it's\\\t"), r"$'it\'s\\\t'");
        assert_eq!(name("\"a\\"), "\"a\\");
        assert_eq!(name("$'a\\n'"), r"'$'\''a\n'\'''");
        assert_eq!(name(""), "''");
        assert_eq!(said("plain"), "plain");
        assert_eq!(said("a b"), "'a b'");
        assert_eq!(said(""), "''");
        assert_eq!(said(&"x".repeat(80)), "x".repeat(80));
        assert_eq!(said(&"x".repeat(300)), format!("{}...", "x".repeat(80)));
        assert_eq!(said(&"文 ".repeat(99)), format!("'{}'...", "文 ".repeat(26) + "文"));
        assert_eq!(text("bad \u{1b}]52;c;x\u{7} text"), r"bad \u001b]52;c;x\u0007 text");
    }

    #[test]
    fn sizes() {
        let shown = [0, 999, 1000, 1_234_567, 999_950, 3_100_000, u64::MAX].map(size);
        assert_eq!(shown, ["0 B", "999 B", "1.0 kB", "1.2 MB", "1.0 MB", "3.1 MB", "18.4 EB"]);
    }

    #[test]
    fn modes() {
        let shown = |st_mode| mode(FileMode::from_unix(st_mode));
        assert_eq!(shown(0o100644), "-rw-r--r--");
        assert_eq!(shown(0o041777), "drwxrwxrwt");
        assert_eq!(shown(0o104755), "-rwsr-xr-x");
        assert_eq!(shown(0o106640), "-rwSr-S---");
        assert_eq!(shown(0o120777), "lrwxrwxrwx");
    }

    #[test]
    fn columns_are_aligned() {
        let cells = |names: &[&str]| names.iter().map(|n| (n.to_string(), width(n))).collect::<Vec<_>>();
        assert_eq!(grid(&cells(&["a", "bbb", "c", "d"]), 9), "a    c\nbbb  d\n");
        assert_eq!(grid(&cells(&["a", "bbb", "c"]), 80), "a  bbb  c\n");
        assert_eq!(grid(&cells(&["文字", "x", "yy", "z"]), 10), "文字  yy\nx     z\n");
        assert_eq!(grid(&cells(&["longer than all"]), 4), "longer than all\n");
        assert_eq!(grid(&[], 80), "");
    }

    #[test]
    fn words_for_a_shell() {
        assert_eq!(shell("/run/a.token"), "/run/a.token");
        assert_eq!(shell("/home/a b/it's"), r"'/home/a b/it'\''s'");
        assert_eq!(shell("[::1]:7070"), "'[::1]:7070'");
    }
}
