//! Lines 264 to 268: prompts.
