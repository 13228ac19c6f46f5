//! One server, every revision: what is on the wire, and what a client makes of it.

mod fixture;

#[test]
fn builds() {
    fixture::server();
    fixture::paged();
}
