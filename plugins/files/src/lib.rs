//! A read-only view of configured folders.
