//! What the tools say of themselves, and what they take.

use super::*;

fn listed() -> Vec<Json> {
    definitions(65_536).iter().map(|tool| serde_json::to_value(tool).unwrap()).collect()
}

fn arguments(text: &str) -> Option<JsonObject> {
    Some(serde_json::from_str(text).unwrap())
}

#[track_caller]
fn refused(tool: Tool, text: &str, expected: &str) {
    assert_eq!(tool.read(arguments(text)).unwrap_err().to_string(), expected);
}

#[test]
fn the_three_tools_come_in_order() {
    let names: Vec<_> = listed().iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, ["search_api", "describe_api", "execute"]);
}

#[test]
fn descriptions_stay_under_what_clients_cut() {
    for tool in Tool::ALL {
        assert!(tool.description().chars().count() < 2048, "{}", tool.name());
    }
}

#[test]
fn the_three_tools_cost_a_model_less_than_a_thousand_tokens() {
    let text = serde_json::to_string(&definitions(65_536)).unwrap();
    let tokens = tiktoken_rs::o200k_base().unwrap().encode_ordinary(&text).len();
    assert!(tokens < 1000, "{tokens} tokens");
}

#[test]
fn inputs_are_one_required_string_and_nothing_else() {
    for tool in Tool::ALL {
        let expected = json!({
            "type": "object",
            "properties": { tool.argument(): { "type": "string" } },
            "required": [tool.argument()],
            "additionalProperties": false,
        });
        assert_eq!(tool.input(), expected);
    }
}

#[test]
fn no_schema_has_a_type_array() {
    fn check(value: &Json) {
        match value {
            Json::Object(members) => {
                assert!(!members.get("type").is_some_and(Json::is_array), "{value}");
                members.values().for_each(check);
            }
            Json::Array(items) => items.iter().for_each(check),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
        }
    }
    listed().iter().for_each(check);
}

#[test]
fn annotations_say_what_a_tool_may_do() {
    let annotations = |index: usize| listed()[index]["annotations"].clone();
    assert_eq!(annotations(0), json!({ "readOnlyHint": true, "openWorldHint": false }));
    assert_eq!(annotations(1), annotations(0));
    assert_eq!(annotations(2), json!({ "readOnlyHint": false, "destructiveHint": true, "openWorldHint": true }));
}

#[test]
fn the_result_hint_follows_the_budget_up_to_its_bound() {
    let hint = |bytes| serde_json::to_value(&definitions(bytes)[2]).unwrap()["_meta"].clone();
    assert_eq!(hint(65_536), json!({ "anthropic/maxResultSizeChars": 65_547 }));
    assert_eq!(hint(usize::MAX), json!({ "anthropic/maxResultSizeChars": 500_000 }));
}

#[test]
fn the_one_argument_is_read() {
    assert_eq!(Tool::Execute.read(arguments(r#"{"source":"x"}"#)), Ok("x".to_owned()));
}

#[test]
fn malformed_arguments_name_the_field() {
    assert_eq!(Tool::SearchApi.read(None), Err(ArgumentFault::Missing("query")));
    refused(Tool::DescribeApi, "{}", "missing required argument \"name\"");
    refused(Tool::Execute, r#"{"source":1}"#, "argument \"source\" must be a string");
    refused(Tool::Execute, r#"{"source":null}"#, "argument \"source\" must be a string");
    let unknown = "unknown argument \"subject\"; the only argument is \"source\"";
    refused(Tool::Execute, r#"{"source":"x","subject":"root"}"#, unknown);
    refused(Tool::Execute, r#"{"subject":"root"}"#, unknown);
}
