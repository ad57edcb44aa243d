//! Believes every caller, but for those who ask it to misbehave.

use std::collections::BTreeMap;

use codemode_plugin_api::prelude::*;
use codemode_plugin_api::{Caller, Refusal, RequestHead};

use crate::{Faulty, hang};

pub(crate) fn offer(c: &mut Capabilities<Faulty>) {
    c.authenticates_by(authenticate);
}

/// The bearer token is the subject, or what to do instead of naming one.
#[expect(clippy::panic, reason = "on request")]
fn authenticate(_: &Faulty, head: &RequestHead) -> Result<Caller, Refusal> {
    let groups = BTreeMap::from([("groups", ["ops"])]);
    match head.bearer().ok_or(Refusal::NoCredential)? {
        "refuse" => Err(Refusal::BadCredential),
        "fail" => Err(Refusal::Failed(format!("{head:?} with {}", head.bearer().unwrap_or_default()))),
        "panic" => panic!("asked to panic while authenticating"),
        "hang" => {
            hang::until_a_minute_has_passed();
            Err(Refusal::BadCredential)
        }
        "nobody" => Ok(Caller::new("")),
        "huge" => Ok(Caller::new("a".repeat(257))),
        "list" => Ok(Caller::new("ann").claims(&["ops"])),
        "deep" => Ok(Caller::new("ann").claims(&BTreeMap::from([("deep", deep()?)]))),
        name => Ok(Caller::new(name).claims(&groups)),
    }
}

/// A list in a list, a hundred times.
fn deep() -> Result<Json, Refusal> {
    Ok(["[".repeat(100), "]".repeat(100)].concat().parse()?)
}
