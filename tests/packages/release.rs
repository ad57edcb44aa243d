//! A release: checksums that are signed, and a bill of materials that is whole.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{artefact, checkout, printed, released};

/// Whether the checksums are those that the key signed.
fn is_signed(release: &Path, sums: &Path) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let signers = folder.path().join("signers");
    let key = fs::read_to_string(release.with_file_name("key.pub")).unwrap();
    fs::write(&signers, format!("releases {key}")).unwrap();
    let mut verify = Command::new("ssh-keygen");
    verify.args(["-Y", "verify", "-I", "releases", "-n", "codemoded-release", "-f"]).arg(&signers);
    verify.arg("-s").arg(release.join("SHA256SUMS.sig")).stdin(fs::File::open(sums).unwrap()).stdout(Stdio::null());
    verify.stderr(Stdio::null()).status().unwrap().success()
}

#[test]
fn every_file_is_in_the_signed_checksums() {
    let Some(release) = released("every_file_is_in_the_signed_checksums") else { return };
    printed(Command::new("sha256sum").args(["--check", "--strict", "SHA256SUMS"]).current_dir(&release));
    let sums = fs::read_to_string(release.join("SHA256SUMS")).unwrap();
    let listed: BTreeSet<_> = sums.lines().map(|line| line.split_whitespace().nth(1).unwrap().to_owned()).collect();
    let mut there: BTreeSet<_> =
        fs::read_dir(&release).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(there.remove("SHA256SUMS") && there.remove("SHA256SUMS.sig"), "{there:?}");
    assert_eq!(listed, there);
    assert_eq!(listed.len(), 3, "{listed:?}");

    assert!(is_signed(&release, &release.join("SHA256SUMS")));
    let folder = tempfile::tempdir().unwrap();
    let forged = folder.path().join("SHA256SUMS");
    fs::write(&forged, sums.replacen(|char: char| char.is_ascii_digit(), "a", 1)).unwrap();
    assert!(!is_signed(&release, &forged), "a changed checksum is noticed");
}

#[test]
fn the_bill_of_materials_has_every_crate_of_the_lock_file() {
    let bill = printed(&mut Command::new(checkout().join("packaging/sbom")));
    let bill: Value = serde_json::from_str(&bill).unwrap();
    assert_eq!((&bill["bomFormat"], &bill["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let components = bill["components"].as_array().unwrap();
    let listed: BTreeSet<_> = components.iter().map(|each| (text(&each["name"]), text(&each["version"]))).collect();

    let lock = fs::read_to_string(checkout().join("Cargo.lock")).unwrap();
    let lock: toml_edit::DocumentMut = lock.parse().unwrap();
    let packages = lock["package"].as_array_of_tables().unwrap();
    let value = |table: &toml_edit::Table, key: &str| table[key].as_str().unwrap().to_owned();
    let locked: BTreeSet<_> =
        packages.iter().map(|package| (value(package, "name"), value(package, "version"))).collect();
    assert_eq!(listed, locked);
    assert!(locked.len() > 300, "{}", locked.len());
    for each in components {
        let name = &each["name"];
        let is_ours = name.as_str().unwrap().starts_with("codemode");
        assert!(is_ours || each["hashes"][0]["content"].as_str().unwrap().len() == 64, "{name}: no checksum");
        assert!(each["licenses"][0]["expression"].is_string(), "{name}: no licence");
    }
    let references: BTreeSet<_> = components.iter().map(|each| text(&each["bom-ref"])).collect();
    for dependency in bill["dependencies"].as_array().unwrap() {
        for on in dependency["dependsOn"].as_array().unwrap() {
            assert!(
                references.contains(on.as_str().unwrap()),
                "{} depends on {on}, which is not listed",
                dependency["ref"]
            );
        }
    }
}

#[test]
fn a_release_in_print_is_the_one_that_was_asked_for() {
    let Some(release) = released("a_release_in_print_is_the_one_that_was_asked_for") else { return };
    let version = env!("CARGO_PKG_VERSION");
    for ending in [format!("codemoded-{version}.oci.tar"), format!("codemoded-{version}.cdx.json")] {
        artefact(&release, &ending);
    }
    let name = artefact(&release, ".deb").file_name().unwrap().to_string_lossy().into_owned();
    assert!(name.starts_with(&format!("codemoded_{version}-1_")), "{name}");
    // An existing folder is nobody's to write over.
    let mut again = Command::new(checkout().join("packaging/release"));
    let done = again.arg(&release).arg("dev").env("CODEMODE_SIGNING_KEY", "/none").output().unwrap();
    assert_eq!(done.status.code(), Some(73), "{done:?}");
}
