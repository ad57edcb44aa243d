//! The frozen boundary: ABI 1. Nothing in this file may change; what grows is the JSON that passes through it.
//!
//! Both sides carry their own copy of these types. `abi_stable` compares the two layouts field by field when a library
//! is loaded, and it refuses a host that knows more fields than the library: so the root module never gets another
//! field. A later ABI is another root module with another number, which a host may support beside this one. The host
//! reads the number from a plain symbol before any layout is looked at, so that a mismatch is one readable line.
//!
//! What crosses is bytes. Requests, descriptors and errors are JSON documents whose readers ignore the keys that they do
//! not know ([`crate::descriptor`], [`crate::document`]); what a plugin can be asked for is named by operations.

#![expect(unsafe_code, reason = "an instance is a raw pointer whose type only the library knows")]

use abi_stable::StableAbi;
use abi_stable::library::RootModule;
use abi_stable::sabi_types::VersionStrings;
use abi_stable::std_types::{RResult, RSlice, RStr, RVec};

/// The number of this ABI.
pub const ABI: u32 = 1;

/// The symbol of a library's `static u32` that holds the number of the ABI it was built for.
pub const ABI_SYMBOL: &str = "codemode_plugin_abi";

/// The operation that calls a capability; its request is a [`CallRequest`](crate::document::CallRequest).
pub const CALL: &str = "call";

/// The operation that asks an instance whether it can work; its request is an empty JSON object.
pub const HEALTH: &str = "health";

/// JSON: the answer, or an [`ErrorDocument`](crate::document::ErrorDocument).
pub type Answer = RResult<RVec<u8>, RVec<u8>>;

/// An instance, as its library knows it: valid from `create` to `destroy`, from any thread.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct InstanceHandle(pub *const ());

// SAFETY: the pointer is never followed outside the library, which promises to serve an instance from any thread.
unsafe impl Send for InstanceHandle {}
// SAFETY: as above.
unsafe impl Sync for InstanceHandle {}

/// How a library hands back what `start` began.
#[repr(C)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct Completion {
    /// The host's; the library passes it back unread.
    pub context: *mut (),
    /// Called exactly once, from any thread, and never after it was called. Never panics and never blocks.
    pub complete: unsafe extern "C" fn(context: *mut (), answer: Answer),
}

// SAFETY: the host promises that `complete` may be called with `context` from any thread.
unsafe impl Send for Completion {}

/// What a library exports. None of these functions unwinds.
#[repr(C)]
#[derive(Clone, Copy, Debug, StableAbi)]
#[sabi(kind(Prefix(prefix_ref = PluginRootRef, prefix_fields = PluginRootPrefix)))]
pub struct PluginRoot {
    /// The library's [`Descriptor`](crate::descriptor::Descriptor).
    pub describe: extern "C" fn() -> Answer,
    /// Starts an instance with its settings and what the host says of itself
    /// ([`HostDocument`](crate::document::HostDocument)), both JSON.
    pub create: extern "C" fn(settings: RSlice<'_, u8>, host: RSlice<'_, u8>) -> RResult<InstanceHandle, RVec<u8>>,
    /// Runs an operation and returns with its end. The number is unique among the instance's calls.
    ///
    /// Safety: the handle is an instance of this library that is not destroyed while this runs.
    pub invoke: unsafe extern "C" fn(InstanceHandle, RStr<'_>, u64, RSlice<'_, u8>) -> Answer,
    /// Begins an operation and returns at once; what it borrowed may then end. Completed exactly once.
    ///
    /// Safety: as `invoke`, until the completion was called.
    pub start: unsafe extern "C" fn(InstanceHandle, RStr<'_>, u64, RSlice<'_, u8>, Completion),
    /// Says that nobody waits for a call any longer; does not wait for its end.
    ///
    /// Safety: as `invoke`.
    pub cancel: unsafe extern "C" fn(InstanceHandle, u64),
    /// Ends an instance.
    ///
    /// Safety: the handle is an instance of this library with nothing in flight, and is not used again.
    #[sabi(last_prefix_field)]
    pub destroy: unsafe extern "C" fn(InstanceHandle),
}

impl RootModule for PluginRootRef {
    abi_stable::declare_root_module_statics! {PluginRootRef}

    const BASE_NAME: &'static str = "codemode_plugin";
    const NAME: &'static str = "codemode plugin";
    const VERSION_STRINGS: VersionStrings = VersionStrings::new("1.0.0");
}
