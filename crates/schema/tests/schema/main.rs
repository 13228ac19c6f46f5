//! Schemas that mean harm, schemas that mean well, and what is said about values that do not fit.

mod dialects;
mod hostile;
mod words;
