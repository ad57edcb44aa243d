//! Policies that never start, and how each says why.

use super::*;

/// The one error of a module that is well but for this line, the second.
#[track_caller]
fn check(module: &str, expected: &str) {
    assert_eq!(errors(&source(module)), [expected], "{module}");
}

#[test]
fn what_could_recurse() {
    for (module, cycle) in [
        ("allow if allow", "data.p.allow -> data.p.allow"),
        ("allow if b\nb if allow", "data.p.allow -> data.p.b -> data.p.allow"),
        ("allow if f(1)\nf(x) if f(x - 1)", "data.p.f -> data.p.f"),
        ("allow if f(1)\nf(x) if g(x)\ng(x) if f(x)", "data.p.f -> data.p.g -> data.p.f"),
        ("allow if not b\nb if not allow", "data.p.allow -> data.p.b -> data.p.allow"),
        ("allow if count([x | x := data.p.allow]) > 0", "data.p.allow -> data.p.allow"),
        ("allow if some x in [1 | allow]", "data.p.allow -> data.p.allow"),
        ("allow if every x in [1] { allow; x == 1 }", "data.p.allow -> data.p.allow"),
        ("allow if data.p[input.arguments.n]", "data.p.allow -> data.p.allow"),
        ("allow if data[input.arguments.n].allow", "data.p.allow -> data.p.allow"),
        ("allow if data.p == {}", "data.p.allow -> data.p.allow"),
        ("allow if b.x\nb[k] := v if { some k in [1]; v := allow }", "data.p.allow -> data.p.b -> data.p.allow"),
        ("allow if b\nb contains x if { some x in [1]; allow }", "data.p.allow -> data.p.b -> data.p.allow"),
        ("allow if false\nelse := allow", "data.p.allow -> data.p.allow"),
        ("import data.p.b as c\nallow if c\nb if allow", "data.p.allow -> data.p.b -> data.p.allow"),
        // In code that no decision reaches.
        ("allow := true\nb if c\nc if b", "data.p.b -> data.p.c -> data.p.b"),
        ("allow := true\nf(x) if f(x)", "data.p.f -> data.p.f"),
    ] {
        let errors = errors(&source(module));
        assert_eq!(errors.len(), 1, "{module}: {errors:?}");
        assert!(errors[0].contains(&format!("is recursive ({cycle})")), "{module}: {errors:?}");
    }
}

#[test]
fn recursion_across_modules() {
    let mut source = source("import data.q\nallow if q.f(1)\ng(x) if data.q.f(x)");
    let text = "package q\n\nf(x) if data.p.g(x)\n".into();
    source.modules.push(Text { path: "q.rego".into(), text });
    let recursive = "`data.p.g` is recursive (data.p.g -> data.q.f -> data.p.g); a policy may not call itself";
    assert!(
        errors(&source)[0].ends_with(recursive)
            || errors(&source)[0]
                .ends_with("`data.q.f` is recursive (data.q.f -> data.p.g -> data.q.f); a policy may not call itself"),
        "{:?}",
        errors(&source)
    );
}

#[test]
fn a_name_bound_in_the_rule_is_no_recursion() {
    assert_eq!(decide("allow if { user := 1; user == 1 }\nuser := 1 if allow", "{}"), Decision::Allow);
    assert_eq!(decide("allow if f(1)\nf(allow) if allow == 1", "{}"), Decision::Allow);
}

#[test]
fn a_long_chain() {
    let chain = |length: usize| {
        let rules = (1..length).map(|n| format!("r{n} if r{}", n + 1)).collect::<Vec<_>>().join("\n");
        format!("allow if r1\n{rules}\nr{length} := true")
    };
    assert_eq!(decide(&chain(250), "{}"), Decision::Allow);
    assert!(errors(&source(&chain(257)))[0].contains("starts a chain of more than 256 rules"));
}

#[test]
fn the_deepest_policy_that_loads_fits_the_stack() {
    let nested = |call: &str| format!("count({}{call}{}) == 1", "[1 | count(".repeat(7), ") == 1]".repeat(7));
    let links = (1..254).map(|n| format!("f{n}(x) := [1] if {}", nested(&format!("f{}(x)", n + 1))));
    let chain = links.collect::<Vec<_>>().join("\n");
    for more in ["true", "r > 0"] {
        let module = format!(
            "allow if {{ count(f1(1)) == 1; {more} }}\n{chain}\nf254(x) := [1]\nr := 1 if input.arguments.n\nr := 2 if not input.arguments.n"
        );
        assert_eq!(decide(&module, "{}"), Decision::Allow, "{more}");
    }
}

#[test]
fn built_ins() {
    let never = "is never available in a policy: a decision depends on nothing but its input and data";
    for (call, name) in [
        ("http.send({\"url\": \"x\"})", "http.send"),
        ("time.now_ns() > 0", "time.now_ns"),
        ("rand.intn(\"x\", 2) == 0", "rand.intn"),
        ("uuid.rfc4122(\"x\") != \"\"", "uuid.rfc4122"),
        ("opa.runtime() == {}", "opa.runtime"),
        ("net.lookup_ip_addr(\"x\") == {}", "net.lookup_ip_addr"),
    ] {
        check(&format!("allow if {call}"), &format!("authz.rego:2: `{name}` {never}"));
        let mut dangerous = source("allow := true");
        dangerous.danger_builtins = vec![name.into()];
        assert_eq!(errors(&dangerous), [format!("policy.danger_builtins: `{name}` {never}")]);
        // Wherever it stands, reached or not.
        check(
            &format!("allow := true\nx if {{ some y in [z | z := 1; {call}]; y }}"),
            &format!("authz.rego:3: `{name}` {never}"),
        );
    }
    check("allow if nothing.like(1)", "authz.rego:2: `nothing.like` is no built-in and no function of this policy");
    check(
        "allow if __builtin_host_await(1, 2)",
        "authz.rego:2: `__builtin_host_await` is no built-in and no function of this policy",
    );
    check(
        "allow if x := print(1)",
        "authz.rego:2: `print` prints nothing here and has no value; use it only as a statement of its own",
    );
    let not_linear = "may take time or space out of proportion to its input; name it in `policy.danger_builtins` to use it all the same";
    check("allow if to_number(\"1\") == 1", &format!("authz.rego:2: `to_number` {not_linear}"));
    let not_literal = "is linear only where its argument 1 is a literal; write it there, or name the built-in in `policy.danger_builtins`";
    check("allow if regex.match(input.arguments.x, \"a\")", &format!("authz.rego:2: `regex.match` {not_literal}"));
    assert_eq!(decide("allow if regex.match(`^a+$`, input.arguments.x)", r#"{"x": "aa"}"#), Decision::Allow);
    let mut dangerous = source("allow if { to_number(\"1\") == 1; regex.match(input.arguments.x, \"a\") }");
    dangerous.danger_builtins = vec!["to_number".into(), "regex.match".into()];
    assert_eq!(wait(load(&dangerous).decide(question(r#"{"x": "a"}"#), soon())), Decision::Allow);
    assert_eq!(
        load(&dangerous).summary(),
        "authz.rego: data.p.allow, 1 rules, dangerous built-ins: to_number, regex.match"
    );
}

#[test]
fn too_many_arguments() {
    let many = "authz.rego:2: `f` is called with more than 8 arguments; pass an object instead";
    check("allow if f(1, 2, 3, 4, 5, 6, 7, 8, 9)\nf(a, b, c, d, e, f, g, h, i) if i == 9", many);
}

#[test]
fn old_and_broken_syntax() {
    check("allow { true }", "authz.rego:2: `if` keyword is required before rule body");
    check("allow := true\nb := ]", "authz.rego:3: expecting expression");
    let errors = errors(&source("import future.keywords\nallow[x] { x := 1 }"));
    assert!(errors[0].starts_with("authz.rego:3: "), "{errors:?}");
}

#[test]
fn with_where_a_decision_reaches_it() {
    let reached = "authz.rego:2: the `with` keyword is not supported by the compiler yet";
    check("allow if b with input as {}\nb := true", reached);
    assert_eq!(decide("allow := true\ntest_allow if allow with input as {}", "{}"), Decision::Allow);
}

#[test]
fn deep_nesting_before_the_parser_sees_it() {
    for open in ["(", "[", "{", "[{("] {
        let errors = errors(&source(&format!("allow := {}", open.repeat(200_000))));
        assert_eq!(
            errors,
            ["authz.rego:2: brackets are nested more than 16 deep; split the expression over several rules"]
        );
    }
    let operators = "an expression has more than 512 operators; split the expression over several rules";
    for link in ["1 + ", "1 +\n", "- ", "not ", "x.", "x == y | ", "x[0]"] {
        let errors = errors(&source(&format!("allow := {}1", link.repeat(100_000))));
        assert!(errors[0].ends_with(operators), "{link}: {errors:?}");
    }
    let statements = (0..2_000).map(|n| format!("x{n} := {n} + 1 # (((")).collect::<Vec<_>>().join("\n");
    assert_eq!(decide(&format!("{statements}\nallow := x1 == 2"), "{}"), Decision::Allow);
}

#[test]
fn decisions_that_are_none() {
    let reference = |reference: &str| PolicySource {
        execute: reference.into(),
        ..source("allow := true\nf(x) := x\ndefault only := true")
    };
    for text in [
        "data.p[_]",
        "data.p[x]",
        "input.allow",
        "p.allow",
        "data",
        "data.p",
        "data.p.allow == true",
        "",
        "data..allow",
    ] {
        let expected = format!("policy.execute: `{text}` is not one ground reference; write it as `data.package.rule`");
        assert_eq!(errors(&reference(text)), [expected]);
    }
    let missing = "policy.execute: no module defines `data.q.allow`; did you mean `data.p.allow`?";
    assert_eq!(errors(&reference("data.q.allow")), [missing]);
    assert_eq!(errors(&reference("data.p.nothing")), ["policy.execute: no module defines `data.p.nothing`"]);
    assert_eq!(
        errors(&reference("data.p.f")),
        ["policy.execute: `data.p.f` is a function; a decision takes no arguments"]
    );
    assert_eq!(wait(load(&reference("data.p[\"allow\"]")).decide(question("{}"), soon())), Decision::Allow);
    assert_eq!(wait(load(&reference("data.p.only")).decide(question("{}"), soon())), Decision::Allow);
    let mut all = reference("data.q.a");
    all.discover = Some("data.q.b".into());
    all.reason = Some("x".into());
    assert_eq!(errors(&all).len(), 3);
}

#[test]
fn defaults_that_are_computed() {
    let computed = "authz.rego:2: the default of `data.p.allow` is no constant; move the expression into a rule";
    check("default allow := [x | x := 1]", computed);
    assert_eq!(decide("default allow := true", "{}"), Decision::Allow);
}

#[test]
fn data_documents() {
    let with = |documents: &[(&str, &str)]| PolicySource {
        data: documents.iter().map(|(path, text)| Text { path: path.into(), text: (*text).into() }).collect(),
        ..source("allow := true")
    };
    let twice = "b.json: `data.x.y` is already in a.json; a data document may not replace another's value";
    assert_eq!(errors(&with(&[("a.json", r#"{"x": {"y": 1}}"#), ("b.json", r#"{"x": {"y": 1}}"#)])), [twice]);
    assert_eq!(errors(&with(&[("a.json", r#"{"x": {"y": 1}}"#), ("b.json", r#"{"x": {"y": {"z": 1}}}"#)])), [twice]);
    assert_eq!(errors(&with(&[("a.json", "{\n\"x\": 1,\n\"x\": 2}")])), ["a.json:3: the same key twice in one object"]);
    assert_eq!(errors(&with(&[("a.json", "[1]")])), ["a.json:1: a data document must be a JSON object"]);
    assert_eq!(errors(&with(&[("a.json", "{\n\"x\": }")])), ["a.json:2: not valid JSON"]);
    assert!(
        errors(&with(&[("a.json", r#"{"p": {"allow": false}}"#)]))[0]
            .starts_with("a data document and a rule define the same path: ")
    );
    assert!(matches!(Policy::load(&with(&[("a.json", r#"{"n": 1e400}"#)])), Err(errors) if errors.len() == 1));
}

#[test]
fn no_module_and_no_file() {
    assert_eq!(errors(&PolicySource::default()), ["no policy module is given; list at least one in `policy.modules`"]);
    let unread = PolicySource::read(&["/nowhere/a.rego".into()], &["/nowhere/b.json".into()], "data.p.allow".into());
    assert_eq!(texts(&unread.unwrap_err()), ["no file at `/nowhere/a.rego`", "no file at `/nowhere/b.json`",]);
}

#[test]
fn faults_of_one_load_come_together() {
    let mut faulty = source("allow if { http.send({}); to_number(1) }\ndefault b := c");
    faulty.execute = "data.p.x".into();
    faulty.data = vec![Text { path: "a.json".into(), text: "1".into() }];
    assert_eq!(errors(&faulty).len(), 5);
}

#[test]
fn a_second_default_in_whichever_file() {
    let mut two = source("default allow := true");
    let text = "package p\n\n\ndefault allow := false\n".into();
    two.modules.push(Text { path: "other.rego".into(), text });
    let told = "other.rego:4: `data.p.allow` has a default already, at authz.rego:2; a rule has one";
    assert_eq!(errors(&two), [told]);
    check(
        "default allow := false\ndefault allow := false",
        "authz.rego:3: `data.p.allow` has a default already, at authz.rego:2; a rule has one",
    );
    assert_eq!(decide("default allow := false\nallow if b\ndefault b := true", "{}"), Decision::Allow);
}
