//! A library that is no plugin.
