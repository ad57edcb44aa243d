//! Where settings come from, and what is wrong with it: the file's text, a variable, a flag, a file that a setting names.

use super::{ALLOW_ALL, Folder, STATIC, least_and};

#[test]
fn a_text_that_is_not_toml_is_refused_at_its_line() {
    let told = Folder::new("[server]\nlisten = \n").load().unwrap_err();
    assert!(told.starts_with("codemode.toml:2:10: not TOML: "), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
}

#[test]
fn a_key_that_stands_twice_is_named() {
    least_and("[limits]\nmax_native_calls = 1\n\"max_native_calls\" = 2")
        .is_refused("codemode.toml:5:1: not TOML: duplicate key `\"max_native_calls\"`");
    least_and("[policy]\nmode = \"rego\"").is_refused("codemode.toml:3:2: not TOML: duplicate key `policy`");
}

#[test]
fn a_file_that_is_not_there_is_refused() {
    let folder = Folder::new("");
    std::fs::remove_file(folder.path("codemode.toml")).unwrap();
    folder.is_refused("codemode.toml: cannot read the configuration; give another with `--config FILE`");
}

#[test]
fn a_fault_of_a_variable_or_flag_names_it() {
    least_and("[limits]\nmax_native_calls = 5\n")
        .variable("CODEMODE_LIMITS__MAX_NATIVE_CALLS", "0")
        .variable("CODEMODE_SERVER__LISEN", "x")
        .flag("--listen", "server.listen", "here")
        .is_refused(
            "CODEMODE_LIMITS__MAX_NATIVE_CALLS: limits.max_native_calls: `0` must be between 1 and 1000000000\n\
             CODEMODE_SERVER__LISEN: server.lisen: unknown key; did you mean `listen`?\n\
             --listen: server.listen: `here` is no address; write an IP address and a port, such as \
             \"127.0.0.1:8787\", \"unix:\" and a path, or \"systemd\"",
        );
}

#[test]
fn a_table_that_a_variable_puts_in_a_values_place_is_the_variables_fault() {
    Folder::new(&format!("[server]\nlisten = \"127.0.0.1:1\"\n{STATIC}{ALLOW_ALL}"))
        .variable("CODEMODE_SERVER__LISTEN__X", "1")
        .is_refused("CODEMODE_SERVER__LISTEN__X: server.listen: expected a string, found a table");
    Folder::new(&format!("{STATIC}{ALLOW_ALL}"))
        .variable("CODEMODE_IDENTITY__SUBJECT", "{ file = \"nowhere\" }")
        .is_refused("CODEMODE_IDENTITY__SUBJECT: identity.subject: no file at `nowhere`");
    Folder::new(&format!("[identity]\nmode = \"static\"\nsubject = {{ file = \"secret\" }}\n{ALLOW_ALL}"))
        .variable("CODEMODE_IDENTITY__SUBJECT__FILE", "nowhere")
        .is_refused("CODEMODE_IDENTITY__SUBJECT__FILE: identity.subject: no file at `nowhere`");
}

#[test]
fn a_referenced_file_that_is_not_there_is_refused() {
    Folder::new(&format!("[identity]\nmode = \"static\"\nsubject = {{ file = \"nowhere\" }}\n{ALLOW_ALL}"))
        .is_refused("codemode.toml:3:11: identity.subject: no file at `nowhere`");
}
