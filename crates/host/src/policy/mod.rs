//! The policy: one decision for every way to reach a tool, prompt or resource.
