//! What to write instead, for names and forms that Python has and this language lacks.

/// A Python name or form, and its substitute here. Sorted by the first.
pub(super) const SUBSTITUTES: [(&str, &str); 47] = [
    ("Counter", "count in a dict: `counts[x] = counts.get(x, 0) + 1`"),
    ("Exception", "there are no exceptions; stop with `fail(\"why\")`"),
    ("ValueError", "there are no exceptions; stop with `fail(\"why\")`"),
    ("assert", "use `if not x: fail(\"why\")`"),
    ("async", "calls are plain: `records.lookup(key = \"a\")`; use `parallel` for several at once"),
    ("await", "calls are plain: `records.lookup(key = \"a\")`; use `parallel` for several at once"),
    ("breakpoint", "return the value from main to see it"),
    ("class", "use a dict, or functions"),
    ("collections", "there are no modules; count in a dict with `counts.get(x, 0) + 1`"),
    ("datetime", "there is no clock; pass times in as arguments or ask a capability"),
    ("defaultdict", "use `d.setdefault(key, [])` or `d.get(key, 0)`"),
    ("del", "use `d.pop(key)` or build a new list"),
    ("divmod", "use `[a // b, a % b]`"),
    ("eval", "there is no eval"),
    ("except", "use `attempt(capability, …)`, whose result has `ok`, `value` and `error`"),
    ("exec", "there is no exec"),
    ("finally", "use `attempt(capability, …)`, whose result has `ok`, `value` and `error`"),
    ("frozenset", "use `set(…)`"),
    ("functools", "there are no modules; write a loop"),
    ("global", "return the value, or change a dict that both functions see"),
    ("globals", "there is no globals()"),
    ("import", "there is nothing to import; `json`, `math` and the capabilities are already here"),
    ("input", "there is no input; capabilities bring data in"),
    ("is", "use `==`; for None too: `x == None`"),
    ("isinstance", "use `type(x) == \"string\"`"),
    ("iter", "use a `for` loop or a comprehension"),
    ("itertools", "there are no modules; use comprehensions"),
    ("load", "there is nothing to load; `json`, `math` and the capabilities are already here"),
    ("next", "use a `for` loop, or index a list"),
    ("nonlocal", "return the value, or change a dict that both functions see"),
    ("object", "use a dict"),
    ("open", "there are no files; ask a capability"),
    ("os", "there is no operating system here; ask a capability"),
    ("pow", "use `math.pow(x, y)` for floats, or multiply"),
    ("raise", "use `fail(\"why\")`"),
    ("random", "there is no randomness"),
    ("re", "there are no regular expressions; use `in`, `find`, `split`, `startswith`"),
    ("requests", "there is no network; ask a capability"),
    ("round", "use `math.round(x)`, or `int(math.floor(x * 100 + 0.5)) / 100` for two decimals"),
    ("slice", "use `x[a:b]`"),
    ("super", "there are no classes"),
    ("sys", "there are no modules"),
    ("time", "there is no clock; pass times in as arguments or ask a capability"),
    ("try", "use `attempt(capability, …)`, whose result has `ok`, `value` and `error`"),
    ("while", "use `for _ in range(n):` with `break`"),
    ("with", "there is nothing to close"),
    ("yield", "build and return a list"),
];

/// The interpreter's message, with the substitute where it is about something that has one.
pub(super) fn explained(message: &str) -> String {
    let message = message.strip_prefix("Parse error: ").unwrap_or(message);
    let message = message.strip_prefix("Type Error: ").unwrap_or(message);
    match name_in(message).and_then(substitute) {
        Some(substitute) => format!("{}; {substitute}", about(message)),
        None => message.to_owned(),
    }
}

fn substitute(name: &str) -> Option<&'static str> {
    let found = SUBSTITUTES.iter().find(|(missing, _)| *missing == name);
    found.map(|(_, substitute)| *substitute)
}

/// The name that a message of a known form is about.
fn name_in(message: &str) -> Option<&str> {
    let missing = message.starts_with("Variable `")
        || message.contains("reserved keyword `")
        || message.contains("is not allowed in this dialect");
    let (_, rest) = message.split_once('`')?;
    let (name, _) = rest.split_once('`')?;
    missing.then_some(name)
}

/// The message without the interpreter's own guess at a near name, which a substitute makes noise.
fn about(message: &str) -> &str {
    message.split_once(", did you mean").map_or(message, |(about, _)| about)
}
