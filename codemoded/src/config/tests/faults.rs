//! Every fault names its place and its key, and says the mend.

use super::{ALLOW_ALL, Folder, LEAST, STATIC, least_and};

/// The faults of a file that is the least one and then, from line 3, this.
#[track_caller]
fn check(more: &str, faults: &str) {
    least_and(more).is_refused(faults);
}

/// The faults of a whole file.
#[track_caller]
fn check_file(toml: &str, faults: &str) {
    Folder::new(toml).is_refused(faults);
}

#[test]
fn an_unknown_key_is_refused_at_every_level() {
    let table = [
        ("limit = 1", "codemode.toml:3:1: limit: unknown key; did you mean `limits`?"),
        ("[server]\nlisen = \"\"", "codemode.toml:4:1: server.lisen: unknown key; did you mean `listen`?"),
        ("[catalog]\nhidden = []", "codemode.toml:4:1: catalog.hidden: unknown key; known here: `disabled`"),
        (
            "[limits]\nmax_native_call = 1",
            "codemode.toml:4:1: limits.max_native_call: unknown key; did you mean `max_native_calls`?",
        ),
        (
            "[[plugins]]\nname = \"one\"\nlibrary = \"plugins/libone.so\"\nsettings = {}",
            "codemode.toml:6:1: plugins[0].settings: unknown key; known here: `config`, `library`, `name`",
        ),
    ];
    for (more, fault) in table {
        check(more, fault);
    }
}

#[test]
fn a_key_of_another_mode_is_refused() {
    let header = "header = \"x-user\"\n";
    check_file(
        &format!("{STATIC}{header}{ALLOW_ALL}"),
        "codemode.toml:4:1: identity.header: unknown key; known here: `claims`, `danger_allow_non_loopback`, `mode`, \
         `subject`",
    );
    check_file(
        &format!("{STATIC}{ALLOW_ALL}execute = \"data.a.b\"\n"),
        "codemode.toml:6:1: policy.execute: unknown key; known here: `mode`",
    );
}

#[test]
fn a_value_of_the_wrong_type_is_refused_without_being_shown() {
    let table = [
        ("server = 5", "codemode.toml:3:10: server: expected a table, found an integer"),
        ("[server]\nlisten = 5", "codemode.toml:4:10: server.listen: expected a string, found an integer"),
        ("plugin_dirs = \"x\"", "codemode.toml:3:15: plugin_dirs: expected an array, found a string"),
        ("plugin_dirs = [\"plugins\", 5]", "codemode.toml:3:27: plugin_dirs[1]: expected a string, found an integer"),
        (
            "[limits]\nmax_native_calls = \"many\"",
            "codemode.toml:4:20: limits.max_native_calls: expected an integer, found a string",
        ),
        (
            "[limits]\nmax_call_time = 2",
            "codemode.toml:4:17: limits.max_call_time: expected a duration such as \"5s\", found an integer",
        ),
        (
            "[limits]\nmax_value_bytes = true",
            "codemode.toml:4:19: limits.max_value_bytes: expected a size such as \"128MiB\", or a number of bytes, found \
             a boolean",
        ),
    ];
    for (more, fault) in table {
        check(more, fault);
    }
}

#[test]
fn a_section_is_a_table_and_no_array() {
    let told = |section: &str| {
        format!(
            "{section}: expected a table, found an array; write `[{section}]`, not `[[{section}]]`, and its keys below it"
        )
    };
    check("limits = [\"5B\"]", &format!("codemode.toml:3:10: {}", told("limits")));
    check("workers = [3, \"fork\"]", &format!("codemode.toml:3:11: {}", told("workers")));
    for section in ["server", "admin", "rates", "catalog", "workers", "limits", "log", "audit", "traces"] {
        check(&format!("{section} = []"), &format!("codemode.toml:3:{}: {}", section.len() + 4, told(section)));
        let of_tables = least_and(&format!("[[{section}]]\n")).load().unwrap_err();
        assert!(of_tables.starts_with("codemode.toml:3:") && of_tables.ends_with(&told(section)), "{of_tables}");
    }
    let of_tables = Folder::new(&format!("{STATIC}[[policy]]\nmode = \"allow-all\"\n")).load().unwrap_err();
    assert!(of_tables.starts_with("codemode.toml:4:") && of_tables.ends_with(&told("policy")), "{of_tables}");
    let of_tables = Folder::new(&format!("{ALLOW_ALL}[[identity]]\nmode = \"static\"\n")).load().unwrap_err();
    assert!(of_tables.starts_with("codemode.toml:3:") && of_tables.ends_with(&told("identity")), "{of_tables}");
    check("plugins = [[\"a\", \"b\"]]", "codemode.toml:3:12: plugins[0]: expected a table, found an array");
}

#[test]
fn a_limit_outside_its_bounds_is_refused() {
    let table = [
        ("max_native_calls = 0", ":20", "max_native_calls: `0` must be between 1 and 1000000000"),
        ("max_native_calls = -1", ":20", "max_native_calls: `-1` must be between 1 and 1000000000"),
        ("max_value_depth = 101", ":19", "max_value_depth: `101` must be between 1 and 100"),
        ("max_value_bytes = 0", ":19", "max_value_bytes: `0` must be between 1 and 64MiB"),
        ("max_value_bytes = \"65MiB\"", ":19", "max_value_bytes: `65MiB` must be between 1 and 64MiB"),
        ("max_worker_memory = \"31MiB\"", ":21", "max_worker_memory: `31MiB` must be between 32MiB and 1024GiB"),
        ("max_call_time = \"0s\"", ":17", "max_call_time: `0s` must be between 1ms and 24h"),
        ("max_call_time = \"25h\"", ":17", "max_call_time: `25h` must be between 1ms and 24h"),
    ];
    for (line, column, fault) in table {
        check(&format!("[limits]\n{line}"), &format!("codemode.toml:4{column}: limits.{fault}"));
    }
}

#[test]
fn a_malformed_quantity_is_refused_with_how_to_write_it() {
    for text in ["", "5", "s", "5 sec", "-5s", "1.5s", "1m30s", "99999999999999999999s"] {
        check(
            &format!("[limits]\nmax_call_time = \"{text}\""),
            &format!(
                "codemode.toml:4:17: limits.max_call_time: `{text}` is no duration; write an integer and ms, s, m or h, \
                 such as \"5s\""
            ),
        );
    }
    for text in ["", "5", "5MB", "5k", "1.5MiB", "99999999999GiB"] {
        check(
            &format!("[limits]\nmax_value_bytes = \"{text}\""),
            &format!(
                "codemode.toml:4:19: limits.max_value_bytes: `{text}` is no size; write an integer and B, KiB, MiB or \
                 GiB, such as \"128MiB\""
            ),
        );
    }
}

#[test]
fn a_malformed_address_is_refused_with_an_example() {
    let listen = "is no address; write an IP address and a port, such as \"127.0.0.1:8787\", \"unix:\" and a path, or \
                  \"systemd\"";
    let mode = "is no mode; write octal digits up to \"0777\", such as \"0660\"";
    let path = "is no path; write a slash and then letters, digits or any of `-._~/`, such as \"/mcp\"";
    let url = "is no http or https URL without query and user, such as \"https://mcp.example.com/mcp\"";
    let origin = "is no origin; write a scheme and a host and no path, such as \"https://console.example.com\"";
    let host = "is no host; write a name or address, with a port if only that one is meant, such as \"mcp.internal\"";
    let table = [
        ("listen", "localhost:8787", listen),
        ("listen", "127.0.0.1", listen),
        ("listen", "unix:", listen),
        ("socket_mode", "660 ", mode),
        ("socket_mode", "0888", mode),
        ("socket_mode", "1777", mode),
        ("path", "mcp", path),
        ("path", "/mcp/{x}", path),
        ("path", "/mcp/", path),
        ("public_url", "ftp://mcp.example.com", url),
        ("public_url", "https://u:p@mcp.example.com/mcp", url),
        ("public_url", "https://mcp.example.com/mcp?x", url),
    ];
    for (key, text, fault) in table {
        let column = key.len() + 4;
        let line = format!("[server]\n{key} = \"{text}\"");
        check(&line, &format!("codemode.toml:4:{column}: server.{key}: `{text}` {fault}"));
    }
    let table = [
        ("trusted_origins", "null", origin),
        ("trusted_origins", "console.example.com", origin),
        ("trusted_origins", "https://console.example.com/", origin),
        ("allowed_hosts", "mcp internal", host),
        ("allowed_hosts", "mcp:port", host),
    ];
    for (key, text, fault) in table {
        let column = key.len() + 5;
        let line = format!("[server]\n{key} = [\"{text}\"]");
        check(&line, &format!("codemode.toml:4:{column}: server.{key}[0]: `{text}` {fault}"));
    }
}

#[test]
fn a_missing_section_is_a_fault_that_says_what_to_write() {
    check_file(
        STATIC,
        "codemode.toml: policy: missing; nothing is allowed by default; add a `[policy]` section with `mode = \"rego\"`, \
         or say `mode = \"allow-all\"` if every caller may do everything",
    );
    check_file(
        ALLOW_ALL,
        "codemode.toml: identity: missing; say who the callers are in an `[identity]` section, such as `mode = \
         \"static\"`",
    );
}

#[test]
fn a_missing_key_is_placed_at_its_section() {
    check_file(
        &format!("[identity]\n{ALLOW_ALL}"),
        "codemode.toml:1:2: identity.mode: missing; set `mode` to \"static\", \"proxy\", \"jwt\", \"tokens\" or \"plugin\"",
    );
    check_file(
        &format!("{STATIC}[policy]\nmode = \"rego\"\n"),
        "codemode.toml:4:2: policy.modules: missing; list the Rego files, such as `modules = [\"policy/authz.rego\"]`\n\
         codemode.toml:4:2: policy.execute: missing; name the rule that allows a call, such as `execute = \
         \"data.codemode.authz.allow\"`",
    );
}

#[test]
fn a_misspelt_mode_is_refused_rather_than_defaulted() {
    check_file(
        &format!("[identity]\nmode = \"statik\"\n{ALLOW_ALL}"),
        "codemode.toml:2:8: identity.mode: unknown choice `statik`; did you mean `static`?",
    );
    check_file(
        &format!("[identity]\nmode = \"oauth\"\n{ALLOW_ALL}"),
        "codemode.toml:2:8: identity.mode: unknown choice `oauth`; known here: `jwt`, `plugin`, `proxy`, `static`, `tokens`",
    );
    check_file(
        &format!("[identity]\nmode = 0\n{ALLOW_ALL}"),
        "codemode.toml:2:8: identity.mode: expected a string, found an integer",
    );
    check_file(
        &format!("{STATIC}[policy]\nmode = \"allow_all\"\n"),
        "codemode.toml:5:8: policy.mode: unknown choice `allow_all`; did you mean `allow-all`?",
    );
}

#[test]
fn a_policy_names_files_that_are_there_and_a_ground_rule() {
    let rego = |rest: &str| format!("{STATIC}[policy]\nmode = \"rego\"\n{rest}");
    check_file(
        &rego("modules = [\"authz.rego\", \"other.rego\"]\nexecute = \"data.authz.allow\"\n"),
        "codemode.toml:6:26: policy.modules[1]: no file at `other.rego`",
    );
    check_file(
        &rego("modules = [\"authz.rego\", \"./authz.rego\"]\nexecute = \"data.authz.allow\"\n"),
        "codemode.toml:6:26: policy.modules[1]: `./authz.rego` stands twice; the first is at codemode.toml:6:12",
    );
    for rule in ["allow", "data", "data.allow", "data.authz.allow[x]", "data..allow", "input.authz.allow", "data.a.1"] {
        check_file(
            &rego(&format!("modules = [\"authz.rego\"]\nexecute = \"{rule}\"\n")),
            &format!(
                "codemode.toml:7:11: policy.execute: `{rule}` is no rule; write `data.` and the package and rule, such \
                 as \"data.codemode.authz.allow\""
            ),
        );
    }
}

#[test]
fn a_static_subject_is_refused_where_others_can_reach_it() {
    check(
        "[server]\nlisten = \"0.0.0.0:8787\"",
        "codemode.toml:1:21: identity.mode: `static` would let everyone who reaches 0.0.0.0:8787 be `local`; listen on a \
         loopback address, choose another mode, or set `identity.danger_allow_non_loopback = true`",
    );
    let open = "[server]\nlisten = \"0.0.0.0:8787\"\n";
    Folder::new(&format!("{open}{STATIC}danger_allow_non_loopback = true\n{ALLOW_ALL}")).loads();
    Folder::new(&format!("{open}{STATIC}{ALLOW_ALL}")).stdio().loads();
    Folder::new(&format!("[server]\nlisten = \"[::1]:8787\"\n{STATIC}{ALLOW_ALL}")).loads();
}

/// A file whose proxy identity has these keys, from line 5.
fn proxy(keys: &str) -> Folder {
    Folder::new(&format!("{ALLOW_ALL}[identity]\nmode = \"proxy\"\n{keys}"))
}

#[test]
fn a_proxy_on_loopback_needs_a_secret() {
    for peer in ["127.0.0.1/32", "127.0.0.0/8", "0.0.0.0/0", "::1/128", "::/0", "::ffff:127.0.0.1/128"] {
        proxy(&format!("header = \"x-user\"\npeers = [\"{peer}\"]\n")).is_refused(&format!(
            "codemode.toml:6:9: identity.peers: a peer on loopback is any local process, so `{peer}` needs a shared \
             secret as well; set `identity.shared_secret_file`"
        ));
        proxy(&format!("header = \"x-user\"\npeers = [\"{peer}\"]\nshared_secret_file = \"token\"\n")).loads();
    }
    proxy("header = \"x-user\"\npeers = [\"10.0.0.7/32\", \"fd00::/8\"]\n").loads();
}

#[test]
fn a_proxy_is_configured_completely_or_refused() {
    let network = "is no network; write an address and its bits, such as \"127.0.0.1/32\", or the user of a process on \
                   the Unix socket, such as \"uid:33\"";
    let ten = "peers = [\"10.0.0.7/32\"]\n";
    let table = [
        ("header = \"x-user\"\npeers = [\"10.0.0.7\"]\n", format!("6:10: identity.peers[0]: `10.0.0.7` {network}")),
        (
            "header = \"x-user\"\npeers = [\"10.0.0.7/33\"]\n",
            format!("6:10: identity.peers[0]: `10.0.0.7/33` {network}"),
        ),
        (
            "header = \"x-user\"\npeers = [\"10.0.0.7/8\"]\n",
            "6:10: identity.peers[0]: `10.0.0.7/8` has bits outside its mask; did you mean \"10.0.0.0/8\"?".to_owned(),
        ),
        (
            "header = \"x-user\"\n",
            "3:2: identity.peers: missing; list the networks of the proxy, such as `peers = [\"10.0.0.7/32\"]`"
                .to_owned(),
        ),
    ];
    for (keys, fault) in table {
        proxy(keys).is_refused(&format!("codemode.toml:{fault}"));
    }
    proxy(ten).is_refused(
        "codemode.toml:3:2: identity.header: missing; name the header in which the proxy sends the subject",
    );
    proxy(&format!("header = \"x user\"\n{ten}"))
        .is_refused("codemode.toml:5:10: identity.header: `x user` is no name of a header");
    proxy(&format!("header = \"x-user\"\n{ten}shared_secret_file = \"calls\"\n")).is_refused(
        "codemode.toml:7:22: identity.shared_secret_file: the secret must be 16 to 256 visible ASCII characters, since \
         the proxy sends it as a header",
    );
    proxy(&format!("header = \"x-user\"\n{ten}shared_secret_file = \"nowhere\"\n"))
        .is_refused("codemode.toml:7:22: identity.shared_secret_file: no file at `nowhere`");
    proxy(&format!("header = \"x-user\"\n{ten}")).stdio().is_refused(
        "codemode.toml:4:8: identity.mode: standard input has no peers; with `--stdio` only `mode = \"static\"` works",
    );
}

#[test]
fn a_plugin_that_is_not_there_is_refused() {
    let plugin = |keys: &str| format!("plugin_dirs = [\"plugins\"]\n[[plugins]]\nname = \"one\"\n{keys}");
    check(
        &plugin("library = \"libthree.so\""),
        "codemode.toml:6:11: plugins[0].library: no `libthree.so` in `plugins`; a name without a slash is looked up in \
         `plugin_dirs`, one with a slash is a path",
    );
    check(&plugin("library = \"./libthree.so\""), "codemode.toml:6:11: plugins[0].library: no file at `libthree.so`");
    check(
        &plugin(""),
        "codemode.toml:4:1: plugins[0].library: missing; name its library, such as `library = \
         \"libcodemode_records.so\"`",
    );
    check("plugin_dirs = [\"elsewhere\"]", "codemode.toml:3:16: plugin_dirs[0]: no folder at `elsewhere`");
    check("plugin_dirs = [\"secret\"]", "codemode.toml:3:16: plugin_dirs[0]: no folder at `secret`");
}

#[test]
fn a_plugin_instance_has_a_name_of_its_own() {
    let one = "[[plugins]]\nname = \"one\"\nlibrary = \"plugins/libone.so\"\n";
    check(
        &format!("{one}{one}"),
        "codemode.toml:7:8: plugins[1].name: `one` stands twice; the first is at codemode.toml:4:8",
    );
    check(
        "[[plugins]]\nname = \"one-two\"\nlibrary = \"plugins/libone.so\"\n",
        "codemode.toml:4:8: plugins[0].name: `one-two` is no instance name; write a letter and then letters, digits or \
         `_`, at most 64, such as \"records\"",
    );
}

#[test]
fn a_number_that_json_cannot_say_is_refused() {
    check(
        "[[plugins]]\nname = \"one\"\nlibrary = \"plugins/libone.so\"\nconfig = { a = [1, nan] }\n",
        "codemode.toml:6:20: plugins[0].config.a[1]: a number here must be finite",
    );
}

#[test]
fn all_faults_of_a_file_are_told_in_its_order() {
    check_file(
        "plugin_dirs = [5, \"elsewhere\"]\n[server]\nlisten = \"here\"\npaht = 1\n[identity]\nmode = \"static\"\n\
         sujbect = \"local\"\n[limits]\nmax_call_time = \"5\"\nmax_native_calls = 0\n[[plugins]]\nnames = \"one\"\n",
        "codemode.toml: policy: missing; nothing is allowed by default; add a `[policy]` section with `mode = \
         \"rego\"`, or say `mode = \"allow-all\"` if every caller may do everything\n\
         codemode.toml:1:16: plugin_dirs[0]: expected a string, found an integer\n\
         codemode.toml:1:19: plugin_dirs[1]: no folder at `elsewhere`\n\
         codemode.toml:3:10: server.listen: `here` is no address; write an IP address and a port, such as \
         \"127.0.0.1:8787\", \"unix:\" and a path, or \"systemd\"\n\
         codemode.toml:4:1: server.paht: unknown key; did you mean `path`?\n\
         codemode.toml:5:2: identity.subject: missing; set the name that every caller has, such as `subject = \
         \"local\"`\n\
         codemode.toml:7:1: identity.sujbect: unknown key; did you mean `subject`?\n\
         codemode.toml:9:17: limits.max_call_time: `5` is no duration; write an integer and ms, s, m or h, such as \
         \"5s\"\n\
         codemode.toml:10:20: limits.max_native_calls: `0` must be between 1 and 1000000000\n\
         codemode.toml:11:1: plugins[0].name: missing; name the instance, such as `name = \"records\"`\n\
         codemode.toml:11:1: plugins[0].library: missing; name its library, such as `library = \
         \"libcodemode_records.so\"`\n\
         codemode.toml:12:1: plugins[0].names: unknown key; did you mean `name`?",
    );
}

#[test]
fn a_fault_already_told_is_not_told_again_as_missing() {
    check_file(
        "identity = 5\npolicy = 5\n",
        "codemode.toml:1:12: identity: expected a table, found an integer\n\
         codemode.toml:2:10: policy: expected a table, found an integer",
    );
    check_file(
        &format!("[identity]\nmode = \"static\"\nsubject = \" \"\n{ALLOW_ALL}"),
        "codemode.toml:3:11: identity.subject: a subject is 1 to 256 bytes without control characters or surrounding \
         white space",
    );
}

#[test]
fn where_spans_go_is_told_without_its_secrets() {
    check(
        "[traces]\nendpoint = \"http://ann:secret@127.0.0.1:4318\"",
        "codemode.toml:4:12: traces.endpoint: no http or https URL without user and query, such as \
         \"http://127.0.0.1:4318\"",
    );
    check(
        "[traces]\nendpoint = \"http://127.0.0.1:4318\"\n[traces.headers]\nX-A = \"secret\"\nx-a = \"other\"",
        "codemode.toml:7:7: traces.headers.x-a: `x-a` stands here twice; a header's name counts without its case",
    );
}

#[test]
fn the_least_file_is_sound() {
    Folder::new(LEAST).loads();
}

#[test]
fn administration_is_not_open_to_other_machines_by_mistake() {
    let open = "[admin]\nlisten = \"0.0.0.0:8788\"";
    check(
        open,
        "codemode.toml:4:10: admin.listen: everyone who reaches 0.0.0.0:8788 could see what is loaded here and how it \
         fares; listen on a loopback address or a Unix socket, or set `admin.danger_allow_non_loopback = true`",
    );
    least_and(&format!("{open}\ndanger_allow_non_loopback = true")).loads();
    check(
        "[admin]\nlisten = [\"127.0.0.1:1\", \"127.0.0.1:8787\"]",
        "codemode.toml:4:10: admin.listen: 127.0.0.1:8787 is where `server.listen` listens already; choose another address",
    );
    check(
        "[admin]\nlisten = [\"127.0.0.1:1\", \"[::ffff:127.0.0.1]:1\"]",
        "codemode.toml:4:10: admin.listen: [::ffff:127.0.0.1]:1 is where `admin.listen` listens already; choose another \
         address",
    );
    check(
        "[admin]\nlisten = \"systemd\"",
        "codemode.toml:4:10: admin.listen: `systemd` is no address; write an IP address and a port, such as \
         \"127.0.0.1:8788\", \"unix:\" and a path, or \"off\" alone",
    );
    check(
        "[admin]\nlisten = [\"127.0.0.1:1\", \"off\"]",
        "codemode.toml:4:26: admin.listen[1]: `off` is no address; write an IP address and a port, such as \
         \"127.0.0.1:8788\", \"unix:\" and a path, or \"off\" alone",
    );
    check(
        "[admin]\nlisten = []",
        "codemode.toml:4:10: admin.listen: an empty array; write \"off\" where nothing shall be heard",
    );
    check(
        "[admin]\nlisten = 8788",
        "codemode.toml:4:10: admin.listen: expected an address or an array of addresses, found an integer",
    );
    let listen = |toml: &str| least_and(&format!("[admin]\nlisten = {toml}")).loads().admin.listen;
    assert_eq!(listen("\"off\""), []);
    assert_eq!(listen("[\"127.0.0.1:1\", \"unix:/run/a.sock\"]").len(), 2);
}
