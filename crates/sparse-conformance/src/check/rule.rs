//! Rules that no matrix of the table can test: invalid arrays, sizes that overflow, memory that runs out.
//!
//! They run once for every backend, because every matrix goes through the same checks on its way to it.

use crate::call::{Call, Outcome};
use crate::case::{Case, Problem};
use crate::guarded_operand::GuardedOperand;
use crate::key::Key;
use crate::setting::Setting;
use crate::subject::{Check, Expected, Given, PlannedOperation, Subject};
use crate::triplets::Triplets;
use sparse_core::format::estimate::{Sizes, ell};
use sparse_core::reference::Reference;
use sparse_core::{
    Algorithm, Backend, ContextId, Coo, Csr, DType, Dense, Ell, EllLayout, Error, Host, Order, PlanOptions,
    Result, Sell, SparseFormat,
};

/// A test of a rule on a backend.
type Rule<B> = fn(&B) -> Result<()>;

/// The rules that are tested here, by their names.
fn rules<B: Backend>() -> [(&'static str, Rule<B>); 8] {
    [
        ("t2_indices_are_not_narrowed", |_| narrowing()),
        ("t3_products_of_sizes_are_checked", |_| overflowing_sizes()),
        ("x1_arrays_that_break_a_format_are_refused", |_| broken_arrays()),
        ("x2_errors_name_what_where_and_why", |_| messages()),
        ("x3_uploaded_matrices_pass_the_checks", uploads),
        ("x5_running_out_of_memory_is_an_error", memory),
        ("x6_ell_states_its_bytes_and_refuses", |_| ell_cap()),
        ("e1_empty_buffers", empty_buffers),
    ]
}

fn names() -> [&'static str; 8] {
    rules::<Reference>().map(|(name, _)| name)
}

/// A case for every rule.
pub(crate) fn cases() -> Vec<Case> {
    let case = |name| Case::new(name, || Ok(Triplets::new(0, 0, vec![]))).only(|key| key.op == "rule");
    names().map(case).into()
}

fn rule<B: Backend>(name: &str) -> Option<Rule<B>> {
    rules().into_iter().find(|(known, _)| *known == name).map(|(_, rule)| rule)
}

/// An error with `what`, unless `holds`.
fn demand(holds: bool, what: &str) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::shape("rule", what)) }
}

fn narrowing() -> Result<()> {
    let far = 1_usize << 31;
    let narrow = Coo::<f64, Host, i32>::from_triplets(3, far + 1, [(0, far, 1.0)]);
    let named = matches!(&narrow, Err(Error::IndexOverflow { value, .. }) if *value == far as u128);
    demand(named, "a column that does not fit i32 is not refused with its value")?;
    demand(Coo::<f64, Host, i64>::from_triplets(3, far + 1, [(0, far, 1.0)]).is_ok(), "i64 refuses 2^31")
}

fn overflowing_sizes() -> Result<()> {
    let overflows = |result: Result<()>| matches!(result, Err(Error::IndexOverflow { .. }));
    let sizes = Sizes::of::<f64, i32, i32>();
    demand(overflows(ell(usize::MAX / 2, 3, sizes).map(drop)), "rows x width is not checked")?;
    let dense = Dense::<f64>::zeros(usize::MAX, 2, Order::RowMajor).map(drop);
    demand(overflows(dense), "rows x columns is not checked")
}

fn broken_arrays() -> Result<()> {
    let csr = |offsets: &[i32], indices: &[i32]| {
        Csr::<f64>::new_unsorted(2, 3, offsets.into(), indices.into(), vec![1.0; indices.len()]).is_err()
    };
    demand(csr(&[0, 1], &[0]), "too few offsets are accepted")?;
    demand(csr(&[1, 1, 1], &[0]), "a first offset of 1 is accepted")?;
    demand(csr(&[0, 2, 1], &[0]), "a falling offset is accepted")?;
    demand(csr(&[0, 1, 3], &[0, 1]), "a last offset beyond the entries is accepted")?;
    demand(csr(&[0, 1, 2], &[0, 3]), "a column beyond the matrix is accepted")?;
    demand(csr(&[0, 1, 2], &[0, -1]), "a negative column is accepted")?;
    demand(
        Coo::<f64>::new(2, 3, vec![2], vec![0], vec![1.0]).is_err(),
        "a row beyond the matrix is accepted",
    )?;
    demand(
        Ell::<f64>::new(1, 3, 2, vec![-1, 0], vec![0.0; 2]).is_err(),
        "an entry behind padding is accepted",
    )?;
    let sell = Sell::<f64>::new((2, 3), 2, vec![0, 2], vec![0, 0], vec![0, 1], vec![1.0; 2]);
    demand(sell.is_err(), "a row order that is no permutation is accepted")
}

fn messages() -> Result<()> {
    let says = |result: Result<Csr<f64>>, expected: &str| {
        let found = result.err().map(|error| error.to_string()).unwrap_or_default();
        demand(found == expected, &format!("`{found}` is said where `{expected}` should be"))
    };
    says(Csr::new(1, 40, vec![0, 1], vec![42], vec![1.0]), "csr: row 0: column 42 is not below 40")?;
    says(Csr::new(1, 9, vec![0, 2], vec![5, 5], vec![1.0; 2]), "csr: row 0: column 5 stands twice")
}

fn uploads<B: Backend>(backend: &B) -> Result<()> {
    let host = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, -2.0, 3.0])?;
    let back = host.to_device(backend)?.to_host(backend)?;
    let (offsets, indices, values) = back.into_parts();
    demand(
        Csr::new(2, 3, offsets, indices, values)? == host,
        "a matrix comes back from the backend as another",
    )
}

fn memory<B: Backend>(backend: &B) -> Result<()> {
    // The host's system may promise more memory than there is.
    let of_device = backend.context() != ContextId::HOST;
    let Some(bytes) = backend.caps().memory_bytes.filter(|_| of_device) else {
        return Err(Error::unsupported("running out of memory", "the device does not say how much it has"));
    };
    let words = usize::try_from(bytes / 4).unwrap_or(usize::MAX / 16);
    let refused = matches!(backend.zeros::<u64>(words), Err(Error::OutOfMemory { .. }));
    demand(refused, "twice the device's memory is not refused as OutOfMemory")?;
    demand(backend.download(&backend.upload(&[7_u64])?)? == [7], "the backend is not usable afterwards")
}

fn ell_cap() -> Result<()> {
    let mut lengths = vec![1; 100_000];
    lengths[17] = 100_000;
    let refused = EllLayout::default().resolve(&lengths, Sizes::of::<f64, i32, i32>());
    let reason = refused.err().map(|error| error.to_string()).unwrap_or_default();
    let named = reason.contains("120000000000 bytes") && reason.contains("longest row has 100000 entries");
    demand(named, &format!("the refusal names neither bytes nor the longest row: {reason}"))
}

fn empty_buffers<B: Backend>(backend: &B) -> Result<()> {
    demand(backend.download(&backend.upload::<f64>(&[])?)?.is_empty(), "an empty buffer comes back longer")?;
    demand(backend.download(&backend.zeros::<i32>(0)?)?.is_empty(), "a buffer of no zeros comes back longer")
}

/// The check of rules: the planned operation does the work.
#[derive(Debug)]
struct RuleCheck;

impl Check for RuleCheck {
    fn takes(&self, case: &Case) -> bool {
        names().contains(&case.name.as_str())
    }

    fn settings(&self, _: &Key, problem: &Problem) -> Vec<Setting> {
        names().into_iter().filter(|name| *name == problem.case.name).map(Setting::Rule).collect()
    }

    fn scope(&self, _: &Key, _: &Setting) -> Option<String> {
        None
    }

    fn expected(&self, _: &Setting, _: &Call, _: &Problem) -> Option<Expected> {
        Some(Expected::default())
    }
}

/// The rules on one backend.
pub(crate) struct RuleSubject<B> {
    backend: B,
    key: Key,
}

impl<B: Backend> RuleSubject<B> {
    pub(crate) fn new(backend: B) -> Self {
        let key = Key { op: "rule", format: "backend".into(), types: String::new(), dtype: DType::F64 };
        Self { backend, key }
    }
}

const ALGORITHMS: &[Algorithm] = &[Algorithm::new("direct", "always")];

impl<B: Backend> Subject for RuleSubject<B> {
    fn key(&self) -> &Key {
        &self.key
    }

    fn check(&self) -> &'static dyn Check {
        &RuleCheck
    }

    fn algorithms(&self, _: &Setting) -> &'static [Algorithm] {
        ALGORITHMS
    }

    fn given<'a>(&'a self, _: &'a Triplets) -> Result<Box<dyn Given + 'a>> {
        Ok(Box::new(self))
    }
}

impl<B: Backend> Given for RuleSubject<B> {
    fn prepare(&self, setting: &Setting, _: &PlanOptions) -> Result<Box<dyn PlannedOperation + '_>> {
        let Setting::Rule(name) = *setting else {
            return Err(Error::unsupported(setting, "this is no rule"));
        };
        let rule = rule(name).ok_or_else(|| Error::unsupported(name, "there is no such rule"))?;
        Ok(Box::new(PlannedRule { backend: &self.backend, rule }))
    }
}

struct PlannedRule<'a, B> {
    backend: &'a B,
    rule: Rule<B>,
}

impl<B: Backend> PlannedOperation for PlannedRule<'_, B> {
    fn run(&mut self, _: &Call, _: &mut GuardedOperand) -> Result<Outcome> {
        (self.rule)(self.backend)?;
        Ok(Outcome::default())
    }
}
