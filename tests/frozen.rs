//! A plugin that was built when the ABI was frozen serves in today's daemon.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;

use crate::harness::{Daemon, allow_all, plugin};

#[test]
#[cfg(target_arch = "x86_64")]
fn a_plugin_built_for_this_abi_once_serves_today() {
    let config = allow_all(&plugin("words", Path::new("./libwords.so"), ""));
    let daemon = Daemon::start_with(&config, |folder| {
        let built = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/frozen/libwords_abi1.so"));
        fs::copy(built, folder.join("libwords.so")).unwrap();
        // A checkout may leave files that a group can write, which the daemon refuses.
        fs::set_permissions(folder.join("libwords.so"), fs::Permissions::from_mode(0o644)).unwrap();
    });
    let described = daemon.call("describe_api", json!({ "name": "words.count" }), &[]).structured.unwrap();
    assert_eq!(described["signature"], "words.count(*, text: str, min_letters: int | None)");
    assert_eq!(
        described["output"],
        json!([{ "name": "words", "type": "int", "required": true, "constraints": ">= 0" }])
    );
    let counted = daemon.main("return words.count(text = \"to be or not to be\", min_letters = 3)");
    assert_eq!(*counted.result(), json!({ "words": 1 }));
}
