//! Which Starlark: the standard language plus what makes a Python writer's first try run.

use starlark::syntax::{Dialect, DialectTypes};

/// `load` is off: nothing outside the source belongs to a program. `if` and `for` may stand at the top level.
pub(super) const DIALECT: Dialect = Dialect {
    enable_load: false,
    enable_load_reexport: false,
    enable_types: DialectTypes::Enable,
    enable_top_level_stmt: true,
    enable_f_strings: true,
    enable_keyword_only_arguments: true,
    enable_positional_only_arguments: true,
    ..Dialect::Standard
};
