//! Bodies: what is written is read as the same, for whatever can be made.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use farside_wire::{
    Bounds, Code, Descriptor, Details, Error, ExecRequest, FileInfo, FileMode, Info, Listing, Meta, Moment, Reach,
    Scope, Scopes, Signal, Timestamp, WaitStatus, envelope, errno, file, fuzz,
    process::{self, ConnectRequest, Ended, ProcessKind, ProcessRow, ServerStart, Size, StartRequest},
    servers::{self, ServerInfo},
    session::{self, Lease, SessionRow},
    signal::signal_name,
    times,
};
use proptest::{collection::vec, option, prelude::*, sample::select};
use std::{borrow::Cow, fmt::Debug, time::Duration};

/// Writes `body`, reads it, and has serde_json agree that it is JSON.
fn survives<T: Debug + PartialEq>(
    body: &T,
    write: impl Fn(&mut Vec<u8>, &T),
    parse: impl Fn(&'static [u8]) -> Result<T, Error>,
) {
    let mut out = Vec::new();
    write(&mut out, body);
    serde_json::from_slice::<serde_json::Value>(&out).unwrap();
    // Leaked, so that a body which borrows can be compared.
    assert_eq!(parse(out.leak()).as_ref(), Ok(body));
}

fn text() -> impl Strategy<Value = String> {
    any::<String>()
}

fn no_nul() -> impl Strategy<Value = String> {
    text().prop_map(|text| text.replace('\0', "0"))
}

fn cow(strategy: impl Strategy<Value = String>) -> impl Strategy<Value = Cow<'static, str>> {
    strategy.prop_map(Cow::Owned)
}

fn key() -> impl Strategy<Value = String> {
    "[A-Za-z0-9_-]{1,128}"
}

fn name() -> impl Strategy<Value = String> {
    "[a-z é\"]{1,4}(/[a-z\\\\]{1,4}){0,3}"
}

fn env() -> impl Strategy<Value = Vec<Cow<'static, str>>> {
    vec(cow(("[^=\x00]{1,5}", no_nul()).prop_map(|(name, value)| format!("{name}={value}"))), 0..4)
}

fn args() -> impl Strategy<Value = Vec<Cow<'static, str>>> {
    (cow("[^\x00]{1,9}"), vec(cow(no_nul()), 0..4)).prop_map(|(program, rest)| [vec![program], rest].concat())
}

fn dir() -> impl Strategy<Value = Cow<'static, str>> {
    cow(prop_oneof![Just(String::new()), name()])
}

prop_compose! {
    fn execs()(args in args(), dir in dir(), env in env(), stdin in vec(any::<u8>(), 0..3000), timeout_ms in 0..=1u64 << 53,
               stream in any::<bool>(), apart in any::<bool>(), key in option::of(cow(key()))) -> ExecRequest<'static> {
        ExecRequest { args, dir, env, stdin: stdin.into(), timeout_ms, stream, apart, key }
    }
}

prop_compose! {
    fn starts()(args in args(), dir in dir(), env in env(), timeout_ms in 0..=1u64 << 53, stderr in any::<bool>(),
                terminal in option::of(sizes()), key in cow(key())) -> StartRequest<'static> {
        StartRequest { args, dir, env, timeout_ms, stderr, terminal, key }
    }
}

fn sizes() -> impl Strategy<Value = Size> {
    (1u16.., 1u16..).prop_map(|(rows, cols)| Size { rows, cols })
}

fn metas() -> impl Strategy<Value = Meta> {
    let seconds = -62_167_219_200i64..=253_402_300_799;
    (any::<u64>(), any::<u32>(), seconds, 0..1_000_000_000u32).prop_map(|(size, mode, seconds, nanos)| Meta {
        size,
        mode: FileMode(mode),
        modified: Timestamp { seconds, nanos },
    })
}

fn listings() -> impl Strategy<Value = Listing> {
    (prop::collection::btree_map("[a-z é\"\\\\\n]{1,6}", metas(), 0..8), any::<u64>()).prop_map(|(entries, skipped)| {
        Listing { entries: entries.into_iter().map(|(name, meta)| FileInfo { name, meta }).collect(), skipped }
    })
}

fn errors() -> impl Strategy<Value = Error> {
    let some = || option::of("[A-Za-z]{1,8}");
    let details = (option::of(any::<u64>()), some(), any::<bool>(), some(), option::of(any::<u64>()));
    // A text that only repeats what "other" says is read as no text.
    let words = "[a-zé\"\n:]{0,3}x?";
    (select(Code::ALL), words, details).prop_map(|(code, words, (limit, name, ran, errno, offset))| {
        let details = Details {
            limit,
            name: name.map(Into::into),
            ran: ran.then_some(true),
            errno: errno.map(Into::into),
            offset,
        };
        let error = Error::new(code, words);
        if details == Details::default() { error } else { error.with(|d| *d = details) }
    })
}

fn waits() -> impl Strategy<Value = WaitStatus> {
    prop_oneof![
        any::<i32>().prop_map(WaitStatus::Exited),
        "[A-Z]{3,6}|[1-9][0-9]".prop_map(|signal| WaitStatus::Signaled(signal.into())),
        select(&Ended::ALL[..]).prop_map(WaitStatus::Ended),
        errors().prop_map(WaitStatus::Failed),
    ]
}

prop_compose! {
    fn bounds()(n in prop::array::uniform12(1..=Bounds::MAX), replay in any::<bool>()) -> Bounds {
        let [max_request_bytes, max_write_bytes, max_dir_entries, max_sessions, max_sessions_per_principal, max_processes,
             max_transfers, max_exec_output_bytes, stderr_bytes, max_reply_bytes, max_error_bytes, kept] = n;
        Bounds { max_request_bytes, max_write_bytes, max_dir_entries, max_sessions, max_sessions_per_principal, max_processes,
            max_transfers, max_exec_output_bytes, stderr_bytes, max_reply_bytes, max_error_bytes,
            replay_bytes: if replay { kept } else { 0 } }
    }
}

fn scopes() -> impl Strategy<Value = Scopes> {
    vec(select(&Scope::ALL[..]), 0..4).prop_map(|scopes| scopes.into_iter().collect())
}

prop_compose! {
    fn infos()(root in text(), kind in text(), [reference, host, instance] in prop::array::uniform3(option::of("[^\x00]{1,5}")),
               [links, start, connect, servers] in prop::array::uniform4(option::of(any::<bool>())), bounds in bounds(),
               reach in option::of(select(&Reach::ALL[..])), scopes in option::of(scopes()),
               env in option::of(vec(text(), 1..4)), extensions in vec(text(), 0..4)) -> Info {
        let descriptor = Descriptor { kind, reference, host, instance, root: root.clone() };
        Info { root, descriptor, links, bounds, reach, scopes, start, connect, servers, env, extensions }
    }
}

fn rows() -> impl Strategy<Value = Vec<ProcessRow>> {
    let numbers = (any::<u64>(), any::<u64>(), option::of(any::<u64>()));
    let row = (key(), select(&ProcessKind::ALL[..]), option::of("[a-z]{1,4}"), any::<bool>(), numbers);
    let row = row.prop_map(|(id, kind, name, running, (stdin, stdout, stderr))| ProcessRow {
        id,
        kind,
        name,
        running,
        stdin,
        stdout,
        stderr,
    });
    vec(row, 0..4)
}

proptest! {
    #[test]
    fn exec(body in execs()) {
        prop_assert_eq!(body.check(), Ok(()));
        survives(&body, |out, body| body.write(out), |text| ExecRequest::parse(text, &Bounds::default()));
    }

    #[test]
    fn start(body in starts()) {
        prop_assert_eq!(body.check(), Ok(()));
        prop_assert_eq!(&body.clone().into_owned(), &body);
        survives(&body, |out, body| body.write(out), StartRequest::parse);
    }

    #[test]
    fn other_requests(port in 1u16.., key in cow(key()), stderr in any::<bool>(), size in sizes(), signal in select(Signal::ALL)) {
        survives(&ConnectRequest { port, key: key.clone() }, |out, body| body.write(out), ConnectRequest::parse);
        survives(&ServerStart { stderr, key }, |out, body| body.write(out), ServerStart::parse);
        survives(&size, |out, body| body.write(out), Size::parse);
        survives(&signal, |out, body| body.write(out), Signal::parse);
    }

    #[test]
    fn rename(from in cow(name()), to in cow(name()), replace in any::<bool>()) {
        survives(&file::Rename { from, to, replace }, |out, body| body.write(out), file::Rename::parse);
    }

    #[test]
    fn info(body in infos()) {
        survives(&body, |out, body| body.write(out), Info::parse);
    }

    /// What a principal is told is never more than the whole, and telling it again takes nothing more away.
    #[test]
    fn info_told(body in infos(), scopes in scopes()) {
        let may = scopes.has(Scope::Read) || scopes.has(Scope::Servers);
        match body.for_scopes(scopes) {
            Err(error) => prop_assert!(!may && error.code == Code::Forbidden),
            Ok(told) => {
                prop_assert!(may);
                prop_assert_eq!(told.scopes, Some(scopes));
                prop_assert_eq!(told.env.is_some(), scopes.has(Scope::Exec) && body.env.is_some());
                prop_assert!(scopes.has(Scope::Exec) || told.start != Some(true) && told.connect != Some(true));
                prop_assert!(scopes.has(Scope::Servers) || told.servers == Some(false));
                prop_assert!(scopes.has(Scope::Read) || told.descriptor.host.is_none() && !told.root.contains('/'));
                prop_assert_eq!(told.for_scopes(scopes), Ok(told.clone()));
            }
        }
    }

    #[test]
    fn files(name in "[a-z é\"\\\\\n]{1,6}|\\.", meta in metas(), listing in listings(), target in text()) {
        let info = FileInfo { name, meta };
        survives(&info, |out, info| file::write_info(out, &info.name, &info.meta), file::parse_info);
        survives(&listing, |out, body| body.write(out), Listing::parse);
        survives(&target, |out, target| file::write_target(out, target), file::parse_target);
    }

    #[test]
    fn sessions(id in key(), lease_ms in 1..=1u64 << 53, processes in rows(), other in rows()) {
        survives(&Lease { id: id.clone(), lease_ms }, |out, body| body.write(out), Lease::parse);
        survives(&id, |out, id| process::write_started(out, id), process::parse_started);
        survives(&processes, |out, rows| process::write_processes(out, rows), process::parse_processes);
        let sessions = vec![SessionRow { id: id.clone(), processes }, SessionRow { id, processes: other }];
        survives(&sessions, |out, rows| session::write_sessions(out, rows), session::parse_sessions);
    }

    #[test]
    fn wait(body in waits()) {
        survives(&body, |out, body| body.write(out, 512), WaitStatus::parse);
    }

    #[test]
    fn offered(rows in vec(("[A-Za-z0-9][A-Za-z0-9._-]{0,63}", text(), vec(text(), 0..3)), 0..4)) {
        let row = |(name, description, secrets)| ServerInfo { name, description, secrets };
        let rows: Vec<_> = rows.into_iter().map(row).collect();
        survives(&rows, |out, rows| servers::write_servers(out, rows), servers::parse_servers);
    }

    #[test]
    fn refusals(error in errors()) {
        let parse = |text: &[u8]| envelope::parse_refusal(text).ok_or(Code::Other.into());
        survives(&error, |out, error| envelope::write_error(out, error, 512), parse);
    }

    /// The message that is written is [`Error::message`], cut at a character within the bound, and not a character sooner.
    #[test]
    fn messages_are_cut(code in select(Code::ALL), words in text(), max in 0..60usize) {
        let error = Error::new(code, words);
        let mut out = Vec::new();
        envelope::write_error_object(&mut out, &error, max as u64);
        let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let (told, whole) = (json["message"].as_str().unwrap(), error.message());
        prop_assert!(told.len() <= max && whole.starts_with(told));
        let next = whole[told.len()..].chars().next();
        prop_assert!(next.is_none_or(|next| told.len() + next.len_utf8() > max));
    }

    #[test]
    fn any_bytes(kind in 0..18u8, text in vec(any::<u8>(), 0..60)) {
        fuzz::values::bodies(&[vec![kind], text].concat());
    }

    #[test]
    fn times_go_round(seconds in -62_167_219_200i64..=253_402_300_799, nanos in 0..1_000_000_000u32, offset in -1439..=1439i64) {
        let time = Timestamp { seconds, nanos };
        let mut out = Vec::new();
        time.write(&mut out);
        let text = String::from_utf8(out).unwrap();
        prop_assert_eq!(Timestamp::parse(&text), Ok(time));
        // The same digits with an offset are that much earlier.
        let sign = if offset < 0 { '-' } else { '+' };
        let zoned = text.replace('Z', &format!("{sign}{:02}:{:02}", offset.abs() / 60, offset.abs() % 60));
        let earlier = seconds - offset * 60;
        match Timestamp::parse(&zoned) {
            Ok(read) => prop_assert_eq!(read, Timestamp { seconds: earlier, nanos }),
            Err(_) => prop_assert!(!(-62_167_219_200..=253_402_300_799).contains(&earlier)),
        }
    }
}

#[test]
fn lists_keep_their_order() {
    let entry = |name: &str| FileInfo { name: name.into(), meta: Meta::default() };
    let listing = Listing { entries: ["b", "a", "Z", "é"].map(entry).into(), skipped: 0 };
    survives(&listing, |out, body| body.write(out), Listing::parse);
    // The order the spec wants is that of the bytes, which is that of str.
    let mut entries = listing.entries;
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(entries.iter().map(|entry| &*entry.name).eq(["Z", "a", "b", "é"]));
}

#[test]
fn times_of_the_wire() {
    assert_eq!(times::renewal(times::LEASE), Duration::from_secs(20));
    let start = Moment(5);
    assert_eq!(start.after(Duration::from_millis(2)), Moment(2005));
    assert_eq!(Moment(u64::MAX - 1).after(Duration::MAX), Moment(u64::MAX));
    assert_eq!(Moment(2005).since(start), Duration::from_millis(2));
    assert_eq!(start.since(Moment(2005)), Duration::ZERO);
}

#[test]
fn bounds_never_overflow() {
    let mut bounds = Bounds::default();
    assert_eq!(bounds.exec_request_bytes(), (1 << 20) + 4 * 22_369_622);
    assert!(bounds.exec_frame_bytes() >= 2 * 4 * 5_592_406 + 512 * 6);
    for n in [0, 1, Bounds::MAX, u64::MAX] {
        (bounds.max_request_bytes, bounds.max_write_bytes) = (n, n);
        (bounds.max_exec_output_bytes, bounds.max_error_bytes) = (n, n);
        assert!(bounds.exec_request_bytes() >= n && bounds.exec_frame_bytes() > 43_692);
        let _ = ExecRequest::parse(br#"{"args":["a"]}"#, &bounds);
    }
}

#[test]
fn signals_by_number() {
    for signal in Signal::ALL {
        assert_eq!(signal_name(signal.number()), signal.name());
    }
    assert_eq!((&*signal_name(11), &*signal_name(34), &*signal_name(0), &*signal_name(-1)), ("SEGV", "34", "0", "-1"));
    assert_eq!(Signal::ALL.len(), 13);
}

#[test]
fn errnos() {
    assert!(errno::TABLE.windows(2).all(|pair| pair[0].number < pair[1].number));
    for row in errno::TABLE {
        let error = errno::from_errno(row.number);
        assert_eq!(error.code, row.code);
        assert_eq!(errno::by_name(row.name), Some(row));
        if row.code == Code::Other {
            assert_eq!((error.errno(), &*error.message()), (Some(row.name), row.words));
            assert_eq!(envelope::status_of(&error), row.status);
        } else {
            assert_eq!((error.errno(), &*error.words), (None, ""));
        }
    }
}

#[test]
fn checks_before_sending() {
    let good = ExecRequest { args: vec!["a".into()], ..Default::default() };
    let bad = |change: fn(&mut ExecRequest<'_>)| {
        let mut request = good.clone();
        change(&mut request);
        request.check().unwrap_err().code
    };
    assert_eq!(bad(|r| r.args.clear()), Code::Invalid);
    assert_eq!(bad(|r| r.env.push("A".into())), Code::Invalid);
    assert_eq!(bad(|r| r.timeout_ms = (1 << 53) + 1), Code::Invalid);
    assert_eq!(bad(|r| r.key = Some("".into())), Code::Invalid);
    assert_eq!(bad(|r| r.dir = "..".into()), Code::Outside);
    let start = StartRequest { args: vec!["a".into()], ..Default::default() };
    assert_eq!(start.check().unwrap_err().words, "key");
}
