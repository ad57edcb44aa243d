//! The findings as people read them.

use std::fmt;

use super::{Finding, Severity};

/// One line a finding, and its mend below it.
#[derive(Debug)]
pub struct Table<'a>(pub &'a [Finding]);

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.0.iter().map(|finding| finding.what.chars().count()).max().unwrap_or_default();
        for Finding { what, severity, found, mend } in self.0 {
            let severity = match severity {
                Severity::Ok => "ok",
                Severity::Warning => "WARNING",
                Severity::Fault => "FAULT",
            };
            writeln!(f, "{severity:<7}  {what:<width$}  {found}")?;
            if let Some(mend) = mend {
                writeln!(f, "{:<7}  {:<width$}  mend: {mend}", "", "")?;
            }
        }
        Ok(())
    }
}
