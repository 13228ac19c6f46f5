//! The program `couplet`; see the library.

use std::process::ExitCode;

/// Faster than that of the C library for what a gateway allocates; see DESIGN.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    couplet_cli::main()
}
