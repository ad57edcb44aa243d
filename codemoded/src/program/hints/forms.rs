//! How the interpreter words a form that it does not have, or a slip that has a usual mend.

/// Part of a message, and what to write instead; the first that fits counts.
pub(super) const FORMS: [(&str, &str); 71] = [
    (
        "mutates an iterable for an iterator while iterating",
        "it is temporarily immutable, for a loop runs over it; loop over a copy, `for x in list(xs):`",
    ),
    ("unexpected symbol '**', expected expression", "there is no unpacking here; join dicts with `a | b`"),
    (
        "unexpected symbol '**'",
        "there is no `**`; use `math.pow(x, y)` for floats, multiply, or `1 << n` for a power of two",
    ),
    (
        "unexpected keyword 'for', expected symbol ')'",
        "there are no generator expressions; write a list, `[f(x) for x in xs]`",
    ),
    (
        "unexpected keyword 'for', expected symbol ':'",
        "there are no set comprehensions; write `set([f(x) for x in xs])`",
    ),
    ("unexpected symbol ',', expected symbol ':'", "there are no set literals; write `set([a, b])`"),
    ("unexpected symbol '}', expected symbol ':'", "there are no set literals; write `set([a, b])`"),
    (
        "expected f-string expression end",
        "between the braces stands one expression, without `=`, comma or comment: `f\"x={x}\"`",
    ),
    ("named argument after *args", "named arguments go before `*args` and `**kwargs`: `f(key = 1, *xs)`"),
    ("invalid input `\u{feff}`", "leave out the byte order mark, which is there and cannot be seen"),
    ("unexpected string literal", "strings are joined with `+`; a quote inside a string is written `\\\"`"),
    ("unexpected symbol ':='", "there is no `:=`; assign on a line of its own"),
    ("invalid input `@`", "there are no decorators and no matrix product"),
    ("invalid input `!`", "write `not`"),
    ("invalid input `?`", "write `a if condition else b`, or `d.get(key)`"),
    ("invalid input `$`", "write `{x}` in an f-string"),
    ("invalid input ```", "leave Markdown fences out; strings stand between `\"`; with values in them, `f\"{x}\"`"),
    ("unexpected symbol '&', expected expression", "write `and`"),
    ("unexpected symbol '|', expected expression", "write `or`"),
    ("unexpected symbol '//', expected expression", "comments start with `#`"),
    ("unexpected symbol '*', expected", "there is no unpacking here; join lists with `+`"),
    (
        "unparenthesized tuple with trailing comma",
        "there is no `*rest` on the left; write `first, rest = xs[0], xs[1:]`",
    ),
    ("unexpected symbol '{', expected symbol ':'", "a block is indented under a line that ends with `:`"),
    ("unexpected symbol ':', expected symbol ')'", "arguments are named with `=`: `f(a = 1)`"),
    ("unexpected symbol '>', expected expression", "write `!=`"),
    ("unexpected keyword 'load'", "there is nothing to load; for JSON use `json.decode(s)`"),
    ("unexpected symbol '=', expected new line", "assign one name a line"),
    ("unexpected symbol '=', expected", "`=` assigns; compare with `==`"),
    ("unexpected keyword 'else', expected symbol", "the condition comes first: `[a if c else b for x in xs]`"),
    (
        "unexpected keyword 'else', expected expression",
        "`else` belongs to `if` only; for a loop set a flag before its `break`",
    ),
    ("expected keyword 'else'", "a conditional expression has both: `a if c else b`"),
    ("unexpected identifier '_", "numbers are written without `_`"),
    ("comparisons are not associative", "write `(a < b and b < c)`"),
    ("tabs are not allowed", "indent with spaces"),
    ("integer cannot have leading 0", "octal numbers start with `0o`"),
    ("invalid string escape sequence `u", "a character is written `\\uXXXX` or `\\UXXXXXXXX`; half of a pair is none"),
    (
        "referenced before assignment",
        "a name that a function assigns is its own throughout, even where capabilities or a variable outside have it: \
         call yours something else; a value from outside is passed in and returned, or kept in a dict or list",
    ),
    (
        "Operation `(iter)` not supported on type `string`",
        "a string's characters are `s.elems()`, its lines `s.splitlines()`; a dict's pairs are `d.items()`",
    ),
    (
        "Operation `(iter)` not supported on type `NoneType`",
        "the value is None; test it with `x != None`, or write `x or []`",
    ),
    ("Operation `(iter)` not supported on type `struct`", "its fields are read as `r.value`"),
    ("Operation `(iter)` not supported on type `int`", "loop over `range(n)`"),
    ("not supported for types `struct` and", "the fields of a struct are read as `r.ok`, `r.value`, `r.error.message`"),
    (
        "not supported for types `namespace` and `string`",
        "write the name: `records.lookup(…)`, or `getattr(records, name)`",
    ),
    ("not supported for types `NoneType` and", "the value is None; test it with `x != None`"),
    ("`len()` not supported on type `NoneType`", "the value is None; test it with `x != None`, or write `x or []`"),
    ("Object of type `NoneType`", "the value is None; test it with `x != None`"),
    ("Operation `+` not supported for types `string` and", "write `str(x)`, or an f-string"),
    ("Operation `+` not supported for types `int` and `bool`", "count with `len([x for x in xs if …])`"),
    (
        "Operation `+` not supported for types `int` and `string`",
        "write `str(n)` for text, `int(s)` for a number; texts are joined with `\"\".join(xs)`",
    ),
    ("Operation `+` not supported for types `float` and `string`", "write `str(n)` for text, `float(s)` for a number"),
    ("Operation `+` not supported for types `list` and", "join it to a list: `x + [y]`, `x + list(y)`"),
    ("Operation `+` not supported for types `dict` and", "join dicts with `a | b`"),
    ("Operation `+` not supported for types `bool`", "write `int(x)`; count with `len([x for x in xs if …])`"),
    ("Operation `<` not supported", "compare values of one type; for a mixed sort give `key`"),
    ("Operation `cmp()` not supported", "compare values of one type; for a mixed sort give `key`"),
    ("Argument is an empty iterable", "write `max(xs) if xs else default`"),
    ("not supported for types `ellipsis` and", "there is no unpacking here; join lists with `+`"),
    ("is not a valid type annotation", "leave the annotation out, or write a type such as `int`, `str`, `list[str]`"),
    ("`default` extra named parameter(s) for call to m", "write `max(xs) if xs else default`"),
    ("`strict` extra named parameter(s)", "leave `strict` out"),
    ("`cmp` extra named parameter(s)", "use `key = lambda x: …`"),
    ("extra positional argument(s) for call to sorted", "write `key = f` and `reverse = True` by name"),
    ("`indent` extra named parameter(s)", "use `json.indent(json.encode(x))`"),
    (
        "extra named parameter(s) for call to function",
        "its arguments go by position: `d.get(key, default)`, `s.split(\",\", 1)`",
    ),
    ("Type of parameter `to_join` doesn't match", "write `\",\".join([str(x) for x in xs])`"),
    (
        "Cannot parse `",
        "for a number with a fraction use `int(float(s))`, and `s.strip()` where there are spaces around it",
    ),
    ("Index `-", "pop takes no negative index; use `x.pop()`, or `x.pop(len(x) - n)`"),
    ("Key `", "use `d.get(key)` or `key in d` where it may be missing"),
    ("Unpacked", "over a dict loop with `for key, value in d.items():`"),
    ("is not hashable", "a key is a string, a number or a tuple of these"),
    ("Immutable", "make a copy first: `list(x)` or `dict(d)`"),
];

/// An argument whose name is one of the language's words.
const RESERVED: &str = "an argument of a reserved name is passed as `**{\"from\": x}`";

/// What stands right before or at the place of a parse error, and what to write instead.
pub(super) const SPELLINGS: [(Stands, &str, &str); 15] = [
    (Stands::At, "from=", RESERVED),
    (Stands::At, "from =", RESERVED),
    (Stands::Before, "\"from\"", RESERVED),
    (Stands::Before, "++", "write `x += 1`"),
    (Stands::Before, "--", "write `x -= 1`"),
    (Stands::Before, "let ", "write `x = 1`, without `let`"),
    (Stands::Before, "var ", "write `x = 1`, without `var`"),
    (Stands::Before, "const ", "write `x = 1`, without `const`"),
    (Stands::Before, "match ", "there is no `match`; use `if` and `elif`, or a dict"),
    (Stands::Before, "function ", "write `def name(x):`, or `lambda x: …`"),
    (Stands::Before, "new ", "call it without `new`"),
    (Stands::Before, "print ", "what is printed is discarded; return it from main"),
    (Stands::Before, "==", "write `==`"),
    (Stands::At, "=>", "write `lambda x: …`"),
    (Stands::At, ":=", "there is no `:=`; assign on a line of its own"),
];

/// Where a spelling stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stands {
    Before,
    At,
}
