//! The audit log: one record per decision and call.
