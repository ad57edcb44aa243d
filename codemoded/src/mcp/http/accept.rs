//! What a request says of media types: what it sends, and what it takes in return.

use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};

/// What the protocol library wants to see; what the client takes has been noted before.
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// The body is plain JSON.
pub(super) fn sends_json(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let json = types.next().and_then(|value| value.to_str().ok()).is_some_and(|value| {
        let essence = value.split(';').next().unwrap_or_default();
        essence.trim().eq_ignore_ascii_case("application/json")
    });
    json && types.next().is_none() && !headers.contains_key(CONTENT_ENCODING)
}

/// The client takes JSON: it says so, or anything goes, or it does not say.
pub(super) fn takes_json(headers: &HeaderMap) -> bool {
    !headers.contains_key(ACCEPT) || takes(headers, ["application/json", "application/*", "*/*"])
}

/// The client says that it takes a stream of events. Where anything goes, JSON goes too.
pub(super) fn takes_stream(headers: &HeaderMap) -> bool {
    takes(headers, ["text/event-stream"])
}

fn takes<const N: usize>(headers: &HeaderMap, kinds: [&str; N]) -> bool {
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let essence = parts.next().unwrap_or_default();
        kinds.iter().any(|kind| essence.eq_ignore_ascii_case(kind)) && !parts.any(is_zero_weight)
    })
}

/// Makes the header say what the protocol library asks of every client.
pub(super) fn widen(headers: &mut HeaderMap) {
    headers.insert(ACCEPT, BOTH);
}

/// `q=0` in any of its spellings: the client will not have it.
fn is_zero_weight(parameter: &str) -> bool {
    let weight = parameter.split_once('=').filter(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
    weight.is_some_and(|(_, weight)| weight.trim().parse::<f32>().is_ok_and(|weight| weight == 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn takes(value: &str, expected: bool) {
        let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_str(value).unwrap())]);
        assert_eq!(takes_json(&headers), expected, "{value}");
    }

    #[track_caller]
    fn sends(value: &str, expected: bool) {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_str(value).unwrap())]);
        assert_eq!(sends_json(&headers), expected, "{value}");
    }

    #[test]
    fn json_is_taken_where_nothing_excludes_it() {
        assert!(takes_json(&HeaderMap::new()));
        takes("application/json, text/event-stream", true);
        takes("text/html, */*;q=0.1", true);
        takes("Application/JSON;charset=utf-8", true);
        takes("application/*", true);
        takes("text/event-stream", false);
        takes("application/json;q=0, text/event-stream", false);
        takes("application/json; q=0.000", false);
        takes("", false);
    }

    #[test]
    fn only_plain_json_is_sent() {
        sends("application/json", true);
        sends("application/JSON; charset=utf-8", true);
        sends("text/plain", false);
        sends("application/json-patch+json", false);
        assert!(!sends_json(&HeaderMap::new()));
        let packed = [(CONTENT_TYPE, "application/json"), (CONTENT_ENCODING, "gzip")];
        assert!(!sends_json(
            &packed.map(|(name, value)| (name, HeaderValue::from_static(value))).into_iter().collect()
        ));
    }
}
