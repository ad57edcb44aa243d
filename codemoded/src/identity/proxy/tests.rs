//! Which headers name a subject, and which count for nothing.

use http::HeaderValue;

use super::*;

const SECRET: &str = "correct-horse-battery";
const PROXY: &str = "10.1.2.3:4000";
const LOCAL: &str = "127.0.0.1:4000";

fn proxy() -> Proxy {
    Proxy {
        header: HeaderName::from_static("x-remote-user"),
        groups_header: Some(HeaderName::from_static("x-remote-groups")),
        peers: ["10.1.0.0/16", "127.0.0.1/32", "fd00::/8", "uid:33"]
            .map(|net| net.to_owned().try_into().unwrap())
            .to_vec(),
        shared_secret: Some(SharedSecret::new(SECRET).unwrap()),
    }
}

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let pairs = pairs.iter().map(|(name, value)| {
        (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_bytes(value.as_bytes()).unwrap())
    });
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(name, value);
    }
    headers
}

#[track_caller]
fn check(peer: &str, pairs: &[(&str, &str)], expected: Result<&str, Refusal>) {
    let subject = proxy().authenticate(&Peer::Tcp(peer.parse().unwrap()), &headers(pairs));
    assert_eq!(subject.as_ref().map(|subject| subject.id.as_str()).map_err(|refusal| *refusal), expected);
}

#[track_caller]
fn check_groups(values: &[&str], expected: Result<&[&str], Refusal>) {
    let mut pairs = vec![("x-remote-user", "ann")];
    pairs.extend(values.iter().map(|value| ("x-remote-groups", *value)));
    let claims =
        proxy().authenticate(&Peer::Tcp(PROXY.parse().unwrap()), &headers(&pairs)).map(|subject| subject.claims);
    let expected = expected.map(|groups| Value::List(groups.iter().map(|group| Value::from(*group)).collect()));
    assert_eq!(claims.map(|claims| claims["groups"].clone()), expected);
}

#[test]
fn a_listed_peer_names_the_subject() {
    check(PROXY, &[("x-remote-user", "ann")], Ok("ann"));
    check("[fd00::7]:9", &[("X-Remote-User", "ann@example.com")], Ok("ann@example.com"));
    check("[::ffff:10.1.2.3]:9", &[("x-remote-user", "jürgen")], Ok("jürgen"));
}

#[test]
fn an_unlisted_peer_counts_for_nothing() {
    check("10.2.0.1:4000", &[("x-remote-user", "ann")], Err(Refusal::UnlistedPeer));
    check("[::1]:4000", &[("x-remote-user", "ann"), (SECRET_HEADER, SECRET)], Err(Refusal::UnlistedPeer));
    check("127.0.0.2:4000", &[("x-remote-user", "ann"), (SECRET_HEADER, SECRET)], Err(Refusal::UnlistedPeer));
}

#[test]
fn a_peer_on_a_unix_socket_is_told_by_its_user() {
    let sent = headers(&[("x-remote-user", "ann")]);
    assert!(proxy().authenticate(&Peer::Unix { uid: 33 }, &sent).is_ok());
    assert_eq!(proxy().authenticate(&Peer::Unix { uid: 0 }, &sent), Err(Refusal::UnlistedPeer));
}

#[test]
fn a_loopback_peer_proves_the_secret() {
    check(LOCAL, &[("x-remote-user", "ann"), (SECRET_HEADER, SECRET)], Ok("ann"));
    check("[::ffff:127.0.0.1]:9", &[("x-remote-user", "ann")], Err(Refusal::Unproven));
    check(LOCAL, &[("x-remote-user", "ann")], Err(Refusal::Unproven));
    check(LOCAL, &[("x-remote-user", "ann"), (SECRET_HEADER, "")], Err(Refusal::Unproven));
    check(LOCAL, &[("x-remote-user", "ann"), (SECRET_HEADER, "correct-horse-batterx")], Err(Refusal::Unproven));
    let twice = [("x-remote-user", "ann"), (SECRET_HEADER, SECRET), ("X-Codemode-Secret", SECRET)];
    check(LOCAL, &twice, Err(Refusal::Unproven));
}

#[test]
fn without_a_secret_no_loopback_peer_is_believed() {
    let proxy = Proxy { shared_secret: None, ..proxy() };
    let sent = headers(&[("x-remote-user", "ann"), (SECRET_HEADER, "")]);
    assert_eq!(proxy.authenticate(&Peer::Tcp(LOCAL.parse().unwrap()), &sent), Err(Refusal::Unproven));
}

#[test]
fn exactly_one_sound_subject_counts() {
    check(PROXY, &[], Err(Refusal::NoSubject));
    check(PROXY, &[("x-remote-user", "ann"), ("x-remote-user", "ann")], Err(Refusal::RepeatedSubject));
    check(PROXY, &[("x-remote-user", "ann"), ("X-REMOTE-USER", "bob")], Err(Refusal::RepeatedSubject));
    check(PROXY, &[("x-remote-user", "")], Err(Refusal::InvalidSubject));
    check(PROXY, &[("x-remote-user", "ann,bob")], Err(Refusal::InvalidSubject));
    check(PROXY, &[("x-remote-user", "ann\tb")], Err(Refusal::InvalidSubject));
    check(PROXY, &[("x-remote-user", "ann\u{85}b")], Err(Refusal::InvalidSubject));
    check(PROXY, &[("x-remote-user", &"a".repeat(257))], Err(Refusal::InvalidSubject));
    check(PROXY, &[("x-remote-user", &"a".repeat(256))], Ok(&"a".repeat(256)));
}

#[test]
fn an_underscore_is_another_header() {
    check(PROXY, &[("x_remote_user", "root")], Err(Refusal::NoSubject));
    check(PROXY, &[("x_remote_user", "root"), ("x-remote-user", "ann")], Ok("ann"));
}

#[test]
fn groups_become_a_claim() {
    check_groups(&["ops, dev,,eng"], Ok(&["ops", "dev", "eng"]));
    check_groups(&[""], Ok(&[]));
    check_groups(&[], Ok(&[]));
    check_groups(&["ops", "dev"], Err(Refusal::RepeatedGroups));
    check_groups(&["ops\tdev"], Err(Refusal::InvalidGroups));
}

#[test]
fn a_secret_is_neither_weak_nor_printed() {
    for weak in ["", "fifteen-letters", "two-lines-of-text\n", "sixteen and space", &"a".repeat(257)] {
        assert_eq!(SharedSecret::new(weak).err(), Some(InvalidSecret), "{weak}");
    }
    assert_eq!(format!("{:?}", proxy().shared_secret), "Some(***)");
}
