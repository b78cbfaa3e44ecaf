//! Programs: several operations in one request.
//!
//! A step applies an operation to stored matrices or to the results of earlier steps, which are named `$step`, and to
//! an array: the body, `$body`, or an earlier result. Results of all steps but the last stay in the device's memory,
//! with their bytes in the ledger, until the request ends.

use crate::answer::Outcome;
use crate::app::App;
use crate::auth::Identity;
use crate::computation::{Owner, compute};
use crate::idempotency::RequestLine;
use crate::ledger::Reservation;
use crate::matrices::{PUT_PARAMETERS, Pairs, find, parameters_among};
use crate::name;
use crate::objects::{Object, Resident, Store};
use crate::operate::{Request, check_real, read_columns, receive_operand};
use crate::operations::{Answer, Call, Columns, MEMBER, MemberSelection, Operand, Operation, ResultKind};
use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::task::Task;
use crate::upload::ArrayBody;
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use nnz::{DenseMatrix, Matrix, Order};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Steps that a program may have.
const MAX_STEPS: usize = 32;
/// The name of the body among the operands.
const BODY: &str = "body";

/// A step as clients write it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    operation: String,
    matrix: String,
    name: Option<String>,
    other: Option<String>,
    operand: Option<String>,
    #[serde(default)]
    parameters: BTreeMap<String, Value>,
}

/// A step whose stored matrices were found.
#[derive(Debug)]
pub(crate) struct Step {
    /// Its position, counted from 1, and its operation.
    label: String,
    name: Option<String>,
    operation: &'static Operation,
    a: MatrixSource,
    other: Option<MatrixSource>,
    operand: Option<ArraySource>,
    parameters: Parameters,
}

#[derive(Debug)]
enum MatrixSource {
    Stored(Arc<Object>),
    /// The result of an earlier step.
    Step(usize),
}

#[derive(Debug, Clone, Copy)]
enum ArraySource {
    Body,
    Step(usize),
}

/// A program with everything that it needs, for a worker.
#[derive(Debug)]
struct Program {
    request: Request,
    steps: Vec<Step>,
    body: Option<ArrayBody>,
}

/// The parameters of the request of a program.
pub(crate) fn known_parameters() -> Vec<&'static str> {
    [&["program", "into"][..], &PUT_PARAMETERS, &["timeout", "async"]].concat()
}

pub(crate) async fn run(
    State(app): State<App>,
    Extension(identity): Extension<Identity>,
    pairs: Pairs,
    headers: HeaderMap,
    line: RequestLine,
    body: Body,
) -> Result<Response, Problem> {
    let parameters = parameters_among(pairs, &known_parameters())?;
    let (request, reply) = match Request::begin(&app, identity, &parameters, &headers, line)? {
        ControlFlow::Continue(begun) => begun,
        ControlFlow::Break(earlier) => return earlier.answer(body, &app.config.limits).await,
    };
    let text: String = parameters.required("program")?;
    let steps = parse(&text, |name| find(&app.store, &request.identity, name))?;
    if let Some(last) = steps.last() {
        request.check_result(last.operation.result)?;
    }
    let tenant = request.identity.tenant.clone();
    reply.check(&app, &tenant)?;
    let takes_body = steps.iter().any(|step| matches!(step.operand, Some(ArraySource::Body)));
    let body = match takes_body {
        true => {
            let body = request.hashed(body);
            Some(request.task.within(receive_operand(&app, "the program", &headers, body)).await??)
        }
        false => None,
    };
    let program = Program { request, steps, body };
    let admitted = app.threads.admit(&tenant)?;
    if reply.is_job() {
        let subject = program.request.subject("program", program.matrix());
        return reply.into_job(&app, admitted, subject, &tenant, |store| program.run(store));
    }
    let store = app.store.clone();
    app.threads.run_admitted(admitted, &reply.caller.task, move || program.run(&store)).await?.respond()
}

/// The stored matrices that the steps of a program name; of a text that is no program, or has too many steps, none.
pub(crate) fn stored_names(text: &str) -> Vec<String> {
    let mut documents: Vec<Document> = serde_json::from_str(text).unwrap_or_default();
    if documents.len() > MAX_STEPS {
        documents.clear();
    }
    let matrices = documents.into_iter().flat_map(|step| [Some(step.matrix), step.other]);
    matrices.flatten().filter(|name| !name.starts_with('$')).collect()
}

/// The steps of a program, whose stored matrices `find` knows.
pub(crate) fn parse(
    text: &str,
    find: impl Fn(&str) -> Result<Arc<Object>, Problem>,
) -> Result<Vec<Step>, Problem> {
    let documents: Vec<Document> = serde_json::from_str(text).map_err(|error| {
        Problem::bad_request(format!("parameter program: a list of steps in JSON: {error}"))
    })?;
    if !(1..=MAX_STEPS).contains(&documents.len()) {
        let detail =
            format!("parameter program: {} steps where 1 to {MAX_STEPS} are needed", documents.len());
        return Err(Problem::bad_request(detail));
    }
    let mut steps = vec![];
    for document in documents {
        let label = format!("step {} ({})", steps.len() + 1, document.operation.escape_debug());
        let checked = check_name(document.name.as_deref(), &steps);
        let step = checked.and_then(|()| Step::new(label.clone(), document, &steps, &find));
        steps.push(step.map_err(|problem| problem.within(&label))?);
    }
    Ok(steps)
}

/// Fails for a name that an earlier step has.
fn check_name(name: Option<&str>, earlier: &[Step]) -> Result<(), Problem> {
    let Some(name) = name else { return Ok(()) };
    name::check("name", name).map_err(Problem::bad_request)?;
    if name == BODY || earlier.iter().any(|step| step.name.as_deref() == Some(name)) {
        return Err(Problem::bad_request(format!("the name `{name}` is taken")));
    }
    Ok(())
}

impl Step {
    fn new(
        label: String,
        document: Document,
        earlier: &[Self],
        find: impl Fn(&str) -> Result<Arc<Object>, Problem>,
    ) -> Result<Self, Problem> {
        let operation = Operation::find(&document.operation)?;
        // The position of the earlier step that has this name and such a result.
        let step = |name: &str, needed: ResultKind| {
            let found = earlier.iter().position(|step| step.name.as_deref() == Some(name));
            let name = name.escape_debug();
            match found.map(|position| (position, earlier[position].operation.result)) {
                Some((position, kind)) if kind == needed => Ok(position),
                Some((_, kind)) => {
                    Err(Problem::bad_request(format!("`${name}` is {kind}, where {needed} is needed")))
                }
                None => Err(Problem::bad_request(format!("`${name}`: no earlier step has this name"))),
            }
        };
        let matrix = |text: &str| match text.strip_prefix('$') {
            Some(name) => step(name, ResultKind::Matrix).map(MatrixSource::Step),
            None => find(text).map(MatrixSource::Stored),
        };
        let array = |text: &str| match text.strip_prefix('$') {
            Some(BODY) => Ok(ArraySource::Body),
            Some(name) => step(name, ResultKind::Array).map(ArraySource::Step),
            None => Err(Problem::bad_request("`operand`: $body or the $name of an earlier step is needed")),
        };
        let needs = |what, is_there: bool, is_needed| match (is_there, is_needed) {
            (true, false) => Err(Problem::bad_request(format!("it takes no `{what}`"))),
            (false, true) => Err(Problem::bad_request(format!("`{what}` is needed"))),
            _ => Ok(()),
        };
        needs("other", document.other.is_some(), operation.has_other)?;
        needs("operand", document.operand.is_some(), operation.operand != Operand::None)?;
        let pairs = document.parameters.into_iter().map(|(name, value)| Ok((name, text_of(value)?)));
        let known = [operation.parameters, &[MEMBER]].concat();
        Ok(Self {
            label,
            name: document.name,
            operation,
            a: matrix(&document.matrix)?,
            other: document.other.as_deref().map(matrix).transpose()?,
            operand: document.operand.as_deref().map(array).transpose()?,
            parameters: Parameters::new(pairs.collect::<Result<_, Problem>>()?, &known)?,
        })
    }
}

/// A parameter as a query has it.
fn text_of(value: Value) -> Result<String, Problem> {
    match value {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(flag) => Ok(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            Err(Problem::bad_request("`parameters`: texts, numbers, true and false are values"))
        }
    }
}

impl Program {
    /// The first stored matrix.
    fn matrix(&self) -> String {
        let stored = self.steps.iter().find_map(|step| match &step.a {
            MatrixSource::Stored(object) => Some(object.label()),
            MatrixSource::Step(_) => None,
        });
        stored.unwrap_or_default()
    }

    fn run(self, store: &Store) -> Result<Outcome, Problem> {
        let Self { request, steps, body } = self;
        let (count, task) = (steps.len(), request.task.clone());
        let mut memory = Memory::new(store, &request.identity.tenant, body, &task)?;
        for (position, step) in steps.into_iter().enumerate() {
            task.check()?;
            task.log(&*step.label);
            let label = step.label.clone();
            let within = |problem: Problem| problem.within(&label);
            let (answer, reserved) = memory.compute(step, &task).map_err(within)?;
            if position + 1 == count {
                drop(memory);
                return request.deliver(store, answer, reserved);
            }
            memory.keep(answer, reserved).map_err(within)?;
        }
        Err(Problem::internal("a program without steps"))
    }
}

/// The intermediate results of a program, its body, and the leases on stored matrices that it uses.
struct Memory<'s> {
    store: &'s Store,
    tenant: String,
    body: Option<ArrayBody>,
    /// The body in its own type, once a step has taken it.
    array: Option<Columns>,
    results: Vec<(Intermediate, Reservation)>,
    /// The stored matrices that were used.
    leases: Vec<(Arc<Object>, Arc<Resident>)>,
    body_bytes: Reservation,
}

/// The result of a step that others may take.
enum Intermediate {
    Matrix(Matrix),
    Array(Columns),
    Numbers,
}

impl<'s> Memory<'s> {
    fn new(store: &'s Store, tenant: &str, body: Option<ArrayBody>, task: &Task) -> Result<Self, Problem> {
        let bytes = body.as_ref().map_or(Ok(0), |body| body.array_bytes(None, task))?;
        let body_bytes = store.reserve(tenant, bytes)?;
        let (results, leases) = (vec![], vec![]);
        Ok(Self { store, tenant: tenant.into(), body, array: None, results, leases, body_bytes })
    }

    /// The bytes that the program has until it ends.
    fn held_bytes(&self) -> u64 {
        let results: u64 = self.results.iter().map(|(_, reserved)| reserved.bytes()).sum();
        self.store.leased_bytes(self.leases.iter().map(|(object, _)| object))
            + self.body_bytes.bytes()
            + results
    }

    /// The result of a step, and the bytes that it takes.
    fn compute(&mut self, step: Step, task: &Task) -> Result<(Answer, Reservation), Problem> {
        let Step { operation, a, other, operand, parameters, .. } = step;
        let selection = MemberSelection::of(&parameters)?;
        let (leased, leased_other) =
            (self.lease(&a)?, other.as_ref().map(|other| self.lease(other)).transpose()?);
        if let Some(ArraySource::Body) = operand
            && let Some(body) = self.body.take()
        {
            self.array = Some(read_columns(body, (operation, selection), (&self.store.device, None), task)?);
        }
        let a = self.matrix(&a, leased.as_deref())?;
        let other = match (&other, &leased_other) {
            (Some(other), Some(leased)) => Some(self.matrix(other, leased.as_deref())?),
            _ => None,
        };
        let mut reserved = self.store.reserve(&self.tenant, 0)?;
        let owner = Owner { tenant: &self.tenant, leased: self.held_bytes() };
        let operand = operand.map(|source| self.columns(source)).transpose()?;
        let cast = match operand {
            Some(columns) if columns.values.dtype() != a.dtype() => {
                check_real(columns.values.dtype(), a.dtype())?;
                owner.reserve(self.store, columns.bytes().saturating_mul(2), &mut reserved)?;
                Some(Columns { values: columns.values.cast(a.dtype())?, shape: columns.shape.clone() })
            }
            _ => None,
        };
        let operand = cast.as_ref().or(operand);
        let check = |columns: &Columns| operation.operand.check(operation.name, &columns.shape, selection);
        operand.map_or(Ok(()), check)?;
        let call = Call { a, other, operand, parameters: &parameters, task };
        let answer = compute(self.store, owner, operation, &call, &mut reserved)?;
        Ok((answer, reserved))
    }

    /// Keeps the result of a step for others.
    fn keep(&mut self, answer: Answer, mut reserved: Reservation) -> Result<(), Problem> {
        let result = Intermediate::of(answer)?;
        let bytes = match &result {
            Intermediate::Matrix(matrix) => matrix.bytes() as u64,
            Intermediate::Array(columns) => columns.bytes(),
            Intermediate::Numbers => 0,
        };
        self.store.settle(&mut reserved, &self.tenant, bytes)?;
        self.results.push((result, reserved));
        Ok(())
    }

    /// A lease on a stored matrix, which lasts as long as the program.
    fn lease(&mut self, source: &MatrixSource) -> Result<Option<Arc<Resident>>, Problem> {
        let MatrixSource::Stored(object) = source else { return Ok(None) };
        let leased = self.store.lease_beside(object, self.held_bytes())?;
        self.leases.push((object.clone(), leased.clone()));
        Ok(Some(leased))
    }

    /// The matrix of a source, whose lease it is if it is stored.
    fn matrix<'a>(
        &'a self,
        source: &MatrixSource,
        leased: Option<&'a Resident>,
    ) -> Result<&'a Matrix, Problem> {
        let result = match (source, leased) {
            (_, Some(leased)) => return Ok(&leased.matrix),
            (MatrixSource::Step(position), None) => self.results.get(*position),
            (MatrixSource::Stored(_), None) => None,
        };
        match result {
            Some((Intermediate::Matrix(matrix), _)) => Ok(matrix),
            _ => Err(Problem::internal("a step without a matrix")),
        }
    }

    fn columns(&self, source: ArraySource) -> Result<&Columns, Problem> {
        let result = match source {
            ArraySource::Body => {
                return self.array.as_ref().ok_or_else(|| Problem::internal("no body was read"));
            }
            ArraySource::Step(position) => self.results.get(position),
        };
        match result {
            Some((Intermediate::Array(columns), _)) => Ok(columns),
            _ => Err(Problem::internal("a step without an array")),
        }
    }
}

impl Intermediate {
    fn of(answer: Answer) -> Result<Self, Problem> {
        Ok(match answer {
            Answer::Matrix(matrix) => Self::Matrix(matrix),
            Answer::Dense(values) => {
                let shape = vec![values.nrows(), values.ncols()];
                Self::Array(Columns { values, shape })
            }
            Answer::Stack(values, count) => {
                let shape = Answer::stack_shape(&values, count).to_vec();
                Self::Array(Columns { values, shape })
            }
            Answer::Vector(values) => {
                let rows = values.len();
                let values = DenseMatrix::new(values, rows, 1, rows, Order::ColMajor)?;
                Self::Array(Columns { values, shape: vec![rows] })
            }
            Answer::Json(_) | Answer::Picture(_) => Self::Numbers,
            Answer::Solved(values, reached) if reached.converged => Self::of(*values)?,
            Answer::Solved(_, reached) => {
                let detail = format!("the iteration did not converge: {}", reached.to_json());
                return Err(Problem::unprocessable(detail));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        let refused = parse(text, |name| Err(Problem::not_found(format!("no {name}")))).unwrap_err();
        serde_json::to_string(&refused.document()).unwrap()
    }

    #[test]
    fn a_wrong_program_says_which_step_and_why() {
        let many = format!("[{}]", vec![r#"{"operation":"norm","matrix":"a"}"#; MAX_STEPS + 1].join(","));
        for (text, reason) in [
            ("", "a list of steps"),
            ("[]", "0 steps where 1 to 32"),
            (&many, "33 steps"),
            (r#"[{"operation":"norm"}]"#, "missing field `matrix`"),
            (r#"[{"operation":"norm","matrix":"a","spin":1}]"#, "unknown field `spin`"),
            (r#"[{"operation":"spin","matrix":"a"}]"#, "step 1 (spin): there is no operation"),
            (r#"[{"operation":"norm","matrix":"a"}]"#, "step 1 (norm): no a"),
            (r#"[{"operation":"norm","matrix":"$a"}]"#, "`$a`: no earlier step"),
            (r#"[{"operation":"norm","matrix":"a","name":"body"}]"#, "`body` is taken"),
            (r#"[{"operation":"norm","matrix":"a","name":"a b"}]"#, "letters, digits"),
            (r#"[{"operation":"spmv","matrix":"a"}]"#, "`operand` is needed"),
            (r#"[{"operation":"spmv","matrix":"a","operand":"x"}]"#, "step 1 (spmv): no a"),
            (r#"[{"operation":"add","matrix":"a"}]"#, "`other` is needed"),
            (r#"[{"operation":"norm","matrix":"a","other":"a"}]"#, "takes no `other`"),
        ] {
            let found = problem(text);
            assert!(found.contains(reason), "{text}: {found}");
        }
    }
}
