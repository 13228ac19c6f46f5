//! The invariants of the workspace, as a test.

#[test]
fn the_workspace_is_tidy() {
    let findings = xtask::tidy::findings().unwrap();
    let lines: Vec<_> = findings.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{} findings:\n{}", lines.len(), lines.join("\n"));
}
