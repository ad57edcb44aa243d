//! Calls that do not end when they should.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use codemode_plugin_api::prelude::*;

use crate::Faulty;

/// The end of every hang.
const BOUND: Duration = Duration::from_secs(60);

/// How often one that honours its signal looks.
const LOOK: Duration = Duration::from_millis(5);

pub(crate) fn offer(c: &mut Capabilities<Faulty>) {
    c.add("faulty.hang", hang).summary("Sleep for a minute, whoever cancels.").read_only();
    c.add_async("faulty.hang_async", hang_async).summary("Hold a runtime's thread, whoever cancels.").read_only();
    c.add("faulty.wait", wait).summary("Sleep until cancelled.").read_only();
    c.add_async("faulty.wait_async", wait_async).summary("Wait until cancelled, in an async handler.").read_only();
    c.add("faulty.sleep", sleep).summary("Sleep for a while.").read_only();
    c.add("faulty.crowd", crowd).summary("Sleep for a while, and tell how many did so at once at most.").read_only();
    c.add_async("faulty.sleep_async", sleep_async).summary("Wait for a while, in an async handler.").read_only();
}

pub(crate) fn until_a_minute_has_passed() {
    std::thread::sleep(BOUND);
}

fn hang(_: &Faulty, _: &Call, _: NoArguments) -> Result<(), CapabilityError> {
    until_a_minute_has_passed();
    Ok(())
}

async fn hang_async(_: &Faulty, _: &Call, _: NoArguments) -> Result<(), CapabilityError> {
    until_a_minute_has_passed();
    Ok(())
}

fn wait(_: &Faulty, call: &Call, _: NoArguments) -> Result<(), CapabilityError> {
    let end = Instant::now() + BOUND;
    while !call.is_cancelled() && Instant::now() < end {
        std::thread::sleep(LOOK);
    }
    Err(CapabilityError::private("cancelled"))
}

async fn wait_async(_: &Faulty, call: &Call, _: NoArguments) -> Result<(), CapabilityError> {
    tokio::select! {
        () = call.cancelled() => {}
        () = tokio::time::sleep(BOUND) => {}
    }
    Err(CapabilityError::private("cancelled"))
}

#[derive(Deserialize, JsonSchema)]
struct Sleep {
    /// How long.
    #[schemars(range(min = 0, max = 60_000))]
    milliseconds: u64,
}

fn sleep(_: &Faulty, _: &Call, input: Sleep) -> Result<u64, CapabilityError> {
    std::thread::sleep(Duration::from_millis(input.milliseconds));
    Ok(input.milliseconds)
}

async fn sleep_async(_: &Faulty, _: &Call, input: Sleep) -> Result<u64, CapabilityError> {
    tokio::time::sleep(Duration::from_millis(input.milliseconds)).await;
    Ok(input.milliseconds)
}

fn crowd(plugin: &Faulty, _: &Call, input: Sleep) -> Result<usize, CapabilityError> {
    let now = plugin.in_crowd.fetch_add(1, Ordering::SeqCst) + 1;
    plugin.largest_crowd.fetch_max(now, Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(input.milliseconds));
    plugin.in_crowd.fetch_sub(1, Ordering::SeqCst);
    Ok(plugin.largest_crowd.load(Ordering::SeqCst))
}
