//! From subschemas to nodes.
//!
//! A node is the conjunction of a set of subschemas: a subschema itself, what its `$ref` and `allOf` bring in, and,
//! for a property that several of them declare, all of those declarations. Sets are memoised, so recursion ends in
//! a known number. `anyOf` and `oneOf` are multiplied out: each variant becomes a node that contains its base, so a
//! variant alone decides, and the notation shows what really fits. Where that would multiply too far, the choice
//! is left to the JSON Schema library.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Map as Json, Value};

use super::fault::SchemaFault;
use super::keyword;
use super::node::{Choice, ListRules, Node, NodeId, Types};
use super::object;
use super::residue::ResidueId;
use super::rules;
use super::scan::{Dialect, Scan, SourceId};

/// Rules that one schema may compile to.
pub(super) const MAX_NODES: usize = 20_000;
/// Steps that compiling one schema may take.
const MAX_WORK: usize = 2_000_000;
/// Variants that nested choices of one place may multiply to.
const MAX_SPREAD: u32 = 256;

/// What a set demands beside the subschemas of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Member {
    Source(SourceId, Taken),
    /// Only null.
    Null,
    /// Only an object.
    Object,
}

/// What has been taken out of a subschema because it is dealt with elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Taken {
    any_of: bool,
    one_of: bool,
    nullable: bool,
    /// Checked by the library as a whole.
    residual: bool,
}

/// A conjunction, outermost subschema first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Set {
    members: Vec<Member>,
    spread: u32,
}

pub(super) struct Compiler<'s> {
    pub(super) scan: Scan<'s>,
    nodes: Vec<Node>,
    known: HashMap<Set, NodeId>,
    pending: VecDeque<(Set, NodeId)>,
    /// Subschemas that the library must check, in the order of their numbers.
    pub(super) residues: Vec<SourceId>,
    /// Steps taken so far; the size of a schema says little about how far its combinations multiply.
    work: usize,
}

/// One subschema's choice, found while its set is built.
struct Alternatives {
    at: SourceId,
    exactly_one: bool,
    variants: Vec<Variant>,
    /// The subschema once the choice is taken out.
    taken: Taken,
}

/// One way out of a choice.
enum Variant {
    And(SourceId),
    Itself,
    Null,
}

impl<'s> Compiler<'s> {
    pub(super) fn new(scan: Scan<'s>) -> Self {
        Self { scan, nodes: Vec::new(), known: HashMap::new(), pending: VecDeque::new(), residues: Vec::new(), work: 0 }
    }

    /// Compiles the root, joined with what else it must be, and everything reachable from it.
    pub(super) fn run(&mut self, also: Option<Member>) -> Result<(Vec<Node>, NodeId), SchemaFault> {
        let root = Member::Source(Scan::ROOT, Taken::default());
        let root = self.request(Set { members: also.into_iter().chain([root]).collect(), spread: 1 });
        while let Some((set, id)) = self.pending.pop_front() {
            if self.nodes.len() > MAX_NODES || self.work > MAX_WORK {
                return Err(SchemaFault::TooComplex);
            }
            let node = self.build(set);
            if let Some(place) = self.nodes.get_mut(id.0 as usize) {
                *place = node;
            }
        }
        Ok((std::mem::take(&mut self.nodes), root))
    }

    /// The node of a conjunction of subschemas, compiled soon if it is new.
    pub(super) fn node_of(&mut self, schemas: &[&'s Value]) -> NodeId {
        let mut members: Vec<_> = Vec::with_capacity(schemas.len());
        for schema in schemas {
            // The walk has seen every place that a schema may stand in.
            let Some(id) = self.scan.at_address(schema).map(|id| self.named(id)) else { continue };
            let member = Member::Source(id, Taken::default());
            if !members.contains(&member) {
                members.push(member);
            }
        }
        self.request(Set { members, spread: 1 })
    }

    /// What the subschema is a mere name of, so that all its names share one node.
    fn named(&self, mut id: SourceId) -> SourceId {
        const MAX_HOPS: usize = 64;
        for _ in 0..MAX_HOPS {
            match self.scan.source(id) {
                Some(source) if source.schema.as_object().is_some_and(|members| members.len() == 1) => {
                    let Some(target) = source.target else { break };
                    id = target;
                }
                Some(_) | None => break,
            }
        }
        id
    }

    /// Counts steps whose number the schema's author chooses.
    pub(super) fn spend(&mut self, steps: usize) {
        self.work = self.work.saturating_add(steps);
    }

    fn request(&mut self, set: Set) -> NodeId {
        if let Some(known) = self.known.get(&set) {
            return *known;
        }
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        // Until it is built, nothing fits: a fault on the way can then never let a value pass.
        self.nodes.push(Node::never());
        self.known.insert(set.clone(), id);
        self.pending.push_back((set, id));
        id
    }

    fn build(&mut self, set: Set) -> Node {
        let mut closure = self.closure(set.members);
        self.spend(closure.len());
        let choice = self.choose(&mut closure, set.spread);
        let mut node = Node { choice, ..Node::default() };
        let mut objects = Vec::new();
        for member in &closure {
            match member {
                Member::Null => node.types = node.types.and(Types::NULL),
                Member::Object => node.types = node.types.and(Types::MAP),
                Member::Source(id, taken) => self.read(&mut node, *id, *taken, &mut objects),
            }
        }
        self.join_lists(&mut node.list, &objects);
        object::join(self, &mut node.map, &objects);
        node
    }

    fn read(&mut self, node: &mut Node, id: SourceId, taken: Taken, objects: &mut Vec<&'s Json<String, Value>>) {
        match self.scan.source(id).map(|source| source.schema) {
            Some(Value::Bool(true)) => {}
            Some(Value::Object(members)) => {
                rules::describe(&mut node.about, members);
                let Some(members) = self.keywords(id) else { return };
                if taken.residual || members.keys().any(|keyword| keyword::is_residual(keyword)) {
                    let residue = self.residue(id);
                    node.residues.push(residue);
                }
                let listed = members.get("enum").and_then(Value::as_array).map_or(0, Vec::len);
                self.spend(listed);
                rules::apply(node, members);
                objects.push(members);
            }
            // `false`, or what the walk has refused.
            Some(_) | None => node.types = Types::NONE,
        }
    }

    /// The set with everything that `$ref`, `allOf` and choices of one variant bring in.
    fn closure(&self, members: Vec<Member>) -> Vec<Member> {
        let mut closure: Vec<Member> = Vec::with_capacity(members.len());
        let mut seen = HashSet::new();
        let mut pending: VecDeque<Member> = members.into();
        while let Some(member) = pending.pop_front() {
            let Member::Source(id, taken) = member else {
                closure.push(member);
                continue;
            };
            if !seen.insert(id) {
                continue;
            }
            closure.push(member);
            let Some(source) = self.scan.source(id) else { continue };
            let mut bring = |id| pending.push_back(Member::Source(id, Taken::default()));
            let members = self.keywords(id);
            if members.is_some_and(rules::is_null_an_alternative) && !taken.nullable {
                // Whether its parts count at all is what the choice is about.
                continue;
            }
            if let Some(target) = source.target {
                bring(target);
            }
            for keyword in ["allOf", "anyOf", "oneOf"] {
                let Some(Value::Array(parts)) = members.and_then(|members| members.get(keyword)) else { continue };
                if keyword == "allOf" || parts.len() == 1 {
                    parts.iter().filter_map(|part| self.scan.at_address(part)).for_each(&mut bring);
                }
            }
        }
        closure
    }

    /// The subschema's keywords, without those that its dialect has it ignore.
    fn keywords(&self, id: SourceId) -> Option<&'s Json<String, Value>> {
        let members = self.scan.source(id)?.schema.as_object()?;
        (self.scan.dialect != Dialect::Draft7 || !members.contains_key("$ref")).then_some(members)
    }

    /// Takes the first choice out of the set and multiplies it out; one that is too wide goes to the library.
    fn choose(&mut self, closure: &mut [Member], spread: u32) -> Option<Choice> {
        while let Some(found) = closure.iter().find_map(|member| self.alternatives(*member)) {
            let width = u32::try_from(found.variants.len()).unwrap_or(u32::MAX);
            let wider = spread.saturating_mul(width);
            let too_wide = wider > MAX_SPREAD && spread > 1 || width > 4 * MAX_SPREAD;
            let taken = Taken { residual: found.taken.residual || too_wide, ..found.taken };
            let replace = |members: &[Member], by: Member| -> Vec<Member> {
                let is_it = |member: &Member| matches!(member, Member::Source(id, _) if *id == found.at);
                members.iter().map(|member| if is_it(member) { by } else { *member }).collect()
            };
            let rest = replace(closure, Member::Source(found.at, taken));
            closure.copy_from_slice(&rest);
            if too_wide {
                continue;
            }
            let mut variants = Vec::with_capacity(found.variants.len());
            for variant in &found.variants {
                self.spend(closure.len());
                let members = match variant {
                    // Null stands in place of the subschema, the others beside it, what their base says first.
                    Variant::Null => replace(closure, Member::Null),
                    Variant::Itself => closure.to_vec(),
                    Variant::And(id) => {
                        closure.iter().copied().chain([Member::Source(*id, Taken::default())]).collect()
                    }
                };
                variants.push(self.request(Set { members, spread: wider }));
            }
            return Some(Choice { exactly_one: found.exactly_one, variants });
        }
        None
    }

    fn alternatives(&self, member: Member) -> Option<Alternatives> {
        let Member::Source(at, taken) = member else { return None };
        let members = self.keywords(at)?;
        if !taken.nullable && rules::is_null_an_alternative(members) {
            let taken = Taken { nullable: true, ..taken };
            return Some(Alternatives {
                at,
                exactly_one: false,
                variants: vec![Variant::Itself, Variant::Null],
                taken,
            });
        }
        let list = |keyword| members.get(keyword).and_then(Value::as_array).filter(|list| list.len() > 1);
        let (exactly_one, list, taken) = match (list("oneOf"), list("anyOf")) {
            (Some(list), _) if !taken.one_of => (true, list, Taken { one_of: true, ..taken }),
            (_, Some(list)) if !taken.any_of => (false, list, Taken { any_of: true, ..taken }),
            _ => return None,
        };
        let variants = list.iter().filter_map(|variant| self.scan.at_address(variant));
        let variants = variants.map(Variant::And).collect();
        Some(Alternatives { at, exactly_one, variants, taken })
    }

    fn residue(&mut self, id: SourceId) -> ResidueId {
        let position = self.residues.iter().position(|known| *known == id).unwrap_or_else(|| {
            self.residues.push(id);
            self.residues.len() - 1
        });
        ResidueId(position)
    }

    fn join_lists(&mut self, rules: &mut ListRules, objects: &[&'s Json<String, Value>]) {
        let tuples: Vec<_> = objects.iter().map(|members| tuple_of(members)).collect();
        let longest = tuples.iter().map(|(prefix, _)| prefix.len()).max().unwrap_or(0);
        for index in 0..longest {
            let at: Vec<_> = tuples.iter().filter_map(|(prefix, rest)| prefix.get(index).or(rest.as_ref())).collect();
            let at: Vec<_> = at.into_iter().copied().collect();
            rules.prefix.push(self.node_of(&at));
        }
        let rest: Vec<_> = tuples.iter().filter_map(|(_, rest)| *rest).collect();
        if !rest.is_empty() {
            rules.rest = Some(self.node_of(&rest));
        }
    }
}

/// The schemas of the first items, and of those after them.
fn tuple_of(members: &Json<String, Value>) -> (Vec<&Value>, Option<&Value>) {
    match (members.get("prefixItems"), members.get("items")) {
        (Some(Value::Array(prefix)), rest) => (prefix.iter().collect(), rest),
        (_, Some(Value::Array(prefix))) => (prefix.iter().collect(), members.get("additionalItems")),
        (_, rest) => (Vec::new(), rest),
    }
}
