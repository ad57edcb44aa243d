//! The exported functions behind a plugin, and the macro that exports them. Every one of them catches panics.

#![expect(unsafe_code, reason = "the ABI passes instances as pointers, and a library's header is declared by hand")]

use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use abi_stable::library::{__call_root_module_loader, CheckTypeLayout, RootModuleResult};
use abi_stable::prefix_type::PrefixTypeTrait;
use abi_stable::std_types::{RErr, ROk, RResult, RSlice, RStr, RVec};

use crate::abi::{self, Answer, Completion, InstanceHandle, PluginRoot, PluginRootRef};
use crate::capabilities::{Capabilities, Outcome, Schemas};
use crate::descriptor::Descriptor;
use crate::document::{AUTHENTICATE, ErrorDocument, ErrorKind};
use crate::instance::{Instance, panicked};
use crate::plugin::Plugin;
use crate::schema;

pub use abi_stable::library::LibHeader;

/// Exports a plugin from its library: `export!(Words);`, once in a crate of type `cdylib`.
///
/// The name, version and summary that the daemon shows are the package's, from its `Cargo.toml`. The crate may
/// `#![forbid(unsafe_code)]`. It does not compile with `panic = "abort"`: a panic must end one call, not the daemon.
#[macro_export]
macro_rules! export {
    ($plugin:ty) => {
        #[cfg(panic = "abort")]
        ::core::compile_error!("a plugin needs `panic = \"unwind\"`: with `abort` a panic in a call ends the daemon");

        const _: () = {
            struct Exported;

            impl $crate::export::Package for Exported {
                type Plugin = $plugin;
                const NAME: &'static str = ::core::env!("CARGO_PKG_NAME");
                const VERSION: &'static str = ::core::env!("CARGO_PKG_VERSION");
                const SUMMARY: &'static str = ::core::env!("CARGO_PKG_DESCRIPTION");
            }

            #[unsafe(export_name = "codemode_plugin_abi")]
            pub static ABI: u32 = $crate::abi::ABI;

            #[unsafe(export_name = "_1as_0lib_1header_0root_bmodule_bloader")]
            pub static HEADER: $crate::export::LibHeader = $crate::export::header::<Exported>();
        };
    };
}

/// A plugin and the package that it was built from; implemented by [`export!`](crate::export!).
pub trait Package: 'static {
    /// What the package exports.
    type Plugin: Plugin;
    /// `CARGO_PKG_NAME`
    const NAME: &'static str;
    /// `CARGO_PKG_VERSION`
    const VERSION: &'static str;
    /// `CARGO_PKG_DESCRIPTION`
    const SUMMARY: &'static str;
}

/// What `abi_stable` looks for in a library; its own attribute declares the same, but only in a crate that names
/// `abi_stable` among its dependencies.
pub const fn header<K: Package>() -> LibHeader {
    // SAFETY: the constructor returns a `PluginRootRef`, erased.
    unsafe { LibHeader::from_constructor::<PluginRootRef>(construct::<K>, CheckTypeLayout::Yes) }
}

extern "C" fn construct<K: Package>() -> RootModuleResult {
    __call_root_module_loader(Exports::<K>::root)
}

struct Exports<K>(PhantomData<K>);

impl<K: Package> Exports<K> {
    fn root() -> PluginRootRef {
        let root = PluginRoot {
            describe: Self::describe,
            create: Self::create,
            invoke: Self::invoke,
            start: Self::start,
            cancel: Self::cancel,
            destroy: Self::destroy,
        };
        root.leak_into_prefix()
    }

    extern "C" fn describe() -> Answer {
        answer(guarded(|| {
            serde_json::to_vec(&descriptor::<K>())
                .map_err(|error| ErrorDocument::new(ErrorKind::Private, error.to_string()))
        }))
    }

    extern "C" fn create(settings: RSlice<'_, u8>, host: RSlice<'_, u8>) -> RResult<InstanceHandle, RVec<u8>> {
        match guarded(|| Instance::<K::Plugin>::create(&settings, &host)) {
            Ok(instance) => ROk(InstanceHandle(Arc::into_raw(Arc::new(instance)).cast())),
            Err(error) => RErr(error.to_json().into()),
        }
    }

    unsafe extern "C" fn invoke(
        handle: InstanceHandle,
        operation: RStr<'_>,
        number: u64,
        request: RSlice<'_, u8>,
    ) -> Answer {
        // SAFETY: the host promises a live handle of this library.
        let instance = unsafe { Self::instance(&handle) };
        answer(guarded(|| instance.invoke(&operation, number, &request)))
    }

    unsafe extern "C" fn start(
        handle: InstanceHandle,
        operation: RStr<'_>,
        number: u64,
        request: RSlice<'_, u8>,
        completion: Completion,
    ) {
        // SAFETY: the host promises a live handle of this library.
        let instance = unsafe { Self::instance(&handle) };
        let completer = Completer(Some(completion));
        // What unwinds here drops the completer, which then completes by itself.
        let begun = guarded(|| {
            instance.start(&operation, number, &request, move |outcome| completer.complete(outcome));
            Ok(())
        });
        drop(begun);
    }

    unsafe extern "C" fn cancel(handle: InstanceHandle, number: u64) {
        // SAFETY: the host promises a live handle of this library.
        let instance = unsafe { Self::instance(&handle) };
        // A waker that panics has already said so; the call is cancelled all the same.
        drop(guarded(|| {
            instance.cancel(number);
            Ok(())
        }));
    }

    unsafe extern "C" fn destroy(handle: InstanceHandle) {
        // SAFETY: the pointer is from `Arc::into_raw` in `create`, and the host gives it up here.
        let instance = unsafe { Arc::from_raw(handle.0.cast::<Instance<K::Plugin>>()) };
        // A destructor that panics has already said so, and nobody is left to be told.
        drop(guarded(|| {
            drop(instance);
            Ok(())
        }));
    }

    /// # Safety
    ///
    /// The handle is from `create` of this library and not destroyed while the reference lives.
    unsafe fn instance(handle: &InstanceHandle) -> &Instance<K::Plugin> {
        // SAFETY: `create` made the pointer of an `Arc` of just this type, and it is alive.
        unsafe { &*handle.0.cast() }
    }
}

/// Completes exactly once: with an outcome, or, where a task is dropped before its end, by being dropped.
struct Completer(Option<Completion>);

impl Completer {
    fn complete(mut self, outcome: Outcome) {
        if let Some(completion) = self.0.take() {
            hand_over(completion, outcome);
        }
    }
}

impl Drop for Completer {
    fn drop(&mut self) {
        if let Some(completion) = self.0.take() {
            hand_over(completion, Err(ErrorDocument::new(ErrorKind::Panic, "the call ended without an outcome")));
        }
    }
}

fn hand_over(completion: Completion, outcome: Outcome) {
    // SAFETY: the host's own pair, called once, as it promises is right.
    unsafe { (completion.complete)(completion.context, answer(outcome)) }
}

fn guarded<T>(work: impl FnOnce() -> Result<T, ErrorDocument>) -> Result<T, ErrorDocument> {
    // Nothing that a panic left half done is seen again but by the plugin itself, whose locks are poisoned.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| Err(panicked(payload)))
}

fn answer(outcome: Outcome) -> Answer {
    match outcome {
        Ok(bytes) => ROk(bytes.into()),
        Err(error) => RErr(error.to_json().into()),
    }
}

fn descriptor<K: Package>() -> Descriptor {
    let mut capabilities = Capabilities::new(Schemas::Made);
    K::Plugin::capabilities(&mut capabilities);
    let mut operations = vec![abi::CALL.to_owned(), abi::HEALTH.to_owned()];
    operations.extend(capabilities.authenticator.as_ref().map(|_| AUTHENTICATE.to_owned()));
    Descriptor {
        abi: abi::ABI,
        name: K::NAME.to_owned(),
        version: K::VERSION.to_owned(),
        summary: K::SUMMARY.to_owned(),
        namespace_configurable: capabilities.namespace_configurable,
        settings: schema::read_by::<<K::Plugin as Plugin>::Settings>(),
        operations,
        capabilities: capabilities.offered.into_iter().map(|offered| offered.descriptor).collect(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_exported_names_are_those_that_hosts_look_for() {
        assert_eq!(abi_stable::library::ROOT_MODULE_LOADER_NAME, "_1as_0lib_1header_0root_bmodule_bloader");
        assert_eq!(crate::abi::ABI_SYMBOL, "codemode_plugin_abi");
    }
}
