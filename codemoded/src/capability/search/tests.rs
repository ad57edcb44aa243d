//! The rules of words, coverage and order, each by itself.

use super::token::{each_token, query_tokens};
use super::{Document, Index};
use crate::capability::Name;
use crate::failure::Failure;
use crate::limits::{Limit, Limits};

#[track_caller]
fn check_words(text: &str, expected: &str) {
    let mut words = Vec::new();
    each_token(text, |word| words.push(word.to_owned()));
    assert_eq!(words.join(" "), expected, "words of `{text}`");
}

#[test]
fn anything_but_letters_and_digits_separates_words() {
    check_words("create_pull-request.comment", "create pull request comment");
    check_words("\u{2003}caf\u{e9}\u{a0}men\u{fc}\u{3000}\u{65e5}\u{672c} ", "caf\u{e9} men\u{fc} \u{65e5}\u{672c}");
    check_words("a/b\\c\"d'e", "b c d e");
    check_words(" \t\n ", "");
}

#[test]
fn words_split_where_case_and_digits_change() {
    check_words("camelCase", "camel case");
    check_words("HTTPServer", "http server");
    check_words("parseJSONBody", "parse json body");
    check_words("oauth2Token", "oauth 2 token");
    check_words("S3", "s 3");
    check_words("\u{c9}tat\u{c9}conomique", "\u{e9}tat \u{e9}conomique");
}

#[test]
fn an_acronym_in_the_plural_is_one_word() {
    check_words("open PRs", "open pr");
    check_words("IDsToKeep", "id keep");
    check_words("listVMs2", "list vm 2");
    check_words("RSsomething", "r ssomething");
}

#[test]
fn a_plural_s_is_dropped_and_no_other_ending() {
    check_words("issues IDs class address statuses news os", "issue id class address statuse new os");
}

#[test]
fn stop_words_are_dropped() {
    check_words("a an and by for from in of on or the to with", "");
    check_words("The list of THE issues", "list issue");
}

#[test]
fn words_that_differ_by_a_plural_are_one_query_word() {
    let tokens = query_tokens("Issue issues ISSUE label").unwrap();
    assert_eq!(tokens.iter().map(|token| token.stem.as_str()).collect::<Vec<_>>(), ["issue", "label"]);
}

fn words(count: usize) -> String {
    (0..count).map(|number| format!("word{} ", char::from(b'a' + number as u8))).collect()
}

#[test]
fn sixteen_distinct_words_are_the_most() {
    assert_eq!(query_tokens(&words(16)).unwrap().len(), 16);
    assert_eq!(query_tokens(&words(16).repeat(3)).unwrap().len(), 16);
    query_tokens(&words(17)).unwrap_err();
    let index = Index::default();
    assert_eq!(
        index.matching(&words(17), &Limits::default()).unwrap_err(),
        Failure::Limit(Limit::MaxSearchQueryTokens)
    );
}

#[test]
fn a_query_is_measured_in_bytes_before_white_space_is_trimmed() {
    let limits = Limits { max_search_query_bytes: 8, ..Limits::default() };
    assert!(Index::default().matching("  issue ", &limits).is_ok());
    assert_eq!(
        Index::default().matching("  issue  ", &limits).unwrap_err(),
        Failure::Limit(Limit::MaxSearchQueryBytes)
    );
}

/// Name, terms separated by commas, summary, description.
type Row = (&'static str, &'static str, &'static str, &'static str);

#[track_caller]
fn found(catalog: &[Row], query: &str) -> Vec<&'static str> {
    let mut rows = catalog.to_vec();
    rows.sort_unstable();
    let names: Vec<Name> = rows.iter().map(|(name, ..)| Name::new(name).unwrap()).collect();
    let terms: Vec<Vec<String>> =
        rows.iter().map(|(_, terms, ..)| terms.split(',').map(str::to_owned).collect()).collect();
    let index = Index::build(rows.iter().zip(&names).zip(&terms).map(|((row, name), terms)| Document {
        name,
        terms,
        summary: row.2,
        description: row.3,
    }));
    let matches = index.matching(query, &Limits::default()).unwrap();
    matches.ranked(usize::MAX).into_iter().map(|place| rows[place].0).collect()
}

const ISSUES: [Row; 4] = [
    ("issue.create", "open, report bug", "File a new issue.", ""),
    ("issue.comment.create", "reply", "Add a comment to an issue.", ""),
    ("issue.list", "", "List the issues of a repository.", "Filters by label and assignee."),
    ("repository.fork", "copy", "Fork a repository.", ""),
];

#[test]
fn a_word_matches_itself_its_beginning_and_its_plural() {
    assert_eq!(found(&ISSUES, "fork"), ["repository.fork"]);
    assert_eq!(found(&ISSUES, "assign label"), ["issue.list"]);
    assert_eq!(found(&ISSUES, "repos fork"), ["repository.fork"]);
    assert_eq!(found(&ISSUES, "LABELS"), ["issue.list"]);
}

#[test]
fn two_letters_match_only_a_whole_word() {
    assert_eq!(found(&ISSUES, "fo"), [""; 0]);
    assert_eq!(found(&[("vm.list", "", "Machines.", "")], "vms"), ["vm.list"]);
    assert_eq!(found(&[("vmware.list", "", "Machines.", "")], "vms"), [""; 0]);
    assert_eq!(found(&[("dnssec.enable", "", "Sign a zone.", "")], "dns"), ["dnssec.enable"]);
}

#[test]
fn the_inside_of_a_word_matches_nothing() {
    assert_eq!(found(&ISSUES, "pository"), [""; 0]);
}

#[test]
fn one_of_one_and_two_of_two_words_must_match() {
    assert_eq!(found(&ISSUES, "copy"), ["repository.fork"]);
    assert_eq!(found(&ISSUES, "copy zebra"), [""; 0]);
}

#[test]
fn two_thirds_of_three_or_more_words_must_match() {
    assert_eq!(found(&ISSUES, "copy repository zebra"), ["repository.fork"]);
    assert_eq!(found(&ISSUES, "copy zebra gnu"), [""; 0]);
    assert_eq!(found(&ISSUES, "copy fork repository zebra"), ["repository.fork"]);
    assert_eq!(found(&ISSUES, "copy repository zebra gnu"), [""; 0]);
    assert_eq!(found(&ISSUES, "fork copy repository zebra gnu"), [""; 0]);
}

#[test]
fn a_query_without_words_finds_nothing() {
    for blank in ["", "  ", "\u{3000}", "the of", "..."] {
        assert_eq!(found(&ISSUES, blank), [""; 0]);
    }
}

#[test]
fn the_named_document_comes_first() {
    let catalog =
        [("issue.list", "", "List.", ""), ("issue.list_all.issue_list", "issue list, list issue", "Issue list.", "")];
    assert_eq!(found(&catalog, " Issue.LIST ")[0], "issue.list");
    assert_eq!(found(&[("to.the", "", "Stop words.", ""), ("by.the", "", "x", "")], "to.the"), ["to.the"]);
}

#[test]
fn name_outweighs_terms_outweigh_summary_outweighs_description() {
    let catalog = [
        ("d.one", "", "None.", "Has zebra."),
        ("c.two", "", "Has zebra.", ""),
        ("b.three", "zebra", "None.", ""),
        ("a.zebra_with_a_long_name_of_many_words", "", "None.", ""),
    ];
    let expected = ["a.zebra_with_a_long_name_of_many_words", "b.three", "c.two", "d.one"];
    assert_eq!(found(&catalog, "zebra"), expected);
}

#[test]
fn of_near_twins_the_one_that_the_query_covers_comes_first() {
    assert_eq!(found(&[("a.copy_all_parts", "", "x", ""), ("b.copy", "", "x", "")], "copy")[0], "b.copy");
    let catalog = [("a.x", "", "Copy all parts of it.", ""), ("b.x", "", "Copy it.", "")];
    assert_eq!(found(&catalog, "copy")[0], "b.x");
}

#[test]
fn the_word_itself_outweighs_its_beginning() {
    let catalog = [("a.zebrafish", "", "x", ""), ("b.zebra", "", "x", "")];
    assert_eq!(found(&catalog, "zebra"), ["b.zebra", "a.zebrafish"]);
    let catalog = [("a.x", "zebrafish", "x", ""), ("b.x", "zebras", "x", "")];
    assert_eq!(found(&catalog, "zebra"), ["b.x", "a.x"]);
}

#[test]
fn a_rare_word_outweighs_a_common_one() {
    let catalog = [
        ("a.common", "", "x", "shared"),
        ("b.common", "", "x", "shared"),
        ("c.common", "", "x", "shared"),
        ("d.rare", "", "x", "shared"),
    ];
    assert_eq!(found(&catalog, "common rare shared")[0], "d.rare");
}

#[test]
fn equals_stand_in_name_order() {
    let catalog = [("b.same", "", "x", ""), ("c.same", "", "x", ""), ("a.same", "", "x", "")];
    assert_eq!(found(&catalog, "same"), ["a.same", "b.same", "c.same"]);
}

#[test]
fn a_hidden_document_changes_nothing_for_the_rest() {
    let rest = [ISSUES[0], ISSUES[1], ISSUES[3]];
    let mut rows = ISSUES.to_vec();
    rows.sort_unstable();
    let names: Vec<Name> = rows.iter().map(|(name, ..)| Name::new(name).unwrap()).collect();
    let index = Index::build(rows.iter().zip(&names).map(|(row, name)| Document {
        name,
        terms: &[],
        summary: row.2,
        description: row.3,
    }));
    let mut matches = index.matching("issue repository label", &Limits::default()).unwrap();
    let visible: Vec<bool> = matches.documents().map(|place| rows[place].0 != "issue.list").collect();
    matches.retain(&visible);
    let left: Vec<&str> = matches.ranked(usize::MAX).into_iter().map(|place| rows[place].0).collect();
    assert_eq!(left, found(&rest, "issue repository label"));
}

#[test]
fn levels_stand_in_the_order_of_their_strengths() {
    assert!(super::rank::STRENGTHS.is_sorted());
}
