//! A library for an ABI that does not exist.
#![expect(unsafe_code, reason = "the symbol is what is wrong, and `export!` only writes it right")]

#[unsafe(no_mangle)]
pub static codemode_plugin_abi: u32 = 999;
