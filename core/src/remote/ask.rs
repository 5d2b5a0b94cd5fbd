//! A request whose reply is an answer.

use super::{
    Inner, exec, file,
    link::{Link, broke},
    reply::{Reply, Whole},
    request::Outgoing,
};
use crate::{
    cx::Cx,
    wire::{
        Code, Error, Info, Listing, Reach,
        file::{parse_info, parse_target},
        route::{Method, RouteId},
    },
    workspace::{About, Answer, Call, Room},
};
use alloc::{string::String, sync::Arc};
use core::task::{Poll, ready};

/// A file that is shorter is often received with the head of its reply.
const SMALL_FILE: usize = 16 * 1024;

/// A request on its way to the head of its reply.
pub(super) struct Ask {
    inner: Arc<Inner>,
    route: RouteId,
    out: Outgoing,
    link: Option<Link>,
}

impl Ask {
    pub(super) fn new(inner: Arc<Inner>, route: RouteId, out: Outgoing) -> Self {
        Self { inner, route, out, link: None }
    }

    pub(super) fn poll(&mut self, cx: &mut Cx<'_>) -> Poll<Result<Reply, Error>> {
        let route = self.route.route();
        loop {
            let link = match &mut self.link {
                Some(link) => link,
                none => {
                    let link = none.insert(self.inner.connect(cx)?);
                    if self.route == RouteId::ReadFile {
                        link.rx.want(SMALL_FILE);
                    }
                    link
                }
            };
            match ready!(link.poll_head(cx, &mut self.out, route.reply)) {
                Ok(head) => {
                    let link = self.link.take().ok_or(Error::other("polled after its end"))?;
                    return Poll::Ready(Ok(Reply::new(self.inner.clone(), link, &head)));
                }
                // The new connection was not used before, so this happens once.
                Err(_) if link.was_stale() && route.method == Method::Get => {
                    self.out.rewind();
                    self.link = Some(self.inner.dial()?);
                }
                Err(error) => {
                    self.link = None;
                    return Poll::Ready(Err(error));
                }
            }
        }
    }
}

/// What becomes of a good reply.
pub(super) enum Then {
    About,
    Meta,
    Target,
    /// At most so many entries were asked for.
    Listing(u64),
    Reader,
    Done,
    Exec(exec::Expected),
}

/// A request and its reply, up to the answer.
pub(super) struct Asking {
    inner: Arc<Inner>,
    state: State,
    then: Then,
}

enum State {
    Asking(Ask),
    Reading(Whole),
    Done,
}

impl Asking {
    pub(super) fn new(ask: Ask, then: Then) -> Self {
        Self { inner: ask.inner.clone(), state: State::Asking(ask), then }
    }
}

impl Call for Asking {
    fn poll(&mut self, cx: &mut Cx<'_>, room: &mut dyn Room) -> Poll<Result<Answer, Error>> {
        loop {
            match &mut self.state {
                State::Asking(ask) => {
                    let reply = ready!(ask.poll(cx))?;
                    self.state = State::Done;
                    match &self.then {
                        Then::Reader if reply.is_success() => return Poll::Ready(file::answer(reply, room)),
                        Then::Exec(expected) if reply.is_success() => {
                            return Poll::Ready(Ok(exec::answer(self.inner.clone(), reply, expected)));
                        }
                        _ => self.state = State::Reading(Whole::new(reply)),
                    }
                }
                State::Reading(whole) => {
                    let body = ready!(whole.poll(cx));
                    self.state = State::Done;
                    return Poll::Ready(self.answer(&body?));
                }
                State::Done => return Poll::Ready(Err(Error::other("polled after its end"))),
            }
        }
    }
}

impl Asking {
    fn answer(&self, body: &[u8]) -> Result<Answer, Error> {
        match self.then {
            Then::About => Info::parse(body).map(|info| self.inner.keep(Arc::new(about(info)))).map_err(garbled),
            Then::Meta => parse_info(body).map(|info| Answer::Meta(info.meta)).map_err(garbled),
            Then::Target => parse_target(body).map(Answer::Target).map_err(garbled),
            Then::Listing(max) => match Listing::parse(body) {
                Ok(listing) if (listing.entries.len() as u64).saturating_add(listing.skipped) > max => {
                    Err(Error::limit("max", max))
                }
                Ok(listing) => Ok(Answer::Listing(listing)),
                Err(error) if error.words == "name" => Err(Error::other("the server listed a name it must not")),
                Err(error) => Err(garbled(error)),
            },
            Then::Done => Ok(Answer::Done),
            Then::Reader | Then::Exec(_) => Err(Error::other("polled after its end")),
        }
    }
}

/// A reply that is not what it must be: the fault is the server's, not that of whoever asked.
pub(super) fn garbled(error: Error) -> Error {
    if error.code == Code::Invalid { broke(&error.words) } else { error }
}

/// What a client makes of info. A root that is not absolute is withheld: never a partial path.
fn about(info: Info) -> About {
    let whole = |root: String| if root.starts_with('/') { root } else { String::new() };
    let mut descriptor = info.descriptor;
    descriptor.root = whole(descriptor.root);
    About {
        links: info.links.unwrap_or(false),
        reach: info.reach.unwrap_or(Reach::None),
        env: info.env.unwrap_or_default(),
        bounds: Some(info.bounds),
        extensions: info.extensions,
        ..About::new(whole(info.root), descriptor)
    }
}
