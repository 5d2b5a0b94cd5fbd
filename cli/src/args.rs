//! What may be said on the command line.

use crate::{error::Failure, show};
use clap::{
    Args, CommandFactory, Parser, Subcommand, ValueEnum,
    error::{ContextKind, ContextValue, ErrorKind},
};
use clap_complete::{Generator, shells};
use std::{ffi::OsString, io::Write, path::PathBuf, time::Duration};

/// The help of the whole: one screen. A test keeps it within 24 lines of 80 columns and runs its examples.
const HELP: &str = "\
A workspace on the far side of a wire: its files and commands, from here.

Usage: farside [--at WHERE] COMMAND [OPTIONS] [ARGS]

Commands:  exec -- CMD...        run one command; streams apart; its exit code
Files:     ls  stat  cat         list, describe, print
           get  put  rm          copy to here, copy to there, remove
Serving:   serve [DIR]           serve a directory
           info                  what a workspace is and what it can do
Other:     completions SHELL     help [COMMAND]

Options:   --at WHERE            a directory, http://HOST:PORT/ or unix:PATH
                                 [default: $FARSIDE_URL, else this directory]
           --token-file FILE     [default: $FARSIDE_TOKEN_FILE, $FARSIDE_TOKEN]
           --color WHEN          auto, always or never
           -q, --quiet           errors alone; no notes and no progress
           -v, --verbose         one line for each request
           -h, --help            -V, --version

Examples:  farside exec -- uname -a
           farside ls -l
           farside serve . --listen 127.0.0.1:7070
";

#[derive(Parser)]
#[command(name = "farside", version, override_help = HELP, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What every command takes, before its name or after.
#[derive(Args)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Common {
    /// Where: a directory, http://HOST:PORT/ or unix:PATH [default: $FARSIDE_URL, else this directory]
    #[arg(long, global = true, value_name = "WHERE")]
    pub(crate) at: Option<OsString>,
    /// The file that holds the token [default: $FARSIDE_TOKEN_FILE, else the token in $FARSIDE_TOKEN]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Colour
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value = "auto")]
    pub(crate) color: Color,
    /// Errors alone; no notes and no progress
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// One line for each request
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
}

#[derive(Copy, Clone, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Run one command: its streams apart, its exit code.
    #[command(after_help = "Examples:
  farside exec -- uname -a
  farside exec --dir src --env CI=1 --timeout 5m -- make test

Exit code: the command's own; 128+n when signal n ended it; 124 timeout; 125 it could not be done;
126 not executable; 127 not found; 130 interrupted here.")]
    Exec(ExecArgs),
    /// List a directory.
    #[command(after_help = "Examples:\n  farside ls -l\n  farside --at http://127.0.0.1:7070/ ls -aR docs")]
    Ls(LsArgs),
    /// Describe files: kind, size, mode, time. A link is described itself.
    #[command(after_help = "Examples:\n  farside stat go.mod\n  farside stat --json go.mod docs")]
    Stat(StatArgs),
    /// Print files; `-` is standard input.
    #[command(after_help = "Examples:\n  farside cat go.mod\n  farside cat head.txt - tail.txt")]
    Cat(CatArgs),
    /// Copy a file to here: whole or not at all.
    #[command(after_help = "Examples:\n  farside get build/app.tar.gz\n  farside get build/app.tar.gz - | tar tz")]
    Get(GetArgs),
    /// Copy a file to there: whole or not at all.
    #[command(after_help = "Examples:\n  farside put app.conf etc/app.conf\n  tar cz docs | farside put - docs.tar.gz")]
    Put(PutArgs),
    /// Remove files and empty directories.
    #[command(after_help = "Examples:\n  farside rm build/app.log\n  farside rm -- -odd-name")]
    Rm(RmArgs),
    /// Serve a directory until it is interrupted; once more ends it at once.
    #[command(after_help = "Examples:
  farside serve
  farside serve DIR --listen unix:/run/user/1000/farside.sock --token-file ~/.farside-token

Without a token one is made, and kept in a file that only you can read. Commands start from PATH, HOME, USER,
LOGNAME, SHELL, LANG, LC_*, TZ, TERM and TMPDIR of this environment and nothing else.")]
    Serve(ServeArgs),
    /// Tell what a workspace is and what it can do.
    #[command(after_help = "Examples:\n  farside info\n  farside --at http://127.0.0.1:7070/ info --json")]
    Info(InfoArgs),
    /// Print a shell's completions.
    #[command(after_help = "Examples:
  farside completions bash > ~/.local/share/bash-completion/completions/farside
  farside completions fish > ~/.config/fish/completions/farside.fish")]
    Completions(CompletionsArgs),
}

#[derive(Args)]
pub(crate) struct ExecArgs {
    /// The directory it runs in
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) dir: String,
    /// Set a variable for it; a NAME alone takes its value from here
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,
    /// End it after so long: 30s, 1m30s, 500ms, or seconds; 0 is never
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "0")]
    pub(crate) timeout: Duration,
    /// Give it all of standard input
    #[arg(long)]
    pub(crate) stdin: bool,
    /// Standard error goes into standard output, as it comes
    #[arg(long, conflicts_with = "json")]
    pub(crate) merged: bool,
    /// One object at the end
    #[arg(long)]
    pub(crate) json: bool,
    /// The program and its arguments; no shell is between
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) cmd: Vec<String>,
}

#[derive(Args)]
pub(crate) struct LsArgs {
    /// Mode, size and time too, and where links lead
    #[arg(short)]
    pub(crate) long: bool,
    /// Names that begin with a dot too
    #[arg(short)]
    pub(crate) all: bool,
    /// Directories below it too
    #[arg(short = 'R')]
    pub(crate) recursive: bool,
    /// One object for each entry
    #[arg(long)]
    pub(crate) json: bool,
    /// A directory, or a file
    #[arg(value_name = "PATH", default_value = ".")]
    pub(crate) path: String,
}

#[derive(Args)]
pub(crate) struct StatArgs {
    /// One object for each
    #[arg(long)]
    pub(crate) json: bool,
    /// Names of files
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<String>,
}

#[derive(Args)]
pub(crate) struct CatArgs {
    /// Names of files, or `-`
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<String>,
}

#[derive(Args)]
pub(crate) struct GetArgs {
    /// One object at the end
    #[arg(long)]
    pub(crate) json: bool,
    /// The file there
    #[arg(value_name = "REMOTE")]
    pub(crate) from: String,
    /// The file or directory here, or `-` [default: the same name, in this directory]
    #[arg(value_name = "LOCAL")]
    pub(crate) to: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct PutArgs {
    /// One object at the end
    #[arg(long)]
    pub(crate) json: bool,
    /// The file here, or `-`
    #[arg(value_name = "LOCAL")]
    pub(crate) from: PathBuf,
    /// The file or directory there [default: the same name, at the top]
    #[arg(value_name = "REMOTE")]
    pub(crate) to: Option<String>,
}

#[derive(Args)]
pub(crate) struct RmArgs {
    /// One object for each
    #[arg(long)]
    pub(crate) json: bool,
    /// Names of files and of empty directories
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<String>,
}

#[derive(Args)]
pub(crate) struct ServeArgs {
    /// Where it is reached: ADDRESS:PORT of this machine, port 0 for any free one, or unix:PATH
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7070")]
    pub(crate) listen: String,
    /// What it runs on
    #[arg(long, value_name = "RUNTIME", value_enum, default_value = "smol")]
    pub(crate) runtime: Runtime,
    /// Let in whoever reaches it, without a token
    #[arg(long, conflicts_with = "token_file")]
    pub(crate) insecure_no_auth: bool,
    #[command(flatten)]
    pub(crate) env: EnvArgs,
    /// The directory
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,
}

#[derive(Args)]
pub(crate) struct EnvArgs {
    /// Let commands have this variable of this environment too
    #[arg(long, value_name = "NAME")]
    pub(crate) pass_env: Vec<String>,
    /// Set a variable for commands
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set_env: Vec<String>,
    /// Set the variables of a file for commands: NAME=VALUE lines, `#` begins a comment
    #[arg(long, value_name = "FILE")]
    pub(crate) env_file: Vec<PathBuf>,
}

#[derive(Copy, Clone, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Runtime {
    Smol,
    Std,
}

#[derive(Args)]
pub(crate) struct InfoArgs {
    /// One object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    shell: Shell,
}

#[derive(Copy, Clone, Debug, Eq, PartialEq, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Reads the command line. Help and the version are printed and are a quiet end.
pub(crate) fn parse() -> Result<Cli, Failure> {
    Cli::try_parse().map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let mut out = std::io::stdout().lock();
            let printed = write!(out, "{}", error.render()).and_then(|()| out.flush());
            printed.map_or_else(Failure::output, |()| Failure::Quiet(0))
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // Nobody is left to be told that standard error is gone.
            let _ = write!(std::io::stderr().lock(), "{}", error.render());
            Failure::Quiet(2)
        }
        _ => Failure::Line(2, usage(&error)),
    })
}

/// One line out of what clap says in a paragraph.
fn usage(error: &clap::Error) -> String {
    let argument = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) => argument.as_str(),
        _ => "",
    };
    if error.kind() == ErrorKind::UnknownArgument && argument == "--token" {
        return "a token does not belong on the command line, where all can read it; put it in a file and give --token-file FILE".into();
    }
    let rendered = error.render().to_string();
    let text = rendered.strip_prefix("error: ").unwrap_or(&rendered);
    let told = text
        .split("\n\n")
        .take_while(|paragraph| !paragraph.starts_with("Usage:") && !paragraph.starts_with("For more"));
    let line =
        told.map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join("; ");
    let verb = std::env::args_os()
        .skip(1)
        .find_map(|arg| arg.into_string().ok().filter(|arg| Cli::command().find_subcommand(arg).is_some()));
    let hint = match verb.as_deref().filter(|_| error.kind() != ErrorKind::InvalidSubcommand) {
        Some("exec") if matches!(error.kind(), ErrorKind::UnknownArgument | ErrorKind::MissingRequiredArgument) => {
            "; the command goes behind --, as in: farside exec -- uname -a".into()
        }
        Some(verb) => format!("; see: farside help {verb}"),
        None => "; see: farside help".into(),
    };
    show::text(&(line.replace("; tip: ", "; ") + &hint)).into_owned()
}

/// A time such as `1m30s`, `500ms`, or a bare number of seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no time; write 30s, 1m30s, 500ms or 2h");
    let (mut sum, mut rest) = (Duration::ZERO, text);
    if rest.is_empty() {
        return Err(wrong());
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number: u64 = rest[..digits].parse().map_err(|_| wrong())?;
        let unit = &rest[digits..];
        let length = unit.find(|c: char| c.is_ascii_digit()).unwrap_or(unit.len());
        let millis = match &unit[..length] {
            "ms" => 1,
            "s" => 1000,
            "" if digits == text.len() => 1000,
            "m" => 60_000,
            "h" => 3_600_000,
            _ => return Err(wrong()),
        };
        let part = number.checked_mul(millis).map(Duration::from_millis).ok_or_else(wrong)?;
        sum = sum.checked_add(part).ok_or_else(wrong)?;
        rest = &unit[length..];
    }
    Ok(sum)
}

pub(crate) fn completions(args: &CompletionsArgs) -> Result<u8, Failure> {
    let mut text = Vec::new();
    match args.shell {
        Shell::Bash => complete(shells::Bash, &mut text),
        Shell::Zsh => complete(shells::Zsh, &mut text),
        Shell::Fish => complete(shells::Fish, &mut text),
    }
    let mut out = std::io::stdout().lock();
    out.write_all(&text).and_then(|()| out.flush()).map_err(Failure::output)?;
    Ok(0)
}

fn complete(shell: impl Generator, text: &mut Vec<u8>) {
    clap_complete::generate(shell, &mut Cli::command(), "farside", text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let ms = |text| duration(text).map(|d| d.as_millis());
        assert_eq!(ms("30s"), Ok(30_000));
        assert_eq!(ms("1m30s"), Ok(90_000));
        assert_eq!(ms("500ms"), Ok(500));
        assert_eq!(ms("2h"), Ok(7_200_000));
        assert_eq!(ms("7"), Ok(7000));
        assert_eq!(ms("0"), Ok(0));
        for wrong in ["", "s", "-1s", "1.5s", "1m30", "30 s", "1d", "99999999999999999999s", "18446744073709551615h"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_definition_holds() {
        Cli::command().debug_assert();
    }
}
