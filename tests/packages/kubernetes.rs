//! The example manifests: they are what Kubernetes takes, restricted as they say, and their configuration is sound.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use super::{checkout, printed};
use crate::harness::{executable, library, not_run, run};

/// The Python that has YAML, and the schemas of Kubernetes.
fn python(test: &str) -> Option<PathBuf> {
    let python = std::env::var_os("CODEMODE_PYTHON").map(PathBuf::from);
    if python.is_none() {
        not_run(test, "CODEMODE_PYTHON is not set; use tests/run");
    }
    python
}

fn manifest() -> PathBuf {
    checkout().join("packaging/kubernetes/codemoded.yaml")
}

/// The objects of the manifest, by kind.
fn objects(python: &PathBuf) -> Vec<Value> {
    let script = "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1])))))";
    let text = printed(Command::new(python).args(["-c", script]).arg(manifest()));
    serde_json::from_str(&text).unwrap()
}

fn of_kind<'a>(objects: &'a [Value], kind: &str) -> &'a Value {
    objects.iter().find(|object| object["kind"] == kind).unwrap()
}

#[test]
fn the_manifests_are_what_kubernetes_takes() {
    let Some(python) = python("the_manifests_are_what_kubernetes_takes") else { return };
    let mut validate = Command::new(&python);
    validate.args(["-m", "kubernetes_validate", "--strict"]).arg(manifest());
    let told = printed(&mut validate);
    assert!(!told.contains("ERROR"), "{told}");
}

#[test]
fn the_pods_are_restricted_probed_and_two() {
    let Some(python) = python("the_pods_are_restricted_probed_and_two") else { return };
    let objects = objects(&python);
    let admits = &of_kind(&objects, "Namespace")["metadata"]["labels"]["pod-security.kubernetes.io/enforce"];
    assert_eq!(admits, "restricted");
    let deployment = &of_kind(&objects, "Deployment")["spec"];
    assert_eq!(deployment["replicas"], 2);
    let pod = &deployment["template"]["spec"];
    // What the standard `restricted` asks for, field by field.
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
    let container = &pod["containers"][0];
    let security = &container["securityContext"];
    assert_eq!(security["allowPrivilegeEscalation"], false);
    assert_eq!(security["capabilities"], json!({ "drop": ["ALL"] }));
    assert_eq!(security["readOnlyRootFilesystem"], true);
    for (probe, path) in [("startupProbe", "/readyz"), ("readinessProbe", "/readyz"), ("livenessProbe", "/healthz")] {
        assert_eq!(container[probe]["httpGet"], json!({ "path": path, "port": "admin" }), "{probe}");
    }
    assert!(container["resources"]["limits"]["memory"].is_string());
}

#[test]
fn the_manifests_configuration_is_sound() {
    let Some(python) = python("the_manifests_configuration_is_sound") else { return };
    let objects = objects(&python);
    let data = &of_kind(&objects, "ConfigMap")["data"];
    let folder = tempfile::tempdir().unwrap();
    let plugin = library("codemode_files");
    let (code, minted, errors) = run(&["token", "new", "--subject", "ann"], folder.path());
    assert_eq!(code, 0, "{errors}");
    fs::write(folder.path().join("tokens.toml"), minted.split_once('\n').unwrap().1).unwrap();
    let config = data["codemode.toml"].as_str().unwrap();
    let config = config
        .replace("/usr/lib/codemoded/plugins/libcodemode_files.so", plugin.to_str().unwrap())
        .replace("/etc/codemoded-secrets/", "")
        .replace("policy = \"/etc/codemoded\"", "policy = \".\"");
    fs::write(folder.path().join("codemode.toml"), config).unwrap();
    fs::write(folder.path().join("authz.rego"), data["authz.rego"].as_str().unwrap()).unwrap();
    let environment = of_kind(&objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]["env"].clone();
    let hosts = environment.as_array().unwrap().iter().find(|each| each["name"] == "CODEMODE_ADMIN__ALLOWED_HOSTS");
    let hosts = hosts.unwrap()["value"].as_str().unwrap().replace("$(POD_IP)", "10.0.0.7");
    let mut check = Command::new(executable());
    check.arg("check").current_dir(folder.path()).env("CODEMODE_ADMIN__ALLOWED_HOSTS", hosts);
    let shown = printed(&mut check);
    assert!(shown.contains("identity       tokens") && shown.contains("1 from environment"), "{shown}");
}
