//! What the names of a program stand for, as far as the text alone tells.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use starlark_syntax::syntax::ast::{
    AssignTarget, AstAssignTarget, AstExpr, AstParameter, AstStmt, Clause, ForClause, Stmt,
};

/// One scope's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ScopeId(usize);

/// All scopes of one program that have been entered so far.
#[derive(Debug, Default)]
pub(super) struct Scopes<'p> {
    scopes: Vec<Scope<'p>>,
}

#[derive(Debug)]
struct Scope<'p> {
    outer: Option<ScopeId>,
    bindings: HashMap<&'p str, Binding<'p>>,
}

/// How a scope binds a name.
#[derive(Clone, Copy, Debug)]
enum Binding<'p> {
    /// By one assignment and nothing else, so that whoever reads it reads this.
    Once(&'p AstExpr),
    /// By one `def` and nothing else.
    Function,
    /// In a way that the text does not tell.
    Somehow,
}

/// What a name stands for where it is read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Name<'p> {
    /// Nothing of the program's own: a name of the language, or a capability's root.
    Free,
    /// This expression, evaluated in that scope.
    Is(&'p AstExpr, ScopeId),
    Function,
    Unknown,
}

impl<'p> Scopes<'p> {
    /// The scope of the top level.
    pub(super) fn enter_module(&mut self, statements: &'p AstStmt) -> ScopeId {
        let mut scope = Scope { outer: None, bindings: HashMap::new() };
        scope.collect(statements);
        self.enter(scope)
    }

    /// The scope of a function's body; a `lambda` has no statements.
    pub(super) fn enter_function(
        &mut self,
        outer: ScopeId,
        parameters: &'p [AstParameter],
        body: Option<&'p AstStmt>,
    ) -> ScopeId {
        let mut scope = Scope { outer: Some(outer), bindings: HashMap::new() };
        for name in parameters.iter().filter_map(|parameter| parameter.ident()) {
            scope.bind(&name.ident, Binding::Somehow);
        }
        if let Some(body) = body {
            scope.collect(body);
        }
        self.enter(scope)
    }

    /// The scope of a comprehension, all but what its first `for` goes over.
    pub(super) fn enter_comprehension(
        &mut self,
        outer: ScopeId,
        first: &'p ForClause,
        clauses: &'p [Clause],
    ) -> ScopeId {
        let mut scope = Scope { outer: Some(outer), bindings: HashMap::new() };
        scope.bind_target(&first.var);
        for clause in clauses {
            if let Clause::For(clause) = clause {
                scope.bind_target(&clause.var);
            }
        }
        self.enter(scope)
    }

    pub(super) fn look_up(&self, name: &str, from: ScopeId) -> Name<'p> {
        let mut next = Some(from);
        while let Some(id) = next {
            let Some(scope) = self.scopes.get(id.0) else { break };
            match scope.bindings.get(name) {
                Some(Binding::Once(expression)) => return Name::Is(expression, id),
                Some(Binding::Function) => return Name::Function,
                Some(Binding::Somehow) => return Name::Unknown,
                None => next = scope.outer,
            }
        }
        Name::Free
    }

    fn enter(&mut self, scope: Scope<'p>) -> ScopeId {
        self.scopes.push(scope);
        ScopeId(self.scopes.len() - 1)
    }
}

impl<'p> Scope<'p> {
    /// Binds what the statements bind, but not what functions inside them do.
    fn collect(&mut self, statement: &'p AstStmt) {
        match &statement.node {
            Stmt::Assign(assign) => match &assign.lhs.node {
                AssignTarget::Identifier(name) => self.bind(&name.node.ident, Binding::Once(&assign.rhs)),
                AssignTarget::Tuple(_) | AssignTarget::Index(_) | AssignTarget::Dot(..) => {
                    self.bind_target(&assign.lhs);
                }
            },
            Stmt::AssignModify(target, ..) => self.bind_target(target),
            Stmt::For(each) => {
                self.bind_target(&each.var);
                self.collect(&each.body);
            }
            Stmt::Def(def) => self.bind(&def.name.node.ident, Binding::Function),
            Stmt::Load(load) => {
                for argument in &load.args {
                    self.bind(&argument.local.node.ident, Binding::Somehow);
                }
            }
            Stmt::Statements(_) | Stmt::If(..) | Stmt::IfElse(..) => {
                statement.node.visit_stmt(|inner| self.collect(inner));
            }
            Stmt::Break | Stmt::Continue | Stmt::Pass | Stmt::Return(_) | Stmt::Expression(_) => {}
        }
    }

    fn bind_target(&mut self, target: &'p AstAssignTarget) {
        match &target.node {
            AssignTarget::Identifier(name) => self.bind(&name.node.ident, Binding::Somehow),
            AssignTarget::Tuple(targets) => targets.iter().for_each(|target| self.bind_target(target)),
            AssignTarget::Index(_) | AssignTarget::Dot(..) => {}
        }
    }

    fn bind(&mut self, name: &'p str, binding: Binding<'p>) {
        match self.bindings.entry(name) {
            Entry::Vacant(vacant) => {
                vacant.insert(binding);
            }
            Entry::Occupied(mut known) => {
                known.insert(Binding::Somehow);
            }
        }
    }
}
