//! A worker that says what no worker says. What it says is spelt out by the tests, byte by byte.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use codemoded::worker::protocol::FromWorker;

use super::attack;

/// Carries out words, one after another:
///
/// - `bytes=HEX` says these bytes, and `forever=HEX` says them again and again;
/// - `calls=COUNT` makes so many calls of the first capability, and takes no answer;
/// - `answer` takes one frame;
/// - `wait` says nothing any more, and `leave=CODE` ends the worker.
pub(super) fn say(words: &str) -> ! {
    let mut channel = attack::channel();
    for word in words.split_whitespace() {
        match word.split_once('=').unwrap_or((word, "")) {
            ("bytes", hex) => write(&mut channel, &decoded(hex)),
            ("forever", hex) => loop {
                write(&mut channel, &decoded(hex));
            },
            ("calls", count) => {
                for call in 0..count.parse().unwrap_or(0) {
                    let arguments = b"{\"text\":\"a b\"}".to_vec();
                    write(&mut channel, &FromWorker::Call { call, capability: 0, caught: false, arguments }.encode());
                }
            }
            ("answer", _) => answer(&mut channel),
            ("wait", _) => {
                // Until the daemon hangs up, whatever it says meanwhile.
                while matches!(channel.read(&mut [0; 1024]), Ok(1..)) {}
            }
            ("leave", code) => leave(code.parse().unwrap_or(0)),
            (_, _) => leave(0),
        }
    }
    leave(0)
}

fn leave(code: i32) -> ! {
    std::process::exit(code)
}

fn write(channel: &mut UnixStream, bytes: &[u8]) {
    if channel.write_all(bytes).is_err() {
        leave(1);
    }
}

fn answer(channel: &mut UnixStream) {
    let mut header = [0; 4];
    if channel.read_exact(&mut header).is_err() {
        leave(1);
    }
    let mut body = vec![0; u32::from_le_bytes(header) as usize];
    if channel.read_exact(&mut body).is_err() {
        leave(1);
    }
}

fn decoded(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.chars().filter_map(|digit| digit.to_digit(16)?.try_into().ok()).collect();
    digits.chunks_exact(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect()
}
