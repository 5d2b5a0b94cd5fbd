//! A command that runs for one request, and its reply of frames (spec, Exec).

use super::{State, Then, beat::Beat, reply::Refusal};
use crate::{
    access::Principal,
    carriage::{Reply, ReplyHead},
    cx::Cx,
    handler::{Claim, Handler, Transfer},
    wire::{
        Channel, Error, ExecRequest, Moment, Out, Output,
        frame::{MAX_FRAME_DATA, data_frame_len, write_data_frame, write_error_frame, write_output},
    },
    workspace::{Answer, Command, Delivery, Exec, NoRoom, Op, Piece},
};
use alloc::{boxed::Box, sync::Arc, vec, vec::Vec};
use bytes::Bytes;
use core::{task::Poll, time::Duration};

/// While more than this waits to be written, no output is read: the command then waits, and so does its pipe.
const BACKLOG: usize = 16 * 1024;
/// The first room for output; it grows to [`MAX_FRAME_DATA`] once output fills it.
const FIRST: usize = 4 * 1024;
/// A command that ends sooner than this is answered in one piece, if nobody waits for the head.
const PATIENCE: Duration = Duration::from_millis(10);
/// So many pieces a turn; then others, and this command's own clock, have theirs.
const PIECES: usize = 32;

/// An exec whose command is being started.
pub(crate) struct Starting {
    delivery: Delivery,
    claim: Claim,
    transfer: Transfer,
    beat: Option<Beat>,
}

/// Starts what a checked request asks for.
pub(crate) fn start(
    cx: &mut Cx<'_>,
    handler: &Arc<Handler>,
    principal: &Principal,
    request: &ExecRequest<'_>,
    beat: Option<Beat>,
    out: &mut dyn Reply,
) -> Result<State, Refusal> {
    if handler.is_closing() {
        return Err(Refusal::closing());
    }
    let claim = handler.running(cx.now(), &principal.name, request.key.as_deref())?;
    let delivery = match (request.stream, request.apart) {
        (false, _) => Delivery::Collected,
        (true, false) => Delivery::Merged,
        (true, true) => Delivery::Apart,
    };
    let starting = Starting { delivery, claim, transfer: handler.transfer()?, beat };
    let command = Command {
        args: request.args.iter().map(|a| a.as_ref().into()).collect(),
        dir: request.dir.as_ref().into(),
        env: request.env.iter().map(|e| e.as_ref().into()).collect(),
        stdin: Bytes::copy_from_slice(&request.stdin),
        timeout: (request.timeout_ms > 0).then(|| Duration::from_millis(request.timeout_ms)),
        output: delivery,
    };
    let mut call = handler.workspace.call(Op::Exec(&command), &mut NoRoom);
    match call.poll(cx, &mut NoRoom) {
        Poll::Pending => Ok(State::Calling { call, then: Then::Exec(starting) }),
        Poll::Ready(Ok(answer)) => started(cx, answer, starting, out),
        Poll::Ready(Err(error)) => Err(Refusal::mapped(error)),
    }
}

/// The command runs.
pub(crate) fn started(
    cx: &mut Cx<'_>,
    answer: Answer,
    starting: Starting,
    out: &mut dyn Reply,
) -> Result<State, Refusal> {
    let Answer::Exec(exec) = answer else {
        return Err(Error::other("the workspace answered another operation").into());
    };
    let Starting { delivery, mut claim, transfer, beat } = starting;
    claim.ran(cx.now());
    let at_once = beat.is_some() || claim.is_keyed() || delivery != Delivery::Collected;
    if at_once {
        out.start(&head());
    }
    let collected = (delivery == Delivery::Collected).then(Output::default);
    let (scratch, head_at) = (Vec::new(), cx.now().after(PATIENCE));
    let apart = delivery == Delivery::Apart;
    Ok(State::Exec(Running {
        exec,
        apart,
        collected,
        over: false,
        scratch,
        head_at,
        interrupted: false,
        claim,
        beat,
        _transfer: transfer,
    }))
}

fn head() -> ReplyHead<'static> {
    ReplyHead::new(200, Some("application/x-ndjson"))
}

/// A command that runs.
pub(crate) struct Running {
    exec: Box<dyn Exec>,
    apart: bool,
    /// Without `stream` the output is kept until the end.
    collected: Option<Output>,
    /// More came than may be kept: it runs to its end, and then it is `limit`.
    over: bool,
    scratch: Vec<u8>,
    head_at: Moment,
    interrupted: bool,
    claim: Claim,
    beat: Option<Beat>,
    _transfer: Transfer,
}

impl Running {
    pub(crate) fn interrupt(&mut self) {
        if !core::mem::replace(&mut self.interrupted, true) {
            self.exec.interrupt();
        }
    }

    /// `Ready` once the command and all it started have ended. With `gone` nobody reads, and the pieces are dropped.
    pub(crate) fn poll(&mut self, cx: &mut Cx<'_>, handler: &Handler, gone: bool, out: &mut dyn Reply) -> Poll<()> {
        if gone || self.claim.running.poll_cancelled(cx) {
            self.interrupt();
        }
        for _ in 0..PIECES {
            let room =
                if !gone && out.backlog() > BACKLOG { 0 } else { self.scratch.len().clamp(FIRST, MAX_FRAME_DATA) };
            if self.scratch.len() < room {
                self.scratch = vec![0; room];
            }
            match self.exec.poll_next(cx, &mut self.scratch[..room]) {
                Poll::Pending => return self.rest(cx, gone, out),
                Poll::Ready(Ok(Piece::Data(channel, n))) => {
                    if !gone {
                        self.data(cx, handler, channel, n, out);
                    }
                    if n == self.scratch.len() && n < MAX_FRAME_DATA {
                        self.scratch = vec![0; (n * 4).min(MAX_FRAME_DATA)];
                    }
                }
                Poll::Ready(end) => {
                    self.claim.ran(cx.now());
                    if gone {
                        out.cut();
                    } else {
                        self.finish(handler, end, out);
                    }
                    return Poll::Ready(());
                }
            }
        }
        cx.again();
        self.rest(cx, gone, out)
    }

    /// Nothing more for now: whoever waits for the head has it soon.
    fn rest(&mut self, cx: &mut Cx<'_>, gone: bool, out: &mut dyn Reply) -> Poll<()> {
        if let Some(beat) = self.beat.as_mut().filter(|_| !gone) {
            beat.poll(cx, out);
        }
        if !gone && !out.started() {
            if cx.now() >= self.head_at {
                out.start(&head());
            } else {
                cx.wake_at(self.head_at, "exec head");
            }
        }
        Poll::Pending
    }

    fn data(&mut self, cx: &Cx<'_>, handler: &Handler, channel: Channel, n: usize, out: &mut dyn Reply) {
        let data = &self.scratch[..n];
        let Some(kept) = &mut self.collected else {
            self.beat.iter_mut().for_each(|beat| beat.put_off(cx.now()));
            let channel = if self.apart { channel } else { Channel::Stdout };
            let len = data_frame_len(channel, n);
            write_data_frame(out.room(len), channel, data);
            return out.commit(len);
        };
        let stream = if channel == Channel::Stdout { &mut kept.stdout } else { &mut kept.stderr };
        if (stream.len() + n) as u64 > handler.bounds.max_exec_output_bytes {
            self.over = true;
            (kept.stdout, kept.stderr) = Default::default();
        } else if !self.over {
            stream.extend_from_slice(data);
        }
    }

    /// The last frame.
    fn finish(&mut self, handler: &Handler, end: Result<Piece, Error>, out: &mut dyn Reply) {
        let max_error = handler.bounds.max_error_bytes;
        let max_output = handler.bounds.max_exec_output_bytes;
        let frame: &mut dyn FnMut(&mut dyn Out) = match end {
            Ok(Piece::End(_)) if self.over => {
                let error = Error::limit("maxExecOutputBytes", max_output).with(|d| d.ran = Some(true));
                &mut move |o| write_error_frame(o, &error, max_error)
            }
            Ok(Piece::End(exit)) => {
                let kept = self.collected.take().unwrap_or_default();
                let (timed_out, interrupted) = (exit.timed_out, exit.interrupted);
                let output = Output { exit_code: exit.code, signal: exit.signal, timed_out, interrupted, ..kept };
                &mut move |o| write_output(o, &output)
            }
            Err(error) => {
                let error = Refusal::mapped(error).into_error();
                &mut move |o| write_error_frame(o, &error, max_error)
            }
            // The caller takes data itself.
            Ok(Piece::Data(..)) => return,
        };
        if !out.started() {
            return out.whole(&head(), frame);
        }
        let mut measure = Measure(0);
        frame(&mut measure);
        let len = measure.0;
        frame(&mut Fill(out.room(len)));
        out.commit(len);
        out.end();
    }
}

/// Counts what would be written.
struct Measure(usize);

impl Out for Measure {
    fn put(&mut self, bytes: &[u8]) {
        self.0 += bytes.len();
    }
}

/// Fills room of the length that was measured.
struct Fill<'a>(&'a mut [u8]);

impl Out for Fill<'_> {
    fn put(&mut self, bytes: &[u8]) {
        let (now, rest) = core::mem::take(&mut self.0).split_at_mut(bytes.len());
        now.copy_from_slice(bytes);
        self.0 = rest;
    }
}
