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

/// A method that Python's values have and these lack: the type, the method, its substitute.
pub(super) const METHODS: [(&str, &str, &str); 22] = [
    ("bytes", "decode", "use `str(b)`"),
    ("dict", "copy", "use `dict(d)`"),
    ("dict", "fromkeys", "use `{k: value for k in keys}`"),
    ("list", "copy", "use `list(x)`"),
    ("list", "count", "use `len([y for y in x if y == value])`"),
    ("list", "reverse", "use `x = x[::-1]`"),
    ("list", "sort", "use `x = sorted(x, key = …, reverse = …)`"),
    ("string", "casefold", "use `s.lower()`"),
    ("string", "center", "add the spaces yourself: `\" \" * n + s`"),
    ("string", "decode", "a string is text already"),
    ("string", "encode", "use `bytes(s)`"),
    ("string", "expandtabs", "use `s.replace(\"\\t\", \"    \")`"),
    ("string", "isdecimal", "use `s.isdigit()`"),
    ("string", "isidentifier", "check the characters with `isalnum`"),
    ("string", "isnumeric", "use `s.isdigit()`"),
    ("string", "isprintable", "check the characters you need"),
    ("string", "ljust", "add the spaces yourself: `s + \" \" * (n - len(s))`"),
    ("string", "maketrans", "use `s.replace(a, b)`"),
    ("string", "rjust", "add the spaces yourself: `\" \" * (n - len(s)) + s`"),
    ("string", "swapcase", "use `upper` and `lower`"),
    ("string", "translate", "use `s.replace(a, b)`"),
    ("string", "zfill", "add the zeros yourself: `\"0\" * (n - len(s)) + s`"),
];

/// How the interpreter words a Python form that it does not have, and what to write instead.
pub(super) const FORMS: [(&str, &str); 8] = [
    (
        "mutates an iterable for an iterator while iterating",
        "it is temporarily immutable, for a loop runs over it; loop over a copy, `for x in list(xs):`",
    ),
    ("unexpected symbol '**'", "there is no `**`; use `math.pow(x, y)` for floats, or multiply"),
    (
        "unexpected keyword 'for', expected symbol ')'",
        "there are no generator expressions; write a list, `[f(x) for x in xs]`",
    ),
    (
        "expected f-string expression end",
        "f-strings take no format such as `:.2f` or `!r`; round with `math.round`, or use `repr(x)`",
    ),
    ("unexpected string literal", "strings are joined with `+`"),
    ("unexpected symbol ':='", "there is no `:=`; assign on a line of its own"),
    ("unexpected symbol '@'", "there are no decorators; call the function where you need it"),
    ("unexpected symbol '*', expected", "there is no unpacking here; join lists with `+`"),
];

/// The interpreter's message, with the substitute where it is about something that has one.
pub(super) fn explained(message: &str) -> String {
    let message = message.strip_prefix("Parse error: ").unwrap_or(message);
    let guessless = message.split_once(", did you mean").map_or(message, |(about, _)| about);
    match name_in(message).and_then(substitute).or_else(|| method_in(message)) {
        // The interpreter's own guess at a near name would only distract from the substitute.
        Some(substitute) => format!("{guessless}; {substitute}"),
        None => match FORMS.iter().find(|(wording, _)| message.contains(wording)) {
            Some((_, substitute)) => format!("{message}; {substitute}"),
            None => message.to_owned(),
        },
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
    missing.then(|| quoted(message).next()).flatten()
}

fn method_in(message: &str) -> Option<&'static str> {
    if !message.contains("has no attribute") {
        return None;
    }
    let mut names = quoted(message);
    let (of, method) = (names.next()?, names.next()?);
    let found = METHODS.iter().find(|(kind, missing, _)| *kind == of && *missing == method);
    found.map(|(_, _, substitute)| *substitute)
}

/// What stands between backticks.
fn quoted(message: &str) -> impl Iterator<Item = &str> {
    message.split('`').skip(1).step_by(2)
}
