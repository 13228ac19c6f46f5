//! The lower bound: servers without an SDK, schemas, sessions or checks. Nothing on the same stack can be faster with
//! small messages.
//!
//! ```text
//! bench-bare stdio         a blocking loop that flushes when no further line is buffered
//! bench-bare stdio-tokio   tokio's streams, in one task
//! bench-bare http PORT     hyper, one task per connection
//! bench-bare axum PORT     the same under axum
//! ```

mod answer;
mod http;
mod stdio;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["stdio"] => Ok(stdio::blocking()?),
        ["stdio-tokio"] => Ok(stdio::with_tokio()?),
        ["http", port] => Ok(http::with_hyper(port)?),
        ["axum", port] => Ok(http::with_axum(port)?),
        _ => Err("usage: bench-bare stdio | stdio-tokio | http PORT | axum PORT".into()),
    }
}
