//! The OCI image: its layout is whole, and its root file system serves, read-only and as nobody in particular.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{artefact, printed, released};
use crate::harness::{Daemon, not_run, program, run};

/// An image layout, unpacked.
struct Layout {
    folder: tempfile::TempDir,
}

impl Layout {
    fn of_release(test: &str) -> Option<Self> {
        let archive = artefact(&released(test)?, ".oci.tar");
        let folder = tempfile::tempdir().unwrap();
        printed(Command::new("tar").arg("--extract").arg("--file").arg(archive).arg("--directory").arg(folder.path()));
        Some(Self { folder })
    }

    fn json(&self, file: &Path) -> Value {
        serde_json::from_slice(&fs::read(self.folder.path().join(file)).unwrap()).unwrap()
    }

    /// The blob that a descriptor is of, checked against it.
    #[track_caller]
    fn blob(&self, descriptor: &Value) -> PathBuf {
        let digest = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
        let path = Path::new("blobs/sha256").join(digest);
        let bytes = fs::read(self.folder.path().join(&path)).unwrap();
        assert_eq!(hex(&Sha256::digest(&bytes)), digest);
        assert_eq!(descriptor["size"], json!(bytes.len()));
        path
    }

    fn manifest(&self) -> Value {
        self.json(&self.blob(&self.json(Path::new("index.json"))["manifests"][0]))
    }

    fn config(&self) -> Value {
        self.json(&self.blob(&self.manifest()["config"]))
    }

    fn layer(&self) -> PathBuf {
        self.folder.path().join(self.blob(&self.manifest()["layers"][0]))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_layout_is_whole_and_says_how_to_run_it() {
    let Some(layout) = Layout::of_release("the_layout_is_whole_and_says_how_to_run_it") else { return };
    assert_eq!(layout.json(Path::new("oci-layout")), json!({ "imageLayoutVersion": "1.0.0" }));
    let manifest = layout.manifest();
    assert_eq!(manifest["layers"].as_array().unwrap().len(), 1);
    let config = layout.config();
    assert_eq!((&config["os"], &config["config"]["User"]), (&json!("linux"), &json!("65532:65532")));
    let command = json!(["/usr/bin/codemoded", "--config", "/etc/codemoded/codemode.toml"]);
    assert_eq!(config["config"]["Entrypoint"], command);
    assert_eq!(config["config"]["StopSignal"], "SIGTERM");
    let unpacked = Command::new("gzip").args(["--decompress", "--stdout"]).arg(layout.layer()).output().unwrap().stdout;
    assert_eq!(config["rootfs"]["diff_ids"], json!([format!("sha256:{}", hex(&Sha256::digest(&unpacked)))]));
}

#[test]
fn the_image_holds_the_daemon_and_no_shell() {
    let Some(layout) = Layout::of_release("the_image_holds_the_daemon_and_no_shell") else { return };
    let listed =
        printed(Command::new("tar").args(["--list", "--verbose", "--numeric-owner", "--file"]).arg(layout.layer()));
    let files: HashMap<_, _> = listed
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .map(|row| (row[5].trim_start_matches('.').to_owned(), (row[0].to_owned(), row[1].to_owned())))
        .collect();
    assert!(files.contains_key("/usr/bin/codemoded"), "{listed}");
    for shell in ["/bin/sh", "/usr/bin/sh", "/bin/bash", "/usr/bin/dpkg"] {
        assert!(!files.contains_key(shell), "{shell}");
    }
    for (path, (mode, owner)) in &files {
        let is_its_own = path.starts_with("/var/lib/codemoded");
        assert_eq!(owner, if is_its_own { "65532/65532" } else { "0/0" }, "{path}");
        assert!(!mode.contains('s') && (path == "/tmp/" || mode.as_bytes()[8] != b'w'), "{path}: {mode}");
    }
}

#[test]
fn the_root_file_system_serves_read_only_and_unprivileged() {
    let test = "the_root_file_system_serves_read_only_and_unprivileged";
    let Some(layout) = Layout::of_release(test) else { return };
    if !rustix::process::geteuid().is_root() {
        return not_run(test, "needs root, to change the root folder");
    }
    let root = layout.folder.path().join("root");
    fs::create_dir(&root).unwrap();
    printed(Command::new("tar").arg("--extract").arg("--file").arg(layout.layer()).arg("--directory").arg(&root));
    let (code, minted, errors) = run(&["token", "new", "--subject", "ann"], layout.folder.path());
    assert_eq!(code, 0, "{errors}");
    let (token, line) = minted.trim_end().split_once('\n').unwrap();
    fs::write(root.join("etc/codemoded/secrets/tokens.toml"), line).unwrap();

    // As a container's runtime would: a read-only root, `/proc` and `/dev`, a writable `/tmp` and volume, and the image's user.
    let enter = "mount --bind \"$1\" \"$1\" && mount --options remount,bind,ro \"$1\" && \
                 mount --bind /proc \"$1/proc\" && mount --bind /dev \"$1/dev\" && mount --types tmpfs tmpfs \"$1/tmp\" && \
                 mount --types tmpfs --options uid=65532,gid=65532 tmpfs \"$1/var/lib/codemoded\" && \
                 root=$1 && shift && exec chroot --userspec=65532:65532 \"$root\" /usr/bin/codemoded \
                 --config /etc/codemoded/codemode.toml";
    let mut command = Command::new("unshare");
    // Each program takes the place of the one before, so that ending this process ends the daemon.
    command.args(["--mount", "bash", "-c", enter, "enter"]).arg(&root);
    command.env_clear().env("PATH", std::env::var("PATH").unwrap()).env("CODEMODE_SERVER__LISTEN", "127.0.0.1:0");
    command.env("CODEMODE_SERVER__ALLOWED_HOSTS", "[\"127.0.0.1\"]").env("CODEMODE_ADMIN__LISTEN", "off");
    let daemon = Daemon::start_by(command, "", |_| {}, |_| {});
    let bearer = format!("Bearer {token}");
    let source = program("records.put(key = \"a\", value = 1)\nreturn files.read(path = \"authz.rego\")[\"text\"][:7]");
    let refused = daemon.call("execute", json!({ "source": source }), &[("authorization", &bearer)]);
    assert!(refused.error().contains("permission denied"), "the shipped policy lets nobody write: {refused:?}");
    let source = program("return [files.read(path = \"authz.rego\")[\"text\"][:15], records.entries(key = \"a\")]");
    let answer = daemon.call("execute", json!({ "source": source }), &[("authorization", &bearer)]);
    assert_eq!(*answer.result(), json!(["# Who may do wh", { "entries": [] }]), "{answer:?}");
}
