//! Lines 32 to 52: `_meta`, schemas, icons.
