//! Blank lines in a reply that says nothing for long, so that nobody on the way takes it for dead (spec, Extensions: heartbeat).

use crate::{
    carriage::Reply,
    cx::Cx,
    wire::{
        Error, Moment, Query,
        times::{HEARTBEAT_MAX, HEARTBEAT_MIN},
    },
};
use core::time::Duration;

/// When the next blank line is due.
pub(super) struct Beat {
    every: Duration,
    next: Moment,
}

impl Beat {
    /// What a request asks for.
    pub(super) fn asked(cx: &Cx<'_>, query: &Query<'_>) -> Result<Option<Self>, Error> {
        let seconds = query.number("heartbeat", HEARTBEAT_MIN.as_secs()..=HEARTBEAT_MAX.as_secs())?;
        Ok(seconds.map(Duration::from_secs).map(|every| Self { every, next: cx.now().after(every) }))
    }

    /// Something else was said.
    pub(super) fn put_off(&mut self, now: Moment) {
        self.next = now.after(self.every);
    }

    /// Says it if it is due. A reader that is behind needs none.
    pub(super) fn poll(&mut self, cx: &mut Cx<'_>, out: &mut dyn Reply) {
        if self.next <= cx.now() {
            if out.backlog() == 0 {
                out.room(1).copy_from_slice(b"\n");
                out.commit(1);
            }
            self.put_off(cx.now());
        }
        cx.wake_at(self.next, "heartbeat");
    }
}
