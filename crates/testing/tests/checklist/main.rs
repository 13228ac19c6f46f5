//! The duties of the specification: `line_NNN_…` is the test of line NNN of `docs/checklist.md`. Each runs in every
//! revision that the line is about.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test reports by panicking and printing"
)]

mod a_messages;
mod a_stateless;
mod b_meta;
mod b_schemas;
mod c_lifecycle;
mod d_discovery;
mod e_rounds;
mod f_subscriptions;
mod g_cancellation;
mod h_progress;
mod i_stdio;
mod kit;
mod m_structured;
mod m_tools;
mod n_resources;
mod o_prompts;
mod p_utilities;
mod q_caching;
mod r_sampling;
mod s_roots;
mod t_elicitation;
mod t_visits;
mod task_kit;
mod u_task_clients;
mod u_task_questions;
mod u_tasks;
mod v_task_clients;
mod v_tasks;
mod y_apps;
mod y_bridge;
mod y_extensions;
mod z_deprecation;
