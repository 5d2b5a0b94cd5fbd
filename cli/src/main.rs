//! `farside`: a workspace on the far side of a wire, from the command line.
#![deny(unsafe_code)]

mod args;
mod at;
mod env;
mod error;
mod exec;
mod files;
mod info;
mod kill;
mod progress;
mod serve;
mod show;
mod signals;
mod stream;
mod token;
mod transfer;
mod verbose;

use args::Verb;
use error::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    error::hook_panics();
    token::harden();
    let cli = match args::parse() {
        Ok(cli) => cli,
        Err(failure) => return failure.report(false),
    };
    match run(&cli) {
        Ok(status) => ExitCode::from(status),
        Err(failure) => failure.report(cli.verb.json()),
    }
}

fn run(cli: &args::Cli) -> Result<u8, Failure> {
    let common = &cli.common;
    match &cli.verb {
        Verb::Serve(args) => serve::serve(common, args),
        Verb::Info(args) => info::info(common, args),
        Verb::Exec(args) => exec::exec(common, args),
        Verb::Ls(args) => files::ls(common, args),
        Verb::Stat(args) => files::stat(common, args),
        Verb::Cat(args) => files::cat(common, args),
        Verb::Rm(args) => files::rm(common, args),
        Verb::Get(args) => transfer::get(common, args),
        Verb::Put(args) => transfer::put(common, args),
        Verb::Completions(args) => args::completions(args),
    }
}
