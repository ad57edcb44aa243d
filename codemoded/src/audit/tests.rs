//! What the queue, the hashes and the journal's protocol promise by themselves; the rest is tested through the executable.

use std::io::{IoSliceMut, Read as _, Seek as _, Write as _};
use std::os::unix::net::UnixDatagram;
use std::sync::mpsc::channel;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};

use super::arguments::{Arguments, Keep, Key};
use super::journal::Journal;
use super::line::escaped;
use super::queue::{Entry, Queue};
use super::reading::AuditLine;
use super::*;
use indexmap::IndexMap;

#[test]
fn equal_values_have_equal_hashes_under_one_key_and_no_other() {
    let of = |key: Option<&str>| Arguments {
        of_others: Keep::Hashed,
        of: [(Id::new("plain"), Keep::Full), (Id::new("none"), Keep::Off)].into(),
        key: key.map(|key| Key::new(key).unwrap()),
    };
    let kept = |arguments: &Arguments, id: &str| {
        let kept = arguments.hasher().kept(&Id::new(id), r#"{"a":"canary","b":"canary","c":1}"#);
        kept.map(|json| json.get().to_owned())
    };
    let one = of(Some("0123456789abcdef"));
    let hashed = kept(&one, "any").unwrap();
    let values: IndexMap<String, String> = serde_json::from_str(&hashed).unwrap();
    assert_eq!(values["a"], values["b"]);
    assert_ne!(values["a"], values["c"]);
    assert!(!hashed.contains("canary"), "{hashed}");
    assert_eq!(kept(&one, "any"), Some(hashed.clone()));
    assert_ne!(kept(&of(Some("another key, as long")), "any"), Some(hashed));
    assert_ne!(kept(&of(None), "any"), kept(&of(None), "any"), "a key that nobody gave is another each time");
    assert_eq!(kept(&one, "plain").unwrap(), r#"{"a":"canary","b":"canary","c":1}"#);
    assert_eq!(kept(&one, "none"), None);
    assert!(Key::new("too short").is_err());
    assert!(!format!("{one:?}").contains("0123"));
}

#[test]
fn a_full_queue_drops_or_lets_no_run_begin() {
    let (entries, _incoming) = channel();
    let drops = Queue::new(entries.clone(), Overflow::Drop, 2);
    let refuses = Queue::new(entries, Overflow::Refuse, 2);
    for queue in [&drops, &refuses] {
        for _ in 0..5 {
            queue.push(Entry::Wake);
        }
    }
    assert_eq!((drops.len(), drops.lost()), (2, 3));
    assert!(drops.admits().is_ok());
    assert_eq!((refuses.len(), refuses.lost()), (5, 0), "runs in flight find room");
    assert!(refuses.admits().is_err());
    refuses.done(4, 0);
    assert!(refuses.admits().is_ok());
    assert_eq!((drops.take_untold(), refuses.take_untold()), ((3, 0), (0, 1)));
}

#[test]
fn a_line_reaches_the_journal_whole_however_long() {
    let folder = tempfile::tempdir().unwrap();
    let socket = UnixDatagram::bind(folder.path().join("socket")).unwrap();
    let mut journal = Journal::at(&folder.path().join("socket")).unwrap();
    let long = format!("{}\n", "x".repeat(2 << 20));
    journal.write_all(format!("{{\"short\":1}}\n{long}").as_bytes()).unwrap();
    let fields = "SYSLOG_IDENTIFIER=codemoded-audit\nPRIORITY=6\nMESSAGE=";
    let mut buffer = [0; 256];
    let length = socket.recv(&mut buffer).unwrap();
    assert_eq!(std::str::from_utf8(&buffer[..length]).unwrap(), format!("{fields}{{\"short\":1}}\n"));

    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut nothing = [0; 1];
    rustix::net::recvmsg(&socket, &mut [IoSliceMut::new(&mut nothing)], &mut ancillary, RecvFlags::empty()).unwrap();
    let Some(RecvAncillaryMessage::ScmRights(mut files)) = ancillary.drain().next() else { panic!("no descriptor") };
    let mut file = File::from(files.next().unwrap());
    assert!(file.write_all(b"more").is_err(), "it is sealed");
    file.rewind().unwrap();
    let mut entry = String::new();
    file.read_to_string(&mut entry).unwrap();
    assert!(entry == format!("{fields}{long}"), "{} bytes", entry.len());
}

#[test]
fn no_line_can_act_on_a_terminal() {
    let hostile = "{\"subject\":\"a\u{9b}31m\u{202e}b\u{7f}\"}";
    assert_eq!(escaped(hostile), "{\"subject\":\"a\\u009b31m\\u202eb\\u007f\"}");
    assert_eq!(escaped("{\"plain\":\"ä\"}"), "{\"plain\":\"ä\"}");
    let line = r#"{"kind":"run","time":"2026-11-30T07:00:00Z","subject":"a\u001b[2J\nx","run":"r\u009b"}"#;
    let line = AuditLine::parse(line.as_bytes()).unwrap();
    for text in [line.row(), line.json()] {
        assert!(!text.chars().any(char::is_control), "{text:?}");
    }
}

#[test]
fn what_is_no_line_is_told_apart() {
    for text in ["", "{", "[]", "{}", r#"{"kind":"run","time":"yesterday"}"#, r#"{"time":"2026-11-30T07:00:00Z"}"#] {
        assert!(AuditLine::parse(text.as_bytes()).is_err(), "{text}");
    }
    assert!(AuditLine::parse(b"\xff").is_err());
}
