//! How fast the servers are.

use crate::{
    Bench, LARGE, floor,
    load::{Peer, exec, flood, get},
    proc::{self, Place, stay},
    servers::{RUNTIMES, Server, Who},
    table::{
        Aim::{self, AtLeast, AtMost},
        Line, median,
    },
};
use std::time::{Duration, Instant};

/// So many rounds; each server has its turn in each.
const ROUNDS: usize = 7;
/// How long one turn of a row lasts that counts requests.
const TURN: Duration = Duration::from_millis(800);

/// Ours, a minimal one, and nginx if it is there.
fn all(bench: &Bench, kind: &str) -> Vec<Server> {
    let mut servers = ours(bench);
    servers.push(Server::floor(kind, bench));
    servers.extend(Server::nginx(bench));
    servers
}

fn ours(bench: &Bench) -> Vec<Server> {
    RUNTIMES.map(|who| Server::ours(who, bench)).into()
}

/// Each server in turn, round after round.
fn rounds(servers: &[Server], mut turn: impl FnMut(&Server) -> f64) -> Vec<(Who, Vec<f64>)> {
    let mut values: Vec<_> = servers.iter().map(|server| (server.who, Vec::new())).collect();
    for _ in 0..ROUNDS {
        for (server, (_, values)) in servers.iter().zip(&mut values) {
            values.push(turn(server));
        }
    }
    values
}

pub(crate) fn stat(bench: &Bench) -> Vec<Line> {
    stay(Place::OneCpu);
    let mut servers = ours(bench);
    servers.push(Server::floor("small", bench));
    let values = rounds(&servers, |s| s.connect().time(&get(&s.target("stat", "1k.bin")), 4000));
    vec![Line { name: "stat", unit: "us", values, against: Some(Who::Floor), aims: [AtMost(1.1); 2] }]
}

pub(crate) fn read(bench: &Bench) -> Vec<Line> {
    stay(Place::OneCpu);
    let servers = all(bench, "small");
    let values = rounds(&servers, |s| s.connect().time(&get(&s.target("file", "1k.bin")), 4000));
    vec![Line { name: "read", unit: "us", values, against: Some(Who::Floor), aims: [AtMost(1.1); 2] }]
}

pub(crate) fn put_small(bench: &Bench) -> Vec<Line> {
    stay(Place::OneCpu);
    let mut servers = ours(bench);
    servers.push(Server::floor("small", bench));
    let values = rounds(&servers, |s| {
        let what = if s.who == Who::Floor { "put" } else { "file" };
        let mut request = put(&s.target(what, &format!("{:?}.put", s.who)), 1024);
        request.extend_from_slice(&[b'p'; 1024]);
        s.connect().time(&request, 1000)
    });
    vec![Line { name: "put", unit: "us", values, against: Some(Who::Floor), aims: [AtMost(1.25); 2] }]
}

pub(crate) fn read_cpu(bench: &Bench) -> Vec<Line> {
    stay(Place::AllCpus);
    let values = rounds(&all(bench, "small"), |s| flood(s, &get(&s.target("file", "1k.bin")), 16, TURN).1);
    vec![Line { name: "read-cpu", unit: "us", values, against: Some(Who::Nginx), aims: [AtMost(0.85), AtMost(1.0)] }]
}

pub(crate) fn read_rate(bench: &Bench) -> Vec<Line> {
    stay(Place::AllCpus);
    let line = |name, count| {
        let values =
            rounds(&all(bench, "small"), |s| flood(s, &get(&s.target("file", "1k.bin")), count, TURN).0 / 1000.0);
        Line { name, unit: "k/s", values, against: Some(Who::Nginx), aims: [AtLeast(1.0); 2] }
    };
    vec![line("read-rate 16", 16), line("read-rate 64", 64)]
}

pub(crate) fn download(bench: &Bench) -> Vec<Line> {
    stay(Place::AllCpus);
    let mut servers = ours(bench);
    servers.extend(Server::nginx(bench));
    let mut spent: Vec<(Who, Vec<f64>)> = servers.iter().map(|s| (s.who, Vec::new())).collect();
    let values = rounds(&servers, |s| {
        let (mut peer, before) = (s.connect(), proc::cpu(s.pid()));
        let start = Instant::now();
        peer.take(&get(&s.target("file", "large.bin")), LARGE);
        let rate = gb_per_s(start);
        let spent = spent.iter_mut().find(|(who, _)| *who == s.who).unwrap();
        spent.1.push((proc::cpu(s.pid()) - before) * 1e3);
        rate
    });
    let line = |name, unit, values, aim: Aim| Line { name, unit, values, against: Some(Who::Nginx), aims: [aim; 2] };
    vec![line("download", "GB/s", values, AtLeast(1.0)), line("download-cpu", "ms", spent, AtMost(1.0))]
}

pub(crate) fn upload(bench: &Bench) -> Vec<Line> {
    stay(Place::AllCpus);
    let mut servers = ours(bench);
    servers.push(Server::floor("upload", bench));
    let values = rounds(&servers, |s| {
        let name = format!("{:?}.bin", s.who);
        // A new file: to let go of an old one takes ext4 as long as to write it, and not always at the same moment.
        let _ = std::fs::remove_file(bench.served().join(&name));
        let start = Instant::now();
        s.connect().upload(&put(&s.target("file", &name), LARGE), LARGE);
        gb_per_s(start)
    });
    vec![Line { name: "upload", unit: "GB/s", values, against: Some(Who::Floor), aims: [AtLeast(0.9); 2] }]
}

pub(crate) fn put(target: &str, size: usize) -> Vec<u8> {
    let media = "application/octet-stream";
    format!("PUT {target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media}\r\nContent-Length: {size}\r\n\r\n")
        .into()
}

fn gb_per_s(start: Instant) -> f64 {
    LARGE as f64 / start.elapsed().as_secs_f64() / 1e9
}

/// `/bin/true`, and the same by a server that holds a gibibyte.
pub(crate) fn exec_true(bench: &Bench) -> Vec<Line> {
    stay(Place::OneCpu);
    let light = ours(bench);
    let heavy = RUNTIMES.map(|who| Server::ours_with(who, bench, &["--ballast", "1024"]));
    let request = exec(r#"{"args":["/bin/true"]}"#, false);
    let mut peers: Vec<Peer> = light.iter().chain(&heavy).map(Server::connect).collect();
    let mut values = [Who::Smol, Who::Std, Who::Smol, Who::Std, Who::Floor].map(|who| (who, Vec::new()));
    for _ in 0..ROUNDS {
        let mut times = [const { Vec::new() }; 5];
        // One command each in turn: what else the machine does meets all of them.
        for _ in 0..100 {
            for (peer, times) in peers.iter_mut().zip(&mut times) {
                times.push(time(|| {
                    peer.ask(&request);
                }));
            }
            times[4].push(time(floor::spawn_and_wait));
        }
        for (times, (_, values)) in times.iter_mut().zip(&mut values) {
            times.sort_by(f64::total_cmp);
            values.push(median(times));
        }
    }
    let [smol, std, mut heavy_smol, mut heavy_std, floor] = values;
    for (heavy, light) in [(&mut heavy_smol, &smol), (&mut heavy_std, &std)] {
        heavy.1.iter_mut().zip(&light.1).for_each(|(heavy, light)| *heavy /= light);
    }
    vec![
        Line { name: "exec", unit: "us", values: vec![smol, std, floor], against: Some(Who::Floor), aims: EXEC },
        Line::plain("exec at 1 GiB", "x", [heavy_smol.1, heavy_std.1], [1.1; 2]),
    ]
}

const EXEC: [Aim; 2] = [AtMost(1.18), AtMost(1.12)];

/// How long it takes, in microseconds.
fn time(f: impl FnOnce()) -> f64 {
    let start = Instant::now();
    f();
    start.elapsed().as_secs_f64() * 1e6
}

pub(crate) fn stream(bench: &Bench) -> Vec<Line> {
    stay(Place::AllCpus);
    let mut servers = ours(bench);
    servers.push(Server::floor("stream", bench));
    let request = streamed(LARGE);
    let values = rounds(&servers, |s| {
        let start = Instant::now();
        assert!(s.connect().drain(&request) > LARGE / 3 * 4);
        gb_per_s(start)
    });
    let aims = [AtLeast(0.9), AtLeast(0.8)];
    vec![Line { name: "stream", unit: "GB/s", values, against: Some(Who::Floor), aims }]
}

/// An exec that gives so many bytes, and ends the connection.
pub(crate) fn streamed(size: usize) -> Vec<u8> {
    exec(&format!(r#"{{"args":["head","-c","{size}","/dev/zero"],"stream":true}}"#), true)
}
