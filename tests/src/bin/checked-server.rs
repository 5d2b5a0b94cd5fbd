//! A server for black-box checks: principals, bounds and the lease come from a config, in the form the independent peers share.
//!
//! `checked-server std|smol DIR [--config FILE] [--insecure] [--listen ADDR] [--ballast MIB]` prints `listening URL` and serves until its standard
//! input ends.
#![allow(clippy::print_stdout, reason = "the URL is what it prints")]

use farside_backends::Local;
use farside_core::{
    Access, AccessError, Authenticator, Handler, Principal,
    access::{bearer_token, same},
    wire::{
        Bounds, Error, Scope, Scopes,
        http::RequestHead,
        json::{self, Value},
        times,
    },
};
use std::{io::Read, net::TcpListener, sync::Arc, time::Duration};

type Fault = Box<dyn std::error::Error>;

fn main() -> Result<(), Fault> {
    let mut args = std::env::args().skip(1);
    let (runtime, dir) = (args.next().ok_or("which runtime?")?, args.next().ok_or("which directory?")?);
    let (mut served, mut listen) = (Served::default(), "127.0.0.1:0".to_owned());
    let mut ballast = 0;
    while let Some(flag) = args.next() {
        match flag.as_str() {
            "--insecure" => served.access = Access::Insecure(Scopes::ALL),
            "--listen" => listen = args.next().ok_or("listen where?")?,
            "--config" => served.read(&std::fs::read(args.next().ok_or("which config?")?)?)?,
            "--ballast" => ballast = args.next().ok_or("how much ballast?")?.parse()?,
            other => return Err(format!("unknown flag {other}").into()),
        }
    }
    // Resident memory, which must not make a command slower.
    let _ballast = std::hint::black_box(vec![1u8; ballast << 20]);
    let handler = Handler::with(Local::new(dir, served.env)?, served.access, served.bounds, served.lease);
    let listener = TcpListener::bind(listen)?;
    println!("listening http://{}", listener.local_addr()?);
    match runtime.as_str() {
        "std" => {
            let server = farside_std::serve(listener, handler)?;
            wait_for_end();
            server.close(PATIENCE);
        }
        "smol" => {
            let executor = Arc::new(smol::Executor::new());
            let server = farside_smol::serve(listener, handler, &executor)?;
            smol::block_on(executor.run(async {
                smol::unblock(wait_for_end).await;
                server.close(PATIENCE).await;
            }));
        }
        other => return Err(format!("no runtime {other}").into()),
    }
    Ok(())
}

const PATIENCE: Duration = Duration::from_secs(1);

fn wait_for_end() {
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

struct Served {
    access: Access,
    bounds: Bounds,
    lease: Duration,
    env: Vec<String>,
}

impl Default for Served {
    fn default() -> Self {
        let env = vec!["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned()];
        Self { access: Access::Refuse, bounds: Bounds::default(), lease: times::LEASE, env }
    }
}

impl Served {
    fn read(&mut self, text: &[u8]) -> Result<(), Error> {
        let config = json::parse_object(text)?;
        if let Some(principals) = config.array("principals")? {
            let tokens = principals.iter().map(Token::read).collect::<Result<_, _>>()?;
            let challenge = config.string("challenge")?.map(Box::from);
            self.access = Access::Authenticated { authenticator: Box::new(Tokens(tokens)), challenge };
        }
        if let Some(bounds) = config.get("bounds") {
            self.bounds = Bounds::parse(bounds)?;
        }
        if let Some(ms) = config.u64("leaseMs")? {
            self.lease = Duration::from_millis(ms);
        }
        if let Some(env) = config.strings("env")? {
            self.env = env.into_iter().map(String::from).collect();
        }
        Ok(())
    }
}

struct Tokens(Vec<Token>);

struct Token {
    token: String,
    principal: Principal,
    /// The hook fails on this token, instead of refusing it.
    fail: bool,
}

impl Token {
    fn read(value: &Value<'_>) -> Result<Self, Error> {
        let row = value.as_object().ok_or(Error::invalid("principals"))?;
        let scopes = row.strings("scopes")?.unwrap_or_default();
        let scopes: Scopes = scopes.into_iter().filter_map(Scope::from_name).collect();
        let token = row.string("token")?.unwrap_or_default().to_owned();
        let principal = Principal::new(row.string("name")?.unwrap_or_default(), scopes);
        Ok(Self { token, principal, fail: row.flag("fail")? })
    }
}

impl Authenticator for Tokens {
    fn authenticate(&self, head: &RequestHead<'_>) -> Result<Principal, AccessError> {
        let given = bearer_token(head).ok_or(AccessError::Refused)?;
        let token = self.0.iter().find(|t| same(given, t.token.as_bytes())).ok_or(AccessError::Refused)?;
        if token.fail { Err(AccessError::Failed) } else { Ok(token.principal.clone()) }
    }
}
