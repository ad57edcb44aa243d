//! Which hosts and origins pass.

use http::Request;

use super::*;

fn guard(listener: &str) -> Guard {
    Guard::new(Some(listener.parse().unwrap()), Names::default())
}

fn named() -> Guard {
    let names = Names {
        public: Some(Origin::of_url("https://mcp.example.com/mcp").unwrap()),
        allowed_hosts: vec!["mcp.internal".parse().unwrap(), "gw.internal:8443".parse().unwrap()],
        trusted_origins: ["https://console.example.com", "vscode-webview://abc"]
            .map(|text| text.parse().unwrap())
            .to_vec(),
    };
    Guard::new(Some("10.0.0.7:8787".parse().unwrap()), names)
}

fn check(guard: &Guard, headers: &[(&str, &str)]) -> Result<(), Forbidden> {
    let mut request = Request::builder().uri("/mcp");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    guard.check(&request.body(()).unwrap().into_parts().0)
}

#[track_caller]
fn hosts(guard: &Guard, admitted: &[&str], refused: &[&str]) {
    for host in admitted {
        assert_eq!(check(guard, &[("host", host)]), Ok(()), "{host}");
    }
    for host in refused {
        assert_eq!(check(guard, &[("host", host)]), Err(Forbidden::Host), "{host}");
    }
}

#[track_caller]
fn origins(guard: &Guard, host: &str, admitted: &[&str], refused: &[&str]) {
    for origin in admitted {
        assert_eq!(check(guard, &[("host", host), ("origin", origin)]), Ok(()), "{origin}");
    }
    for origin in refused {
        assert_eq!(check(guard, &[("host", host), ("origin", origin)]), Err(Forbidden::Origin), "{origin}");
    }
}

#[test]
fn a_loopback_listener_has_its_own_address_and_localhost_on_its_port() {
    hosts(
        &guard("127.0.0.1:8787"),
        &["127.0.0.1:8787", "localhost:8787", "LOCALHOST:8787"],
        &["127.0.0.1", "localhost", "localhost:80", "[::1]:8787", "evil.example.com", "localhost.evil.com:8787"],
    );
    hosts(&guard("[::1]:8787"), &["[::1]:8787", "[0:0::1]:8787", "localhost:8787"], &["::1", "127.0.0.1:8787"]);
}

#[test]
fn an_unspecified_listener_has_loopback_names_on_any_port_and_no_others() {
    let names = ["localhost", "localhost:9000", "127.0.0.1:8787", "[::1]"];
    hosts(&guard("0.0.0.0:8787"), &names, &["0.0.0.0:8787", "10.0.0.7:8787", "evil.example.com:8787"]);
    hosts(&guard("[::]:8787"), &names, &["[::]:8787"]);
}

#[test]
fn a_socket_has_loopback_names_and_no_origins() {
    let socket = Guard::new(None, Names::default());
    hosts(&socket, &["localhost", "localhost:9000", "127.0.0.1", "[::1]"], &["evil.example.com", "unix"]);
    origins(&socket, "localhost", &[], &["http://localhost", "null"]);
}

#[test]
fn configured_names_are_hosts() {
    hosts(
        &named(),
        &[
            "10.0.0.7:8787",
            "mcp.example.com",
            "mcp.example.com:443",
            "mcp.internal",
            "mcp.internal:1",
            "gw.internal:8443",
        ],
        &["10.0.0.7", "mcp.example.com:80", "gw.internal", "gw.internal:443", "localhost:8787", "127.0.0.1:8787"],
    );
}

#[test]
fn a_host_that_is_none_is_refused() {
    let odd =
        ["", " ", "localhost:8787.", "localhost:+8787", "a@localhost:8787", "localhost:8787:1", "[::1", "[::1]8787"];
    hosts(&guard("127.0.0.1:8787"), &[], &odd);
    assert_eq!(check(&guard("127.0.0.1:8787"), &[]), Err(Forbidden::Host));
}

#[test]
fn every_host_that_a_request_names_counts() {
    let guard = guard("127.0.0.1:8787");
    let twice = [("host", "127.0.0.1:8787"), ("host", "127.0.0.1:8787")];
    assert_eq!(check(&guard, &twice), Err(Forbidden::Host));
    let target = |target: &str| {
        let request = Request::builder().uri(target).header("host", "127.0.0.1:8787").body(()).unwrap();
        guard.check(&request.into_parts().0)
    };
    assert_eq!(target("http://127.0.0.1:8787/mcp"), Ok(()));
    assert_eq!(target("http://evil.example.com/mcp"), Err(Forbidden::Host));
    let only_target = Request::builder().uri("http://127.0.0.1:8787/mcp").body(()).unwrap();
    assert_eq!(guard.check(&only_target.into_parts().0), Ok(()));
}

#[test]
fn an_origin_is_the_servers_own_or_trusted() {
    origins(
        &guard("127.0.0.1:8787"),
        "127.0.0.1:8787",
        &["http://127.0.0.1:8787", "http://localhost:8787", "http://[::1]:8787", "HTTP://LOCALHOST:8787"],
        &[
            "https://127.0.0.1:8787",
            "http://127.0.0.1",
            "http://127.0.0.1:1",
            "http://evil.example.com",
            "null",
            "",
            "file://",
        ],
    );
    origins(
        &named(),
        "mcp.internal",
        &[
            "https://mcp.example.com",
            "https://mcp.example.com:443",
            "https://console.example.com",
            "vscode-webview://abc",
        ],
        &[
            "vscode-webview://abd",
            "http://console.example.com",
            "https://console.example.com:8443",
            "http://10.0.0.7:8787",
            "http://mcp.internal",
            "https://console.example.com/",
            "https://console.example.com.evil.com",
            "http://localhost:8787",
        ],
    );
}

#[test]
fn origins_are_compared_by_scheme_host_and_port() {
    let origin = |text: &str| text.parse::<Origin>();
    let same = [("https://a.example", "HTTPS://A.example:443"), ("http://[::1]", "http://[::1]:80")];
    for (one, other) in same {
        assert_eq!(origin(one).unwrap(), origin(other).unwrap());
    }
    let different = [("https://a.example", "http://a.example"), ("http://a.example", "http://a.example:8080")];
    for (one, other) in different {
        assert_ne!(origin(one).unwrap(), origin(other).unwrap());
    }
    for malformed in ["null", "", "a.example", "https://", "https://u@a.example", "https://a.example:x", "://a"] {
        assert_eq!(origin(malformed).ok(), None, "{malformed}");
    }
}

#[test]
fn two_origins_are_refused() {
    let own = ("origin", "http://localhost:8787");
    let result = check(&guard("127.0.0.1:8787"), &[("host", "127.0.0.1:8787"), own, own]);
    assert_eq!(result, Err(Forbidden::Origin));
}

#[test]
fn a_urls_origin_leaves_out_its_path() {
    let origin = |url| Origin::of_url(url).map(|origin| origin.to_string());
    assert_eq!(origin("https://mcp.example.com/mcp").unwrap(), "https://mcp.example.com");
    assert_eq!(origin("http://[::1]:8787?x#y").unwrap(), "http://[::1]:8787");
    assert!(origin("mcp.example.com/mcp").is_err());
    assert!(origin("https://user@mcp.example.com/").is_err());
}
