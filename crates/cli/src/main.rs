//! The program `couplet`; see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    couplet_cli::main()
}
