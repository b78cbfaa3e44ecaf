//! The steps of a program, as clients write them and with the matrices that they name.

use crate::objects::Object;
use crate::operations::{MEMBER, Operand, Operation, ResultKind};
use crate::problem::Problem;
use crate::request::name;
use crate::request::parameters::Parameters;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
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
    pub(super) label: String,
    name: Option<String>,
    pub(super) operation: &'static Operation,
    pub(super) a: MatrixSource,
    pub(super) other: Option<MatrixSource>,
    pub(super) operand: Option<ArraySource>,
    pub(super) parameters: Parameters,
}

#[derive(Debug)]
pub(super) enum MatrixSource {
    Stored(Arc<Object>),
    /// The result of an earlier step.
    Step(usize),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum ArraySource {
    Body,
    Step(usize),
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
        let known: Vec<_> = operation.own_parameters().chain([MEMBER]).collect();
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
