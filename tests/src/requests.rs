//! Making requests, and asking a handler on a connection of their own.
#![allow(clippy::missing_panics_doc, reason = "a reply that breaks a rule of every reply fails the test")]

use crate::{
    replies::{Answer, replies},
    virtual_time::Wire,
};
use farside_core::Handler;
use std::sync::Arc;

/// A request with nothing checked.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The target.
    pub target: String,
    /// The field lines, `Host` among them, without their ends.
    pub lines: Vec<String>,
    /// The body; a length is stated for one.
    pub body: Option<Vec<u8>>,
}

impl Request {
    /// A request to `localhost` without a body.
    pub fn new(method: &str, target: &str) -> Self {
        Self { method: method.into(), target: target.into(), lines: vec!["Host: localhost".into()], body: None }
    }

    /// A GET.
    pub fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    /// A POST of JSON.
    pub fn post(target: &str, json: &str) -> Self {
        Self::new("POST", target).line("Content-Type: application/json").body(json)
    }

    /// A file's new content.
    pub fn put(name: &str, content: impl Into<Vec<u8>>) -> Self {
        let target = format!("/v1/fs/file?path={name}");
        Self::new("PUT", &target).line("Content-Type: application/octet-stream").body(content)
    }

    /// An exec of `args`, with whatever other members.
    pub fn exec(args: &[&str], members: &str) -> Self {
        let args: Vec<_> = args.iter().map(|arg| format!("{arg:?}")).collect();
        Self::post("/v1/exec", &format!("{{\"args\":[{}]{members}}}", args.join(",")))
    }

    /// The same with one more line.
    #[must_use]
    pub fn line(mut self, line: &str) -> Self {
        self.lines.push(line.into());
        self
    }

    /// The same for another host.
    #[must_use]
    pub fn host(mut self, host: &str) -> Self {
        self.lines[0] = format!("Host: {host}");
        self
    }

    /// The same without any line of that name.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.lines.retain(|line| !line.to_ascii_lowercase().starts_with(&format!("{name}:")));
        self
    }

    /// The same with that body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// As it is sent.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        for line in &self.lines {
            bytes += &format!("{line}\r\n");
        }
        if let Some(body) = &self.body {
            bytes += &format!("Content-Length: {}\r\n", body.len());
        }
        let mut bytes = (bytes + "\r\n").into_bytes();
        bytes.extend(self.body.iter().flatten());
        bytes
    }

    /// What the handler answers, on a connection of its own and a virtual clock.
    pub fn ask(&self, handler: &Arc<Handler>) -> Answer {
        let mut wire = Wire::new(handler.clone());
        wire.send(&self.bytes());
        while replies(&wire.out, &self.method).is_empty() && wire.wait() {}
        let answers = replies(&wire.out, &self.method);
        let [Some(answer)] = &*answers else { panic!("{self:?}: {answers:?}") };
        answer.check();
        answer.clone()
    }
}
