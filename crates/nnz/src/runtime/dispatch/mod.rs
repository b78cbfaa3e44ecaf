//! From types known at run time to typed calls: object-safe traits, and what differs by format and backend.

pub(in crate::runtime) mod any_matrix;
pub(in crate::runtime) mod backend;
pub(in crate::runtime) mod operand_errors;
pub(in crate::runtime) mod operands;
pub(in crate::runtime) mod runtime_format;
pub(in crate::runtime) mod typed_matrix;
pub(in crate::runtime) mod typed_plan;
pub(in crate::runtime) mod typed_vector;
