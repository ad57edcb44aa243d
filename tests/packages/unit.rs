//! The systemd units: sound, and as confined as the daemon can work.

use std::fs;
use std::process::Command;

use super::{checkout, is_there, printed};
use crate::harness::{executable, not_run};

#[test]
fn the_units_are_sound() {
    if !is_there("systemd-analyze", &["--version"]) {
        return not_run("the_units_are_sound", "needs systemd-analyze");
    }
    let folder = tempfile::tempdir().unwrap();
    for unit in ["codemoded.service", "codemoded.socket"] {
        let text = fs::read_to_string(checkout().join("systemd").join(unit)).unwrap();
        fs::write(folder.path().join(unit), text.replace("/usr/bin/codemoded", executable())).unwrap();
    }
    let mut verify = Command::new("systemd-analyze");
    verify.args(["verify", "--man=no", "./codemoded.service", "./codemoded.socket"]).current_dir(folder.path());
    let done = verify.output().unwrap();
    let told = String::from_utf8(done.stderr).unwrap();
    // It also tells of what this machine's own units are like.
    let ours: Vec<_> = told.lines().filter(|line| line.contains("codemoded")).collect();
    assert!(done.status.success() && ours.is_empty(), "{told}");
}

#[test]
fn the_service_is_exposed_no_further_than_it_must() {
    if !is_there("systemd-analyze", &["--version"]) {
        return not_run("the_service_is_exposed_no_further_than_it_must", "needs systemd-analyze");
    }
    let mut analyze = Command::new("systemd-analyze");
    analyze.args(["security", "--offline=yes", "--no-pager", "./codemoded.service"]);
    let told = printed(analyze.current_dir(checkout().join("systemd")));
    let line = told.lines().find(|line| line.contains("Overall exposure level")).unwrap();
    let level: f64 = line.split(": ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(level <= 2.0, "{line}");
}
