//! Commands that serve with several threads.

use std::thread;

use crate::{
    bridge::Served,
    gateway::{Gateway, run_in, write},
    kit::{Folder, run, shop},
};

/// Eight calls at the same time.
fn calls(call: impl Fn(&str) -> String + Sync) {
    let call = &call;
    let sums: Vec<_> = thread::scope(|scope| {
        let calls: Vec<_> = (10..18).map(|of| scope.spawn(move || call(&format!("a={of}")))).collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    for (sum, said) in (11..19).zip(sums) {
        assert!(said.contains(&sum.to_string()), "{said}");
    }
}

#[test]
fn calls_are_served_by_several_threads() {
    let folder = Folder::new("threads");
    let config = format!(r#"{{ "mcpServers": {{ "shop": {{ "command": "{}" }} }} }}"#, shop());
    let gateway = Gateway::start(&write(&folder, "gateway.json", &config), &["--threads", "3"], &[]);
    calls(|a| gateway.run("call", &["shop__add", a, "b=1"]));
    let bridge = Served::start(&["run", &shop(), "--http", "127.0.0.1:0", "--threads", "3"]);
    calls(|a| run(&["call", &bridge.url, "add", a, "b=1"]));
}

#[test]
fn a_wrong_number_of_threads_is_refused() {
    let folder = Folder::new("threads-wrong");
    for wrong in ["0", "1025", "two"] {
        let text = run_in(&folder, &["gateway", "gateway.json", "--threads", wrong]);
        assert!(text.contains("expected a number from 1 to 1024"), "{text}");
    }
}
