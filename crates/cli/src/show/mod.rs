//! Results of a server as text.

mod content;
mod inline;
mod list;
mod save;
mod server;

pub(crate) use content::{Renderer, json_line};
pub(crate) use list::{Entry, columns, prompt, prompt_in_full, resource, template, tool, tool_in_full};
pub(crate) use save::Saver;
pub(crate) use server::{about, heading};
