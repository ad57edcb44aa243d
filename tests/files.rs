//! Files that the configuration and the commands name: what has no end or holds up its reader is refused, and no message
//! shows what a file of a secret says.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::harness::{allow_all, executable};

const REGO: &str = "mode = \"rego\"\nexecute = \"data.p.allow\"\n";

/// A folder with a sound configuration, a program, a policy, a pipe that nobody writes into, and a folder.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("codemode.toml", allow_all("")),
        ("p.star", "def main():\n    return 1\n".to_owned()),
        ("p.rego", "package p\n\ndefault allow := true\n".to_owned()),
        ("claims.json", "{}".to_owned()),
        ("secret", "S3CRETVALUE\n".to_owned()),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    assert!(Command::new("mkfifo").arg(folder.path().join("pipe")).status().unwrap().success());
    fs::create_dir(folder.path().join("folder")).unwrap();
    folder
}

/// How a command ends, within ten seconds.
fn run(arguments: &[&str], folder: &Path, input: Stdio) -> (Option<i32>, String, String) {
    let mut command = Command::new("timeout");
    command.args(["--signal=KILL", "10", executable()]).args(arguments).current_dir(folder).stdin(input);
    let done = command.env("CODEMODE_ADMIN__LISTEN", "off").output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (done.status.code(), text(done.stdout), text(done.stderr))
}

#[track_caller]
fn fails(arguments: &[&str], folder: &Path, code: i32, told: &str) {
    let (exit, out, errors) = run(arguments, folder, Stdio::null());
    assert_eq!((exit, out.as_str()), (Some(code), ""), "{arguments:?}: {errors}");
    assert!(errors.contains(told), "{arguments:?}: `{told}` is not in {errors}");
}

/// The daemon does not start with this configuration, and says this.
#[track_caller]
fn refuses(config: &str, told: &str) {
    let folder = folder();
    fs::write(folder.path().join("c.toml"), config).unwrap();
    fails(&["--config", "c.toml"], folder.path(), 78, told);
}

#[test]
fn only_a_regular_file_is_read_where_the_configuration_names_one() {
    let refers = |file: &str| allow_all("").replace("subject = \"local\"", &format!("subject = {{ file = {file:?} }}"));
    refuses(&refers("pipe"), "c.toml:5:11: identity.subject: `");
    refuses(&refers("pipe"), "/pipe` is a pipe, no regular file");
    refuses(&refers("/dev/zero"), "c.toml:5:11: identity.subject: `/dev/zero` is a device, no regular file");
    refuses(&refers("folder"), "/folder` is a folder, no regular file");
    refuses(&allow_all("[audit]\nkey_file = \"pipe\"\n"), "/pipe` is a pipe, no regular file");
    let proxy = "mode = \"proxy\"\nheader = \"x-user\"\npeers = [\"127.0.0.1/32\"]\nshared_secret_file = \"pipe\"";
    refuses(&allow_all("").replace("mode = \"static\"\nsubject = \"local\"", proxy), "/pipe` is a pipe");
    let tokens = "mode = \"tokens\"\ntokens_file = \"folder\"";
    refuses(&allow_all("").replace("mode = \"static\"\nsubject = \"local\"", tokens), "/folder` is a folder");
    for (kind, modules) in [("a folder", "folder"), ("a pipe", "pipe"), ("a device", "/dev/null")] {
        let policy = format!("{REGO}modules = [{modules:?}]");
        refuses(&allow_all("").replace("mode = \"allow-all\"", &policy), &format!("` is {kind}, no regular file"));
        let data = format!("{REGO}modules = [\"p.rego\"]\ndata = [{modules:?}]");
        refuses(&allow_all("").replace("mode = \"allow-all\"", &data), &format!("` is {kind}, no regular file"));
    }
    refuses(&allow_all("[[plugins]]\nname = \"a\"\nlibrary = \"./folder\"\n"), "/folder` is a folder, no regular file");
}

#[test]
fn only_a_regular_file_is_read_where_a_command_names_one() {
    let folder = folder();
    for (arguments, code) in [
        (&["check", "--config", "pipe"][..], 78),
        (&["check", "--diff", "pipe"], 78),
        (&["audit", "query", "pipe"], 66),
        (&["audit", "tail", "pipe"], 66),
    ] {
        fails(arguments, folder.path(), code, "`pipe` is a pipe, no regular file");
    }
    fails(&["check", "--config", "/dev/zero"], folder.path(), 78, "`/dev/zero` is a device, no regular file");
    let policy = format!("{REGO}modules = [\"p.rego\"]");
    fs::write(folder.path().join("codemode.toml"), allow_all("").replace("mode = \"allow-all\"", &policy)).unwrap();
    fails(&["policy", "test", "pipe"], folder.path(), 66, "`pipe` is a pipe, no regular file");
    fails(&["policy", "test", "nope.rego", "folder"], folder.path(), 66, "error: no file at `nope.rego`\n");
    fails(&["policy", "test", "nope.rego", "folder"], folder.path(), 66, "error: `folder` is a folder, no regular");
}

#[test]
fn no_more_of_a_file_is_read_than_its_bound() {
    let folder = folder();
    File::create(folder.path().join("big")).unwrap().set_len((16 << 20) + 1).unwrap();
    fails(&["check", "--config", "big"], folder.path(), 78, "`big` holds more than 16777216 bytes");
    let refers = allow_all("").replace("subject = \"local\"", "subject = { file = \"big\" }");
    fs::write(folder.path().join("codemode.toml"), refers).unwrap();
    fails(&["check"], folder.path(), 78, "/big` holds more than 1048576 bytes");
}

#[test]
fn a_program_and_claims_may_come_through_a_pipe_and_are_bounded() {
    let folder = folder();
    let limit = "error: resource limit exceeded: max_source_bytes";
    fails(&["run", "/dev/zero"], folder.path(), 1, limit);
    let (code, _, errors) = run(&["run", "-"], folder.path(), File::open("/dev/zero").unwrap().into());
    assert!(code == Some(1) && errors.contains(limit), "{errors}");
    let claims = ["run", "p.star", "--claims", "/dev/zero"];
    fails(&claims, folder.path(), 66, "error: `/dev/zero` holds more than 1048576 bytes");
    fails(&["run", "folder"], folder.path(), 66, "error: `folder` is a folder, no regular file");

    let shell = |line: &str| {
        let line = format!("codemoded() {{ {} \"$@\"; }}; {line}", executable());
        let mut command = Command::new("bash");
        let done = command.args(["-c", &line]).env("CODEMODE_ADMIN__LISTEN", "off").current_dir(folder.path()).output();
        String::from_utf8(done.unwrap().stdout).unwrap()
    };
    assert_eq!(shell("codemoded run <(cat p.star) --claims <(cat claims.json)"), "1\n");
    assert_eq!(shell("cat p.star | codemoded run /dev/stdin"), "1\n");
    assert_eq!(shell("cat p.star | codemoded run -"), "1\n");
}

#[test]
fn no_message_shows_the_text_of_a_file_that_a_setting_refers_to() {
    let secret = "{ file = \"secret\" }";
    let with = |key: &str, line: &str| allow_all("").replace(key, line);
    let everywhere = format!(
        "path = {secret}\npublic_url = {secret}\nsocket_mode = {secret}\nsocket_group = {secret}\n\
         drain_timeout = {secret}\nmax_connections = {secret}\ntrusted_origins = [{secret}]\n\
         trusted_proxies = [{secret}]\n[log]\nformat = {secret}\nlevel = {secret}\n[limits]\nmax_value_bytes = {secret}\n\
         [admin]\nlisten = [{secret}]\n[audit]\nto = {secret}\nkey_file = {secret}\n[traces]\nendpoint = {secret}\n\
         [[plugins]]\nname = \"a\"\nlibrary = {secret}\n[[plugins]]\nname = \"b\"\nlibrary = \"./folder\"\n[policy]\n\
         mode = \"rego\"\nmodules = [{secret}]\nexecute = {secret}\n[identity]\nmode = \"proxy\"\nheader = \"a b\"\n\
         peers = [{secret}]\nshared_secret_file = {secret}\n"
    );
    let configs = [
        format!("plugin_dirs = [{secret}]\n[server]\nlisten = {secret}\n{everywhere}"),
        with("mode = \"static\"", &format!("mode = {secret}")),
        with("mode = \"allow-all\"", &format!("mode = {secret}")),
        with("mode = \"static\"\nsubject = \"local\"", &format!("mode = \"tokens\"\ntokens_file = {secret}")),
        with("\"127.0.0.1:0\"\n", "\"0.0.0.0:1\"\n").replace("\"local\"", secret),
    ];
    let folder = folder();
    for config in configs {
        fs::write(folder.path().join("c.toml"), &config).unwrap();
        let (code, _, errors) = run(&["check", "--config", "c.toml"], folder.path(), Stdio::null());
        assert_eq!(code, Some(78), "{config}{errors}");
        assert!(!errors.contains("S3CRET") && errors.contains("the text in `"), "{config}{errors}");
    }
    let listen = with("\"127.0.0.1:0\"", secret);
    refuses(&listen, "/secret` is no address; write an IP address and a port, such as");
    refuses(&format!("{listen}[log]\nformat = {secret}\n"), "/secret` is none of `human`, `json`");
    refuses(
        &format!("{listen}[limits]\nmax_call_time = {secret}\n"),
        "/secret` is no duration; write an integer and ms",
    );
}
