//! What may be said on the command line.

use crate::{at::EMPTY, error::Failure, show};
use clap::{
    Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum,
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

Exit code: see farside help exec; 125 for what could not be done

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

With --stdin all of standard input is read first, then the command starts.
It may be as long as the server's bound maxWriteBytes (64 MiB, or what its
farside serve --max-write says), and 64 MiB where no server is between.

With --json what fails is one object too: {\"error\":{\"code\",\"message\"}}.
A command that a signal or the timeout ended has the exitCode -1 in it.

Exit code: the command's own; 128+n when signal n ended it; 124 timeout;
125 it could not be done; 126 not executable; 127 not found; 130 interrupted
here; 2 wrong usage.")]
    Exec(ExecArgs),
    /// List directories.
    #[command(after_help = "Examples:
  farside ls -l
  farside --at http://127.0.0.1:7070/ ls -aR docs src

On a terminal -l has columns, sizes and times for people; else one blank between
mode, bytes, RFC 3339 time and name.")]
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
    #[command(after_help = "Examples:
  farside put app.conf etc/app.conf
  tar cz docs | farside put - docs.tar.gz

A server takes a file of up to its bound maxWriteBytes (see farside info):
64 MiB, or what its farside serve --max-write says.")]
    Put(PutArgs),
    /// Remove files and empty directories.
    #[command(after_help = "Examples:\n  farside rm build/app.log\n  farside rm -- -odd-name")]
    Rm(RmArgs),
    /// Serve a directory until it is interrupted; once more ends it at once.
    #[command(after_help = "Examples:
  farside serve
  farside serve DIR --listen unix:./farside.sock --token-file ~/.farside-token

ADDRESS is PORT, :PORT, HOST:PORT or unix:PATH. Without a host it is 127.0.0.1,
and others than this machine's own are refused; port 0 is any free one.

Without a token one is made, and kept in a file that only you can read. Commands
start from PATH, HOME, USER, LOGNAME, SHELL, LANG, LC_*, TZ, TERM and TMPDIR of
this environment and nothing else.")]
    Serve(ServeArgs),
    /// Tell what a workspace is and what it can do.
    #[command(after_help = "Examples:\n  farside info\n  farside --at http://127.0.0.1:7070/ info --json")]
    Info(InfoArgs),
    /// Print a shell's completions.
    #[command(after_help = "Examples:
  farside completions bash > ~/.local/share/bash-completion/completions/farside
  farside completions zsh > ~/.zfunc/_farside   (a directory of zsh's fpath)
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
    /// End it after so long: 30s, 1m30s, 500ms, or seconds as 1.5; 0 is never
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "0", allow_negative_numbers = true)]
    pub(crate) timeout: Duration,
    /// Give it standard input: all of it is read first, then the command starts
    #[arg(long)]
    pub(crate) stdin: bool,
    /// Standard error goes into standard output as it arrives; the order across the two is not promised
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
    /// Directories, or files
    #[arg(value_name = "PATH", default_value = ".")]
    pub(crate) paths: Vec<String>,
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
    /// Where it is reached
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7070")]
    pub(crate) listen: String,
    /// What it runs on
    #[arg(long, value_name = "RUNTIME", value_enum, default_value = "smol")]
    pub(crate) runtime: Runtime,
    /// Let in whoever reaches it, without a token
    #[arg(long, conflicts_with = "token_file")]
    pub(crate) insecure_no_auth: bool,
    /// The most of a file's new content, and of a command's standard input, which is held in memory: bytes, or 512M, 8G
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "64M")]
    pub(crate) max_write: u64,
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
    /// Set the variables of a file for commands: NAME=VALUE lines, quotes stay, `#` begins a comment
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

impl Verb {
    /// Whether its output is for programs.
    pub(crate) fn json(&self) -> bool {
        match self {
            Self::Exec(args) => args.json,
            Self::Ls(args) => args.json,
            Self::Stat(args) => args.json,
            // Else it would be taken for a part of the file.
            Self::Get(args) => args.json && args.to.as_ref().is_none_or(|to| to.as_os_str() != "-"),
            Self::Put(args) => args.json,
            Self::Rm(args) => args.json,
            Self::Info(args) => args.json,
            Self::Cat(_) | Self::Serve(_) | Self::Completions(_) => false,
        }
    }
}

/// The definition; options that are everywhere are not told of where they do nothing.
fn definition() -> clap::Command {
    let mut command = Cli::command();
    for (verb, without) in
        [("serve", &["at", "color"][..]), ("completions", &["at", "color", "token_file", "quiet", "verbose"])]
    {
        // One that is there already is not handed down.
        let hidden = command.get_arguments().filter(|arg| without.contains(&arg.get_id().as_str()));
        let hidden: Vec<_> = hidden.map(|arg| arg.clone().hide(true)).collect();
        command = command.mut_subcommand(verb, |verb| verb.args(hidden));
    }
    command
}

/// Reads the command line. Help and the version are printed and are a quiet end.
pub(crate) fn parse() -> Result<Cli, Failure> {
    let matches = definition().try_get_matches();
    matches.and_then(|matches| Cli::from_arg_matches(&matches)).map_err(|error| match error.kind() {
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
        _ => Failure::usage(usage(&error)),
    })
}

/// One line out of what clap says in a paragraph.
fn usage(error: &clap::Error) -> String {
    let told = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    let argument = told(ContextKind::InvalidArg);
    let verb = std::env::args_os()
        .skip(1)
        .find_map(|arg| arg.into_string().ok().filter(|arg| definition().find_subcommand(arg).is_some()));
    let verb = verb.as_deref().filter(|_| error.kind() != ErrorKind::InvalidSubcommand);
    match (error.kind(), verb) {
        (ErrorKind::UnknownArgument, _) if argument == "--token" => {
            return "a token does not belong on the command line, where all can read it; put it in a file and give --token-file FILE".into();
        }
        (ErrorKind::UnknownArgument, Some("rm"))
            if ["-r", "-R", "-f", "--recursive", "--force"].contains(&argument) =>
        {
            return format!("rm {argument} is not there yet; try: farside exec -- rm {argument} DIR");
        }
        (ErrorKind::InvalidSubcommand, _) => return unknown(told(ContextKind::InvalidSubcommand)),
        (ErrorKind::InvalidValue, _) if told(ContextKind::InvalidValue).is_empty() && !argument.is_empty() => {
            return format!("{argument}: {EMPTY}");
        }
        _ => {}
    }
    let rendered = error.render().to_string();
    let text = rendered.strip_prefix("error: ").unwrap_or(&rendered);
    // What begins with a dash is a misspelt option far more often than a value.
    let lines = text
        .split("\n\n")
        .take_while(|paragraph| !paragraph.starts_with("Usage:") && !paragraph.starts_with("For more"))
        .flat_map(str::lines)
        .filter(|line| !line.trim_start().starts_with("tip: to pass "));
    let mut said = String::new();
    for line in lines.map(str::trim) {
        match line.strip_prefix("tip: ") {
            Some(tip) => said.extend(["; ", tip]),
            None if said.is_empty() => said += line,
            None => said.extend([" ", line]),
        }
    }
    let hint = match verb {
        _ if argument.starts_with("--color") => "; see: farside --help".into(),
        Some("exec") if error.kind() == ErrorKind::MissingRequiredArgument || !argument.starts_with('-') => {
            "; the command goes behind --, as in: farside exec -- uname -a".into()
        }
        Some(verb) => format!("; see: farside help {verb}"),
        None => "; see: farside help".into(),
    };
    show::text(&(said + &hint)).into_owned()
}

/// What to do instead of a command that is none.
fn unknown(verb: &str) -> String {
    let instead = match verb {
        "mkdir" => "mkdir -p DIR",
        "mv" => "mv FROM TO",
        "cp" => "cp FROM TO",
        _ => {
            let known = definition();
            let near = known.get_subcommands().map(clap::Command::get_name).min_by_key(|known| distance(verb, known));
            // Half of a short word is another word.
            let near = near.filter(|near| distance(verb, near) <= if verb.chars().count() < 5 { 1 } else { 2 });
            let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            return format!("there is no command {}{hint}; see: farside help", show::said(verb));
        }
    };
    format!("{verb} is not there yet; try: farside exec -- {instead}")
}

/// How many letters are to be put in, taken out, changed or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(32).collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<_>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let changed = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = changed.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

/// A size such as `512M`, of 1024s, or a bare number of bytes.
fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(['K', 'M', 'G', 'T']);
    let shift = match &text[digits.len()..] {
        "" => Some(0),
        "K" => Some(10),
        "M" => Some(20),
        "G" => Some(30),
        "T" => Some(40),
        _ => None,
    };
    let number = digits.parse::<u64>().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()));
    let size = number.zip(shift).and_then(|(number, shift)| number.checked_mul(1 << shift));
    // More than any file has, and what a body in base64 is counted with.
    size.filter(|size| *size <= 1 << 60).ok_or_else(|| format!("{text:?} is no size; write bytes, or 512M or 8G"))
}

/// A time such as `1m30s`, `500ms`, or a bare number of seconds; each may have a fraction.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no time; write 30s, 1m30s, 500ms or 2h");
    let digit = |c: char| c.is_ascii_digit() || c == '.';
    let (mut sum, mut rest) = (Duration::ZERO, text);
    if rest.is_empty() {
        return Err(wrong());
    }
    while !rest.is_empty() {
        let digits = rest.find(|c| !digit(c)).unwrap_or(rest.len());
        let number: f64 = rest[..digits].parse().map_err(|_| wrong())?;
        let unit = &rest[digits..];
        let length = unit.find(digit).unwrap_or(unit.len());
        let seconds = match &unit[..length] {
            "ms" => 0.001,
            "s" => 1.0,
            "" if digits == text.len() => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return Err(wrong()),
        };
        let part = Duration::try_from_secs_f64(number * seconds).map_err(|_| wrong())?;
        sum = sum.checked_add(part).ok_or_else(wrong)?;
        rest = &unit[length..];
    }
    // What is too short to be counted is not the 0 that is never.
    if sum.is_zero() && text.contains(|c: char| ('1'..='9').contains(&c)) { Err(wrong()) } else { Ok(sum) }
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
    clap_complete::generate(shell, &mut definition(), "farside", text);
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
        assert_eq!(ms("1.5"), Ok(1500));
        assert_eq!(ms("0.25h0.5s"), Ok(900_500));
        for wrong in [
            "",
            "s",
            "-1s",
            "1.5.5s",
            ".",
            "1e3",
            "0.0000000001",
            "1m30",
            "30 s",
            "1d",
            "99999999999999999999s",
            "18446744073709551615h",
        ] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!([size("0"), size("7"), size("2K"), size("512M")], [0, 7, 2048, 512 << 20].map(Ok));
        assert_eq!([size("8G"), size("1T")], [8 << 30, 1 << 40].map(Ok));
        for wrong in ["", "M", "-1", "+1", "1.5G", "1KM", "1m", "1 M", "2000000000000000000", "99999999999999999999"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn near_words() {
        assert_eq!(distance("exec", "exec"), 0);
        assert_eq!(distance("exce", "exec"), 1);
        assert_eq!(distance("srvie", "serve"), 2);
        assert_eq!(distance("", "ls"), 2);
        assert_eq!(distance("cpy", "put"), 3);
    }

    #[test]
    fn the_definition_holds() {
        definition().debug_assert();
    }
}
