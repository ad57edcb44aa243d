//! What the sources give, and which of them wins.

use serde_json::json;

use super::{Folder, LEAST, least_and};
use crate::config::{Identity, Listen, Policy, Static};
use crate::value::Value;

#[test]
fn a_flag_wins_over_the_environment_and_that_over_the_file() {
    let file = "[server]\nlisten = \"127.0.0.1:1\"\npath = \"/file\"\npublic_url = \"https://file.example.com\"\n";
    let config = least_and(file)
        .variable("CODEMODE_SERVER__LISTEN", "127.0.0.1:2")
        .variable("CODEMODE_SERVER__PATH", "/environment")
        .flag("--listen", "server.listen", "127.0.0.1:3")
        .loads();
    assert_eq!(config.server.listen, Listen::Tcp(([127, 0, 0, 1], 3).into()));
    assert_eq!(config.server.path.as_str(), "/environment");
    assert_eq!(config.server.public_url.unwrap().to_string(), "https://file.example.com");
}

#[test]
fn the_summary_says_how_many_settings_each_source_gave() {
    let config = least_and("[server]\nlisten = \"127.0.0.1:1\"\nallowed_hosts = [\"a\", \"b\"]\n")
        .variable("CODEMODE_SERVER__LISTEN", "127.0.0.1:2")
        .flag("--path", "server.path", "/x")
        .loads();
    assert_eq!(
        config.summary.to_string(),
        "4 settings from file, 1 from environment (server.listen), 1 from flags (server.path)"
    );
}

#[test]
fn a_variable_without_two_underscores_is_not_read() {
    let config = Folder::new(LEAST).variable("CODEMODE_SERVICE_HOST", "10.0.0.1").variable("CODEMODE_PORT", "tcp://x");
    assert_eq!(config.loads().summary.to_string(), "3 settings from file");
}

#[test]
fn a_variable_of_digits_is_a_number_or_a_text_as_its_key_wants() {
    let config = Folder::new(LEAST)
        .variable("CODEMODE_LIMITS__MAX_NATIVE_CALLS", "7")
        .variable("CODEMODE_IDENTITY__SUBJECT", "0042")
        .variable("CODEMODE_SERVER__ALLOWED_HOSTS", "[a.example, b.example]")
        .loads();
    assert_eq!(config.limits.max_native_calls, 7);
    assert_eq!(subject(&config.identity), "0042");
    assert_eq!(config.server.allowed_hosts.len(), 2);
}

#[test]
fn a_referenced_file_is_its_text_or_the_number_in_it() {
    let toml = "policy = { mode = \"allow-all\" }\n[identity]\nmode = \"static\"\nsubject = { file = \"calls\" }\n\
                [limits]\nmax_native_calls = { file = \"calls\" }\n\
                [[plugins]]\nname = \"one\"\nlibrary = \"plugins/libone.so\"\nconfig.token = { file = \"secret\" }\n";
    let config = Folder::new(toml).loads();
    assert_eq!(subject(&config.identity), "7");
    assert_eq!(config.limits.max_native_calls, 7);
    assert_eq!(config.plugins[0].settings, json!({"token": "open sesame, please"}));
}

#[test]
fn a_variable_may_refer_to_a_file_and_replaces_a_reference_unread() {
    let toml = "policy = { mode = \"allow-all\" }\n[identity]\nmode = \"static\"\nsubject = { file = \"nowhere\" }\n";
    let config = Folder::new(toml).variable("CODEMODE_IDENTITY__SUBJECT", "ann").loads();
    assert_eq!(subject(&config.identity), "ann");
    let config = Folder::new(LEAST).variable("CODEMODE_IDENTITY__SUBJECT", "{file=secret}").loads();
    assert_eq!(subject(&config.identity), "open sesame, please");
}

#[test]
fn a_table_with_a_header_is_no_reference() {
    let config = least_and(
        "[[plugins]]\nname = \"one\"\nlibrary = \"plugins/libone.so\"\n[plugins.config]\nfile = \"nowhere.db\"\n",
    );
    assert_eq!(config.loads().plugins[0].settings, json!({"file": "nowhere.db"}));
}

#[test]
fn a_plugin_gets_its_settings_as_json() {
    let config = least_and(
        "[[plugins]]\nname = \"one\"\nlibrary = \"plugins/libone.so\"\n[plugins.config]\nday = 2026-11-30\nbig = \
         9007199254740993\nhalf = 0.5\nlist = [{ a = true }, []]\n",
    );
    let settings = json!({"day": "2026-11-30", "big": 9007199254740993_i64, "half": 0.5, "list": [{"a": true}, []]});
    assert_eq!(config.loads().plugins[0].settings, settings);
}

#[test]
fn libraries_of_the_folders_follow_the_tables_that_name_them() {
    let folder = least_and("plugin_dirs = [\"plugins\"]\n[[plugins]]\nname = \"first\"\nlibrary = \"libtwo.so\"\n");
    let specs = folder.loads().plugins;
    let found: Vec<_> = specs.iter().map(|spec| (spec.name.as_deref(), spec.library.clone())).collect();
    assert_eq!(found, [(Some("first"), folder.path("plugins/libtwo.so")), (None, folder.path("plugins/libone.so"))]);
    assert!(specs[0].place.ends_with("codemode.toml:4:1: plugins[0]"), "{}", specs[0].place);
    assert!(specs[1].place.ends_with("codemode.toml:3:16: plugin_dirs[0]"), "{}", specs[1].place);
}

#[test]
fn claims_are_values_for_the_policy() {
    let toml = "policy = { mode = \"allow-all\" }\n[identity]\nmode = \"static\"\nsubject = \"ann\"\n\
                claims = { groups = [\"staff\"], level = 3 }\n";
    let Identity::Static(Static { subject, .. }) = Folder::new(toml).loads().identity else { panic!("not static") };
    assert_eq!(subject.claims["groups"], Value::List(vec!["staff".into()]));
    assert_eq!(subject.claims["level"], Value::from(3));
}

#[test]
fn a_policy_has_absolute_paths() {
    let folder = Folder::new(
        "identity = { mode = \"static\", subject = \"local\" }\n[policy]\nmode = \"rego\"\nmodules = [\"authz.rego\"]\n\
         execute = \"data.authz.allow\"\n",
    );
    let Policy::Rego(rego) = folder.loads().policy else { panic!("not rego") };
    assert_eq!(rego.modules, [folder.path("authz.rego")]);
    assert_eq!((rego.execute.as_str(), rego.discover, rego.reason), ("data.authz.allow", None, None));
}

#[test]
fn a_secret_is_never_printed() {
    let folder = Folder::new(
        "policy = { mode = \"allow-all\" }\n[identity]\nmode = \"proxy\"\nheader = \"x-user\"\npeers = \
         [\"127.0.0.1/32\"]\nshared_secret_file = \"token\"\n[[plugins]]\nname = \"one\"\nlibrary = \
         \"plugins/libone.so\"\nconfig.token = { file = \"secret\" }\n",
    );
    let config = folder.loads();
    let printed = format!("{config:?} {config:#?}");
    assert!(!printed.contains("0123456789abcdef") && !printed.contains("sesame"), "{printed}");
    let Identity::Proxy(proxy) = config.identity else { panic!("not a proxy") };
    assert!(proxy.shared_secret.unwrap().matches(b"0123456789abcdef"));
}

fn subject(identity: &Identity) -> &str {
    match identity {
        Identity::Static(one) => one.subject.id.as_str(),
        other => panic!("not static: {other}"),
    }
}
