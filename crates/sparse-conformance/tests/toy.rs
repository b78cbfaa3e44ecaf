//! The example of a third party's backend passes.

#[path = "../examples/toy.rs"]
mod toy;

use sparse_conformance::Status;

#[test]
fn the_toy_backend_conforms() {
    let records = toy::conform();
    let failed: Vec<_> = records.iter().filter(|record| record.status == Status::Fail).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(records.iter().filter(|record| record.status == Status::Pass).count() > 100);
}
