//! A loaded library. The ABI's number is read before anything else of it is believed, and it is never unloaded.

#![expect(unsafe_code, reason = "loading a library runs its code, and its symbols have the type that is agreed on")]

use std::collections::BTreeMap;
use std::error::Error;
use std::mem;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use abi_stable::library::lib_header_from_path;
use abi_stable::std_types::RVec;
use codemode_plugin_api::abi::{ABI, ABI_SYMBOL, Answer, PluginRootRef};
use codemode_plugin_api::document::{ErrorDocument, ErrorKind};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use super::fault::Reason;
use super::image::{Digest, Image};

/// What this process has begun to load. The dynamic linker's state belongs to the process, and so does this. Nothing of
/// a library runs while this is locked.
static HELD: Mutex<BTreeMap<Digest, Arc<Held>>> = Mutex::new(BTreeMap::new());

/// A copy that the dynamic linker has seen: also one that fails half way stays in its list, under the copy's path.
struct Held {
    image: Arc<Image>,
    /// Locked while the library is loaded, which may take for ever.
    root: Mutex<Option<PluginRootRef>>,
}

/// The copy that is held of the same content, or this one.
pub(super) fn known(image: Image) -> Arc<Image> {
    let known = held().get(image.digest()).map(|known| Arc::clone(&known.image));
    known.unwrap_or_else(|| Arc::new(image))
}

/// How many copies of libraries are held.
pub(super) fn copies_held() -> usize {
    held().len()
}

/// Loads a library once for its content, and keeps it and its copy for ever.
pub(super) fn load_for_ever(image: &Arc<Image>) -> Result<PluginRootRef, Reason> {
    let new = || Arc::new(Held { image: Arc::clone(image), root: Mutex::new(None) });
    let library = Arc::clone(held().entry(*image.digest()).or_insert_with(new));
    let mut root = library.root.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(root) = *root {
        return Ok(root);
    }
    Ok(*root.insert(load(&library.image)?))
}

fn held() -> MutexGuard<'static, BTreeMap<Digest, Arc<Held>>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Loads a library and checks its ABI.
pub(super) fn load(image: &Image) -> Result<PluginRootRef, Reason> {
    let path = image.path();
    check_abi(&path)?;
    let header = lib_header_from_path(&path).map_err(|error| {
        tracing::debug!(%error, "a plugin's header is not as expected");
        Reason::OtherLayout
    })?;
    header.init_root_module::<PluginRootRef>().map_err(|error| {
        // Hundreds of lines, of use only to whoever changed the ABI.
        tracing::debug!(%error, "a plugin's layout is not as expected");
        Reason::OtherLayout
    })
}

/// What the library says of itself: the JSON of a [`Descriptor`](codemode_plugin_api::descriptor::Descriptor), unread.
pub(super) fn describe(root: PluginRootRef) -> Result<RVec<u8>, Reason> {
    root.describe()().into_result().map_err(|error| Reason::not_described(read_error(&error)))
}

/// An answer in this side's own memory.
pub(super) fn read(answer: Answer) -> Result<Vec<u8>, ErrorDocument> {
    answer.into_result().map(Vec::from).map_err(|error| read_error(&error))
}

pub(super) fn read_error(json: &[u8]) -> ErrorDocument {
    serde_json::from_slice(json)
        .unwrap_or_else(|error| ErrorDocument::new(ErrorKind::Other, format!("an error that cannot be read: {error}")))
}

fn check_abi(path: &Path) -> Result<(), Reason> {
    // SAFETY: the library's constructors run; that they do no harm was tried in a child process, where this process is
    // not itself that child. RTLD_NOW finds a missing symbol here and not in a call.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }
        .map_err(|error| Reason::Unloadable(linker_text(&error, path)))?;
    // SAFETY: whatever exports a symbol of this name exports a `u32` under it; that is what the name is for.
    let symbol = unsafe { library.get::<*const u32>(ABI_SYMBOL) };
    // Unloading runs destructors and leaves thread-locals behind that point nowhere.
    let number = symbol.map(|symbol| {
        // SAFETY: the symbol's address is that of a `u32` in a library that is never unloaded.
        unsafe { symbol.read() }
    });
    mem::forget(library);
    match number {
        Ok(ABI) => Ok(()),
        Ok(found) => Err(Reason::OtherAbi { found, expected: ABI }),
        Err(_) => Err(Reason::NoPlugin),
    }
}

/// What the dynamic linker says, without the path that nobody else knows.
fn linker_text(error: &libloading::Error, path: &Path) -> String {
    let text = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    text.trim_start_matches(&*format!("{}: ", path.display())).to_owned()
}
