//! How far a transfer is, for a person who waits for it.

use crate::show;
use farside_core::{Cx, wire::Moment};
use std::{
    io::{self, Write},
    time::Duration,
};

/// What lasts no longer is not worth a look.
const PATIENCE: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_millis(200);

/// A line on the terminal that standard error is, rewritten as bytes go by, and gone when this is.
pub(crate) struct Progress {
    /// `None`: nobody looks.
    shown: Option<Bar>,
    pub(crate) bytes: u64,
}

struct Bar {
    name: String,
    total: Option<u64>,
    /// When it is drawn next, once the first turn told the time.
    next: Option<Moment>,
    drawn: bool,
    /// What had gone by at the last step, and bytes a second, smoothed.
    before: u64,
    rate: f64,
}

impl Progress {
    /// Of a transfer called `name`, of `total` bytes if that is known.
    pub(crate) fn new(quiet: bool, name: &str, total: Option<u64>) -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        let seen = !quiet && !dumb && show::columns(io::stderr()).is_some();
        let bar = || Bar { name: show::name(name).into_owned(), total, next: None, drawn: false, before: 0, rate: 0.0 };
        Self { shown: seen.then(bar), bytes: 0 }
    }

    /// Draws it if it is time, and asks to be called when it is.
    pub(crate) fn turn(&mut self, cx: &mut Cx<'_>) {
        let Some(bar) = &mut self.shown else { return };
        let next = *bar.next.get_or_insert(cx.now().after(PATIENCE));
        if next <= cx.now() {
            bar.step(self.bytes);
            bar.next = Some(cx.now().after(STEP));
        }
        cx.wake_at(bar.next.unwrap_or(next), "progress");
    }
}

impl Bar {
    fn step(&mut self, bytes: u64) {
        let since = if self.drawn { STEP } else { PATIENCE };
        let rate = (bytes - self.before) as f64 / since.as_secs_f64();
        self.rate = if self.drawn { self.rate * 0.8 + rate * 0.2 } else { rate };
        (self.before, self.drawn) = (bytes, true);
        let columns = show::columns(io::stderr()).unwrap_or(80);
        // A terminal that is gone shows nothing.
        let _ = write!(io::stderr().lock(), "\r{}\x1b[K", line(&self.name, bytes, self.total, self.rate, columns));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.as_ref().is_some_and(|bar| bar.drawn) {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}

/// `app.tar.gz   37 % [#######-------------]  45.2 MB of 120.0 MB  11.2 MB/s  7 s left`, as much of it as there are columns for.
fn line(name: &str, bytes: u64, total: Option<u64>, rate: f64, columns: usize) -> String {
    let speed = format!("{}/s", show::size(rate as u64));
    let (bar, rest) = match total.filter(|total| *total > 0) {
        None => (String::new(), format!("{}  {speed}", show::size(bytes))),
        Some(total) => {
            let part = (bytes as f64 / total as f64).min(1.0);
            let full = (part * 20.0) as usize;
            let left = if rate >= 1.0 {
                duration((total.saturating_sub(bytes) as f64 / rate).ceil() as u64)
            } else {
                "stalled".into()
            };
            let bar = format!("{:3.0} % [{}{}]  ", (part * 100.0).floor(), "#".repeat(full), "-".repeat(20 - full));
            (bar, format!("{} of {}  {speed}  {left}", show::size(bytes), show::size(total)))
        }
    };
    let shortest = rest.len().min(columns.saturating_sub(1));
    let room = columns.saturating_sub(1 + bar.len() + rest.len() + 2);
    match room {
        _ if columns <= bar.len() + rest.len() => rest[..shortest].into(),
        0..4 => bar + &rest,
        _ => {
            let mut cut: String = name.into();
            while show::width(&cut) > room {
                cut.pop();
            }
            format!("{cut}  {bar}{rest}")
        }
    }
}

fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s left"),
        60..3600 => format!("{} min {} s left", seconds / 60, seconds % 60),
        _ => format!("{} h {} min left", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fits_whatever_there_is() {
        let whole = line("app.tar.gz", 45_200_000, Some(120_000_000), 11_200_000.0, 120);
        assert_eq!(whole, "app.tar.gz   37 % [#######-------------]  45.2 MB of 120.0 MB  11.2 MB/s  7 s left");
        assert_eq!(line("x", 5, None, 1.0, 80), "x  5 B  1 B/s");
        assert_eq!(line("x", 5, Some(10), 0.0, 80), "x   50 % [##########----------]  5 B of 10 B  0 B/s  stalled");
        for columns in 0..130 {
            for total in [None, Some(0), Some(3), Some(120_000_000)] {
                let text = line("a name that is rather long 文字文字", 45_200_000, total, 11e6, columns);
                assert!(show::width(&text) < columns.max(1), "{columns}: {text}");
            }
        }
    }
}
