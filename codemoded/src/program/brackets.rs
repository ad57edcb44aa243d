//! The brackets of a source, which the parsed program does not have: an expression's span may begin behind brackets
//! that it closes, and end before others.

/// One pair, or the braces of an f-string's field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pair {
    open: usize,
    close: usize,
    /// The pair around it.
    outer: Option<usize>,
    is_field: bool,
}

/// All pairs, in the order of their opening.
#[derive(Clone, Debug, Default)]
pub(super) struct Brackets(Vec<Pair>);

/// Follows a text from bracket to bracket.
#[derive(Debug, Default)]
pub(super) struct Follower {
    pairs: Vec<Pair>,
    open: Vec<usize>,
}

impl Brackets {
    /// Where an expression really begins whose last token ends at `end` and is in none of its own brackets.
    pub(super) fn start(&self, begin: usize, end: usize) -> usize {
        let around = self.around(end);
        let within = self.outward(begin, |pair| Some(pair) == around);
        within.map_or(begin, |pair| pair.open)
    }

    /// All that stands in the field of an f-string beside what tells how it is printed.
    pub(super) fn field(&self, begin: usize, end: usize) -> (usize, usize) {
        let is_field = |pair: usize| self.0.get(pair).is_some_and(|pair| pair.is_field);
        let (first, last) = (self.outward(begin, is_field), self.outward(end, is_field));
        (first.map_or(begin, |pair| pair.open), last.map_or(end, |pair| pair.close + 1))
    }

    /// The outermost pair around a place before one that is as asked.
    fn outward(&self, at: usize, is_end: impl Fn(usize) -> bool) -> Option<&Pair> {
        let (mut next, mut last) = (self.around(at), None);
        while let Some(pair) = next.filter(|pair| !is_end(*pair)).and_then(|pair| self.0.get(pair)) {
            (next, last) = (pair.outer, Some(pair));
        }
        last
    }

    /// The innermost pair around a place.
    fn around(&self, at: usize) -> Option<usize> {
        let mut next = self.0.partition_point(|pair| pair.open < at).checked_sub(1);
        while let Some(pair) = next.and_then(|pair| self.0.get(pair)).filter(|pair| pair.close < at) {
            next = pair.outer;
        }
        next
    }
}

impl Follower {
    pub(super) fn open(&mut self, at: usize, is_field: bool) {
        self.open.push(self.pairs.len());
        self.pairs.push(Pair { open: at, close: at, outer: self.open.iter().rev().nth(1).copied(), is_field });
    }

    pub(super) fn close(&mut self, at: usize) {
        if let Some(pair) = self.open.pop().and_then(|pair| self.pairs.get_mut(pair)) {
            pair.close = at;
        }
    }

    /// How many are open.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    pub(super) fn brackets(mut self, end: usize) -> Brackets {
        while self.depth() > 0 {
            self.close(end);
        }
        Brackets(self.pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fstring::cover;

    /// `«` and `»` stand where the span of an expression begins and ends.
    #[track_caller]
    fn check(marked: &str, start: &str) {
        let (before, rest) = marked.split_once('«').unwrap();
        let (inner, after) = rest.split_once('»').unwrap();
        let brackets = cover(&format!("{before}{inner}{after}")).unwrap().brackets;
        let begin = brackets.start(before.len(), before.len() + inner.len());
        assert_eq!(before.get(begin..), Some(start), "{marked}");
    }

    #[test]
    fn an_expression_begins_with_the_brackets_that_it_closes() {
        check("(«a).b»", "(");
        check("f((«a or (b)).split»(1))", "(");
        check("f(«a.split»(1))", "");
        check("((«a).b»)", "(");
        check("x + ((«a))[0].b»", "((");
        check("(\")\", «a.b»)", "");
        check("( # )\n«a).b»", "( # )\n");
        check("f\"{(«a).b»}\"", "(");
        check("f\"(({(«a).b»:>3}\"", "(");
    }

    #[track_caller]
    fn check_field(marked: &str, field: &str) {
        let (before, rest) = marked.split_once('«').unwrap();
        let (inner, after) = rest.split_once('»').unwrap();
        let text = format!("{before}{inner}{after}");
        let (begin, end) = cover(&text).unwrap().brackets.field(before.len(), before.len() + inner.len());
        assert_eq!(text.get(begin..end), Some(field), "{marked}");
    }

    #[test]
    fn a_field_has_all_brackets_of_its_expression() {
        check_field("f\"{«a»}\"", "a");
        check_field("f\"{(«a + b) * 3»:>4}\"", "(a + b) * 3");
        check_field("f\"{«a + (b»)!r}\"", "a + (b)");
        check_field("f\"{((«a») ) }\"", "((a) )");
        check_field("f\"{x}{f'{(«a»)}'}\"", "(a)");
        check_field("f'''{\n(«1 + 2) * 3»}'''", "(1 + 2) * 3");
    }
}
