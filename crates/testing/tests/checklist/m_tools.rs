//! Lines 230 to 251: tools.
