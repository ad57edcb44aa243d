//! What a catalog refuses, what it says then, and what it holds.

use serde_json::json;

use super::{Catalog, CatalogFault, MAX_CAPABILITIES, Registration};
use crate::capability::search::SearchResponse;
use crate::capability::{Hints, Id};
use crate::limits::Limits;

fn registration(name: &str) -> Registration {
    Registration {
        plugin: "sample".into(),
        library: "plugins/libsample.so".into(),
        name: name.to_owned(),
        id: None,
        summary: format!("Summary of {name}."),
        description: None,
        search_terms: Vec::new(),
        hints: Hints::default(),
        input: json!({ "type": "object", "properties": { "key": { "type": "string" } }, "required": ["key"] })
            .to_string()
            .into(),
        output: json!({ "type": "object" }).to_string().into(),
    }
}

/// What everybody finds.
fn search(catalog: &Catalog, query: &str, limits: &Limits) -> SearchResponse {
    catalog.matching(query, limits).unwrap().response(limits)
}

fn catalog(names: &[&str]) -> Catalog {
    Catalog::build(names.iter().map(|name| registration(name)).collect(), &[]).unwrap()
}

fn faults(registrations: Vec<Registration>, disabled: &[(String, Id)]) -> Vec<String> {
    Catalog::build(registrations, disabled).unwrap_err().iter().map(CatalogFault::to_string).collect()
}

#[track_caller]
fn check_fault(broken: Registration, expected: &str) {
    let text = format!("capability `{}` of plugin `sample` (plugins/libsample.so): {expected}", broken.name);
    assert_eq!(faults(vec![registration("sample.sound"), broken], &[]), [text]);
}

#[test]
fn a_name_has_two_or_more_identifiers_and_a_root_of_its_own() {
    let needed = "is no capability name: two or more identifiers joined by dots are needed";
    check_fault(registration("lookup"), &format!("`lookup` {needed}"));
    check_fault(registration("sample.f-r"), &format!("`sample.f-r` {needed}"));
    let reserved = "`sample.for` is no capability name: `for` is a reserved word of the language";
    check_fault(registration("sample.for"), reserved);
    let reserved = "is a name of the language, so no capability's name may begin with it";
    check_fault(registration("json.lookup"), &format!("`json` {reserved}"));
    check_fault(registration("main.lookup"), &format!("`main` {reserved}"));
}

#[test]
fn a_collision_names_both_sides() {
    check_fault(
        registration("sample.sound"),
        "the name is also that of capability `sample.sound` of plugin `sample` (plugins/libsample.so)",
    );
    check_fault(
        Registration { id: Some("sample.sound".to_owned()), ..registration("sample.other") },
        "the ID `sample.sound` is also that of capability `sample.sound` of plugin `sample` (plugins/libsample.so)",
    );
    let other = Registration { plugin: "other".into(), library: "o.so".into(), ..registration("sample.sound.deep.er") };
    assert_eq!(
        faults(vec![registration("sample.sound"), other], &[]),
        ["capability `sample.sound` of plugin `sample` (plugins/libsample.so): the name is also the namespace of \
          capability `sample.sound.deep.er` of plugin `other` (o.so)"]
    );
}

#[test]
fn texts_have_bounds() {
    let base = || registration("sample.broken");
    check_fault(Registration { summary: " \n".to_owned(), ..base() }, "the summary is empty");
    check_fault(
        Registration { summary: "x".repeat(1_025), ..base() },
        "the summary has 1025 bytes, and 1024 are the most",
    );
    check_fault(
        Registration { description: Some("x".repeat(16_385)), ..base() },
        "the description has 16385 bytes, and 16384 are the most",
    );
    check_fault(
        Registration { search_terms: vec!["x".to_owned(); 17], ..base() },
        "there are 17 search terms, and 16 are the most",
    );
    check_fault(
        Registration { search_terms: vec!["x".repeat(512), "x".repeat(513)], ..base() },
        "the search terms have 1025 bytes, and 1024 are the most",
    );
    let id = "an ID is 1 to 256 bytes without white space or control characters";
    check_fault(Registration { id: Some(String::new()), ..base() }, id);
    check_fault(Registration { id: Some("a b".to_owned()), ..base() }, id);
}

#[test]
fn a_search_result_fits_an_answer() {
    let properties: serde_json::Map<_, _> =
        (0..5_000).map(|number| (format!("property_number_{number}"), json!({ "type": "string" }))).collect();
    let broken = Registration {
        input: json!({ "type": "object", "properties": properties }).to_string().into(),
        ..registration("sample.broken")
    };
    let [fault] = &faults(vec![broken], &[])[..] else { panic!("one fault is due") };
    assert!(fault.contains("do not fit into an answer of 65536"), "{fault}");
}

#[test]
fn faults_are_reported_together() {
    let broken = |name: &str| Registration {
        summary: String::new(),
        input: json!({ "type": "string" }).to_string().into(),
        output: "7".into(),
        ..registration(name)
    };
    let faults = faults(
        vec![broken("one"), registration("sample.sound"), broken("sample.sound")],
        &[("catalog.disabled[1]".to_owned(), Id::new("sample.sond"))],
    );
    assert_eq!(faults.len(), 1 + 1 + 4 + 3, "{faults:#?}");
    assert!(faults.iter().any(|fault| fault.contains("capability `one`") && fault.contains("input schema: ")));
    assert!(faults.iter().any(|fault| fault.contains("capability `one`") && fault.contains("output schema: ")));
}

#[test]
fn an_unknown_disabled_id_is_refused_with_the_nearest_known() {
    let check = |id: &str, expected: &str| {
        let registrations = vec![registration("sample.entry.delete"), registration("sample.entry.put")];
        let disabled = [("catalog.disabled[0]".to_owned(), Id::new(id))];
        assert_eq!(faults(registrations, &disabled), [expected]);
    };
    check(
        "sample.entry.delte",
        "catalog.disabled[0]: no capability has the ID `sample.entry.delte`; did you mean `sample.entry.delete`?",
    );
    check("nothing.like.it", "catalog.disabled[0]: no capability has the ID `nothing.like.it`");
}

#[test]
fn a_disabled_capability_is_nowhere_but_in_the_list() {
    let disabled = [("catalog.disabled[0]".to_owned(), Id::new("sample.entry.b"))];
    let registrations = ["sample.a", "sample.b", "sample.c"]
        .map(|name| Registration { id: Some(name.replace("sample.", "sample.entry.")), ..registration(name) });
    let catalog = Catalog::build(registrations.into(), &disabled).unwrap();
    assert_eq!(catalog.iter().map(|capability| capability.name.as_str()).collect::<Vec<_>>(), ["sample.a", "sample.c"]);
    assert_eq!(catalog.len(), 2);
    assert!(catalog.get("sample.b").is_none());
    assert!(catalog.by_id("sample.entry.b").is_none());
    assert!(catalog.describe("sample.b").is_none());
    assert_eq!(search(&catalog, "sample b", &Limits::default()).total, 0);
    assert_eq!(catalog.disabled(), [Id::new("sample.entry.b")]);
}

#[test]
fn a_capability_is_found_by_name_and_by_id() {
    let mut registrations: Vec<_> = ["z.one", "y.two", "x.three"].map(registration).into();
    registrations[0].id = Some("a".to_owned());
    let catalog = Catalog::build(registrations, &[]).unwrap();
    assert_eq!(catalog.get("z.one").unwrap().id.as_str(), "a");
    assert_eq!(catalog.by_id("a").unwrap().name.as_str(), "z.one");
    assert_eq!(catalog.by_id("y.two").unwrap().name.as_str(), "y.two");
    assert!(catalog.by_id("z.one").is_none());
}

#[test]
fn the_summary_stands_in_for_an_empty_description() {
    let described = Registration { description: Some("More.".to_owned()), ..registration("sample.b") };
    let catalog = Catalog::build(vec![registration("sample.a"), described], &[]).unwrap();
    assert_eq!(catalog.describe("sample.a").unwrap().description, "Summary of sample.a.");
    assert_eq!(catalog.describe("sample.b").unwrap().description, "More.");
}

#[test]
fn the_number_of_results_is_bounded_and_the_rest_counted() {
    let names: Vec<String> = (0..25).map(|number| format!("sample.entry_{number:02}")).collect();
    let catalog = catalog(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let most = |most| {
        let limits = Limits { max_search_results: most, ..Limits::default() };
        let response = search(&catalog, "entry", &limits);
        (response.results.len(), response.truncated, response.total)
    };
    assert_eq!(most(24), (24, true, 25));
    assert_eq!(most(25), (25, false, 25));
    assert_eq!(most(26), (25, false, 25));
}

#[test]
fn an_answer_fits_its_bound_in_bytes() {
    let registrations = (0..100)
        .map(|number| Registration {
            summary: format!("Entry. {}", "\u{1}".repeat(1_000)),
            ..registration(&format!("sample.entry_{number:02}"))
        })
        .collect();
    let catalog = Catalog::build(registrations, &[]).unwrap();
    let limits = Limits { max_search_results: 100, ..Limits::default() };
    let response = search(&catalog, "entry", &limits);
    let bytes = serde_json::to_string(&response).unwrap().len();
    assert!((60_000..=65_536).contains(&bytes), "{bytes}");
    assert_eq!((response.results.len(), response.truncated, response.total), (10, true, 100));
}

#[test]
fn a_caller_sees_what_a_catalog_without_the_hidden_would_show() {
    let all = catalog(&["sample.entry_a", "sample.entry_b.entry", "sample.entry_c"]);
    let without = catalog(&["sample.entry_a", "sample.entry_c"]);
    let limits = Limits::default();
    let mut matches = all.matching("entry", &limits).unwrap();
    let names: Vec<_> = matches.capabilities().map(|capability| capability.name.to_string()).collect();
    assert_eq!(names, ["sample.entry_a", "sample.entry_b.entry", "sample.entry_c"]);
    matches.retain(&names.iter().map(|name| name != "sample.entry_b.entry").collect::<Vec<_>>());
    assert_eq!(matches.response(&limits), search(&without, "entry", &limits));
}

#[test]
fn nothing_is_found_where_nothing_matches() {
    let response = search(&catalog(&["sample.entry"]), "zebra", &Limits::default());
    assert_eq!((response.results.len(), response.truncated, response.total), (0, false, 0));
}

#[test]
fn twenty_thousand_capabilities_are_the_most() {
    let many = |count: usize| (0..count).map(|number| registration(&format!("sample.entry_{number}"))).collect();
    assert_eq!(Catalog::build(many(MAX_CAPABILITIES), &[]).unwrap().len(), MAX_CAPABILITIES);
    assert_eq!(faults(many(MAX_CAPABILITIES + 1), &[]), ["20001 capabilities are registered, and 20000 are the most"]);
}

#[test]
fn every_free_name_of_a_program_is_reserved() {
    let free = crate::program::Language::reserved_names();
    let open: Vec<_> = free.iter().filter(|name| !super::RESERVED_ROOTS.contains(&name.as_str())).collect();
    assert!(open.is_empty() && !free.is_empty(), "{open:?}");
}
