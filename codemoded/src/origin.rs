//! A file that something was loaded from, told apart from its other contents by a hash.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

/// A file as it was when it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Origin {
    file: PathBuf,
    sha256: Hash,
}

/// A SHA-256, written in hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hash(pub [u8; 32]);

impl Origin {
    pub fn of(file: &Path, content: &[u8]) -> Self {
        Self { file: file.to_owned(), sha256: Hash(Sha256::digest(content).into()) }
    }

    pub fn file(&self) -> &Path {
        &self.file
    }

    pub fn sha256(&self) -> Hash {
        self.sha256
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
