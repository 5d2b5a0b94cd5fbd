//! Frames: the fast way and the strict reader agree, and what is written is read.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use farside_wire::{
    Error, Line, Output, frame,
    frame::{Channel, Frame},
    fuzz::values::ndjson,
};
use proptest::prelude::*;

fn outputs() -> impl Strategy<Value = Output> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..3000);
    let signal = prop::option::of("[A-Z]{3,6}|[1-9][0-9]");
    (bytes(), bytes(), any::<i32>(), signal, any::<bool>(), any::<bool>()).prop_map(
        |(stdout, stderr, exit_code, signal, timed_out, interrupted)| Output {
            stdout,
            stderr,
            exit_code,
            signal: signal.map(Into::into),
            timed_out,
            interrupted,
        },
    )
}

proptest! {
    #[test]
    fn data_survives(data in prop::collection::vec(any::<u8>(), 1..2000), apart in any::<bool>()) {
        let channel = if apart { Channel::Stderr } else { Channel::Stdout };
        let mut room = vec![b'x'; frame::data_frame_len(channel, data.len())];
        prop_assert_eq!(frame::write_data_frame(&mut room, channel, &data), room.len());
        let mut into = vec![0; frame::MAX_FRAME_DATA];
        prop_assert_eq!(frame::parse_line(&room, &mut into), Ok(Line::Data(channel, data.len())));
        prop_assert_eq!(&into[..data.len()], &data[..]);
        let json: serde_json::Value = serde_json::from_slice(&room).unwrap();
        let kind = if apart { "stderr" } else { "data" };
        prop_assert!(json[kind].is_string());
        prop_assert_eq!(Frame::parse(&room), Ok(if apart { Frame::Stderr(data) } else { Frame::Data(data) }));
    }

    #[test]
    fn outputs_survive(output in outputs()) {
        let mut line = Vec::new();
        frame::write_output(&mut line, &output);
        prop_assert!(line.iter().filter(|byte| **byte == b'\n').count() == 1 && line.ends_with(b"\n"));
        prop_assert_eq!(frame::parse_line(&line, &mut []), Ok(Line::Output(output)));
    }

    #[test]
    fn the_two_readers_agree(
        kind in "data|stderr|output|error|x|d\\\\u0061ta",
        value in "[A-Za-z0-9+/]{0,9}={0,3}|[A-Za-z+/=\\\\ -]{0,8}",
        around in "( |\t|\r|\\{|\\}|\"|,\"x\":1|,\"data\":\"QQ==\"|null){0,2}",
        front in any::<bool>(),
    ) {
        let line = format!("{{\"{kind}\":\"{value}\"{}}}{}", if front { &around } else { "" }, if front { "" } else { &around });
        ndjson(line.as_bytes());
    }

    #[test]
    fn a_wound_anywhere(data in prop::collection::vec(any::<u8>(), 1..40), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
        let mut room = vec![0; frame::data_frame_len(Channel::Stdout, data.len())];
        frame::write_data_frame(&mut room, Channel::Stdout, &data);
        let at = at.index(room.len());
        if cut { room.truncate(at) } else { room[at] = byte }
        ndjson(&room);
    }

    #[test]
    fn any_lines(text in prop::collection::vec(any::<u8>(), 0..80)) {
        ndjson(&text);
    }
}

#[test]
fn the_border_of_a_frame() {
    for (length, good) in [
        (1, true),
        (frame::MAX_FRAME_DATA - 1, true),
        (frame::MAX_FRAME_DATA, true),
        (frame::MAX_FRAME_DATA + 1, false),
    ] {
        let data = vec![7; length];
        let mut room = vec![0; frame::data_frame_len(Channel::Stdout, length)];
        let written = frame::write_data_frame(&mut room, Channel::Stdout, &data);
        assert_eq!(written, if good { room.len() } else { 0 });
    }
    assert_eq!(frame::write_data_frame(&mut [0; 12], Channel::Stdout, b""), 0);
    let mut room = vec![0; frame::data_frame_len(Channel::Stdout, 3) + 1];
    assert_eq!(frame::write_data_frame(&mut room, Channel::Stdout, b"abc"), 0, "a room that does not fit");
    assert!(room.iter().all(|byte| *byte == 0));
    let over = format!("{{\"data\":\"{}\"}}", "QUFB".repeat(10_923));
    let mut room = vec![0; 2 * frame::MAX_FRAME_DATA];
    assert_eq!(
        frame::parse_line(over.as_bytes(), &mut room),
        Err(Error::limit("data", 32768)),
        "however large the room"
    );
    assert_eq!(frame::parse_line(b"{\"data\":\"YWJj\"}", &mut [0; 2]), Err(Error::limit("data", 32768)));
    assert_eq!(frame::parse_line(b"{\"data\":\"YWJj\"}", &mut [0; 3]), Ok(Line::Data(Channel::Stdout, 3)));
}
