//! How much the servers and the program take, and how soon they are there.

use crate::{
    Bench, MIB,
    load::get,
    proc::{self, Place, stay},
    servers::{RUNTIMES, Server, Who, built},
    speed::{put, streamed},
    table::Line,
};
use std::{
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// Memory of the program that serves and has answered once.
pub(crate) fn idle(bench: &Bench) -> Vec<Line> {
    stay(Place::AllCpus);
    let servers = RUNTIMES.map(|who| Server::program(who, bench));
    let rss = servers.iter().flatten().map(|server| {
        server.connect().ask(&get("/v1/info"));
        vec![proc::status_kib(server.pid(), "VmRSS") / 1024.0]
    });
    lines("idle", "MiB", rss.collect(), 4.0)
}

/// From the start of the program to its first answer.
pub(crate) fn start(bench: &Bench) -> Vec<Line> {
    stay(Place::AllCpus);
    let times = RUNTIMES.map(|who| {
        let first = || {
            let start = Instant::now();
            let server = Server::program(who, bench)?;
            server.connect().ask(&get("/v1/info"));
            Some(start.elapsed().as_secs_f64() * 1e3)
        };
        (0..11).map_while(|_| first()).collect()
    });
    lines("start", "ms", times.into(), 5.0)
}

pub(crate) fn size(_: &Bench) -> Vec<Line> {
    let size = built("farside").map(|program| vec![std::fs::metadata(program).unwrap().len() as f64 / MIB as f64]);
    lines("size", "MiB", size.into_iter().cycle().take(2).collect(), 3.0)
}

fn lines(name: &'static str, unit: &'static str, values: Vec<Vec<f64>>, most: f64) -> Vec<Line> {
    <[Vec<f64>; 2]>::try_from(values).map(|values| Line::plain(name, unit, values, [most; 2])).into_iter().collect()
}

/// What the program adds to a command that it runs in this directory.
pub(crate) fn cli(bench: &Bench) -> Vec<Line> {
    stay(Place::AllCpus);
    let Some(program) = built("farside") else { return Vec::new() };
    let time = |program: &str, args: &[&str]| {
        let mut command = Command::new(program);
        command.args(args).current_dir(bench.served()).stdin(Stdio::null());
        let start = Instant::now();
        assert!(command.status().unwrap().success());
        start.elapsed().as_secs_f64() * 1e3
    };
    let program = program.to_str().unwrap();
    let added = (0..31).map(|_| time(program, &["exec", "--", "/bin/true"]) - time("/bin/true", &[])).collect();
    vec![Line::plain("exec --", "ms", [Vec::new(), added], [5.0; 2])]
}

/// The memory of an idle connection, over a thousand of them.
pub(crate) fn conn(bench: &Bench) -> Vec<Line> {
    const COUNT: usize = 1000;
    stay(Place::AllCpus);
    let each = RUNTIMES.map(|who| {
        let server = Server::ours(who, bench);
        let request = get(&server.target("file", "1k.bin"));
        server.connect().ask(&request);
        let before = proc::pss_kib(server.pid());
        let mut peers = Vec::new();
        for _ in 0..COUNT {
            let mut peer = server.connect();
            peer.ask(&request);
            peers.push(peer);
        }
        vec![(proc::pss_kib(server.pid()) - before) / COUNT as f64]
    });
    vec![Line::plain("conn", "KiB", each, [4.0, 20.0])]
}

/// How far both ends grow over a gibibyte each way and out of a command.
pub(crate) fn growth(bench: &Bench) -> Vec<Line> {
    const SIZE: usize = 1 << 30;
    stay(Place::AllCpus);
    let large = std::fs::File::create(bench.served().join("gib.bin")).unwrap();
    large.set_len(SIZE as u64).unwrap();
    let grown = |name, work: &dyn Fn(&Server)| {
        let grown = RUNTIMES.map(|who| {
            let server = Server::ours(who, bench);
            server.connect().ask(&get(&server.target("file", "1k.bin")));
            proc::forget_peak(server.pid());
            let before = proc::status_kib(server.pid(), "VmRSS");
            work(&server);
            vec![(proc::status_kib(server.pid(), "VmHWM") - before) / 1024.0]
        });
        Line::plain(name, "MiB", grown, [8.0; 2])
    };
    let mut lines = vec![
        grown("growth get", &|s| s.connect().take(&get(&s.target("file", "gib.bin")), SIZE)),
        grown("growth put", &|s| s.connect().upload(&put(&s.target("file", "up.bin"), SIZE), SIZE)),
        grown("growth exec", &|s| assert!(s.connect().drain(&streamed(SIZE)) > SIZE)),
    ];
    if let Some(program) = built("farside") {
        let server = Server::ours(Who::Smol, bench);
        let at = format!("http://{}/", server.addr);
        let file = bench.served().join("gib.bin");
        let client = |name, args: &[&str]| {
            let mut command = Command::new(&program);
            command.args(["--at", &at, "-q"]).args(args).stdin(Stdio::null()).stdout(Stdio::null());
            Line::plain(name, "MiB", [Vec::new(), vec![growth_of(command)]], [8.0; 2])
        };
        lines.push(client("client get", &["cat", "gib.bin"]));
        lines.push(client("client put", &["put", file.to_str().unwrap(), "up.bin"]));
        lines.push(client("client exec", &["exec", "--", "head", "-c", &SIZE.to_string(), "/dev/zero"]));
    }
    for name in ["gib.bin", "up.bin"] {
        let _ = std::fs::remove_file(bench.served().join(name));
    }
    lines
}

/// How far a program grows that runs a while, from its first moments on.
fn growth_of(mut command: Command) -> f64 {
    let mut child = command.spawn().unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let first = proc::status_kib(child.id(), "VmRSS");
    let mut peak = first;
    while child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
        peak = proc::peak_kib(child.id()).map_or(peak, |kib| kib.max(peak));
    }
    (peak - first) / 1024.0
}
